"""Fences: an empty commit after which a step's own commit is impossible.

Delta skips or refuses every statement whose application transaction is already in the table. A step
that is marked as failed gets its transaction written this way, in case its writer was only
suspended.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.errors import TableError
from penstock.engine.disk.disks import disk_at
from penstock.engine.log.folder import commit_file, newest_version, read_actions
from penstock.engine.log.tables import open_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

# Tables of newer catalogs cannot even be opened here, so their logs are not written either.
_BY_CATALOG = {"coordinatedCommits-preview"}
_TIMED = "delta.enableInCommitTimestamps"


class DeltaFences:
    """The `Fences` over Delta tables.

    The commit file is written here, because `deltalake` refuses some table features.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """Store the clock that stamps commits, in seconds."""
        self._now = now

    def fence(self, uri: str, application: str, number: int, token: str) -> bool:
        """See `Fences.fence`."""
        while (table := open_table(uri)) is not None:
            if (table.transaction_version(application) or 0) >= number:
                return True
            if not _BY_CATALOG.isdisjoint(table.protocol().writer_features or ()):
                raise TableError(
                    "cannot-fence",
                    f"only its catalog may write the log of {uri}, "
                    "so its open step cannot be given up safely",
                    hint="stop the step's writer permanently, then: "
                    "penstock recover --step STEP --as committed",
                )
            self._write(table, uri, application, number, token)
        return False

    def _write(
        self, table: DeltaTable, uri: str, application: str, number: int, token: str
    ) -> None:
        """Write the next version unless another writer does; the caller checks again either way."""
        version = newest_version(uri)
        if version is None:
            return
        stamp = int(self._now() * 1000)
        info: dict[str, object] = {"timestamp": stamp, "operation": "WRITE"}
        info["operationParameters"] = {"mode": "Append", "partitionBy": "[]"}
        if dict(table.metadata().configuration).get(_TIMED, "").lower() == "true":
            before = read_actions(uri, version).info.get("inCommitTimestamp", 0)
            info["inCommitTimestamp"] = max(stamp, int(before) + 1)
        info |= {"isBlindAppend": True, "engineInfo": "penstock", "userMetadata": token}
        transaction = {"appId": application, "version": number, "lastUpdated": stamp}
        lines = [{"commitInfo": info}, {"txn": transaction}]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        disk_at(uri).put_if_absent(commit_file(uri, version + 1), text.encode())
