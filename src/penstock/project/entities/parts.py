"""Errors in entity documents: every finding has its place and its JSON path."""

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
    """Collects errors in parts of documents."""

    def report(self, part: YamlNode, code: str, sentence: str, hint: str = "") -> None:
        """Report an error at the place of a value."""
        self.append(Finding(part.where, code, f"{sentence} ({part})", hint))

    def warn(self, part: YamlNode, code: str, sentence: str, hint: str = "") -> None:
        """Report a warning at the place of a value."""
        warning = Severity.WARNING
        self.append(Finding(part.where, code, f"{sentence} ({part})", hint, warning))

    def bad(self, part: YamlNode, hint: str) -> None:
        """Report that a value is invalid for its key."""
        key = next((each for each in reversed(part.path) if isinstance(each, str)), "the document")
        self.report(part, "bad-value", f"{key} is {describe_value(part)}", hint)


class ExactSection(KeyedSection):
    """A mapping in which a number is not a text; hints show the valid form."""

    is_exact = True
    findings: Findings

    def bad(self, key: str, expected: str, hint: str = "") -> None:
        """Report that a value is invalid."""
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
    """Return a value for messages: its kind and its short text, without passwords."""
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
    """Return a parsed word, or the default."""
    return next((each for each in kind if each == text), default)


@dataclass(frozen=True, slots=True)
class ExpressionFacts:
    """An expression without trailing comments; what it reads, and what makes it volatile.

    `reads` are the column names in it, `volatile` functions. `literal` is its value as text if it
    is a literal. `problem` is why it cannot be a column of a row; `aggregate` is its first
    aggregate, if that is the only reason. `canonical` is the parsed form of the expression.
    """

    text: str = ""
    reads: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    literal: str = ""
    problem: str = ""
    aggregate: str = ""
    canonical: str = ""
