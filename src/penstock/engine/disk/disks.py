"""The disks behind locations: folders of this machine, and buckets."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_ISDIR
from typing import BinaryIO

from penstock.core.errors import TableError
from penstock.core.ports.engine import Disk, FileStat, FolderEntry, FolderTree, Newest
from penstock.core.storage import is_s3
from penstock.engine.disk.buckets import BUCKETS


def is_local(uri: str) -> bool:
    """Return whether a location is in the local file system."""
    return "://" not in uri or uri.startswith("file://")


def local_path(uri: str) -> str:
    """Return the path of a location on this machine."""
    return uri.removeprefix("file://")


class LocalDisk:
    """The `Disk` of this machine; paths are texts for speed: 10,000 files and 1,000 tables."""

    def exists(self, uri: str) -> bool:
        """See `Disk.exists`."""
        return os.path.exists(local_path(uri))  # noqa: PTH110  as above

    def stat(self, uri: str) -> FileStat | None:
        """See `Disk.stat`."""
        try:
            found = os.stat(local_path(uri))  # noqa: PTH116  as above
        except (FileNotFoundError, NotADirectoryError, ValueError):  # a name with a zero byte, too
            return None
        is_folder = S_ISDIR(found.st_mode)
        times = found.st_mtime_ns, found.st_ctime_ns
        return FileStat(found.st_size, *times, found.st_ino, is_folder)

    def entries(self, uri: str) -> list[FolderEntry]:
        """See `Disk.entries`."""
        with os.scandir(local_path(uri)) as found:
            return [FolderEntry(each.name, each.is_dir()) for each in found]

    def listed(self, uri: str) -> FolderTree:  # noqa: ARG002  each look at it costs little
        """See `Disk.listed`."""
        return self

    def files_after(self, folder: str, name: str) -> list[str]:
        """See `Disk.files_after`."""
        return [each.name for each in self.entries(folder) if each.name > name]

    def newest(self, folder: str, name_of: Callable[[int], str], first: int) -> Newest | None:
        """See `Disk.newest`: as many looks as the way above the first has binary digits."""
        if not self.exists(f"{folder}/{name_of(first)}"):
            return None
        step = 1
        while self.exists(f"{folder}/{name_of(first + step)}"):
            first += step
            step *= 2
        while step > 1:
            step //= 2
            if self.exists(f"{folder}/{name_of(first + step)}"):
                first += step
        return Newest(first)

    def open(self, uri: str) -> BinaryIO:
        """See `Disk.open`."""
        return open(local_path(uri), "rb")  # noqa: PTH123  as above

    def put(self, uri: str, content: bytes) -> None:
        """See `Disk.put`: a temporary file beside it is renamed."""
        self._part(uri, content).replace(local_path(uri))

    def put_if_absent(self, uri: str, content: bytes) -> bool:
        """See `Disk.put_if_absent`: no reader ever sees a partial file."""
        part, whole = self._part(uri, content), Path(local_path(uri))
        try:
            self._link(part, whole)
        except FileExistsError:
            return False
        finally:
            part.unlink()
        return True

    def _link(self, part: Path, whole: Path) -> None:
        try:
            whole.hardlink_to(part)
        except FileExistsError:
            raise
        except OSError:  # no hard links here
            with whole.open("xb") as file:
                file.write(part.read_bytes())

    def _part(self, uri: str, content: bytes) -> Path:
        path = Path(local_path(uri))
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        part.write_bytes(content)
        return part

    def drop(self, uri: str) -> None:
        """See `Disk.drop`."""
        try:
            shutil.rmtree(local_path(uri))
        except FileNotFoundError:  # it, or with another's help a part of it
            shutil.rmtree(local_path(uri), ignore_errors=True)


_LOCAL = LocalDisk()


def disk_at(uri: str) -> Disk:
    """Return the disk of a location; raise `remote-not-supported` for other schemes."""
    if is_local(uri):
        return _LOCAL
    if is_s3(uri):
        return BUCKETS.disk(uri)
    raise TableError("remote-not-supported", f"{uri} is not a folder of this machine")


def walk(
    tree: FolderTree, uri: str, skips: Callable[[str], bool], below: str = ""
) -> Iterator[tuple[str, FileStat]]:
    """Yield the files below a folder by relative path, without names that are skipped."""
    for entry in tree.entries(f"{uri}/{below}"):
        name = f"{below}{entry.name}"
        if skips(entry.name):
            continue
        if entry.is_folder:
            yield from walk(tree, uri, skips, f"{name}/")
        elif (found := tree.stat(f"{uri}/{name}")) and not found.is_folder:
            yield name, found  # else deleted meanwhile, a link to nothing, or an empty folder


class DiskFolders:
    """The `Folders` of every disk."""

    def names(self, uri: str) -> tuple[str, ...]:
        """See `Folders.names`."""
        try:
            found = disk_at(uri).listed(uri).entries(uri)  # where a marker alone is no folder
            return tuple(sorted(each.name for each in found if each.is_folder))
        except (FileNotFoundError, NotADirectoryError):
            return ()

    def drop(self, uri: str) -> None:
        """See `Folders.drop`."""
        disk_at(uri).drop(uri)
        BUCKETS.forget(uri)
