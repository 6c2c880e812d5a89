"""Bring a database to the newest schema. Imports alembic: import it only when there is need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from penstock.core.errors import StateError

if TYPE_CHECKING:
    from sqlalchemy import Connection

UNRELEASED = ("0001", "0002", "0003", "0004")
SCRIPTS = Path(__file__).parent / "migrations"


def newest(scripts: Path = SCRIPTS) -> str:
    """Give the revision that a migrated database has."""
    return str(ScriptDirectory.from_config(_config(scripts)).get_current_head())


def require_known(revision: str, place: str, scripts: Path = SCRIPTS) -> None:
    """Raise `state-too-new` for a revision that no file of ours describes.

    `state-too-old` for one of those that were given up before the first release.
    """
    if revision in UNRELEASED:
        raise StateError(
            "state-too-old",
            f"{place} was written before penstock's first release (schema {revision})",
            hint="move it away and run penstock state rebuild",
        )
    try:
        ScriptDirectory.from_config(_config(scripts)).get_revision(revision)
    except CommandError as error:
        raise StateError(
            "state-too-new",
            f"{place} was written by a newer penstock (schema {revision})",
            hint="upgrade penstock: pip install --upgrade penstock",
        ) from error


def upgrade(connection: Connection, scripts: Path = SCRIPTS) -> None:
    """Run every migration that is missing inside the connection's transaction."""
    config = _config(scripts)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config(scripts: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    return config
