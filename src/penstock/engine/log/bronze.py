"""Slices of a bronze folder: matches of a pattern, identified by names, sizes and ends of files."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from io import SEEK_END
from itertools import islice

from penstock.core.entities.slices import BronzeFolder, ListedSlice, SliceId
from penstock.core.errors import TableError
from penstock.core.ports.engine import FileStat, FolderEntry, FolderTree
from penstock.engine.disk.disks import disk_at, is_local, local_path, walk

FileState = tuple[str, FileStat]
"""The path of a file below a folder, and what the disk knows of it."""
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
_COMPRESSED = r"(\.(gz|gzip|bz2|zst|zstd|lz4|snappy|deflate))?$"


def is_hidden(name: str) -> bool:
    """Return whether Spark ignores a file or folder; `_day=1` is a partition."""
    if name.startswith("_"):
        return "=" not in name
    return name.startswith(".") or name.endswith("._COPYING_")


Ends = Callable[[str, FileStat], str]
"""Returns the digest of the ends of a file."""


def slices_in(folder: BronzeFolder, ends: Ends) -> tuple[ListedSlice, ...]:
    """Return the matches of the pattern, sorted by the code points of their relative paths.

    `ends` returns the digest of a file's ends, which identifies it together with name and size.
    Raises `bronze-missing`, and `bronze-unreadable`: an unreadable folder does not count as empty.
    Raises `bronze-is-delta`, because rows deleted from a Delta table are still in its files.
    """
    root = _root(folder)
    with _listing(folder, root):
        tree = disk_at(root).listed(root)
        paths = _matching_paths(tree, root, folder)
        found = [_slice(tree, root, name, folder, ends) for name in paths]
    return tuple(sorted((each for each in found if each), key=lambda each: each.id.name))


def unmatched_in(folder: BronzeFolder) -> tuple[str, ...]:
    """List files that belong to no slice; if there are no slices, at any depth."""
    root, others = _root(folder), list[FolderEntry]()
    with _listing(folder, root):
        tree = disk_at(root).listed(root)
        has_slices = any([*_matching_paths(tree, root, folder, others.append)])
        found = (n for entry in others for n in _paths(tree, root, entry, deep=not has_slices))
        return tuple(sorted(islice(found, _MOST)))


def _paths(tree: FolderTree, root: str, entry: FolderEntry, *, deep: bool) -> Iterator[str]:
    if not entry.is_folder:
        yield entry.name
    elif deep:
        yield from (file for file, _ in walk(tree, root, is_hidden, f"{entry.name}/"))


def _root(folder: BronzeFolder) -> str:
    return local_path(folder.path) if is_local(folder.path) else folder.path


@contextmanager
def _listing(folder: BronzeFolder, root: str) -> Iterator[None]:
    """Convert an `OSError` to one that names the folder and the reason."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise _list_error(
            folder, f"the name {error.object.partition(chr(0))[0]!r} is not UTF-8"
        ) from error
    except OSError as error:
        if not isinstance(error, FileNotFoundError) or disk_at(root).exists(root):
            raise _list_error(folder, f"{error.filename}: {error.strerror}") from error
        raise TableError(
            "bronze-missing",
            f"the bronze folder {folder.path} does not exist",
            where=folder.where,
            hint="deliver the first slice, or correct the path",
        ) from error


def _list_error(folder: BronzeFolder, why: str) -> TableError:
    return TableError(
        "bronze-unreadable",
        f"the bronze folder {folder.path} cannot be listed: {why}",
        where=folder.where,
        hint="no slice is run before all of them can be seen",
    )


def _delta_error(folder: BronzeFolder, name: str) -> TableError:
    path = f"{folder.path.removesuffix('/')}/{name}".removesuffix("/")
    whole = "bronze_read: whole (read: whole in a native file)"
    return TableError(
        "bronze-is-delta",
        f"{path} is a Delta table, and some rows in its files may be deleted",
        where=folder.where,
        hint=f"{'point bronze_path at it, with' if name else 'set'} {whole}",
    )


def _matching_paths(
    tree: FolderTree,
    root: str,
    folder: BronzeFolder,
    other: Callable[[FolderEntry], None] = lambda _: None,
) -> Iterator[str]:
    """Return the paths that match the pattern, without searching matching folders.

    `other` is called with each visible file or folder that does not match and is not searched.
    """
    segments = [each for each in folder.pattern.split("/") if each not in ("", ".")]
    if segments[-1:] == ["**"]:
        segments.append("*")
    waiting = [("", frozenset({0}))]
    while waiting:
        below, places = waiting.pop()
        for entry in _entries(tree, root, below):
            if entry.name == _DELTA:
                raise _delta_error(folder, below)
            if entry.name[0] in "_." or is_hidden(entry.name):
                continue
            path = f"{below}{entry.name}"
            reached = _next_segments(segments, places, entry.name)
            if len(segments) in reached:
                yield path
            elif reached and entry.is_folder:
                waiting.append((f"{path}/", reached))
            else:
                other(FolderEntry(path, entry.is_folder))


def _entries(tree: FolderTree, root: str, below: str) -> list[FolderEntry]:
    """List a folder; a subfolder that disappeared in the meantime is empty."""
    try:
        return tree.entries(f"{root}/{below}")
    except FileNotFoundError:
        if not below:
            raise
        return []


def _next_segments(segments: Sequence[str], places: frozenset[int], name: str) -> frozenset[int]:
    """Return how far a name matches a pattern: the numbers of segments after it."""
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
    tree: FolderTree, root: str, name: str, folder: BronzeFolder, ends: Ends
) -> ListedSlice | None:
    """Return the slice at a path; None if it disappeared in the meantime, or is a broken link."""

    def digest(file: str, stat: FileStat) -> str:
        return ends(f"{root}/{file}", stat)

    found = tree.stat(f"{root}/{name}")
    if found is None:
        return None
    if not found.is_folder:
        return _build(name, [(name, found)], digest, is_incomplete=False)
    hidden: set[str] = set()

    def is_skipped(entry: str) -> bool:
        if is_hidden(entry):
            hidden.add(entry)
        return entry in hidden

    files = sorted(walk(tree, root, is_skipped, f"{name}/"), key=lambda each: each[0])
    if _DELTA in hidden:
        raise _delta_error(folder, name)
    fitting = re.compile(
        f"({'|'.join(map(re.escape, folder.endings))}){_COMPRESSED}", re.IGNORECASE
    )
    files = [each for each in files if fitting.search(each[0])] or files
    is_incomplete = (
        _WRITING in hidden or not files or (folder.require_success and _DONE not in hidden)
    )
    return _build(name, files, digest, is_incomplete=is_incomplete)


def _build(
    name: str, files: Sequence[FileState], ends: Ends, *, is_incomplete: bool
) -> ListedSlice:
    digest = hashlib.sha256()
    for file, stat in files:
        digest.update(f"{file}\0{stat.size}\0{ends(file, stat)}\n".encode())
    size = sum(stat.size for _, stat in files)
    modified = max((stat.modified for _, stat in files), default=0) // 1000
    names = tuple(file for file, _ in files)
    return ListedSlice(SliceId(name, size, modified, digest.hexdigest()), names, is_incomplete)


def file_problem(path: str) -> str:
    """Return why a file is not Parquet; "" if it looks valid, or cannot be opened."""
    try:
        with disk_at(path).open(path) as file:
            head = file.read(_HEAD)
            size = file.seek(0, SEEK_END)
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
    return f"is not Parquet: it {f'is {known}' if known else _text_kind(head)}"


def _text_kind(head: bytes) -> str:
    """Return what the beginning of a text looks like."""
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
