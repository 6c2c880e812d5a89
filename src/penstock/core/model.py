"""Models and sources as the project defines them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

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
    """What the project says of a column, which Delta keeps beside it."""

    name: str
    description: str = ""
    type: str = ""
    tests: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Hide secrets: the table's log is read by everybody."""
        object.__setattr__(self, "description", SECRETS.hide(self.description))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What code made some rows: checksums of the SQL as written and as meant.

    `settings` are those that change rows; `layout` is how the table lies and what is said of it,
    in no drift, because the rows stay the same. `schema` is the checksum of the declared columns,
    "" where none are; `yaml` that of the files, recorded only; `parser` the version of sqlglot
    that made `canonical`. Models without versions have version 1, without a date. `revision` is 0
    for the version's own SQL.
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
        """Return the version as people write it: `v3`, `v3.r1`."""
        return f"v{self.version}.r{self.revision}" if self.revision else f"v{self.version}"


@dataclass(frozen=True, slots=True)
class InputMapping:
    """Which range of an input one partition reads; `declared` if depends_on says so."""

    input: InputName
    mapping: RangeMapping
    declared: bool = False

    @property
    def column(self) -> str:
        """The column that the range is about, "" where none is known: then any change counts."""
        return self.mapping.column if isinstance(self.mapping, Computed) else ""


@dataclass(frozen=True, slots=True)
class Body:
    """The SQL of a version or a revision, with everything it reads.

    `text` is the SQL as written, `source` its file, or the text itself where it stands inline.
    `is_range` is whether one run over a range equals one run per partition. `inputs` holds every
    input, those of views that it reads included; a view itself is mapped whole.
    `backfill_since` limits a revision to partitions whose date is not before it.
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
        """From when on it counts: a version by the partition's date, a revision by the run's."""
        return self.fingerprint.effective_from


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """The body of a model that is a function of frames.

    `parameters` maps each parameter to the input whose rows it is given; `reserved` are those that
    are given the session or the window. `text` is the function as written. `persist` is whether
    its frame is kept while a run reads it; None where that depends on how many read it.
    """

    call: Callable[..., object]
    text: str
    parameters: Mapping[str, InputName]
    reserved: frozenset[str] = frozenset()
    persist: bool | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """A dated generation of a model; `schema` has no columns where none are declared.

    `schema_text` is the schema as JSON, which `Fingerprint.schema` is the checksum of.
    """

    number: int
    body: Body
    schema: Schema = Schema()
    schema_text: str = ""
    revisions: tuple[Body, ...] = ()
    checks: Checks = Checks()

    @property
    def effective_from(self) -> dt.date | None:
        """The first partition date it is for; None for a model without versions."""
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
    """Its name, by which others read it."""
    table: TableName
    """Where its rows lie."""
    where: Location
    """The place where it is declared."""
    strategy: Strategy
    """How its rows reach the table; what follows from it stands in the last eight fields."""
    query: Query
    """The SQL of its newest version; of a function or an entity only what it reads."""
    fingerprint: Fingerprint
    """The digests of the code of its newest version."""
    depends_on: tuple[str, ...] = ()
    """The models to build first."""
    layout: Layout = Layout()
    """How its files lie."""
    on_schema_change: OnSchemaChange = OnSchemaChange.APPEND
    """What new or missing columns of the query do."""
    columns: tuple[ColumnDoc, ...] = ()
    """What is said of its columns."""
    description: str = ""
    """What it is, for people."""
    tags: tuple[str, ...] = ()
    """Tags for `--select tag:…`."""
    config: Mapping[str, str] = field(default_factory=dict)
    """Its settings as they were written, for catalogues."""
    versions: tuple[Version, ...] = ()
    """Its dated versions; never empty with partitions, and empty for what has none."""
    immutable: bool = False
    """Whether SQL that built something may not change."""
    checks: Checks = Checks()
    """Those of its newest version."""
    order_after: tuple[str, ...] = ()
    """Models that only its checks read: they are built first in the same run."""
    function: PythonFunction | None = None
    """The function that makes its rows."""
    entity: Entity | None = None
    """The entity that makes its rows."""
    outside: str = ""
    """The text behind the checksum of its settings, where files or variables are among them."""
    partition: PartitionSettings | None = field(init=False, repr=False, compare=False)
    """How it is cut into partitions, None for a model that is one."""
    history: HistorySettings | None = field(init=False, repr=False, compare=False)
    """How it keeps versions of its rows, None where it keeps none."""
    is_view: bool = field(init=False, repr=False, compare=False)
    """Whether nothing is stored for it."""
    writing: Writing = field(init=False, repr=False, compare=False)
    """How the rows of its steps come into its table."""
    keeps_history: bool = field(init=False, repr=False, compare=False)
    """Whether it keeps rows that no run could make again."""
    strategy_name: str = field(init=False, repr=False, compare=False)
    """The word that users write."""
    grid: Grid = field(init=False, repr=False, compare=False)
    """The partitions that there are."""
    hides_rows: bool = field(init=False, repr=False, compare=False)
    """Whether a new table of it has deletion vectors."""

    def __post_init__(self) -> None:
        """Ask the strategy once; every step of the model is told by these."""
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
        """Everything that any of its versions reads or declares to depend on."""
        bodies = (body for version in self.versions for body in version.bodies)
        queries = (self.query, *(body.query for body in bodies))
        return tuple(dict.fromkeys(name for query in queries for name in query.inputs))

    def with_bodies(self, change: Callable[[Body], Body]) -> Model:
        """Return the model with every SQL of its versions changed."""
        versions = tuple(
            replace(each, body=change(each.body), revisions=tuple(map(change, each.revisions)))
            for each in self.versions
        )
        return replace(self, versions=versions)

    def checks_of(self, version: int) -> Checks:
        """Return the checks of one version; without versions there is one set."""
        return next((v.checks for v in self.versions if v.number == version), self.checks)

    @property
    def all_checks(self) -> tuple[Check, ...]:
        """The checks of all versions, in their order."""
        sets = [each.checks for each in self.versions] or [self.checks]
        return tuple(check for each in sets for check in each.all)

    @property
    def is_unpinned(self) -> bool:
        """Whether nobody can tell when what it gives changes: it reads what nothing names."""
        return self.function is not None and not self.query.inputs

    @property
    def shown_strategy(self) -> str:
        """What people call its strategy."""
        return self.strategy.shown_name or self.strategy_name

    @property
    def input_name(self) -> InputName:
        """Its name as an input of other models."""
        return InputName(InputKind.MODEL, self.name)


def kind_of(model: Model) -> str:
    """Say what makes the rows of a model: `sql`, `python`, `entity` or `sessions`."""
    if model.strategy.by_passes:
        return "sessions"
    if model.entity is not None:
        return "entity"
    return "sql" if model.function is None else "python"


@dataclass(frozen=True, slots=True)
class SourceFreshness:
    """How old the newest row of a source may be."""

    column: str
    warn_after: dt.timedelta | None = None
    error_after: dt.timedelta | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A table or files that penstock reads and does not build.

    `path` is a URI or an absolute path; it is "" for a table of the Spark catalog. With
    `may_be_delta` it is read as a Delta table if it is one, and in its format if not.
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

    @property
    def is_delta(self) -> bool:
        """Whether its versions are those of a Delta log."""
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
