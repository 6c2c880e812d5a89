"""The keys of versioned models, each declared once."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from penstock.core.beside.exposures import Access
from penstock.core.partitions.partition import Grain
from penstock.project.files.kinds import DATE, DURATION, FLAG, TEXT, ValueKind, whole, word
from penstock.project.files.nodes import Section, YamlNode
from penstock.project.files.sections import (
    MAPPING,
    OBJECT,
    TEXTS,
    KeyedSection,
    PartKind,
    key,
    node_as,
    nodes,
    refer,
    subsection,
)
from penstock.project.files.values import Plain
from penstock.project.settings.check_keys import CHECKS
from penstock.project.settings.strategy import LAYOUTS, VERSIONED
from penstock.project.settings.validation import GRANTS, HooksSection

UNITS = ("day", "week", "month", "year")
RANGES = ("auto", "same", *UNITS, "all")
_GRAINS = tuple(grain.value for grain in Grain if grain is not Grain.WHOLE)
_LIST: Plain = {"type": "array"}
_CHECKS: Plain = {"anyOf": [CHECKS, {"type": ["object", "array", "string"]}]}
_PROSE: ValueKind[str] = replace(
    TEXT, parse=lambda value: None if (text := TEXT.parse(value)) is None else text.strip()
)
_INT: Plain = whole().schema
_N: Plain = [{"name": "n", "type": "INT"}]
_REVISION: Plain = {"revision": 1, "effective_from": "2024-03-15", "sql": "select 2 as n"}
_VERSION: Plain = {
    "version": 1,
    "effective_from": "2024-01-01",
    "sql": "select 1 as n",
    "schema": _N,
}


def _one_or_more(section: Section, name: str) -> tuple[YamlNode, ...]:
    node = section.find(name)
    return () if node is None else node.items if isinstance(node.value, tuple) else (node,)


def _or_text(schema: Plain) -> dict[str, Plain]:
    """Return the schema of what a reference may stand for."""
    return {"anyOf": [schema, TEXT.schema]}


def _list_of(inner: type[KeyedSection], what: str) -> PartKind[tuple[YamlNode, ...]]:
    listed: Plain = {"type": "array", "items": _or_text(refer(inner))}
    return nodes(what, _or_text(listed), inner)


_FIELDS: Plain = {"type": "array", "items": _or_text({"$ref": "#/$defs/field"})}


class FieldSection(KeyedSection):
    """A field of a schema."""

    definition = "field"

    name = key(TEXT, "day", needed=True)
    """The column."""
    type = key(TEXT, "DATE", needed=True)
    """Its type: one of Spark's, or INT64, FLOAT64, BOOL, BYTES, NUMERIC, DATETIME, RECORD, JSON."""
    mode = key(word(("NULLABLE", "REQUIRED", "REPEATED")), "REQUIRED", "`NULLABLE`")
    """`NULLABLE`, `REQUIRED`, or `REPEATED`, which is an array."""
    nullable = key(FLAG, example=False, unset="`true`")
    """`false` is `mode: REQUIRED`."""
    description = key(_PROSE, "The day in UTC.")
    """What it is."""
    fields = key(node_as(_or_text(_FIELDS)), _N)
    """The fields of a RECORD."""


class SchemaChangeSection(KeyedSection):
    """The schema of another version with changes, which are made in this order."""

    definition = "schema_changes"

    base = key(
        node_as({"anyOf": [OBJECT, TEXT.schema, _FIELDS]}), "${{ versions.1.schema }}", needed=True
    )
    """The schema that changes: that of a version, or a list of fields."""
    remove = key(nodes("names", _LIST), ["n"])
    """The fields that go, inner ones by dots."""
    modify = key(nodes("fields", _LIST), [{"name": "n", "type": "BIGINT"}])
    """The keys of fields that change, inner ones by dots."""
    add = key(nodes("fields", _FIELDS), _N)
    """More fields, at the end."""


class CheckListsSection(KeyedSection):
    """The checks of one kind of change, by phase."""

    before = key(node_as(_LIST), ["row_count"])
    """Those before the table is written."""
    after = key(node_as(_LIST), ["row_count"])
    """Those after it is written."""


class CheckChangeSection(KeyedSection):
    """The checks of another version with changes."""

    base = key(node_as(), "${{ versions.1.checks }}", needed=True)
    """The checks that change: those of a version, or written ones."""
    remove = key(node_as(OBJECT), {"after": ["row_count"]})
    """The names of checks that go."""
    modify = key(node_as(OBJECT), {"after": [{"name": "row_count", "min": 2}]})
    """The keys of checks that change."""
    add = key(node_as(OBJECT), {"after": [{"type": "not_null", "column": "n"}]})
    """More checks."""
    on_failure = key(node_as(TEXT.schema), "block", "that of `base`")
    """What a failed gate does."""


class DatedSection(KeyedSection):
    """What versions and revisions say alike; revisions alone have a `reason`."""

    effective_from: dt.date | None
    sql: YamlNode | None
    backfill_since: dt.date | None
    description: str
    reason = ""


class RevisionSection(DatedSection):
    """A correction of a version's SQL."""

    definition = "revision"

    revision = key(whole(1), 1, needed=True)
    """Its number."""
    effective_from = key(DATE, "2024-03-15", needed=True)
    """It is for runs from this date on."""
    sql = key(node_as(TEXT.schema), "select 2 as n", "required", needed=True, aliases=("source",))
    """The corrected query, or the path of a `.sql` file; `source` is the same."""
    backfill_since = key(DATE, "2024-03-10", "all of its version")
    """It is for partitions from this date on alone."""
    reason = key(_PROSE, "Counted robots.")
    """Why."""
    description = key(_PROSE, "Counted robots.")
    """Same as `reason`."""


class VersionSection(DatedSection):
    """A generation of a model."""

    definition = "version"

    version = key(whole(1), 1, needed=True)
    """Its number."""
    effective_from = key(DATE, "2024-01-01", needed=True)
    """It is for partitions from this date on."""
    sql = key(node_as(TEXT.schema), "select 1 as n", "required", needed=True, aliases=("source",))
    """The query, or the path of a `.sql` file; `source` is the same."""
    schema = key(
        node_as(
            {"anyOf": [refer(SchemaChangeSection), TEXT.schema, _FIELDS]},
            SchemaChangeSection,
            FieldSection,
        ),
        _N,
        needed=True,
    )
    """Its [fields](#a-field); or those of another version with [changes](#changes-of-a-schema); or
    `${{ versions.1.schema }}`.
    """
    sql_revisions = key(_list_of(RevisionSection, "revisions"), [_REVISION], aliases=("revisions",))
    """[Corrections](#a-revision) of its SQL; `revisions` is the same."""
    backfill_since = key(DATE, "2024-01-01")
    """It is also for partitions from this date on that were built before."""
    description = key(_PROSE, "Counts events as well.")
    """What is new in it."""
    checks = key(
        node_as(_CHECKS),
        {"after": [{"type": "not_null", "column": "n"}]},
        aliases=("invariants",),
    )
    """What must hold of this version; they replace those of the same name of the model."""


class PartitionSection(KeyedSection):
    """How a table is cut; which bounds it needs is checked where they are read."""

    definition = "partition"

    field = key(TEXT, "date", needed=True)
    """The column that says to which partition a row belongs."""
    type = key(word(_GRAINS), "MONTH", default="DAY")
    """The grain: HOUR, DAY, WEEK, MONTH, YEAR or RANGE."""
    start = key(node_as(_INT), 0, "required there")
    """The first integer of the first partition of a RANGE."""
    end = key(node_as(_INT), 1000, "required there")
    """The end of the last one; it does not belong to it."""
    interval = key(node_as(whole(1).schema), 100, "required there")
    """How many integers one partition of a RANGE holds."""


class DestinationSection(KeyedSection):
    """Where the rows go."""

    definition = "destination"

    dataset = key(TEXT, "stats", "required", needed=True, aliases=("schema",))
    """The schema of the table, without `schema_prefix`; `schema` is the same."""
    table = key(TEXT, "daily_users", "required", needed=True, aliases=("name",))
    """The table; `name` is the same."""
    partition = key(
        replace(
            subsection(PartitionSection),
            inner=None,
            refers_to=(PartitionSection,),
            schema=_or_text(refer(PartitionSection)),
        ),
        {"field": "date", "type": "DAY"},
        "the whole table is the one partition `*`",
    )
    """[How the table is cut](#its-partitions)."""
    cluster = key(TEXTS, ["country"])
    """Columns that Delta clusters by, four at most."""
    deletion_vectors = key(FLAG, example=False, unset="`true` for models with revisions")
    """Whether deletes and merges hide rows instead of rewriting their files; not every reader opens
    such tables.
    """
    layout = key(word(LAYOUTS), "clustered", default="auto")
    """`partitioned` is a folder per value, `clustered` is liquid clustering, `auto` the first for
    dates by day.
    """


class TrailingSection(KeyedSection):
    """The partitions before one, and itself."""

    trailing = key(whole(1), 7, needed=True)
    """How many."""


class DependencySection(KeyedSection):
    """An input, and which range of it a partition reads."""

    definition = "dependency"

    model = key(TEXT, "raw.events", needed=True)
    """A model, seed or source."""
    partitions = key(
        node_as({"anyOf": [word(RANGES).schema, OBJECT]}), "same", "what its SQL shows"
    )
    """Which of its partitions one reads: `auto` is what its SQL shows, `same` the one of the same
    time, `day` to `year` those in it, `{trailing: N}` the N that end with it.
    """
    column = key(TEXT, "date")
    """Of a table without partitions: the column that says to which partition a row belongs."""


_INPUTS: Plain = {"type": "array", "items": {"anyOf": [TEXT.schema, refer(DependencySection)]}}


class VersionedSection(KeyedSection):
    """A versioned model."""

    name = key(TEXT, "daily_users", needed=True)
    """The model's name."""
    description = key(_PROSE, "Users by day.")
    """What it is, for people; it is the comment of the table as well."""
    owner = key(_PROSE, "web team")
    """Who answers for it."""
    tags = key(TEXTS, ["daily"])
    """Tags for `--select tag:…`."""
    meta = key(MAPPING, {"cost": "low"})
    """Your own metadata, copied to the artifacts."""
    hooks = key(subsection(HooksSection), {"after": ["optimize {{ this }}"]})
    """[SQL](../how-to/run-sql-around-models.md) that runs before and after each step of the
    model.
    """
    grants = key(GRANTS, {"select": ["analysts"]}, "those of the catalog stay")
    """Privilege → the users, groups or roles that have it."""
    group = key(_PROSE, "finance")
    """The [group](../how-to/say-who-uses-models.md#groups-and-access) that it belongs to."""
    access = key(word(tuple(Access)), "private", "`protected`")
    """Who may read it: a `private` model only models of its `group`."""
    destination = key(
        node_as(_or_text(refer(DestinationSection)), DestinationSection),
        {"dataset": "stats", "table": "daily_users"},
        needed=True,
    )
    """[Where the rows go](#the-destination), and how they lie."""
    strategy = key(word(VERSIONED), "table", "`partition` with a partition field, else `table`")
    """How it is built."""
    versions = key(_list_of(VersionSection, "versions"), [_VERSION], "required")
    """[Generations](#a-version) of its SQL and columns."""
    start = key(
        node_as({"type": ["string", "integer"]}), "2024-01-01", "the first `effective_from`"
    )
    """Nothing before it is built: a date, or a key of the grain."""
    ready_after = key(DURATION, "2h", "as soon as it begins")
    """So long after its end a partition is due."""
    batch_size = key(whole(1), 7, "31")
    """How many partitions one step builds at most."""
    lookback = key(whole(0), 2)
    """How many partitions before the newest one `run` includes, and builds again if an input
    changed whose versions do not say where.
    """
    immutable = key(FLAG, example=True, unset="that of the project")
    """Whether the SQL of a version that built rows may not change."""
    depends_on = key(
        replace(nodes("names", _INPUTS, DependencySection), take=_one_or_more), ["raw.events"]
    )
    """[Inputs](#an-input), and which range of them a partition reads, beside what its SQL shows."""
    checks = key(
        node_as(_CHECKS), {"before": [{"type": "row_count", "min": 1}]}, aliases=("invariants",)
    )
    """What must hold of every version, see [checks](checks.md)."""
    data_tests = key(node_as(_LIST), [], aliases=("tests",))
    """Tests of the whole table as dbt writes them."""
    columns = key(
        nodes("columns", {"type": "array", "items": OBJECT}),
        [{"name": "n", "data_tests": ["not_null"]}],
    )
    """Columns with [tests of dbt](checks.md#tests-of-dbt)."""
