"""What was ever said by checks is found by an index, however much there is."""

import pytest
from sqlalchemy import event

from contracts.store_cases import (
    HERE,
    LEASE,
    OURS,
    check,
    days,
    failed_gate,
    intent,
    passed_gate,
    recover,
    succeed,
    wrote,
)
from penstock.state.open import open_store


@pytest.fixture
def store(tmp_path, clock):
    store = open_store(f"sqlite:///{tmp_path}/state.db", identity=OURS, clock=clock, lease=LEASE)
    succeed(store, days("step-1", "orders", (1, 3)))
    check(store, days("step-2", "orders", (2, 2)), failed_gate("1970-01-03"))
    yield store
    store.close()


def scans(store, ask):
    """Give the tables that a question reads from end to end."""
    tables = ("steps", "check_results", "execution_history", "flags", "quarantines")
    return {
        plan for plan in plans(store, ask) if plan.startswith(tuple(f"SCAN {t}" for t in tables))
    }


def plans(store, ask):
    """Give what SQLite does to answer a question."""
    found = []

    def explain(connection, cursor, statement, parameters, *rest):
        if statement.lstrip().startswith(("SELECT", "WITH")):
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            found.extend(row[3] for row in cursor.fetchall())

    engine = store.checks._database._engine
    event.listen(engine, "before_cursor_execute", explain)
    ask(store.checks)
    event.remove(engine, "before_cursor_execute", explain)
    return found


@pytest.mark.parametrize(
    "ask",
    [
        lambda checks: checks.unsettled(),
        lambda checks: checks.flags(),
        lambda checks: checks.evaluated(),
        lambda checks: checks.checks_of("orders"),
        lambda checks: checks.checks_of("orders", "min_rows", 3),
        lambda checks: checks.newest_of({"orders": 3}),
        lambda checks: checks.rows_before("orders", ((2, 3),), 2, 9),
        lambda checks: checks.rows_before("lines", ((0, 0),), 2, 9),
    ],
    ids=["unsettled", "flags", "evaluated", "checks", "named", "newest", "partitions", "table"],
)
def test_no_question_reads_a_whole_table(store, ask):
    succeed(store, intent("step-3", "lines"))

    assert scans(store, ask) == set()


def test_rows_before_are_asked_in_few_statements(store):
    statements = []
    engine = store.checks._database._engine
    event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    store.checks.rows_before("orders", ((1, 3),), 2, 9)

    assert len([each for each in statements if "execution_history" in each]) == 1


def test_ending_a_step_finds_what_it_closes_by_indexes(store):
    recover(store, days("step-3", "orders", (3, 3), on_failure="flag"))
    store.journal.begin(days("step-4", "orders", (3, 3)), {}, HERE, None)
    store.journal.record_checks("step-4", passed_gate("1970-01-04"))
    found = plans(store, lambda _: store.journal.finish("step-4", wrote(5)))

    assert [plan for plan in found if "pending" in plan] == [
        "SEARCH steps USING INDEX ix_steps_model_id_pending (model_id=? AND pending>?)"
    ]
    assert [plan for plan in found if " flags " in plan] == [
        "SEARCH flags USING INDEX ix_flags_closed_model_id (closed=? AND model_id=?)"
    ]
