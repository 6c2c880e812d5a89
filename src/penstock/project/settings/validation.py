"""Sections of penstock.yml, of files of models and of headers, and the kinds of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from penstock.core.checks.check import OnFailure
from penstock.core.findings import IGNORED_CODE, Finding, Severity
from penstock.core.strategy import strategies
from penstock.project.files.kinds import DURATION, FLAG, TEXT, ValueKind
from penstock.project.files.nodes import Section, YamlNode
from penstock.project.files.sections import (
    MAPPING,
    OBJECT,
    TEXT_LIST,
    TEXTS,
    KeyedSection,
    PartKind,
    S,
    key,
    node_as,
    read_section,
)
from penstock.project.files.values import (
    Plain,
    did_you_mean,
    duration_of,
    mapping_of,
    switch_of,
    text_of,
    texts_of,
)

K = TypeVar("K", bound=ValueKind[Any])
_OTHER_FILES = {"historic": "entities", "sessions": "session packages"}
_ELSEWHERE = {
    "on-run-end": "write hooks: {after: […]} in penstock.yml",
    "on-run-start": "write hooks: {before: […]} in penstock.yml",
    "docs": "write description; penstock graph draws the models",
    "full_refresh": "delete it; penstock run --full-refresh builds a table again",
    "metrics": "delete it, or write a model that computes the metric",
    "persist_docs": "delete it; a model's description and those of its columns are in its table",
    "saved_queries": "delete it, or write a model",
    "semantic_models": "delete it, or write a model",
}
"""Keys of dbt without effect here, and what to do instead."""
_TEST: Plain = {"anyOf": [{"type": "string"}, OBJECT]}


class StrictSection(KeyedSection):
    """A mapping in which null is a value; keys of dbt without effect are reported."""

    refuses_null = True

    def _missing(self, key: str) -> None:
        if key not in self.members:  # null is there, and does not fit
            super()._missing(key)

    def _unknown(self, written: str, member: YamlNode, candidates: Iterable[str]) -> None:
        if written not in _ELSEWHERE:
            super()._unknown(written, member, candidates)
            return
        sentence, warning = f"{written} is not taken over: nothing of it runs", Severity.WARNING
        hint = _ELSEWHERE[written]
        self.findings.append(Finding(member.key, IGNORED_CODE, sentence, hint, warning))


def findings_of(section: type[KeyedSection], node: YamlNode) -> list[Finding]:
    """Return the findings for a mapping."""
    findings: list[Finding] = []
    read_section(section, node, "", findings)
    return findings


def empty(section: type[S]) -> S:
    """Return an empty section."""
    return read_section(section, YamlNode({}), "", [])


def nullable(kind: K) -> K:
    """Return a kind that also accepts null, as if the key were absent."""
    null: Plain = {"type": "null"}
    schema = {"anyOf": [kind.schema, null]} if kind.schema else null
    return replace(kind, schema=schema, takes_null=True)


def spelt(pattern: str, expected: str) -> ValueKind[str]:
    """Return the kind of texts that look like a pattern."""
    matches = re.compile(pattern).fullmatch
    return replace(
        STRING,
        expected=expected,
        parse=lambda value: value if isinstance(value, str) and matches(value) else None,
    )


ALL_PARTITIONS = "all"
"""The `lookback` of partitions that has no end."""


def _lookback(value: object) -> object:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    is_plain = is_number or value == ALL_PARTITIONS
    return value if is_plain else duration_of(text_of(value))  # type: ignore[arg-type]


def _read_strategy(section: Section, name: str) -> str:
    """Return the value of `materialized`."""
    value, words = section.members[name].value, strategy_words()
    if isinstance(value, str) and value in words:
        return value
    others = _OTHER_FILES.get(str(value))
    note = f" ({value} is for {others}, which have files of their own)" if others else ""
    section.bad(name, f"one of {', '.join(words)}{note}", did_you_mean(str(value), words))
    return ""


def strategy_words() -> tuple[str, ...]:
    """Return the values of `materialized`: strategies, and dbt's word for `merge` or `append`."""
    known = {word: each for word, each in strategies().items() if each.is_written}
    last = max(n for n, each in enumerate(known.values(), start=1) if each.is_incremental)
    return (*[*known][:last], "incremental", *[*known][last:])


def _tree(section: Section, name: str) -> Mapping[str, Plain]:
    node = MAPPING.take(section, name)
    return mapping_of(node.plain) if node else {}


def _mapping_of(fits: Callable[[object], bool], schema: Plain) -> PartKind[Mapping[str, Plain]]:
    """Return the kind for mappings with text values, or other scalars."""

    def take(section: Section, name: str) -> Mapping[str, Plain]:
        node = MAPPING.take(section, name)
        if node is None:
            return {}
        inner = Section(node, section.dotted(name), section.findings, node.members)
        for each, member in node.members.items():
            if not fits(member.value):
                inner.bad(each, "a text")
        return mapping_of(node.plain)

    listed: Plain = {"type": "object", "additionalProperties": schema}
    return replace(TREE, schema=listed, take=take)


def _listed(section: Section, name: str) -> tuple[str, ...] | None:
    """Return a list of texts; a single text is not accepted."""
    if not isinstance(section.members[name].value, tuple):
        section.bad(name, LISTED.expected)
        return None
    return TEXTS.take(section, name)


STRING: ValueKind[str] = replace(
    TEXT, parse=lambda value: value if isinstance(value, str) else None
)
"""A text; a number is not accepted."""
TEXT_OR_NULL = nullable(STRING)
SWITCH = replace(FLAG, parse=switch_of)
"""True or false as a template or an environment variable may write it, too."""
LOOKBACK: ValueKind[object] = ValueKind(
    DURATION.expected, _lookback, {"type": ["string", "integer"]}, None
)
STRATEGY: PartKind[str] = PartKind(
    "a strategy",
    text_of,
    {},
    "",
    schema_later=lambda: {"enum": [*strategy_words()]},
    take=_read_strategy,
)
TREE: PartKind[Mapping[str, Plain]] = PartKind("a mapping", mapping_of, OBJECT, {}, take=_tree)
"""A mapping of anything."""
STRINGS = _mapping_of(lambda value: isinstance(value, str), {"type": "string"})
NAMES = _mapping_of(
    lambda value: value is None or isinstance(value, str), {"type": ["string", "null"]}
)
SCALARS = _mapping_of(
    lambda value: isinstance(value, str | int | float),
    {"type": ["string", "integer", "number", "boolean"]},
)
LISTED: PartKind[tuple[str, ...] | None] = PartKind(
    TEXTS.expected,
    texts_of,
    {"type": "array", "items": {"type": "string"}},
    None,
    take=_listed,
)


def _hook_sql(section: Section, name: str) -> tuple[str, ...]:
    """Return SQL statements: a text, dbt's `{sql: …}`, or a list of them."""
    node = section.members[name]
    found = []
    for each in node.items if isinstance(node.value, tuple) else (node,):
        text = each.members.get("sql", each)
        if isinstance(text.value, str) and not each.members.keys() - _HOOK_KEYS:
            found.append(text.value)
        else:
            section.bad(name, "SQL, or a list of SQL", "write one statement per item")
    return tuple(found)


def _grantees(section: Section, name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the grantees of each privilege."""
    node = MAPPING.take(section, name)
    if node is None:
        return {}
    inner = Section(node, section.dotted(name), section.findings, dict(node.members))
    return {each: tuple(str(item.value) for item in inner.texts(each)) for each in node.members}


_HOOK_KEYS = {"sql", "transaction"}
_ONE_HOOK: Plain = {"anyOf": [{"type": "string"}, OBJECT]}
HOOK_SQL: PartKind[tuple[str, ...]] = PartKind(
    "SQL",
    lambda _: None,
    {"anyOf": [_ONE_HOOK, {"type": "array", "items": _ONE_HOOK}]},
    (),
    take=_hook_sql,
)
GRANTS: PartKind[Mapping[str, tuple[str, ...]]] = PartKind(
    "a mapping",
    lambda _: None,
    {"type": "object", "additionalProperties": TEXT_LIST},
    {},
    take=_grantees,
)


class HooksSection(StrictSection):
    """SQL statements that run beside something."""

    definition = "hooks"
    before = key(HOOK_SQL, ["refresh table {{ source('raw', 'events') }}"])
    """Statements to run before it. If one fails, it does not run."""
    after = key(HOOK_SQL, ["optimize {{ this }}"])
    """Statements to run after it."""


TESTS = replace(node_as({"type": "array", "items": _TEST}), expected="a list of tests")
"""Tests as dbt writes them, which `checks/phases.py` reads."""
ON_FAILURE = replace(node_as({"enum": [*map(str, OnFailure)]}), takes_null=True)
