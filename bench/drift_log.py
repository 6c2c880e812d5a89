"""A `_delta_log` written by hand, as Spark writes it but without files of rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in (("date", "date"), ("id", "long"), ("amount", "long"))
        ],
    }
)

PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors", "invariants", "appendOnly"],
}


@dataclass(slots=True)
class Log:
    """Writes a `_delta_log` by hand: commits and their .crc files, but no file of rows."""

    table: Path
    table_id: str
    column: str = "date"
    version: int = -1
    live: dict[str, str] = field(default_factory=dict)

    def create(self, token: str) -> None:
        """Write version 0: the table, without rows."""
        (self.table / "_delta_log").mkdir(parents=True)
        made = [{"metaData": self._metadata()}, {"protocol": PROTOCOL}]
        self._commit("CREATE TABLE", token, made)

    def append(self, token: str, days: list[str]) -> None:
        """Write a commit that adds a file for every day."""
        added = [{"add": self._added(day)} for day in days]
        self._commit("WRITE", token, added)

    def replace(self, token: str, day: str, operation: str = "WRITE") -> None:
        """Write a commit that puts a new file in the place of a day's one."""
        old = self.live.get(day)
        gone = {
            "path": old,
            "deletionTimestamp": 1,
            "dataChange": True,
            "extendedFileMetadata": False,
        }
        removed = [{"remove": gone}] if old else []
        self._commit(operation, token, [{"add": self._added(day)}, *removed])

    def _commit(self, operation: str, token: str, actions: list[dict[str, Any]]) -> None:
        self.version += 1
        stamp = 1_700_000_000_000 + 1000 * self.version
        info: dict[str, Any] = {
            "timestamp": stamp,
            "operation": operation,
            "operationParameters": {},
            "isolationLevel": "Serializable",
            "isBlindAppend": False,
            "operationMetrics": {"numFiles": str(len(self.live)), "numOutputRows": "100"},
            **({"userMetadata": token} if token else {}),
            "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0",
            "txnId": f"{self.version:08d}-3340-48e7-ab56-b17900bca66d",
        }
        told = ({"commitInfo": info}, *actions)
        lines = [json.dumps(each, separators=(",", ":")) for each in told]
        place = self.table / "_delta_log" / f"{self.version:020d}"
        place.with_suffix(".json").write_text("\n".join(lines) + "\n", encoding="utf-8")
        place.with_suffix(".crc").write_text(json.dumps(self._sums(info)), encoding="utf-8")

    def _metadata(self) -> dict[str, Any]:
        return {
            "id": self.table_id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": SCHEMA,
            "partitionColumns": [self.column],
            "configuration": {"delta.enableDeletionVectors": "true"},
            "createdTime": 1_700_000_000_000,
        }

    def _added(self, day: str) -> dict[str, Any]:
        stats = {
            "numRecords": 100,
            "minValues": {"id": 0, "amount": 0},
            "maxValues": {"id": 99, "amount": 9},
            "nullCount": {"id": 0, "amount": 0},
            "tightBounds": True,
        }
        self.live[day] = f"{self.column}={day}/part-{self.version + 1:05d}-b1.c000.snappy.parquet"
        return {
            "path": self.live[day],
            "partitionValues": {self.column: day},
            "size": 4000,
            "modificationTime": 1_700_000_000_000,
            "dataChange": True,
            "stats": json.dumps(stats, separators=(",", ":")),
        }

    def _sums(self, info: dict[str, Any]) -> dict[str, Any]:
        return {
            "txnId": info["txnId"],
            "tableSizeBytes": 4000 * len(self.live),
            "numFiles": len(self.live),
            "numDeletedRecordsOpt": 0,
            "numDeletionVectorsOpt": 0,
            "numMetadata": 1,
            "numProtocol": 1,
            "setTransactions": [],
            "domainMetadata": [],
            "metadata": self._metadata(),
            "protocol": PROTOCOL,
        }
