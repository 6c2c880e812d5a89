"""The first schema: what a state store held when penstock was first released.

Revisions 0001 to 0004 were never released; files and documents of this one say 0005.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Text,
)

if TYPE_CHECKING:
    from sqlalchemy.schema import SchemaItem

revision = "0005"
down_revision = None
branch_labels = None
depends_on = None

TIME = DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables and the two views for people."""
    for name, parts in TABLES.items():
        op.create_table(name, *parts)
    pins = PINS[op.get_bind().dialect.name]
    op.execute(PARTITION_STATE_FULL.format(pins=pins))
    op.execute(EXECUTION_HISTORY_FULL)


def _needed(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False, server_default="") for name in names]


def _counts(*names: str) -> list[Column[int]]:
    return [Column(name, BigInteger, nullable=False, server_default="0") for name in names]


def _known_counts(*names: str) -> list[Column[int]]:
    """Make counts that are NULL where nobody knows them."""
    return [Column(name, BigInteger, server_default="0") for name in names]


def _grid(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="*")


def _key(name: str) -> Column[int]:
    return Column(name, BigInteger, primary_key=True, autoincrement=False)


TABLES: dict[str, tuple[SchemaItem, ...]] = {
    "project": (
        Column("store_id", Text, primary_key=True),
        Column("format_version", Integer, nullable=False),
        *_needed("name", "target", "penstock"),
        Column("epoch", Text, nullable=False, server_default=""),
    ),
    "runs": (
        Column("id", Text, primary_key=True),
        *_needed("command", "arguments", "target"),
        Column("run_timestamp", TIME, nullable=False),
        *_needed("host", "user"),
        Column("pid", BigInteger, nullable=False),
        Column("started", TIME, nullable=False),
        Column("ended", TIME),
        Column("status", Text, nullable=False),
    ),
    "models": (
        _key("id"),
        Column("name", Text, nullable=False, unique=True),
        _grid("grid"),
    ),
    "steps": (
        _key("step_seq"),
        Column("id", Text, nullable=False, unique=True),
        Column("run", Text, nullable=False),
        Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
        *_needed("target", "kind"),
        _grid("grid"),
        *_needed("partitions", "intent"),
        Column("lease_token", BigInteger, nullable=False),
        *_needed("status", "reason"),
        Column("run_date", Date, nullable=False),
        Column("executed_by", Text, nullable=False),
        Column("recovered", Boolean, nullable=False),
        Column("started", TIME, nullable=False),
        Column("ended", TIME),
        Column("table_id", Text),
        Column("commit_version", BigInteger),
        Column("settled_version", BigInteger),
        Column("undone_by", BigInteger),
        Column("checked", Text),
        Column("pending", Text),
        *_counts("rows_written", "rows_inserted", "rows_updated", "rows_deleted"),
        Column("rows_late", BigInteger),
        *_counts("rows_null_time", "bytes_written", "duration_ms"),
        Column("metrics", Text, nullable=False),
        *_texts("error_code", "error_message", "error_where", "error_hint"),
        Index(None, "model_id", "step_seq"),
        Index(None, "run"),
        Index(None, "status"),
        Index(None, "pending"),
        Index(None, "model_id", "pending"),
    ),
    "step_inputs": (
        Column("step_seq", BigInteger, ForeignKey("steps.step_seq"), primary_key=True),
        Column("input", Text, primary_key=True),
        *_needed("kind", "table_id"),
        Column("pinned_version", BigInteger, nullable=False),
    ),
    "fingerprints": (
        _key("id"),
        Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
        *_texts("version", "revision"),
        Column("effective_from", Date),
        *_needed("sql_checksum", "canonical_checksum", "settings_checksum", "layout_checksum"),
        *_texts("schema_checksum", "yaml_checksum", "schema_json", "parser_version"),
        Index(None, "model_id", "sql_checksum"),
    ),
    "contents": (
        Column("hash", Text, primary_key=True),
        Column("text", LargeBinary, nullable=False),
    ),
    "partition_state": (
        Column("model_id", BigInteger, ForeignKey("models.id"), primary_key=True),
        _key("ord"),
        *_needed("partition", "status"),
        Column("fingerprint_id", BigInteger, ForeignKey("fingerprints.id")),
        Column("step_seq", BigInteger, ForeignKey("steps.step_seq")),
        Column("last_step_seq", BigInteger, ForeignKey("steps.step_seq"), nullable=False),
        Column("commit_version", BigInteger),
        Column("settled_version", BigInteger),
        Column("executed_at", TIME),
        *_counts("execution_time_ms"),
        *_known_counts("rows_written", "bytes_written"),
        Index(
            "ix_partition_state_groups",
            "model_id",
            "fingerprint_id",
            "status",
            "step_seq",
            "ord",
            "commit_version",
            "settled_version",
        ),
    ),
    "execution_history": (
        Column("id", Text, primary_key=True),
        Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
        Column("ord", BigInteger, nullable=False),
        Column("partition", Text, nullable=False),
        Column("step_seq", BigInteger, ForeignKey("steps.step_seq"), nullable=False),
        Column("fingerprint_id", BigInteger, ForeignKey("fingerprints.id"), nullable=False),
        Column("executed_at", TIME, nullable=False),
        *_counts("execution_time_ms"),
        *_known_counts("rows_written", "bytes_written"),
        Column("status", Text, nullable=False),
        *_texts("error_code", "error_message"),
        *_needed("triggered_by", "executed_by"),
        Index(None, "model_id", "step_seq"),
        Index(None, "model_id", "ord", "step_seq"),
    ),
    "check_results": (
        _key("batch"),
        _key("number"),
        Column("run", Text, nullable=False),
        Column("step_seq", BigInteger, ForeignKey("steps.step_seq")),
        Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
        *_needed("phase", "name", "type", "severity", "status", "partitions", "message"),
        Column("details", Text),
        Column("values", Text, nullable=False),
        Column("failures", BigInteger),
        Column("sample", Text),
        Column("error", Text),
        Column("scope", Text, nullable=False),
        Column("version", BigInteger),
        Column("definition", Text, nullable=False),
        Column("started", TIME, nullable=False),
        *_counts("duration_us"),
        Column("where", Text),
        Index(None, "model_id", "batch", "number"),
        Index(None, "model_id", "name", "batch", "number"),
        Index(None, "model_id", "definition", "status"),
    ),
    "flags": (
        Column("step_seq", BigInteger, ForeignKey("steps.step_seq"), primary_key=True),
        _key("ord"),
        Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
        *_needed("partition", "checks"),
        Column("version", BigInteger),
        Column("opened", TIME, nullable=False),
        Column("closed", TIME),
        *_texts("why", "who"),
        Index(None, "closed", "model_id"),
    ),
    "quarantines": (
        Column("step_seq", BigInteger, ForeignKey("steps.step_seq"), primary_key=True),
        Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
        *_needed("uri", "table", "failed"),
        *_counts("rows"),
        Column("expires", TIME, nullable=False),
        Column("dropped", TIME),
    ),
    "target_state": (
        Column("target", Text, primary_key=True),
        Column("table_id", Text, nullable=False),
        Column("seen_version", BigInteger),
        *_texts("partition_field", "partition_type"),
        Column("high_time", TIME),
    ),
    "seen_tables": (
        Column("name", Text, primary_key=True),
        Column("table_id", Text, nullable=False),
        Column("seen_version", BigInteger, nullable=False),
    ),
    "table_commits": (
        Column("name", Text, ForeignKey("seen_tables.name"), primary_key=True),
        _key("version"),
        Column("table_id", Text, nullable=False),
        *_texts("step", "store"),
        Column("operation", Text, nullable=False),
        *_texts("user"),
        Column("time", TIME, nullable=False),
        Column("spans", Text, nullable=False),
    ),
    "watermarks": (
        _key("id"),
        Column("model_id", BigInteger, ForeignKey("models.id"), nullable=False),
        *_needed("input", "column"),
        Column("value", Text),
        Column("set_at", TIME, nullable=False),
        *_texts("step", "who", "why"),
        Index(None, "model_id", "input", "column", "id"),
    ),
    "leases": (
        Column("target", Text, primary_key=True),
        Column("token", BigInteger, nullable=False),
        Column("run", Text),
        Column("host", Text),
        Column("pid", BigInteger),
        Column("acquired", TIME),
        Column("heartbeat", TIME),
        Column("expires", TIME),
        *_texts("process"),
        Index(None, "run"),
    ),
}

PINS = {
    "sqlite": "json_group_object(i.input, i.pinned_version)",
    "postgresql": "json_object_agg(i.input, i.pinned_version)",
}

PARTITION_STATE_FULL = """
CREATE VIEW partition_state_full AS
SELECT
    m.name AS "model", p."partition", CAST(f.version AS INTEGER) AS version,
    CAST(NULLIF(f.revision, '') AS INTEGER) AS sql_revision, f.effective_from,
    f.sql_checksum, f.canonical_checksum, f.settings_checksum, f.layout_checksum,
    f.schema_checksum, f.yaml_checksum,
    (SELECT {pins} FROM step_inputs i WHERE i.step_seq = p.step_seq) AS upstream_states,
    p.executed_at, p.execution_time_ms, p.rows_written, p.bytes_written, p.status,
    p.step_seq, p.last_step_seq, p.commit_version, p.settled_version
FROM partition_state p
JOIN models m ON m.id = p.model_id
LEFT JOIN fingerprints f ON f.id = p.fingerprint_id
"""

EXECUTION_HISTORY_FULL = """
CREATE VIEW execution_history_full AS
SELECT
    h.id, m.name AS "model", h."partition", CAST(f.version AS INTEGER) AS version,
    CAST(NULLIF(f.revision, '') AS INTEGER) AS sql_revision,
    f.sql_checksum, f.canonical_checksum, f.settings_checksum, f.layout_checksum,
    f.schema_checksum,
    h.executed_at, h.execution_time_ms, h.rows_written, h.bytes_written, h.status,
    h.error_code, h.error_message, h.triggered_by, h.executed_by, h.step_seq
FROM execution_history h
JOIN models m ON m.id = h.model_id
JOIN fingerprints f ON f.id = h.fingerprint_id
"""
