"""Partitions: grids, what rollbacks undid, noted commits, an index that counts partitions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

COUNTED = ("partition_state", "execution_history")
COUNTS = ("rows_written", "bytes_written")


def upgrade() -> None:
    """Add columns, tables and the index; make the two views anew."""
    op.execute("DROP VIEW partition_state_full")
    op.execute("DROP VIEW execution_history_full")
    for table in ("models", "steps"):
        op.add_column(table, sa.Column("grid", sa.Text(), server_default="*", nullable=False))
    op.add_column("steps", sa.Column("undone_by", sa.BigInteger(), nullable=True))
    for table in COUNTED:
        with op.batch_alter_table(table) as batch:
            for column in COUNTS:
                batch.alter_column(
                    column,
                    existing_type=sa.BigInteger(),
                    existing_server_default="0",
                    nullable=True,
                )
    op.execute("UPDATE fingerprints SET version = '1' WHERE version = ''")
    _noted_commits()
    op.create_index(
        "ix_partition_state_groups",
        "partition_state",
        [
            "model_id",
            "fingerprint_id",
            "status",
            "step_seq",
            "ord",
            "commit_version",
            "settled_version",
        ],
        unique=False,
    )
    pins = PINS[op.get_bind().dialect.name]
    op.execute(PARTITION_STATE_FULL.format(pins=pins))
    op.execute(EXECUTION_HISTORY_FULL)


def _noted_commits() -> None:
    op.create_table(
        "seen_tables",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("seen_version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_seen_tables"),
    )
    op.create_table(
        "table_commits",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), server_default="", nullable=False),
        sa.Column("store", sa.Text(), server_default="", nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), server_default="", nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("spans", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["name"], ["seen_tables.name"], name="fk_table_commits_name"),
        sa.PrimaryKeyConstraint("name", "version", name="pk_table_commits"),
    )


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
