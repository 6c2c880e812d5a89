"""What one phase of checks looks at: rows, tables, groups, and what is known beforehand."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.core.check_results import RowsBefore
from penstock.core.checks import Check
from penstock.core.errors import PenstockError
from penstock.core.names import InputName
from penstock.core.partition import Grid
from penstock.core.ranges import Ranges
from penstock.core.schema import Schema
from penstock.core.statement import Row
from penstock.strategies.checks.written import shortened

ONE_GROUP: Ranges = ((0, 0),)


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """Rows that typed checks look at: a SELECT over views of the session, and its columns.

    `key` is SQL on a row that gives the key of its group (`2024-12-01`), "" where all rows are the
    one group `*`. `stands_in` is whether this is the whole table because the rows of the step are
    no longer known.
    """

    sql: str
    columns: Schema
    key: str = ""
    stands_in: bool = False


def no_values(number: int) -> Mapping[str, str]:
    """Give no parameters: the model has no partitions."""
    del number
    return {}


@dataclass(frozen=True, slots=True)
class CheckInputs:
    """What the checks of one phase are evaluated on.

    `step` are the rows of scope `step`, None where nothing was written. `table` is the whole table
    after the step, None where there is none; `before` it has no say. `current` are its rows that
    `unique` counts: of a history table the current versions, else the same. `inputs` are what typed
    `before` checks see, by input. `views` are the views under which SQL reads tables; the target
    is there under its input name of kind THIS, unless it does not exist. `partitions` are the
    groups as numbers of `grid`. `values` gives the parameters of a partition as typed literals by
    name, without `@`. `observed` are aggregates that were seen while the rows were written, by the
    names that `observables` gave. `bases` are rows of earlier successes. `adds` is whether the
    step puts rows to those that stay.
    """

    run_timestamp: dt.datetime
    step: CheckedRows | None = None
    table: CheckedRows | None = None
    current: CheckedRows | None = None
    inputs: Mapping[InputName, CheckedRows] = field(default_factory=dict)
    views: Mapping[InputName, str] = field(default_factory=dict)
    grid: Grid = Grid()
    partitions: Ranges = ONE_GROUP
    values: Callable[[int], Mapping[str, str]] = no_values
    observed: Row | None = None
    bases: RowsBefore = RowsBefore()
    adds: bool = False


CHECK_ERROR = "check-error"

_UNRESOLVED = "spark-unresolved-column"
_NAMED = re.compile(r"name (`(?:[^`]|``)*`(?:\.`(?:[^`]|``)*`)*)")
_UNNAMED = "spark-error"
_LONG = 200


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a check could not be evaluated."""

    reason: str

    @classmethod
    def of(cls, error: PenstockError, check: Check, *, ran: bool = False) -> Refusal:
        """Give what Spark said of the check.

        What Spark says of a job that `ran` may quote values of rows: of a check without sample
        only the kind of the error is told.
        """
        if ran and not check.sample:
            return cls(error.code.removeprefix("spark-").replace("-", " "))
        if error.code == _UNRESOLVED and (named := _NAMED.search(error.sentence)):
            return cls(f'unknown column "{named[1].replace("`", "")}"')
        return cls(shortened(error.sentence.rstrip("."), _LONG))

    @property
    def message(self) -> str:
        """The sentence of the result."""
        return f"could not be evaluated: {self.reason}"


def is_of_the_job(error: PenstockError) -> bool:
    """Whether an error has no name of Spark's own: an executor was lost, not a value wrong."""
    return error.code == _UNNAMED
