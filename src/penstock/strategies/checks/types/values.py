"""Types that restrict the values of columns."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from penstock.core.checks.check_type import (
    ROWS,
    CheckType,
    CountedRows,
    Empty,
    GroupMeasures,
    GroupValue,
    KeyKind,
    Measure,
    key,
)
from penstock.core.columns.schema import Column
from penstock.core.findings import some
from penstock.core.names import quoted
from penstock.core.partitions import calendar
from penstock.strategies.checks import literals, measure


@dataclass(frozen=True, slots=True)
class Unique(CheckType):
    """Passes if no two rows are equal in all columns; each row beyond the first fails.

    A row with NULL is never a duplicate, unless `nulls_equal`. `all_versions` also counts the
    closed versions of a history table.
    """

    columns: tuple[str, ...] = measure.COLUMNS()
    nulls_equal: bool = key(
        "nulls",
        KeyKind.CHOICE,
        "Of `unique`: whether rows with NULL count.",
        "equal",
        unset="`distinct`",
        choice=("distinct", "equal"),
    )
    all_versions: bool = key(
        "versions",
        KeyKind.CHOICE,
        "Of `unique` on history tables: `current` checks current versions only.",
        "all",
        unset="`current`",
        choice=("current", "all"),
    )

    name = "unique"
    compares = True
    has_failing = True
    is_observable = False
    reads_whole = True

    @property
    def is_of_current(self) -> bool:
        """Whether it excludes the closed versions of a history table."""
        return not self.all_versions

    def measure(self, rows: CountedRows) -> Measure:
        """Count complete rows and distinct ones."""
        first, *others = (quoted(each) for each in self.columns)
        breaks = f"{measure.COPIES} > 1"
        if self.nulls_equal:
            complete = rows.count_all
            # count(DISTINCT a, b) leaves rows with a NULL out; a struct of NULLs is a value
            keys = rows.only(f"struct({', '.join((first, *others))})")
        else:
            has_all = " AND ".join(f"{each} IS NOT NULL" for each in (first, *others))
            complete, breaks = rows.count(has_all), f"{has_all} AND {breaks}"
            keys = ", ".join((rows.only(first), *others))

        def judge(group: GroupMeasures) -> GroupValue:
            copies = group.count("complete") - group.count("keys")
            if not copies:
                return measure.passed("unique", failures=0)
            return measure.failed(literals.amount(copies, "duplicate row"), failures=copies)

        aggregates = {ROWS: rows.count_all, "complete": complete, "keys": f"count(DISTINCT {keys})"}
        return Measure(aggregates, judge, breaks, repeated=self.columns)


@dataclass(frozen=True, slots=True)
class NotNull(CheckType):
    """Passes if no value of the columns is NULL; a row with two NULLs fails once."""

    columns: tuple[str, ...] = measure.COLUMNS()

    name = "not_null"
    has_failing = True

    def measure(self, rows: CountedRows) -> Measure:
        """Count the rows with a NULL, and the NULLs of each column."""
        by_column = {f"nulls {each}": f"{quoted(each)} IS NULL" for each in self.columns}

        def wrong(group: GroupMeasures) -> str:
            counts = ((each, group.count(f"nulls {each}")) for each in self.columns)
            nulls = [(each, count) for each, count in counts if count]
            return ", ".join(
                f"{count if at else literals.amount(count, 'NULL')} in {each}"
                for at, (each, count) in enumerate(nulls)
            )

        nulls = {name: rows.count(condition) for name, condition in by_column.items()}
        return measure.counting(rows, " OR ".join(by_column.values()), "no NULL", wrong, nulls)


@dataclass(frozen=True, slots=True)
class AcceptedValues(CheckType):
    """Passes if every value is NULL or one of these texts, in the column's type."""

    column: str = measure.COLUMN()
    values: tuple[str, ...] = key(
        "values", KeyKind.VALUES, "Of `accepted_values`: what is allowed.", ("DE", "FR")
    )

    name = "accepted_values"
    compares = True
    has_failing = True
    lists_values = True

    @property
    def literals(self) -> tuple[str, ...]:
        """The values."""
        return self.values

    def measure(self, rows: CountedRows) -> Measure:
        """Count the rows with other values."""
        kind = rows.type_of(self.column)
        # a long list is a set of hashes to Spark
        value = literals.one_zero(quoted(self.column), kind)
        listed = ", ".join(literals.literal_of(each, kind) for each in self.values)
        return measure.counting(
            rows,
            f"NOT ({value} IN ({listed}))",
            "only accepted values",
            lambda group: f"{literals.amount(group.failures, 'row')} with other values",
        )


@dataclass(frozen=True, slots=True)
class ValueRange(CheckType):
    """Passes if every value is NULL or within the bounds, which are texts.

    Spark compares a bound in the column's type: NaN is greater than every number. `strict` excludes
    the bounds themselves.
    """

    column: str = measure.COLUMN()
    minimum: str | None = measure.LEAST(kind=KeyKind.VALUE)
    maximum: str | None = measure.MOST(kind=KeyKind.VALUE)
    strict: bool = key(
        "strict",
        KeyKind.FLAG,
        "Of `value_range`: the bounds themselves are not allowed.",
        example=True,
        unset="`false`",
    )

    name = "value_range"
    compares = True
    has_failing = True

    @property
    def literals(self) -> tuple[str, ...]:
        """The bounds."""
        return tuple(each for each in (self.minimum, self.maximum) if each is not None)

    def measure(self, rows: CountedRows) -> Measure:
        """Measure the least and the greatest value, and count the rows out of bounds."""
        column, kind = quoted(self.column), rows.type_of(self.column)
        low, high = ("<=", ">=") if self.strict else ("<", ">")
        value = rows.only(literals.one_zero(column, kind))
        sides = [
            (end, f"{end}({value})", name, sign, bound)
            for end, name, sign, bound in (
                ("min", "below", low, self.minimum),
                ("max", "above", high, self.maximum),
            )
        ]
        aggregates = {end: measure.text(sql) for end, sql, *_ in sides}
        broken = []
        for _, sql, name, sign, bound in sides:
            if bound is not None:
                written = literals.literal_of(bound, kind)
                aggregates[name] = measure.text(f"({sql} {sign} {written})")
                broken.append(f"{column} {sign} {written}")

        def holds(group: GroupMeasures) -> str:
            least, most = group.values.get("min"), group.values.get("max")
            return "no values" if least is None else f"range {least} to {most}"

        def wrong(group: GroupMeasures) -> str:
            values = group.values
            return ", ".join(
                f"{end} {values.get(end)} {sign} {bound}"
                for end, _, name, sign, bound in sides
                if values.get(name) == "true"
            )

        return measure.counting(rows, " OR ".join(broken), holds, wrong, aggregates)


@dataclass(frozen=True, slots=True)
class ColumnTypes(CheckType):
    """Passes if the rows have these columns with these types; other columns are allowed."""

    types: tuple[tuple[str, str], ...] = key(
        "types",
        KeyKind.TYPES,
        "Of `schema`: columns that must exist, with their types.",
        {"id": "BIGINT", "status": "STRING"},
    )

    name = "schema"
    counts_empty = True
    without_empty = "columns are compared, and not rows"

    def measure(self, rows: CountedRows) -> Measure:
        """Count the rows; what is compared are their columns."""
        wrong = [
            f'"{name}" is {actual.upper()}, not {kind.upper()}' if actual else f'no "{name}"'
            for name, kind in self.types
            if (actual := rows.type_of(name)) != kind
        ]

        def judge(_: GroupMeasures) -> GroupValue:
            if not wrong:
                return measure.passed(f"{literals.amount(len(self.types), 'column')} as declared")
            return measure.failed(some(wrong, _NAMED, "; "), "; ".join(wrong))

        return Measure({ROWS: rows.count_all}, judge)


_NAMED = 5
_FIRST = calendar.day_number(1) * calendar.DAY


@dataclass(frozen=True, slots=True)
class Freshness(CheckType):
    """Passes if the newest value is recent enough; `shown` is the age as written.

    A value later than the reference has age 0, and a DATE counts from its midnight UTC.
    """

    column: str = measure.COLUMN(kind=KeyKind.TIME)
    max_age: dt.timedelta = key(
        "max_age",
        KeyKind.AGE,
        "Of `freshness`: how old the newest value may be.",
        "36h",
        text_field="shown",
    )
    shown: str = ""

    name = "freshness"
    if_empty = Empty.FAIL

    def refusal_of(self, column: Column) -> str:
        """Return the reason for a column that is not a time."""
        if column.type in literals.TIMES:
            return ""
        return f'column "{self.column}" is {column.type.upper()}, no DATE or TIMESTAMP'

    def measure(self, rows: CountedRows) -> Measure:
        """Measure the newest value."""
        newest = measure.text(f"max({rows.only(quoted(self.column))})")
        return Measure({ROWS: rows.count_all, "newest": newest}, self._judge)

    def _judge(self, group: GroupMeasures) -> GroupValue:
        newest, most = group.values.get("newest"), literals.micros_of(self.max_age)
        if newest is None:
            return measure.failed("no values")
        instant = calendar.instant(newest)
        if instant is None:  # years after 9999 are no age, those before 1 are as old as 1
            instant = group.reference if newest.startswith("+") else _FIRST
        old = max(0, group.reference - instant)
        message = f"newest {newest}, age {literals.age(old, most)}"
        if old <= most:
            return measure.passed(message)
        return measure.failed(f"{message} > max {literals.age(most)}")


def aged(column: str, max_age: dt.timedelta) -> CheckType:
    """Return a source's freshness settings as a check."""
    return Freshness(column, max_age, literals.age(literals.micros_of(max_age)))
