"""Checks: their results, flags on rows that failed them, quarantines."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
RESULT_INDEXES = (
    ("model_id", "batch", "number"),
    ("model_id", "name", "batch", "number"),
    ("model_id", "definition", "status"),
)


def upgrade() -> None:
    """Add columns and tables; no step on record had checks."""
    for name in ("checked", "pending"):
        op.add_column("steps", sa.Column(name, sa.Text(), nullable=True))
    _index("steps", "pending")
    _index("steps", "model_id", "pending")
    _index("execution_history", "model_id", "ord", "step_seq")
    _check_results()
    _flags()
    _quarantines()


def _check_results() -> None:
    op.create_table(
        "check_results",
        _key("batch"),
        _key("number"),
        _text("run"),
        sa.Column("step_seq", sa.BigInteger(), nullable=True),
        sa.Column("model_id", sa.BigInteger(), nullable=False),
        *(_text(name) for name in ("phase", "name", "type", "severity", "status")),
        _text("partitions"),
        _text("message"),
        sa.Column("details", sa.Text(), nullable=True),
        _text("values"),
        sa.Column("failures", sa.BigInteger(), nullable=True),
        sa.Column("sample", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        _text("scope"),
        sa.Column("version", sa.BigInteger(), nullable=True),
        _text("definition"),
        sa.Column("started", MOMENT, nullable=False),
        _count("duration_us"),
        sa.Column("where", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("batch", "number", name="pk_check_results"),
        _to("check_results", "step_seq", "steps.step_seq"),
        _to("check_results", "model_id", "models.id"),
    )
    for columns in RESULT_INDEXES:
        _index("check_results", *columns)


def _flags() -> None:
    op.create_table(
        "flags",
        _key("step_seq"),
        _key("ord"),
        sa.Column("model_id", sa.BigInteger(), nullable=False),
        _text("partition"),
        _text("checks"),
        sa.Column("version", sa.BigInteger(), nullable=True),
        sa.Column("opened", MOMENT, nullable=False),
        sa.Column("closed", MOMENT, nullable=True),
        sa.Column("why", sa.Text(), server_default="", nullable=False),
        sa.Column("who", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("step_seq", "ord", name="pk_flags"),
        _to("flags", "step_seq", "steps.step_seq"),
        _to("flags", "model_id", "models.id"),
    )
    _index("flags", "closed", "model_id")


def _quarantines() -> None:
    op.create_table(
        "quarantines",
        _key("step_seq"),
        sa.Column("model_id", sa.BigInteger(), nullable=False),
        _text("uri"),
        _text("table"),
        _text("failed"),
        _count("rows"),
        sa.Column("expires", MOMENT, nullable=False),
        sa.Column("dropped", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("step_seq", name="pk_quarantines"),
        _to("quarantines", "step_seq", "steps.step_seq"),
        _to("quarantines", "model_id", "models.id"),
    )


def _key(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), autoincrement=False, nullable=False)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _to(table: str, column: str, key: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [key], name=f"fk_{table}_{column}")


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns), unique=False)
