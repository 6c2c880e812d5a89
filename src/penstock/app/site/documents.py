"""What the pages of the site show, as values; `scripts/site-types` writes their TypeScript types.

Times are texts in ISO 8601, UTC, as `2024-01-02T10:00:00Z`; "" is unknown. Nodes of the graph are
named like models and seeds, and like `source:raw.events`. A partition is a position on the grid of
its model, an integer that grows by one. HTML is made here, so it contains no markup of users.
"""

from __future__ import annotations

from dataclasses import dataclass

FORMAT = 1
"""Grows when a page could no longer read the data of an older penstock."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something wrong with the whole project: a finding, or a state that cannot be opened."""

    code: str
    place: str
    sentence: str
    hint: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class ModelState:
    """Partitions of a model in one state; `state` is an index of `ProjectDocument.states`."""

    state: int
    count: int
    is_pending: bool
    is_drifted: bool
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model in lists and in the graph; `number` names its files.

    `kind` is `sql`, `versioned`, `python`, `entity` or `sessions`. `states` are those of its
    partitions, `current` among them. `partitions` are those that it
    should have, `current` those that match code and inputs. Rows and bytes are null if unknown.
    """

    number: int
    name: str
    kind: str
    strategy: str
    grain: str
    schema: str
    table: str
    file: str
    line: int
    tags: tuple[str, ...]
    owner: str
    package: str
    reads: tuple[str, ...]
    states: tuple[ModelState, ...]
    partitions: int
    current: int
    rows: int | None
    bytes: int | None
    built_at: str
    seconds: float | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source or seed: a node that nobody builds; `changed_at` is the time of its newest version.

    `limit` is the age in seconds that its newest row may have, null without such a rule.
    """

    node: str
    kind: str
    table: str
    path: str
    format: str
    file: str
    line: int
    description_html: str
    columns: tuple[ColumnRow, ...]
    read_by: tuple[str, ...]
    version: str
    changed_at: str
    newest_row_at: str
    limit: float | None


@dataclass(frozen=True, slots=True)
class Attention:
    """What needs a person: `kind` is a state, `blocked`, `flagged`, `quarantined` or `late`."""

    kind: str
    node: str
    sentence: str
    command: str


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step that a command would do now."""

    model: str
    partitions: str
    reason: str


@dataclass(frozen=True, slots=True)
class PlannedCommand:
    """What a command would do now; `count` is the number of all its steps."""

    command: str
    count: int
    steps: tuple[PlannedStep, ...]


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run; `chunk` is the number of the file with its steps."""

    id: str
    command: str
    started: str
    ended: str
    status: str
    models: int
    failed: int
    chunk: int


@dataclass(frozen=True, slots=True)
class ProjectDocument:
    """`data/project.js`: what the first page, the lists and the graph need."""

    format: int
    penstock: str
    project: str
    target: str
    made_at: str
    as_of: str
    notices: tuple[Notice, ...]
    states: tuple[str, ...]
    models: tuple[ModelRow, ...]
    sources: tuple[SourceRow, ...]
    attention: tuple[Attention, ...]
    plans: tuple[PlannedCommand, ...]
    runs: tuple[RunRow, ...]


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """A column of an input."""

    node: str
    column: str


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column; `origins` are the columns that it is made of, null if that is not known."""

    name: str
    type: str
    description_html: str
    checks: tuple[str, ...]
    origins: tuple[ColumnOrigin, ...] | None


@dataclass(frozen=True, slots=True)
class CodeText:
    """One text of a model's code, a line of highlighted HTML each.

    `id` is its digest. `partitions` are those that it is for, as words; "" for texts that only
    built partitions of the past.
    """

    id: str
    label: str
    partitions: str
    language: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One execution of a model, newest first; `table_version` is that of its commit."""

    step: str
    run: str
    partitions: str
    status: str
    started: str
    seconds: float
    rows: int | None
    bytes: int | None
    table_version: int | None
    code: str
    reason: str
    error: str
    hint: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation of a check."""

    at: str
    status: str
    value: float | None
    limit: float | None
    step: str
    sentence: str


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A check of a model with its evaluations, oldest first."""

    name: str
    type: str
    phase: str
    column: str
    on_failure: str
    description_html: str
    evaluations: tuple[Evaluation, ...]


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A slice of an entity."""

    name: str
    status: str
    at: str
    rows: int | None
    why: str


@dataclass(frozen=True, slots=True)
class PackagePart:
    """One fact of a session package: its manifest, limits or quarantine."""

    section: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ModelDocument:
    """`data/model-N.js`: one model's page, without its partitions."""

    name: str
    description_html: str
    place: str
    columns: tuple[ColumnRow, ...]
    written: CodeText | None
    codes: tuple[CodeText, ...]
    executions: tuple[ExecutionRow, ...]
    checks: tuple[CheckRow, ...]
    slices: tuple[SliceRow, ...]
    package: tuple[PackagePart, ...]


@dataclass(frozen=True, slots=True)
class BuiltBy:
    """A step that built partitions."""

    step: str
    run: str
    at: str
    seconds: float
    rows: int | None
    bytes: int | None
    table_version: int | None
    code: str
    inputs: tuple[InputVersion, ...]


@dataclass(frozen=True, slots=True)
class InputVersion:
    """What a step read of an input, and what is there now."""

    node: str
    then: str
    now: str


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """Neighbouring partitions of which the same is true, both ends inclusive.

    `state` and `also` are indices of `ProjectDocument.states`, `code` is the id of the text that is
    for them now, `built_by` an index of `PartitionsDocument.steps`, -1 if nothing built them.
    """

    low: int
    high: int
    state: int
    also: tuple[int, ...]
    is_pending: bool
    is_drifted: bool
    because: tuple[str, ...]
    version: int | None
    revision: int | None
    code: str
    built_by: int


@dataclass(frozen=True, slots=True)
class MappedRange:
    """Partitions from `low` to `high`, and those of an input that each of them reads.

    Each reads from `first` to `last`; if it `moves`, the partition n above `low` reads those n
    above both.
    """

    low: int
    high: int
    first: int
    last: int
    moves: bool


@dataclass(frozen=True, slots=True)
class PartitionMapping:
    """What partitions of a model read of an input with partitions; no ranges for all of it."""

    node: str
    ranges: tuple[MappedRange, ...]


@dataclass(frozen=True, slots=True)
class PartitionsDocument:
    """`data/partitions-N.js`: the partitions of one model, as ranges in ascending order.

    `grain` is `hour`, `day`, `week`, `month`, `year`, `range` or `whole`. Positions count: hours
    and days from 1970-01-01; weeks from Monday, 1970-01-05; months as year * 12 + month - 1; years
    from 0; of a `range`, position p is [start + p * width, start + (p + 1) * width).
    """

    name: str
    grain: str
    start: int
    width: int
    ranges: tuple[PartitionRange, ...]
    steps: tuple[BuiltBy, ...]
    mappings: tuple[PartitionMapping, ...]


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of a run."""

    step: str
    model: str
    partitions: str
    status: str
    started: str
    ended: str
    rows: int | None
    bytes: int | None
    table_version: int | None
    reason: str
    inputs: tuple[InputVersion, ...]
    error: str
    hint: str


@dataclass(frozen=True, slots=True)
class RunDocument:
    """One run with its steps, in the order of their beginnings."""

    id: str
    command: str
    arguments: str
    user: str
    host: str
    started: str
    ended: str
    status: str
    steps: tuple[StepRow, ...]


@dataclass(frozen=True, slots=True)
class RunsDocument:
    """`data/runs-N.js`: up to 100 runs, newest first."""

    runs: tuple[RunDocument, ...]


@dataclass(frozen=True, slots=True)
class FoundText:
    """A text to search: `part` is `model`, `source`, `column`, `tag`, `description` or `code`."""

    node: str
    part: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """`data/search.js`: everything that can be searched."""

    texts: tuple[FoundText, ...]
