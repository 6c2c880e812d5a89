"""A change of the clocks where penstock runs changes no row, no partition and no watermark.

Each zone is that of the operating system of a process of its own, with a JVM of its own.
"""

from __future__ import annotations

import pytest

from fakes.summer_time import CHANGES, LATER, MINUTES, instants, told_in

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
SPRING, AUTUMN = CHANGES["Europe/Berlin"]


def test_the_hour_that_comes_twice_is_two_hours(tmp_path):
    ((first, second, third),) = told_in("Europe/Berlin", tmp_path, AUTUMN)

    times = instants(AUTUMN, MINUTES)
    shown = [[str(n), f"{at:%Y-%m-%d %H:%M:%S}"] for n, at in enumerate(times, 1)]
    early = sorted(
        row for row, at in zip(shown, times, strict=True) if at <= instants(AUTUMN, (30,))[0]
    )
    later = [
        [str(n), f"{at:%Y-%m-%d %H:%M:%S}"] for n, at in enumerate(instants(AUTUMN, LATER), 100)
    ]
    assert [each["failed"] for each in (first, second, third)] == [[], [], []]
    assert first["appended"] == early
    assert third["again"] == sorted(shown + later[:2])
    assert third["hours"] == [
        ["2025-10-25 22:00:00", "1"],
        ["2025-10-25 23:00:00", "1"],
        ["2025-10-26 00:00:00", "3"],
        ["2025-10-26 01:00:00", "5"],
        ["2025-10-26 02:00:00", "6"],
        ["2025-10-26 03:00:00", "2"],
    ]
    assert third["days"] == [["2025-10-25", "2"], ["2025-10-26", "16"]]


@pytest.mark.parametrize("zone", CHANGES)
def test_the_zone_of_the_operating_system_changes_nothing(tmp_path, zone):
    here = told_in(zone, tmp_path / "here", *CHANGES[zone])

    assert here == told_in("UTC", tmp_path / "utc", *CHANGES[zone])
    assert [run["failed"] for story in here for run in story] == [[]] * 6
