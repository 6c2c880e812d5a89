"""The `_delta_log` folder of a table: which versions are there, and how a table is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.core.errors import TableError

if TYPE_CHECKING:
    from deltalake import DeltaTable

_NAME_LENGTH = len("00000000000000000000.json")
_CHECKPOINTED = re.compile(r'"version"\s*:\s*(\d+)')


def is_local(uri: str) -> bool:
    """Whether a table or path is a folder of this machine's file system."""
    return "://" not in uri or uri.startswith("file://")


def log_folder(uri: str) -> str:
    """Give the folder of a local table's log; it need not be there."""
    return f"{uri.removeprefix('file://').rstrip('/')}/_delta_log"


def commit_path(uri: str, version: int) -> Path:
    """Give the file of a version; it need not be there."""
    return Path(_commit_name(log_folder(uri), version))


def versions(uri: str) -> list[int]:
    """Give the versions whose commit files are there, rising; none where no table is."""
    return sorted(int(name[:20]) for name in _commit_names(log_folder(uri)))


def newest(uri: str, hint: int | None = None) -> int | None:
    """Give the newest version, None where no table is.

    A version that is there, the hint or the one of the last checkpoint, is climbed from in as
    many looks as the way above it has binary digits; only without one the folder is listed.
    """
    folder = log_folder(uri)
    if hint is not None and _is_there(folder, hint):
        return _climb(folder, hint)
    floor = checkpointed(uri)
    if floor is not None and _is_there(folder, floor):
        return _climb(folder, floor)
    name = max(_commit_names(folder), default=None)
    return int(name[:20]) if name else None


def checkpointed(uri: str) -> int | None:
    """Give the version of the last checkpoint, None if there is none."""
    try:
        with open(f"{log_folder(uri)}/_last_checkpoint", encoding="utf-8") as file:  # noqa: PTH123  # 1,000 tables
            found = _CHECKPOINTED.search(file.read())
    except (OSError, UnicodeDecodeError):
        return None
    return int(found[1]) if found else None


def check_whole(uri: str, after: int, found: Sequence[int]) -> None:
    """Raise `log-gap` unless rising versions go on from `after` without a hole."""
    for wanted, version in enumerate(found, after + 1):
        if version != wanted:
            raise gap(uri, wanted)


def gap(uri: str, version: int) -> TableError:
    """Give the error of a version that the log no longer holds."""
    return TableError(
        "log-gap",
        f"version {version} of the log of {uri} is gone and would be needed",
        hint="Delta's log retention removed it; penstock cannot tell what it changed",
    )


def open_table(uri: str) -> DeltaTable | None:
    """Open a table as it is now; None where none is, `log-unreadable` if its log is damaged."""
    if is_local(uri) and newest(uri) is None:
        return None
    from deltalake import DeltaTable  # 0.1 s; most commands do without
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        return DeltaTable(uri)
    except TableNotFoundError:
        return None
    except DeltaError as error:
        raise TableError(
            "log-unreadable",
            f"the Delta log of {uri} cannot be read: {str(error).splitlines()[0][:300]}",
            hint="a log file is missing or damaged; restore it from a backup, nothing was written",
        ) from error


def open_version(uri: str, version: int) -> DeltaTable | None:
    """Open a table as it was; None if the log no longer tells."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        return DeltaTable(uri, version=version)
    except DeltaError:
        return None


def _commit_names(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208  # names, not a Path for each of 10,000
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        name
        for name in names
        if len(name) == _NAME_LENGTH and name.endswith(".json") and name[:20].isdecimal()
    ]


def _commit_name(folder: str, version: int) -> str:
    return f"{folder}/{version:020d}.json"


def _is_there(folder: str, version: int) -> bool:
    return os.path.exists(_commit_name(folder, version))  # noqa: PTH110  # 1,000 tables: no Path each


def _climb(folder: str, low: int) -> int:
    step = 1
    while _is_there(folder, low + step):
        low += step
        step *= 2
    while step > 1:
        step //= 2
        if _is_there(folder, low + step):
            low += step
    return low
