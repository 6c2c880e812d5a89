"""The parse cache: results by content hash in lines of JSON, all discarded if one thing is wrong.

The first line has a checksum of the others: damaged content may still be JSON and match the types.
It contains no secret value of the environment: those are filled in on every load.
"""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from penstock.core.checks.check_type import CheckType, check_types
from penstock.core.errors import DISTRIBUTION
from penstock.core.masking import SECRETS
from penstock.project.files.parsed import Packed, Spots

FORMAT = 15
DAMAGE = (ValueError, TypeError, LookupError, AttributeError)
"""The errors of reading a damaged cache."""
T = TypeVar("T")


Entry = tuple[str, str]
"""The cache entry of one file: its content hash, and the result as JSON, read when it is asked for.

As values the entries of 5,000 models take 60 MB.
"""


@dataclass(slots=True)
class ParseCache:
    """Results of earlier loads. `path` is None if nothing may be kept; the file has mode 0600."""

    path: Path | None
    key: str
    earlier: Mapping[str, Entry] = field(default_factory=dict)
    current: dict[str, Entry] = field(default_factory=dict)

    def recall(
        self, file: str, content: str, kind: type[T], agrees: Callable[[T], bool] = bool
    ) -> T | None:
        """Return and keep the earlier result for an unchanged file; None for damage.

        Returns None as well if `agrees` says that the result is outdated.
        """
        entry = self.current.get(file) or self.earlier.get(file)
        if entry is None or entry[0] != content:
            return None
        try:
            value: T = codec_of(kind).read(json.loads(entry[1]))  # type: ignore[arg-type]  # mypy: no hash
        except (RecursionError, *DAMAGE):
            return None
        if not agrees(value):
            return None
        self.current[file] = entry
        return value

    def keep(self, file: str, content: str, kind: type[T], value: T) -> None:
        """Remember a result for the next load."""
        kept = codec_of(kind).write(value)  # type: ignore[arg-type]
        self.current[file] = (content, json.dumps(kept, ensure_ascii=False))

    def save(self) -> None:
        """Write the results of this load, by rename; ignore a folder that is not writable.

        Results with a secret value, for example in rendered SQL, are not kept.
        """
        if self.path is None or self.current == self.earlier:
            return
        if _holds_secret(text := self._text()):
            found = self.current.items()
            self.current = {file: e for file, e in found if not _holds_secret(e[1])}
            if self.current == self.earlier:
                return
            text = self._text()
        data = text.encode("utf-8", "surrogatepass")
        head = {"key": self.key, "sum": zlib.crc32(data)}
        write_private(self.path, json.dumps(head).encode() + data)

    def _text(self) -> str:
        entries = ((json.dumps([name, e[0]]), e[1]) for name, e in self.current.items())
        return "".join(f"\n{head[:-1]},\t{text}]" for head, text in entries)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only this user can read, by rename; ignore an unwritable folder."""
    with suppress(OSError):
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _holds_secret(text: str) -> bool:
    return SECRETS.hide(text) != text


def open_cache(
    root: Path, *, use: bool = True, ready: Mapping[str, Entry] = MappingProxyType({})
) -> ParseCache:
    """Return the cache of a project; a missing, foreign or damaged file is empty.

    It is read once an entry is asked for that is not `ready`.
    """
    if not use:
        return ParseCache(None, versions())
    path = root / ".penstock" / "cache" / "parse.jsonl"
    return ParseCache(path, versions(), _Earlier(ready, path))


@dataclass(slots=True)
class _Earlier(Mapping[str, Entry]):
    """The entries of a file, which is read when it is needed."""

    ready: Mapping[str, Entry]
    path: Path
    entries: Mapping[str, Entry] | None = None

    def __getitem__(self, file: str) -> Entry:
        return self.ready[file] if file in self.ready else self._all()[file]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == other

    __hash__ = None  # type: ignore[assignment]  # as that of every mapping that is compared

    def _all(self) -> Mapping[str, Entry]:
        if self.entries is None:
            self.entries = _read(self.path)
        return self.entries


def _read(path: Path) -> Mapping[str, Entry]:
    try:
        data = path.read_bytes()
        head, *lines = data.split(b"\n")
        own = {"key": versions(), "sum": zlib.crc32(data[len(head) :])}
        return dict(map(_entry, lines)) if json.loads(head) == own else {}
    except (OSError, RecursionError, *DAMAGE):
        return {}


def _entry(line: bytes) -> tuple[str, Entry]:
    """Read a line up to its result, which follows the only tab: JSON escapes others."""
    head, _, text = line.decode("utf-8", "surrogatepass").partition("\t")
    name, content = json.loads(f"{head[:-1]}]")
    return name, (content, text[:-1])


def versions() -> str:
    """Return the versions of what reads files, without importing the parsers."""
    packages = (DISTRIBUTION, "sqlglot", "jinja2")
    return f"{FORMAT} {' '.join(f'{name}={_version(name)}' for name in packages)}"


def packed(text: str) -> Packed:
    """Compress a text that few loads need: the cost of reading the cache is its size.

    >>> unpacked(packed("a" * 1000)) == "a" * 1000, len(packed("a" * 1000)) < 50
    (True, True)
    """
    packed = zlib.compress(text.encode("utf-8", "surrogatepass"))
    return Packed(b64encode(packed).decode("ascii"))


def unpacked(text: Packed) -> str:
    """Return the decompressed text."""
    return zlib.decompress(b64decode(text)).decode("utf-8", "surrogatepass")


def _version(package: str) -> str:
    with suppress(PackageNotFoundError):
        return version(package)
    return "none"


# Any: results are the JSON of our own cache: what does not fit is thrown away as a whole.
class Codec(NamedTuple):
    """How a value is converted to JSON and back; an invalid one raises one of `DAMAGE`."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


@cache
def codec_of(kind: Any) -> Codec:  # noqa: ANN401  a type expression
    """Return the form of a type: a record is a list of its fields, a union has a type name.

    >>> codec_of(tuple[timedelta | None, ...]).write((None, timedelta(seconds=1)))
    [None, 1000000]
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in _CODECS:
        form = _CODECS[kind]
    elif origin is tuple and arguments[-1] is ...:
        write, read = codec_of(arguments[0])
        many = tuple if read is _same else lambda kept: tuple(map(read, kept))
        form = Codec(lambda value: [*map(write, value)], many)
    elif origin is tuple:
        form = _row(arguments, tuple, lambda *parts: parts)
    elif origin is Mapping:
        write, read = codec_of(arguments[1])
        form = Codec(
            lambda value: {key: write(each) for key, each in value.items()},
            lambda kept: {key: read(each) for key, each in kept.items()},
        )
    elif isinstance(kind, type) and is_dataclass(kind):
        known = get_type_hints(kind)
        hints = {each.name: known[each.name] for each in fields(kind)}
        form = _row(hints.values(), lambda value: [getattr(value, name) for name in hints], kind)
    elif kind is CheckType:
        form = _one_of([*check_types().values()])
    elif origin in (Union, UnionType):
        form = _one_of([each for each in arguments if each is not NoneType])
    elif isinstance(kind, type) and issubclass(kind, Enum):
        words = {str(each): each for each in kind}
        form = Codec(str, words.__getitem__)
    else:
        form = Codec(_same, _same)
    return form


def _row(
    kinds: Iterable[object], parts_of: Callable[[Any], Iterable[Any]], make: Callable[..., Any]
) -> Codec:
    forms = [*map(codec_of, kinds)]
    read = [(at, form.read) for at, form in enumerate(forms) if form.read is not _same]

    def from_parts(row: Sequence[Any]) -> object:
        if len(row) != len(forms):
            raise ValueError(f"{len(row)} parts of {len(forms)}")
        parts = [*row]  # most are what they were: a load reads a hundred thousand
        for at, each in read:
            parts[at] = each(parts[at])
        return make(*parts)

    return Codec(
        lambda value: [each.write(p) for each, p in zip(forms, parts_of(value), strict=True)],
        from_parts,
    )


def _one_of(kinds: Sequence[Any]) -> Codec:
    """Return the form for a type or None; plain values are not checked."""
    if len(kinds) == 1:
        write, read = codec_of(kinds[0])
    elif all(map(is_dataclass, kinds)):
        by_name = {kind.__name__.lower(): kind for kind in kinds}
        # each is asked for when it is met: one may hold others

        def write(value: object) -> list[Any]:
            name = type(value).__name__.lower()
            return [name, *codec_of(by_name[name]).write(value)]

        def read(row: Sequence[Any]) -> object:
            return codec_of(by_name[row[0]]).read(row[1:])

    else:
        return Codec(_same, _same)
    return Codec(
        lambda value: None if value is None else write(value),
        lambda kept: None if kept is None else read(kept),
    )


def _same(value: T) -> T:
    return value


def _write_spots(spots: Spots) -> list[list[Any]]:
    return [[*spots], *map(list, zip(*spots.values(), strict=True))]


def _read_spots(rows: Sequence[Sequence[Any]]) -> Spots:
    names, lines, columns = rows if len(rows) > 1 else (*rows, (), ())
    return dict(zip(names, zip(lines, columns, strict=True), strict=True))


_MICRO = timedelta(microseconds=1)
_CODECS: Mapping[object, Codec] = {
    Decimal: Codec(str, Decimal),
    Spots: Codec(_write_spots, _read_spots),
    timedelta: Codec(lambda age: age // _MICRO, lambda kept: kept * _MICRO),
}
"""The types with a custom form."""
