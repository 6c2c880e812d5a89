"""The shape of every YAML file and of config headers, as pydantic models.

They say which keys exist and what their values look like; what the values mean together is decided
where they are used. The JSON Schemas for editors come from here too.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from penstock.core.strategy import strategies
from penstock.project.settings.validation import (
    Checks,
    ColumnTests,
    Count,
    Days,
    Duration,
    GrainWord,
    Lookback,
    Materialized,
    OnFailureWord,
    Prefix,
    Scalar,
    SchemaName,
    Tests,
    Text,
    Texts,
    Whole,
    duration,
    words,
)


class StrictShape(BaseModel):
    """No key but those listed."""

    model_config = ConfigDict(extra="forbid")


class EntryShape(StrictShape):
    """What every entry of a list may say of itself."""

    name: str
    description: str | None = None
    tags: Texts = []
    meta: dict[str, Any] = {}


class ColumnShape(EntryShape):
    """What a document says of a column."""

    data_type: str | None = None
    type: str | None = None
    tests: ColumnTests = []
    data_tests: ColumnTests = []


class SystemColumnsShape(StrictShape):
    """How columns that penstock adds are named."""

    prefix: Prefix = "_ps_"
    case: Annotated[str, words("snake", "pascal")] = "snake"


class RetentionShape(StrictShape):
    """Which old versions of a row are removed."""

    keep_last: Count | None = None
    keep_days: Count | None = None


class SnapshotShape(StrictShape):
    """The settings of a history table; all of them may stand beside the others of a model, too."""

    strategy: Annotated[str, words("timestamp", "check")] | None = None
    unique_key: Texts = []
    primary_key: Texts = []
    updated_at: Texts = []
    updated_at_column: Texts = []
    updated_at_columns: Texts = []
    check_cols: Texts = []
    check_columns: Texts = []
    valid_from: Annotated[str, words("run_timestamp", "updated_at")] = "run_timestamp"
    compare_rows: bool = False
    hard_deletes: Annotated[str, words("ignore", "invalidate", "new_record")] = "ignore"
    invalidate_hard_deletes: bool = False
    null_updated_at: Annotated[str, words("error", "ignore_row")] = "error"
    null_keys: Annotated[str, words("error", "match")] = "error"
    allow_empty: bool = False
    row_hash: bool = False
    retention: RetentionShape | None = None
    layout: Annotated[str, words("current", "plain")] = "current"
    system_columns: SystemColumnsShape = SystemColumnsShape()


class NestedSnapshotShape(SnapshotShape):
    """The settings of a history table under `snapshot`."""

    materialized: Annotated[str, words("snapshot")] = "snapshot"


class ModelConfigShape(SnapshotShape):
    """The settings of a model, in a header, beside it or under `defaults`."""

    materialized: Materialized = "view"
    snapshot: NestedSnapshotShape | None = None
    schema_: str | None = Field(None, alias="schema")
    alias: str | None = None
    tags: Texts = []
    partition_by: Texts = []
    partition_type: GrainWord = "DAY"
    partition_start: Whole | None = None
    partition_end: Whole | None = None
    partition_interval: Count | None = None
    start: Text | None = None
    ready_after: Duration | None = None
    batch_size: Count | None = None
    cluster_by: Texts = []
    layout: Annotated[str, words("auto", "partitioned", "clustered", "current", "plain")] = "auto"
    table_properties: dict[str, Scalar] = {}
    deletion_vectors: bool | None = None
    description: str | None = None
    comment: str | None = None
    time_column: str | None = None
    lookback: Lookback | None = None
    window: Literal["none"] | None = None
    window_on: dict[str, str | None] = {}
    null_watermark: Literal["error", "include_first", "drop_counted"] = "error"
    string_watermark: bool = False
    overwrite: Literal["all", "partitions"] = "all"
    on_schema_change: Literal["append", "fail", "ignore", "sync"] = "append"
    on_duplicate: Literal["error", "latest"] = "error"
    order_by: Texts = []
    depends_on: Texts = []
    version: Text | None = None
    meta: dict[str, Any] = {}
    columns: list[ColumnShape] = []
    enabled: bool = True

    @model_validator(mode="before")
    @classmethod
    def _leave_to_strategies(cls, tree: Any) -> Any:  # noqa: ANN401  what the user wrote
        """Leave out what only a strategy knows, which reads it itself (decision 19)."""
        if not isinstance(tree, dict):
            return tree
        known = {*cls.model_fields, "schema"}
        own = {key for each in strategies().values() for key in each.settings - known}
        return {key: value for key, value in tree.items() if key not in own}


class HeaderShape(ModelConfigShape):
    """The settings of one model in its header, or in the `config` of its entry."""

    checks: Checks = None
    invariants: Checks = None
    on_failure: Annotated[Any, WithJsonSchema({"enum": ["flag", "block", "rollback"]})] = None


class CheckedEntryShape(EntryShape):
    """An entry with columns and checks."""

    columns: list[ColumnShape] = []
    tests: Tests = []
    data_tests: Tests = []
    checks: Checks = None
    invariants: Checks = None


class DocumentedModelShape(CheckedEntryShape):
    """One entry of `models:`; dbt's shape."""

    config: HeaderShape = HeaderShape()


class SnapshotConfigShape(HeaderShape):
    """The settings of an entry of `snapshots:`."""

    materialized: Annotated[str, words("snapshot")] = "snapshot"
    layout: Annotated[str, words("current", "plain")] = "current"


class SnapshotEntryShape(DocumentedModelShape):
    """One entry of `snapshots:`, a model of its own; dbt's shape, or a query."""

    relation: str | None = None
    sql: str | None = None
    config: SnapshotConfigShape = SnapshotConfigShape()


class PeriodShape(StrictShape):
    """A duration as dbt writes it."""

    count: Annotated[int, Field(ge=0)]
    period: Literal["minute", "hour", "day"]


class FreshnessShape(StrictShape):
    """How old the newest row of a source may be."""

    column: str | None = None
    warn_after: Annotated[PeriodShape | str | None, BeforeValidator(duration)] = None
    error_after: Annotated[PeriodShape | str | None, BeforeValidator(duration)] = None


class SourceTableShape(CheckedEntryShape):
    """One table of a source."""

    path: str | None = None
    format: str | None = None
    options: dict[str, Scalar] = {}
    freshness: FreshnessShape | None = None
    loaded_at_field: str | None = None
    partition_column: str | None = None


class SourceShape(EntryShape):
    """A schema of tables that penstock reads and does not build."""

    tables: list[SourceTableShape] = []
    format: str | None = None
    freshness: FreshnessShape | None = None
    loaded_at_field: str | None = None


class SeedConfigShape(StrictShape):
    """How a seed is loaded."""

    column_types: dict[str, str] = {}
    schema_: str | None = Field(None, alias="schema")
    alias: str | None = None
    tags: Texts = []


class SeedShape(StrictShape):
    """One entry of `seeds:`."""

    name: str
    description: str | None = None
    columns: list[ColumnShape] = []
    config: SeedConfigShape = SeedConfigShape()
    tests: Tests = []
    data_tests: Tests = []


class ModelsFileShape(StrictShape):
    """A YAML file under models/: descriptions of SQL models, snapshots, sources, seeds."""

    version: int | None = None
    models: list[DocumentedModelShape] = []
    snapshots: list[SnapshotEntryShape] = []
    sources: list[SourceShape] = []
    seeds: list[SeedShape] = []


class SparkShape(StrictShape):
    """How the Spark session of a target starts."""

    master: str = "local[*]"
    driver_memory: str = "2g"
    conf: dict[str, Scalar] = {}
    keep_warm: Duration | None = None


class EntitiesShape(StrictShape):
    """Settings of entities."""

    environment: dict[str, Any] = {}


class TargetShape(StrictShape):
    """An environment."""

    spark: SparkShape = SparkShape()
    warehouse: str = "warehouse"
    catalog: str | None = None
    schema_prefix: str | None = ""
    state: str = "sqlite"
    entities: EntitiesShape = EntitiesShape()


class LeaseShape(StrictShape):
    """How long a silent run keeps its targets."""

    length: Duration = "60s"
    heartbeat: Duration = "10s"


class SyncShape(StrictShape):
    """Limits of `penstock sync`."""

    max_partitions: Annotated[int, Field(ge=1)] = 500


class ChecksShape(StrictShape):
    """What holds for the checks of every model."""

    on_failure: OnFailureWord = "flag"
    sample: bool = True
    quarantine_days: Days = 7
    staging_schema: SchemaName = "penstock_staging"


class ProjectShape(StrictShape):
    """penstock.yml."""

    name: Text
    version: Literal[1, "1"] = 1
    models: list[str] = ["models"]
    vars: dict[str, Any] = {}
    defaults: ModelConfigShape = ModelConfigShape()
    system_columns: SystemColumnsShape = SystemColumnsShape()
    checks: ChecksShape = ChecksShape()
    threads: Annotated[int, Field(ge=1)] = 4
    immutable: bool = False
    sync: SyncShape = SyncShape()
    session_paths: list[str] = ["sessions"]
    entities: EntitiesShape = EntitiesShape()
    lease: LeaseShape = LeaseShape()
    state_patience: Duration = "5m"
    targets: dict[str, TargetShape] = {}
