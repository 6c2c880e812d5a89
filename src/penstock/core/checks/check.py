"""Checks: conditions on the rows of a model, and when they are evaluated."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from penstock.core.checks.check_type import CheckType, Condition, Empty, parts_of
from penstock.core.findings import Location, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query, parameters

GROUP_PARAMETERS = frozenset({"partition_date", "start_date", "end_date"})
"""Parameters whose value differs between groups."""

LONGEST = 128
"""The greatest length of a check's name, in characters."""
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")


def plain_name(name: str) -> str:
    """Return a name as checks may have it.

    >>> plain_name("unique_größe (cm)"), plain_name("7_days")
    ('unique_gr__e__cm_', '_7_days')
    """
    plain = _OTHER.sub("_", name)[:LONGEST]
    return f"_{plain}"[:LONGEST] if plain[:1].isdigit() else plain


class Phase(StrEnum):
    """Checks before a step read its input rows, checks after it the rows that it wrote."""

    BEFORE = "before"
    AFTER = "after"


class OnFailure(StrEnum):
    """What a failed gate after a step does: rows stay, are held back, or are undone."""

    FLAG = "flag"
    BLOCK = "block"
    ROLLBACK = "rollback"


class CheckScope(StrEnum):
    """Which rows an `after` check reads: those of the step, or the whole table after it."""

    STEP = "step"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition on the number of failing rows, or with `percent` on their share.

    `sign` is one of `SIGNS`, or `between`, which includes both `value` and `upto`.

    >>> str(Threshold(">", Decimal("0.5"), percent=True)), Threshold("=", Decimal(3)).is_met(3, 9)
    ('> 0.5 %', True)
    """

    sign: str
    value: Decimal
    upto: Decimal | None = None
    percent: bool = False

    def is_met(self, failures: int, rows: int) -> bool:
        """Return whether the numbers of failing and of all rows meet it; 0 of 0 is 0 %."""
        found = Fraction(failures)
        if self.percent:
            found = 100 * found / rows if rows else Fraction(0)
        if self.upto is not None:
            return Fraction(self.value) <= found <= Fraction(self.upto)
        return SIGNS[self.sign](found, Fraction(self.value))

    def __str__(self) -> str:
        """Return it in the user's syntax."""
        upto = "" if self.upto is None else f" and {self.upto:f}"
        return f"{self.sign} {self.value:f}{upto}{' %' * self.percent}"


SIGNS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
}
ANY_ROW = Threshold("!=", Decimal(0))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When failing rows are an error, and when a warning; None: never."""

    error: Threshold | None = None
    warning: Threshold | None = None

    def severity_of(self, failures: int, rows: int) -> Severity | None:
        """Return the severity for a number of failing rows; None if the check passes."""
        if self.error is not None and self.error.is_met(failures, rows):
            return Severity.ERROR
        warns = self.warning is not None and self.warning.is_met(failures, rows)
        return Severity.WARNING if warns else None


@dataclass(frozen=True, slots=True)
class Check:
    """One invariant of a model. Only a gate, of severity error, stops anything."""

    name: str
    phase: Phase
    """Whether it reads input or output rows."""
    rule: CheckType
    """Its type with the user's arguments."""
    where: Location
    """The place of its declaration."""
    definition: str = ""
    """A digest of everything that decides its result."""
    severity: Severity = Severity.ERROR
    description: str = ""
    """A description for readers."""
    tags: tuple[str, ...] = ()
    """Tags for `--select tag:…`."""
    meta: Mapping[str, str] = field(default_factory=dict)
    """Free values of the user."""
    condition: Condition | None = None
    """The user's `where:`, which restricts its rows."""
    input: InputName | None = None
    """The table that a typed check reads instead of the rows of its phase."""
    query: Query | None = None
    """The query that it reads instead of the rows of its phase."""
    scope: CheckScope = CheckScope.STEP
    """Whether it reads the rows of a step or the whole table."""
    empty: Empty | None = None
    """The result without rows; None for the rule of the type."""
    sample: bool = True
    """If False, no cell of a row leaves Spark."""
    reads: tuple[InputName, ...] = ()
    """The tables that it reads beside the target."""
    thresholds: Thresholds | None = None
    """They decide how many failing rows are allowed; None allows none."""
    store: bool = False
    """Whether failing rows are kept in a table."""
    limit: int | None = None
    """The greatest number of rows to keep."""
    test: str = ""
    """The name of the parametrised test that its SQL comes from."""

    @property
    def type(self) -> str:
        """The word for its type in files."""
        return self.rule.name

    @property
    def is_gate(self) -> bool:
        """Whether its failure stops a step."""
        return self.severity is Severity.ERROR

    @property
    def is_observable(self) -> bool:
        """Whether it can be computed while the rows are written, without another scan."""
        if not self.rule.is_observable or self.query is not None or self.scope is CheckScope.TABLE:
            return False
        return all(each.observable for each in self.conditions)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Its conditions: the user's `where`, and those of its type."""
        own = parts_of(self.rule, Condition)
        return own if self.condition is None else (self.condition, *own)

    @property
    def own_query(self) -> Query | None:
        """The SQL that returns its rows, or its failing rows."""
        return next(iter(parts_of(self.rule, Query)), self.query)

    @property
    def reads_table(self) -> bool:
        """Whether it reads the whole target, not only the rows of a step."""
        if self.scope is CheckScope.TABLE or not self.rule.takes_rows:
            return True
        tables = (*(self.query.inputs if self.query else ()), *parts_of(self.rule, InputName))
        return any(name.kind is InputKind.THIS for name in tables)

    @property
    def differs_by_group(self) -> bool:
        """Whether its own SQL gives each group another result."""
        query = self.own_query
        return query is not None and bool(parameters(query.text) & GROUP_PARAMETERS)


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of a model or of one of its versions; `on_failure` None uses the project's."""

    before: tuple[Check, ...] = ()
    after: tuple[Check, ...] = ()
    on_failure: OnFailure | None = None

    @property
    def all(self) -> tuple[Check, ...]:
        """The checks of both phases."""
        return (*self.before, *self.after)

    @property
    def has_gate_after(self) -> bool:
        """Whether a check after a step can stop it."""
        return any(check.is_gate for check in self.after)


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The project's settings for all its checks."""

    on_failure: OnFailure = OnFailure.FLAG
    sample: bool = True
    quarantine_days: int = 7
    staging_schema: str = "penstock_staging"
