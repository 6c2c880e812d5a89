"""The text of `run` and `sync`: a line per event, then the summary."""

from fakes.reports import a_plan, a_report, a_result, a_step
from penstock.app.events import RunStarted, StepEnded
from penstock.app.reports import Cascaded, SyncPreview
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import DataError
from penstock.core.findings import Location
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.step import RowCounts
from penstock.core.steps.window import Bound, InputWindow, Window
from penstock.plan.values import State
from penstock.ui.commands.seed import seed_text
from penstock.ui.render.run import Columns, TextLines, result_line, run_text
from penstock.ui.render.values import WHOLE

NULL_KEY = DataError(
    "null-key", "3 rows have no id", where=Location("models/users.sql", 4), hint="fill them"
)


def test_a_merge_tells_what_became_of_its_rows():
    result = a_result(
        "users",
        reason="source_changed: raw.users v1 -> v2",
        strategy="merge",
        rows=RowCounts(inserted=1, updated=2, late=4),
        schema_changes=("+ age INT",),
        duration=75.2,
    )

    assert result_line(1, result, Columns.of(a_plan(a_step("users")))) == (
        "[1/1] ✓ users  source changed: raw.users v1 -> v2  1 inserted, 2 updated, 4 late"
        "  + age INT  1 min 15 s"
    )


def test_names_stand_below_each_other_when_there_are_ten_steps_and_more():
    columns = Columns.fitting([(name, WHOLE) for name in "abcdefghij"])

    lines = [result_line(number, a_result("a"), columns) for number in (9, 10)]

    assert [line[:11] for line in lines] == ["[ 9/10] ✓ a", "[10/10] ✓ a"]


def test_a_step_that_made_up_for_a_failure_does_not_read_as_one():
    result = a_result(
        "users", reason="was failed: crashed", rows=RowCounts(inserted=1), duration=1.0
    )

    assert result_line(1, result, Columns.of(a_plan(a_step("users")))) == (
        "[1/1] ✓ users  failed before: crashed  1 row  1.0 s"
    )


def test_windows_and_the_version_stand_in_the_line_of_their_step():
    low = Bound(TypedValue.parse("TIMESTAMP", "2025-01-16T12:00:00Z"), inclusive=False)
    high = Bound(TypedValue.parse("TIMESTAMP", "2025-01-17T10:00:00.5Z"), inclusive=True)
    read = (InputWindow("raw_logs", Window("ts", low, high)),)
    plan = Columns.of(a_plan(a_step("log")))
    made = a_result("log", windows=read, version=1, rows=RowCounts(2, late=3), reason="new")
    idle = a_result("log", "unchanged", windows=read, rows=RowCounts(late=1), reason="new")

    window = "raw_logs.ts (2025-01-16 12:00:00, 2025-01-17 10:00:00.500000]"
    assert result_line(1, made, plan) == f"[1/1] ✓ log  new  {window}  2 rows, 3 late  v1  0.0 s"
    assert result_line(1, idle, plan) == f"[1/1] ✓ log  new  {window}  no change  1 late  0.0 s"


def test_a_step_without_a_commit_says_no_change():
    result = a_result("log", "unchanged", reason="source_changed", duration=0.5)

    assert result_line(1, result, Columns.of(a_plan(a_step("log")))) == (
        "[1/1] ✓ log  source changed  no change  0.5 s"
    )


def test_a_failed_run_ends_with_the_command_that_resumes_it():
    plan = a_plan(a_step("users"), a_step("log"), a_step("daily"), current=("old",))
    report = a_report(
        plan,
        a_result("old", "unchanged"),
        a_result("users"),
        a_result("log", "failed", error=NULL_KEY),
        a_result("daily", "skipped", reason="upstream log failed"),
        log_path=".penstock/logs/0190a3c4.log",
        resume="penstock run --select 'log daily'",
    )

    assert run_text(report) == (
        "models/users.sql:4: null-key: 3 rows have no id\n"
        "  hint: fill them\n"
        "Log: .penstock/logs/0190a3c4.log\n"
        "Done: 1 step. 1 failed, 1 skipped.\n"
        "Resume: penstock run --select 'log daily'"
    )


def test_a_run_that_went_well_counts_its_steps_and_says_what_it_left():
    plan = a_plan(a_step("users"), a_step("log"))
    report = a_report(
        plan, a_result("users"), a_result("log", "unchanged", notes=("old rows stay",))
    )

    assert run_text(report) == "log: old rows stay\nDone: 1 step. 1 unchanged."


def test_an_interrupted_run_says_so():
    report = a_report(
        a_plan(a_step("users")), interrupted=True, resume="penstock run --select users"
    )

    assert run_text(report) == ("Interrupted.\nDone: 0 steps.\nResume: penstock run --select users")


def test_a_run_of_nothing_says_so():
    assert run_text(a_report(a_plan(current=("a",)))) == "nothing to do (1 model up to date)"


DAY = Grid(Grain.DAY)
OUTSIDE = DataError("row-outside-partition", "the query returned date = 2024-12-05")


def of_days(model, *keys, state=State.UPSTREAM_CHANGED):
    ords = DAY.parse(keys[0]), DAY.parse(keys[-1])
    return a_step(model, state, grid=DAY, partitions=(ords,))


def ended(step, status="success", **changes):
    settings = {"reason": str(step.reason), "strategy": "partition"} | changes
    return a_result(step.model, status, partitions=step.keys, count=step.count, **settings)


DAILY = of_days("daily_user_stats", "2024-12-02", "2024-12-16", state=State.SQL_CHANGED)
MONDAYS = [of_days("weekly_summary", day) for day in ("2024-12-02", "2024-12-09", "2024-12-16")]
MONTHLY = a_step(
    "monthly_report",
    State.UPSTREAM_CHANGED,
    grid=Grid(Grain.MONTH),
    partitions=((Grid(Grain.MONTH).parse("2024-12"),) * 2,),
)
CASCADE = a_plan(DAILY, *MONDAYS, MONTHLY)
RESULTS = (
    ended(DAILY, rows=RowCounts(inserted=3), duration=2.14),
    ended(MONDAYS[0], "failed", error=OUTSIDE),
    ended(MONDAYS[1], rows=RowCounts(inserted=1), duration=1.0),
    ended(MONDAYS[2], "unchanged", duration=1.0),
    ended(MONTHLY, "skipped", reason="upstream failed"),
)


def test_a_sync_names_the_partitions_of_every_step():
    told: list[str] = []
    listen = TextLines(told.append)

    listen(RunStarted("0190a3c4", CASCADE))
    for result in RESULTS:
        listen(StepEnded(result))

    assert told == [
        (
            "[1/5] ✓ daily_user_stats  2024-12-02 to 2024-12-16  code changed  15 partitions"
            "  3 rows  2.1 s"
        ),
        (
            "[2/5] ✗ weekly_summary    2024-12-02                FAILED  row-outside-partition:"
            " the query returned date = 2024-12-05"
        ),
        (
            "[3/5] ✓ weekly_summary    2024-12-09                upstream changed  1 partition"
            "  1 row  1.0 s"
        ),
        (
            "[4/5] ✓ weekly_summary    2024-12-16                upstream changed  1 partition"
            "  no change  1.0 s"
        ),
        "[5/5] - monthly_report    2024-12                   skipped: upstream failed",
    ]


def test_a_sync_counts_steps_and_partitions_and_ends_with_its_resume_line():
    report = a_report(CASCADE, *RESULTS, resume="penstock sync --cascade --yes")

    assert run_text(report).splitlines()[-2:] == [
        "Done: 3 steps, 17 partitions. 1 failed, 1 skipped (upstream failed).",
        "Resume: penstock sync --cascade --yes",
    ]


def test_what_fail_fast_left_is_counted_by_itself():
    results = (*RESULTS[:2], *(ended(step, "skipped", reason="fail-fast") for step in MONDAYS[1:]))

    assert run_text(a_report(CASCADE, *results, RESULTS[4])).splitlines()[-1] == (
        "Done: 1 step, 15 partitions. 1 failed, 2 skipped (fail-fast), 1 skipped (upstream failed)."
    )


def test_a_sync_without_cascade_says_what_would_follow():
    preview = SyncPreview(
        left=(Cascaded("weekly_summary", 3, ()), Cascaded("monthly_report", 1, ())),
        mends="penstock sync --select 'weekly_summary monthly_report'",
        remaining=9,
    )

    assert run_text(a_report(a_plan(DAILY), RESULTS[0], preview=preview)) == (
        "Done: 1 step, 15 partitions.\n"
        "9 partitions remain\n"
        "4 downstream partitions would become upstream_changed (weekly_summary 3,"
        " monthly_report 1). Run: penstock sync --select 'weekly_summary monthly_report'"
    )


def test_a_whole_table_among_partitions_stands_as_one():
    whole = a_result("users", rows=RowCounts(inserted=3), duration=1.0)

    assert result_line(1, whole, Columns.of(a_plan(a_step("users"), MONDAYS[0]))) == (
        "[1/2] ✓ users                       first build  3 rows  1.0 s"
    )


def test_a_run_that_nobody_confirmed_did_nothing():
    assert run_text(a_report(CASCADE, aborted=True)) == "Aborted, nothing was done."


def test_seeds_are_a_line_each():
    report = a_report(
        a_plan(),
        a_result("countries", rows=RowCounts(inserted=3), duration=1.0),
        a_result("zones", "unchanged"),
    )

    assert seed_text(report) == (
        "countries  s.countries  3 rows  1.0 s\nzones      up to date\nDone: 1 step. 1 unchanged."
    )
