"""What came of hooks: SQL beside steps and runs."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of hooks."""
    texts = ("model", "error_code", "error_message", "error_where", "error_hint")
    time = sa.DateTime(timezone=True)
    op.create_table(
        "hook_results",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("run", "step", "moment")),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(texts[0], sa.Text(), server_default="", nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("text", "status")),
        sa.Column("run_timestamp", time, nullable=False),
        sa.Column("started", time),
        sa.Column("duration_ms", sa.BigInteger(), server_default="0", nullable=False),
        *(sa.Column(name, sa.Text(), server_default="", nullable=False) for name in texts[1:]),
        sa.PrimaryKeyConstraint("run", "step", "moment", "number", name="pk_hook_results"),
    )
    op.create_index("ix_hook_results_moment_status", "hook_results", ["moment", "status"])
    op.create_index("ix_hook_results_step", "hook_results", ["step"])
