"""One commit file of a Delta log: who made it, and what it changed."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from penstock.core.errors import TableError
from penstock.core.facts import AddedFile, LogCommit
from penstock.core.steps.token import signed_by

# Operations that change rows, for logs whose files cannot be read one by one.
DATA_OPERATIONS = frozenset(
    {"WRITE", "MERGE", "UPDATE", "DELETE", "STREAMING UPDATE", "RESTORE", "TRUNCATE", "COPY INTO"}
    | {f"{how} TABLE AS SELECT" for how in ("CREATE", "REPLACE", "CREATE OR REPLACE")}
)

T = TypeVar("T")

# What a damaged file raises while it is read.
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Actions:
    """What a commit file says of rows: who changed them, and by which files."""

    info: Mapping[str, Any] = field(default_factory=dict)
    adds: tuple[Mapping[str, Any], ...] = ()
    removes: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] | None = None

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Actions:
        """Read the actions of one commit; Delta writes one JSON object a line.

        Files that were only moved about, `dataChange` being false, are left out.
        """
        info: Mapping[str, Any] = {}
        metadata: Mapping[str, Any] | None = None
        adds, removes = [], []
        for line in lines:
            action = json.loads(line)
            if (add := action.get("add")) and add.get("dataChange"):
                adds.append(add)
            elif (remove := action.get("remove")) and remove.get("dataChange"):
                removes.append(remove)
            elif "commitInfo" in action:
                info = action["commitInfo"]
            elif "metaData" in action:
                metadata = action["metaData"]
        return cls(info, tuple(adds), tuple(removes), metadata)

    def commit(self, version: int) -> LogCommit:
        """Tell the commit, but for how many rows more there are."""
        info = self.info
        token = str(info.get("userMetadata") or "")
        stamp = info.get("inCommitTimestamp") or info.get("timestamp") or 0
        step, store = signed_by(token)
        metrics = info.get("operationMetrics") or {}
        commit = LogCommit(
            version=version,
            time=dt.datetime.fromtimestamp(int(stamp) / 1000, tz=dt.UTC),
            operation=str(info.get("operation", "")),
            changes_data=bool(self.adds or self.removes),
            step=step,
            store=store,
            user=str(info.get("userName") or ""),
            metrics={k: int(v) for k, v in metrics.items() if str(v).lstrip("-").isdigit()},
            token=token,
        )
        if self.metadata is None:
            return commit
        return replace(commit, table_id=str(self.metadata["id"]))


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A commit with the files it added; `rewrites` is whether it removed or masked any row."""

    commit: LogCommit
    added: tuple[AddedFile, ...] = ()
    rewrites: bool = False

    @property
    def step(self) -> str:
        """The penstock step that made it, or ""."""
        return self.commit.step

    @classmethod
    def from_lines(
        cls, version: int, lines: Iterable[str], *, data_by_name: bool = False
    ) -> LogEntry:
        """Read one commit; with `data_by_name` its files are not known and its name decides."""
        actions = Actions.from_lines(lines)
        if data_by_name:
            changed = replace(actions.commit(version), changes_data=True)
            return cls(changed, rewrites=True)
        rows = [live_rows(add) for add in actions.adds]
        rows += [None if (gone := live_rows(each)) is None else -gone for each in actions.removes]
        known = [count for count in rows if count is not None]
        change = sum(known) if len(known) == len(rows) else None
        added = tuple(_added(add["path"], add.get("stats")) for add in actions.adds)
        masks = any(add.get("deletionVector") is not None for add in actions.adds)
        commit = replace(actions.commit(version), row_change=change)
        return cls(commit, added, masks or bool(actions.removes))


def read_entry(path: Path, *, head_only: bool = False) -> LogEntry:
    """Read a commit file; `head_only` stops after the line that says who made it."""
    return _read(path, partial(LogEntry.from_lines, int(path.stem)), head_only=head_only)


def read_actions(path: Path) -> Actions:
    """Read what a commit file says of rows; `log-unreadable` if it is damaged."""
    return _read(path, Actions.from_lines)


def _read(path: Path, reader: Callable[[Sequence[str]], T], *, head_only: bool = False) -> T:
    lines: list[str] = []
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                lines.append(line)
                if head_only and line.startswith('{"commitInfo"'):
                    break
        found = reader(lines)
    except FileNotFoundError:  # it may have gone, or never have been there: the caller knows
        raise
    except (OSError, *UNREADABLE) as error:
        raise damaged(path) from error
    if not lines:
        raise damaged(path)
    return found


def damaged(path: Path) -> TableError:
    """Give the error of a commit file that cannot be read."""
    version = int(path.stem)
    return TableError(
        "log-unreadable",
        f"version {version} of the Delta log in {path.parent} is damaged",
        hint="restore the file from a backup; nothing was written",
    )


def _added(path: str, stats: str | None) -> AddedFile:
    statistics = json.loads(stats) if stats else {}
    return AddedFile(
        path,
        _texts(statistics.get("minValues") or {}),
        _texts(statistics.get("maxValues") or {}),
        {k: v for k, v in (statistics.get("nullCount") or {}).items() if isinstance(v, int)},
    )


def live_rows(action: Mapping[str, Any]) -> int | None:
    """Give the rows of a file, without those that its deletion vector hides.

    None if its statistics do not tell.
    """
    records = json.loads(action.get("stats") or "{}").get("numRecords")
    if records is None:
        return None
    hidden = (action.get("deletionVector") or {}).get("cardinality", 0)
    return int(records) - int(hidden)


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {k: str(v) for k, v in values.items() if not isinstance(v, dict | list)}
