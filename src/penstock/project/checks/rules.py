"""The rules of the twelve types, read from their keys (spec/checks.md §1.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from penstock.core import checks as core
from penstock.core.checks import CheckScope, Phase, Rule
from penstock.project.checks.bounds import Place, Scalar, compared, place_of
from penstock.project.checks.form import Form
from penstock.project.checks.scene import UNKNOWN, ConditionKind
from penstock.project.files.values import parse_duration

_HUNDRED = Decimal(100)
_TRAILING = 7
_TIMES = ("date", "timestamp", "timestamp_ntz")
_BOUNDS = "give min, max or both"
_CHANGES = "give max_increase_percent, max_decrease_percent or both"


def rule_of(kind: str, form: Form) -> Rule | None:
    """Read the rule of a check; None beside a finding."""
    return _READERS[kind](form)


def _sql(form: Form) -> Rule | None:
    text = form.sql_text("sql")
    query = form.query("sql", text) if text else None
    return core.SqlCheck(query, text.file) if text and query else None


def _row_count(form: Form) -> Rule | None:
    least, most = _counts(form)
    return core.RowCount(least, most)


def _column_check(form: Form) -> Rule | None:
    column = form.column()
    condition = form.condition("check", ConditionKind.CHECK, column)
    return core.ColumnCheck(column, condition) if column and condition else None


def _null_percentage(form: Form) -> Rule | None:
    column, most = form.column(), form.percent("max_percentage")
    return core.NullPercentage(column, most) if column and most is not None else None


def _distinct_count(form: Form) -> Rule | None:
    columns = form.column_names()
    least, most = _counts(form)
    return core.DistinctCount(columns, least, most) if columns else None


def _value_range(form: Form) -> Rule | None:
    column, strict = form.column(), bool(form.section.flag("strict"))
    kind = form.columns.type_of(column)
    least, most = form.bound("min", kind), form.bound("max", kind)
    _check_given(form, ("min", "max"), _BOUNDS)
    low, high = _place(form, "min", kind), _place(form, "max", kind)
    if low is not None and high is not None:
        _check_order(form, low, high, strict=strict)
    return core.ValueRange(column, least, most, strict) if column else None


def _unique(form: Form) -> Rule | None:
    columns = form.column_names()
    nulls = form.section.word("nulls", ("distinct", "equal"))
    versions = form.section.word("versions", ("current", "all"))
    return core.Unique(columns, nulls == "equal", versions == "all") if columns else None


def _not_null(form: Form) -> Rule | None:
    columns = form.column_names()
    return core.NotNull(columns) if columns else None


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
    return core.AcceptedValues(column, known) if column and known else None


def _relationships(form: Form) -> Rule | None:
    columns, to = form.column_names(), form.table("to")
    there = form.scene.columns_of(to) if to else UNKNOWN
    fields = form.column_names("fields", there)
    if columns and fields and len(columns) != len(fields):
        form.section.bad("fields", f"as many columns as columns, which are {len(columns)}")
        return None
    if not columns or to is None or not fields:
        return None
    shown = form.scene.shown(to)
    return core.Relationships(columns, to, fields, shown)


def _freshness(form: Form) -> Rule | None:
    column, written = form.column(), form.section.text("max_age").strip()
    kind = form.columns.type_of(column)
    if kind and kind not in _TIMES:
        sentence = f"freshness needs DATE, TIMESTAMP or TIMESTAMP_NTZ; {column!r} is {kind.upper()}"
        form.report("column", "wrong-column-type", sentence, "name the column of a time")
    try:
        age = parse_duration(written) if written else None
    except ValueError:
        form.section.bad("max_age", "a duration such as 90m, 36h or 2 days")
        return None
    return core.Freshness(column, age, written) if column and age is not None else None


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
    _check_given(form, ("max_increase_percent", "max_decrease_percent", "max_percent"), _CHANGES)
    if both is not None:
        more, less = both, min(both, _HUNDRED)
    trailing = section.word("compare", ("previous", "trailing")) == "trailing"
    last = section.number("last", 1)
    if last is not None and not trailing:
        sentence = "last counts what compare: trailing compares with"
        form.report("last", "option-conflict", sentence, "write compare: trailing, or take it out")
    _check_step_rows(form)
    return core.RowCountChange(more, less, (last or _TRAILING) if trailing else None)


def _check_step_rows(form: Form) -> None:
    """Refuse other rows than all of a step: nothing else was counted in earlier steps."""
    for key in ("where", "query", "scope"):
        node = form.section.find(key)
        if node is not None and (key != "scope" or node.value == CheckScope.TABLE):
            sentence = f"row_count_change counts all rows of a step, as earlier ones did; {key}"
            form.report(key, "option-conflict", f"{sentence} says other rows", "take it out")


def _counts(form: Form) -> tuple[int | None, int | None]:
    least, most = form.section.number("min", 0), form.section.number("max", 0)
    _check_given(form, ("min", "max"), _BOUNDS)
    if least is not None and most is not None:
        _check_order(form, Decimal(least), Decimal(most), strict=False)
    return least, most


def _check_given(form: Form, keys: tuple[str, ...], hint: str) -> None:
    if all(form.section.find(key) is None for key in keys):
        form.report("type", "missing-bounds", f"none of {', '.join(keys)} is given", hint)


def _place(form: Form, key: str, kind: str) -> Place | None:
    node = form.section.find(key)
    value = None if node is None else node.value
    return place_of(value, kind) if isinstance(value, Scalar) else None


def _check_order(form: Form, low: Place, high: Place, *, strict: bool) -> None:
    order = compared(low, high)
    said = [str(getattr(form.section.find(key), "value", "")) for key in ("min", "max")]
    if order > 0:
        sentence = f"min {said[0]} is above max {said[1]}"
        form.report("min", "min-above-max", sentence, "exchange them")
    elif strict and order == 0:
        sentence = f"min and max are both {said[0]}, and strict leaves both out"
        form.report("min", "min-above-max", sentence, "take strict out, or widen the bounds")


_READERS: Mapping[str, Callable[[Form], Rule | None]] = {
    "sql": _sql,
    "row_count": _row_count,
    "column_check": _column_check,
    "null_percentage": _null_percentage,
    "distinct_count": _distinct_count,
    "value_range": _value_range,
    "unique": _unique,
    "not_null": _not_null,
    "accepted_values": _accepted_values,
    "relationships": _relationships,
    "freshness": _freshness,
    "row_count_change": _row_count_change,
}
