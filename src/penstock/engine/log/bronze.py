"""Slices of a bronze folder: what fits a pattern, told by names, sizes and ends of files."""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from stat import S_ISDIR

from penstock.core.entities.slices import BronzeFolder, ListedSlice, SliceId
from penstock.core.errors import TableError

FileState = tuple[str, int, int]
"""The path of a file below the folder that was asked for, its size and its time in nanoseconds."""
_WRITING, _DONE, _DELTA = "_temporary", "_SUCCESS", "_delta_log"
_MOST = 1000


_MAGIC, _ENCRYPTED, _LEAST = b"PAR1", b"PARE", 12
_HEAD = 4096
_KNOWN = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "a zip archive"),
    (b"BZh", "bzip2"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"Obj\x01", "Avro"),
    (b"ORC", "ORC"),
    (b"%PDF", "a PDF"),
    (b"SQLite format 3\0", "a SQLite database"),
)
_TEXTS = {"{": "JSON", "[": "JSON", "<": "XML"}
_BETWEEN = (",", ";", "\t", "|")


def is_hidden(name: str) -> bool:
    """Whether Spark overlooks a file or folder; `_day=1` is a partition."""
    if name.startswith("_"):
        return "=" not in name
    return name.startswith(".") or name.endswith("._COPYING_")


def walk(
    root: str, below: str, meet: Callable[[str], None] = lambda _: None
) -> Iterator[FileState]:
    """Return the files below a folder that Spark sees; `meet` hears the names of the others."""
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
    """Return what fits the pattern, by the code points of its path below the folder.

    `ends` gives the digest of the ends of a file, which with its name and size tells it.
    Raises `bronze-missing`, and `bronze-unreadable`: what cannot be seen is not taken for nothing.
    Raises `bronze-is-delta`: rows that a Delta table deleted are still in its files.
    """
    root = _root(folder)
    with _listing(folder, root):
        found = [_slice(root, name, folder, ends) for name in _fitting(root, folder)]
    return tuple(sorted((each for each in found if each), key=lambda each: each.id.name))


def unmatched_in(folder: BronzeFolder) -> tuple[str, ...]:
    """List files that belong to no slice; where there are no slices, at any depth."""
    root, others = _root(folder), list[os.DirEntry[str]]()
    with _listing(folder, root):
        has_slices = any([*_fitting(root, folder, others.append)])
        found = (name for entry in others for name in _files(root, entry, deep=not has_slices))
        return tuple(sorted(islice(found, _MOST)))


def _files(root: str, entry: os.DirEntry[str], *, deep: bool) -> Iterator[str]:
    name = os.path.relpath(entry.path, root)
    if not entry.is_dir():
        yield name
    elif deep:
        yield from (file for file, _, _ in walk(root, f"{name}/"))


def _root(folder: BronzeFolder) -> str:
    root = folder.path.removeprefix("file://")
    if "://" in root:
        raise _unreadable(folder, "slices are listed in folders of this machine alone")
    return root


@contextmanager
def _listing(folder: BronzeFolder, root: str) -> Iterator[None]:
    """Say which folder cannot be listed, and why."""
    try:
        yield
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


def _unreadable(folder: BronzeFolder, why: str) -> TableError:
    return TableError(
        "bronze-unreadable",
        f"the bronze folder {folder.path} cannot be listed: {why}",
        where=folder.where,
        hint="no slice is run before all of them can be seen",
    )


def _is_delta(folder: BronzeFolder, name: str) -> TableError:
    path = f"{folder.path.removesuffix('/')}/{name}".removesuffix("/")
    whole = "bronze_read: whole (read: whole in a native file)"
    return TableError(
        "bronze-is-delta",
        f"{path} is a Delta table, and some rows in its files may be deleted",
        where=folder.where,
        hint=f"{'point bronze_path at it, with' if name else 'set'} {whole}",
    )


def _fitting(
    root: str, folder: BronzeFolder, other: Callable[[os.DirEntry[str]], None] = lambda _: None
) -> Iterator[str]:
    """Return the paths that fit the pattern; what lies in a folder that fits is not looked at.

    `other` is called with each visible file or folder that does not fit and is not searched.
    """
    segments = [each for each in folder.pattern.split("/") if each not in ("", ".")]
    if segments[-1:] == ["**"]:
        segments.append("*")
    waiting = [("", frozenset({0}))]
    while waiting:
        below, places = waiting.pop()
        with _scanned(root, below) as entries:
            for entry in entries:
                if entry.name == _DELTA:
                    raise _is_delta(folder, below)
                if entry.name[0] in "_." or is_hidden(entry.name):
                    continue
                reached = _after(segments, places, entry.name)
                if len(segments) in reached:
                    yield f"{below}{entry.name}"
                elif reached and entry.is_dir():
                    waiting.append((f"{below}{entry.name}/", reached))
                else:
                    other(entry)


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
    """Return how far a name gets in a pattern: the numbers of segments behind it."""
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
    if _DELTA in met:
        raise _is_delta(folder, name)
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


def file_problem(path: str) -> str:
    """Say why a file is not Parquet; "" if it looks like it, or cannot be opened."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - len(_MAGIC), 0))
            tail = file.read()
    except OSError:
        return ""
    if not head:
        return "is empty"
    if head.startswith(_MAGIC):
        is_whole = size >= _LEAST and tail == _MAGIC
        return "" if is_whole else "is truncated: it begins as Parquet and has no footer"
    if head.startswith(_ENCRYPTED):
        return "is encrypted Parquet"
    known = next((name for magic, name in _KNOWN if head.startswith(magic)), "")
    return f"is not Parquet: it {f'is {known}' if known else _look_of_text(head)}"


def _look_of_text(head: bytes) -> str:
    """Say what the beginning of a text looks like."""
    try:  # the last character may be cut
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        return f"begins with the bytes {head[:4].hex(' ')}"
    if not all(sign.isprintable() or sign.isspace() for sign in text):
        return f"begins with the bytes {head[:4].hex(' ')}"
    known = _TEXTS.get(text.lstrip()[:1], "")
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    is_csv = any(sign in first for sign in _BETWEEN)
    return f"looks like {known or ('CSV' if is_csv else 'plain text')}"
