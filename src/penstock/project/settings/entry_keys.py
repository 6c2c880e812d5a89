"""The keys of files of models, each declared once: models, history tables, sources and seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.project.files.kinds import DURATION, exact_word, whole
from penstock.project.files.nodes import Section
from penstock.project.files.sections import TEXTS, PartKind, each_of, key, node_as, subsection
from penstock.project.files.values import duration_of
from penstock.project.settings.model_keys import CHECKS, COLUMNS, HeaderSection
from penstock.project.settings.validation import (
    SCALARS,
    STRING,
    STRINGS,
    TESTS,
    TEXT_OR_NULL,
    TREE,
    StrictSection,
    nullable,
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


class DocumentedModelSection(CheckedEntrySection):
    """One entry of `models:`; dbt's shape."""

    definition = "documented_model"
    name = key(STRING, "orders", needed=True)
    """The name of the file without `.sql`, or of the function."""
    config = key(subsection(HeaderSection), {"materialized": "table"})
    """[Settings](models.md#settings) of the model; its header wins."""
    columns = key(COLUMNS, [{"name": "id", "type": "BIGINT", "data_tests": ["unique"]}])
    """Its [columns](models.md#a-column)."""


class SnapshotConfigSection(HeaderSection):
    """The settings of an entry of `snapshots:`."""

    definition = "snapshot_config"
    materialized = key(exact_word("snapshot"), "snapshot", default="snapshot")
    """Says that the model is a snapshot; `snapshot` is the only word."""
    layout = key(exact_word("current", "plain"), "plain", default="current")
    """`current` has current and closed versions apart, `plain` has not."""


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
    unit_tests = key(replace(node_as({"type": "array"}), takes_null=True), [])
    """[Unit tests](unit-tests.md) of the models of this file."""
