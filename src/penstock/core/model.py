"""Models and sources as the project defines them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from penstock.core.beside.exposures import Access
from penstock.core.beside.hooks import Grant, Hooks
from penstock.core.checks.check import Check, Checks
from penstock.core.columns.schema import Schema
from penstock.core.entities.entity import Entity
from penstock.core.findings import Location
from penstock.core.history import HistorySettings
from penstock.core.masking import SECRETS
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.partitions.mapping import Computed, RangeMapping
from penstock.core.partitions.partition import Grid
from penstock.core.query import Query
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.strategy import Layout, OnSchemaChange, PartitionSettings, Strategy, Writing


@dataclass(frozen=True, slots=True)
class ColumnDoc:
    """The project's comment on a column, which is stored in the Delta table."""

    name: str
    description: str = ""
    type: str = ""
    tests: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Hide secrets: every reader of the table can read its log."""
        object.__setattr__(self, "description", SECRETS.hide(self.description))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Checksums of the code that made some rows: its SQL as written and in canonical form.

    `settings` are those that change rows. `layout` is the layout and comments of the table, which
    do not count as drift because rows stay the same. `schema` is the checksum of the declared
    columns, "" without any; `yaml` that of the files, recorded only; `parser` the version of
    sqlglot that made `canonical`. Models without versions have version 1, without a date.
    `revision` is 0 for the version's own SQL.
    """

    sql: str
    canonical: str
    settings: str = ""
    layout: str = ""
    version: int = 1
    revision: int = 0
    effective_from: dt.date | None = None
    schema: str = ""
    yaml: str = ""
    parser: str = ""

    @property
    def label(self) -> str:
        """The version in messages: `v3`, `v3.r1`."""
        return f"v{self.version}.r{self.revision}" if self.revision else f"v{self.version}"


@dataclass(frozen=True, slots=True)
class InputMapping:
    """Which range of an input one partition reads; `declared` if depends_on sets it."""

    input: InputName
    mapping: RangeMapping
    declared: bool = False

    @property
    def column(self) -> str:
        """The column of the range, "" if unknown: then any change counts."""
        return self.mapping.column if isinstance(self.mapping, Computed) else ""


@dataclass(frozen=True, slots=True)
class Body:
    """The SQL of a version or a revision, with everything it reads.

    `text` is the SQL as written, `source` its file, or the text itself if it is inline. `is_range`
    is whether one run over a range equals one run per partition. `inputs` holds every input,
    including those of views; a view itself is read whole. `backfill_since` limits a revision to
    partitions from that date on.
    """

    query: Query
    fingerprint: Fingerprint
    text: str
    source: str
    where: Location
    is_range: bool = False
    inputs: tuple[InputMapping, ...] = ()
    backfill_since: dt.date | None = None
    description: str = ""
    reason: str = ""

    @property
    def effective_from(self) -> dt.date | None:
        """The first date it applies to: a partition date for a version, else a run date."""
        return self.fingerprint.effective_from


PARAMETER = "parameter "
"""How a line about a parameter begins, in the text behind a checksum of settings."""


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """The body of a model that is a function of frames.

    `parameters` maps each parameter to the input whose rows it gets; `reserved` are those for the
    session or the window. `text` is the function as written. `persist` is whether its frame is kept
    while a run reads it; None decides by the number of readers. `values` are those of the other
    parameters, `params` the same as YAML would hold them, without secrets. `declared` are the
    columns that its frame must have.
    """

    call: Callable[..., object]
    text: str
    parameters: Mapping[str, InputName]
    reserved: frozenset[str] = frozenset()
    persist: bool | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    params: Mapping[str, object] = field(default_factory=dict)
    declared: Schema = Schema()


@dataclass(frozen=True, slots=True)
class Version:
    """A dated generation of a model; `schema` is empty if no columns are declared.

    `schema_text` is the schema as JSON; `Fingerprint.schema` is its checksum.
    """

    number: int
    body: Body
    schema: Schema = Schema()
    schema_text: str = ""
    revisions: tuple[Body, ...] = ()
    checks: Checks = Checks()

    @property
    def effective_from(self) -> dt.date | None:
        """The first partition date it applies to; None for a model without versions."""
        return self.body.effective_from

    @property
    def bodies(self) -> tuple[Body, ...]:
        """Its own SQL and that of its revisions."""
        return (self.body, *self.revisions)


MODEL_COLUMNS = (
    "model=name strategy=shown_strategy table reads=inputs depends_on tags description where"
)
"""What notebooks show of each model."""


@dataclass(frozen=True, slots=True)
class Model(ShownInNotebooks):
    """One table or view to build, with every setting resolved."""

    _columns = MODEL_COLUMNS

    name: str
    """Its name in `ref`."""
    table: TableName
    """The table of its rows."""
    where: Location
    """The place of its declaration."""
    strategy: Strategy
    """How its rows are written; the last eight fields follow from it."""
    query: Query
    """The SQL of its newest version; for a function or an entity only its inputs."""
    fingerprint: Fingerprint
    """The digests of the code of its newest version."""
    depends_on: tuple[str, ...] = ()
    """The models to build first."""
    layout: Layout = Layout()
    """The layout of its files."""
    on_schema_change: OnSchemaChange = OnSchemaChange.APPEND
    """The reaction to new or missing columns of the query."""
    columns: tuple[ColumnDoc, ...] = ()
    """Comments on its columns."""
    contract: Schema = Schema()
    """The columns that its query must return; empty without an enforced contract."""
    description: str = ""
    """A description for readers."""
    tags: tuple[str, ...] = ()
    """Tags for `--select tag:…`."""
    config: Mapping[str, str] = field(default_factory=dict)
    """Its settings as written, for data catalogs."""
    versions: tuple[Version, ...] = ()
    """Its dated versions; required with partitions, empty for models without versions."""
    immutable: bool = False
    """Whether SQL that has built partitions must not change."""
    checks: Checks = Checks()
    """The checks of its newest version."""
    order_after: tuple[str, ...] = ()
    """Models that only its checks read: they are built first in the same run."""
    function: PythonFunction | None = None
    """The function that returns its rows."""
    entity: Entity | None = None
    """The entity that provides its rows."""
    outside: str = ""
    """The text behind the checksum of its settings, if files or variables are part of them."""
    hooks: Hooks = Hooks()
    """SQL that runs before and after each of its steps; no part of any fingerprint."""
    grants: tuple[Grant, ...] | None = None
    """The rights that its table has; None leaves those of the catalog."""
    group: str = ""
    """The group that it belongs to."""
    access: Access = Access.PROTECTED
    """Who may read it."""
    partition: PartitionSettings | None = field(init=False, repr=False, compare=False)
    """How it is partitioned, None for a model without partitions."""
    history: HistorySettings | None = field(init=False, repr=False, compare=False)
    """How it keeps versions of its rows, None if it keeps none."""
    is_view: bool = field(init=False, repr=False, compare=False)
    """Whether it is not stored."""
    writing: Writing = field(init=False, repr=False, compare=False)
    """How the rows of its steps are written to its table."""
    keeps_history: bool = field(init=False, repr=False, compare=False)
    """Whether it keeps rows that no run could rebuild."""
    strategy_name: str = field(init=False, repr=False, compare=False)
    """The strategy's word in files."""
    grid: Grid = field(init=False, repr=False, compare=False)
    """Its possible partitions."""
    hides_rows: bool = field(init=False, repr=False, compare=False)
    """Whether a new table of it has deletion vectors."""

    def __post_init__(self) -> None:
        """Derive the last fields from the strategy, once."""
        strategy = self.strategy
        answers = {
            "description": SECRETS.hide(self.description),  # the table says it to everybody
            "partition": strategy.partitioning,
            "history": strategy.history,
            "is_view": strategy.is_view,
            "writing": strategy.writing,
            "keeps_history": strategy.history is not None,
            "strategy_name": strategy.name,
            "hides_rows": strategy.hides_rows or any(each.revisions for each in self.versions),
            "grid": strategy.partitioning.grid if strategy.partitioning else Grid(),
        }
        for name, value in answers.items():
            object.__setattr__(self, name, value)

    @property
    def inputs(self) -> tuple[InputName, ...]:
        """Everything that any of its versions reads or depends on."""
        if not self.versions:
            return tuple(dict.fromkeys(self.query.inputs))
        bodies = (body for version in self.versions for body in version.bodies)
        queries = (self.query, *(body.query for body in bodies))
        return tuple(dict.fromkeys(name for query in queries for name in query.inputs))

    def with_bodies(self, change: Callable[[Body], Body]) -> Model:
        """Return the model with a function applied to each SQL of its versions."""
        versions = tuple(
            replace(each, body=change(each.body), revisions=tuple(map(change, each.revisions)))
            for each in self.versions
        )
        return replace(self, versions=versions)

    def checks_of(self, version: int) -> Checks:
        """Return the checks of one version; a model without versions has one set."""
        return next((v.checks for v in self.versions if v.number == version), self.checks)

    @property
    def all_checks(self) -> tuple[Check, ...]:
        """The checks of all versions, in order."""
        sets = [each.checks for each in self.versions] or [self.checks]
        return tuple(check for each in sets for check in each.all)

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns of its table that penstock adds to its rows."""
        versions = self.history.columns.names if self.history else ()
        return (*versions, *(self.entity.added_columns if self.entity else ()))

    @property
    def is_unpinned(self) -> bool:
        """Whether changes of its result cannot be detected: it reads an unnamed input."""
        return self.function is not None and not self.query.inputs

    @property
    def params(self) -> Mapping[str, object]:
        """The values of its parameters."""
        return self.function.params if self.function else {}

    @property
    def shown_strategy(self) -> str:
        """The name of its strategy in messages."""
        return self.strategy.shown_name or self.strategy_name

    @property
    def input_name(self) -> InputName:
        """Its name as an input of other models."""
        return InputName(InputKind.MODEL, self.name)


def kind_of(model: Model) -> str:
    """Return what provides the rows of a model: `sql`, `python`, `entity` or `sessions`."""
    if model.strategy.by_passes:
        return "sessions"
    if model.entity is not None:
        return "entity"
    return "sql" if model.function is None else "python"


@dataclass(frozen=True, slots=True)
class SourceFreshness:
    """The allowed age of the newest row of a source."""

    column: str
    warn_after: dt.timedelta | None = None
    error_after: dt.timedelta | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A table or files that penstock reads but does not build.

    `path` is a URI or an absolute path; it is "" for a table of the Spark catalog. With
    `may_be_delta` it is read as a Delta table if it is one, otherwise in its format.
    """

    table: TableName
    where: Location
    path: str
    format: str = "delta"
    options: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[ColumnDoc, ...] = ()
    description: str = ""
    freshness: SourceFreshness | None = None
    partition_column: str = ""
    may_be_delta: bool = False
    in_catalog: bool = False
    """Whether `path` is where the catalog locates it, and not part of the project."""
    known_as: TableName | None = None
    """Its name in `source()`, None if that is the name of the table."""

    @property
    def is_delta(self) -> bool:
        """Whether it has the versions of a Delta log."""
        return self.format.lower() == "delta"

    @property
    def input_name(self) -> InputName:
        """Its name as an input of models."""
        return InputName(InputKind.SOURCE, str(self.table))


@dataclass(frozen=True, slots=True)
class Seed:
    """A file under seeds/ that `penstock seed` loads as a table."""

    name: str
    table: TableName
    where: Location
    path: str
    format: str
    digest: str
    columns: tuple[ColumnDoc, ...] = ()
