"""T8: a database of every past schema, with what its penstock wrote, is migrated without loss."""

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
from penstock.core.check_results import RowsBefore
from penstock.core.model import Fingerprint
from penstock.core.pin import DeltaPin
from penstock.core.records import ModelRecord, Status
from penstock.state import migrate
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


NEW = {  # columns and tables
    *("high_time", "grid", "undone_by", "seen_tables", "table_commits", "upstream_states"),
    *("checked", "pending", "check_results", "flags", "quarantines"),
    *("epoch", "process"),
}
MADE_ANEW = {"version", "sql_revision"}  # "" became 1 and NULL: the columns of the views


def rows(file, but=NEW | MADE_ANEW):
    """Give every row of every table and view, as pairs of column and value."""
    with closing(sqlite3.connect(file)) as database:
        database.row_factory = sqlite3.Row
        names = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        return {
            name: [
                [pair for pair in zip(row.keys(), row, strict=True) if pair[0] not in but]
                for row in database.execute(f'SELECT * FROM "{name}"')
            ]
            for (name,) in names
            if name not in {"alembic_version", *but}
        }


@pytest.mark.parametrize(
    ("schema", "steps", "partitions"),
    [("0001", 15, 6), ("0002", 17, 6), ("0003", 23, 11), ("0004", 24, 11)],
)
def test_T8_a_database_of_a_past_schema_keeps_everything_it_held(
    file, migrated, schema, steps, partitions
):
    migrated(schema)
    before = rows(file.with_name(f"state.db.{schema}.bak"))

    assert len(before["steps"]) == steps
    assert len(before["partition_state_full"]) == partitions
    assert rows(file) == before


def test_T8_fingerprints_of_schema_0002_are_of_the_only_version_there_was(file, migrated):
    records = migrated("0002").records

    assert records.fingerprints()[7] == Fingerprint("sql-2", "canonical-2")
    assert {mark.version for mark in records.fingerprints().values()} == {1}
    assert {dict(row)["version"] for row in rows(file, but=())["execution_history_full"]} == {1}


def test_T8_models_of_schema_0002_have_no_partitions(migrated):
    records = migrated("0002").records

    assert records.partitions() == {}
    assert records.models()["cities"].failure == BROKEN
    assert records.models()["cities"].watermarks == (mark(2),)
    assert records.models()["cities"].high_time == dt.datetime(2024, 3, 11, tzinfo=dt.UTC)


def test_T8_tables_of_schema_0001_get_the_high_time_of_the_steps_that_wrote_them(migrated):
    records = migrated("0001").records.models()

    assert {name: record.high_time for name, record in records.items()} == {
        "cities": dt.datetime(2024, 3, 8, tzinfo=dt.UTC),
        "late": dt.datetime(2024, 3, 4, tzinfo=dt.UTC),
        "orders": dt.datetime(2024, 3, 3, 0, 0, 0, 250, tzinfo=dt.UTC),
        "rebuilt": dt.datetime(2024, 3, 7, tzinfo=dt.UTC),
        "users": dt.datetime(2024, 3, 2, tzinfo=dt.UTC),
        "view": None,
    }
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


def test_a_migrated_database_goes_on_where_it_stood(file, migrated):
    store = migrated("0001")
    succeed(store, intent("step-16", "orders"), version=4)

    assert store.records.models()["orders"].step_seq == 16
    assert dict(rows(file)["partition_state_full"][0])["commit_version"] == 4


def test_a_migrated_model_may_be_cut_into_partitions(file, migrated):
    store = migrated("0002")
    succeed(store, days("step-18", "cities", (1, 3)), version=4)

    assert [(run.low, run.high) for run in store.records.runs("cities")] == [(1, 3)]
    assert [dict(row)["partition"] for row in rows(file)["partition_state_full"][-3:]] == [
        "1970-01-02",
        "1970-01-03",
        "1970-01-04",
    ]


def test_T8_schema_0003_has_partitions_and_no_checks(migrated):
    store = migrated("0003")
    records, checks = store.records, store.checks

    assert [(run.low, run.high, run.status, run.step_seq) for run in records.runs("visits")] == [
        (1, 2, Status.SUCCESS, 18),
        (3, 3, Status.SUCCESS, 19),
        (4, 4, Status.SUCCESS, 19),
        (5, 5, Status.FAILED, 0),
    ]
    assert [commit.step for commit in store.notes.touched("mart.visits", 0)] == ["step-19", ""]
    assert (checks.unsettled(), checks.flags(), checks.quarantines()) == ((), (), ())
    assert (checks.evaluated(), checks.checks_of("visits")) == ({}, ())
    assert checks.rows_before("visits", ((3, 3),), 9, 24) == RowsBefore({1: 7, 2: 5, 3: 2})


def test_T8_steps_of_schema_0003_can_be_checked(migrated):
    store = migrated("0003")
    step = days("step-24", "visits", (3, 3), run="run-6", on_failure="flag")
    holder = replace(HERE, run="run-6")
    store.journal.start_run(run(holder))
    store.journal.begin(step, {}, holder, None)
    store.journal.record_checks("step-24", failed_gate("1970-01-04"))
    store.journal.finish("step-24", wrote(4))

    assert [flag.partition for flag in store.checks.flags()] == ["1970-01-04"]


def test_T8_a_store_of_schema_0004_begins_its_first_epoch(migrated):
    store = migrated("0004")

    assert store.archive.epoch() == store.archive.store_id()
    assert [flag.partition for flag in store.checks.flags()] == ["1970-01-04"]


def test_every_past_schema_has_a_database_here():
    schemas = sorted(file.stem[:4] for file in migrate.SCRIPTS.glob("versions/0*.py"))

    assert sorted(file.stem for file in PAST.glob("*.sql")) == schemas[:-1]
