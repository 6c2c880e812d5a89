"""One check: from its keys to its value."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

from penstock.core.checks.check import ANY_ROW, Check, CheckScope, Phase, Threshold, Thresholds
from penstock.core.checks.check_type import CheckType, Empty, check_types, parts_of
from penstock.core.findings import Finding, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grain
from penstock.core.query import Query
from penstock.core.strategy import Writing
from penstock.project.checks.form import Form, number_of
from penstock.project.checks.kept import definition_of
from penstock.project.checks.phases import name_of
from penstock.project.checks.scene import UNKNOWN, ConditionKind, KnownColumns, Scene
from penstock.project.files.kinds import word
from penstock.project.files.nodes import Section, TemplateText, YamlNode, excerpt
from penstock.project.files.sections import read_section
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.settings.check_keys import RowsSection, section_of

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")


def read_check(node: YamlNode, phase: Phase, scene: Scene, findings: list[Finding]) -> Check | None:
    """Read a check, or report all its errors at once; None if it is disabled or broken."""
    member = node.members.get("enabled")
    if member is not None and str(member.node.value).lower() == "false":
        return None
    name = name_of(node)
    mine: list[Finding] = []
    kind = _kind(node, mine)
    found = None
    if kind is not None:
        found = _read(
            Form(read_section(section_of(kind.name), node, "", mine), phase, scene), kind, name
        )
    label = f'check "{name}"' if name else "check"
    findings += [replace(each, sentence=f"{label}: {each.sentence}") for each in mine]
    return None if any(each.is_error for each in mine) else found


def _read(form: Form, kind: type[CheckType], name: str) -> Check | None:
    section = form.section
    _check_name(form, name)
    input_name, query = _rows(form, kind) if kind.takes_rows else (None, None)
    form.columns = _columns(form, input_name)
    rule, empty, scope = form.rule(kind), _empty(section, kind), _scope(form, kind)
    _check_weekday(form, rule)
    condition = form.condition("where", kind=ConditionKind.WHERE)
    thresholds = read_failing(form, rule)
    if rule is None:
        return None
    check = Check(
        name=name,
        phase=form.phase,
        rule=rule,
        where=section.node.where,
        severity=section.severity,
        description=section.description.strip(),
        tags=section.tags,
        meta=section.meta,
        condition=condition,
        input=input_name,
        query=query,
        scope=scope,
        empty=Empty(empty) if empty else None,
        sample=form.scene.sample if section.sample is None else section.sample,
        reads=_reads(rule, input_name, query),
        thresholds=thresholds,
        store=bool(section.store_failures),
        limit=section.limit,
        test=_test(section),
    )
    return replace(check, definition=definition_of(check))


def _check_weekday(form: Form, rule: CheckType | None) -> None:
    """Report a comparison of weekdays in a model whose partitions have none."""
    history, settings = rule and rule.own_history, form.scene.strategy.partitioning
    if not history or not history.same_weekday or settings is None:
        return
    if settings.grid.grain not in (Grain.DAY, Grain.HOUR):
        sentence = f"by: weekday, and the partitions are {settings.grid.grain}"
        form.section.report("by", "option-conflict", sentence, "take it out")


def _empty(section: Section, kind: type[CheckType]) -> str:
    if not kind.without_empty:
        return section.read("empty", word([each.value for each in Empty]))
    if section.find("empty") is not None:
        section.bad("empty", f"left out: {kind.without_empty}")
    return ""


def _reads(rule: CheckType, table: InputName | None, query: Query | None) -> tuple[InputName, ...]:
    queries = (query, *parts_of(rule, Query))
    tables = [name for each in queries if each for name in each.inputs]
    read = dict.fromkeys((*((table,) if table else ()), *tables, *parts_of(rule, InputName)))
    return tuple(each for each in read if each.kind is not InputKind.THIS)


def _test(section: Section) -> str:
    node = section.find("sql")
    return node.value.test if node is not None and isinstance(node.value, TemplateText) else ""


def _kind(node: YamlNode, findings: list[Finding]) -> type[CheckType] | None:
    listed = f"there are: {', '.join(check_types())}"
    member = node.members.get("type")
    if member is None or member.node.is_absent:
        if "sql" in node.members:
            return check_types()["sql"]
        sentence = "it has neither type nor sql"
        findings.append(Finding(node.where, "check-type-missing", sentence, listed))
        return None
    word = str(member.node.value)
    if found := check_types().get(word.lower()):
        return found
    sentence = f"type {excerpt('type', member.node.value)} is not known"
    hint = did_you_mean(word, check_types()) or listed
    findings.append(Finding(member.node.where, "unknown-check-type", sentence, hint))
    return None


def _check_name(form: Form, name: str) -> None:
    written = form.section.name
    if not name:
        sentence = "SQL that stands inline needs a name"
        form.section.report("name", "missing-key", sentence, "name: no_negative_counts")
    elif written and not _NAME.fullmatch(written):
        expected = "letters, digits, _ . and -, no digit first, 128 at most"
        form.section.bad("name", expected)


def _rows(form: Form, kind: type[CheckType]) -> tuple[InputName | None, Query | None]:
    section, is_before = form.section, form.phase is Phase.BEFORE
    query, _ = form.query("query")
    table, _ = form.table("input") or (None, "")
    has_query, has_input = section.find("query") is not None, section.find("input") is not None
    for key in ("input", "scope"):
        if has_query and section.find(key) is not None:
            sentence = f"query says which rows are checked, and so does {key}"
            form.section.report(key, "option-conflict", sentence, "keep one of them")
    if has_input and not is_before:
        sentence = "input is for checks under before: after a step, its own rows are checked"
        form.section.report("input", "check-phase", sentence, "take it out, or put it under before")
    if is_before and section.find("scope") is not None:
        sentence = "scope is for checks under after: before a step, its input is checked"
        form.section.report("scope", "check-phase", sentence, "take it out")
    if is_before and kind.only_after:
        sentence = f"{kind.name} compares rows that were written: put it under after"
        form.section.report("type", "check-phase", sentence, "put it under after")
    inputs = form.scene.inputs
    is_open = is_before and not (kind.only_after or has_query or has_input)
    if inputs == () and is_open:
        sentence = "the model reads no table, so no rows are there before it"
        form.section.report(
            "type", "check-needs-input", sentence, "write query: with the rows to check"
        )
    elif inputs and len(inputs) > 1 and is_open:
        names = [form.scene.label_of(each) for each in inputs]
        sentence = f"the model reads {some_of(names)}; which of them is checked?"
        form.section.report("type", "check-needs-input", sentence, f"input: {min(names)}")
    return table, query


def _columns(form: Form, table: InputName | None) -> KnownColumns:
    scene = form.scene
    if form.section.find("query") is not None:
        return UNKNOWN
    if form.phase is Phase.AFTER:
        return scene.columns
    if table is not None:
        return scene.columns_of(table)
    inputs = scene.inputs or ()
    return scene.columns_of(inputs[0]) if len(inputs) == 1 else UNKNOWN


def _scope(form: Form, kind: type[CheckType]) -> CheckScope:
    word = form.section.scope if isinstance(form.section, RowsSection) else ""
    writing = form.scene.strategy.writing
    has_query = form.section.find("query") is not None
    if form.phase is Phase.BEFORE or writing is Writing.WHOLE or has_query:
        return CheckScope.STEP
    if word:
        return CheckScope(word)
    whole = kind.reads_whole and writing is Writing.MERGED
    return CheckScope.TABLE if whole else CheckScope.STEP


_NUMBER = r"(\d+(?:\.\d+)?)"
_SIGNED = re.compile(rf"\s*(>=|<=|!=|<>|==|=|>|<)\s*{_NUMBER}\s*(%)?\s*")
_BETWEEN = re.compile(rf"\s*between\s+{_NUMBER}\s+and\s+{_NUMBER}\s*(%)?\s*", re.IGNORECASE)
_SAME = {"<>": "!=", "==": "="}
_EXPECTED = "a condition on the number of failing rows, such as > 10, > 1 % or between 1 and 5"
_IF = ("warn_if", "error_if")
_UNCOUNTED = "use null_percentage, row_count or column_check"


def threshold_of(text: str) -> Threshold | None:
    """Parse a condition on the number of failing rows; None if it is invalid.

    >>> str(threshold_of(">10")), str(threshold_of("Between 1 and 2.5%")), threshold_of("> 0.5")
    ('> 10', 'between 1 and 2.5 %', None)
    """
    if signed := _SIGNED.fullmatch(text):
        sign, value, percent = signed.groups()
        found = Threshold(_SAME.get(sign, sign), Decimal(value), percent=bool(percent))
    elif between := _BETWEEN.fullmatch(text):
        low, high, percent = between.groups()
        found = Threshold("between", Decimal(low), Decimal(high), percent=bool(percent))
    else:
        return None
    ends = [each for each in (found.value, found.upto) if each is not None]
    is_whole = found.percent or all(each == each.to_integral_value() for each in ends)
    return found if is_whole and ends == sorted(ends) else None


def read_failing(form: Form, rule: CheckType | None) -> Thresholds | None:
    """Read the settings for failing rows; report those without effect."""
    section, severity = form.section, form.section.severity
    store, limit = section.store_failures, section.limit
    thresholds = {key: _threshold(form, key) for key in _IF if section.find(key) is not None}
    mostly = _mostly(form)
    counts = rule is not None and rule.counts_rows
    for key in ("mostly", *_IF):
        if rule is None or section.find(key) is None:
            continue
        if not counts:
            sentence = f"{key}: {rule.name} counts no rows that fail"
            form.section.report(key, "unsupported-threshold", sentence, _UNCOUNTED)
        elif not rule.takes_rows and (key == "mostly" or _is_share(thresholds.get(key))):
            sentence = f"{key}: SQL gives failing rows alone, so a percentage means nothing"
            form.section.report(key, "unsupported-threshold", sentence, 'write a number: "> 10"')
    if mostly is not None and thresholds:
        sentence = f"mostly says what {next(iter(thresholds))} says"
        form.section.report("mostly", "option-conflict", sentence, "keep one of them")
    if limit is not None and not store:
        _idle(form, "limit", "limit is how many failing rows are kept, and none are")
    if store and rule is not None and not (counts or rule.stores_rows):
        _idle(form, "store_failures", f"{rule.name} has no rows that fail")
    return _thresholds(form, thresholds, mostly, severity)


def _thresholds(
    form: Form,
    thresholds: dict[str, Threshold | None],
    mostly: Threshold | None,
    severity: Severity,
) -> Thresholds | None:
    """Return dbt's thresholds: by default any row counts; a warning is never an error."""
    if mostly is not None:
        is_error = severity is Severity.ERROR
        return Thresholds(mostly) if is_error else Thresholds(None, mostly)
    if not thresholds:
        return None
    warning, error = (thresholds.get(key) or ANY_ROW for key in _IF)
    if severity is not Severity.ERROR:
        if "error_if" in thresholds:
            _idle(form, "error_if", "the severity is warning, so nothing is an error")
        return Thresholds(None, warning)
    if "error_if" not in thresholds and warning != ANY_ROW:
        _idle(form, "warn_if", "without error_if a single failing row is an error")
    return Thresholds(error, warning)


def _threshold(form: Form, key: str) -> Threshold | None:
    node = form.section.find(key)
    threshold = threshold_of(str(node.value)) if node is not None else None
    if threshold is None:
        form.section.bad(key, _EXPECTED, 'quote it: "> 10"')
    return threshold


def _mostly(form: Form) -> Threshold | None:
    """Return the share of failing rows that is too large for `mostly`."""
    node = form.section.find("mostly")
    if node is None:
        return None
    value = node.value
    number = number_of(value) if isinstance(value, str | int | float) else None
    if number is None or not 0 < number <= 1:
        sentence = f"mostly is {value}; it must be more than 0 and at most 1"
        hint = "0.95 lets at most 5 % of the rows fail"
        form.section.report("mostly", "percent-out-of-range", sentence, hint)
        return None
    share = (100 * (1 - number)).normalize()
    return Threshold(">", share or Decimal(0), percent=True)


def _is_share(threshold: Threshold | None) -> bool:
    return threshold is not None and threshold.percent


def _idle(form: Form, key: str, sentence: str) -> None:
    hint = {
        "limit": "write store_failures: true, or take it out",
        "store_failures": "take it out",
        "error_if": "write warn_if, or severity: error",
        "warn_if": "give error_if as well, or severity: warning",
    }[key]
    form.section.warn(key, "option-without-effect", sentence, hint)
