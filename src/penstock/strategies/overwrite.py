"""The strategy `overwrite`: the rows of a window replace those of the table in its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue, is_watermark_type
from penstock.core.errors import IncrementalConfigError
from penstock.core.model import Model
from penstock.core.names import literal, quoted
from penstock.core.statement import Work
from penstock.core.steps.window import Bound, InputWindow
from penstock.core.strategy import (
    STORED,
    WINDOWED,
    Build,
    GivenSettings,
    Layout,
    Strategy,
    WindowSettings,
    Writing,
)
from penstock.strategies.build import raise_sql, replace_range
from penstock.strategies.relations import OWN_VIEW


@dataclass(frozen=True, slots=True)
class OverwriteRange(Strategy):
    """A range of the time column is replaced by the rows that the function returns for it.

    The range is the one window of all inputs, so no partition is half lost, and a unit that became
    empty is cleared.
    """

    window: WindowSettings = field()

    name = "overwrite"
    is_written = False
    settings = STORED | WINDOWED
    writing = Writing.MERGED
    keeps_rows = True
    takes_feed = True
    is_incremental = True
    rerun_is_safe = True
    dbt = ("incremental", "insert_overwrite")

    @classmethod
    def read(cls, settings: GivenSettings) -> Self:
        """Read its window."""
        window = settings.window()
        return cls(window or WindowSettings(""))

    def fingerprint(self, layout: Layout) -> Mapping[str, object]:
        """Return the window, which determines the rows that are read and replaced."""
        del layout
        return {"window": self.window.fingerprint}

    def work(self, build: Build) -> Work:
        """Replace the rows in the window's range by those of the function, in one commit."""
        return replace_range(build)


def range_condition(model: Model, table: Schema | None, windows: Sequence[InputWindow]) -> str:
    """Return the condition for rows in the range of the windows; "" without windows."""
    settings = model.strategy.window
    column = table.find(settings.time_column) if settings and table else None
    return _in_windows(quoted(column.name), column.type, windows) if column else ""


def _in_windows(column: str, kind: str, windows: Sequence[InputWindow]) -> str:
    """Return the condition for values in the range of some windows, in the column's type."""
    lows = [_in_type(each.window.lower, kind, upper=False) for each in windows]
    highs = [_in_type(each.window.upper, kind, upper=True) for each in windows]
    terms = []
    if lows and None not in lows:
        low = min((each for each in lows if each), key=lambda each: each.value)
        terms.append(f"{column} {'>=' if low.inclusive else '>'} {low.value.sql}")
    if high := max((each for each in highs if each), key=lambda each: each.value, default=None):
        terms.append(f"{column} {'<=' if high.inclusive else '<'} {high.value.sql}")
    return " AND ".join(terms) or "true"


def _in_type(bound: Bound | None, kind: str, *, upper: bool) -> Bound | None:
    """Return an end of a window in the type of a column: a day as its range of times."""
    value = bound.value if bound else None
    if bound is None or value is None or not value.is_temporal or value.type == kind.upper():
        return bound
    if kind == "date":
        return replace(bound, value=TypedValue.parse("DATE", value.text))
    if value.type != "DATE":
        return replace(bound, value=TypedValue.parse(kind, str(value.key)))
    day = value.minus(-1) if bound.inclusive == upper else value
    return Bound(TypedValue.parse(kind, day.text), inclusive=not upper)


def checked_rows(model: Model, query: Schema, windows: Sequence[InputWindow]) -> str:
    """Return SQL for a function's rows; a row outside the windows fails the write.

    The check is an expression in the written columns and needs no extra pass.
    """
    settings = model.strategy.window
    found = query.find(settings.time_column) if settings else None
    if found is None:
        raise _missing_column(model, query, "time_column", settings.time_column if settings else "")
    column = quoted(found.name)
    inside = _in_windows(column, found.type, windows)
    if any(each.window.nulls for each in windows):
        inside = f"({inside} OR {column} IS NULL)"
    shown = f"coalesce(CAST({column} AS STRING), 'NULL')"
    said = literal(f"{model.name!r} made a row of {found.name} ")
    around = literal(f", outside of {', '.join(str(each.window) for each in windows)}")
    failed = raise_sql("rows-outside-window", f"{said}, {shown}, {around}")
    time = f"CASE WHEN {inside} THEN {column} ELSE {failed} END"
    columns = (
        _required(model, each, time if each == found.name else quoted(each)) for each in query.names
    )
    return f"SELECT {', '.join(columns)} FROM {quoted(OWN_VIEW)}"


def contract_rows(model: Model, query: Schema) -> str:
    """Return SQL for a function's rows in the order of its declared columns, found by name.

    NULL in a column that is NOT NULL fails the write; the check needs no extra pass.
    """
    wanted = [each for each in model.contract.columns if query.find(each.name) is not None]
    more = [each for each in query.columns if model.contract.find(each.name) is None]
    columns = (_required(model, each.name, quoted(each.name)) for each in (*wanted, *more))
    return f"SELECT {', '.join(columns)} FROM {quoted(OWN_VIEW)}"


def _required(model: Model, name: str, value: str) -> str:
    """Return the value of a column; SQL that fails for NULL, if it is declared as NOT NULL."""
    wanted = model.contract.find(name)
    if wanted is not None and not wanted.nullable:
        said = f"column {wanted.name!r} of {model.name!r} is NOT NULL, and NULL in a row"
        failed = raise_sql("null-in-required-column", literal(said))
        value = f"CASE WHEN {value} IS NULL THEN {failed} ELSE {value} END"
    return value if value == quoted(name) else f"{value} AS {quoted(name)}"


def check_output(model: Model, query: Schema) -> None:
    """Check the columns that a function returns against those that its options name.

    Raises `time-column-missing`, `time-column-type`, `partition-column-missing`,
    `key-column-missing`, or `no-date-partition`.
    """
    settings, by = model.strategy.window, model.layout.partition_by
    named = [("partition", "partition_by", each) for each in by]
    named += [("key", "unique_key", each) for each in model.strategy.keys]
    if settings is not None:
        named.insert(0, ("time", "time_column", settings.time_column))
    for word, option, name in named:
        if query.find(name) is None:
            raise _missing_column(model, query, option, name, f"{word}-column-missing")
    if settings is not None:
        _check_time(model, query, settings)


def _check_time(model: Model, query: Schema, settings: WindowSettings) -> None:
    time, by = query.find(settings.time_column), model.layout.partition_by
    kind = time.type if time else ""
    if not is_watermark_type(kind) or (kind == "string" and not settings.string_watermark):
        raise IncrementalConfigError(
            "time-column-type",
            f"time_column {settings.time_column!r} of {model.name!r} must be a date, timestamp, "
            f"integer or decimal; it is {kind.upper()}",
            where=model.where,
            hint=f"cast it with F.to_timestamp({settings.time_column!r}), or pass "
            "string_watermark=True if its values sort as text",
        )
    known = [column for name in by if (column := query.find(name)) is not None]
    if by and kind.startswith(("date", "time")) and all(each.type != "date" for each in known):
        shown = ", ".join(f"{each.name} {each.type.upper()}" for each in known)
        more = ", ".join(repr(name) for name in (*by, "date"))
        raise IncrementalConfigError(
            "no-date-partition",
            f"{model.name!r} requires at least one DATE column in partition_by; it has {shown}",
            where=model.where,
            hint=f"add F.to_date({settings.time_column!r}).alias('date') and partition_by=[{more}]",
        )


def _missing_column(
    model: Model, query: Schema, option: str, name: str, code: str = "time-column-missing"
) -> IncrementalConfigError:
    return IncrementalConfigError(
        code,
        f"{option} {name!r} is not in the output of {model.name!r}",
        where=model.where,
        hint=f"available columns: {', '.join(query.names)}",
    )
