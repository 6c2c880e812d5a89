"""The live table, drawn on a terminal that is a text."""

import io

import pytest
from rich.console import Console

from fakes.reports import a_plan, a_result, a_step
from penstock.app.events import RunStarted, Said, StepEnded, StepStarted
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.step import RowCounts
from penstock.ui.render.live import LiveTable, Row, drawn


def terminal(height=30, width=100):
    return Console(file=io.StringIO(), width=width, height=height, force_terminal=False)


def lines(console, picture):
    console.print(picture)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_row_per_step_shows_state_rows_and_time():
    rows = [
        Row("users", "success", "3 rows", took=2.14),
        Row("log", "running", began=90.0),
        Row("daily"),
    ]

    assert lines(terminal(), drawn(rows, now=100.0)) == [
        "STEP   STATE    ROWS    ELAPSED",
        "users  success  3 rows  2.1 s",
        "log    running          10.0 s",
        "daily  waiting",
    ]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, "marts.revenue_by_week           failed   a query t…  0.5 s"),
        (44, "marts.revenue_by_week   failed   a…  0.5 s"),
        (30, "marts.revenue_by_week  failed"),
        (24, "marts.revenue_by_week"),
        (10, "marts.rev…"),
    ],
)
def test_a_narrow_terminal_keeps_the_names_of_models(width, shown):
    rows = [
        Row("marts.revenue_by_week", "failed", "a query that returned nothing", took=0.5),
        Row("users 2024-12-02 to 2024-12-16, 2024-12-20 and 30 more ranges"),
    ]

    found = lines(terminal(width=width), drawn(rows, 0.0, width))

    assert found[1] == shown
    assert found[2].startswith("users 202")


def test_the_first_frame_has_names_though_nothing_runs_yet():
    with LiveTable(terminal(height=9), lambda: 0.0) as table:
        table(RunStarted("run", a_plan(*(a_step(f"m{n}") for n in range(9)))))
        picture = table.draw()

    assert [line.split()[0] for line in lines(terminal(), picture)[1:4]] == ["m0", "m1", "m2"]


def test_events_move_the_rows_and_the_bar():
    console = terminal()
    with LiveTable(console, lambda: 100.0) as table:
        table(RunStarted("run", a_plan(a_step("users"), a_step("daily"))))
        table(StepStarted("users", "never_run"))
        table(StepEnded(a_result("users", rows=RowCounts(inserted=3), duration=1.0)))
        picture = table.draw()

    shown = lines(terminal(), picture)

    assert [line.split()[:3] for line in shown[1:3]] == [
        ["users", "success", "3"],
        ["daily", "waiting"],
    ]
    assert shown[-1].endswith("1 of 2 steps")


def test_the_bar_counts_steps_of_the_plan_and_no_parts_of_them():
    with LiveTable(terminal(), lambda: 0.0) as table:
        table(RunStarted("run", a_plan(a_step("users"), a_step("daily"))))
        table(StepEnded(a_result("view"), steps=0))
        table(StepEnded(a_result("daily", partitions=(("1", "1"),)), steps=0))
        table(StepEnded(a_result("daily", partitions=(("2", "2"),))))
        picture = table.draw()

    assert lines(terminal(), picture)[-1].endswith("1 of 2 steps")


def test_a_low_terminal_shows_what_runs_and_what_ended_last():
    console = terminal(height=9)
    with LiveTable(console, lambda: 0.0) as table:
        table(RunStarted("run", a_plan(*(a_step(f"m{n}") for n in range(9)))))
        for n in range(4):
            table(StepStarted(f"m{n}", ""))
        for n in range(3):
            table(StepEnded(a_result(f"m{n}")))
        picture = table.draw()

    shown = lines(terminal(), picture)

    assert [line.split()[0] for line in shown[1:4]] == ["m1", "m2", "m3"]


def test_nothing_is_drawn_for_a_run_that_does_nothing():
    console = terminal()
    with LiveTable(console, lambda: 0.0) as table:
        table(Said("step 1 of log had committed version 7; recorded"))

    assert console.file.getvalue() == "step 1 of log had committed version 7; recorded\n"


def test_what_is_waited_for_stands_below_the_table_for_as_long_as_it_lasts():
    now = [10.0]
    with LiveTable(terminal(), lambda: now[0]) as table:
        with table.waiting("starting Spark"):
            now[0] = 14.4
            during = lines(terminal(), table.draw())
        after = lines(terminal(), table.draw())

    assert (during, after) == (["starting Spark, 4 s"], [])


def test_the_steps_of_one_model_have_a_row_each():
    day = Grid(Grain.DAY)
    steps = [a_step("daily", grid=day, partitions=((n, n + 1),)) for n in (19000, 19010)]
    console = terminal()
    with LiveTable(console, lambda: 100.0) as table:
        table(RunStarted("run", a_plan(*steps)))
        table(StepStarted("daily", "never_run"))
        table(StepEnded(a_result("daily", "failed", partitions=steps[0].keys, reason="x")))
        table(StepStarted("daily", "never_run"))
        picture = table.draw()

    shown = lines(terminal(), picture)

    assert [line.split()[:5] for line in shown[1:3]] == [
        ["daily", "2022-01-08", "to", "2022-01-09", "failed"],
        ["daily", "2022-01-18", "to", "2022-01-19", "running"],
    ]


def test_passes_of_a_package_have_their_own_rows_of_a_model():
    with LiveTable(terminal(), lambda: 100.0) as table:
        table(RunStarted("run", a_plan(a_step("web_sessions"), a_step("web_sessions"))))
        table(StepStarted("web_sessions", "2021-01-01"))
        table(StepEnded(a_result("web_sessions", rows=RowCounts(inserted=3), duration=1.0)))
        table(StepStarted("web_sessions", "stitch"))
        picture = table.draw()

    assert [line.split()[:2] for line in lines(terminal(), picture)[1:3]] == [
        ["web_sessions", "success"],
        ["web_sessions", "running"],
    ]


def test_the_table_is_as_wide_as_what_is_shown_and_not_as_the_secret(secret):
    console = terminal()

    shown = lines(console, drawn([Row("a", "failed", f"of {secret}", took=1.0)], 0.0))

    assert shown == ["STEP  STATE   ROWS    ELAPSED", "a     failed  of ***  1.0 s"]
