"""What each step of a pass runs: nothing, one statement, or the table's first rows."""

from dataclasses import replace

import sqlglot

from fakes.session_sql import a_run
from fakes.session_world import at
from penstock.core.sessions.options import SessionTable
from penstock.strategies.sessions.work import (
    events_work,
    lifecycle_work,
    module_work,
    quarantine_work,
    sessions_work,
    stitch_work,
    touched_dates,
    window_stages,
)
from unit.strategies.builds import a_build

NEW, THERE = a_build(), a_build(table="id int")
DATES = ["2021-01-01"]


def works(run, build):
    """Give the work of every step by its name."""
    found = {
        "lifecycle": lifecycle_work(run, build),
        "quarantine": quarantine_work(run, build),
        "sessions this run": sessions_work(run, build),
        "events": events_work(run, build, at("01-01")),
    }
    for model in run.package.models:
        if model.is_tracked:
            found[str(model.part)] = module_work(run, model.part, build, DATES)
    return found


ROWS = {
    "rows_changed": 3,
    "dates_changed": "2021-01-01,2021-01-02",
    "doubled": 0,
    "sessions_past": 0,
}
NOTHING = {"rows_changed": 0, "dates_changed": "", "doubled": 0, "sessions_past": 0}


def test_each_table_is_made_by_its_first_step_even_without_rows():
    for name, work in works(a_run(), NEW).items():
        commit = work.decide(NOTHING)

        assert commit.sql.startswith("CREATE OR REPLACE TABLE "), name
        assert len(sqlglot.parse(commit.sql, dialect="spark")) == 1, name


def test_tables_that_are_kept_take_rows_in_and_are_left_alone_without_any():
    kept = ("lifecycle", "quarantine", "user_mapping", "page_views", "sessions", "users")
    for name, work in works(a_run(), THERE).items():
        if name in kept:
            assert work.decide(ROWS).sql.startswith("MERGE "), name
            assert work.decide(NOTHING) is None, name
        else:
            assert work.decide(NOTHING).sql.startswith("CREATE OR REPLACE TABLE "), name


def test_the_manifest_is_merged_where_its_rows_lie():
    sql = lifecycle_work(a_run(), THERE).decide(ROWS).sql

    assert "t.start_date IN (DATE '2021-01-01', DATE '2021-01-02')" in sql
    assert lifecycle_work(a_run(), THERE).stages[1].rules[0].code == "duplicate-keys"


def test_the_events_are_read_a_third_time_only_for_sessions_that_go_on_behind_their_cap():
    work = quarantine_work(a_run(), THERE)

    assert [stage.when for stage in work.stages] == ["", "", "sessions_past"]
    reads = ["penstock_events" in stage.passing.sql for stage in work.stages]
    assert reads == [False, False, True]
    assert "USING penstock_quarantine_rows s" in work.decide(ROWS).sql
    assert "USING penstock_changes s" in work.decide({**ROWS, "sessions_past": 2}).sql


def test_events_are_counted_as_they_pass():
    (stage,) = events_work(a_run(), NEW, None).stages

    assert stage.passing.counts["greatest"].startswith("unix_micros(max(")
    assert stage.sql.endswith("WHERE _ps_verdict = 'kept'")


def test_without_a_changed_mapping_nothing_is_stitched():
    work = stitch_work(a_run(), SessionTable.SESSIONS, THERE, 3)

    assert work.decide(NOTHING) is None
    assert work.stages[0].passing.sql.endswith("WHERE changed_seq > 3")
    assert work.decide(ROWS).sql.startswith("MERGE ")


def test_the_window_is_held_and_the_dates_of_a_run_are_one_text():
    window, before = window_stages(a_run())

    assert window.view == "penstock_window"
    assert before.view == "penstock_base_quarantined_sessions_before"
    assert window.passing.counts["window_read"] == "coalesce(sum(read), 0)"
    assert touched_dates(a_run())["dates"].startswith("array_join(array_sort(array_distinct(")
    assert [stage.view for stage in window_stages(a_run(quarantine=False))] == ["penstock_window"]


def test_a_pass_of_few_events_is_planned_once_with_few_partitions():
    small = replace(a_run(), rows=250_000)
    for name, work in works(small, THERE).items():
        commit = work.decide(ROWS)
        confs = {**work.stages[0].confs, **commit.confs}

        assert confs["spark.sql.adaptive.enabled"] == "false", name
        partitions = "1" if commit.sql.startswith("MERGE ") else "3"  # of three rows, or of all
        assert commit.confs["spark.sql.shuffle.partitions"] == partitions, name
    for unknown in (a_run(), replace(a_run(), rows=1_000_001)):
        assert not lifecycle_work(unknown, THERE).stages[0].confs
        assert "BROADCAST" not in works(unknown, THERE)["users"].decide(ROWS).sql
    assert "/*+ BROADCAST(penstock_changes) */" in works(small, THERE)["users"].decide(ROWS).sql


def test_what_is_quarantined_is_noted_before_the_sessions_of_a_run_are_written():
    told = [sessions_work(a_run(quarantine=each), NEW) for each in (True, False)]

    assert [len(each.stages) for each in told] == [1, 2]
    assert [each.rows({}) for each in told] == ["SELECT * FROM " + told[0].stages[-1].view] * 2
