"""dbt's tests of columns as checks: short for a check with a type and a column (§1.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.core.findings import Finding, Severity
from penstock.project.checks.phases import Phases
from penstock.project.checks.trees import mapping_node
from penstock.project.nearest import did_you_mean
from penstock.project.trees.nodes import Member, Node
from penstock.project.trees.sheet import Keys, open_sheet, shown

TESTS: Mapping[str, Keys] = {
    "not_null": Keys(()),
    "unique": Keys(()),
    "accepted_values": Keys(("values", "quote")),
    "relationships": Keys(("to", "field")),
}
"""The tests that there are, with their arguments."""
_COLUMN = Keys(("name", "tests"), ("name",), {"data_tests": "tests"})
_KEPT = ("name", "description", "severity", "where", "enabled", "tags", "meta")
_IDLE = ("limit", "store_failures", "store_failures_as", "quote")
_THRESHOLDS = ("error_if", "warn_if")
_CONFIG = Keys((*_KEPT, *_IDLE, *_THRESHOLDS))
_BESIDE = ("arguments", "config", *_CONFIG.known)
_ANY = re.compile(r"\s*!=\s*0\s*")


def column_tests(listed: Node, findings: list[Finding], *, others: tuple[str, ...] = ()) -> Phases:
    """Give the tests of a list of columns as checks; `others` are further keys of a column."""
    found: list[Node] = []
    keys = Keys((*_COLUMN.known, *others), _COLUMN.needed, _COLUMN.aliases)
    for item in (each for each in listed.items if each.value is not None):
        sheet = open_sheet(item, keys, "columns", findings)
        name, tests = sheet.text("name"), sheet.find("tests")
        if tests is not None and not isinstance(tests.value, tuple):
            sheet.bad("tests", "a list of tests")
        elif tests is not None and name:
            column = Node(name, sheet.place("name"))
            found += (check for test in tests.items for check in _check(test, column, findings))
    return Phases(after=tuple(found))


def _check(test: Node, column: Node, findings: list[Finding]) -> Iterator[Node]:
    """Give the check of one test, or nothing beside a finding."""
    body: Mapping[str, Member] = {}
    if isinstance(test.value, str):
        word = test.value
    else:
        names = [key for key in test.members if key not in _BESIDE]
        word = names[0] if len(names) == 1 else ""
        if len(names) != 1:
            sentence = f'a test of column "{column.value}" is one name, with or without arguments'
            findings.append(Finding(test.where, "bad-value", sentence, "- not_null"))
            return
        beside = {key: member for key, member in test.members.items() if key != word}
        inner = test.members[word].node
        body = {**beside, **inner.members}
        if not isinstance(inner.value, Mapping) and not inner.is_absent:
            sentence = f"{word} is {shown(word, inner.value)}; it must be a mapping"
            findings.append(Finding(inner.where, "bad-value", sentence))
    if word not in TESTS:
        sentence = f'column "{column.value}": {word!r} is no test of columns'
        near = did_you_mean(word, TESTS)
        hint = f"{near} " * bool(near) + f"known here: {', '.join(TESTS)}"
        findings.append(Finding(test.where, "unknown-check-type", sentence, hint))
        return
    members = _said(word, replace(test, value=body), findings)
    made = mapping_node(test.where, {"type": word, "column": column})
    yield replace(made, value={**made.members, **members})


def _said(word: str, body: Node, findings: list[Finding]) -> dict[str, Member]:
    """Give what a test says in the words of a check."""
    arguments = body.members.get("arguments")
    config = body.members.get("config")
    mine = TESTS[word]
    known = Keys((*mine.known, "arguments", "config", *_CONFIG.known))
    top = open_sheet(body, known, "", findings).members
    inner = open_sheet(arguments.node, mine, "arguments", findings).members if arguments else {}
    below = open_sheet(config.node, _CONFIG, "config", findings).members if config else {}
    said = {**top, **below, **inner}
    for key, member in said.items():
        findings += _without_effect(key, member)
    return {key: said[key] for key in (*mine.known, *_KEPT) if key in said and key not in _IDLE}


def _without_effect(key: str, member: Member) -> Iterator[Finding]:
    if key in _IDLE:
        sentence = f"{key} has no effect on a check"
        yield Finding(member.key, "option-without-effect", sentence, severity=Severity.INFO)
    elif key in _THRESHOLDS and not _ANY.fullmatch(str(member.node.value)):
        sentence = f"{key} is {str(member.node.value)!r}; only != 0 is known"
        hint = "use null_percentage, row_count or column_check"
        yield Finding(member.node.where, "unsupported-threshold", sentence, hint)
