"""The current tables of the state store; migrations/ upgrades older ones.

penstock assigns every number that identifies a row, never the database, so that an exported
document can be loaded anywhere. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from penstock.core.check_results import Sample
from penstock.core.checks.check import CheckScope, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.findings import Location, Severity
from penstock.core.partitions.partition import Span
from penstock.core.partitions.ranges import Ranges
from penstock.core.records import Status
from penstock.core.sessions.manifest import LogVersion, PassEvents, PassKind, RebuildRequest
from penstock.core.steps.inputs import Pin
from penstock.core.steps.step import Intent, StepKind
from penstock.core.steps.token import Keys
from penstock.state.columns import (
    MaskedText,
    PackedText,
    UtcTime,
    Value,
    counts,
    document,
    grid,
    key,
    known_counts,
    masked,
    needed,
    texts,
    words,
)
from penstock.state.transitions.model_state import RecordedChecks

REVISION = "0008"  # the newest file under migrations/versions; a test compares
FORMAT = 1
Metrics = Mapping[str, Any]  # counts; what others wrote is not looked at

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


project = Table(
    "project",
    metadata,
    Column("store_id", Text, primary_key=True),
    Column("format_version", Integer, nullable=False),
    *needed("name", "target", "penstock"),
    # Drawn anew whenever the store may have forgotten something, so it is never exported.
    Column("epoch", Text, nullable=False, server_default="", info={"drawn": True}),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    *needed("command"),
    *masked("arguments"),
    *needed("target"),
    Column("run_timestamp", UtcTime, nullable=False),
    *needed("host", "user"),
    Column("pid", BigInteger, nullable=False),
    Column("started", UtcTime, nullable=False),
    Column("ended", UtcTime),
    *words(status=Status),
)

models = Table(
    "models",
    metadata,
    key("id"),
    Column("name", Text, nullable=False, unique=True),
    grid(),  # of the partitions on record
)

steps = Table(
    "steps",
    metadata,
    key("step_seq"),
    Column("id", Text, nullable=False, unique=True),
    Column("run", Text, nullable=False),  # no foreign key: a rebuilt step's run is only a name
    Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
    *needed("target"),
    *words(kind=StepKind),
    Column("slice", Text),  # its name; NULL: it reads none
    grid(),
    *words(partitions=Keys),
    document("intent", Intent, needed=True),
    Column("lease_token", BigInteger, nullable=False),
    *words(status=Status),
    *masked("reason"),
    Column("run_date", Date, nullable=False),
    Column("executed_by", Text, nullable=False),
    Column("recovered", Boolean, nullable=False),
    Column("started", UtcTime, nullable=False),
    Column("ended", UtcTime),
    Column("table_id", Text),
    Column("commit_version", BigInteger),
    Column("settled_version", BigInteger),
    Column("undone_by", BigInteger),  # the rollback after which it is as if it never ran
    document("checked", RecordedChecks),  # what its checks decided; NULL: none recorded
    document("pending", Ranges),  # partitions whose checks are still to be made
    *counts("rows_written", "rows_inserted", "rows_updated", "rows_deleted"),
    Column("rows_late", BigInteger),
    *counts("rows_null_time", "bytes_written", "duration_ms"),
    Column("metrics", Value(Metrics, as_json=True), nullable=False, default=dict),
    *texts("error_code", "error_message", "error_where", "error_hint", kind=MaskedText),
    Index(None, "model_id", "step_seq"),
    Index(None, "run"),
    Index(None, "status"),
    Index(None, "pending"),
    Index(None, "model_id", "pending"),
    Index(None, "model_id", "slice", "step_seq"),
)

step_inputs = Table(
    "step_inputs",
    metadata,
    Column("step_seq", BigInteger, ForeignKey("steps.step_seq"), primary_key=True),
    Column("input", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("table_id", Text, nullable=False),  # of files: the digest of their listing
    Column("pinned_version", BigInteger, nullable=False),
)

fingerprints = Table(
    "fingerprints",
    metadata,
    key("id"),
    Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
    *texts("version", "revision"),
    Column("effective_from", Date),
    *needed("sql_checksum", "canonical_checksum", "settings_checksum", "layout_checksum"),
    *texts("schema_checksum", "yaml_checksum", "schema_json", "parser_version"),
    Index(None, "model_id", "sql_checksum"),
)

contents = Table(
    "contents",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("text", PackedText, nullable=False),
)

partition_state = Table(
    "partition_state",
    metadata,
    Column("model_id", BigInteger, ForeignKey("models.id"), primary_key=True),
    key("ord"),
    *needed("partition"),
    *words(status=Status),
    Column("fingerprint_id", BigInteger, ForeignKey("fingerprints.id")),
    Column("step_seq", BigInteger, ForeignKey("steps.step_seq")),
    Column("last_step_seq", BigInteger, ForeignKey("steps.step_seq"), nullable=False),
    Column("commit_version", BigInteger),
    Column("settled_version", BigInteger),
    Column("executed_at", UtcTime),
    *counts("execution_time_ms"),
    *known_counts("rows_written", "bytes_written"),
    Index(  # all that `partitions` asks for, so that a million rows are counted without them
        "ix_partition_state_groups",
        "model_id",
        "fingerprint_id",
        "status",
        "step_seq",
        "ord",
        "commit_version",
        "settled_version",
    ),
)

execution_history = Table(
    "execution_history",
    metadata,
    Column("id", Text, primary_key=True),
    Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
    Column("ord", BigInteger, nullable=False),
    Column("partition", Text, nullable=False),
    Column("step_seq", BigInteger, ForeignKey("steps.step_seq"), nullable=False),
    Column("fingerprint_id", BigInteger, ForeignKey("fingerprints.id"), nullable=False),
    Column("executed_at", UtcTime, nullable=False),
    *counts("execution_time_ms"),
    *known_counts("rows_written", "bytes_written"),
    *words(status=Status),
    *texts("error_code", "error_message", kind=MaskedText),
    *needed("triggered_by", "executed_by"),
    Index(None, "model_id", "step_seq"),
    Index(None, "model_id", "ord", "step_seq"),
)

check_results = Table(
    "check_results",
    metadata,
    key("batch"),  # what was recorded together
    key("number"),
    Column("run", Text, nullable=False),
    Column("step_seq", BigInteger, ForeignKey("steps.step_seq")),  # NULL: `penstock check`
    Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
    *words(phase=Phase),
    *needed("name", "type"),
    *words(severity=Severity, status=CheckStatus, partitions=Keys),
    *masked("message"),
    Column("details", MaskedText),
    document("values", tuple[GroupValue, ...], needed=True, masked=True),
    Column("failures", BigInteger),
    document("sample", Sample, masked=True),
    Column("error", MaskedText),
    *words(scope=CheckScope),
    Column("version", BigInteger),
    Column("definition", Text, nullable=False),
    Column("started", UtcTime, nullable=False),
    *counts("duration_us"),
    document("where", Location),
    Index(None, "model_id", "batch", "number"),
    Index(None, "model_id", "name", "batch", "number"),
    Index(None, "model_id", "definition", "status"),
)

flags = Table(
    "flags",
    metadata,
    Column("step_seq", BigInteger, ForeignKey("steps.step_seq"), primary_key=True),
    key("ord"),
    Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
    Column("partition", Text, nullable=False),
    document("checks", tuple[str, ...], needed=True),
    Column("version", BigInteger),
    Column("opened", UtcTime, nullable=False),
    Column("closed", UtcTime),
    *texts("why", "who"),
    Index(None, "closed", "model_id"),
)

quarantines = Table(
    "quarantines",
    metadata,
    Column("step_seq", BigInteger, ForeignKey("steps.step_seq"), primary_key=True),
    Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
    *needed("uri", "table"),
    document("failed", Ranges, needed=True),
    *counts("rows"),
    Column("expires", UtcTime, nullable=False),
    Column("dropped", UtcTime),
)

target_state = Table(
    "target_state",
    metadata,
    Column("target", Text, primary_key=True),
    Column("table_id", Text, nullable=False),
    Column("seen_version", BigInteger),
    *texts("partition_field", "partition_type"),
    Column("high_time", UtcTime),  # the greatest run timestamp of the steps that wrote it
)

seen_tables = Table(
    "seen_tables",
    metadata,
    Column("name", Text, primary_key=True),
    Column("table_id", Text, nullable=False),
    Column("seen_version", BigInteger, nullable=False),
)

table_commits = Table(
    "table_commits",
    metadata,
    Column("name", Text, ForeignKey("seen_tables.name"), primary_key=True),
    key("version"),
    Column("table_id", Text, nullable=False),
    *texts("step", "store"),
    Column("operation", Text, nullable=False),
    *texts("user"),
    Column("time", UtcTime, nullable=False),
    document("spans", Mapping[str, tuple[Span, ...] | None], needed=True),
)

watermarks = Table(
    "watermarks",
    metadata,
    key("id"),  # the newest row of a model's input and column counts
    Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
    *needed("input", "column"),
    Column("value", Text),  # NULL: reset
    Column("set_at", UtcTime, nullable=False),
    *texts("step", "who", "why"),
    Index(None, "model_id", "input", "column", "id"),
)

session_manifest = Table(
    "session_manifest",
    metadata,
    Column("package", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("last_success", UtcTime),
    Column("covered_to", UtcTime),
    Column("advanced_to", UtcTime),
    *texts("fingerprint", "run"),
    Column("updated_at", UtcTime),
    document("late_to", Mapping[str, LogVersion]),  # NULL: unknown
)

session_runs = Table(
    "session_runs",
    metadata,
    Column("package", Text, primary_key=True),
    key("seq"),
    Column("kind", Value(PassKind), primary_key=True),
    *needed("run"),
    *words(status=Status),
    Column("state", Integer, nullable=False),
    Column("lower_limit", UtcTime, nullable=False),
    Column("upper_limit", UtcTime, nullable=False),
    Column("now", UtcTime, nullable=False),
    document("pins", Mapping[str, Pin], needed=True),
    document("events", PassEvents),  # NULL: they were never built
    Column("caught_up", Boolean, nullable=False),
    Column("future_events", Boolean),
    Column("started", UtcTime),
    Column("ended", UtcTime),
    document("rebuild", RebuildRequest),
)

session_releases = Table(
    "session_releases",
    metadata,
    Column("package", Text, primary_key=True),
    Column("session", Text, primary_key=True),
    Column("asked_at", UtcTime, nullable=False),
    *texts("who"),
)

session_tables = Table(
    "session_tables",
    metadata,
    Column("package", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("overwrites", Boolean, nullable=False),  # its next commit replaces all rows
    *counts("stitched_seq"),  # the run up to which its rows take the mapping of users
)

slice_skips = Table(
    "slice_skips",
    metadata,
    key("id"),  # the newest row of a model's slice counts
    Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
    *needed("name"),
    Column("skips", Boolean, nullable=False),
    *texts("why", "who"),
    Column("at", UtcTime, nullable=False),
    Column("last_step_seq", BigInteger, nullable=False),  # steps above it came later
    Index(None, "model_id", "name", "id"),
)

leases = Table(
    "leases",
    metadata,
    Column("target", Text, primary_key=True),
    Column("token", BigInteger, nullable=False),  # stays when nobody holds the target
    Column("run", Text),  # NULL: free, and so are the columns below
    Column("host", Text),
    Column("pid", BigInteger),
    Column("acquired", UtcTime),
    Column("heartbeat", UtcTime),
    Column("expires", UtcTime),
    *texts("process"),
    Index(None, "run"),
)

revisions = Table(  # alembic's own, which no document holds
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
