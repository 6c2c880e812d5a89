"""The parse cache: one JSON file, kept by content hash, thrown away when anything is odd.

It is the only thing that loading writes. It holds only files that exist, and no value of the
environment: those are filled in on every load.
"""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from penstock.project.files.parsed import Dependency

FORMAT = 6
_SUM = 8
_DAMAGE = (ValueError, TypeError, KeyError, AttributeError)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """What is known of one file: its content hash, what else it read, and the result as JSON."""

    content: str
    reads: tuple[Dependency, ...]
    result: Sequence[Any]


@dataclass(slots=True)
class ParseCache:
    """Results of earlier loads. `path` is None when nothing may be kept."""

    path: Path | None
    key: str
    known: Mapping[str, CacheEntry] = field(default_factory=dict)
    current: dict[str, CacheEntry] = field(default_factory=dict)

    def find(self, file: str, content: str) -> CacheEntry | None:
        """Give the entry of a file whose content is unchanged."""
        entry = self.current.get(file) or self.known.get(file)
        return entry if entry is not None and entry.content == content else None

    def recall(self, file: str, content: str, read: Callable[[CacheEntry], T | None]) -> T | None:
        """Give what an earlier load found in a file whose content is unchanged, and keep it.

        None where there is nothing, where `read` gives none, and where what was kept is damaged.
        """
        entry = self.find(file, content)
        if entry is None:
            return None
        try:
            value = read(entry)
        except _DAMAGE:
            return None
        if value is not None:
            self.keep(file, entry)
        return value

    def keep(self, file: str, entry: CacheEntry) -> None:
        """Remember a result for the next load."""
        self.current[file] = entry

    def save(self) -> None:
        """Write what this load kept, by rename; a folder that cannot be written is no error."""
        if self.path is None or self.current == self.known:
            return
        files = {
            name: [e.content, [[r.kind, r.name, r.digest] for r in e.reads], e.result]
            for name, e in self.current.items()
        }
        with suppress(OSError):
            _write(self.path, json.dumps({"key": self.key, "files": files}, ensure_ascii=False))


def open_cache(root: Path, key: str, *, use: bool = True) -> ParseCache:
    """Read the cache of a project; a missing, foreign or damaged one is empty."""
    if not use:
        return ParseCache(None, key)
    path = root / ".penstock" / "cache" / "parse.json"
    try:
        document = json.loads(path.read_bytes())
        known = {name: _entry(*entry) for name, entry in document["files"].items()}
        valid = document["key"] == key
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ParseCache(path, key)
    return ParseCache(path, key, known if valid else {})


def packed(text: str) -> str:
    """Make a text short that few loads look into: reading the cache costs by its size.

    >>> unpacked(packed("a" * 1000)) == "a" * 1000, len(packed("a" * 1000)) < 50
    (True, True)
    """
    content = b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"))).decode("ascii")
    return f"{zlib.crc32(content.encode('ascii')):08x}{content}"


def unpacked(text: str) -> str:
    """Give the text that was packed."""
    return zlib.decompress(b64decode(text[_SUM:])).decode("utf-8", "surrogatepass")


def sound(text: str) -> str:
    """Give a packed text as it is; raises `ValueError` on damage.

    >>> sound("00000000AAAA")
    Traceback (most recent call last):
    ValueError: a packed text is damaged
    """
    if f"{zlib.crc32(text[_SUM:].encode()):08x}" != text[:_SUM]:
        raise ValueError("a packed text is damaged")
    return text


def versions() -> str:
    """Give the versions on which results depend, read without importing the parsers."""
    return " ".join(f"{name}={_version(name)}" for name in ("penstock", "sqlglot", "jinja2"))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _entry(content: str, reads: Sequence[Sequence[str]], result: Sequence[Any]) -> CacheEntry:
    return CacheEntry(content, tuple(Dependency(*note) for note in reads), result)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="parse.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
