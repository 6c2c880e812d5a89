"""Migrations: they end at the schema of tables.py, and an old database survives them."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from contracts.store_cases import LEASE, OURS, succeed, with_mark
from penstock.core.errors import StateError
from penstock.state import open as opening
from penstock.state.open import open_store
from penstock.state.schema import REVISION, metadata

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = depends_on = None


def upgrade():
    op.add_column("runs", sa.Column("mood", sa.Text()))
"""


PAST = Path(__file__).parent / "past"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "state.db"


@pytest.fixture
def reopened(file, clock):
    stores = []

    def open_one():
        stores.append(open_store(f"sqlite:///{file}", identity=OURS, clock=clock, lease=LEASE))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def next_schema(tmp_path, monkeypatch):
    """Play the penstock that knows one revision more; gives the place of its last script."""
    scripts = tmp_path / "migrations"
    shutil.copytree(opening.SCRIPTS, scripts)
    monkeypatch.setattr(opening, "SCRIPTS", scripts)
    monkeypatch.setattr(opening, "REVISION", "0009")
    script = scripts / "versions" / "0009_next.py"
    script.write_text(NEXT)
    return script


def columns(file):
    with closing(sqlite3.connect(file)) as database:
        return [row[1] for row in database.execute("PRAGMA table_info(runs)")]


def test_the_newest_script_is_the_revision_that_opening_expects():
    config = Config()
    config.set_main_option("script_location", str(opening.SCRIPTS))

    assert ScriptDirectory.from_config(config).get_current_head() == REVISION


@pytest.mark.parametrize("past", [None, "0005", "0006", "0007", "0008"])
def test_migrations_reach_the_schema_of_the_tables(file, reopened, past):
    if past:
        with closing(sqlite3.connect(file)) as database:
            database.executescript((PAST / f"{past}.sql").read_text())
    reopened()
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        differs = compare_metadata(MigrationContext.configure(connection), metadata)
    engine.dispose()

    assert differs == []


def test_a_migration_keeps_what_was_written_and_a_copy_of_the_old_file(file, reopened, next_schema):
    old = write_with_last_schema(file, reopened, next_schema)
    new = reopened()

    assert new.records.models() == old
    assert "mood" in columns(file)
    assert "mood" not in columns(file.with_name("state.db.0008.bak"))


def test_a_migration_that_fails_leaves_the_database_as_it_was(file, reopened, next_schema):
    write_with_last_schema(file, reopened, next_schema)
    next_schema.write_text(NEXT + "    raise ZeroDivisionError\n")

    with pytest.raises(ZeroDivisionError):
        reopened()

    assert "mood" not in columns(file)
    next_schema.write_text(NEXT)
    reopened()
    assert "mood" in columns(file)


def test_a_database_that_cannot_be_copied_is_not_migrated(file, reopened, next_schema):
    write_with_last_schema(file, reopened, next_schema)
    file.with_name("state.db.0008.bak").mkdir()

    with pytest.raises(StateError) as caught:
        reopened()

    assert caught.value.code == "state-unreachable"
    assert "mood" not in columns(file)


def write_with_last_schema(file, reopened, next_schema):
    opening.REVISION = "0008"
    next_schema.rename(next_schema.with_suffix(".later"))
    store = reopened()
    succeed(store, with_mark(7))
    records = store.records.models()
    store.close()
    next_schema.with_suffix(".later").rename(next_schema)
    opening.REVISION = "0009"
    return records
