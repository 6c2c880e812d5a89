"""A disk in memory: files by their paths; a folder is there while a file is below it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from penstock.core.ports.engine import FileStat, FolderEntry, FolderTree, Newest


@dataclass
class MemoryDisk:
    """Every write has a later time than all before it."""

    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    times: count[int] = field(default_factory=lambda: count(1))

    def exists(self, uri: str) -> bool:
        return self.stat(uri) is not None

    def stat(self, uri: str) -> FileStat | None:
        if uri in self.files:
            content, time = self.files[uri]
            return FileStat(len(content), time, time, 0, is_folder=False)
        return FileStat(0, 0, 0, 0, is_folder=True) if self._below(uri) else None

    def entries(self, uri: str) -> list[FolderEntry]:
        below = self._below(uri)
        if not below:
            raise NotADirectoryError(uri) if uri in self.files else FileNotFoundError(uri)
        parts = (path.removeprefix(f"{uri.rstrip('/')}/").partition("/") for path in below)
        return [FolderEntry(*each) for each in {(name, bool(rest)) for name, rest, _ in parts}]

    def listed(self, uri: str) -> FolderTree:
        return self

    def files_after(self, folder: str, name: str) -> list[str]:
        return [each.name for each in self.entries(folder) if each.name > name]

    def newest(self, folder: str, name_of: Callable[[int], str], first: int) -> Newest | None:
        number = first
        while f"{folder}/{name_of(number)}" in self.files:
            number += 1
        return Newest(number - 1) if number > first else None

    def open(self, uri: str) -> io.BytesIO:
        if uri not in self.files:
            raise FileNotFoundError(uri)
        return io.BytesIO(self.files[uri][0])

    def put(self, uri: str, content: bytes) -> None:
        self.files[uri] = content, next(self.times)

    def put_if_absent(self, uri: str, content: bytes) -> bool:
        if is_absent := uri not in self.files:
            self.put(uri, content)
        return is_absent

    def drop(self, uri: str) -> None:
        for path in self._below(uri):
            del self.files[path]

    def _below(self, uri: str) -> list[str]:
        return [path for path in self.files if path.startswith(f"{uri.rstrip('/')}/")]
