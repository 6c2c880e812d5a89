"""Checks as values, for Python models: one constructor for each type.

>>> from penstock import checks
>>> checks.unique("id", severity="warning", where="status <> 'draft'").as_mapping()
{'type': 'unique', 'columns': ['id'], 'severity': 'warning', 'where': "status <> 'draft'"}

A value says what the mapping of a YAML file would say, and is read by the same reader: a
constructor raises nothing but `TypeError` for arguments that it does not have. What is wrong with
a value (an unknown column, bounds the wrong way round, an age that cannot be read) is a finding of
`penstock validate`, with the place of the model. Every constructor takes, beside its own arguments,
`CheckOptions`; every one but `sql` takes `RowCheckOptions` too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

Scalar = str | int | float | bool
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class CheckValue:
    """What is written of one check: keys and values, in the order in which they were given.

    Values compare and hash by what was written, so that equal checks are one.

    >>> row_count(min=1) == row_count(min=1), row_count(min=1) == row_count(min=2)
    (True, False)
    """

    written: tuple[tuple[str, object], ...]

    def as_mapping(self) -> dict[str, object]:
        """Give the mapping that a YAML file would hold: text, numbers, lists and mappings.

        >>> not_null("id", "email", tags=["pii"], meta={"owner": "crm"}).as_mapping()
        {'type': 'not_null', 'columns': ['id', 'email'], 'tags': ['pii'], 'meta': {'owner': 'crm'}}
        """
        return {key: _plain(value) for key, value in self.written}


class CheckOptions(TypedDict, total=False):
    """What may be said of a check of every type.

    `name` is what reports and `--check` call it, by default made from type and columns. A failed
    `error` (the default) is a gate: it stops or fails the step; a `warning` is reported. `enabled`
    False leaves it out. With `sample` False no cell of a row leaves Spark. `error_if` and `warn_if`
    say how many failing rows are too many, `"> 10"`; `store_failures` keeps at most `limit` of them
    in a table.
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
    """What may be said of a check of every type but `sql`: which rows it looks at.

    `where` is an SQL condition of the rows that count; NULL is not true. `input` names one of the
    inputs before the step, `query` is SQL, or a path that ends in .sql, whose rows are looked at
    instead. `scope` is about checks after the step: its own rows (`step`, the default) or the whole
    `table`. `empty` says what no rows mean, where the type's own rule should not hold. `mostly` is
    the share of rows that must hold, 0.95.
    """

    where: str
    input: str
    query: str
    scope: Literal["step", "table"]
    empty: Literal["pass", "fail"]
    mostly: float | str


def sql(sql: str, **options: Unpack[CheckOptions]) -> CheckValue:
    """Hold when a query gives no row; SQL, or a path that ends in .sql, seen from the project.

    Tables are named as in a model, the model's own as `{destination}`. The rows that come back are
    those that break it: at most five are kept as a sample.

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
    """Hold when a group has at least `min` and at most `max` rows; no rows are 0.

    A group is a partition of the step, or the whole table of a model without partitions.

    >>> row_count(min=1).as_mapping()
    {'type': 'row_count', 'min': 1}
    """
    return _check("row_count", options, min=min, max=max)


def column_check(column: str, check: str, **options: Unpack[RowCheckOptions]) -> CheckValue:
    """Hold when an SQL condition is true; `{column}` in it is the column, NULL is not true.

    With an aggregate it is a condition of a group, else one of every row; the rows for which it is
    false or NULL are counted.

    >>> column_check("amount", "sum({column}) > 0").as_mapping()
    {'type': 'column_check', 'column': 'amount', 'check': 'sum({column}) > 0'}
    """
    return _check("column_check", options, column=column, check=check)


def null_percentage(
    column: str, *, max_percentage: float | str, **options: Unpack[RowCheckOptions]
) -> CheckValue:
    """Hold when at most so many percent, 0 to 100, of the values are NULL.

    Exact, nothing is rounded: write a bound with many digits as text.

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
    """Hold when the columns together have at least `min` and at most `max` different values.

    A row with a NULL in one of them has none.

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
    """Hold when every value lies within the bounds, which belong to the range unless `strict`.

    A bound is compared in the column's type: dates and decimals are best written as text. NULL is
    no value; NaN is greater than every number.

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
    """Hold when no two rows agree in all columns; every row beyond the first of its kind counts.

    A row with a NULL repeats nothing, unless `nulls="equal"`. Of a history table the current
    versions are looked at, unless `versions="all"`.

    >>> unique("id").as_mapping()
    {'type': 'unique', 'columns': ['id']}
    """
    return _check("unique", options, columns=columns, nulls=nulls, versions=versions)


def not_null(*columns: str, **options: Unpack[RowCheckOptions]) -> CheckValue:
    """Hold when no value of the columns is NULL; a row with two of them breaks it once.

    >>> not_null("id").as_mapping()
    {'type': 'not_null', 'columns': ['id']}
    """
    return _check("not_null", options, columns=columns)


def accepted_values(
    column: str, values: Sequence[Scalar], **options: Unpack[RowCheckOptions]
) -> CheckValue:
    """Hold when every value that is not NULL is one of these, compared in the column's type.

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
    """Hold when every row finds its values in the fields of another model or source.

    Columns and fields belong together in their order. A row with a NULL needs no partner.

    >>> relationships("user_id", to="staging.users", fields="id").as_mapping()
    {'type': 'relationships', 'columns': ['user_id'], 'to': 'staging.users', 'fields': ['id']}
    """
    return _check("relationships", options, columns=_listed(columns), to=to, fields=_listed(fields))


def freshness(column: str, *, max_age: str, **options: Unpack[RowCheckOptions]) -> CheckValue:
    """Hold when the newest value of a DATE or TIMESTAMP is at most so old: `90m`, `36h`, `2 days`.

    Ages are told from the run timestamp, of an earlier partition from its end, in UTC; a DATE
    counts from its midnight. No rows, or none with a value, fail.

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
    """Hold when the number of rows changed by at most so many percent.

    The base is the last success, or with `last` the mean of so many before it; flagged ones do not
    count, and without one the check is skipped. From nothing to something is an infinite increase.
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
