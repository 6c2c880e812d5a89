"""The four states of a run and its limits."""

import datetime as dt

import pytest

from fakes.session_world import at, options, package, shown
from penstock.core.errors import SessionLimitsError
from penstock.core.sessions.manifest import ManifestRow, ManifestStatus
from penstock.plan.kinds.manifest import (
    late_start,
    manifest_passes,
    manifest_status,
    run_limits,
    shown_time,
)

NOW = at("06-01")
NOBODY = ManifestStatus()


def stands(low, high=None, matched=10, *, all_matched=True):
    return ManifestStatus(at(low), at(high or low), matched, all_matched, has_events=True)


def limits(status, now=NOW, **keys):
    found = run_limits(status, options(**keys), now)
    return int(found.state), shown(found.lower_limit), shown(found.upper_limit)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (NOBODY, (1, "01-01", "01-31")),
        (stands("03-01", matched=5, all_matched=False), (2, "01-01", "01-31")),
        (stands("03-01", "03-05"), (3, "02-28 18:00", "03-05")),
        (stands("03-01", "05-01"), (3, "02-28 18:00", "03-31")),
        (stands("03-01"), (4, "02-28 18:00", "03-31")),
    ],
    ids=["S1", "S2", "S3", "S4", "S5"],
)
def test_the_formulas_of_the_four_states(status, expected):
    assert limits(status) == expected


def test_a_first_run_ends_now_where_the_history_is_short():
    assert limits(NOBODY, at("01-10 12:00")) == (1, "01-01", "01-10 12:00")


def test_a_new_model_is_brought_up_to_the_others():
    assert limits(stands("01-10", all_matched=False)) == (2, "01-01", "01-10")


def test_a_new_model_comes_before_models_out_of_sync():
    assert limits(stands("02-01", "03-01", all_matched=False)) == (2, "01-01", "01-31")


def test_a_standard_run_ends_now():
    assert limits(stands("03-01"), at("03-02")) == (4, "02-28 18:00", "03-02")


def test_a_start_after_what_was_processed_is_an_error_or_with_seed_limits_a_warning():
    rows = [ManifestRow("web_users", at("01-10"))]
    late = package(start_date=at("02-01"))

    with pytest.raises(SessionLimitsError) as caught:
        manifest_passes(late, rows, ("web_users", "m5"), NOW)
    status = manifest_status(rows, ("web_users", "m5"))
    strict = options(start_date=at("02-01"), strict_seed_limits=True)
    found = run_limits(status, strict, NOW)

    assert caught.value.code == "start-date-after-progress"
    assert caught.value.sentence == (
        "start_date 2021-02-01 is after what web_users has processed, 2021-01-10"
    )
    assert caught.value.hint == "set it back, or 'penstock sessions forget web --all'"
    assert (shown(found.lower_limit), shown(found.upper_limit)) == ("02-01", "01-10")
    assert found.is_empty
    assert late_start(status, strict)


def test_no_window_begins_before_the_start_but_with_seed_limits():
    status = stands("01-01 02:00")

    assert limits(status)[1] == "01-01"
    assert limits(status, strict_seed_limits=True)[1] == "2020-12-31 20:00"


ROWS = [ManifestRow(name, at(f"2020-01-0{n}")) for n, name in enumerate("abc", start=1)]


def test_the_status_of_tracked_models():
    found = manifest_status(ROWS, ("a", "b", "c"))

    assert found == ManifestStatus(at("2020-01-01"), at("2020-01-03"), 3, True, True)
    assert found.least == "a"


def test_a_model_without_a_row_and_a_row_that_nobody_tracks():
    found = manifest_status(ROWS, ("b", "d"))

    assert found == ManifestStatus(at("2020-01-02"), at("2020-01-02"), 1, False, True)


def test_models_that_advanced_over_nothing_are_still_in_their_first_run():
    rows = [ManifestRow("a", None, at("01-31"), at("01-31"))]
    status = manifest_status(rows, ("a",))

    assert limits(status) == (1, "01-30 18:00", "03-02")
    assert manifest_status(rows, ("a",), strict=True) == NOBODY


def test_the_end_of_a_window_belongs_to_it_up_to_the_microsecond():
    found = run_limits(NOBODY, options(), NOW)

    assert found.end - found.upper_limit == dt.timedelta(microseconds=1)


def test_a_start_in_the_future_gives_an_empty_window():
    assert run_limits(NOBODY, options(start_date=at("07-01")), NOW).is_empty


@pytest.mark.parametrize(
    ("time", "expected"),
    [("01-10", "2021-01-10"), ("01-10 00:00:00.5", "2021-01-10 00:00:00.5")],
)
def test_times_are_shown_without_zeros(time, expected):
    assert shown_time(at(time)) == expected
