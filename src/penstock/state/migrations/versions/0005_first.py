"""The first schema that was released, where migrations begin; 0001 to 0004 never were."""

revision = "0005"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Do nothing: a database without tables gets those of the newest schema."""
