"""One check, from its keys to its value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from penstock.core import checks as core
from penstock.core.checks import Check, CheckScope, Empty, Phase, Rule
from penstock.core.findings import Finding, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query
from penstock.core.strategy import Writing
from penstock.project.checks.form import TIMES, Form, Place, Scalar, place_of
from penstock.project.checks.kept import definition_of
from penstock.project.checks.phases import LONGEST, name_of
from penstock.project.checks.scene import UNKNOWN, ConditionKind, KnownColumns, Scene
from penstock.project.checks.thresholds import read_failing
from penstock.project.files.nodes import Section, TemplateText, YamlNode, open_section, shown
from penstock.project.files.values import did_you_mean, parse_duration, some_of
from penstock.project.settings.check_keys import KEYS, TYPE_NAMES

_TRAILING = 7
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_SEVERITIES = {"error": Severity.ERROR, "warning": Severity.WARNING, "warn": Severity.WARNING}
_WITHOUT_EMPTY = {
    "row_count": "0 rows are compared with the bounds",
    "sql": "the query says what no rows mean",
}
_LISTED = f"there are: {', '.join(TYPE_NAMES)}"


def read_check(node: YamlNode, phase: Phase, scene: Scene, findings: list[Finding]) -> Check | None:
    """Read a check, or find all that is wrong with it at once; None where it is off or broken."""
    member = node.members.get("enabled")
    if member is not None and str(member.node.value).lower() == "false":
        return None
    name = name_of(node)
    mine: list[Finding] = []
    kind = _kind(node, mine)
    found = _read(Form(_opened(node, kind, mine), phase, scene), kind, name) if kind else None
    label = f'check "{name}"' if name else "check"
    findings += [replace(each, sentence=f"{label}: {each.sentence}") for each in mine]
    return None if any(each.is_error for each in mine) else found


def _read(form: Form, kind: str, name: str) -> Check | None:
    section, scene = form.section, form.scene
    _check_name(form, name)
    _ = section.flag("enabled")
    input_name, query = (None, None) if kind == "sql" else _rows(form, kind)
    form.columns = _columns(form, input_name)
    rule = _RULES[kind](form)
    empty = "" if kind in _WITHOUT_EMPTY else section.word("empty", [each.value for each in Empty])
    if section.find("empty") is not None and kind in _WITHOUT_EMPTY:
        section.bad("empty", f"left out: {_WITHOUT_EMPTY[kind]}")
    sample = section.flag("sample")
    condition = form.condition("where", ConditionKind.WHERE)
    scope = _scope(form, rule)
    if rule is None:
        _ = _meta(form), section.texts("tags"), section.text("description")
        read_failing(form, rule, _severity(form))
        return None
    failing = read_failing(form, rule, severity := _severity(form))
    check = Check(
        name=name,
        phase=form.phase,
        rule=rule,
        where=section.node.where,
        severity=severity,
        description=section.text("description").strip(),
        tags=tuple(str(each.value) for each in section.texts("tags")),
        meta=_meta(form),
        condition=condition,
        input=input_name,
        query=query,
        scope=scope,
        empty=Empty(empty) if empty else None,
        sample=scene.sample if sample is None else sample,
        reads=_reads(rule, input_name, query),
        thresholds=failing.thresholds,
        store=failing.store,
        limit=failing.limit,
        test=_test(section),
    )
    return replace(check, definition=definition_of(check))


def _test(section: Section) -> str:
    node = section.find("sql")
    return node.value.test if node is not None and isinstance(node.value, TemplateText) else ""


def _kind(node: YamlNode, findings: list[Finding]) -> str:
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


def _opened(node: YamlNode, kind: str, findings: list[Finding]) -> Section:
    """Open a check's keys; of each that is missing say that its type needs it."""
    section = open_section(node, KEYS[kind], "", findings)
    for index, found in enumerate(findings):
        if found.code == "missing-key":
            key = found.sentence.split("'")[1]
            word = {"columns": "column", "fields": "field"}.get(key, key)
            findings[index] = replace(found, sentence=f"{kind} needs {word}", where=node.where)
    return section


def _check_name(form: Form, name: str) -> None:
    written = form.section.text("name")
    if not name:
        sentence = "SQL that stands inline needs a name"
        form.report("name", "missing-key", sentence, "name: no_negative_counts")
    elif written and (not _NAME.fullmatch(written) or len(written) > LONGEST):
        expected = f"letters, digits, _ . and -, no digit first, {LONGEST} at most"
        form.section.bad("name", expected)


def _severity(form: Form) -> Severity:
    node = form.section.find("severity")
    if node is None:
        return Severity.ERROR
    found = _SEVERITIES.get(str(node.value).lower())
    if found is None:
        form.section.bad("severity", "error or warning", "error, warning")
    return found or Severity.ERROR


def _rows(form: Form, kind: str) -> tuple[InputName | None, Query | None]:
    section, is_before = form.section, form.phase is Phase.BEFORE
    query, _ = form.query("query")
    found = form.table("input")
    has_query, has_input = section.find("query") is not None, section.find("input") is not None
    for key in ("input", "scope"):
        if has_query and section.find(key) is not None:
            sentence = f"query says which rows are looked at, and so does {key}"
            form.report(key, "option-conflict", sentence, "keep one of them")
    if has_input and not is_before:
        sentence = "input is for checks under before: after a step its own rows are looked at"
        form.report("input", "check-phase", sentence, "take it out, or put it under before")
    if is_before and section.find("scope") is not None:
        sentence = "scope is for checks under after: before a step its input is looked at"
        form.report("scope", "check-phase", sentence, "take it out")
    inputs, needs_input = form.scene.inputs, kind != "row_count_change"
    is_open = is_before and needs_input and not (has_query or has_input)
    if inputs == () and is_open:
        sentence = "the model reads no table, so no rows are there before it"
        form.report("type", "check-needs-input", sentence, "write query: with the rows to look at")
    elif inputs and len(inputs) > 1 and is_open:
        names = [form.scene.shown(each) for each in inputs]
        sentence = f"the model reads {some_of(names)}; which of them is looked at?"
        form.report("type", "check-needs-input", sentence, f"input: {min(names)}")
    return found, query


def _columns(form: Form, named: InputName | None) -> KnownColumns:
    scene = form.scene
    if form.section.find("query") is not None:
        return UNKNOWN
    if form.phase is Phase.AFTER:
        return scene.columns
    if named is not None:
        return scene.columns_of(named)
    inputs = scene.inputs or ()
    return scene.columns_of(inputs[0]) if len(inputs) == 1 else UNKNOWN


def _scope(form: Form, rule: Rule | None) -> CheckScope:
    word = form.section.word("scope", [each.value for each in CheckScope])
    writing = form.scene.strategy.writing
    has_query = form.section.find("query") is not None
    if form.phase is Phase.BEFORE or writing is Writing.WHOLE or has_query:
        return CheckScope.STEP
    if word:
        return CheckScope(word)
    whole = isinstance(rule, core.Unique) and writing is Writing.MERGED
    return CheckScope.TABLE if whole else CheckScope.STEP


def _meta(form: Form) -> Mapping[str, str]:
    node = form.section.find("meta")
    if node is None:
        return {}
    if not isinstance(node.value, Mapping):
        form.section.bad("meta", "a mapping")
    trees = {key: member.node.plain for key, member in node.members.items()}
    return {
        key: tree if isinstance(tree, str) else json.dumps(tree, ensure_ascii=False)
        for key, tree in trees.items()
    }


def _reads(rule: Rule, named: InputName | None, query: Query | None) -> tuple[InputName, ...]:
    found: list[InputName] = [named] if named else []
    for each in (query, rule.query if isinstance(rule, core.SqlCheck) else None):
        found += each.inputs if each else ()
    if isinstance(rule, core.Relationships):
        found.append(rule.to)
    return tuple(each for each in dict.fromkeys(found) if each.kind is not InputKind.THIS)


def _sql(form: Form) -> Rule | None:
    query, file = form.query("sql")
    return core.SqlCheck(query, file) if query else None


def _made(rule: Callable[..., Rule], *needed: object, more: Sequence[object] = ()) -> Rule | None:
    """Make a rule of values without which there is none, and of those that may be left out."""
    is_whole = not any(value is None or value in ("", ()) for value in needed)
    return rule(*needed, *more) if is_whole else None


def _column_check(form: Form) -> Rule | None:
    column = form.column()
    return _made(core.ColumnCheck, column, form.condition("check", ConditionKind.CHECK, column))


def _value_range(form: Form) -> Rule | None:
    column, strict = form.column(), bool(form.section.flag("strict"))
    kind = form.columns.type_of(column)
    nodes = {key: form.section.find(key) for key in ("min", "max")}
    least, most = (form.value(node, key, kind) for key, node in nodes.items())
    values = (node.value if node else None for node in nodes.values())
    low, high = (place_of(each, kind) if isinstance(each, Scalar) else None for each in values)
    _check_bounds(form, low, high, strict=strict)
    return _made(core.ValueRange, column, more=(least, most, strict))


def _unique(form: Form) -> Rule | None:
    columns = form.column_names()
    nulls = form.section.word("nulls", ("distinct", "equal"))
    versions = form.section.word("versions", ("current", "all"))
    return _made(core.Unique, columns, more=(nulls == "equal", versions == "all"))


def _accepted_values(form: Form) -> Rule | None:
    column, node = form.column(), form.section.find("values")
    if node is None:
        return None
    if not isinstance(node.value, tuple):
        form.section.bad("values", "a list of values")
        return None
    if not node.items:
        sentence = "values is an empty list, which no value is in"
        form.report("values", "empty-values", sentence, "list the values")
    kind = form.columns.type_of(column)
    texts = [form.value(item, "values", kind) for item in node.items]
    known = tuple(dict.fromkeys(text for text in texts if text is not None))
    return _made(core.AcceptedValues, column, known)


def _relationships(form: Form) -> Rule | None:
    columns, to = form.column_names(), form.table("to")
    there = form.scene.columns_of(to) if to else UNKNOWN
    fields = form.column_names("fields", there)
    if columns and fields and len(columns) != len(fields):
        form.section.bad("fields", f"as many columns as columns, which are {len(columns)}")
        return None
    return _made(core.Relationships, columns, to, fields, to and form.scene.shown(to))


def _freshness(form: Form) -> Rule | None:
    column, written = form.column(), form.section.text("max_age").strip()
    kind = form.columns.type_of(column)
    if kind and kind not in TIMES:
        sentence = f"freshness needs DATE, TIMESTAMP or TIMESTAMP_NTZ; {column!r} is {kind.upper()}"
        form.report("column", "wrong-column-type", sentence, "name the column of a time")
    try:
        age = parse_duration(written) if written else None
    except ValueError:
        form.section.bad("max_age", "a duration such as 90m, 36h or 2 days")
        return None
    return _made(core.Freshness, column, age, written)


def _row_count_change(form: Form) -> Rule | None:
    section = form.section
    if form.phase is Phase.BEFORE:
        sentence = "row_count_change compares rows that were written: it stands under after"
        form.report("type", "check-phase", sentence, "put it under after")
    both = form.percent("max_percent", most=None)
    more = form.percent("max_increase_percent", most=None)
    less = form.percent("max_decrease_percent")
    if section.find("max_percent") is not None:
        for key in ("max_increase_percent", "max_decrease_percent"):
            if section.find(key) is not None:
                form.report(key, "option-conflict", f"max_percent says {key} too", "keep one")
    _check_given(
        form,
        ("max_increase_percent", "max_decrease_percent", "max_percent"),
        "give max_increase_percent, max_decrease_percent or both",
    )
    if both is not None:
        more, less = both, min(both, Decimal(100))
    trailing = section.word("compare", ("previous", "trailing")) == "trailing"
    last = section.number("last", 1)
    if last is not None and not trailing:
        sentence = "last counts what compare: trailing compares with"
        form.report("last", "option-conflict", sentence, "write compare: trailing, or take it out")
    # Other rows than all of a step were not counted in earlier steps.
    for key in ("where", "query", "scope"):
        node = section.find(key)
        if node is not None and (key != "scope" or node.value == CheckScope.TABLE):
            sentence = f"row_count_change counts all rows of a step, as earlier ones did; {key}"
            form.report(key, "option-conflict", f"{sentence} says other rows", "take it out")
    return core.RowCountChange(more, less, (last or _TRAILING) if trailing else None)


def _counts(form: Form) -> tuple[int | None, int | None]:
    least, most = form.section.number("min", 0), form.section.number("max", 0)
    low, high = (None if each is None else Decimal(each) for each in (least, most))
    _check_bounds(form, low, high, strict=False)
    return least, most


def _check_given(form: Form, keys: tuple[str, ...], hint: str) -> None:
    if all(form.section.find(key) is None for key in keys):
        form.report("type", "missing-bounds", f"none of {', '.join(keys)} is given", hint)


def _check_bounds(form: Form, low: Place | None, high: Place | None, *, strict: bool) -> None:
    _check_given(form, ("min", "max"), "give min, max or both")
    if low is None or type(low) is not type(high):  # what cannot be compared is in order
        return
    said = [str(getattr(form.section.find(key), "value", "")) for key in ("min", "max")]
    if low > high:  # type: ignore[operator]  # of one type
        sentence = f"min {said[0]} is above max {said[1]}"
        form.report("min", "min-above-max", sentence, "exchange them")
    elif strict and low == high:
        sentence = f"min and max are both {said[0]}, and strict leaves both out"
        form.report("min", "min-above-max", sentence, "take strict out, or widen the bounds")


_RULES: Mapping[str, Callable[[Form], Rule | None]] = {
    "sql": _sql,
    "row_count": lambda form: core.RowCount(*_counts(form)),
    "column_check": _column_check,
    "null_percentage": lambda form: _made(
        core.NullPercentage, form.column(), form.percent("max_percentage")
    ),
    "distinct_count": lambda form: _made(
        core.DistinctCount, form.column_names(), more=_counts(form)
    ),
    "value_range": _value_range,
    "unique": _unique,
    "not_null": lambda form: _made(core.NotNull, form.column_names()),
    "accepted_values": _accepted_values,
    "relationships": _relationships,
    "freshness": _freshness,
    "row_count_change": _row_count_change,
}
