"""The high time of a table: the greatest run timestamp of the steps that wrote it."""

from __future__ import annotations

import datetime as dt
import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
TARGETS = sa.table("target_state", sa.column("target", sa.Text), sa.column("high_time", MOMENT))
STEPS = sa.table(
    "steps",
    *(sa.column(name) for name in ("target", "step_seq", "kind", "status", "intent", "ended")),
    sa.column("commit_version"),
)


def upgrade() -> None:
    """Add the column; of a table that steps on record wrote it is known at once."""
    op.add_column("target_state", sa.Column("high_time", MOMENT, nullable=True))
    connection = op.get_bind()
    for target, high in _high_times(connection).items():
        row = TARGETS.c.target == target
        connection.execute(sa.update(TARGETS).where(row).values(high_time=high))


def _high_times(connection: sa.Connection) -> dict[str, dt.datetime]:
    """Replay the steps that committed rows; a rebuilt step's place is told by when it ended.

    The run timestamp is that of the intent: a rebuilt step has no row in `runs`.
    """
    wrote = (
        sa.select(STEPS.c.target, STEPS.c.step_seq, STEPS.c.intent)
        .where(
            STEPS.c.status == "SUCCESS",
            STEPS.c.kind.in_(["build", "seed"]),
            STEPS.c.commit_version.is_not(None),
        )
        .order_by(STEPS.c.ended, STEPS.c.step_seq)
    )
    found: dict[str, dt.datetime] = {}
    newest: dict[str, int] = {}
    for target, number, text in connection.execute(wrote):
        intent = json.loads(text)
        moment = dt.datetime.fromisoformat(intent["run_timestamp"]).astimezone(dt.UTC)
        is_late = number < newest.get(target, 0)
        begins_anew = intent["lowers_watermarks"] and not is_late
        found[target] = moment if begins_anew else max(moment, found.get(target, moment))
        newest[target] = max(number, newest.get(target, 0))
    return found
