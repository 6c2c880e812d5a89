"""The text and the document of `sync --dry-run`."""

import json

import pytest

from fakes.reports import a_plan, a_report, a_result, a_step
from penstock.app.documents import printed
from penstock.app.reports import (
    Cascaded,
    ModelDiff,
    ModelStatus,
    SqlDiff,
    StateCount,
    SyncPreview,
)
from penstock.app.run_report import run_document
from penstock.core.errors import TableError
from penstock.core.names import TableName
from penstock.core.partitions.partition import Grain, Grid
from penstock.plan.values import Blocked, State
from penstock.ui.commands.plan import sync_text

DAY = Grid(Grain.DAY)
SQL = "SELECT\n       COUNT(DISTINCT user_id) AS unique_users,\nFROM raw.events"
EDITED = SQL.replace("user_id", "COALESCE(user_id, 'anon')")
MONDAYS = ("2024-12-02", "2024-12-09")
DRIFTED = ModelStatus(
    "daily_user_stats",
    TableName("analytics", "daily_user_stats"),
    "partition",
    "DAY",
    22,
    (StateCount(State.SQL_CHANGED, 15, (("2024-12-02", "2024-12-16"),), version=3),),
)
DIFF = SqlDiff("v3", (("2024-12-02", "2024-12-16"),), 15, SQL, EDITED)
PREVIEW = SyncPreview(
    drifted=(DRIFTED,),
    cascaded=(
        Cascaded("weekly_summary", 3, ("daily_user_stats",)),
        Cascaded("monthly_report", 1, ("weekly_summary",)),
    ),
    diffs=(ModelDiff("daily_user_stats", (DIFF,)),),
)


def at(*keys, grid=DAY):
    first, last = grid.parse(keys[0]), grid.parse(keys[-1])
    return {"grid": grid, "partitions": ((first, last),)}


DAILY = a_step(
    "daily_user_stats",
    State.SQL_CHANGED,
    version=3,
    trigger="sync",
    **at("2024-12-02", "2024-12-16"),
)
WEEKLY = [
    a_step("weekly_summary", State.UPSTREAM_CHANGED, trigger="cascade", **at(monday))
    for monday in ("2024-12-02", "2024-12-09", "2024-12-16")
]
MONTHLY = a_step(
    "monthly_report",
    State.UPSTREAM_CHANGED,
    is_range=True,
    **at("2024-12", grid=Grid(Grain.MONTH)),
)


def a_dry_run(*steps, preview=PREVIEW, **changes):
    results = [
        a_result(
            step.model, "planned", strategy="partition", partitions=step.keys, count=step.count
        )
        for step in steps
    ]
    report = {"run_id": "", "dry_run": True, "command": "sync", "preview": preview}
    return a_report(a_plan(*steps, **changes), *results, **report)


def test_the_dry_run_of_a_cascade_shows_drift_cascade_plan_and_diff():
    assert sync_text(a_dry_run(DAILY, *WEEKLY, MONTHLY)) == (
        "Drift detected:\n"
        "  daily_user_stats: 15 partitions (sql_changed)\n"
        "\n"
        "Cascade analysis:\n"
        "  weekly_summary: 3 partitions (upstream_changed, pending)\n"
        "    └── depends on: daily_user_stats\n"
        "  monthly_report: 1 partition (upstream_changed, pending)\n"
        "    └── depends on: weekly_summary\n"
        "\n"
        "Execution plan (topological order):\n"
        "  1. daily_user_stats  (15 partitions, 1 step)\n"
        "  2. weekly_summary    (3 partitions, 3 steps)\n"
        "  3. monthly_report    (1 partition, 1 step)\n"
        "\n"
        "daily_user_stats: 15 partitions will be re-run\n"
        "\n"
        "SQL changes detected:\n"
        "───────────────────────────────────────\n"
        "-        COUNT(DISTINCT user_id) AS unique_users,\n"
        "+        COUNT(DISTINCT COALESCE(user_id, 'anon')) AS unique_users,\n"
        "───────────────────────────────────────\n"
        "\n"
        "Schema unchanged.\n"
        "\n"
        "Total: 19 partitions"
    )


def test_without_cascade_the_plan_says_what_it_leaves():
    left = SyncPreview(
        left=(
            Cascaded("weekly_summary", 3, ("daily_user_stats",)),
            Cascaded("monthly_report", 1, ("weekly_summary",)),
        ),
        mends="penstock sync --cascade",
        remaining=9,
        lines=("raw.events: files changed, partitions unknown",),
    )

    assert sync_text(a_dry_run(DAILY, preview=left)) == (
        "Execution plan (topological order):\n"
        "  1. daily_user_stats  (15 partitions, 1 step)\n"
        "\n"
        "Total: 15 partitions\n"
        "9 partitions remain\n"
        "4 downstream partitions would become upstream_changed (weekly_summary 3,"
        " monthly_report 1). Run: penstock sync --cascade\n"
        "raw.events: files changed, partitions unknown"
    )


def test_one_partition_is_written_as_one():
    below = (Cascaded("monthly_report", 1, ("weekly_summary",)),)
    left = SyncPreview(left=below, mends="penstock sync --cascade", remaining=1)

    assert sync_text(a_dry_run(WEEKLY[0], preview=left)).endswith(
        "Total: 1 partition\n"
        "1 partition remains\n"
        "1 downstream partition would become upstream_changed (monthly_report 1)."
        " Run: penstock sync --cascade"
    )


def test_each_pair_of_texts_is_shown_once_with_its_schema():
    wider = SqlDiff(
        "v2",
        (("2024-11-29", "2024-12-01"),),
        3,
        SQL,
        SQL,
        schema=("+ events BIGINT", "~ unique_users INT -> BIGINT (widening)"),
    )
    comment = SqlDiff("v1", (("2024-11-28", "2024-11-28"),), 1, "select 1", "SELECT 1", True)
    preview = SyncPreview(diffs=(ModelDiff("daily_user_stats", (comment, wider)),))

    text = sync_text(a_dry_run(DAILY, preview=preview))

    assert text.partition("daily_user_stats: ")[2].partition("\n\nTotal")[0] == (
        "4 partitions will be re-run\n"
        "\n"
        "SQL text changed, meaning unchanged. (v1, 1 partition)\n"
        "───────────────────────────────────────\n"
        "- select 1\n"
        "+ SELECT 1\n"
        "───────────────────────────────────────\n"
        "\n"
        "Schema unchanged.\n"
        "\n"
        "SQL unchanged (v2, 3 partitions).\n"
        "\n"
        "Schema changes detected:\n"
        "+ events BIGINT\n"
        "~ unique_users INT -> BIGINT (widening)"
    )


def test_notes_of_steps_stand_below_their_model_once():
    steps = [a_step("weekly_summary", notes=("rewrites the table",), **at(d)) for d in MONDAYS]

    assert sync_text(a_dry_run(*steps, preview=None)) == (
        "Execution plan (topological order):\n"
        "  1. weekly_summary  (2 partitions, 2 steps)\n"
        "     rewrites the table\n"
        "\n"
        "Total: 2 partitions"
    )


def test_verbose_lists_the_steps_of_each_model():
    drifted = a_step(
        "daily",
        State.FAILED,
        also=(State.SQL_CHANGED,),
        version=3,
        revision=1,
        is_range=True,
        **at("2024-12-02", "2024-12-03"),
    )

    lines = sync_text(a_dry_run(drifted, preview=None), verbose=True).splitlines()

    assert lines[2] == (
        "     2024-12-02 to 2024-12-03  failed before  also code changed  v3.r1"
        "  one query for the range"
    )


def test_what_cannot_be_run_is_said_with_its_error():
    error = TableError("unrecorded", "s.users has commits of ours", hint="penstock state rebuild")
    report = a_report(
        a_plan(blocked=(Blocked("users", error),)), a_result("users", "failed", error=error)
    )

    assert sync_text(report) == (
        "Cannot be run:\n"
        "  error: unrecorded: s.users has commits of ours\n"
        "    hint: penstock state rebuild\n"
        "\n"
        "Total: 0 partitions"
    )


def test_nothing_to_sync_says_so_and_still_warns():
    preview = SyncPreview(lines=("weekly_summary reads daily_user_stats, which drifted",))

    assert sync_text(a_dry_run(preview=preview, current=("weekly_summary",))) == (
        "nothing to do (1 model up to date)\nweekly_summary reads daily_user_stats, which drifted"
    )


@pytest.mark.parametrize(
    ("verbose", "last"), [(False, "and 3 more models"), (True, " 53. m52  (1 partition, 1 step)")]
)
def test_at_most_fifty_models_of_a_plan_are_shown(verbose, last):
    steps = [a_step(f"m{n}") for n in range(53)]

    lines = sync_text(a_dry_run(*steps, preview=None), verbose=verbose).splitlines()

    assert last in lines
    assert ("and 3 more models" in lines) is not verbose


def test_the_document_of_a_dry_run_has_steps_and_preview():
    document = json.loads(printed(run_document(a_dry_run(DAILY))))

    assert {key: document[key] for key in ("command", "dry_run", "aborted")} == {
        "command": "sync",
        "dry_run": True,
        "aborted": False,
    }
    step = document["models"][0]
    assert (step["partitions"], step["count"]) == ([["2024-12-02", "2024-12-16"]], 15)
    assert (step["model_version"], step["revision"]) == (3, None)
    assert document["preview"]["cascaded"][0] == {
        "model": "weekly_summary",
        "count": 3,
        "after": ["daily_user_stats"],
    }
    assert document["preview"]["diffs"][0]["diffs"][0]["diff"] == [
        "-        COUNT(DISTINCT user_id) AS unique_users,",
        "+        COUNT(DISTINCT COALESCE(user_id, 'anon')) AS unique_users,",
    ]
    assert document["preview"]["drifted"][0]["states"][0]["state"] == "sql_changed"
