"""What `status` says of synced fixture F after files were edited; nothing here starts a job."""

import pytest

from fakes.fixture_f import DAILY, DAILY_V1, DAILY_V3, EDIT_E
from penstock.core.errors import UsageError
from penstock.plan.values import State

V4_SQL = "queries/analytics/daily_user_stats.v4.sql"
V4 = """
  - version: 4
    effective_from: 2024-12-10
    sql: daily_user_stats.v4.sql
    schema: ${{ versions.3.schema }}
"""
R1 = """\
    sql_revisions:
      - revision: 1
        effective_from: 2024-12-17
        sql: daily_user_stats.v4.sql
"""
OTHER_SQL = EDIT_E[DAILY_V3]
ALL_CURRENT = {"daily_user_stats": [], "weekly_summary": [], "monthly_report": []}


def test_after_a_sync_everything_is_current_and_the_next_plan_is_empty(synced):
    assert synced.states() == ALL_CURRENT
    assert synced.preview().plan.is_empty


def test_an_edited_version_drifts_and_what_reads_it_is_pending(synced):
    synced.write(EDIT_E)

    assert synced.states() == {
        "daily_user_stats": ["sql_changed 2024-12-02..2024-12-16"],
        "weekly_summary": ["upstream_changed pending 2024-12-02,2024-12-09,2024-12-16"],
        "monthly_report": ["upstream_changed pending 2024-12"],
    }


def test_pending_partitions_are_not_counted_as_drifted(synced):
    synced.write(EDIT_E)

    report = synced.status()

    assert (report.partitions, report.drifted, report.pending) == (46, 15, 4)


def test_what_drifted_above_the_selection_makes_it_pending(synced):
    synced.write(EDIT_E)

    assert synced.states("monthly_report") == {
        "monthly_report": ["upstream_changed pending 2024-12"]
    }


COSMETIC = """\
select DATE(created_at)
  AS date, -- the day, in UTC
       COUNT(DISTINCT `user_id`) AS unique_users,
       COUNT(*) AS events
FROM raw.events
WHERE DATE(created_at) = @partition_date
GROUP BY DATE(created_at)
"""


def test_other_spelling_of_the_same_sql_is_cosmetic(synced):
    synced.write({DAILY_V3: COSMETIC})

    report = synced.status()

    assert synced.states() == ALL_CURRENT
    assert [model.cosmetic for model in report.models] == [15, 0, 0]


def test_letter_case_of_a_name_is_a_change(synced):
    synced.edit(DAILY_V3, "DISTINCT user_id", "DISTINCT USER_ID")

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": ["sql_changed 2024-12-02..2024-12-16"]
    }


def test_a_description_is_no_change(synced):
    synced.edit(DAILY, "name: daily_user_stats\n", "name: daily_user_stats\ndescription: users\n")

    assert synced.states() == ALL_CURRENT


def test_a_column_that_becomes_required_is_a_change_of_the_schema(synced):
    synced.edit(
        DAILY,
        "        - name: events\n          type: INT64\n",
        "        - name: events\n          type: INT64\n          mode: REQUIRED\n",
    )

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": ["schema_changed 2024-12-02..2024-12-16"]
    }


@pytest.mark.parametrize(
    ("sql", "schema"),
    [
        ("SELECT DATE '2024-12-10' AS date, 7 AS unique_users", "${{ versions.1.schema }}"),
        (None, "${{ versions.3.schema }}"),
    ],
    ids=["other SQL and schema", "those of v3"],
)
def test_a_new_version_upgrades_its_partitions_and_nothing_else_is_said(synced, sql, schema):
    text = sql or (synced.root / DAILY_V3).read_text(encoding="utf-8")
    synced.write({V4_SQL: text})
    synced.edit(DAILY, "versions:\n", f"versions:{V4}".replace("${{ versions.3.schema }}", schema))

    report = synced.status("daily_user_stats")

    (told,) = report.models[0].states
    assert (told.state, told.ranges, told.also, told.version) == (
        State.VERSION_UPGRADED,
        (("2024-12-10", "2024-12-16"),),
        (),
        4,
    )


def test_a_later_version_gives_its_first_partition_back_to_the_one_before(synced):
    synced.edit(DAILY, "effective_from: 2024-11-29", "effective_from: 2024-11-30")

    assert synced.states() == {
        "daily_user_stats": ["version_upgraded 2024-11-29"],
        "weekly_summary": ["upstream_changed pending 2024-11-25"],
        "monthly_report": ["upstream_changed pending 2024-11"],
    }
    (told,) = synced.status("daily_user_stats").models[0].states
    assert (told.version, told.because) == (1, ("v2 -> v1",))


def with_revision(place, since=""):
    """Give version 3 a revision from 2024-12-17."""
    place.write({V4_SQL: OTHER_SQL})
    line = f"        backfill_since: {since}\n" if since else ""
    place.edit(DAILY, "daily_user_stats.v3.sql\n", f"daily_user_stats.v3.sql\n{R1}{line}")


def test_a_revision_of_tomorrow_changes_nothing_today(synced):
    with_revision(synced)

    assert synced.states() == ALL_CURRENT


def test_a_revision_counts_from_its_run_date_for_all_of_its_version(synced):
    with_revision(synced)
    synced.clock.advance(days=1)

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": ["never_run 2024-12-17", "sql_changed 2024-12-02..2024-12-16"]
    }


def test_a_revision_with_backfill_since_leaves_older_partitions_alone(synced):
    with_revision(synced, since="2024-12-10")
    synced.clock.advance(days=1)

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": ["never_run 2024-12-17", "sql_changed 2024-12-10..2024-12-16"]
    }


def test_as_of_the_day_before_the_revision_is_not_there(synced):
    with_revision(synced)
    today = synced.clock.now()
    synced.clock.advance(days=1)

    assert synced.states("daily_user_stats", as_of=today) == {"daily_user_stats": []}


def test_partitions_before_the_first_version_are_not_effective(synced):
    synced.edit(DAILY, "\nversions:", "start: 2024-11-20\n\nversions:")

    report = synced.status("daily_user_stats")

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": ["not_effective 2024-11-20..2024-11-24"]
    }
    assert (report.partitions, report.drifted) == (22, 0)
    assert synced.preview().plan.is_empty


def test_a_deleted_version_leaves_its_rows_without_a_version(synced):
    columns = "[{name: date, type: DATE}, {name: unique_users, type: INT64}]"
    text = (synced.root / DAILY).read_text(encoding="utf-8")
    first, second = text.index("  - version: 1\n"), text.index("  - version: 2\n")
    text = text[:first] + text[second:].replace("${{ versions.1.schema }}", columns)
    synced.write({DAILY: text})
    (synced.root / DAILY_V1).unlink()

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": ["not_effective 2024-11-25..2024-11-28 also has data of v1"]
    }
    assert synced.preview("daily_user_stats").plan.is_empty


def test_days_are_the_last_ones_up_to_the_run_date(synced):
    synced.write(EDIT_E)

    assert synced.states(days=7) == {
        "daily_user_stats": ["sql_changed 2024-12-10..2024-12-16"],
        "weekly_summary": ["upstream_changed pending 2024-12-16"],
        "monthly_report": ["upstream_changed pending 2024-12"],
    }


def test_from_and_to_are_both_included(synced):
    synced.write(EDIT_E)

    assert synced.states("daily_user_stats", first="2024-12-15", last="2024-12-16") == {
        "daily_user_stats": ["sql_changed 2024-12-15..2024-12-16"]
    }


def test_days_and_dates_exclude_each_other(synced):
    with pytest.raises(UsageError) as caught:
        synced.status(days=7, first="2024-12-15")

    assert (caught.value.code, caught.value.exit_code) == ("option-conflict", 2)


def test_a_partition_can_differ_in_more_than_one_way(synced):
    synced.write({**EDIT_E, DAILY_V1: "SELECT 1"})
    synced.edit(DAILY, "effective_from: 2024-11-29", "effective_from: 2024-11-30")
    synced.edit(DAILY, "          type: INT64\n", "          type: INT\n")

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": [
            "version_upgraded 2024-11-29",
            "sql_changed 2024-11-25..2024-11-28",
            "sql_changed 2024-12-02..2024-12-16 also schema_changed",
        ]
    }
