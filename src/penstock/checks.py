"""Checks as values, for Python models: one constructor for each type (spec/checks.md §8.3).

    from penstock import checks

    checks.row_count(min=1)
    checks.unique("id", severity="warning")
    checks.sql("checks/no_negative.sql")

A value says what the mapping of a YAML file would say, and is read by the same reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

Scalar = str | int | float | bool
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class CheckValue:
    """What is written of one check: keys and values, in the order in which they were given."""

    written: tuple[tuple[str, object], ...]

    def as_mapping(self) -> dict[str, object]:
        """Give the mapping that a YAML file would hold."""
        return {key: _plain(value) for key, value in self.written}


class CheckOptions(TypedDict, total=False):
    """What may be said of a check of every type."""

    name: str
    severity: Severity
    description: str
    tags: Sequence[str]
    meta: Mapping[str, Scalar]
    enabled: bool
    sample: bool


class RowCheckOptions(CheckOptions, total=False):
    """What may be said of a check of every type but `sql`: which rows it looks at."""

    where: str
    input: str
    query: str
    scope: Literal["step", "table"]
    empty: Literal["pass", "fail"]


def sql(sql: str, **said: Unpack[CheckOptions]) -> CheckValue:
    """Hold when a query gives no row; SQL, or a path that ends in .sql."""
    return _check("sql", said, sql=sql)


def row_count(
    *,
    min: int | None = None,  # noqa: A002  the word users know
    max: int | None = None,  # noqa: A002  the word users know
    **said: Unpack[RowCheckOptions],
) -> CheckValue:
    """Hold when there are so many rows.

    >>> row_count(min=1).as_mapping()
    {'type': 'row_count', 'min': 1}
    """
    return _check("row_count", said, min=min, max=max)


def column_check(column: str, check: str, **said: Unpack[RowCheckOptions]) -> CheckValue:
    """Hold when a condition is true; `{column}` in it is the column."""
    return _check("column_check", said, column=column, check=check)


def null_percentage(
    column: str, *, max_percentage: float | str, **said: Unpack[RowCheckOptions]
) -> CheckValue:
    """Hold when at most so many percent of the values are NULL."""
    return _check("null_percentage", said, column=column, max_percentage=max_percentage)


def distinct_count(
    *columns: str,
    min: int | None = None,  # noqa: A002  the word users know
    max: int | None = None,  # noqa: A002  the word users know
    **said: Unpack[RowCheckOptions],
) -> CheckValue:
    """Hold when the columns have so many different values."""
    return _check("distinct_count", said, columns=columns, min=min, max=max)


def value_range(
    column: str,
    *,
    min: Scalar | None = None,  # noqa: A002  the word users know
    max: Scalar | None = None,  # noqa: A002  the word users know
    strict: bool | None = None,
    **said: Unpack[RowCheckOptions],
) -> CheckValue:
    """Hold when every value lies within the bounds."""
    return _check("value_range", said, column=column, min=min, max=max, strict=strict)


def unique(
    *columns: str,
    nulls: Literal["distinct", "equal"] | None = None,
    versions: Literal["current", "all"] | None = None,
    **said: Unpack[RowCheckOptions],
) -> CheckValue:
    """Hold when no two rows agree in all columns.

    >>> unique("id").as_mapping()
    {'type': 'unique', 'columns': ['id']}
    """
    return _check("unique", said, columns=columns, nulls=nulls, versions=versions)


def not_null(*columns: str, **said: Unpack[RowCheckOptions]) -> CheckValue:
    """Hold when no value of the columns is NULL."""
    return _check("not_null", said, columns=columns)


def accepted_values(
    column: str, values: Sequence[Scalar], **said: Unpack[RowCheckOptions]
) -> CheckValue:
    """Hold when every value is one of these."""
    return _check("accepted_values", said, column=column, values=tuple(values))


def relationships(
    columns: str | Sequence[str],
    *,
    to: str,
    fields: str | Sequence[str],
    **said: Unpack[RowCheckOptions],
) -> CheckValue:
    """Hold when every row finds its values in the fields of another model or source."""
    return _check("relationships", said, columns=_listed(columns), to=to, fields=_listed(fields))


def freshness(column: str, *, max_age: str, **said: Unpack[RowCheckOptions]) -> CheckValue:
    """Hold when the newest value is at most so old: `90m`, `36h`, `2 days`."""
    return _check("freshness", said, column=column, max_age=max_age)


def row_count_change(
    *,
    max_increase_percent: float | str | None = None,
    max_decrease_percent: float | str | None = None,
    max_percent: float | str | None = None,
    last: int | None = None,
    **said: Unpack[RowCheckOptions],
) -> CheckValue:
    """Hold when the number of rows changed by at most so many percent.

    The base is the last success, or with `last` the mean of so many before it.
    """
    return _check(
        "row_count_change",
        said,
        max_increase_percent=max_increase_percent,
        max_decrease_percent=max_decrease_percent,
        max_percent=max_percent,
        compare="trailing" if last is not None else None,
        last=last,
    )


def _check(kind: str, said: Mapping[str, object], **own: object) -> CheckValue:
    written = {"type": kind, **own, **said}
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
