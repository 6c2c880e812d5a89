"""Slices of a bronze folder: what fits a pattern, told by names, sizes and ends of files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from stat import S_ISDIR

from penstock.core.errors import TableError
from penstock.core.steps.slices import BronzeFolder, ListedSlice, SliceId

FileState = tuple[str, int, int]
"""The path of a file below the folder that was asked for, its size and its time in nanoseconds."""
_WRITING, _DONE = "_temporary", "_SUCCESS"


def is_hidden(name: str) -> bool:
    """Whether Spark overlooks a file or folder; `_day=1` is a partition."""
    if name.startswith("_"):
        return "=" not in name
    return name.startswith(".") or name.endswith("._COPYING_")


def walk(
    root: str, below: str, meet: Callable[[str], None] = lambda _: None
) -> Iterator[FileState]:
    """Give the files below a folder that Spark sees; `meet` hears the names of the others."""
    with os.scandir(os.path.join(root, below)) as entries:  # noqa: PTH118  # many files: no Path each
        for entry in entries:
            if is_hidden(entry.name):
                meet(entry.name)
                continue
            name = f"{below}{entry.name}"
            if entry.is_dir():
                yield from walk(root, f"{name}/", meet)
                continue
            try:
                stat = entry.stat()
            except FileNotFoundError:  # deleted meanwhile, or a link to nothing
                continue
            yield name, stat.st_size, stat.st_mtime_ns


def slices_in(folder: BronzeFolder, ends: Callable[[str], str]) -> tuple[ListedSlice, ...]:
    """Give what fits the pattern, by the code points of its path below the folder.

    `ends` gives the digest of the ends of a file, which with its name and size tells it.
    Raises `bronze-missing`, and `bronze-unreadable`: what cannot be seen is not taken for nothing.
    """
    root = folder.path.removeprefix("file://")
    if "://" in root:
        raise _unreadable(folder, "slices are listed in folders of this machine alone")
    try:
        found = [_slice(root, name, folder, ends) for name in _fitting(root, folder.pattern)]
    except UnicodeEncodeError as error:
        raise _unreadable(
            folder, f"the name {error.object.partition(chr(0))[0]!r} is not UTF-8"
        ) from error
    except OSError as error:
        if not isinstance(error, FileNotFoundError) or os.path.exists(root):  # noqa: PTH110  # no Path
            raise _unreadable(folder, f"{error.filename}: {error.strerror}") from error
        raise TableError(
            "bronze-missing",
            f"the bronze folder {folder.path} does not exist",
            where=folder.where,
            hint="deliver the first slice, or correct the path",
        ) from error
    return tuple(sorted((each for each in found if each), key=lambda each: each.id.name))


def _unreadable(folder: BronzeFolder, why: str) -> TableError:
    return TableError(
        "bronze-unreadable",
        f"the bronze folder {folder.path} cannot be listed: {why}",
        where=folder.where,
        hint="no slice is run before all of them can be seen",
    )


def _fitting(root: str, pattern: str) -> Iterator[str]:
    """Give the paths that fit a pattern; what lies in a folder that fits is not looked at."""
    segments = [each for each in pattern.split("/") if each not in ("", ".")]
    if segments[-1:] == ["**"]:
        segments.append("*")
    waiting = [("", frozenset({0}))]
    while waiting:
        below, places = waiting.pop()
        with _scanned(root, below) as entries:
            for entry in entries:
                if entry.name[0] in "_." or is_hidden(entry.name):
                    continue
                reached = _after(segments, places, entry.name)
                if len(segments) in reached:
                    yield f"{below}{entry.name}"
                elif reached and entry.is_dir():
                    waiting.append((f"{below}{entry.name}/", reached))


@contextmanager
def _scanned(root: str, below: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Look into a folder; one below the root that went away meanwhile is empty."""
    try:
        entries = os.scandir(os.path.join(root, below))  # noqa: PTH118  # as in `walk`
    except FileNotFoundError:
        if not below:
            raise
        yield iter(())
        return
    with entries:
        yield entries


def _after(segments: Sequence[str], places: frozenset[int], name: str) -> frozenset[int]:
    """Give how far in a pattern one gets by a name: the numbers of segments that are behind it."""
    reached = set()
    for place in places:
        here = place
        while here < len(segments) and segments[here] == "**":  # any number of folders, or none
            reached.add(here)
            here += 1
        if here < len(segments) and fnmatchcase(name, segments[here]):
            reached.add(here + 1)
    return frozenset(reached)


def _slice(
    root: str, name: str, folder: BronzeFolder, ends: Callable[[str], str]
) -> ListedSlice | None:
    """Describe a slice; None of one that went away meanwhile, or is a link to nothing."""
    try:
        stat = os.stat(os.path.join(root, name))  # noqa: PTH116, PTH118  # 10,000 slices
    except FileNotFoundError:
        return None
    if not S_ISDIR(stat.st_mode):
        files = [(name, stat.st_size, stat.st_mtime_ns)]
        return _listed(name, files, lambda file: ends(f"{root}/{file}"), is_incomplete=False)
    met: set[str] = set()
    files = sorted(walk(root, f"{name}/", met.add))
    files = [each for each in files if each[0].lower().endswith(".parquet")] or files
    is_incomplete = _WRITING in met or not files or (folder.require_success and _DONE not in met)
    return _listed(name, files, lambda file: ends(f"{root}/{file}"), is_incomplete=is_incomplete)


def _listed(
    name: str, files: Sequence[FileState], ends: Callable[[str], str], *, is_incomplete: bool
) -> ListedSlice:
    digest = hashlib.sha256()
    for file, size, _ in files:
        digest.update(f"{file}\0{size}\0{ends(file)}\n".encode())
    size = sum(size for _, size, _ in files)
    modified = max((modified for _, _, modified in files), default=0) // 1000
    names = tuple(file for file, _, _ in files)
    return ListedSlice(SliceId(name, size, modified, digest.hexdigest()), names, is_incomplete)
