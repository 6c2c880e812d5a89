"""What `snapshot run` prints."""

import datetime as dt

from fakes.reports import a_plan, a_report, a_result
from penstock.core.errors import DataError
from penstock.core.findings import Location
from penstock.ui.commands.snapshot import snapshots_text

RUN = "0190a3c4-5b6d-7e8f-9a0b-c1d2e3f4a5b6"
AT = dt.datetime(2024, 6, 1, 8, tzinfo=dt.UTC)
METRICS = dict.fromkeys(
    (
        "source_rows",
        "opened_new",
        "opened_changed",
        "opened_late",
        "reopened",
        "unchanged",
        "ignored",
        "skipped",
        "closed",
        "shortened",
        "deleted",
        "pruned",
    ),
    0,
)
H21 = {"source_rows": 3, "opened_new": 1, "opened_changed": 1, "closed": 1, "unchanged": 1}
COPIED = DataError(
    "duplicate-keys",
    "1 keys occur more than once in the source of 'users' (e.g. id=1 ×2)",
    where=Location("models/snapshots/users.sql", 1),
    hint="aggregate or filter in the SELECT",
)


def counted(name, status="success", version=4, **metrics):
    told = METRICS | metrics
    return a_result(name, status, strategy="snapshot", version=version, metrics=told)


def text(*results, **changes):
    settings = {"run_id": RUN, "run_timestamp": AT, "command": "snapshot run"}
    return snapshots_text(a_report(a_plan(), *results, **(settings | changes)))


def test_every_history_table_has_a_line_with_what_was_counted():
    assert text(
        counted("users_clean_snapshot", **H21),
        counted("mart_users_snapshot", "unchanged", 2, source_rows=120, unchanged=120),
    ) == (
        "run 0190a3c4  2024-06-01 08:00:00 UTC\n"
        "model                 source  new  changed  closed  unchanged  deleted  pruned  result\n"
        "users_clean_snapshot       3    1        1       1          1        0       0  "
        "version 4\n"
        "mart_users_snapshot      120    0        0       0        120        0       0  "
        "no change\n"
        "2 snapshots: 1 updated, 1 without change"
    )


def test_one_snapshot_is_counted_in_the_singular():
    assert text(counted("users", **H21)).splitlines()[-1] == "1 snapshot: 1 updated"


def test_counts_of_rare_cases_have_a_column_only_where_one_of_them_is_not_zero():
    late = {"opened_late": 2, "shortened": 1, "reopened": 1}

    shown = text(
        counted("users", source_rows=7, ignored=3, skipped=1, **late),
        counted("orders", "unchanged", source_rows=5, unchanged=5),
    )

    assert "\n".join(shown.splitlines()[1:4]) == (
        "model   source  new  changed  closed  unchanged  deleted  pruned  late  reopened  "
        "shortened  ignored  skipped  result\n"
        "users        7    0        0       0          0        0       0     2         1  "
        "        1        3        1  version 4\n"
        "orders       5    0        0       0          5        0       0     0         0  "
        "        0        0        0  no change"
    )


def test_a_single_rare_count_adds_a_single_column():
    assert text(counted("users", source_rows=2, unchanged=1, ignored=1)).splitlines()[1] == (
        "model  source  new  changed  closed  unchanged  deleted  pruned  ignored  result"
    )


def test_a_table_that_nobody_had_to_look_at_is_up_to_date_and_has_no_counts():
    current = a_result("users", "unchanged", strategy="snapshot", version=4)

    assert text(current) == (
        "run 0190a3c4  2024-06-01 08:00:00 UTC\n"
        "model  source  new  changed  closed  unchanged  deleted  pruned  result\n"
        "users       -    -        -       -          -        -       -  up to date\n"
        "1 snapshot: 1 without change"
    )


def test_a_dry_run_says_first_that_nothing_is_written():
    shown = text(
        counted("users", "planned", **H21),
        counted("orders", "planned", source_rows=9, unchanged=9, pruned=2),
        counted("prices", "unchanged", source_rows=9, unchanged=9),
        run_id="",
        dry_run=True,
    )

    assert shown == (
        "run  2024-06-01 08:00:00 UTC\n"
        "dry run: nothing is written\n"
        "model   source  new  changed  closed  unchanged  deleted  pruned  result\n"
        "users        3    1        1       1          1        0       0  would commit\n"
        "orders       9    0        0       0          9        0       2  would prune\n"
        "prices       9    0        0       0          9        0       0  no change\n"
        "3 snapshots: 2 would be updated, 1 without change"
    )


def test_a_prune_that_comes_with_changes_is_told_as_a_commit():
    changed = counted("users", "planned", **H21, pruned=2)
    closed = counted("orders", "planned", deleted=1, closed=1, pruned=2)

    shown = text(changed, closed, run_id="", dry_run=True)

    assert [line.rsplit("  ", 1)[1] for line in shown.splitlines()[3:5]] == ["would commit"] * 2


def test_a_dry_run_that_would_only_change_properties_would_commit():
    altered = a_result("users", "planned", strategy="snapshot")

    assert text(altered, run_id="", dry_run=True).splitlines()[3] == (
        "users       -    -        -       -          -        -       -  would commit"
    )


def test_what_failed_is_told_below_the_table_and_the_last_line_resumes():
    failed = a_result("users", "failed", strategy="snapshot", error=COPIED)
    skipped = a_result("second", "skipped", strategy="snapshot", reason="upstream users failed")

    assert text(
        failed,
        skipped,
        counted("orders", version=1, **H21),
        resume="penstock snapshot run --select 'users second'",
    ) == (
        "run 0190a3c4  2024-06-01 08:00:00 UTC\n"
        "model   source  new  changed  closed  unchanged  deleted  pruned  result\n"
        "users        -    -        -       -          -        -       -  FAILED duplicate-keys\n"
        "second       -    -        -       -          -        -       -  "
        "skipped: upstream users failed\n"
        "orders       3    1        1       1          1        0       0  version 1\n"
        "models/snapshots/users.sql:1: duplicate-keys: 1 keys occur more than once in the source "
        "of 'users' (e.g. id=1 ×2)\n"
        "  hint: aggregate or filter in the SELECT\n"
        "3 snapshots: 1 updated, 1 failed, 1 skipped\n"
        "Resume: penstock snapshot run --select 'users second'"
    )


def test_notes_stand_below_the_table_under_the_name_of_their_model():
    created = a_result(
        "users",
        strategy="snapshot",
        version=0,
        metrics=METRICS,
        notes=("the source has no rows: the table is empty",),
    )

    assert text(created).splitlines()[3] == "users: the source has no rows: the table is empty"


def test_an_interrupted_run_says_so():
    shown = text(counted("users", **H21), interrupted=True, resume="penstock snapshot run")

    assert shown.splitlines()[-3:] == [
        "Interrupted.",
        "1 snapshot: 1 updated",
        "Resume: penstock snapshot run",
    ]


def test_a_run_that_was_interrupted_before_anything_ended_still_tells_how_to_resume():
    assert text(interrupted=True, resume="penstock snapshot run").splitlines()[2:] == [
        "Interrupted.",
        "0 snapshots: none ended",
        "Resume: penstock snapshot run",
    ]


def test_a_project_without_snapshots_is_one_line():
    assert text() == "no snapshot models in this project"
