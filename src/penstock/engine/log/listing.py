"""File sources: their listing is their version (spec/project.md §4)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from penstock.core.errors import TableError
from penstock.core.facts import Listing
from penstock.core.model import Source
from penstock.core.steps.inputs import FilesPin

FileState = tuple[str, int, int]


def list_files(source: Source) -> Listing:
    """Give the files of a source and the digest of their names, sizes and modification times.

    Names that Spark leaves out are left out (`_x`, `.x`, `x._COPYING_`). A path that is not
    there is `source-missing`, naming source, path and the file that declares it (case J17).
    """
    found = sorted(_remote(source) if "://" in source.path else _local(source))
    digest = hashlib.sha256()
    for name, size, modified in found:
        digest.update(f"{name}\0{size}\0{modified}\n".encode())
    root = source.path.rstrip("/")
    paths = tuple(f"{root}/{name}" if name else root for name, _, _ in found)
    return Listing(FilesPin(digest.hexdigest(), len(found)), paths)


def holds_files(uri: str) -> bool:
    """Whether any file lies below a folder, hidden ones too."""
    if "://" not in uri or uri.startswith("file://"):
        folder = Path(uri.removeprefix("file://"))
        return any(path.is_file() for path in folder.rglob("*"))
    from pyarrow import fs  # only for object stores

    system, path = fs.FileSystem.from_uri(uri)
    found = system.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    return any(info.type == fs.FileType.File for info in found)


def missing(source: Source) -> TableError:
    """Give the error of a source whose path is not there."""
    return TableError(
        "source-missing",
        f"source {source.table} has no files: {source.path} does not exist",
        where=source.where,
        hint="correct `path`, or deliver the files",
    )


def _local(source: Source) -> Iterator[FileState]:
    root = Path(source.path)
    if root.is_file():
        stat = root.stat()
        yield "", stat.st_size, stat.st_mtime_ns
        return
    if not root.is_dir():
        raise missing(source)
    yield from _walk(str(root), "")


def _walk(root: str, below: str) -> Iterator[FileState]:
    with os.scandir(os.path.join(root, below)) as entries:  # noqa: PTH118  # many files: no Path each
        for entry in entries:
            if _is_hidden(entry.name):
                continue
            name = f"{below}{entry.name}"
            if entry.is_dir():
                yield from _walk(root, f"{name}/")
                continue
            try:
                stat = entry.stat()
            except FileNotFoundError:  # deleted meanwhile, or a link to nothing
                continue
            yield name, stat.st_size, stat.st_mtime_ns


def _is_hidden(name: str) -> bool:
    """Whether Spark overlooks a file or folder; `_day=1` is a partition."""
    if name.startswith("_"):
        return "=" not in name
    return name.startswith(".") or name.endswith("._COPYING_")


def _remote(source: Source) -> Iterator[FileState]:
    from pyarrow import fs  # only for object stores

    system, path = fs.FileSystem.from_uri(source.path)
    try:
        found = system.get_file_info(fs.FileSelector(path, recursive=True))
    except FileNotFoundError:
        raise missing(source) from None
    for info in found:
        name = info.path.removeprefix(path).lstrip("/")
        if info.type == fs.FileType.File and not any(map(_is_hidden, name.split("/"))):
            yield name, info.size, info.mtime_ns or 0
