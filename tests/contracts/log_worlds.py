"""Where the suite of the Log runs: tables that `deltalake` writes into folders, and the lake."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fakes.builders import a_source
from fakes.lake import FakeLake, columns
from penstock.core.model import Source
from penstock.engine.log.delta_log import DeltaLog


class LakeWorld:
    """Tables and files of the lake in memory."""

    def __init__(self, folder: Path) -> None:
        self.lake = FakeLake()
        self.log = self.lake.log
        self.uri = "/w/s/t"
        self.source = a_source("files", path="/landing/files", format="csv")

    def append(self, token: str = "", **values: int) -> None:
        given = {name: str(value) for name, value in values.items()}
        self.lake.land(self.uri, "id bigint", token, **given)

    def replace(self) -> None:
        self.lake.write(self.uri, "OVERWRITE", columns("id bigint"), "")

    def compact(self) -> None:
        self.lake.write(self.uri, "OPTIMIZE", None, "")

    def drop(self) -> None:
        del self.lake.tables[self.uri]

    def forget(self, version: int) -> None:
        self.lake.tables[self.uri].gone.add(version)

    def damage(self, version: int) -> None:
        self.lake.tables[self.uri].damaged.add(version)

    def deliver(self, name: str, size: int = 1, modified: int = 1, letter: str = "x") -> None:
        self.lake.files.setdefault(self.source.path, {})[name] = (size, modified, letter)


class FolderWorld:
    """Tables and files in folders of this machine."""

    def __init__(self, folder: Path) -> None:
        self.log = DeltaLog()
        self.uri = str(folder / "t")
        self.files = folder / "files"
        self.source: Source = a_source("files", path=str(self.files), format="csv")

    def append(self, token: str = "", **values: int) -> None:
        self._write("append", token, values or {"id": 1})

    def replace(self) -> None:
        self._write("overwrite", "", {"id": 9})

    def compact(self) -> None:
        from deltalake import DeltaTable

        DeltaTable(self.uri).optimize.compact()

    def drop(self) -> None:
        shutil.rmtree(self.uri)

    def forget(self, version: int) -> None:
        self._commit(version).unlink()

    def damage(self, version: int) -> None:
        whole = self._commit(version).read_text(encoding="utf-8")
        self._commit(version).write_text(whole[: len(whole) // 2], encoding="utf-8")

    def deliver(self, name: str, size: int = 1, modified: int = 1, letter: str = "x") -> None:
        file = self.files / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(letter * size, encoding="ascii")
        os.utime(file, (modified, modified))

    def _write(self, mode: str, token: str, values: dict[str, int]) -> None:
        import pyarrow as pa
        from deltalake import CommitProperties, write_deltalake

        write_deltalake(
            self.uri,
            pa.table({name: pa.array([value]) for name, value in values.items()}),
            mode=mode,
            commit_properties=CommitProperties(custom_metadata={"userMetadata": token}),
        )

    def _commit(self, version: int) -> Path:
        return Path(self.uri, "_delta_log", f"{version:020d}.json")
