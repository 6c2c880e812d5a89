"""The keys of files of models, each declared once: models, history tables, sources and seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.core.beside.exposures import EXPOSURE_TYPES, Access
from penstock.project.files.kinds import DURATION, TEXT, exact_word, whole
from penstock.project.files.nodes import Section
from penstock.project.files.sections import TEXTS, PartKind, each_of, key, node_as, subsection
from penstock.project.files.values import duration_of
from penstock.project.settings.model_keys import (
    CHECKS,
    COLUMNS,
    CONSTRAINTS,
    DocumentedColumnSection,
    HeaderSection,
)
from penstock.project.settings.validation import (
    SCALARS,
    STRING,
    STRINGS,
    SWITCH,
    TESTS,
    TEXT_OR_NULL,
    TREE,
    StrictSection,
    nullable,
    spelt,
)


class TestedEntrySection(StrictSection):
    """What entries say of themselves that have tests."""

    description = key(TEXT_OR_NULL, "All orders.")
    """What it is, for people."""
    data_tests = key(TESTS, [])
    """Tests of the whole table as dbt writes them."""
    tests = key(TESTS, [])
    """Same as `data_tests`."""


class CheckedEntrySection(TestedEntrySection):
    """What entries say of themselves that have checks."""

    checks = key(CHECKS, [{"type": "row_count", "min": 1}])
    """What must hold, see [checks](checks.md)."""
    invariants = key(CHECKS, [{"type": "row_count", "min": 1}])
    """Same as `checks`."""
    tags = key(TEXTS, ["daily"])
    """Tags for `--select tag:…`."""
    meta = key(TREE, {"owner": "finance"})
    """Your own metadata, copied to the artifacts."""


class VersionColumnSection(DocumentedColumnSection):
    """A column of one version of a model, or which columns of the model it has."""

    definition = "version_column"
    name = key(nullable(STRING), "id", "`include` says which")
    """The column."""
    include = key(TEXTS, "all")
    """Which columns of the model the version has: `all`, or a list."""
    exclude = key(TEXTS, ["country"])
    """Which of them it does not have."""


class ModelVersionSection(TestedEntrySection):
    """One version of a model, as dbt writes it."""

    definition = "model_version"
    v = key(TEXT, "2", needed=True)
    """The version: a number or a word."""
    defined_in = key(nullable(STRING), "orders_new", "`NAME_vN`")
    """The name of its file without `.sql`."""
    config = key(subsection(HeaderSection), {"materialized": "table"})
    """[Settings](models.md#settings) that differ from those of the model."""
    columns = key(
        each_of(VersionColumnSection, "columns"), [{"include": "all", "exclude": ["country"]}]
    )
    """Its columns: those of the model that it has, and its own."""
    deprecation_date = key(TEXT_OR_NULL, "2026-12-31")
    """Until when it is there; for people."""


class DocumentedModelSection(CheckedEntrySection):
    """One entry of `models:`; dbt's shape."""

    definition = "documented_model"
    name = key(STRING, "orders", needed=True)
    """The name of the file without `.sql`, or of the function."""
    config = key(subsection(HeaderSection), {"materialized": "table"})
    """[Settings](models.md#settings) of the model; its header wins."""
    columns = key(COLUMNS, [{"name": "id", "type": "BIGINT", "data_tests": ["unique"]}])
    """Its [columns](models.md#a-column)."""
    constraints = key(CONSTRAINTS, [{"type": "check", "expression": "amount >= 0"}])
    """What its rows must meet, with a [contract](models.md#a-contract)."""
    latest_version = key(nullable(TEXT), "2", "the greatest")
    """The version that `ref` without a version means."""
    versions = key(each_of(ModelVersionSection, "versions"), [{"v": "1"}, {"v": "2"}])
    """Its [versions](models.md#versions-of-a-model), a file each."""
    group = key(TEXT_OR_NULL, "finance")
    """Same as `group` in `config`."""
    access = key(nullable(exact_word(*Access)), "private", "`protected`")
    """Same as `access` in `config`."""


class SnapshotConfigSection(HeaderSection):
    """The settings of an entry of `snapshots:`."""

    definition = "snapshot_config"
    materialized = key(exact_word("snapshot"), "snapshot", default="snapshot")
    """Says that the model is a snapshot; `snapshot` is the only word."""
    layout = key(exact_word("current", "plain", "dbt"), "plain", default="current")
    """`current` has current and closed versions apart, `plain` has not, and `dbt` has the
    columns of dbt.
    """


class SnapshotEntrySection(DocumentedModelSection):
    """One entry of `snapshots:`, a model of its own; dbt's shape, or a query."""

    definition = "snapshot_entry"
    name = key(STRING, "orders_history", needed=True)
    """The name of the history table."""
    config = key(
        subsection(SnapshotConfigSection),
        {"strategy": "check", "unique_key": "id", "check_cols": "all"},
    )
    """[Settings](models.md#history-tables) of the history table."""
    relation = key(TEXT_OR_NULL, "ref('orders')", "`sql`, or a file of that name")
    """What it keeps the history of: `ref(…)` or `source(…)`, with all columns."""
    sql = key(
        TEXT_OR_NULL,
        "select id, price from {{ ref('orders') }}",
        "`relation`, or a file of that name",
    )
    """The query that it keeps the history of, a template."""


class PeriodSection(StrictSection):
    """A duration as dbt writes it."""

    definition = "period"
    count = key(whole(0), 12, needed=True)
    """How many."""
    period = key(exact_word("minute", "hour", "day"), "hour", needed=True)
    """Of what."""


def _age(section: Section, name: str) -> object:
    is_period = isinstance(section.members[name].value, Mapping)
    return PERIOD.take(section, name) if is_period else section.read(name, DURATION)


PERIOD = subsection(PeriodSection)
AGE: PartKind[object] = PartKind(
    DURATION.expected, duration_of, DURATION.schema, None, take=_age, inner=PeriodSection
)
"""A duration, as a text or as dbt writes it."""


class FreshnessSection(StrictSection):
    """How old the newest row of a source may be."""

    definition = "freshness"
    column = key(TEXT_OR_NULL, "loaded_at", "`loaded_at_field`")
    """The column that says when a row came."""
    warn_after = key(AGE, "12 hours", "never")
    """After so long it is a warning."""
    error_after = key(AGE, {"count": 2, "period": "day"}, "never")
    """After so long it is an error."""


FRESHNESS = nullable(subsection(FreshnessSection))


class SourceTableSection(CheckedEntrySection):
    """One table of a source."""

    definition = "source_table"
    name = key(STRING, "orders", needed=True)
    """The table."""
    identifier = key(TEXT_OR_NULL, "orders_v2", "its name")
    """The name of the table where it is kept, if `source()` calls it by another one."""
    path = key(
        TEXT_OR_NULL,
        "../landing/orders",
        "Delta: `warehouse/schema/name`; with `catalog`: its name there",
    )
    """The folder, or the file, that holds it, seen from this YAML file."""
    format = key(TEXT_OR_NULL, "csv", "that of the source, else `delta`")
    """`delta`, or what Spark reads: `parquet`, `csv`, `json`, `orc`, `text`."""
    options = key(SCALARS, {"header": True, "sep": ";"})
    """Options of Spark's reader."""
    columns = key(COLUMNS, [{"name": "id", "type": "BIGINT"}], "Spark looks")
    """Its columns; their types are those that it is read with."""
    freshness = key(FRESHNESS, {"column": "loaded_at", "warn_after": "1 day"}, "that of the source")
    """How old its newest row may be."""
    loaded_at_field = key(TEXT_OR_NULL, "loaded_at", "that of the source")
    """The column that says when a row came."""
    partition_column = key(TEXT_OR_NULL, "day")
    """A column that its files are partitioned by, which says which partitions of a model new
    files are about.
    """
    checks = key(CHECKS, [{"type": "row_count", "min": 1}])
    """What must hold of it before a model reads it."""


class SourceSection(StrictSection):
    """A schema of tables that penstock reads and does not build."""

    definition = "source"
    name = key(STRING, "raw", needed=True)
    """Its name in `source()`."""
    schema = key(TEXT_OR_NULL, "erp_raw", "its name")
    """The schema of the tables."""
    tables = key(
        each_of(SourceTableSection, "tables"), [{"name": "orders", "path": "../landing/orders"}]
    )
    """The [tables](#a-table-of-a-source)."""
    format = key(TEXT_OR_NULL, "csv", "`delta`")
    """Format of the tables, unless one sets its own."""
    freshness = key(FRESHNESS, {"warn_after": "1 day"})
    """How old the newest rows of its tables [may be](#freshness)."""
    loaded_at_field = key(TEXT_OR_NULL, "loaded_at")
    """The column that says when a row came, for `freshness`."""
    description = key(TEXT_OR_NULL, "What the shop delivers.")
    """What it is, for people."""
    tags = key(TEXTS, ["shop"])
    """For people and the artifacts."""
    meta = key(TREE, {"owner": "shop"})
    """Your own metadata, copied to the artifacts."""


class SeedConfigSection(StrictSection):
    """How a seed is loaded."""

    definition = "seed_config"
    column_types = key(STRINGS, {"code": "STRING", "people": "BIGINT"}, "what the values suggest")
    """Column → type in Spark."""
    schema = key(TEXT_OR_NULL, "lookup", "the folder under `seeds/`, else the project's name")
    """The schema of the table, without `schema_prefix`."""
    alias = key(TEXT_OR_NULL, "all_countries", "the name of the file")
    """The name of the table."""
    tags = key(TEXTS, ["lookup"])
    """For people and the artifacts."""


class SeedSection(TestedEntrySection):
    """One entry of `seeds:`."""

    definition = "seed"
    name = key(STRING, "countries", needed=True)
    """The name of the file without `.csv` or `.parquet`."""
    config = key(subsection(SeedConfigSection), {"column_types": {"code": "STRING"}})
    """[How it is loaded](#settings-of-a-seed)."""
    columns = key(
        COLUMNS,
        [{"name": "code", "type": "STRING"}],
        "the file's, with the types that its values suggest",
    )
    """Its columns, with types where `column_types` says none."""


class GroupSection(StrictSection):
    """One entry of `groups:`."""

    definition = "group"
    name = key(STRING, "finance", needed=True)
    """Its name, which `group` of a model has."""
    owner = key(TREE, {"name": "Finance", "email": "finance@example.com"})
    """Who answers for its models: `name`, `email`, and keys of your own."""
    description = key(TEXT_OR_NULL, "Everything about money.")
    """What it is, for people."""


class ExposureConfigSection(StrictSection):
    """The settings of an exposure."""

    definition = "exposure_config"
    enabled = key(SWITCH, example=False, default=True)
    """Whether it is part of the project."""
    tags = key(TEXTS, ["daily"])
    """Its tags."""
    meta = key(TREE, {"tool": "Superset"})
    """Your own metadata, copied to the artifacts."""


class ExposureSection(StrictSection):
    """One entry of `exposures:`, a use of models outside of the project."""

    definition = "exposure"
    name = key(spelt(r"[A-Za-z0-9_]+", "letters, digits and _"), "weekly_sales", needed=True)
    """Its name, for `--select +exposure:NAME`."""
    type = key(exact_word(*EXPOSURE_TYPES), "dashboard", needed=True)
    """What it is."""
    owner = key(TREE, {"name": "Finance", "email": "finance@example.com"})
    """Who answers for it: `name`, `email`, and keys of your own."""
    depends_on = key(TEXTS, ["ref('orders')", "source('raw', 'events')"])
    """The models, seeds and sources that it reads, each as `ref(…)` or `source(…)`."""
    label = key(TEXT_OR_NULL, "Weekly sales")
    """Its name for people."""
    url = key(TEXT_OR_NULL, "https://bi.example.com/sales")
    """Where it is."""
    maturity = key(nullable(exact_word("high", "medium", "low")), "high")
    """How much others may rely on it."""
    description = key(TEXT_OR_NULL, "Sales by week.")
    """What it shows, for people."""
    tags = key(TEXTS, ["daily"])
    """Its tags."""
    meta = key(TREE, {"tool": "Superset"})
    """Your own metadata, copied to the artifacts."""
    config = key(subsection(ExposureConfigSection), {"enabled": False})
    """More of its settings, as dbt writes them."""


class ModelsFileSection(StrictSection):
    """A YAML file under models/: descriptions of SQL models, snapshots, sources, seeds."""

    version = key(nullable(whole()), 2)
    """The version of dbt's format; it says nothing here."""
    models = key(
        each_of(DocumentedModelSection, "models"),
        [{"name": "orders", "description": "All orders."}],
    )
    """Descriptions and settings of models that files are of."""
    snapshots = key(
        each_of(SnapshotEntrySection, "snapshots"),
        [
            {
                "name": "orders_history",
                "relation": "ref('orders')",
                "config": {"strategy": "check", "unique_key": "id", "check_cols": "all"},
            }
        ],
    )
    """History tables that YAML says everything of."""
    sources = key(
        each_of(SourceSection, "sources"), [{"name": "raw", "tables": [{"name": "orders"}]}]
    )
    """Tables and files that penstock reads and does not build."""
    seeds = key(
        each_of(SeedSection, "seeds"), [{"name": "countries", "description": "All countries."}]
    )
    """Descriptions and types of files under `seeds/`."""
    exposures = key(
        each_of(ExposureSection, "exposures"),
        [{"name": "weekly_sales", "type": "dashboard", "depends_on": ["ref('orders')"]}],
    )
    """[Uses](../how-to/say-who-uses-models.md) of models outside of the project."""
    groups = key(each_of(GroupSection, "groups"), [{"name": "finance", "owner": {"name": "Ann"}}])
    """[Groups](../how-to/say-who-uses-models.md#groups-and-access) of models with one owner."""
    unit_tests = key(replace(node_as({"type": "array"}), takes_null=True), [])
    """[Unit tests](unit-tests.md) of the models of this file."""
