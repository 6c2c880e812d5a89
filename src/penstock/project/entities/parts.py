"""Documents of entities read key by key: every finding says its place and its JSON path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from penstock.core.findings import Finding, Location, Severity
from penstock.core.masking import mask, mask_value
from penstock.core.names import is_plain
from penstock.project.files.parsed import YamlFile
from penstock.project.files.values import (
    Path,
    Plain,
    did_you_mean,
    list_of,
    mapping_of,
    near_or_known,
    text_of,
)

_SHOWN = 80
_SWITCHES = {"true": "true", "false": "false", "yes": "true", "no": "false", "1": "true"}
W = TypeVar("W", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Part:
    """A value of a document that knows where it stands."""

    file: YamlFile
    path: Path
    value: Plain

    @property
    def where(self) -> Location:
        """Where the value begins."""
        return self.file.place(*self.path)

    @property
    def key_where(self) -> Location:
        """Where its key begins."""
        return self.file.key_place(*self.path)

    def __str__(self) -> str:
        """Return its JSON path.

        >>> str(Part(YamlFile("a.json"), ("entities", 1, "odd key"), None))
        "$.entities[1]['odd key']"
        """
        return "$" + "".join(_step(each) for each in self.path)

    @property
    def is_written(self) -> bool:
        """Whether it says anything: null does not."""
        return self.value is not None

    @property
    def members(self) -> dict[str, Part]:
        """What stands under its keys, none for anything but a mapping."""
        inside = mapping_of(self.value).items()
        return {key: Part(self.file, (*self.path, key), value) for key, value in inside}

    @property
    def items(self) -> tuple[Part, ...]:
        """Its items, none for anything but a list."""
        inside = enumerate(list_of(self.value))
        return tuple(Part(self.file, (*self.path, n), value) for n, value in inside)


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if is_plain(part) else f"[{part!r}]"


@dataclass(slots=True)
class Findings:
    """Collects what is wrong with parts of documents."""

    found: list[Finding] = field(default_factory=list)

    def report(self, part: Part, code: str, sentence: str, hint: str = "") -> None:
        """Note an error where a value stands."""
        self.found.append(Finding(part.where, code, f"{sentence} ({part})", hint))

    def warn(self, part: Part, code: str, sentence: str, hint: str = "") -> None:
        """Note a warning where a value stands."""
        warning = Severity.WARNING
        self.found.append(Finding(part.where, code, f"{sentence} ({part})", hint, warning))

    def bad(self, part: Part, hint: str) -> None:
        """Note that a value is not what its key asks for."""
        key = next((each for each in reversed(part.path) if isinstance(each, str)), "the document")
        self.report(part, "bad-value", f"{key} is {shown(part)}", hint)

    def unknown_key(self, part: Part, known: Iterable[str]) -> None:
        """Note a key that a mapping may not have."""
        name = str(part.path[-1])
        sentence, hint = f"unknown key {name!r} ({part})", near_or_known(name, known)
        self.found.append(Finding(part.key_where, "unknown-key", sentence, hint))


def shown(part: Part) -> str:
    """Name a value in a sentence: its kind and itself, short, and no password."""
    match part.value:
        case None:
            return "null"
        case bool() as value:
            return str(value).lower()
        case int() | float() as value:
            return f"the number {value}"
        case str() as value:
            text = mask(value)
            for key in part.path:
                text = mask_value(str(key), text)
            return f'the text "{text if len(text) <= _SHOWN else text[:_SHOWN] + "…"}"'
        case Mapping():
            return "a mapping"
        case _:
            return "a list"


@dataclass(slots=True)
class PartReader:
    """The members of a mapping, maybe out of several files, read one by one.

    A member that is null counts as not written. Getters give the default for what does not fit,
    beside a finding.
    """

    whole: Part
    members: Mapping[str, Part]
    findings: Findings

    def check_keys(self, known: Sequence[str], needed: Sequence[str] = ()) -> None:
        """Note unknown and missing keys."""
        for key, part in self.members.items():
            if key not in known:
                self.findings.unknown_key(part, known)
        for key in needed:
            if self.find(key) is None:
                self.findings.report(self.whole, "missing-key", f"{key!r} is missing")

    def find(self, key: str) -> Part | None:
        """Return what a key says, None where it is not written."""
        part = self.members.get(key)
        return part if part is not None and part.is_written else None

    def text(self, key: str, default: str = "") -> str:
        """Return a text."""
        part = self.find(key)
        if part is not None and isinstance(part.value, str):
            return part.value
        if part is not None:
            is_scalar = isinstance(part.value, bool | int | float)
            self.findings.bad(part, "put it in quotes" if is_scalar else "write a text")
        return default

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a switch."""
        part = self.find(key)
        if part is not None and isinstance(part.value, bool):
            return part.value
        if part is not None:
            self.findings.bad(part, flag_hint(part.value))
        return default

    def number(self, key: str, least: int | None = None) -> int | None:
        """Return a whole number."""
        part = self.find(key)
        if part is None:
            return None
        value = part.value
        if isinstance(value, int) and not isinstance(value, bool):
            if least is None or value >= least:
                return value
            self.findings.bad(part, f"write {least} or more")
        elif isinstance(value, str) and value.lstrip("-").isdecimal():
            self.findings.bad(part, f"write {value} without quotes")
        else:
            self.findings.bad(part, "write a whole number")
        return None

    def word(self, key: str, words: Sequence[str], default: str = "") -> str:
        """Return one of several words in the letters in which they are listed."""
        part = self.find(key)
        if part is None:
            return default
        found = next((w for w in words if text_of(part.value).lower() == w.lower()), None)
        if found is not None and isinstance(part.value, str):
            return found
        self.findings.bad(part, word_hint(part.value, words))
        return default

    def items(self, key: str) -> tuple[Part, ...]:
        """Return the items of a list."""
        part = self.find(key)
        if part is not None and not isinstance(part.value, list | tuple):
            self.findings.bad(part, "write a list")
        return part.items if part is not None else ()

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the items of a list of texts; one text alone is such a list."""
        part = self.find(key)
        if part is not None and isinstance(part.value, str):
            return (part.value,)
        return tuple(self._texts(self.items(key)))

    def _texts(self, items: Iterable[Part]) -> Iterator[str]:
        for item in items:
            if isinstance(item.value, str):
                yield item.value
            else:
                self.findings.bad(item, "write a text")

    def inside(self, key: str) -> PartReader | None:
        """Open the mapping under a key; None where there is none."""
        part = self.find(key)
        return open_part(part, self.findings) if part is not None else None


def open_part(part: Part, findings: Findings) -> PartReader | None:
    """Open a mapping; of anything else there is nothing to read, and a finding."""
    if isinstance(part.value, Mapping):
        return PartReader(part, part.members, findings)
    findings.bad(part, "write a mapping")
    return None


def flag_hint(value: Plain) -> str:
    """Say how a switch is written."""
    word = _SWITCHES.get(text_of(value).lower())
    return f"write {word} without quotes" if word else "write true or false"


def word_hint(value: Plain, words: Sequence[str]) -> str:
    """Say which word was meant, or which there are."""
    near = did_you_mean(value, words) if isinstance(value, str) else ""
    return near or f"one of {', '.join(words)}"


def word_of(kind: type[W], text: str, default: W) -> W:
    """Return a word that was read, or the default."""
    return next((each for each in kind if each == text), default)


@dataclass(frozen=True, slots=True)
class ExpressionFacts:
    """An expression without comments at its end; what it reads, and what makes it volatile.

    `reads` are the names that it mentions, `volatile` functions. `literal` is its value as text
    where it is a literal. `problem` says why it makes no column of a row; `aggregate` is the first
    one in it, where that is all that keeps it from being one. `canonical` is the expression as the
    parser means it.
    """

    text: str = ""
    reads: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    literal: str = ""
    problem: str = ""
    aggregate: str = ""
    canonical: str = ""
