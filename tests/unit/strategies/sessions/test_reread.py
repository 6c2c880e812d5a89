"""Old sessions as SQL: which rows are late, which sessions are read again, between which times."""

import datetime as dt
from dataclasses import replace

import pytest
import sqlglot

from fakes.session_sql import a_run
from fakes.session_world import at
from penstock.core.sessions.manifest import RebuildRequest
from penstock.core.sessions.options import LateRows, SessionTable
from penstock.strategies.sessions import this_run, users, window
from penstock.strategies.sessions.events import Reread
from penstock.strategies.sessions.reread import (
    late_counts,
    late_stages,
    rebuild_stages,
    spans_of,
)

DAYS = "2021-01-01,2021-01-02,2021-03-01"
RANGE = RebuildRequest(dt.date(2021, 1, 1), dt.date(2021, 1, 2))


def statements(*, rebuilds, maps=True, **keys):
    """Give every statement that reads old sessions, by name."""
    keys = {"late_loaded": LateRows.TAKE, "partition_column": "day", **keys}
    base = replace(a_run(**keys), head=at("02-01"))
    stages = (
        rebuild_stages(base, RANGE, maps=maps)
        if rebuilds
        else late_stages(base, at("01-01 20:00"), maps=maps)
    )
    run = replace(base, reread=Reread(spans_of(DAYS), rebuilds, maps))
    found = {each.view: each.passing.sql for each in stages}
    found |= {
        "late": late_counts(base, at("01-01 20:00")),
        "groups": window.window_groups(run),
        "known": window.known_sessions(run),
        "changes": window.lifecycle_changes(run),
        "touched": window.touched_sessions(run),
        "held": this_run.quarantine_rows(run),
        "candidates": this_run.event_candidates(run, at("01-01")),
    }
    for part in (SessionTable.PAGE_VIEWS, SessionTable.USERS, SessionTable.USER_MAPPING):
        rows = users.rows_of(run, part)
        found[part] = users.replacement(run, part, rows, ["2021-01-01"])
    return found


@pytest.mark.parametrize("rebuilds", [True, False])
@pytest.mark.parametrize("maps", [True, False])
@pytest.mark.parametrize("rule", ["earliest_event", "latest_event", "first_run"])
def test_every_statement_is_one_query(rebuilds, maps, rule):
    for name, sql in statements(rebuilds=rebuilds, maps=maps, user_of_session=rule).items():
        assert len(sqlglot.parse(sql, dialect="spark")) == 1, name


def test_days_of_old_sessions_are_ranges_for_files_and_partitions():
    sql = statements(rebuilds=False)["groups"]

    for low, high in (("2021-01-01", "2021-01-02"), ("2021-03-01", "2021-03-01")):
        ends = f"TIMESTAMP '{low}T00:00:00.000000Z'", f"TIMESTAMP '{high}T23:59:59.999999Z'"
        assert f"OR `collector_tstamp` BETWEEN {ends[0]} AND {ends[1]}" in sql
        days = f"date_sub(DATE({ends[0]}), 1) AND date_add(DATE({ends[1]}), 1)"
        assert f"OR `day` BETWEEN {days}" in sql


def test_very_many_ranges_become_one():
    days = [dt.date(2021, 1, 1) + dt.timedelta(days=2 * n) for n in range(61)]

    (only,) = spans_of(",".join(map(str, days)))

    assert [str(each.date()) for each in only] == ["2021-01-01", "2021-05-01"]
    assert spans_of("") == ()


def test_only_a_rebuild_forgets_what_was_known_and_deletes():
    late, again = statements(rebuilds=False), statements(rebuilds=True)

    assert "true AS gone" in again["changes"]
    assert "true AS gone" not in late["changes"]
    assert "least(n_start, old_start)" in late["known"]
    assert "least(n_start, old_start)" not in again["known"]
    assert "penstock_replaced_sessions" in again[SessionTable.USERS]
    assert "penstock_replaced_sessions" not in late[SessionTable.USERS]


def test_a_closed_session_with_an_earlier_start_is_taken_only_if_late_rows_are():
    take = statements(rebuilds=False)["known"]
    counted = window.known_sessions(a_run())

    assert "OR is_again OR n_start <= old_start + INTERVAL '3' DAY" in take
    assert "n_start <= old_start" not in counted
