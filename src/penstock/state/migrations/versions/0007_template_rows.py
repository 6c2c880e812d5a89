"""The rows that templates read."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of rows that templates read."""
    op.create_table(
        "template_rows",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("key", "rows")),
        sa.PrimaryKeyConstraint("key", name="pk_template_rows"),
    )
