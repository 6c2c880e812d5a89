"""The first schema: runs, steps, partitions, history, watermarks, leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and the two views for people."""
    _contents()
    _leases()
    _models()
    _project()
    _runs()
    _target_state()
    _fingerprints()
    _steps()
    _watermarks()
    _execution_history()
    _partition_state()
    _step_inputs()
    op.execute(PARTITION_STATE_FULL)
    op.execute(EXECUTION_HISTORY_FULL)


def _contents() -> None:
    op.create_table(
        "contents",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_contents"),
    )


def _leases() -> None:
    op.create_table(
        "leases",
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("run", sa.Text(), nullable=True),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("pid", sa.BigInteger(), nullable=True),
        sa.Column("acquired", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heartbeat", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("target", name="pk_leases"),
    )
    op.create_index("ix_leases_run", "leases", ["run"], unique=False)


def _models() -> None:
    op.create_table(
        "models",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_models"),
        sa.UniqueConstraint("name", name="uq_models_name"),
    )


def _project() -> None:
    op.create_table(
        "project",
        sa.Column("store_id", sa.Text(), nullable=False),
        sa.Column("format_version", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("penstock", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name="pk_project"),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("run_timestamp", sa.DateTime(timezone=True), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )


def _target_state() -> None:
    op.create_table(
        "target_state",
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("seen_version", sa.BigInteger(), nullable=True),
        sa.Column("partition_field", sa.Text(), server_default="", nullable=False),
        sa.Column("partition_type", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("target", name="pk_target_state"),
    )


def _fingerprints() -> None:
    op.create_table(
        "fingerprints",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("model_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Text(), server_default="", nullable=False),
        sa.Column("revision", sa.Text(), server_default="", nullable=False),
        sa.Column("effective_from", sa.Date(), nullable=True),
        sa.Column("sql_checksum", sa.Text(), nullable=False),
        sa.Column("canonical_checksum", sa.Text(), nullable=False),
        sa.Column("settings_checksum", sa.Text(), nullable=False),
        sa.Column("layout_checksum", sa.Text(), nullable=False),
        sa.Column("schema_checksum", sa.Text(), server_default="", nullable=False),
        sa.Column("yaml_checksum", sa.Text(), server_default="", nullable=False),
        sa.Column("schema_json", sa.Text(), server_default="", nullable=False),
        sa.Column("parser_version", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_fingerprints_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_fingerprints"),
    )
    op.create_index(
        "ix_fingerprints_model_id_sql_checksum",
        "fingerprints",
        ["model_id", "sql_checksum"],
        unique=False,
    )


def _steps() -> None:
    op.create_table(
        "steps",
        sa.Column("step_seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("model_id", sa.BigInteger(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("partitions", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=False),
        sa.Column("lease_token", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("run_date", sa.Date(), nullable=False),
        sa.Column("executed_by", sa.Text(), nullable=False),
        sa.Column("recovered", sa.Boolean(), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.Column("table_id", sa.Text(), nullable=True),
        sa.Column("commit_version", sa.BigInteger(), nullable=True),
        sa.Column("settled_version", sa.BigInteger(), nullable=True),
        sa.Column("rows_written", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rows_inserted", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rows_updated", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rows_deleted", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rows_late", sa.BigInteger(), nullable=True),
        sa.Column("rows_null_time", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("bytes_written", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("duration_ms", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("metrics", sa.Text(), nullable=False),
        sa.Column("error_code", sa.Text(), server_default="", nullable=False),
        sa.Column("error_message", sa.Text(), server_default="", nullable=False),
        sa.Column("error_where", sa.Text(), server_default="", nullable=False),
        sa.Column("error_hint", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_steps_model_id"),
        sa.PrimaryKeyConstraint("step_seq", name="pk_steps"),
        sa.UniqueConstraint("id", name="uq_steps_id"),
    )
    _step_indexes()


def _step_indexes() -> None:
    op.create_index("ix_steps_model_id_step_seq", "steps", ["model_id", "step_seq"], unique=False)
    op.create_index("ix_steps_run", "steps", ["run"], unique=False)
    op.create_index("ix_steps_status", "steps", ["status"], unique=False)


def _watermarks() -> None:
    op.create_table(
        "watermarks",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("model_id", sa.BigInteger(), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("column", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("step", sa.Text(), server_default="", nullable=False),
        sa.Column("who", sa.Text(), server_default="", nullable=False),
        sa.Column("why", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_watermarks_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_watermarks"),
    )
    op.create_index(
        "ix_watermarks_model_id_input_column_id",
        "watermarks",
        ["model_id", "input", "column", "id"],
        unique=False,
    )


def _execution_history() -> None:
    op.create_table(
        "execution_history",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("model_id", sa.BigInteger(), nullable=False),
        sa.Column("ord", sa.BigInteger(), nullable=False),
        sa.Column("partition", sa.Text(), nullable=False),
        sa.Column("step_seq", sa.BigInteger(), nullable=False),
        sa.Column("fingerprint_id", sa.BigInteger(), nullable=False),
        sa.Column("executed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_time_ms", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rows_written", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("bytes_written", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error_code", sa.Text(), server_default="", nullable=False),
        sa.Column("error_message", sa.Text(), server_default="", nullable=False),
        sa.Column("triggered_by", sa.Text(), nullable=False),
        sa.Column("executed_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["fingerprint_id"], ["fingerprints.id"], name="fk_execution_history_fingerprint_id"
        ),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_execution_history_model_id"),
        sa.ForeignKeyConstraint(
            ["step_seq"], ["steps.step_seq"], name="fk_execution_history_step_seq"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_execution_history"),
    )
    op.create_index(
        "ix_execution_history_model_id_step_seq",
        "execution_history",
        ["model_id", "step_seq"],
        unique=False,
    )


def _partition_state() -> None:
    op.create_table(
        "partition_state",
        sa.Column("model_id", sa.BigInteger(), nullable=False),
        sa.Column("ord", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("partition", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("fingerprint_id", sa.BigInteger(), nullable=True),
        sa.Column("step_seq", sa.BigInteger(), nullable=True),
        sa.Column("last_step_seq", sa.BigInteger(), nullable=False),
        sa.Column("commit_version", sa.BigInteger(), nullable=True),
        sa.Column("settled_version", sa.BigInteger(), nullable=True),
        sa.Column("executed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("execution_time_ms", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rows_written", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("bytes_written", sa.BigInteger(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["fingerprint_id"], ["fingerprints.id"], name="fk_partition_state_fingerprint_id"
        ),
        sa.ForeignKeyConstraint(
            ["last_step_seq"], ["steps.step_seq"], name="fk_partition_state_last_step_seq"
        ),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_partition_state_model_id"),
        sa.ForeignKeyConstraint(
            ["step_seq"], ["steps.step_seq"], name="fk_partition_state_step_seq"
        ),
        sa.PrimaryKeyConstraint("model_id", "ord", name="pk_partition_state"),
    )


def _step_inputs() -> None:
    op.create_table(
        "step_inputs",
        sa.Column("step_seq", sa.BigInteger(), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("pinned_version", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["step_seq"], ["steps.step_seq"], name="fk_step_inputs_step_seq"),
        sa.PrimaryKeyConstraint("step_seq", "input", name="pk_step_inputs"),
    )


PARTITION_STATE_FULL = """
CREATE VIEW partition_state_full AS
SELECT
    m.name AS "model", p."partition", f.version, f.revision AS sql_revision, f.effective_from,
    f.sql_checksum, f.canonical_checksum, f.settings_checksum, f.layout_checksum,
    f.schema_checksum, f.yaml_checksum,
    p.executed_at, p.execution_time_ms, p.rows_written, p.bytes_written, p.status,
    p.step_seq, p.last_step_seq, p.commit_version, p.settled_version
FROM partition_state p
JOIN models m ON m.id = p.model_id
LEFT JOIN fingerprints f ON f.id = p.fingerprint_id
"""

EXECUTION_HISTORY_FULL = """
CREATE VIEW execution_history_full AS
SELECT
    h.id, m.name AS "model", h."partition", f.version, f.revision AS sql_revision,
    f.sql_checksum, f.canonical_checksum, f.settings_checksum, f.layout_checksum,
    f.schema_checksum,
    h.executed_at, h.execution_time_ms, h.rows_written, h.bytes_written, h.status,
    h.error_code, h.error_message, h.triggered_by, h.executed_by, h.step_seq
FROM execution_history h
JOIN models m ON m.id = h.model_id
JOIN fingerprints f ON f.id = h.fingerprint_id
"""
