"""The shape of every YAML file and of config headers, as pydantic models.

They say which keys exist and what their values look like; what the values mean together is decided
where they are used. The JSON Schemas for editors come from here too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

from penstock.project.durations import parse_duration

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue

# Any: pydantic hands over what the user wrote before it is checked.
Scalar = str | int | float | bool
_LATER = {
    "historic": "entities",
    "sessions": "session packages",
}
SUPPORTED = ("view", "table", "append", "merge", "incremental", "partition", "snapshot")
UNKNOWN_WORD = "unknown_word"


def _listed(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return [value] if isinstance(value, str) else value


def _duration(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise ValueError("a duration such as 90m, 36h or 2 days")  # noqa: TRY004  pydantic's way
    try:
        parse_duration(value)
    except ValueError as error:
        raise ValueError("a duration such as 90m, 36h or 2 days") from error
    return value


def _lookback(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return value if isinstance(value, int) and not isinstance(value, bool) else _duration(value)


def _supported(value: str) -> str:
    if value in SUPPORTED:
        return value
    later = _LATER.get(value)
    note = f" ({later} come with a later release)" if later else ""
    raise ValueError(f"one of {', '.join(SUPPORTED)}{note}")


def _text(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


@dataclass(frozen=True, slots=True)
class _Words:
    """One of several words; the finding lists them in its hint."""

    allowed: tuple[str, ...]

    def __get_pydantic_core_schema__(
        self, source: object, inner: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, inner(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, inner: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**inner(schema), "enum": list(self.allowed)}

    def _checked(self, value: str) -> str:
        if value not in self.allowed:
            context = {"allowed": ", ".join(self.allowed)}
            raise PydanticCustomError(UNKNOWN_WORD, "one of {allowed}", context)
        return value


def _grain(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return value.upper() if isinstance(value, str) else value


def _count(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    if isinstance(value, bool):
        raise ValueError("an integer >= 1")  # noqa: TRY004  pydantic's way
    return value


def _prefix(value: str) -> str:
    if not re.fullmatch("[A-Za-z0-9_]*", value):
        raise ValueError("letters, digits and _")
    return value


_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
Texts = Annotated[list[str], BeforeValidator(_listed), WithJsonSchema(_TEXTS)]
Text = Annotated[str, BeforeValidator(_text)]
Duration = Annotated[str, BeforeValidator(_duration), WithJsonSchema({"type": "string"})]
Lookback = Annotated[
    str | int, BeforeValidator(_lookback), WithJsonSchema({"type": ["string", "integer"]})
]
Materialized = Annotated[str, AfterValidator(_supported), WithJsonSchema({"enum": list(SUPPORTED)})]
Count = Annotated[int, BeforeValidator(_count), Field(ge=1)]
Whole = Annotated[int, BeforeValidator(_count)]
GrainWord = Annotated[
    str, BeforeValidator(_grain), _Words(("HOUR", "DAY", "WEEK", "MONTH", "YEAR", "RANGE"))
]
Tests = list[str | dict[str, Any]]


class Shape(BaseModel):
    """No key but those listed."""

    model_config = ConfigDict(extra="forbid")


class ColumnShape(Shape):
    """What a document says of a column."""

    name: str
    description: str | None = None
    data_type: str | None = None
    type: str | None = None
    tests: Tests = []
    data_tests: Tests = []
    tags: Texts = []
    meta: dict[str, Any] = {}


class SystemColumnsShape(Shape):
    """How columns that penstock adds are named."""

    prefix: Annotated[str, AfterValidator(_prefix)] = "_ps_"
    case: Annotated[str, _Words(("snake", "pascal"))] = "snake"


class RetentionShape(Shape):
    """Which old versions of a row are removed."""

    keep_last: Count | None = None
    keep_days: Count | None = None


class SnapshotShape(Shape):
    """The settings of a history table; all of them may stand beside the others of a model, too."""

    strategy: Annotated[str, _Words(("timestamp", "check"))] | None = None
    unique_key: Texts = []
    primary_key: Texts = []
    updated_at: Texts = []
    updated_at_column: Texts = []
    updated_at_columns: Texts = []
    check_cols: Texts = []
    check_columns: Texts = []
    valid_from: Annotated[str, _Words(("run_timestamp", "updated_at"))] = "run_timestamp"
    compare_rows: bool = False
    hard_deletes: Annotated[str, _Words(("ignore", "invalidate", "new_record"))] = "ignore"
    invalidate_hard_deletes: bool = False
    null_updated_at: Annotated[str, _Words(("error", "ignore_row"))] = "error"
    null_keys: Annotated[str, _Words(("error", "match"))] = "error"
    allow_empty: bool = False
    row_hash: bool = False
    retention: RetentionShape | None = None
    layout: Annotated[str, _Words(("current", "plain"))] = "current"
    system_columns: SystemColumnsShape = SystemColumnsShape()


class NestedSnapshotShape(SnapshotShape):
    """The settings of a history table under `snapshot`."""

    materialized: Annotated[str, _Words(("snapshot",))] = "snapshot"


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
    layout: Annotated[str, _Words(("auto", "partitioned", "clustered", "current", "plain"))] = (
        "auto"
    )
    table_properties: dict[str, Scalar] = {}
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
    meta: dict[str, Any] = {}
    columns: list[ColumnShape] = []
    enabled: bool = True


class DocumentedModelShape(Shape):
    """One entry of `models:`; dbt's shape."""

    name: str
    description: str | None = None
    columns: list[ColumnShape] = []
    config: ModelConfigShape = ModelConfigShape()
    tags: Texts = []
    meta: dict[str, Any] = {}
    tests: Tests = []
    data_tests: Tests = []
    checks: list[Any] = []


class SnapshotConfigShape(ModelConfigShape):
    """The settings of an entry of `snapshots:`."""

    materialized: Annotated[str, _Words(("snapshot",))] = "snapshot"
    layout: Annotated[str, _Words(("current", "plain"))] = "current"


class SnapshotEntryShape(DocumentedModelShape):
    """One entry of `snapshots:`, a model of its own; dbt's shape, or a query."""

    relation: str | None = None
    sql: str | None = None
    config: SnapshotConfigShape = SnapshotConfigShape()


class PeriodShape(Shape):
    """A duration as dbt writes it."""

    count: Annotated[int, Field(ge=0)]
    period: Literal["minute", "hour", "day"]


class FreshnessShape(Shape):
    """How old the newest row of a source may be."""

    column: str | None = None
    warn_after: Annotated[PeriodShape | str | None, BeforeValidator(_duration)] = None
    error_after: Annotated[PeriodShape | str | None, BeforeValidator(_duration)] = None


class SourceTableShape(Shape):
    """One table of a source."""

    name: str
    description: str | None = None
    path: str | None = None
    format: str | None = None
    options: dict[str, Scalar] = {}
    columns: list[ColumnShape] = []
    freshness: FreshnessShape | None = None
    loaded_at_field: str | None = None
    partition_column: str | None = None
    tags: Texts = []
    meta: dict[str, Any] = {}
    tests: Tests = []
    data_tests: Tests = []


class SourceShape(Shape):
    """A schema of tables that penstock reads and does not build."""

    name: str
    description: str | None = None
    tables: list[SourceTableShape] = []
    format: str | None = None
    freshness: FreshnessShape | None = None
    loaded_at_field: str | None = None
    tags: Texts = []
    meta: dict[str, Any] = {}


class SeedConfigShape(Shape):
    """How a seed is loaded."""

    column_types: dict[str, str] = {}
    schema_: str | None = Field(None, alias="schema")
    alias: str | None = None
    tags: Texts = []


class SeedShape(Shape):
    """One entry of `seeds:`."""

    name: str
    description: str | None = None
    columns: list[ColumnShape] = []
    config: SeedConfigShape = SeedConfigShape()
    tests: Tests = []
    data_tests: Tests = []


class ModelsFileShape(Shape):
    """A YAML file under models/: descriptions of SQL models, snapshots, sources, seeds."""

    version: int | None = None
    models: list[DocumentedModelShape] = []
    snapshots: list[SnapshotEntryShape] = []
    sources: list[SourceShape] = []
    seeds: list[SeedShape] = []


class SparkShape(Shape):
    """How the Spark session of a target starts."""

    master: str = "local[*]"
    driver_memory: str = "2g"
    conf: dict[str, Scalar] = {}


class TargetShape(Shape):
    """An environment."""

    spark: SparkShape = SparkShape()
    warehouse: str = "warehouse"
    catalog: str | None = None
    schema_prefix: str | None = ""
    state: str = "sqlite"
    entities: dict[str, Any] = {}


class LeaseShape(Shape):
    """How long a silent run keeps its targets."""

    length: Duration = "60s"
    heartbeat: Duration = "10s"


class SyncShape(Shape):
    """Limits of `penstock sync`."""

    max_partitions: Annotated[int, Field(ge=1)] = 500


class ChecksShape(Shape):
    """What a failed check does unless it says so itself."""

    on_failure: str = "flag"


class EntitiesShape(Shape):
    """Settings of entities."""

    environment: dict[str, Any] = {}


class ProjectShape(Shape):
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
    session_paths: list[str] = []
    entities: EntitiesShape = EntitiesShape()
    lease: LeaseShape = LeaseShape()
    targets: dict[str, TargetShape] = {}
