"""The port of check types: the questions that other rooms ask, and the values of the answers.

A type defines a condition on rows. Each is one class under `strategies/checks/types/`: a frozen
dataclass of the user's arguments that answers the questions below. Other code never asks which type
it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import Enum, StrEnum
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar

from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import has_map, parse_type, scalars
from penstock.core.findings import Severity
from penstock.core.names import InputName
from penstock.core.query import Query

ROWS = "rows"
FAILURES = "failures"


class Empty(StrEnum):
    """The result of a check without rows."""

    PASS = "pass"  # noqa: S105  no password
    FAIL = "fail"


class CheckStatus(StrEnum):
    """The status of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Condition:
    """A boolean SQL condition on one row or on a group of rows."""

    text: str
    """Columns have the user's names, `{column}` is already replaced; parameters are tokens
    (`core/query.py`).
    """
    aggregates: tuple[str, ...] = ()
    """The aggregate calls in it, as written, each once: with any, it is a condition of a group."""
    observable: bool = True
    """Whether Spark can compute it while rows are written: no DISTINCT, FILTER or subquery."""


@dataclass(frozen=True, slots=True)
class GroupValue:
    """The measured values of one group: a partition key, or `*`.

    `values` are canonical texts by name, None for NULL. `message` and `details` are about this
    group. `severity` is that of its failure; None uses the check's.
    """

    group: str
    status: CheckStatus
    values: Mapping[str, str | None] = field(default_factory=dict)
    message: str = ""
    details: str | None = None
    failures: int | None = None
    severity: Severity | None = None


Values = Mapping[str, str | None]
"""Measured values as canonical texts, by name; None is NULL."""


@dataclass(frozen=True, slots=True)
class GroupMeasures:
    """The values of one group, and what a verdict needs beside them."""

    values: Values
    reference: int = 0
    """The time from which ages are measured, in microseconds since 1970."""
    before: Fraction | None = None
    """The earlier number of rows, None if unknown."""
    adds: bool = False
    """Whether the rows are those of a step that adds to existing rows."""
    earlier: tuple[float, ...] = ()
    """The earlier values of the same check, nearest first."""

    def count(self, name: str) -> int:
        """Return a count, 0 if nothing was counted."""
        return int(self.values.get(name) or 0)

    @property
    def rows(self) -> int:
        """The number of rows that count."""
        return self.count(ROWS)

    @property
    def failures(self) -> int:
        """The number of rows that fail."""
        return self.count(FAILURES)


@dataclass(frozen=True, slots=True)
class Measure:
    """Aggregates by name, and the function that evaluates their values.

    Counts are whole numbers, all other values are cast to STRING. `ROWS` is always among them.
    """

    aggregates: Mapping[str, str]
    judge: Callable[[GroupMeasures], GroupValue]
    breaks: str = ""
    """SQL that is true for a failing row, "" if rows are not counted."""
    repeated: tuple[str, ...] = ()
    """Columns whose repeated values are counted, in a column that `breaks` names."""
    empty: Values = field(default_factory=dict)
    """The values of a group without rows, in addition to 0 rows."""
    spare: bool = False
    """Whether the count of failures matters only if the check fails."""

    @property
    def needed(self) -> Mapping[str, str]:
        """The aggregates that are required to evaluate the check."""
        left_out = FAILURES if self.spare else ""
        return {name: sql for name, sql in self.aggregates.items() if name != left_out}


class CountedRows(Protocol):
    """A port: SQL over the rows that a check counts, written by the strategies."""

    @property
    def sample(self) -> bool:
        """Whether measured values may contain values of rows."""
        ...

    @property
    def count_all(self) -> str:
        """The SQL that counts them."""
        ...

    def count(self, condition: str) -> str:
        """Return SQL that counts those for which a condition is also true."""
        ...

    def only(self, value: str) -> str:
        """Return SQL that is a value for rows that count, and NULL for all others."""
        ...

    def call(self, aggregate: str) -> str:
        """Return a user's aggregate call over the rows that count."""
        ...

    def condition(self, text: str, aggregates: tuple[str, ...]) -> str:
        """Return a condition of a group with every aggregate over the rows that count."""
        ...

    def type_of(self, name: str) -> str:
        """Return the Spark type of a column, "" if it does not exist."""
        ...


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows of another table that a type looks up for each row."""

    fields: str
    """The query of the lookup columns."""
    rows: Callable[[str], str]
    """Adds the result of the lookup to a query of rows."""
    misfit: Callable[[Schema, Schema], str]
    """Returns why columns of the rows and the fields cannot be compared, "" if they can."""


@dataclass(frozen=True, slots=True)
class OwnHistory:
    """Which of its own earlier values a check compares with: how many, and of which days."""

    last: int
    same_weekday: bool = False


class KeyKind(Enum):
    """The kind of value of a key; the project reads and checks it before the type is created.

    A query, a table and an age have two fields: the value and its text for display.
    """

    COLUMN = "a column of the rows"
    TIME = "a column of dates or timestamps"
    COLUMNS = "columns of the rows"
    FIELDS = "columns of the table"
    COUNT = "a whole number from 0"
    NATURAL = "a whole number from 1"
    VALUE = "a value of the column, as text"
    VALUES = "values of the column, as texts"
    PERCENT = "a percentage up to 100"
    CHANGE = "a percentage without an end"
    FLAG = "true or false"
    CHOICE = "one of two words: whether it is the second"
    AGE = "a length of time"
    POSITIVE = "a number above 0"
    TYPES = "columns with their types"
    CONDITION = "SQL that is true or not"
    MEASURE = "SQL that is a number of the group"
    QUERY = "SQL, or a file of it"
    TABLE = "a model or source"


@dataclass(frozen=True, slots=True)
class CheckKey:
    """One key of a check type, for reading, documentation and editors."""

    name: str
    kind: KeyKind
    says: str
    example: str | int | bool | tuple[str, ...] | Mapping[str, str]
    unset: str | None = "none"
    """The default for documentation; None if the key is required."""
    text_field: str = ""
    """The field with the text for display."""
    choice: tuple[str, ...] = ()
    alias: str = ""

    @property
    def default(self) -> bool | None:
        """The default of its field, if the key is optional."""
        return False if self.kind in (KeyKind.FLAG, KeyKind.CHOICE) else None


def key(*args: Any, **more: Any) -> Any:  # noqa: ANN401  a field
    """Return a field that a key sets; the key is required unless `unset` describes a default."""
    own = CheckKey(*args, **{"unset": None, **more})
    return field(default=MISSING if own.unset is None else own.default, metadata={"key": own})


class GivenKeys(Protocol):
    """The keys of one check as written; invalid values become findings."""

    def find(self, key: str) -> object | None:
        """Return the converted value of a key, if it is given."""

    def text(self, key: str) -> str:
        """Return a text, "" if it is not given."""
        ...

    def bad(self, key: str, expected: str, hint: str = "") -> None:
        """Report that a value is invalid."""

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Report an error at the place of a value."""


class CheckType:
    """A condition on rows: one type of check with a user's arguments.

    Its fields determine the result: conditions, queries and table names among them are found by
    their types. A field `column`, or `columns`, holds the checked columns.
    """

    __slots__ = ()
    name: ClassVar[str] = ""
    """Its word in files."""
    other_keys: ClassVar[tuple[CheckKey, ...]] = ()
    """Its keys that are not fields, beside those of every check."""
    for_people: ClassVar[frozenset[str]] = frozenset({"shown", "source"})
    """Fields for display only: they do not affect the result."""
    takes_rows: ClassVar[bool] = True
    """Whether the user chooses its rows; otherwise its own query returns the failing rows."""
    only_after: ClassVar[bool] = False
    """Whether it compares written rows, so that it cannot be used under `before`."""
    is_observable: ClassVar[bool] = True
    """Whether Spark can compute it while rows are written."""
    is_alone: ClassVar[bool] = False
    """Whether it needs a separate query."""
    counts_empty: ClassVar[bool] = False
    """Whether an empty group counts as the number 0."""
    if_empty: ClassVar[Empty] = Empty.PASS
    """The result without rows unless the user sets it."""
    without_empty: ClassVar[str] = ""
    """Why a user cannot set the result without rows."""
    stores_rows: ClassVar[bool] = False
    """Whether its failing rows can be kept although thresholds do not apply to them."""
    has_failing: ClassVar[bool] = False
    """Whether it fails for single rows."""
    compares: ClassVar[bool] = False
    """Whether it compares values, which is impossible for maps and variants."""
    lists_values: ClassVar[bool] = False
    """Whether the wrong values of its column are listed."""
    reads_whole: ClassVar[bool] = False
    """Whether a merge is checked as a whole table unless the user sets another scope."""

    @classmethod
    @cache
    def own_keys(cls) -> tuple[tuple[str, CheckKey], ...]:
        """Return its keys, each with the name of its field."""
        fields = ((each.name, each.metadata.get("key")) for each in fields_of(cls))
        others = ((key.name, key) for key in cls.other_keys)
        return (*((name, key) for name, key in fields if key), *others)

    @classmethod
    def settle(cls, keys: GivenKeys, values: dict[str, Any]) -> dict[str, Any]:
        """Report contradicting keys, and return the fields.

        `values` are those of its valid keys, and the defaults of optional ones.
        """
        del keys
        return values

    def measure(self, rows: CountedRows) -> Measure:
        """Return what it measures on the rows that count."""
        del rows
        raise ValueError(f"{self.name} is not a typed check")

    @property
    def columns_named(self) -> tuple[str, ...]:
        """The columns that it names outside conditions."""
        one = getattr(self, "column", "")
        return (one,) if one else tuple(getattr(self, "columns", ()))

    @property
    def counts_rows(self) -> bool:
        """Whether it counts failing rows, for thresholds; a condition of a group does not."""
        return self.has_failing and not any(c.aggregates for c in parts_of(self, Condition))

    @property
    def is_of_current(self) -> bool:
        """Whether it excludes the closed versions of a history table."""
        return False

    @property
    def runs_before(self) -> int | None:
        """How many earlier runs it compares with: 0 for the last success, None for none."""
        return None

    @property
    def own_history(self) -> OwnHistory | None:
        """Which of its own earlier values it compares with, None for none."""
        return None

    @property
    def compares_runs(self) -> bool:
        """Whether its result depends on earlier runs."""
        return self.runs_before is not None or self.own_history is not None

    @property
    def literals(self) -> tuple[str, ...]:
        """The values that its column is compared with."""
        return ()

    def refusal_of(self, column: Column) -> str:
        """Return why it does not support a column of this type, "" if it does."""
        kind = parse_type(column.type)
        if self.compares and (has_map(kind) or "variant" in scalars(kind)):
            return f'type not comparable: column "{column.name}" is {column.type.upper()}'
        return ""

    def lookup(self, views: Mapping[InputName, str]) -> Lookup | None:
        """Return its lookup in other tables; None without any."""
        del views
        return None


P = TypeVar("P", Condition, Query, InputName)
T = TypeVar("T", bound=CheckType)


def parts_of(rule: CheckType, kind: type[P]) -> tuple[P, ...]:
    """Return the conditions, the queries or the tables among the fields of a check."""
    values = (getattr(rule, each.name) for each in fields_of(rule))
    return tuple(value for value in values if isinstance(value, kind))


def with_parts(rule: T, kind: type[P], change: Callable[[P], P]) -> T:
    """Return a check with a function applied to its conditions, queries or tables."""
    values = {each.name: getattr(rule, each.name) for each in fields_of(rule)}
    changes = {name: change(v) for name, v in values.items() if isinstance(v, kind)}
    return replace(rule, **changes) if changes else rule  # type: ignore[type-var]  # a dataclass


def fields_of(rule: CheckType | type[CheckType]) -> Iterable[Any]:
    """Return the fields of a check, which is a dataclass."""
    return fields(rule)  # type: ignore[arg-type]  # a dataclass


_registered: dict[str, type[CheckType]] = {}
# Filled once, as the strategies are (`core/strategy.py`): readers know a type by its word alone.


def register_check(kind: type[CheckType]) -> None:
    """Register a type under its word; each word has one type."""
    if _registered.setdefault(kind.name, kind) is not kind:
        raise ValueError(f"{kind.name!r} is {_registered[kind.name].__qualname__} already")


def check_types() -> Mapping[str, type[CheckType]]:
    """Return all types by their words, in order of registration."""
    return _registered
