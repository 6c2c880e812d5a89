"""The lines of checks under a step, and what the last line of a run says of them."""

from rich.console import Console

from fakes.check_story import BOUNDS, FAILED, GATE, HAS_ROWS, MIN_USERS, NO_BASE, NULLS, STORY
from fakes.reports import a_check_result, a_plan, a_report, a_result, a_step
from penstock.app.events import RunStarted, Said, StepEnded
from penstock.core.check_results import InvariantReport, Sample
from penstock.core.checks.check import Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.core.errors import CheckFailedError, QueryError
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.step import RowCounts
from penstock.plan.values import State
from penstock.ui.commands.snapshot import snapshots_text
from penstock.ui.render.check import step_lines
from penstock.ui.render.live import LiveTable
from penstock.ui.render.run import TextLines, run_text

DAY = Grid(Grain.DAY)
FIRST = DAY.parse("2024-12-01")


def of_days(last="2024-12-01"):
    return a_step("user_stats", State.NEVER_RUN, grid=DAY, partitions=((FIRST, DAY.parse(last)),))


def flagged(step=None, **changes):
    step = step or of_days()
    settings = {
        "strategy": "partition",
        "partitions": step.keys,
        "count": step.count,
        "rows": RowCounts(inserted=3),
        "duration": 2.1,
        "error": GATE,
        "invariant_report": STORY,
        "consequence": "rows written and flagged",
    }
    return a_result("user_stats", "failed", **(settings | changes))


def told(*results, plan=None, **how):
    lines = []
    listen = TextLines(lines.append, **how)
    listen(RunStarted("0190a3c4", plan or a_plan(of_days())))
    for result in results:
        listen(StepEnded(result))
    return lines


def last_line(*results):
    return run_text(a_report(a_plan(of_days()), *results)).splitlines()[-1]


def test_the_checks_of_a_step_stand_under_its_line():
    assert told(flagged(), verbose=True)[1:] == [
        (
            "[1/1] ✗ user_stats  2024-12-01  first build  1 partition  3 rows  2.1 s\n"
            "      before  source_has_data  passed\n"
            "      after   min_users        failed   error    1 row (expected 0):"
            " date=2024-12-01, user_count=80\n"
            "      after   null_check       failed   warning  nulls 33.33 % > max 5.00 %\n"
            "      after   revenue_bounds   passed            condition is true"
        )
    ]


def test_several_checks_of_a_step_that_passed_are_one_line_unless_verbose():
    five = tuple(a_check_result(f"c{number}", message="rows 3") for number in range(5))

    assert step_lines(InvariantReport((), five)) == ["      5 checks passed"]
    assert step_lines(InvariantReport((), five[:1])) == ["      after   c0  passed   rows 3"]
    assert len(step_lines(InvariantReport((), five), verbose=True)) == 5


def test_a_run_of_which_a_check_failed_names_it_and_what_became_of_the_rows():
    report = a_report(a_plan(of_days()), flagged(), resume="penstock sync", log_path="x.log")

    assert run_text(report) == (
        "Done: 1 step, 1 partition. 1 failed: user_stats 2024-12-01"
        " (after-check-failed: min_users; rows written and flagged).\n"
        "Resume: penstock sync"
    )


def test_a_quiet_run_tells_only_of_checks_that_failed():
    two = a_plan(a_step("a"), of_days())
    assert told(a_result("a"), flagged(), plan=two, quiet=True) == [
        (
            "[2/2] ✗ user_stats  2024-12-01  first build  1 partition  3 rows  2.1 s\n"
            "      after   min_users   failed   error    1 row (expected 0):"
            " date=2024-12-01, user_count=80\n"
            "      after   null_check  failed   warning  nulls 33.33 % > max 5.00 %"
        )
    ]


def test_a_quiet_run_says_nothing_of_what_was_recovered():
    lines = []

    TextLines(lines.append, quiet=True)(Said("step 1 of log had committed version 7"))

    assert lines == []


def test_details_follow_in_brackets():
    result = a_check_result("m", FAILED, "condition is false", details="MIN(revenue) = -3.5")

    assert step_lines(InvariantReport((), (result,))) == [
        "      after   m  failed   error    condition is false [MIN(revenue) = -3.5]"
    ]


def test_a_sample_shows_three_rows_in_one_line_and_NULL_by_its_name():
    rows = (("1", "a\nb"), ("2", None), ("3", "c"), ("4", "d"))
    result = a_check_result(
        "m", FAILED, "4 rows (expected 0)", type="sql", sample=Sample(("id", "t"), rows)
    )

    assert step_lines(InvariantReport((), (result,))) == [
        (
            "      after   m  failed   error    4 rows (expected 0):"
            r" id=1, t=a\nb; id=2, t=NULL; id=3, t=c; …"
        )
    ]


def test_a_skipped_check_says_why():
    assert step_lines(InvariantReport((), (BOUNDS, NO_BASE))) == [
        "      after   revenue_bounds  passed   condition is true",
        "      after   growth          skipped  no earlier execution",
    ]


def test_checks_that_were_skipped_together_are_one_line():
    skipped = tuple(
        a_check_result(name, CheckStatus.SKIPPED, "--skip-checks") for name in ("a", "b", "c")
    )

    assert step_lines(InvariantReport(skipped[:1], skipped[1:])) == [
        "      3 checks skipped: --skip-checks"
    ]


def test_what_failed_stands_above_the_number_of_those_that_passed():
    many = tuple(a_check_result(f"c{number}", message="rows 3") for number in range(12))

    assert step_lines(InvariantReport((), (*many, NULLS))) == [
        "      after   null_check  failed   warning  nulls 33.33 % > max 5.00 %",
        "      12 checks passed",
    ]


def test_a_step_without_checks_has_no_lines():
    assert step_lines(None) == []
    assert told(a_result("user_stats"), plan=a_plan(a_step("user_stats"))) == [
        "[1/1] ✓ user_stats  first build  0 rows  0.0 s"
    ]


def test_only_the_partitions_that_failed_are_named():
    gate = a_check_result("min_rows", FAILED, partitions=("2024-12-03", "2024-12-04"))
    step = of_days("2024-12-04")

    assert last_line(flagged(step, invariant_report=InvariantReport((), (gate,)))) == (
        "Done: 1 step, 4 partitions. 1 failed: user_stats 2024-12-03, 2024-12-04"
        " (after-check-failed: min_rows; rows written and flagged)."
    )


def test_a_check_of_the_whole_table_fails_the_whole_step():
    gate = a_check_result("ids", FAILED, partitions=("*",))
    step = of_days("2024-12-04")

    assert last_line(flagged(step, invariant_report=InvariantReport((), (gate,)))) == (
        "Done: 1 step, 4 partitions. 1 failed: user_stats 2024-12-01 to 2024-12-04"
        " (after-check-failed: ids; rows written and flagged)."
    )


def test_a_step_that_a_gate_kept_from_starting_failed_and_is_not_done():
    gate = a_check_result("source_has_data", FAILED, phase=Phase.BEFORE, partitions=("2024-12-01",))
    error = CheckFailedError("before-check-failed", "user_stats 2024-12-01: source_has_data")
    stopped = a_result(
        "user_stats",
        "skipped",
        reason="before-check-failed",
        partitions=of_days().keys,
        error=error,
        invariant_report=InvariantReport((gate,)),
    )
    below = a_result(
        "weekly", "skipped", reason="upstream user_stats failed", partitions=of_days().keys
    )

    assert told(stopped) == [
        (
            "[1/1] ✗ user_stats  2024-12-01  skipped: before-check-failed\n"
            "      before  source_has_data  failed   error"
        )
    ]
    assert last_line(stopped, below) == (
        "Done: 0 steps, 0 partitions. 1 failed: user_stats 2024-12-01"
        " (before-check-failed: source_has_data), 1 skipped (upstream failed)."
    )


def test_other_failures_are_named_beside_those_of_checks():
    whole = flagged(partitions=(("*", "*"),), consequence="restored to version 6")
    broken = a_result("log", "failed", error=QueryError("query-failed", "no such column"))

    assert last_line(whole, broken, a_result("a")) == (
        "Done: 2 steps. 2 failed: user_stats (after-check-failed: min_users; restored to version"
        " 6), log (query-failed)."
    )


def test_a_step_with_warnings_is_done():
    report = InvariantReport((HAS_ROWS,), (NULLS,))
    result = flagged(error=None, consequence="", invariant_report=report)
    done = a_result("user_stats", partitions=result.partitions, invariant_report=report)

    assert last_line(done) == "Done: 1 step, 1 partition."


def test_a_terminal_keeps_what_failed_above_the_live_table():
    console = Console(record=True, width=100, force_terminal=False)

    with LiveTable(console, lambda: 0.0) as table:
        table(RunStarted("0190a3c4", a_plan(of_days())))
        table(StepEnded(flagged()))

    assert console.export_text().splitlines()[:3] == [
        "user_stats 2024-12-01",
        (
            "      after   min_users   failed   error    1 row (expected 0): date=2024-12-01,"
            " user_count=80"
        ),
        "      after   null_check  failed   warning  nulls 33.33 % > max 5.00 %",
    ]


def test_snapshots_show_their_checks_below_the_table():
    result = a_result(
        "users_history",
        "failed",
        strategy="snapshot",
        error=CheckFailedError("after-check-failed", "users_history: min_users"),
        invariant_report=InvariantReport((), (MIN_USERS,)),
        consequence="rows written and flagged",
    )

    lines = snapshots_text(a_report(a_plan(a_step("users_history")), result)).splitlines()

    assert lines[3:] == [
        "users_history",
        (
            "      after   min_users  failed   error    1 row (expected 0): date=2024-12-01,"
            " user_count=80"
        ),
        "1 snapshot: 1 failed",
        "1 failed: users_history (after-check-failed: min_users; rows written and flagged)",
    ]


def test_notes_of_a_step_that_a_check_failed_are_told():
    note = "rollback-refused: user_stats: version 8 (WRITE, not ours) lies after version 7"

    assert run_text(a_report(a_plan(of_days()), flagged(notes=(note,)))).splitlines()[0] == (
        f"user_stats: {note}"
    )


def test_checks_that_were_pending_are_told_though_nothing_else_ran():
    result = flagged(reason="its checks were pending", rows=RowCounts())

    assert run_text(a_report(a_plan(current=("user_stats",)), result)).splitlines() == [
        "[1/1] ✗ user_stats  2024-12-01  its checks were pending  1 partition  0 rows  2.1 s",
        *step_lines(STORY),
        (
            "Done: 1 step, 1 partition. 1 failed: user_stats 2024-12-01"
            " (after-check-failed: min_users; rows written and flagged)."
        ),
    ]
