"""What is wrong with documents of entities: every finding says its place and its JSON path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from penstock.core.findings import Finding, Severity
from penstock.core.masking import mask, mask_value
from penstock.project.files.nodes import YamlNode
from penstock.project.files.sections import KeyedSection
from penstock.project.files.values import near_or_known

_SHOWN = 80
W = TypeVar("W", bound=StrEnum)


class Findings(list[Finding]):
    """Collects what is wrong with parts of documents."""

    def report(self, part: YamlNode, code: str, sentence: str, hint: str = "") -> None:
        """Note an error where a value stands."""
        self.append(Finding(part.where, code, f"{sentence} ({part})", hint))

    def warn(self, part: YamlNode, code: str, sentence: str, hint: str = "") -> None:
        """Note a warning where a value stands."""
        warning = Severity.WARNING
        self.append(Finding(part.where, code, f"{sentence} ({part})", hint, warning))

    def bad(self, part: YamlNode, hint: str) -> None:
        """Note that a value is not what its key asks for."""
        key = next((each for each in reversed(part.path) if isinstance(each, str)), "the document")
        self.report(part, "bad-value", f"{key} is {describe_value(part)}", hint)


class ExactSection(KeyedSection):
    """A mapping in which a number is no text; hints say what to write instead."""

    is_exact = True
    findings: Findings

    def bad(self, key: str, expected: str, hint: str = "") -> None:
        """Note that a value does not fit."""
        self.findings.bad(self.members[key], hint or expected)

    def _bad_item(self, key: str, item: YamlNode) -> None:
        del key
        self.findings.bad(item, "write a text")

    def _phrase(self, key: str, sentence: str) -> str:
        return f"{sentence} ({self.members.get(key, self.node)})"

    def _missing(self, key: str) -> None:
        self.findings.report(self.node, "missing-key", f"{key!r} is missing")

    def _unknown(self, written: str, member: YamlNode, candidates: Iterable[str]) -> None:
        sentence, hint = f"unknown key {written!r} ({member})", near_or_known(written, candidates)
        self.findings.append(Finding(member.key, "unknown-key", sentence, hint))


def describe_value(part: YamlNode) -> str:
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
