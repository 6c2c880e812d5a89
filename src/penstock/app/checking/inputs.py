"""What one phase of checks looks at: rows, tables, groups, and what is known beforehand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.core.check_results import RowsBefore
from penstock.core.columns.schema import Schema
from penstock.core.names import InputName, quoted
from penstock.core.partitions.partition import Grid
from penstock.core.partitions.ranges import Ranges
from penstock.core.statement import Row

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

    @classmethod
    def of_view(cls, view: str, columns: Schema, key: str = "") -> CheckedRows:
        """Give every row of a view."""
        return cls(f"SELECT * FROM {quoted(view)}", columns, key)


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
