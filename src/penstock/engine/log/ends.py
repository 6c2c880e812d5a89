"""Digests of files, equal for every copy of the same content."""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from penstock.core.ports.engine import FileStat
from penstock.engine.disk.disks import disk_at
from penstock.engine.log.folder import read_file

END = 64 * 1024
_MANY, _AS_MUCH = 100, 20
_WHOLE = "whole:"
_FORMAT = 1

Known = tuple[int, int, int, int, str]
"""Size, inode and both times of a file, and the digest of its ends."""


@dataclass(slots=True)
class FileEnds:
    """Digests of files: of their first and last 64 kB or, if requested, of the whole file.

    Digests of many files, or of large ones, are cached at `path` by name, size, inode and times, so
    that only new files are read. A damaged cache is discarded.
    """

    path: Path | None = None
    settled: int = 2_000_000_000
    """The age, in nanoseconds, from which a file's times are reliable: it may change again
    within one tick.
    """
    _noted: dict[str, Known] | None = None
    _met: dict[str, Known] = field(default_factory=dict)
    _read: int = 0

    def of(self, place: str, stat: FileStat | None = None, *, whole: bool = False) -> str:
        """Return the digest of a file, "" if it disappeared; raise `OSError`.

        An etag of the disk replaces the content, which is not read then. `stat` describes the file,
        if it is known.
        """
        if stat is None or not stat.etag:
            stat = disk_at(place).stat(place)
        if stat is None:
            return ""
        if stat.etag:
            return hashlib.sha256(stat.etag.encode()).hexdigest()
        state = (stat.size, stat.inode, stat.modified, stat.changed)
        known = self._met.get(place) or self._load_noted().get(place)
        whole = whole and stat.size > 2 * END  # the ends of others are all of them
        digest = known[4] if known and tuple(known[:4]) == state else ""
        if not digest or digest.startswith(_WHOLE) != whole:
            self._read += 1 + (stat.size >> _AS_MUCH if whole else 0)
            digest = _digest(place, stat.size, whole=whole)
        # a file may change twice within what the disk takes for one moment
        if time.time_ns() - max(stat.modified, stat.changed) > self.settled:
            self._met[place] = (*state, digest)
        return digest.removeprefix(_WHOLE)

    def save(self) -> None:
        """Write the cache, by rename, if much was read.

        Entries that were not needed this time stay, unless their file is gone. A folder that is not
        writable is ignored.
        """
        if self.path is None or self._read < _MANY:
            return
        self._read = 0
        older = (e for e in self._load_noted().items() if disk_at(e[0]).exists(e[0]))
        self._noted = {**dict(older), **self._met}
        text = json.dumps({"format": _FORMAT, "files": self._noted})
        with suppress(OSError):
            disk_at(str(self.path)).put(str(self.path), text.encode())

    def _load_noted(self) -> dict[str, Known]:
        if self._noted is None:
            self._noted = {}
            with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
                document = json.loads(read_file(str(self.path)) if self.path else "{}")
                if document["format"] == _FORMAT:
                    self._noted = {
                        str(name): _read_noted(each) for name, each in document["files"].items()
                    }
        return self._noted


def _read_noted(cells: list[object]) -> Known:
    size, inode, modified, changed, digest = cells
    return int(str(size)), int(str(inode)), int(str(modified)), int(str(changed)), str(digest)


def _digest(place: str, size: int, *, whole: bool) -> str:
    try:
        with disk_at(place).open(place) as file:
            if whole:
                digest = hashlib.sha256()
                while chunk := file.read(1 << _AS_MUCH):
                    digest.update(chunk)
                return f"{_WHOLE}{digest.hexdigest()}"
            data = file.read(END)
            if size > END:
                file.seek(max(END, size - END))
                data += file.read(END)
    except FileNotFoundError:
        return ""
    return hashlib.sha256(data).hexdigest()
