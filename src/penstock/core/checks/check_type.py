"""The port of check types: what anybody may ask of one, and the values that it answers with.

A type says what must hold for rows. Each is one class under `strategies/checks/types/`: a frozen
dataclass of what a user wrote that answers the questions below. Nobody else asks which one it is.
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
    """What it means that there are no rows."""

    PASS = "pass"  # noqa: S105  no password
    FAIL = "fail"


class CheckStatus(StrEnum):
    """How a check came out."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Condition:
    """SQL that is true or not, of one row or of a group of rows."""

    text: str
    """Columns are named as the user named them, `{column}` is replaced already; parameters are
    tokens (`core/query.py`)."""
    aggregates: tuple[str, ...] = ()
    """The aggregate calls in it, as written, each once: with any it is a condition of a group."""
    observable: bool = True
    """Whether Spark can compute it while rows are written: no DISTINCT, FILTER or subquery."""


@dataclass(frozen=True, slots=True)
class GroupValue:
    """What was measured of one group: a key of a partition, or `*`.

    `values` are canonical texts by name, None for NULL. `message` and `details` are of this group.
    `severity` is how grave its failure is, None: as grave as the check.
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
    """The instant that ages are measured from, in microseconds since 1970."""
    before: Fraction | None = None
    """How many rows there were earlier, None where that is not known."""
    adds: bool = False
    """Whether the rows are those of a step that adds to rows that stay."""

    def count(self, name: str) -> int:
        """Return a count, 0 where nothing was counted."""
        return int(self.values.get(name) or 0)

    @property
    def rows(self) -> int:
        """How many rows of the group count."""
        return self.count(ROWS)

    @property
    def failures(self) -> int:
        """How many of them break the check."""
        return self.count(FAILURES)


@dataclass(frozen=True, slots=True)
class Measure:
    """Aggregates by name, and the judge of their values.

    Counts are whole numbers, everything else is cast to STRING. `ROWS` is always among them.
    """

    aggregates: Mapping[str, str]
    judge: Callable[[GroupMeasures], GroupValue]
    breaks: str = ""
    """SQL that is true of a row that breaks the check, "" where rows are not counted."""
    repeated: tuple[str, ...] = ()
    """Columns by which rows with the same values are counted, in a column that `breaks` names."""
    empty: Values = field(default_factory=dict)
    """What a group without rows has, beside no rows."""
    spare: bool = False
    """Whether the count of failures matters only where the check fails."""

    @property
    def needed(self) -> Mapping[str, str]:
        """The aggregates without which nobody can say whether the check holds."""
        left_out = FAILURES if self.spare else ""
        return {name: sql for name, sql in self.aggregates.items() if name != left_out}


class CountedRows(Protocol):
    """A port: SQL over the rows that count for a check, which the strategies write."""

    @property
    def sample(self) -> bool:
        """Whether a value of a row may be among the measured ones."""
        ...

    @property
    def count_all(self) -> str:
        """The SQL that counts them."""
        ...

    def count(self, condition: str) -> str:
        """Return SQL that counts those of which a condition is true as well."""
        ...

    def only(self, value: str) -> str:
        """Return SQL that is a value of the rows that count, and NULL of all others."""
        ...

    def call(self, aggregate: str) -> str:
        """Return a user's aggregate call over the rows that count."""
        ...

    def condition(self, text: str, aggregates: tuple[str, ...]) -> str:
        """Return a condition of a group with every aggregate over the rows that count."""
        ...

    def type_of(self, name: str) -> str:
        """Return the Spark type of a column, "" without it."""
        ...


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows of another table that a type looks up for each row."""

    fields: str
    """The query of the columns that rows are looked up by."""
    rows: Callable[[str], str]
    """Turn a query of rows into one that says of each what was looked up."""
    misfit: Callable[[Schema, Schema], str]
    """Say why columns of the rows and those fields cannot be compared, "" if they can."""


class KeyKind(Enum):
    """What stands under a key of a type; the project reads and checks it before the type is made.

    A query, a table and an age have two fields: beside the value what people read.
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
    CONDITION = "SQL that is true or not"
    QUERY = "SQL, or a file of it"
    TABLE = "a model or source"


@dataclass(frozen=True, slots=True)
class CheckKey:
    """One key of a check type: it is read, described and offered by editors as this says."""

    name: str
    kind: KeyKind
    says: str
    example: str | int | bool | tuple[str, ...]
    unset: str | None = "none"
    """What holds without it; None where it must be there."""
    text_field: str = ""
    """The field of what people read."""
    choice: tuple[str, ...] = ()
    alias: str = ""

    @property
    def default(self) -> bool | None:
        """What its field has without it, if it may be left out."""
        return False if self.kind in (KeyKind.FLAG, KeyKind.CHOICE) else None


def key(*args: Any, **more: Any) -> Any:  # noqa: ANN401  a field
    """Return a field that a key fills; it must be there, but for what holds `unset`."""
    own = CheckKey(*args, **{"unset": None, **more})
    return field(default=MISSING if own.unset is None else own.default, metadata={"key": own})


class GivenKeys(Protocol):
    """The keys of one check as they are written; what does not fit becomes a finding."""

    def find(self, key: str) -> object | None:
        """Return something for a key that is written."""

    def text(self, key: str) -> str:
        """Return a text, "" if there is none."""
        ...

    def bad(self, key: str, expected: str, hint: str = "") -> None:
        """Note that a value does not fit."""

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Note an error where a value stands."""


class CheckType:
    """What must hold for rows; one type of check with what a user said of it.

    Its fields are what decides: conditions, queries and names of tables among them are found by
    their types. A field `column`, or `columns`, holds the columns that it is about.
    """

    __slots__ = ()
    name: ClassVar[str] = ""
    """The word that users write."""
    other_keys: ClassVar[tuple[CheckKey, ...]] = ()
    """Its keys that are no fields, beside those of every check."""
    for_people: ClassVar[frozenset[str]] = frozenset({"shown", "source"})
    """Fields that only people read: they do not decide what it says of rows."""
    takes_rows: ClassVar[bool] = True
    """Whether a user says which rows it looks at; else its own query gives the rows that fail."""
    only_after: ClassVar[bool] = False
    """Whether it compares rows that a step wrote, so that it cannot stand under `before`."""
    is_observable: ClassVar[bool] = True
    """Whether Spark can compute it while rows are written."""
    is_alone: ClassVar[bool] = False
    """Whether a query of its own measures it, shared with no other check."""
    counts_empty: ClassVar[bool] = False
    """Whether no rows are a number like others."""
    if_empty: ClassVar[Empty] = Empty.PASS
    """What no rows mean where the user does not say."""
    without_empty: ClassVar[str] = ""
    """Why a user may not say what no rows mean."""
    stores_rows: ClassVar[bool] = False
    """Whether the rows that break it can be kept although thresholds do not apply to them."""
    has_failing: ClassVar[bool] = False
    """Whether single rows break it."""
    compares: ClassVar[bool] = False
    """Whether it compares values, which those of maps and variants are not made for."""
    lists_values: ClassVar[bool] = False
    """Whether the wrong values of its column are listed."""
    reads_whole: ClassVar[bool] = False
    """Whether a merge is checked as a whole table unless the user says otherwise."""

    @classmethod
    @cache
    def own_keys(cls) -> tuple[tuple[str, CheckKey], ...]:
        """Return its keys, each with the name of its field."""
        fields = ((each.name, each.metadata.get("key")) for each in fields_of(cls))
        others = ((key.name, key) for key in cls.other_keys)
        return (*((name, key) for name, key in fields if key), *others)

    @classmethod
    def settle(cls, keys: GivenKeys, values: dict[str, Any]) -> dict[str, Any]:
        """Report keys that do not go together, and return the fields.

        `values` are those of its keys that fit, and the defaults of those that may be left out.
        """
        del keys
        return values

    def measure(self, rows: CountedRows) -> Measure:
        """Return what it measures of the rows that count."""
        del rows
        raise ValueError(f"{self.name} is not a typed check")

    @property
    def columns_named(self) -> tuple[str, ...]:
        """The columns that it names outside of conditions."""
        one = getattr(self, "column", "")
        return (one,) if one else tuple(getattr(self, "columns", ()))

    @property
    def counts_rows(self) -> bool:
        """Whether it counts rows that fail, for thresholds; a condition of a group has none."""
        return self.has_failing and not any(c.aggregates for c in parts_of(self, Condition))

    @property
    def is_of_current(self) -> bool:
        """Whether it leaves the closed versions of a history table out."""
        return False

    @property
    def runs_before(self) -> int | None:
        """How many earlier runs it compares with: 0 for the last success, None for none at all."""
        return None

    @property
    def literals(self) -> tuple[str, ...]:
        """The values that its column is compared with."""
        return ()

    def refusal_of(self, column: Column) -> str:
        """Say why it cannot look at a column of this type, "" if it can."""
        kind = parse_type(column.type)
        if self.compares and (has_map(kind) or "variant" in scalars(kind)):
            return f'type not comparable: column "{column.name}" is {column.type.upper()}'
        return ""

    def lookup(self, views: Mapping[InputName, str]) -> Lookup | None:
        """Return what it looks up in other tables; None without any."""
        del views
        return None


P = TypeVar("P", Condition, Query, InputName)
T = TypeVar("T", bound=CheckType)


def parts_of(rule: CheckType, kind: type[P]) -> tuple[P, ...]:
    """Return the conditions, the queries or the tables among the fields of a check."""
    values = (getattr(rule, each.name) for each in fields_of(rule))
    return tuple(value for value in values if isinstance(value, kind))


def with_parts(rule: T, kind: type[P], change: Callable[[P], P]) -> T:
    """Return a check with its conditions, its queries or its tables changed."""
    values = {each.name: getattr(rule, each.name) for each in fields_of(rule)}
    changes = {name: change(v) for name, v in values.items() if isinstance(v, kind)}
    return replace(rule, **changes) if changes else rule  # type: ignore[type-var]  # a dataclass


def fields_of(rule: CheckType | type[CheckType]) -> Iterable[Any]:
    """Return the fields of a check, which is a dataclass."""
    return fields(rule)  # type: ignore[arg-type]  # a dataclass


_registered: dict[str, type[CheckType]] = {}
# Filled once, as the strategies are (`core/strategy.py`): readers know a type by its word alone.


def register_check(kind: type[CheckType]) -> None:
    """Let a type be found by its word; a word has one type."""
    if _registered.setdefault(kind.name, kind) is not kind:
        raise ValueError(f"{kind.name!r} is {_registered[kind.name].__qualname__} already")


def check_types() -> Mapping[str, type[CheckType]]:
    """Return all types by their words, in the order in which they were registered."""
    return _registered
