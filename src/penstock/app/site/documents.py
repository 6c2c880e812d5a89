"""What the pages of the site show, as values; `scripts/site-types` writes their TypeScript types.

Times are texts in ISO 8601, UTC, as `2024-01-02T10:00:00Z`; "" is unknown. Nodes of the graph are
named like models and seeds, and like `source:raw.events`. A partition is a position on the grid of
its model, an integer that grows by one. HTML is made here, so it contains no markup of users.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.app.site.model_documents import ColumnRow, InputVersion

FORMAT = 2
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
class StateShare:
    """Partitions of a model that share a state; `state` is an index of `ProjectDocument.states`."""

    state: int
    count: int
    is_pending: bool
    is_drifted: bool
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model in lists and in the graph."""

    number: int
    """The number in the names of its files."""
    name: str
    kind: str
    """`sql`, `versioned`, `python`, `entity` or `sessions`."""
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
    """The nodes that it reads."""
    states: tuple[StateShare, ...]
    """The states of its partitions, `current` among them."""
    partitions: int
    """How many partitions it should have."""
    current: int
    """How many of them match code and inputs."""
    rows: int | None
    """The rows of its table, null if unknown."""
    bytes: int | None
    """The size of its live files, null if unknown."""
    built_at: str
    seconds: float | None
    """The duration of its last step that ended well."""
    lines: tuple[str, ...]
    """More sentences about its state, as `status` prints them."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source or seed; `changed_at` is the time of its newest version, or of its newest file.

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
    """What needs a person, most urgent first.

    `kind` is a state, `blocked`, `flagged`, `quarantined` or `late`.
    """

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
    flags: str
    """What `run` and `sync` end with, for this target and date."""
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
