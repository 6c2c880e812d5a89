"""Up to which versions models have late events, and what a rebuild of sessions is about."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; what is there already has neither."""
    op.add_column("session_manifest", sa.Column("late_to", sa.Text()))
    op.add_column("session_runs", sa.Column("rebuild", sa.Text()))
