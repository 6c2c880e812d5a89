"""Where the suite of the Log runs: tables that `deltalake` writes into folders, and the lake."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from unittest.mock import ANY

import pytest

from fakes.builders import a_source
from fakes.lake import FakeLake, columns
from fakes.object_store import ObjectPath
from penstock.core.model import Source
from penstock.engine.disk.buckets import table_options_at
from penstock.engine.disk.disks import disk_at
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

    def time(self, modified: int) -> object:
        return modified * 1_000_000


class FolderWorld:
    """Tables and files in folders of this machine."""

    def __init__(self, folder: Path | ObjectPath) -> None:
        self.log = DeltaLog()
        self.root = folder / "t"
        self.uri = str(self.root)
        self.files = folder / "files"
        self.source: Source = a_source("files", path=str(self.files), format="csv")

    def append(self, token: str = "", **values: int) -> None:
        self._write("append", token, values or {"id": 1})

    def replace(self) -> None:
        self._write("overwrite", "", {"id": 9})

    def compact(self) -> None:
        from deltalake import DeltaTable

        DeltaTable(self.uri, storage_options=table_options_at(self.uri)).optimize.compact()

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

    def time(self, modified: int) -> object:
        return modified * 1_000_000

    def _write(self, mode: str, token: str, values: dict[str, int]) -> None:
        import pyarrow as pa
        from deltalake import CommitProperties, write_deltalake

        write_deltalake(
            self.uri,
            pa.table({name: pa.array([value]) for name, value in values.items()}),
            mode=mode,
            storage_options=table_options_at(self.uri),
            commit_properties=CommitProperties(custom_metadata={"userMetadata": token}),
        )

    def _commit(self, version: int) -> Path | ObjectPath:
        return self.root / "_delta_log" / f"{version:020d}.json"


class BucketWorld(FolderWorld):
    """Tables and files in a bucket, which alone says when a file was written.

    An etag of one in memory counts writes; that of a server is of the content.
    """

    def drop(self) -> None:
        disk_at(self.uri).drop(self.uri)

    def deliver(self, name: str, size: int = 1, modified: int = 1, letter: str = "x") -> None:
        if "\n" in name:
            pytest.skip("never: obstore takes no names with control characters")
        file, content = self.files / name, letter * size
        if not disk_at(str(file)).exists(str(file)) or file.read_text() != content:
            file.write_text(content)

    def time(self, modified: int) -> object:
        return ANY


def world_in(place: str, request) -> LakeWorld | FolderWorld:
    """Give the world of a name; `bucket` and `memory_bucket` are fixtures."""
    folder = request.getfixturevalue("tmp_path" if place in ("lake", "folder") else place)
    return {"lake": LakeWorld, "folder": FolderWorld}.get(place, BucketWorld)(folder)
