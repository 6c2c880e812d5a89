"""What sync, backfill and run refuse before anything is done."""

import pytest

from fakes.drift_place import DriftPlace
from fakes.stranger import append_all_events
from penstock.app.commands.plan import preview
from penstock.app.request import RunRequest
from penstock.core.errors import UsageError


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("f")
    append_all_events(root)
    return DriftPlace(root)


def refusal(command, *given, **asked):
    """Give code, sentence and exit code of what a command is refused with."""
    with pytest.raises(UsageError) as caught:
        command(*given, **asked)
    return caught.value.code, caught.value.sentence, caught.value.exit_code


def test_all_and_what_narrows_it_exclude_each_other(place):
    def beside(flag):
        return ("option-conflict", f"--all and {flag} exclude each other", 2)

    assert refusal(place.sync, everything=True, days=3) == beside("--days")
    assert refusal(place.sync, "weekly_summary", everything=True) == beside("--select")
    assert refusal(place.sync, everything=True, max_partitions=10) == beside("--max-partitions")


def test_a_run_before_the_first_version_is_refused(place):
    assert refusal(place.run, first="2020-01-01", last="2020-01-01") == (
        "no-version-for-partition",
        "no version of daily_user_stats is for 2020-01-01; the first one is 2024-11-25",
        2,
    )


def test_a_run_of_a_day_to_come_is_refused(place):
    assert refusal(place.run, first="2030-01-01", last="2030-01-01") == (
        "partition-not-due",
        "daily_user_stats 2030-01-01 is not due; the newest due partition is 2024-12-16",
        2,
    )


def test_a_backfill_is_refused_for_the_same_reasons(place):
    early = refusal(place.backfill, "daily_user_stats", "2020-01-01", "2020-01-31")
    late = refusal(place.backfill, "monthly_report", "2030-01", "2030-02")

    assert (early[0], late[0]) == ("no-version-for-partition", "partition-not-due")


def test_inside_a_range_partitions_without_a_version_are_passed_over(place):
    place.edit(
        "queries/analytics/daily_user_stats.yaml", "\nversions:", "start: 2024-11-20\n\nversions:"
    )
    from penstock.app.commands.sync import preview_sync
    from penstock.app.request import BackfillRequest

    request = BackfillRequest(".", "daily_user_stats", from_="2024-11-20", to="2024-11-26")
    report = place.with_shop(lambda services: preview_sync(services, request).report)

    assert report.preview.lines == (
        "daily_user_stats: 5 partitions have no version and are passed over",
    )
    assert [step.keys for step in report.plan.steps] == [(("2024-11-25", "2024-11-26"),)]


def test_a_range_that_ends_before_it_begins_is_refused(place):
    assert refusal(place.status, first="2024-12-16", last="2024-12-15") == (
        "bad-value",
        "--from 2024-12-16 is after --to 2024-12-15",
        2,
    )


def test_an_unknown_model_is_refused_with_the_nearest_name(place):
    with pytest.raises(UsageError) as caught:
        place.backfill("weekly_sumary", "2024-12-02", "2024-12-02")

    assert (caught.value.code, caught.value.exit_code) == ("unknown-model", 2)
    assert "weekly_summary" in caught.value.hint


def test_refusals_leave_no_store(place):
    assert not (place.root / ".penstock" / "state.db").exists()


def test_a_run_includes_as_many_partitions_before_the_newest_as_lookback_says(tmp_path):
    append_all_events(tmp_path)
    place, file = DriftPlace(tmp_path), "queries/analytics/daily_user_stats.yaml"

    def planned():
        asked = RunRequest(select=("daily_user_stats",))
        report = place.with_shop(lambda services: preview(services, asked)).report
        return [key for step in report.plan.steps for key in step.keys]

    newest = planned()
    place.edit(file, "\nversions:", "lookback: 2\n\nversions:")

    assert (newest, planned()) == ([("2024-12-16",) * 2], [("2024-12-14", "2024-12-16")])
