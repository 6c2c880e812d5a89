"""Epochs of a store, and which process exactly holds a lease."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add both columns; the first epoch is named after the store, and no lease says its process."""
    for table, name in (("project", "epoch"), ("leases", "process")):
        op.add_column(table, sa.Column(name, sa.Text(), nullable=False, server_default=""))
    op.execute("UPDATE project SET epoch = store_id")
