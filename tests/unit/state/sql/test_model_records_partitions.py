"""A million partitions are counted from an index, and people read views."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import event

from contracts.store_cases import HERE, LEASE, OURS, days, intent, succeed, wrote
from penstock.core.model import Fingerprint
from penstock.state.open import open_store

MARK = Fingerprint("sql-2", "canonical-2", version=2, revision=1, schema="schema-2")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "state.db"


@pytest.fixture
def store(file, clock):
    store = open_store(f"sqlite:///{file}", identity=OURS, clock=clock, lease=LEASE)
    yield store
    store.close()


@pytest.mark.parametrize("question", ["partitions", "models"])
def test_partitions_of_all_models_are_read_from_an_index_alone(store, question):
    succeed(store, days("step-1", "orders", (1, 3)))
    succeed(store, intent("step-2", "lines"))
    engine = store.records._database._engine
    plans = []

    def explain(connection, cursor, statement, parameters, *rest):
        if statement.startswith(("SELECT", "WITH")):
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.extend(row[3] for row in cursor.fetchall())

    event.listen(engine, "before_cursor_execute", explain)
    getattr(store.records, question)()

    scans = {plan for plan in plans if plan.startswith("SCAN partition_state")}
    assert scans == {"SCAN partition_state USING COVERING INDEX ix_partition_state_groups"}
    assert not [plan for plan in plans if plan.startswith("SCAN steps")]


def view(file, name):
    with closing(sqlite3.connect(file)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(f"SELECT * FROM {name}")]


def test_a_view_tells_what_built_each_partition(file, store):
    step = days("step-1", "orders", (1, 2), fingerprint=MARK)
    store.journal.begin(step, {}, HERE, None)
    store.journal.finish("step-1", wrote(4))

    (first, second) = view(file, "partition_state_full")
    assert first == {
        "model": "orders",
        "partition": "1970-01-02",
        "version": 2,
        "sql_revision": 1,
        "effective_from": None,
        "sql_checksum": "sql-2",
        "canonical_checksum": "canonical-2",
        "settings_checksum": "",
        "layout_checksum": "",
        "schema_checksum": "schema-2",
        "yaml_checksum": "",
        "upstream_states": '{"raw.orders":4}',
        "executed_at": "2024-03-01 12:00:00.000000",
        "execution_time_ms": 250,
        "rows_written": None,
        "bytes_written": None,
        "status": "SUCCESS",
        "step_seq": 1,
        "last_step_seq": 1,
        "commit_version": 4,
        "settled_version": 4,
    }
    assert second == first | {"partition": "1970-01-03"}


def test_a_view_tells_every_execution_of_each_partition(file, store):
    succeed(store, days("step-1", "orders", (1, 1), fingerprint=MARK))
    succeed(store, days("step-2", "orders", (1, 2)))

    told = [
        (row["partition"], row["version"], row["sql_revision"], row["rows_written"])
        for row in view(file, "execution_history_full")
    ]
    assert told == [
        ("1970-01-02", 2, 1, 3),
        ("1970-01-02", 1, None, None),
        ("1970-01-03", 1, None, None),
    ]


def test_a_schema_is_told_by_the_text_under_its_checksum(file, store):
    text = json.dumps([{"name": "id", "type": "INT"}])
    first = days("step-1", "orders", (1, 1), fingerprint=MARK)
    other = replace(MARK, schema="schema-3")
    store.journal.begin(first, {"schema-2": text}, HERE, None)
    store.journal.begin(days("step-2", "orders", (2, 2), fingerprint=other), {}, HERE, None)
    store.journal.begin(
        days("step-3", "orders", (2, 2), fingerprint=other), {"schema-3": "[]"}, HERE, None
    )

    assert [row["schema_json"] for row in view(file, "fingerprints")] == [text, "[]"]
