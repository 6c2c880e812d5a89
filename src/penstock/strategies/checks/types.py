"""The types of checks: what each measures, and how its values are judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from penstock.core import checks as rules
from penstock.core.check_results import CheckStatus, GroupValue
from penstock.core.columns.schema import Schema
from penstock.core.columns.types import parse_type, scalars
from penstock.core.names import literal, quoted
from penstock.core.partitions import calendar
from penstock.strategies.checks import literals, measure
from penstock.strategies.checks.measure import GroupMeasures, Measure, Restriction
from penstock.strategies.checks.queries import ASKED, GROUP, KEPT, cells, places


def row_count(rule: rules.RowCount, kept: Restriction) -> Measure:
    """Hold when there are at least and at most so many rows; no rows are 0."""
    return Measure(
        {measure.ROWS: kept.rows},
        lambda found: measure.verdict_by_bounds("rows", found.rows, rule.minimum, rule.maximum),
    )


NO_BASE = "no earlier execution"
NOTHING_WRITTEN = "nothing was written"


def row_count_change(rule: rules.RowCountChange, kept: Restriction) -> Measure:
    """Hold when the number of rows changed by at most so many percent of what was before.

    From nothing to something is an infinite increase.
    """

    def judge(found: GroupMeasures) -> GroupValue:
        rows, before = found.rows, found.before
        if before is None:
            return GroupValue("", CheckStatus.SKIPPED, message=NO_BASE)
        grows = rows >= before
        limit, word = (rule.max_increase, "increase") if grows else (rule.max_decrease, "decrease")
        bound = None if limit is None else Fraction(limit)
        if rows and not before:
            said, holds = f"rows {rows}, infinite increase from 0", bound is None
        else:
            change = 100 * abs(rows - before) / before if before else Fraction(0)
            shown = f"{'+' if grows else '-'}{literals.percent(change, bound, digits=1)} %"
            said = f"rows {rows}, {shown} of {literals.number(before)}"
            holds = bound is None or change <= bound
        if limit is None or holds:
            return measure.passed(said)
        return measure.failed(f"{said} (max {word} {literals.plain(limit)} %)")

    return Measure({measure.ROWS: kept.rows}, judge)


def not_null(rule: rules.NotNull, kept: Restriction) -> Measure:
    """Hold when no value of the columns is NULL; a row with two of them breaks it once."""
    by_column = {f"nulls {each}": f"{quoted(each)} IS NULL" for each in rule.columns}

    def wrong(found: GroupMeasures) -> str:
        nulls = [(each, count) for each in rule.columns if (count := found.count(f"nulls {each}"))]
        return ", ".join(
            f"{count if at else literals.counted(count, 'NULL')} in {each}"
            for at, (each, count) in enumerate(nulls)
        )

    nulls = {name: kept.count(condition) for name, condition in by_column.items()}
    return measure.counting(kept, " OR ".join(by_column.values()), "no NULL", wrong, nulls)


def null_percentage(rule: rules.NullPercentage, kept: Restriction) -> Measure:
    """Hold when at most so many percent of the values are NULL; exact, nothing is rounded."""
    breaks = f"{quoted(rule.column)} IS NULL"
    most = Fraction(rule.maximum)

    def judge(found: GroupMeasures) -> GroupValue:
        nulls, rows = found.count("nulls"), found.rows
        share = Fraction(100 * nulls, rows)
        shown = f"nulls {literals.percent(share, most)} %"
        if share <= most:
            return measure.passed(shown, failures=0)
        details = f"{nulls} of {literals.counted(rows, 'row')}"
        return measure.failed(f"{shown} > max {literals.exactly(rule.maximum)} %", details, nulls)

    return Measure({measure.ROWS: kept.rows, "nulls": kept.count(breaks)}, judge, breaks)


def unique(rule: rules.Unique, kept: Restriction) -> Measure:
    """Hold when no two rows agree in all columns.

    A row with a NULL repeats nothing, or with `nulls_equal` NULL equals NULL. Every row beyond the
    first of its kind counts.
    """
    first, *others = (quoted(each) for each in rule.columns)
    breaks = f"{measure.COPIES} > 1"
    if rule.nulls_equal:
        complete = kept.rows
        # count(DISTINCT a, b) leaves rows with a NULL out; a struct of NULLs is a value
        keys = kept.only(f"struct({', '.join((first, *others))})")
    else:
        has_all = " AND ".join(f"{each} IS NOT NULL" for each in (first, *others))
        complete, breaks = kept.count(has_all), f"{has_all} AND {breaks}"
        keys = ", ".join((kept.only(first), *others))

    def judge(found: GroupMeasures) -> GroupValue:
        copies = found.count("complete") - found.count("keys")
        if not copies:
            return measure.passed("unique", failures=0)
        return measure.failed(literals.counted(copies, "duplicate row"), failures=copies)

    aggregates = {measure.ROWS: kept.rows, "complete": complete, "keys": f"count(DISTINCT {keys})"}
    return Measure(aggregates, judge, breaks, repeated=rule.columns)


def distinct_count(rule: rules.DistinctCount, kept: Restriction) -> Measure:
    """Hold when the columns have so many different values; a row with a NULL has none."""
    noun, (first, *others) = "distinct", (quoted(each) for each in rule.columns)
    values = ", ".join((kept.only(first), *others))
    return Measure(
        {measure.ROWS: kept.rows, noun: f"count(DISTINCT {values})"},
        lambda found: measure.verdict_by_bounds(
            noun, found.count(noun), rule.minimum, rule.maximum
        ),
        empty={noun: "0"},
    )


def accepted_values(rule: rules.AcceptedValues, kept: Restriction, kind: str) -> Measure:
    """Hold when every value that is not NULL is listed, compared in the column's type."""
    value = literals.one_zero(quoted(rule.column), kind)  # a long list is a set of hashes to Spark
    listed = ", ".join(literals.literal_of(each, kind) for each in rule.values)
    return measure.counting(
        kept,
        f"NOT ({value} IN ({listed}))",
        "only accepted values",
        lambda found: f"{literals.counted(found.failures, 'row')} with other values",
    )


def value_range(rule: rules.ValueRange, kept: Restriction, kind: str) -> Measure:
    """Hold when every value lies within the bounds, compared in the column's type by Spark.

    NaN is greater than every number, as everywhere in Spark.
    """
    column = quoted(rule.column)
    low, high = ("<=", ">=") if rule.strict else ("<", ">")
    value = kept.only(literals.one_zero(column, kind))
    sides = [
        (end, f"{end}({value})", name, sign, bound)
        for end, name, sign, bound in (
            ("min", "below", low, rule.minimum),
            ("max", "above", high, rule.maximum),
        )
    ]
    aggregates = {end: measure.text(found) for end, found, *_ in sides}
    broken = []
    for _, found, name, sign, bound in sides:
        if bound is not None:
            written = literals.literal_of(bound, kind)
            aggregates[name] = measure.text(f"({found} {sign} {written})")
            broken.append(f"{column} {sign} {written}")

    def holds(found: GroupMeasures) -> str:
        least, most = found.values.get("min"), found.values.get("max")
        return "no values" if least is None else f"range {least} to {most}"

    def wrong(found: GroupMeasures) -> str:
        values = found.values
        return ", ".join(
            f"{end} {values.get(end)} {sign} {bound}"
            for end, _, name, sign, bound in sides
            if values.get(name) == "true"
        )

    return measure.counting(kept, " OR ".join(broken), holds, wrong, aggregates)


_FOUND = "__penstock_found"
_OWN, _OTHERS = "__penstock_own", "__penstock_others"


def relationships(rule: rules.Relationships, kept: Restriction) -> Measure:
    """Hold when every row without NULL in the columns has a partner; NULL is nobody's partner.

    The rows are those that `with_partners` gives.
    """
    has_all = "".join(f"{quoted(each)} IS NOT NULL AND " for each in rule.columns)
    where = f"{rule.shown} ({', '.join(rule.fields)})"
    return measure.counting(
        kept,
        f"{has_all}NOT {_FOUND}",
        "every row has a partner",
        lambda found: f"{literals.counted(found.failures, 'row')} without a partner in {where}",
    )


def with_partners(rows: str, rule: rules.Relationships, view: str) -> str:
    """Return rows with a column more: whether the other table has a partner of the row.

    A name before a dot could be a column as well, so the two sides have names of our own.
    """
    same = " AND ".join(
        f"{_OTHERS}.{quoted(field)} = {_OWN}.{quoted(column)}"
        for column, field in zip(rule.columns, rule.fields, strict=True)
    )
    partner = f"EXISTS (SELECT 1 FROM {quoted(view)} AS {_OTHERS} WHERE {same})"
    return f"SELECT {_OWN}.*, {partner} AS {_FOUND} FROM (\n{rows}\n) AS {_OWN}"


def fields_of(rule: rules.Relationships, view: str) -> str:
    """Return the query of the columns that partners are looked up by."""
    return f"SELECT {', '.join(quoted(each) for each in rule.fields)} FROM {quoted(view)}"


def unlike(rule: rules.Relationships, columns: Schema, fields: Schema) -> str:
    """Say which columns cannot be compared: Spark would cast texts, and fail or find nothing."""
    for name, other in zip(rule.columns, fields.columns, strict=True):
        own = columns.find(name)
        kinds = [own.type if own else other.type, other.type]
        texts = [[literals.is_text(each) for each in scalars(parse_type(kind))] for kind in kinds]
        if texts[0] != texts[1]:
            types = " with ".join(kind.upper() for kind in kinds)
            return f'column "{name}": {types} is not compared'
    return ""


_FIRST = calendar.day_number(1) * calendar.DAY


def freshness(rule: rules.Freshness, kept: Restriction) -> Measure:
    """Hold when the newest value is at most so old; a value later than the reference has age 0.

    A DATE counts from its midnight UTC.
    """
    most = literals.micros_of(rule.max_age)

    def judge(found: GroupMeasures) -> GroupValue:
        newest = found.values.get("newest")
        if newest is None:
            return measure.failed("no values")
        instant = calendar.instant(newest)
        if instant is None:  # years after 9999 are no age, those before 1 are as old as 1
            instant = found.reference if newest.startswith("+") else _FIRST
        old = max(0, found.reference - instant)
        said = f"newest {newest}, age {literals.age(old, most)}"
        if old <= most:
            return measure.passed(said)
        return measure.failed(f"{said} > max {literals.age(most)}")

    value = kept.only(quoted(rule.column))
    return Measure({measure.ROWS: kept.rows, "newest": measure.text(f"max({value})")}, judge)


_PLAIN = re.compile(r"`([A-Za-z_]\w*)`")
_FIGURES = re.compile(rf"({measure.FIGURES})\s*\(", re.IGNORECASE)


def column_check(rule: rules.ColumnCheck, kept: Restriction, *, sample: bool) -> Measure:
    """Hold when the condition is true; NULL is not true.

    The aggregates in a condition of a group are measured, too; without `sample` only those that
    are figures, because others may hold what stands in a row.
    """
    condition = rule.condition
    if not condition.aggregates:
        return measure.counting(
            kept,
            f"NOT coalesce({measure.bracketed(condition.text)}, false)",
            "every row meets the condition",
            lambda found: (
                f"{literals.counted(found.failures, 'row')} "
                f"{'breaks' if found.failures == 1 else 'break'} the condition"
            ),
        )
    shown = {
        _PLAIN.sub(r"\1", each): measure.text(kept.call(each))
        for each in condition.aggregates
        if sample or _FIGURES.match(each)
    }

    def judge(found: GroupMeasures) -> GroupValue:
        met = found.values.get("condition")
        if met == "true":
            return measure.passed("condition is true")
        values = {each: found.values.get(each) for each in shown}
        written = ", ".join(f"{k} = {'NULL' if v is None else v}" for k, v in values.items())
        said = "condition is NULL (no rows?)" if met is None else "condition is false"
        return measure.failed(said, literals.shortened(written, literals.DETAILS) or None)

    whole = measure.bracketed(kept.condition(condition.text, condition.aggregates))
    return Measure({measure.ROWS: kept.rows, "condition": measure.text(whole), **shown}, judge)


def group_query(sql: str, group: str, columns: Schema | None) -> str:
    """Return the first rows of one group as texts; without columns no cell of a row."""
    if columns is None:
        return f"SELECT {literal(group)} AS {GROUP}, 1 AS c0 FROM (\n{sql}\n) LIMIT {ASKED}"
    names = ", ".join(places(len(columns.columns)))
    shown = ", ".join((f"{literal(group)} AS {GROUP}", *cells(columns)))
    return f"SELECT {shown} FROM (\n{sql}\n) AS t({names}) LIMIT {ASKED}"


def united(queries: Sequence[str]) -> str:
    """Return the rows of all queries."""
    return queries[0] if len(queries) == 1 else " UNION ALL ".join(f"({q})" for q in queries)


def count_query(sql: str, group: str) -> str:
    """Count all rows of one group."""
    return f"SELECT {literal(group)} AS {GROUP}, count(*) AS n FROM (\n{sql}\n)"


def verdict(rows: int, *, exact: bool = False) -> GroupValue:
    """Judge by the number of rows that came back; more than are kept are not `exact`."""
    if not rows:
        return measure.passed("no rows", failures=0)
    if rows > KEPT and not exact:
        return measure.failed(f"more than {KEPT} rows (expected 0)")
    return measure.failed(f"{literals.counted(rows, 'row')} (expected 0)", failures=rows)
