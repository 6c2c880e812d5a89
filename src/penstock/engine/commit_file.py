"""One commit file of a Delta log: who made it, and what it changed."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.core.errors import TableError
from penstock.core.facts import AddedFile, Commit
from penstock.core.token import signed_by

# Operations that change rows, for logs whose files cannot be read one by one.
DATA_OPERATIONS = frozenset(
    {
        "WRITE",
        "MERGE",
        "UPDATE",
        "DELETE",
        "STREAMING UPDATE",
        "CREATE TABLE AS SELECT",
        "REPLACE TABLE AS SELECT",
        "CREATE OR REPLACE TABLE AS SELECT",
        "RESTORE",
        "TRUNCATE",
        "COPY INTO",
    }
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A commit with the files it added; `rewrites` is whether it removed or masked any row."""

    commit: Commit
    added: tuple[AddedFile, ...] = ()
    rewrites: bool = False

    @property
    def step(self) -> str:
        """The penstock step that made it, or ""."""
        return self.commit.step

    @classmethod
    def from_lines(cls, version: int, lines: Iterable[str], *, data_by_name: bool = False) -> Entry:
        """Read the actions of one commit; Delta writes one JSON object a line."""
        info: dict[str, Any] = {}
        added: list[AddedFile] = []
        table_id = ""
        changes, rewrites = data_by_name, data_by_name
        rows: list[int | None] = [None] if data_by_name else []
        for line in lines:
            action = json.loads(line)
            if "commitInfo" in action:
                info = action["commitInfo"]
            elif (add := action.get("add")) and add.get("dataChange"):
                changes = True
                rewrites |= add.get("deletionVector") is not None
                added.append(_added(add["path"], add.get("stats")))
                rows.append(_rows(add))
            elif (remove := action.get("remove")) and remove.get("dataChange"):
                changes = rewrites = True
                gone = _rows(remove)
                rows.append(None if gone is None else -gone)
            elif "metaData" in action:
                table_id = str(action["metaData"]["id"])
        known = [count for count in rows if count is not None]
        change = sum(known) if len(known) == len(rows) else None
        told = _commit(version, info, changes)
        commit = replace(told, table_id=table_id, row_change=change)
        return cls(commit, tuple(added), rewrites)


def read_entry(path: Path, *, head_only: bool = False) -> Entry:
    """Read a commit file; `head_only` stops after the line that says who made it."""
    version = int(path.stem)
    try:
        with path.open(encoding="utf-8") as file:
            lines = _until_info(file) if head_only else list(file)
        entry = Entry.from_lines(version, lines)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(path, version) from error
    if not lines:
        raise _damaged(path, version)
    return entry


def _damaged(path: Path, version: int) -> TableError:
    return TableError(
        "log-unreadable",
        f"version {version} of the Delta log in {path.parent} is damaged",
        hint="restore the file from a backup; nothing was written",
    )


def _until_info(lines: Iterable[str]) -> list[str]:
    seen = []
    for line in lines:
        seen.append(line)
        if line.startswith('{"commitInfo"'):
            break
    return seen


def _commit(version: int, info: dict[str, Any], changes: bool) -> Commit:  # noqa: FBT001
    token = str(info.get("userMetadata") or "")
    stamp = info.get("inCommitTimestamp") or info.get("timestamp") or 0
    step, store = signed_by(token)
    return Commit(
        version=version,
        time=dt.datetime.fromtimestamp(int(stamp) / 1000, tz=dt.UTC),
        operation=str(info.get("operation", "")),
        changes_data=changes,
        step=step,
        store=store,
        user=str(info.get("userName") or ""),
        metrics=_numbers(info.get("operationMetrics") or {}),
        token=token,
    )


def _numbers(metrics: dict[str, Any]) -> dict[str, int]:
    return {k: int(v) for k, v in metrics.items() if str(v).lstrip("-").isdigit()}


def _added(path: str, stats: str | None) -> AddedFile:
    told = json.loads(stats) if stats else {}
    return AddedFile(
        path,
        _texts(told.get("minValues") or {}),
        _texts(told.get("maxValues") or {}),
        {k: v for k, v in (told.get("nullCount") or {}).items() if isinstance(v, int)},
    )


def _rows(action: dict[str, Any]) -> int | None:
    """Give the rows of a file, without those that its deletion vector hides."""
    records = json.loads(action.get("stats") or "{}").get("numRecords")
    if records is None:
        return None
    hidden = (action.get("deletionVector") or {}).get("cardinality", 0)
    return int(records) - int(hidden)


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {k: str(v) for k, v in values.items() if not isinstance(v, dict | list)}
