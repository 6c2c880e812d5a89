"""What alembic runs; `config.attributes["connection"]` is a connection in a transaction."""

from __future__ import annotations

from alembic import context

from penstock.state.schema import metadata
from penstock.state.sql import rows as rows  # noqa: PLC0414  its table is part of it


def run() -> None:
    """Run the migrations inside the caller's transaction."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # the name under which alembic loads this file; others only look at it
    run()
