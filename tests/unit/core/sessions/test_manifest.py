"""What a run of a package leaves on record, and says of its passes."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.session_world import at
from penstock.core.sessions.manifest import (
    EventCounts,
    Limits,
    ManifestRow,
    ManifestStatus,
    PassKind,
    PlannedPass,
    RunState,
    executed,
    greatest,
    instant_text,
    limit_lines,
)

LIMITS = Limits(RunState.STANDARD, at("01-02"), at("01-03 12:30"))
PASS = PlannedPass(PassKind.PACKAGE, LIMITS, ManifestStatus(), ("web_users",))


def test_the_greatest_of_no_times_is_none():
    assert greatest(None, at("01-02"), at("01-01")) == at("01-02")
    assert greatest(None, None) is None


def test_a_strict_position_knows_no_windows_that_were_passed_over():
    row = ManifestRow("web_users", at("01-02"), advanced_to=at("01-05"))

    assert (row.position(), row.position(strict=True)) == (at("01-05"), at("01-02"))


@pytest.mark.parametrize(("low", "empty"), [("01-03", False), ("01-04", False), ("01-05", True)])
def test_both_ends_belong_to_the_window_of_a_pass(low, empty):
    limits = Limits(RunState.FIRST_RUN, at(low), at("01-04"))

    assert limits.is_empty is empty
    assert limits.end == at("01-04 00:00:00.000001")


def test_counts_are_sound_where_each_event_is_in_one_class():
    counts = EventCounts(45, *range(1, 10))

    assert counts.is_sound
    assert not replace(counts, read=44).is_sound
    assert not replace(counts, kept=8).is_sound


def test_a_pass_that_is_idle_is_not_executed():
    idle = replace(PASS, idle="nothing is new")

    assert executed((idle, PASS)) == (PASS,)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (None, ""),
        (at("01-05 10:00"), "2021-01-05 10:00:00"),
        (at("01-05 17:59:32.5"), "2021-01-05 17:59:32.5"),
        (dt.datetime(2021, 1, 5, tzinfo=dt.timezone(dt.timedelta(hours=1))), "2021-01-04 23:00:00"),
    ],
)
def test_a_time_is_written_in_utc_with_a_fraction_where_there_is_one(time, text):
    assert instant_text(time) == text


def test_a_pass_says_which_events_it_reads_and_whether_it_has_nothing_to_do():
    behind = replace(
        PASS,
        kind=PassKind.BACKFILL,
        limits=replace(LIMITS, state=RunState.OUT_OF_SYNC),
        idle="nothing is new",
    )

    assert limit_lines("web", PASS) == (
        "web: Standard incremental run",
        "web: Processing data between 2021-01-02 00:00:00 and 2021-01-03 12:30:00",
    )
    assert limit_lines("web", behind) == (
        "web (backfill): Models out of sync: syncing",
        "web (backfill): Processing data between 2021-01-02 00:00:00 and 2021-01-03 12:30:00",
        "web (backfill): Nothing to do: nothing is new",
    )


def test_passes_with_the_same_limits_are_one_plan_whatever_is_told_of_them():
    status = replace(PASS.status, least="web_users")

    assert replace(PASS, status=status, idle="no", max_covered=at("01-03")) == PASS
