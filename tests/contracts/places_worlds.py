"""Where the suite of Places runs: logs written by hand into folders, and the lake."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

from fakes.lake import FakeLake, columns
from fakes.object_store import ObjectPath
from fakes.places import FakeFile, FakePlaces
from penstock.engine.log.places import DeltaPlaces

SPOKEN = ("deletionVectors", "columnMapping")
SCHEMA = {"d": "date", "ts": "timestamp", "n": "int"}
IN_DELTA = {"date": "date", "timestamp": "timestamp", "int": "integer"}
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


class LakePlaces:
    """Tables of the lake in memory; a commit that rewrites rows is an UPDATE."""

    def __init__(self, folder: Path) -> None:
        self.lake = FakeLake()
        self.places = FakePlaces(self.lake)
        self.uri = "/w/s/t"

    def create(self, *files: FakeFile, partition_by: str = "", table_id: str = "id-1") -> int:
        if partition_by:
            self.places.partition_by[self.uri] = partition_by
        version = self.commit(*files, operation="CREATE OR REPLACE TABLE AS SELECT")
        self.places.learn(self.uri, version, *SPOKEN)
        return version

    def commit(
        self,
        *files: FakeFile,
        removed: tuple[str, ...] = (),
        operation: str = "WRITE",
        token: str = "",
    ) -> int:
        version = self.lake.write(self.uri, operation, columns("d date"), token)
        self.places.tell(self.uri, version, *files, removed=removed)
        return version

    def enable(self, *features: str) -> int:
        version = self.commit(operation="SET TBLPROPERTIES")
        self.places.learn(self.uri, version, *features)
        return version

    def forget(self, version: int) -> None:
        self.lake.tables[self.uri].gone.add(version)

    def lose(self, path: str) -> None:
        self.places.lost.add(path)


class FolderPlaces:
    """Commit files in a folder or a bucket, as Spark and others write them; empty data files."""

    def __init__(self, folder: Path | ObjectPath) -> None:
        self.places = DeltaPlaces()
        self.root = folder / "t"
        self.uri = str(self.root)
        self.partition_by = ""
        self.version = -1
        self.files: dict[str, FakeFile] = {}

    def create(self, *files: FakeFile, partition_by: str = "", table_id: str = "id-1") -> int:
        self.partition_by = partition_by
        return self._write(
            "CREATE OR REPLACE TABLE AS SELECT",
            protocol(*SPOKEN),
            {"metaData": metadata(table_id, partition_by)},
            *(self._remove(path) for path in self.files),
            *(self._add(file) for file in files),
        )

    def commit(
        self,
        *files: FakeFile,
        removed: tuple[str, ...] = (),
        operation: str = "WRITE",
        token: str = "",
    ) -> int:
        moves = operation == "OPTIMIZE"
        told = [*(self._remove(path) for path in removed), *(self._add(file) for file in files)]
        for action in told:
            next(iter(action.values()))["dataChange"] = not moves
        return self._write(operation, *told, token=token)

    def enable(self, *features: str) -> int:
        return self._write("SET TBLPROPERTIES", protocol(*SPOKEN, *features))

    def forget(self, version: int) -> None:
        self._file(version).unlink()

    def lose(self, path: str) -> None:
        (self.root / path).unlink()

    def _write(self, operation: str, *actions: dict[str, object], token: str = "") -> int:
        self.version += 1
        info = {"timestamp": 1_733_097_600_000, "operation": operation, "userMetadata": token}
        lines = [json.dumps(each) for each in ({"commitInfo": info}, *actions)]
        self._file(self.version).parent.mkdir(parents=True, exist_ok=True)
        self._file(self.version).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return self.version

    def _file(self, version: int) -> Path | ObjectPath:
        return self.root / "_delta_log" / f"{version:020d}.json"

    def _add(self, file: FakeFile) -> dict[str, dict[str, object]]:
        self.files[file.path] = file
        (self.root / file.path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / file.path).touch()
        add: dict[str, object] = {
            "path": file.path,
            "partitionValues": self._parts(file),
            "size": file.size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps(self._statistics(file)),
        }
        if file.hidden:
            add["deletionVector"] = inline_vector(file.hidden)
        return {"add": add}

    def _remove(self, path: str) -> dict[str, dict[str, object]]:
        """Remove without statistics, as Spark does where only a deletion vector changes."""
        remove = {
            "path": path,
            "dataChange": True,
            "deletionTimestamp": 0,
            "extendedFileMetadata": True,
            "partitionValues": self._parts(self.files[path]),
            "size": 100,
            "stats": '{"numRecords":1}',
        }
        return {"remove": remove}

    def _parts(self, file: FakeFile) -> dict[str, str | None]:
        if not self.partition_by:
            return {}
        bounds = file.bounds[self.partition_by]
        return {self.partition_by: bounds[0] if bounds else None}

    def _statistics(self, file: FakeFile) -> dict[str, object]:
        stated = {name: told for name, told in file.bounds.items() if name != self.partition_by}

        def value(name: str, text: str) -> int | str:
            return int(text) if SCHEMA[name] == "int" else text

        return {
            "numRecords": file.rows,
            "minValues": {name: value(name, told[0]) for name, told in stated.items() if told},
            "maxValues": {name: value(name, told[1]) for name, told in stated.items() if told},
            "nullCount": {name: 0 if told else file.rows for name, told in stated.items()},
            "tightBounds": not file.hidden,
        }


def protocol(*features: str) -> dict[str, object]:
    """Give the `protocol` of a table whose readers and writers must know these features."""
    spoken = {"readerFeatures": [*features], "writerFeatures": [*features]}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **spoken}}


def metadata(table_id: str, partition_by: str = "", **names: str) -> dict[str, object]:
    """Give a `metaData`; names that are given are physical names of column mapping."""
    fields = [
        {
            "name": name,
            "type": IN_DELTA[kind],
            "nullable": True,
            "metadata": {
                "delta.columnMapping.id": place,
                "delta.columnMapping.physicalName": names.get(name, name),
            }
            if names
            else {},
        }
        for place, (name, kind) in enumerate(SCHEMA.items(), 1)
    ]
    return {
        "id": table_id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [partition_by] if partition_by else [],
        "configuration": {"delta.columnMapping.mode": "name"} if names else {},
        "createdTime": 0,
    }


def inline_vector(count: int) -> dict[str, object]:
    """Give a deletion vector that hides the first rows of a file."""
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, count - 1, 16)
    bitmap += b"".join(struct.pack("<H", row) for row in range(count))
    content = struct.pack("<IqI", 1681511377, 1, 0) + bitmap
    padded = content + b"\0" * (-len(content) % 4)
    text = base64.b85encode(padded).decode().translate(str.maketrans(B85, Z85))
    return {
        "storageType": "i",
        "pathOrInlineDv": text,
        "sizeInBytes": len(content),
        "cardinality": count,
    }
