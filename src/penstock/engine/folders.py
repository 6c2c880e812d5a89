"""Folders that penstock made beside the tables, on disks and in object stores."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from penstock.engine.log_folder import is_local

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


class DiskFolders:
    """The `Folders` of a local file system and, for URIs, of what pyarrow can reach."""

    def names(self, uri: str) -> tuple[str, ...]:
        """See `Folders.names`."""
        if is_local(uri):
            return tuple(sorted(_local_names(uri.removeprefix("file://"))))
        from pyarrow import fs

        system, path = filesystem(uri)
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return tuple(sorted(info.base_name for info in found if info.type == fs.FileType.Directory))

    def drop(self, uri: str) -> None:
        """See `Folders.drop`."""
        if is_local(uri):
            _drop_local(uri.removeprefix("file://"))
            return
        from pyarrow import fs

        system, path = filesystem(uri)
        if system.get_file_info(path).type == fs.FileType.Directory:
            system.delete_dir(path)


def filesystem(uri: str) -> tuple[FileSystem, str]:
    """Give what reads and writes a place, and the place's path there."""
    from pyarrow import fs

    if is_local(uri):
        return fs.LocalFileSystem(), uri.removeprefix("file://")
    system, path = fs.FileSystem.from_uri(uri.replace("s3a://", "s3://", 1))
    return system, path


def _local_names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _drop_local(folder: str) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:  # it, or with another's help a part of it
        shutil.rmtree(folder, ignore_errors=True)
