"""The `_delta_log` folder of a table: its versions and their content."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.core.errors import TableError
from penstock.core.facts import AddedFile, LogCommit
from penstock.core.steps.token import read_metrics, signed_by
from penstock.engine.disk.disks import disk_at, is_local

_COMMIT = re.compile(r"[0-9]{20}\.json")
_CHECKPOINT = re.compile(r"[0-9]{20}\.checkpoint\.")
_CHECKPOINTED = re.compile(rb'"version"\s*:\s*(\d+)')


def log_folder(uri: str) -> str:
    """Return the folder of a table's log, even if it does not exist."""
    return f"{uri.removeprefix('file://').rstrip('/')}/_delta_log"


def commit_file(uri: str, version: int) -> str:
    """Return the file of a version, even if it does not exist."""
    return f"{log_folder(uri)}/{commit_name(version)}"


def commit_name(version: int) -> str:
    """Return the name of the file of a version."""
    return f"{version:020d}.json"


def read_file(place: str) -> bytes:
    """Read a file of a log; raise `OSError` if it cannot be read."""
    with disk_at(place).open(place) as file:
        return file.read()


def versions(uri: str, after: int = -1) -> list[int]:
    """Return the committed versions above one, in ascending order; empty if there is no table."""
    names = _names(uri, commit_name(after) if after >= 0 else "")
    return sorted(int(name[:20]) for name in names if _COMMIT.fullmatch(name))


def _names(uri: str, after: str = "") -> list[str]:
    try:
        return disk_at(uri).files_after(log_folder(uri), after)
    except (FileNotFoundError, NotADirectoryError):
        return []


def is_contained(uri: str, version: int) -> bool:
    """Return whether a log has a checkpoint and all commits that a version is read from."""
    names = _names(uri)
    checkpoints = (int(name[:20]) for name in names if _CHECKPOINT.match(name))
    first = max((each for each in checkpoints if each <= version), default=-1) + 1
    return set(names).issuperset(map(commit_name, range(first, version + 1)))


def newest_version(uri: str, hint: int | None = None) -> int | None:
    """Return the newest version, None if there is no table.

    Searches upwards from an existing version, the hint or the last checkpoint; the folder is listed
    only without one. A cleanup may leave commits below a gap, so a hint on a disk of this machine,
    which shows no gap, counts only from the last checkpoint on.
    """
    disk, log = disk_at(uri), log_folder(uri)
    newest = None if hint is None else disk.newest(log, commit_name, hint)
    if newest is None or is_local(uri):
        known, least = checkpointed(uri), -1 if newest is None else newest.number
        if known is not None and known > least:
            newest = disk.newest(log, commit_name, known)
    return max(versions(uri), default=None) if newest is None else newest.number


def checkpointed(uri: str) -> int | None:
    """Return the version of the last checkpoint, None if there is none."""
    try:
        found = _CHECKPOINTED.search(read_file(f"{log_folder(uri)}/_last_checkpoint"))
    except OSError:
        return None
    return int(found[1]) if found else None


def check_whole(uri: str, after: int, versions: Sequence[int]) -> None:
    """Raise `log-gap` unless the ascending versions continue from `after` without a gap."""
    for wanted, version in enumerate(versions, after + 1):
        if version != wanted:
            raise gap_error(uri, wanted)


def gap_error(uri: str, version: int) -> TableError:
    """Return the error for a version that is missing in the log."""
    return TableError(
        "log-gap",
        f"version {version} of the Delta log of {uri} is missing, but it is needed",
        hint="Delta's log retention removed it; penstock cannot determine what it changed",
    )


def unreadable_log(uri: str, why: str) -> TableError:
    """Return the error of a log that `deltalake` cannot read."""
    hint = "restore the missing or damaged log file from a backup; nothing was written"
    if "CRC file version" in why:  # the commit was removed without it
        hint = "delete the .crc file of the version that has no .json file; nothing was written"
    return TableError("log-unreadable", f"the Delta log of {uri} cannot be read: {why}", hint=hint)


T = TypeVar("T")
# What a damaged file raises while it is read.
UNREADABLE = (AttributeError, KeyError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Actions:
    """The content of a commit file about rows: who changed them, and in which files."""

    info: Mapping[str, Any]
    adds: tuple[Mapping[str, Any], ...] = ()
    removes: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] | None = None

    @classmethod
    def from_lines(cls, lines: Iterable[bytes]) -> Actions:
        """Parse the actions of one commit, without files that were only rewritten."""
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

    def commit(self, version: int, row_change: int | None = None) -> LogCommit:
        """Return the commit, which added this number of rows, if that is known."""
        info, token = self.info, str(self.info.get("userMetadata") or "")
        stamp = info.get("inCommitTimestamp") or info.get("timestamp") or 0
        step, store = signed_by(token)
        counted = info.get("operationMetrics") or {}
        metrics = {k: int(v) for k, v in counted.items() if str(v).lstrip("-").isdigit()}
        return LogCommit(
            version=version,
            time=dt.datetime.fromtimestamp(int(stamp) / 1000, tz=dt.UTC),
            operation=str(info.get("operation", "")),
            changes_data=bool(self.adds or self.removes),
            step=step,
            store=store,
            user=str(info.get("userName") or ""),
            metrics={**metrics, **read_metrics(token)},
            token=token,
            table_id="" if self.metadata is None else str(self.metadata["id"]),
            read_version=_number(info.get("readVersion")),
            overwrites=_overwrites(info),
            restored=_number((info.get("operationParameters") or {}).get("version")),
            cloned=_cloned(info),
            row_change=row_change,
        )


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdigit() else None


_FOLDER = re.compile(r"delta\.`(?:file:)?(.+)`")


def _cloned(info: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the folder and the version that a CLONE copied; None for a table of a catalog."""
    how = info.get("operationParameters") or {}
    folder = _FOLDER.fullmatch(str(how.get("source", "")))
    version = _number(how.get("sourceVersion"))
    if info.get("operation") != "CLONE" or folder is None or version is None:
        return None
    return folder[1].replace("``", "`"), version


def _overwrites(info: Mapping[str, Any]) -> bool:
    """Return whether a commit replaced all rows; with a predicate it replaced some."""
    operation, how = str(info.get("operation", "")), info.get("operationParameters") or {}
    if operation.endswith("TABLE AS SELECT") or operation == "CLONE":
        return True
    return operation == "WRITE" and how.get("mode") == "Overwrite" and not how.get("predicate")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A commit with the files it added; `rewrites` is whether it removed or masked any row."""

    commit: LogCommit
    added: tuple[AddedFile, ...] = ()
    rewrites: bool = False

    @classmethod
    def from_lines(cls, version: int, lines: Iterable[bytes]) -> LogEntry:
        """Parse one commit."""
        actions = Actions.from_lines(lines)
        rows = [live_rows(add) for add in actions.adds]
        rows += [None if (gone := live_rows(each)) is None else -gone for each in actions.removes]
        known = [count for count in rows if count is not None]
        change = sum(known) if len(known) == len(rows) else None
        masks = any(add.get("deletionVector") is not None for add in actions.adds)
        return cls(
            actions.commit(version, change),
            tuple(_added_file(add["path"], add.get("stats")) for add in actions.adds),
            masks or bool(actions.removes),
        )


def read_entry(uri: str, version: int, *, head_only: bool = False) -> LogEntry:
    """Read a commit; `head_only` stops after the line that identifies its writer."""
    return _read(
        uri, version, lambda lines: LogEntry.from_lines(version, lines), head_only=head_only
    )


def read_actions(uri: str, version: int) -> Actions:
    """Read a commit's actions on rows; raise `log-gap` if missing, `log-unreadable` if damaged."""
    return _read(uri, version, Actions.from_lines)


def _read(
    uri: str, version: int, reader: Callable[[Sequence[bytes]], T], *, head_only: bool = False
) -> T:
    lines: list[bytes] = []
    try:
        with disk_at(uri).open(commit_file(uri, version)) as file:
            for line in file:
                lines.append(line)
                if head_only and line.startswith(b'{"commitInfo"'):
                    break
        found = reader(lines)
    except FileNotFoundError:
        raise gap_error(uri, version) from None
    except (OSError, *UNREADABLE) as error:
        raise damaged_error(uri, version) from error
    if not lines:
        raise damaged_error(uri, version)
    return found


def damaged_error(uri: str, version: int) -> TableError:
    """Return the error of a commit file that cannot be read."""
    return TableError(
        "log-unreadable",
        f"version {version} of the Delta log in {log_folder(uri)} is damaged",
        hint="restore the file from a backup; nothing was written",
    )


def _added_file(path: str, stats: str | None) -> AddedFile:
    statistics = json.loads(stats) if stats else {}
    low, high = (
        {k: str(v) for k, v in ends.items() if not isinstance(v, dict | list)}
        for ends in (statistics.get("minValues") or {}, statistics.get("maxValues") or {})
    )
    nulls = statistics.get("nullCount") or {}
    known = {k: v for k, v in nulls.items() if isinstance(v, int)}
    return AddedFile(path, low, high, known, int(statistics.get("numRecords") or 0))


def live_rows(action: Mapping[str, Any]) -> int | None:
    """Return a file's number of rows without hidden ones; None if it has no statistics."""
    records = json.loads(action.get("stats") or "{}").get("numRecords")
    if records is None:
        return None
    hidden = (action.get("deletionVector") or {}).get("cardinality", 0)
    return int(records) - int(hidden)
