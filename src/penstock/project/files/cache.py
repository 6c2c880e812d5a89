"""The parse cache: one JSON file, kept by content hash, thrown away when anything is odd.

It holds no value of the environment: those are filled in on every load.
"""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.parsed import (
    Branch,
    Dependency,
    OutputColumn,
    Outputs,
    RefKind,
    SqlFile,
    TableRef,
    YamlFile,
)

FORMAT = 9
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

    def recall(self, file: str, content: str, read: Callable[[CacheEntry], T | None]) -> T | None:
        """Give what an earlier load found in an unchanged file, and keep it; None on damage too."""
        entry = self.current.get(file) or self.known.get(file)
        if entry is None or entry.content != content:
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
            name: [each.content, [astuple(read) for read in each.reads], each.result]
            for name, each in self.current.items()
        }
        text = json.dumps({"key": self.key, "files": files}, ensure_ascii=False)
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix="parse.", suffix=".tmp")
            try:
                with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
                    file.write(text)
                Path(name).replace(self.path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise


def open_cache(root: Path, *, use: bool = True) -> ParseCache:
    """Read the cache of a project; a missing, foreign or damaged one is empty."""
    packages = ("penstock", "sqlglot", "jinja2")  # their versions, without importing the parsers
    key = f"{FORMAT} {' '.join(f'{name}={_version(name)}' for name in packages)}"
    if not use:
        return ParseCache(None, key)
    path = root / ".penstock" / "cache" / "parse.json"
    try:
        document = json.loads(path.read_bytes())
        known = {
            name: CacheEntry(content, tuple(Dependency(*read) for read in reads), result)
            for name, (content, reads, result) in document["files"].items()
        }
        return ParseCache(path, key, known if document["key"] == key else {})
    except (OSError, RecursionError, *_DAMAGE):
        return ParseCache(path, key)


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
    """Give a packed text as it is; raises `ValueError` on damage."""
    if f"{zlib.crc32(text[_SUM:].encode()):08x}" != text[:_SUM]:
        raise ValueError("a packed text is damaged")
    return text


def _version(package: str) -> str:
    with suppress(PackageNotFoundError):
        return version(package)
    return "none"


# Any: results are the JSON of our own cache, checked by the damage rule: whatever does not fit is
# thrown away as a whole. What is read back raises `ValueError`, `TypeError` or `KeyError` then.
def write_sql(file: SqlFile) -> list[Any]:
    """Give a JSON form that `read_sql` reads back equal."""
    branches = [astuple(branch) for branch in file.branches]
    header = [file.config, file.config_line, dict(file.key_lines)]
    return [*header, branches, write_findings(file.findings)]


def read_sql(path: str, reads: Sequence[Dependency], entry: Sequence[Any]) -> SqlFile:
    """Read what `write_sql` gave."""
    config, line, key_lines, branches, findings = entry
    return SqlFile(
        path,
        dict(config),
        int(line),
        {key: int(number) for key, number in key_lines.items()},
        tuple(_read_branch(*branch) for branch in branches),
        read_findings(findings),
        tuple(reads),
    )


def _read_branch(
    text: str, canonical: str | None, refs: Sequence[Any], outputs: Sequence[Any]
) -> Branch:
    written, whole = outputs
    columns = (OutputColumn(name, at, tuple(calls), unit) for name, at, calls, unit in written)
    return Branch(
        text,
        canonical,
        tuple(TableRef(RefKind(kind), tuple(names), *rest) for kind, names, *rest in refs),
        Outputs(tuple(columns), whole),
    )


def write_yaml(file: YamlFile) -> list[Any]:
    """Give a JSON form that `read_yaml` reads back equal."""
    places = [
        [[*spots], *map(list, zip(*spots.values(), strict=True))]
        for spots in (file.places, file.keys)
    ]
    found = [write_findings(file.findings), write_findings(file.misfits)]
    return [file.tree, *places, *found, dict(file.checks), file.named]


def read_yaml(path: str, reads: Sequence[Dependency], entry: Sequence[Any]) -> YamlFile:
    """Read what `write_yaml` gave."""
    tree, places, keys, findings, misfits, checks, named = entry
    return YamlFile(
        path,
        tree,
        _read_places(*places),
        _read_places(*keys),
        read_findings(findings),
        tuple(reads),
        read_findings(misfits),
        {place: sound(text) for place, text in checks.items()},
        tuple(named),
    )


def _read_places(
    names: Sequence[str], lines: Sequence[int] = (), columns: Sequence[int] = ()
) -> dict[str, tuple[int, int]]:
    if not isinstance(sum(lines) + sum(columns), int):  # one look at all: there are many
        raise ValueError("a place is no number")  # noqa: TRY004  damage is a ValueError
    return dict(zip(names, zip(lines, columns, strict=True), strict=True))


def write_findings(findings: Iterable[Finding]) -> list[tuple[Any, ...]]:
    """Give a JSON form that `read_findings` reads back equal."""
    return [astuple(finding) for finding in findings]


def read_findings(entries: Sequence[Sequence[Any]]) -> tuple[Finding, ...]:
    """Read what `write_findings` gave."""
    return tuple(
        Finding(Location(*where), code, sentence, hint, Severity(severity))
        for where, code, sentence, hint, severity in entries
    )
