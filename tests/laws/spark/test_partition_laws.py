"""Laws 7 and 9 of partitions: how a range is cut says nothing; changes by others are seen."""

import datetime as dt
import itertools
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.clock import FixedClock
from fakes.drift_place import DAILY_TABLE, MOMENT, DriftPlace

deep = settings.default.max_examples > 100
COUNTER = itertools.count()
DAYS = ("2024-11-28", "2024-12-02", "2024-12-03", "2024-12-05", "2024-12-09")
FOREIGN = {
    "insert": "INSERT INTO {table} VALUES (DATE '{day}', {n}, {n})",
    "update": "UPDATE {table} SET unique_users = unique_users + {n} WHERE date = '{day}'",
    "delete": "DELETE FROM {table} WHERE date >= '{day}' AND unique_users < {n}",
    "optimize": "OPTIMIZE {table}",
}


@pytest.fixture(scope="module")
def copies(tmp_path_factory, spark, synced_folder):
    """Make copies of fixture F after `sync --yes`."""
    root = tmp_path_factory.mktemp("copies")

    def copy():
        folder = root / str(next(COUNTER))
        shutil.copytree(synced_folder, folder)
        return DriftPlace(folder, spark, {}, FixedClock(MOMENT + dt.timedelta(minutes=1)))

    return copy


def by_day(place):
    """Give the rows of daily by their day."""
    found = {}
    for row in place.rows(DAILY_TABLE):
        found.setdefault(row[0], []).append(row[1:])
    return {day: sorted(rows, key=repr) for day, rows in found.items()}


def marks(place):
    """Give what built each range of partitions, and whether it left rows."""
    services = place.services()
    records = services.reading.records
    marks = records.fingerprints()
    found = [
        (number, marks[run.fingerprint].label, run.holds_rows)
        for run in records.runs("daily_user_stats")["daily_user_stats"]
        for number in range(run.low, run.high + 1)
    ]
    services.close()
    return found


@pytest.mark.matrix
@settings(max_examples=12 if deep else 2, suppress_health_check=list(HealthCheck))
@given(size=st.sampled_from((1, 4, 7, 31) if deep else (7, 31)), threads=st.integers(1, 4))
def test_however_a_backfill_is_cut_it_leaves_the_same_rows_and_records(copies, size, threads):
    place = copies()
    before = by_day(place), marks(place)

    report = place.backfill(
        "daily_user_stats", "2024-11-27", "2024-12-09", batch_size=size, threads=threads
    )

    assert [result.error for result in report.results if not result.ok] == []
    assert (by_day(place), marks(place)) == before


@settings(max_examples=12 if deep else 2, suppress_health_check=list(HealthCheck))
@given(
    deeds=st.lists(
        st.tuples(st.sampled_from(sorted(FOREIGN)), st.sampled_from(DAYS), st.integers(1, 3)),
        min_size=1,
        max_size=6 if deep else 3,
    )
)
def test_every_partition_that_others_changed_is_seen(copies, deeds):
    place = copies()
    before = by_day(place)
    for name, day, n in deeds:
        place.sql(FOREIGN[name].format(table=place.table(DAILY_TABLE), day=day, n=n))

    lines = place.states("daily_user_stats")["daily_user_stats"]

    after = by_day(place)
    changed = {day for day in {*before, *after} if before.get(day) != after.get(day)}
    seen = {day for day in changed if any(_names(line, day) for line in lines)}
    assert seen == changed
    if {name for name, _, _ in deeds} == {"optimize"}:
        assert lines == []


def _names(line, day):
    """Whether a line of states names a day as tampered with or missing."""
    state, ranges, *_ = line.split()
    if state not in ("tampered", "missing"):
        return False
    bounds = (each.split("..") for each in ranges.split(","))
    return any(each[0] <= day <= each[-1] for each in bounds)
