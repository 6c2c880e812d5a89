"""The text of `plan`."""

import time
from dataclasses import replace

import pytest

from fakes.builders import NOON
from fakes.reports import a_plan, a_report, a_result, a_step
from penstock.app.commands.plan import Preview, SqlChange
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.slices import ListedSlice, SliceId
from penstock.core.errors import TableError
from penstock.core.findings import Location
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.window import Bound, InputWindow, Window
from penstock.plan.values import Blocked, Estimate, State
from penstock.plan.work import SliceWork
from penstock.ui.commands.plan import plan_text


def test_steps_are_numbered_with_strategy_reason_and_estimate():
    steps = (
        a_step("users", State.SQL_CHANGED, estimate=Estimate(1200, 34_000, 2.14)),
        a_step("log", State.SOURCE_CHANGED, detail="raw.events v3 -> v4"),
        a_step("daily", State.UPSTREAM_CHANGED, detail="after users", pending=True),
    )
    results = (
        a_result("users", "planned"),
        a_result("log", "planned", strategy="append"),
        a_result("daily", "planned", strategy="view"),
    )

    text = plan_text(Preview(a_report(a_plan(*steps, current=("a", "b")), *results)))

    assert text == (
        "Execution plan (topological order):\n"
        "  1. users  table   code changed  about 1,200 rows, 34.0 kB, 2.1 s\n"
        "  2. log    append  source changed: raw.events v3 -> v4\n"
        "  3. daily  view    upstream changed: after users  pending\n"
        "\n"
        "Total: 3 steps, 1 pending, 2 models up to date. Nothing was run."
    )


def test_a_window_that_is_still_to_be_pinned_names_the_version_that_fixes_it():
    low = Bound(TypedValue("INT", "7"), inclusive=False)
    read = (InputWindow("raw_logs", Window("n", low), version=18),)
    step = a_step("log", State.SOURCE_CHANGED, detail="raw_logs v17 -> v18")
    result = a_result("log", "planned", strategy="append", windows=read)

    text = plan_text(Preview(a_report(a_plan(step), result)))

    assert text.splitlines()[1] == (
        "  1. log  append  source changed: raw_logs v17 -> v18  raw_logs.n (7, max at raw_logs v18]"
    )


def test_sql_that_changed_in_nothing_that_may_be_shown_is_told_as_such():
    change = SqlChange("users", "select '***'", "select '***'")
    report = a_report(a_plan(a_step("users", State.SQL_CHANGED)), a_result("users", "planned"))

    text = plan_text(Preview(report, (change,)))

    assert "users will be re-run\n\nSQL changed in values that are never shown." in text


def test_an_identical_change_is_shown_once_for_all_models_that_have_it():
    changes = (
        SqlChange("a", "select 1, x", "select 2, x"),
        SqlChange("b", "select 3", "select 4"),
        SqlChange("c", "select 1, x", "select 2, x"),
        SqlChange("c", "select 1, x", "select 2, x"),
    )
    steps = [a_step(name, State.SQL_CHANGED) for name in "abc"]
    report = a_report(a_plan(*steps), *(a_result(name, "planned") for name in "abc"))

    text = plan_text(Preview(report, changes))

    assert "a will be re-run\nc will be re-run\n\nSQL changes detected:\n" in text
    assert (text.count("- select 1, x"), text.count("- select 3")) == (1, 1)


def test_a_step_says_what_else_holds_what_it_reads_and_what_it_leaves():
    step = a_step(
        "log", State.FAILED, also=(State.SQL_CHANGED,), initial=True, notes=("old rows stay",)
    )
    report = a_report(a_plan(step), a_result("log", "planned", strategy="append"))

    assert plan_text(Preview(report)) == (
        "Execution plan (topological order):\n"
        "  1. log  append  failed before  also code changed  reads its inputs whole\n"
        "     old rows stay\n"
        "\n"
        "Total: 1 step. Nothing was run."
    )


def test_changed_sql_is_shown_line_by_line_as_written():
    change = SqlChange(
        "daily_user_stats",
        "SELECT\n        COUNT(DISTINCT user_id) AS unique_users,\nFROM t",
        "SELECT\n        COUNT(DISTINCT COALESCE(user_id, 'anon')) AS unique_users,\nFROM t",
    )
    step = a_step("daily_user_stats", State.SQL_CHANGED)
    report = a_report(a_plan(step), a_result("daily_user_stats", "planned"))

    assert plan_text(Preview(report, (change,))) == (
        "Execution plan (topological order):\n"
        "  1. daily_user_stats  table  code changed\n"
        "\n"
        "daily_user_stats will be re-run\n"
        "\n"
        "SQL changes detected:\n"
        "───────────────────────────────────────\n"
        "-         COUNT(DISTINCT user_id) AS unique_users,\n"
        "+         COUNT(DISTINCT COALESCE(user_id, 'anon')) AS unique_users,\n"
        "───────────────────────────────────────\n"
        "\n"
        "Total: 1 step. Nothing was run."
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [("sql", "SQL changes"), ("python", "Python changes"), ("entity", "Definition changes")],
)
def test_changes_of_code_are_called_by_what_the_model_is_written_in(kind, said):
    change = SqlChange("users", "a", "b", kind=kind)
    report = a_report(a_plan(a_step("users", State.SQL_CHANGED)), a_result("users", "planned"))

    assert f"\n{said} detected:\n" in plan_text(Preview(report, (change,)))


def test_a_model_that_cannot_be_run_is_shown_with_its_error_and_what_it_stops():
    error = TableError(
        "foreign-table", "s.users exists", where=Location("models/users.sql"), hint="--adopt"
    )
    plan = a_plan(a_step("daily", upstream=("users",)), blocked=(Blocked("users", error),))
    results = (
        a_result("users", "failed", error=error),
        a_result("daily", "skipped", reason="upstream users failed"),
    )

    assert plan_text(Preview(a_report(plan, *results))) == (
        "Execution plan (topological order):\n"
        "  1. daily  table  will be skipped: upstream users failed\n"
        "\n"
        "Cannot be run:\n"
        "  models/users.sql:1: foreign-table: s.users exists\n"
        "    hint: --adopt\n"
        "\n"
        "Total: 1 step, 1 cannot be run. Nothing was run."
    )


def test_nothing_to_do_says_which_changes_mean_nothing():
    plan = a_plan(current=("daily", "users"), cosmetic=("users",))

    assert plan_text(Preview(a_report(plan))) == (
        "nothing to do (2 models up to date)\nSQL text changed, meaning unchanged. (users)"
    )


def test_a_cosmetic_change_of_a_planned_model_is_no_diff():
    change = SqlChange("users", "select 1", "SELECT 1", cosmetic=True)
    report = a_report(a_plan(a_step("users", State.MISSING)), a_result("users", "planned"))

    text = plan_text(Preview(report, (change,)))

    assert "SQL text changed, meaning unchanged. (users)" in text
    assert "SQL changes detected" not in text


def test_at_most_fifty_steps_are_shown_unless_asked_for_more():
    steps = [a_step(f"m{n}") for n in range(51)]
    report = a_report(a_plan(*steps), *(a_result(step.model, "planned") for step in steps))

    short, long = plan_text(Preview(report)), plan_text(Preview(report), verbose=True)

    assert short.splitlines()[50:] == [
        " 50. m49  table  first build",
        "and 1 more step",
        "",
        "Total: 51 steps. Nothing was run.",
    ]
    assert " 51. m50  table  first build" in long


def test_steps_of_a_model_with_partitions_name_them():
    day = Grid(Grain.DAY)
    steps = (
        a_step("daily", State.SQL_CHANGED, grid=day, partitions=((19000, 19002),)),
        a_step("daily", State.NEVER_RUN, grid=day, partitions=((19003, 19003),)),
        a_step("users", State.FAILED),
    )
    partitions = {"strategy": "partition"}
    results = (
        a_result("daily", "planned", partitions=steps[0].keys, **partitions),
        a_result("daily", "skipped", partitions=steps[1].keys, reason="fail-fast", **partitions),
        a_result("users", "planned"),
    )

    assert plan_text(Preview(a_report(a_plan(*steps), *results))) == (
        "Execution plan (topological order):\n"
        "  1. daily  partition  2022-01-08 to 2022-01-10  code changed  3 partitions\n"
        "  2. daily  partition  2022-01-11                will be skipped: fail-fast\n"
        "  3. users  table                                failed before\n"
        "\n"
        "Total: 3 steps. Nothing was run."
    )


def test_twenty_thousand_slices_are_planned_by_what_is_shown():
    def slice_step(name):
        step = a_step("x", State.SOURCE_CHANGED)
        return replace(step, work=SliceWork(NOON, ListedSlice(SliceId(name, 1, 1, "d"), (name,))))

    steps = tuple(slice_step(f"{number:05d}.parquet") for number in range(20_000))
    results = tuple(a_result("x", "planned", partitions=step.keys) for step in steps)
    preview = Preview(a_report(a_plan(*steps), *results))
    start = time.process_time()

    lines = plan_text(preview).splitlines()

    assert time.process_time() - start < 10  # by all 20,000 for each it would be minutes
    assert lines[50] == " 50. x  table  00049.parquet  source changed"
    assert lines[51:] == ["and 19,950 more steps", "", "Total: 20,000 steps. Nothing was run."]
