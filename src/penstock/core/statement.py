"""Statements: the decisions of a strategy as values that the engine executes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

Scalar = str | int | float | bool | None
Row = Mapping[str, Scalar]

QUERY_VIEW = "penstock_query"
TARGET_VIEW = "penstock_target"
ROW_CHANGE = "rows after - rows before"
REPLACED_ROWS = "replaced_rows"
"""The key, in the token, for the rows of a replaced table, which Delta does not count."""
OBSERVED_ROWS = "_ps_n"
"""The name of the `count(*)` that is part of every observation."""
EXACT_JSON = (
    "map('ignoreNullFields', 'false', 'timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\", "
    "'timestampNTZFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")"
)
"""Options of `to_json` that lose nothing: by default times are cut to milliseconds."""
FEW_ROWS = 100_000
"""Up to this number, rows are broadcast, so that the table's rows need not be shuffled."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that rows must satisfy: `count` names the column with the number of violations.

    `sentence` may use `{count}` and `{samples}`; `samples` is a query of at most five texts.
    `tally` is a query for one whole number, used in the message if the count is of rows and the
    message is about keys.
    """

    count: str
    code: str
    sentence: str
    hint: str
    samples: str = ""
    tally: str = ""


@dataclass(frozen=True, slots=True)
class Passing:
    """Rows that are read once: all of them are counted, few of them are kept.

    `counts` are aggregates over them by name, without DISTINCT. `sides` are views that the SQL
    reads, each once: their rows are counted while they are read, under the name of the view.
    """

    view: str
    sql: str
    counts: Mapping[str, str]
    sides: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows that are computed once and kept in a view until the step ends.

    `look_sql` returns one row of values and is the action that computes the rows; then the rules
    are checked. With `passing`, the rows are a selection of those that pass, whose counts are the
    values; one action evaluates the query, which never runs again: lost rows fail the step. `when`
    names a count of an earlier stage: if it is 0, this stage is skipped. `chosen` returns a
    replacement for the stage, depending on earlier values. `confs` are session settings for the
    computation. Without `is_kept` the rows are only measured. `retry` returns a replacement that
    runs if this stage's own values contradict its assumptions.
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
    """The rows that a commit writes, in the form in which they are stored, as a view for its SQL.

    The commit itself computes them, unless they are written to files first and `view` reads those
    (a gate that blocks). `counts` are aggregates to observe during the write.
    """

    view: str
    sql: str
    counts: Mapping[str, str] = field(default_factory=dict)
    confs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows that were written to files: their number, and the observed values.

    `counts` is None if nothing was observed, or if it does not match the files: then the rows must
    be queried.
    """

    rows: int
    counts: Row | None = None


@dataclass(frozen=True, slots=True)
class TableOverwrite:
    """A whole Delta table, rows, columns and partitioning, replaced by the result of a query.

    Delta has no SQL that turns a clustered table into a partitioned one. The table's id, its
    properties and its comment stay.
    """

    uri: str
    partition_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """The one statement of a step that commits, with the session settings it needs.

    - It carries Delta's application transaction, so Delta accepts it at most once and not after a
      fence; `once` is False for statements that ignore the transaction. A step that never began has
      no number and no transaction.
    - `metrics` are counts for the commit's token.
    - `expected` are Delta's operation metrics, and `ROW_CHANGE`, that are known in advance, each
      with the name of the identity that it must satisfy.
    - With `exclusive`, no other writer may have committed since the table was read.
    - With `overwrite`, the SQL is a query whose rows become the table.
    - With a `feed`, the SQL reads its view, which is created and observed when the commit runs.
    - `breaches` returns contradictions between Delta's metrics and the observed values.
    - `partitions` is the largest number of partitions in which it changes stored rows. If their
      files are small, Delta rewrites them, which is faster than hiding rows. None leaves it to
      Delta.
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
    partitions: float | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that one step runs: stages in order, then the commit that `decide` picks.

    `decide` gets the values of all stages as one row; None means that there is nothing to write.
    `counts` returns what the step's record keeps beside Delta's metrics. `again` is the work that
    finds the reason when the commit is refused with the code `refused`. `after` returns the rows of
    the table after the commit, over the view `penstock_target` and the stages; without it, checks
    need to run the commit on a clone.
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
        """Return work with a fixed commit, or none."""
        return cls((), lambda _: commit)
