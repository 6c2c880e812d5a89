"""One check, from its keys to its value (spec/checks.md §1.2, §1.7)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from penstock.core.checks import (
    Check,
    CheckScope,
    Empty,
    Phase,
    Relationships,
    Rule,
    SqlCheck,
    Unique,
)
from penstock.core.findings import Finding, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query
from penstock.core.strategy import Writing
from penstock.project.check_keys import KEYS, TYPE_NAMES
from penstock.project.checks.definition import definition_of
from penstock.project.checks.form import Form
from penstock.project.checks.phases import LONGEST, name_of
from penstock.project.checks.rules import rule_of
from penstock.project.checks.scene import UNKNOWN, Columns, Scene
from penstock.project.checks.understood import ConditionKind
from penstock.project.nearest import did_you_mean, some_of
from penstock.project.trees.nodes import Node
from penstock.project.trees.sheet import Sheet, open_sheet, shown
from penstock.project.values import Plain

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_SEVERITIES = {"error": Severity.ERROR, "warning": Severity.WARNING, "warn": Severity.WARNING}
_WITHOUT_EMPTY = {
    "row_count": "0 rows are compared with the bounds",
    "sql": "the query says what no rows mean",
}
_LISTED = f"there are: {', '.join(TYPE_NAMES)}"


def read_check(node: Node, phase: Phase, scene: Scene, findings: list[Finding]) -> Check | None:
    """Read a check; None where it is off, or beside a finding.

    Everything that is wrong with it is found at once.
    """
    if _is_off(node):
        return None
    name = name_of(node)
    mine: list[Finding] = []
    found = _read(node, name, phase, scene, mine)
    label = f'check "{name}"' if name else "check"
    findings += [replace(each, sentence=f"{label}: {each.sentence}") for each in mine]
    return None if any(each.is_error for each in mine) else found


def _read(
    node: Node, name: str, phase: Phase, scene: Scene, findings: list[Finding]
) -> Check | None:
    kind = _kind(node, findings)
    if not kind:
        return None
    sheet = _opened(node, kind, findings)
    form = Form(sheet, phase, scene)
    _check_name(form, name)
    _ = sheet.flag("enabled")
    input_name, query = _rows(form, kind)
    form.columns = _columns(form, input_name)
    rule = rule_of(kind, form)
    empty = "" if kind in _WITHOUT_EMPTY else sheet.word("empty", [each.value for each in Empty])
    if sheet.find("empty") is not None and kind in _WITHOUT_EMPTY:
        sheet.bad("empty", f"left out: {_WITHOUT_EMPTY[kind]}")
    sample = sheet.flag("sample")
    condition = form.condition("where", ConditionKind.WHERE)
    scope = _scope(form, rule)
    if rule is None:
        _ = _meta(form), sheet.texts("tags"), sheet.text("description"), _severity(form)
        return None
    check = Check(
        name=name,
        phase=phase,
        rule=rule,
        where=node.where,
        severity=_severity(form),
        description=sheet.text("description").strip(),
        tags=tuple(str(each.value) for each in sheet.texts("tags")),
        meta=_meta(form),
        condition=condition,
        input=input_name,
        query=query,
        scope=scope,
        empty=Empty(empty) if empty else None,
        sample=scene.world.sample if sample is None else sample,
        reads=_reads(rule, input_name, query),
    )
    return replace(check, definition=definition_of(check))


def _is_off(node: Node) -> bool:
    member = node.members.get("enabled")
    return member is not None and str(member.node.value).lower() == "false"


def _kind(node: Node, findings: list[Finding]) -> str:
    member = node.members.get("type")
    if member is None or member.node.is_absent:
        if "sql" in node.members:
            return "sql"
        sentence = "it has neither type nor sql"
        findings.append(Finding(node.where, "check-type-missing", sentence, _LISTED))
        return ""
    word = str(member.node.value)
    if word.lower() in KEYS:
        return word.lower()
    sentence = f"type {shown('type', member.node.value)} is not known"
    hint = did_you_mean(word, TYPE_NAMES) or _LISTED
    findings.append(Finding(member.node.where, "unknown-check-type", sentence, hint))
    return ""


def _opened(node: Node, kind: str, findings: list[Finding]) -> Sheet:
    """Open a check's keys; of each that is missing say that its type needs it."""
    sheet = open_sheet(node, KEYS[kind], "", findings)
    for index, found in enumerate(findings):
        if found.code == "missing-key":
            key = found.sentence.split("'")[1]
            word = {"columns": "column", "fields": "field"}.get(key, key)
            findings[index] = replace(found, sentence=f"{kind} needs {word}", where=node.where)
    return sheet


def _check_name(form: Form, name: str) -> None:
    written = form.sheet.text("name")
    if not name:
        sentence = "SQL that stands inline needs a name"
        form.report("name", "missing-key", sentence, "name: no_negative_counts")
    elif written and (not _NAME.fullmatch(written) or len(written) > LONGEST):
        expected = f"letters, digits, _ . and -, no digit first, {LONGEST} at most"
        form.sheet.bad("name", expected)


def _severity(form: Form) -> Severity:
    node = form.sheet.find("severity")
    if node is None:
        return Severity.ERROR
    found = _SEVERITIES.get(str(node.value).lower())
    if found is None:
        form.sheet.bad("severity", "error or warning", "error, warning")
    return found or Severity.ERROR


def _rows(form: Form, kind: str) -> tuple[InputName | None, Query | None]:
    """Read which rows a typed check looks at."""
    sheet = form.sheet
    if kind == "sql":
        return None, None
    text = form.sql_text("query")
    query = form.query("query", text) if text else None
    found = form.table("input")
    has_query, has_input = sheet.find("query") is not None, sheet.find("input") is not None
    for key in ("input", "scope"):
        if has_query and sheet.find(key) is not None:
            sentence = f"query says which rows are looked at, and so does {key}"
            form.report(key, "option-conflict", sentence, "keep one of them")
    if form.phase is Phase.AFTER and has_input:
        sentence = "input is for checks under before: after a step its own rows are looked at"
        form.report("input", "check-phase", sentence, "take it out, or put it under before")
    if form.phase is Phase.BEFORE and sheet.find("scope") is not None:
        sentence = "scope is for checks under after: before a step its input is looked at"
        form.report("scope", "check-phase", sentence, "take it out")
    if (
        form.phase is Phase.BEFORE
        and not has_query
        and not has_input
        and kind != "row_count_change"
    ):
        _check_only_input(form)
    return found, query


def _check_only_input(form: Form) -> None:
    inputs = form.scene.inputs
    if inputs is None or len(inputs) == 1:
        return
    if not inputs:
        sentence = "the model reads no table, so no rows are there before it"
        form.report("type", "check-needs-input", sentence, "write query: with the rows to look at")
        return
    names = [form.scene.shown(each) for each in inputs]
    sentence = f"the model reads {some_of(names)}; which of them is looked at?"
    form.report("type", "check-needs-input", sentence, f"input: {min(names)}")


def _columns(form: Form, named: InputName | None) -> Columns:
    """Give the columns of the rows that a check looks at."""
    scene = form.scene
    if form.sheet.find("query") is not None:
        return UNKNOWN
    if form.phase is Phase.AFTER:
        return scene.columns
    if named is not None:
        return scene.columns_of(named)
    inputs = scene.inputs or ()
    return scene.columns_of(inputs[0]) if len(inputs) == 1 else UNKNOWN


def _scope(form: Form, rule: Rule | None) -> CheckScope:
    word = form.sheet.word("scope", [each.value for each in CheckScope])
    strategy = form.scene.strategy
    is_whole = strategy.writing is Writing.WHOLE
    if form.phase is Phase.BEFORE or is_whole or form.sheet.find("query") is not None:
        return CheckScope.STEP
    if word:
        return CheckScope(word)
    whole = isinstance(rule, Unique) and strategy.writing is Writing.MERGED
    return CheckScope.TABLE if whole else CheckScope.STEP


def _meta(form: Form) -> Mapping[str, str]:
    node = form.sheet.find("meta")
    if node is None:
        return {}
    if not isinstance(node.value, Mapping):
        form.sheet.bad("meta", "a mapping")
    return {key: _text(member.node) for key, member in node.members.items()}


def _text(node: Node) -> str:
    tree = _plain(node)
    return tree if isinstance(tree, str) else json.dumps(tree, ensure_ascii=False)


def _plain(node: Node) -> Plain:
    if isinstance(node.value, Mapping):
        return {key: _plain(member.node) for key, member in node.members.items()}
    if isinstance(node.value, tuple):
        return [_plain(item) for item in node.items]
    return node.value if isinstance(node.value, str | int | float) else None


def _reads(rule: Rule, named: InputName | None, query: Query | None) -> tuple[InputName, ...]:
    found: list[InputName] = [named] if named else []
    for each in (query, rule.query if isinstance(rule, SqlCheck) else None):
        found += each.inputs if each else ()
    if isinstance(rule, Relationships):
        found.append(rule.to)
    return tuple(each for each in dict.fromkeys(found) if each.kind is not InputKind.THIS)
