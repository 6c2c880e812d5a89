"""Checks as values, for Python models: one constructor for each type.

>>> from penstock import checks
>>> checks.unique("id", severity="warning", where="status <> 'draft'").as_mapping()
{'type': 'unique', 'columns': ['id'], 'severity': 'warning', 'where': "status <> 'draft'"}

A value has the same content as a mapping in a YAML file, and the same reader reads it. A
constructor raises only `TypeError`, for unknown arguments. `penstock validate` reports errors in
values (an unknown column, swapped bounds, an invalid age) at the place of the model. In addition
to its own arguments, every constructor takes `CheckOptions`; all but `sql` take `RowCheckOptions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

Scalar = str | int | float | bool
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class CheckValue:
    """The keys and values of one check, in the order in which they were passed.

    Values compare and hash by their content, so that equal checks count as one.

    >>> row_count(min=1) == row_count(min=1), row_count(min=1) == row_count(min=2)
    (True, False)
    """

    written: tuple[tuple[str, object], ...]

    def as_mapping(self) -> dict[str, object]:
        """Return the mapping that a YAML file would contain: text, numbers, lists and mappings.

        >>> not_null("id", "email", tags=["pii"], meta={"owner": "crm"}).as_mapping()
        {'type': 'not_null', 'columns': ['id', 'email'], 'tags': ['pii'], 'meta': {'owner': 'crm'}}
        """
        return {key: _plain(value) for key, value in self.written}


class CheckOptions(TypedDict, total=False):
    """Options for checks of every type.

    `name` identifies the check in reports and in `--check`; the default is built from type and
    columns. A failed `error` (the default) is a gate: it stops or fails the step. A `warning` is
    only reported. `enabled=False` skips the check. With `sample=False` no cell of a row leaves
    Spark. `error_if` and `warn_if` set how many failing rows are too many, for example `"> 10"`.
    `store_failures` keeps at most `limit` of them in a table.
    """

    name: str
    severity: Severity
    description: str
    tags: Sequence[str]
    meta: Mapping[str, Scalar]
    enabled: bool
    sample: bool
    error_if: str
    warn_if: str
    store_failures: bool
    limit: int


class RowCheckOptions(CheckOptions, total=False):
    """Options for checks of every type but `sql`: which rows the check reads.

    `where` is an SQL condition that selects rows; NULL counts as false. `input` names one of the
    inputs before the step. `query` is SQL, or a path that ends in .sql; the check then reads its
    rows instead. `scope` is for checks after the step: its own rows (`step`, the default) or the
    whole `table`. `empty` overrides the type's rule for a group without rows. `mostly` is the share
    of rows that must pass, for example 0.95.
    """

    where: str
    input: str
    query: str
    scope: Literal["step", "table"]
    empty: Literal["pass", "fail"]
    mostly: float | str


def sql(sql: str, **options: Unpack[CheckOptions]) -> CheckValue:
    """Pass if a query returns no row. The query is SQL, or a path to a .sql file in the project.

    Tables are named as in a model; `{destination}` is the model's own table. The returned rows are
    the failing rows: at most five are kept as a sample.

    >>> sql("checks/no_negative.sql", name="no_negative").as_mapping()
    {'type': 'sql', 'sql': 'checks/no_negative.sql', 'name': 'no_negative'}
    """
    return _check("sql", options, sql=sql)


def row_count(
    *,
    min: int | None = None,  # noqa: A002  the word users know
    max: int | None = None,  # noqa: A002  the word users know
    **options: Unpack[RowCheckOptions],
) -> CheckValue:
    """Pass if a group has at least `min` and at most `max` rows; an empty group has 0.

    A group is a partition of the step, or the whole table of a model without partitions.

    >>> row_count(min=1).as_mapping()
    {'type': 'row_count', 'min': 1}
    """
    return _check("row_count", options, min=min, max=max)


def column_check(column: str, check: str, **options: Unpack[RowCheckOptions]) -> CheckValue:
    """Pass if an SQL condition is true. `{column}` in it stands for the column.

    A condition with an aggregate applies to each group. Any other condition applies to each row,
    and rows for which it is false or NULL are counted as failing.

    >>> column_check("amount", "sum({column}) > 0").as_mapping()
    {'type': 'column_check', 'column': 'amount', 'check': 'sum({column}) > 0'}
    """
    return _check("column_check", options, column=column, check=check)


def null_percentage(
    column: str, *, max_percentage: float | str, **options: Unpack[RowCheckOptions]
) -> CheckValue:
    """Pass if at most `max_percentage` percent (0 to 100) of the values are NULL.

    The comparison is exact, without rounding: write a bound with many digits as text.

    >>> null_percentage("email", max_percentage=2.5).as_mapping()
    {'type': 'null_percentage', 'column': 'email', 'max_percentage': 2.5}
    """
    return _check("null_percentage", options, column=column, max_percentage=max_percentage)


def distinct_count(
    *columns: str,
    min: int | None = None,  # noqa: A002  the word users know
    max: int | None = None,  # noqa: A002  the word users know
    **options: Unpack[RowCheckOptions],
) -> CheckValue:
    """Pass if the columns together have at least `min` and at most `max` distinct values.

    A row with NULL in any of the columns does not count.

    >>> distinct_count("country", min=2, max=200).as_mapping()
    {'type': 'distinct_count', 'columns': ['country'], 'min': 2, 'max': 200}
    """
    return _check("distinct_count", options, columns=columns, min=min, max=max)


def value_range(
    column: str,
    *,
    min: Scalar | None = None,  # noqa: A002  the word users know
    max: Scalar | None = None,  # noqa: A002  the word users know
    strict: bool | None = None,
    **options: Unpack[RowCheckOptions],
) -> CheckValue:
    """Pass if every value is between the bounds. Bounds are inclusive unless `strict`.

    A bound is compared in the column's type: write dates and decimals as text. NULL is ignored; NaN
    is greater than every number.

    >>> value_range("amount", min="0.00", max="9999.99").as_mapping()
    {'type': 'value_range', 'column': 'amount', 'min': '0.00', 'max': '9999.99'}
    """
    return _check("value_range", options, column=column, min=min, max=max, strict=strict)


def unique(
    *columns: str,
    nulls: Literal["distinct", "equal"] | None = None,
    versions: Literal["current", "all"] | None = None,
    **options: Unpack[RowCheckOptions],
) -> CheckValue:
    """Pass if no two rows are equal in all columns; each row beyond the first counts as failing.

    A row with NULL is never a duplicate, unless `nulls="equal"`. In a history table only current
    versions are checked, unless `versions="all"`.

    >>> unique("id").as_mapping()
    {'type': 'unique', 'columns': ['id']}
    """
    return _check("unique", options, columns=columns, nulls=nulls, versions=versions)


def not_null(*columns: str, **options: Unpack[RowCheckOptions]) -> CheckValue:
    """Pass if no value of the columns is NULL; a row with two NULLs counts as one failing row.

    >>> not_null("id").as_mapping()
    {'type': 'not_null', 'columns': ['id']}
    """
    return _check("not_null", options, columns=columns)


def accepted_values(
    column: str, values: Sequence[Scalar], **options: Unpack[RowCheckOptions]
) -> CheckValue:
    """Pass if every value is NULL or one of `values`, compared in the column's type.

    >>> accepted_values("status", ["open", "paid"]).as_mapping()
    {'type': 'accepted_values', 'column': 'status', 'values': ['open', 'paid']}
    """
    return _check("accepted_values", options, column=column, values=tuple(values))


def relationships(
    columns: str | Sequence[str],
    *,
    to: str,
    fields: str | Sequence[str],
    **options: Unpack[RowCheckOptions],
) -> CheckValue:
    """Pass if every row's values exist in the fields of another model or source.

    Columns and fields are paired by position. A row with NULL needs no match.

    >>> relationships("user_id", to="staging.users", fields="id").as_mapping()
    {'type': 'relationships', 'columns': ['user_id'], 'to': 'staging.users', 'fields': ['id']}
    """
    return _check("relationships", options, columns=_listed(columns), to=to, fields=_listed(fields))


def freshness(column: str, *, max_age: str, **options: Unpack[RowCheckOptions]) -> CheckValue:
    """Pass if the newest DATE or TIMESTAMP is at most `max_age` old: `90m`, `36h`, `2 days`.

    Ages are measured in UTC from the run timestamp; for an earlier partition, from its end. A DATE
    counts from its midnight. A group without rows, or without a value, fails.

    >>> freshness("updated_at", max_age="36h").as_mapping()
    {'type': 'freshness', 'column': 'updated_at', 'max_age': '36h'}
    """
    return _check("freshness", options, column=column, max_age=max_age)


def row_count_change(
    *,
    max_increase_percent: float | str | None = None,
    max_decrease_percent: float | str | None = None,
    max_percent: float | str | None = None,
    last: int | None = None,
    **options: Unpack[RowCheckOptions],
) -> CheckValue:
    """Pass if the number of rows changed by at most the given percentage.

    The base is the last success or, with `last`, the mean of that many successes. Flagged successes
    do not count, and without a base the check is skipped. Growth from zero counts as infinite.
    `max_percent` bounds both directions.

    >>> row_count_change(max_decrease_percent=50, last=7).as_mapping()
    {'type': 'row_count_change', 'max_decrease_percent': 50, 'compare': 'trailing', 'last': 7}
    """
    return _check(
        "row_count_change",
        options,
        max_increase_percent=max_increase_percent,
        max_decrease_percent=max_decrease_percent,
        max_percent=max_percent,
        compare="trailing" if last is not None else None,
        last=last,
    )


class HistoryOptions(RowCheckOptions, total=False):
    """Options for `anomaly`: which of its earlier values count.

    `last` is their number; with fewer than `min_history` the check passes. `by="weekday"` compares
    Mondays with Mondays.
    """

    last: int
    min_history: int
    by: Literal["all", "weekday"]


def anomaly(
    *,
    measure: str | None = None,
    sensitivity: float | str | None = None,
    min_spread: float | str | None = None,
    **options: Unpack[HistoryOptions],
) -> CheckValue:
    """Pass if the number of rows, or a `measure`, is close to its own earlier values.

    Close is at most `sensitivity` spreads from the median of the `last` values: for a partition
    those of the nearest ones, otherwise those of the newest steps. `min_spread` is the least
    spread.

    >>> anomaly(measure="sum(amount)", by="weekday").as_mapping()
    {'type': 'anomaly', 'measure': 'sum(amount)', 'by': 'weekday'}
    """
    return _check(
        "anomaly",
        options,
        measure=measure,
        sensitivity=sensitivity,
        min_spread=min_spread,
    )


def schema(types: Mapping[str, str], **options: Unpack[RowCheckOptions]) -> CheckValue:
    """Pass if the rows have these columns with these types; other columns are allowed.

    >>> schema({"id": "BIGINT", "status": "STRING"}).as_mapping()
    {'type': 'schema', 'types': {'id': 'BIGINT', 'status': 'STRING'}}
    """
    return _check("schema", options, types=types)


def _check(kind: str, options: Mapping[str, object], **own: object) -> CheckValue:
    written = {"type": kind, **own, **options}
    given = ((key, _frozen(value)) for key, value in written.items() if value is not None)
    return CheckValue(tuple(given))


def _listed(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True, slots=True)
class _Pairs:
    items: tuple[tuple[str, object], ...]


def _frozen(value: object) -> object:
    if isinstance(value, Mapping):
        return _Pairs(tuple((key, _frozen(inner)) for key, inner in value.items()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(map(_frozen, value))
    return value


def _plain(value: object) -> object:
    if isinstance(value, _Pairs):
        return {key: _plain(inner) for key, inner in value.items}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
