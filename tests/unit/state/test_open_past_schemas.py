"""A database of every past schema, with what its penstock wrote, is migrated without loss."""

import datetime as dt
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.store_cases import (
    BROKEN,
    HERE,
    LEASE,
    MARK,
    OURS,
    days,
    failed_gate,
    intent,
    mark,
    run,
    succeed,
    wrote,
)
from fakes.clock import FixedClock
from penstock.core.check_results import RowsBefore
from penstock.core.errors import StateError
from penstock.core.model import Fingerprint
from penstock.core.records import ModelRecord, Status
from penstock.core.steps.inputs import DeltaPin
from penstock.state import open as opening
from penstock.state.open import open_store

PAST = Path(__file__).parent / "past"
ENDED = dt.datetime(2024, 3, 1, 12, 0, 6, tzinfo=dt.UTC)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "state.db"


@pytest.fixture
def migrated(file, clock):
    """Open the database that a file of `past` describes."""
    stores = []

    def migrate(schema):
        with closing(sqlite3.connect(file)) as database:
            database.executescript((PAST / f"{schema}.sql").read_text())
        store = open_store(f"sqlite:///{file}", identity=OURS, clock=clock, lease=LEASE)
        stores.append(store)
        return store

    yield migrate
    for store in stores:
        store.close()


HIGH_TIMES = {
    "cities": dt.datetime(2024, 3, 11, tzinfo=dt.UTC),
    "late": dt.datetime(2024, 3, 4, tzinfo=dt.UTC),
    "orders": dt.datetime(2024, 3, 3, 0, 0, 0, 250, tzinfo=dt.UTC),
    "rebuilt": dt.datetime(2024, 3, 7, tzinfo=dt.UTC),
    "users": dt.datetime(2024, 3, 2, tzinfo=dt.UTC),
    "view": None,
    "visits": dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC),
}
RUNS = [
    (1, 2, Status.SUCCESS, 18),
    (3, 3, Status.FAILED, 24),
    (4, 4, Status.SUCCESS, 19),
    (5, 5, Status.FAILED, 0),
]


def contents(file):
    """Give every row of every table and view."""
    with closing(sqlite3.connect(file)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        return {
            name: database.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in list(names)
        }


def schema(file):
    """Give the columns and indexes of every table and view, in any order."""
    with closing(sqlite3.connect(file)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        return {
            name: (
                {row[1:] for row in database.execute(f'PRAGMA table_info("{name}")')},
                {row[1:4] for row in database.execute(f'PRAGMA index_list("{name}")')},
                {row[2:5] for row in database.execute(f'PRAGMA foreign_key_list("{name}")')},
            )
            for (name,) in list(names)
        }


@pytest.mark.parametrize("name", sorted(each.stem for each in PAST.glob("*.sql")))
def test_migrations_from_every_past_schema_reach_the_same_schema(name, file, migrated, tmp_path):
    fresh = tmp_path / "fresh.db"
    open_store(f"sqlite:///{fresh}", identity=OURS, clock=FixedClock(), lease=LEASE).close()
    migrated(name)

    assert schema(file) == schema(fresh)


@pytest.mark.parametrize(
    ("name", "steps", "partitions", "hooks"),
    [("0005", 24, 11, 0), ("0006", 24, 11, 2), ("0007", 24, 11, 2), ("0008", 24, 11, 2)],
)
def test_a_database_of_a_past_schema_keeps_everything_it_held(
    file, migrated, tmp_path, name, steps, partitions, hooks
):
    untouched = tmp_path / "untouched.db"
    with closing(sqlite3.connect(untouched)) as database:
        database.executescript((PAST / f"{name}.sql").read_text())
    migrated(name)
    before, after = contents(untouched), contents(file)

    assert before == {
        n: before["alembic_version"] if n == "alembic_version" else cut(after[n], before[n])
        for n in before
    }
    assert len(after["steps"]) == steps
    assert len(after["partition_state_full"]) == partitions
    assert len(after["hook_results"]) == hooks


def cut(rows, to):
    """Leave out the columns that came later: they stand last."""
    width = len(to[0]) if to else 0
    return [row[:width] for row in rows] if to else rows


def test_models_of_a_past_schema_read_as_they_were_written(migrated):
    records = migrated("0005").records.models()

    assert {name: record.high_time for name, record in records.items()} == HIGH_TIMES
    assert records["cities"].failure == BROKEN
    assert records["cities"].watermarks == (mark(2),)
    assert records["orders"] == ModelRecord(
        model="orders",
        status=Status.FAILED,
        last_step_seq=6,
        step="step-4",
        step_seq=4,
        fingerprint=MARK,
        table_id="table-orders",
        commit_version=2,
        settled_version=3,
        pins={"raw.orders": DeltaPin("table-raw", 4)},
        watermarks=(mark(7),),
        executed_at=ENDED,
        duration_ms=250,
        rows_written=3,
        bytes_written=30,
        failure=BROKEN,
        high_time=dt.datetime(2024, 3, 3, 0, 0, 0, 250, tzinfo=dt.UTC),
    )


def test_fingerprints_of_a_past_schema_read_as_they_were_written(migrated):
    known = migrated("0005").records.fingerprints()

    assert known[7] == Fingerprint("sql-2", "canonical-2")
    assert {number for number in known if known[number].version == 2} == {9}


def test_a_migrated_database_goes_on_where_it_stood(file, migrated):
    store = migrated("0005")
    number = store.journal.begin(intent("next", "orders"), {}, HERE, None).step_seq
    store.journal.finish("next", wrote(4))

    assert store.records.models()["orders"].step_seq == number
    assert number == max(step[0] for step in contents(file)["steps"])


def test_a_migrated_model_may_be_cut_into_partitions(file, migrated):
    store = migrated("0005")
    succeed(store, days("next", "cities", (1, 3)), version=4)

    assert [(run.low, run.high) for run in store.records.runs("cities")["cities"]] == [(1, 3)]
    assert [row[1] for row in contents(file)["partition_state_full"] if row[0] == "cities"] == [
        "1970-01-02",
        "1970-01-03",
        "1970-01-04",
    ]


def test_partitions_of_a_past_schema_read_as_they_were_written(migrated):
    store = migrated("0005")
    records, checks = store.records, store.checks

    assert [
        (run.low, run.high, run.status, run.step_seq) for run in records.runs("visits")["visits"]
    ] == RUNS
    assert [
        commit.step for commit in store.notes.touched({"mart.visits": 0}).get("mart.visits", ())
    ] == ["step-19", ""]
    assert [flag.partition for flag in checks.flags()] == ["1970-01-04"]
    assert checks.rows_before("visits", ((3, 3),), 9, 24) == RowsBefore({1: 7, 2: 5, 3: 2})


def test_steps_of_a_past_schema_can_be_checked(migrated):
    store = migrated("0005")
    step = days("next", "visits", (4, 4), run="run-9", on_failure="flag")
    holder = replace(HERE, run="run-9")
    store.journal.start_run(run(holder))
    store.journal.begin(step, {}, holder, None)
    store.journal.record_checks("next", failed_gate("1970-01-05"))
    store.journal.finish("next", wrote(4))

    assert [flag.partition for flag in store.checks.flags()] == ["1970-01-04", "1970-01-05"]


def test_a_document_of_a_past_schema_is_imported(migrated, tmp_path, clock):
    document = (PAST / "0008.json").read_text()
    fresh = open_store(f"sqlite:///{tmp_path}/fresh.db", identity=OURS, clock=clock, lease=LEASE)
    fresh.archive.load(document)

    assert fresh.archive.export() == document
    assert fresh.records.models() == migrated("0008").records.models()
    fresh.close()


def test_hooks_of_a_past_schema_are_due_as_they_were(migrated):
    (due,) = migrated("0006").hooks.due()

    assert (due.model, due.step, due.text) == ("users", "step-7", "optimise mart.users")
    assert (due.failure.code, due.failure.where) == ("hook-failed", "models/users.sql:1")


def test_rows_that_templates_read_are_kept(migrated):
    (rows,) = migrated("0007").notes.template_rows().values()

    assert rows.rows == (("card",), (None,))


@pytest.mark.parametrize("revision", ["0001", "0002", "0003", "0004"])
def test_a_schema_that_was_never_released_is_refused(file, migrated, clock, revision):
    migrated("0005").close()
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = ?", (revision,))

    with pytest.raises(StateError) as caught:
        open_store(f"sqlite:///{file}", identity=OURS, clock=clock, lease=LEASE)

    assert caught.value.render() == (
        f"error: state-too-old: sqlite:///{file} was written before penstock's first release "
        f"(schema {revision})\n"
        "  hint: move it away and run penstock state rebuild"
    )


def test_every_past_schema_has_a_database_here():
    schemas = sorted(file.stem[:4] for file in opening.SCRIPTS.glob("versions/0*.py"))

    assert sorted(file.stem for file in PAST.glob("*.sql")) == schemas
