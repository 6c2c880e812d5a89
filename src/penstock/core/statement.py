"""Statements: what a strategy decides to run, as values that the engine executes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

Scalar = str | int | float | bool | None
Row = Mapping[str, Scalar]

QUERY_VIEW = "penstock_query"
TARGET_VIEW = "penstock_target"
ROW_CHANGE = "rows after - rows before"
REPLACED_ROWS = "replaced_rows"
"""The rows of a table before it was replaced, which Delta does not count: in the token."""
OBSERVED_ROWS = "_ps_n"
"""The name of the `count(*)` that is among all counts that are observed."""
FEW_ROWS = 100_000
"""So many rows are sent to every executor: those of a table need not move to meet them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows that must not be there: `count` names the column of a look that counts them.

    `sentence` may use `{count}` and `{samples}`; `samples` is a query of at most five texts.
    `tally` is a query of one whole number where the look counts rows and people want keys.
    """

    count: str
    code: str
    sentence: str
    hint: str
    samples: str = ""
    tally: str = ""


@dataclass(frozen=True, slots=True)
class Passing:
    """Rows that pass by once: all of them are counted, few of them are kept.

    `counts` are aggregates over them by name; DISTINCT is not possible. `sides` are views that the
    SQL reads, each once: their rows are counted as they are read, under the name of the view.
    """

    view: str
    sql: str
    counts: Mapping[str, str]
    sides: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows that are computed once and kept under a view until the step ends.

    `look_sql` gives one row about them and is the action that computes them; then the rules are
    held. With `passing` the rows are a selection of those that pass by, whose counts are the look;
    the query is then evaluated by one action and never again: rows that get lost fail the step.
    `when` names a count of an earlier stage: without it there is nothing to do here. `chosen` gives
    what is run in its place, by what earlier stages have seen. `confs` are session settings under
    which the rows are computed. Without `is_kept` the rows are only looked at. `retry` gives what
    is run once more in its place where its own look says that it took for granted what is not so.
    """

    view: str
    sql: str
    look_sql: str = ""
    rules: tuple[Rule, ...] = ()
    passing: Passing | None = None
    when: str = ""
    confs: Mapping[str, str] = field(default_factory=dict)
    is_kept: bool = True
    chosen: Callable[[Row], Stage] | None = None
    retry: Callable[[Row], Stage | None] | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """The rows that a commit writes, as they are stored, under a view that its SQL reads.

    They are computed by the commit itself, unless they are written to files first and `view`
    reads those (a gate that blocks). `counts` are aggregates to be observed as they pass.
    """

    view: str
    sql: str
    counts: Mapping[str, str] = field(default_factory=dict)
    confs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows that were written to files: how many, and what was observed of them.

    `counts` is None where nothing was observed or it does not agree with the files: it must then
    be asked of the rows.
    """

    rows: int
    counts: Row | None = None


@dataclass(frozen=True, slots=True)
class TableOverwrite:
    """A whole Delta table, rows, columns and partitioning, replaced by what a query gives.

    Delta has no SQL that turns a clustered table into a partitioned one. The table's id, its
    properties and its comment stay.
    """

    uri: str
    partition_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """The one statement of a step that commits, with the session settings it needs.

    It carries Delta's application transaction, so Delta takes it at most once and not after a
    fence; `once` is False for what Delta lets through without looking at the pair.
    What was never begun has no number and carries none.
    `metrics` are counts that the commit carries in its token. `expected` are those of Delta's own
    operation metrics, and `ROW_CHANGE`, that are known before, each with the name of the identity
    that it must satisfy. With `exclusive` nobody may have written since the table was looked at.
    With `overwrite` the SQL is a query whose rows become the table. With a `feed` the SQL reads its
    view, which is defined, and observed, as the commit runs. `breaches` says what cannot be of
    Delta's metrics and of what was observed.
    """

    sql: str
    confs: Mapping[str, str] = field(default_factory=dict)
    once: bool = True
    metrics: Mapping[str, int] = field(default_factory=dict)
    expected: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    exclusive: bool = False
    overwrite: TableOverwrite | None = None
    feed: Feed | None = None
    breaches: Callable[[Mapping[str, int]], Iterable[str]] | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """All that one step runs: stages in order, then the commit that `decide` picks.

    `decide` sees the looks of all stages as one row; None means nothing to write. `counts` gives
    what the step's record keeps beside Delta's metrics. `again` is the work that finds out
    what was wrong when the commit is refused with the code `refused`. `after` gives the rows of the
    table as the commit will leave them, over the view `penstock_target` and the stages; without it
    the commit has to be tried on a clone to see them.
    """

    stages: tuple[Stage, ...]
    decide: Callable[[Row], Commit | None]
    counts: Callable[[Row], Mapping[str, int]] = lambda _: {}
    again: Work | None = None
    rows: Callable[[Row], str] | None = None
    fed_by: str = ""
    last_look: Callable[[], None] | None = None
    after: Callable[[Row], str] | None = None

    @classmethod
    def just(cls, commit: Commit | None) -> Work:
        """One commit, or none, whatever the rows are."""
        return cls((), lambda _: commit)
