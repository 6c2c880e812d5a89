"""The strategy `timestamp`, and what every history table has."""

import datetime as dt

import pytest

from fakes.history_story import T1
from fakes.snapshot_cases import HIDDEN, TS, Cases, Told

CASES = Cases()
LONG = Cases()

plain = CASES.add(
    "plain",
    TS,
    "1 a 01-05, 2 b 01-06",
    "1 A 02-01, 2 b 01-06, 3 c 02-02",
    "1 A 02-01, 2 b 01-06, 3 c 02-02",
)
FIRST = ["1 a 01-05 [T1, )", "2 b 01-06 [T1, )"]
CHANGED = ["1 a 01-05 [T1, T2)", "1 A 02-01 [T2, )", "2 b 01-06 [T1, )", "3 c 02-02 [T2, )"]
OPENED = {"source_rows": 2, "opened_new": 2}
MOVED = {"source_rows": 3, "opened_new": 1, "opened_changed": 1, "closed": 1, "unchanged": 1}


@pytest.mark.matrix
def test_a_first_run_opens_every_row_at_T(runs) -> None:
    assert runs.told(plain, 1) == Told("success", 0, FIRST, OPENED)


def test_a_newer_row_closes_and_opens_in_one_commit(runs) -> None:
    assert runs.told(plain, 2) == Told("success", 1, CHANGED, MOVED)


def test_the_same_rows_make_no_commit_and_write_no_file(runs) -> None:
    assert runs.told(plain, 3) == Told("unchanged", 1, CHANGED, {"source_rows": 3, "unchanged": 3})
    assert runs.files(plain, 3) == runs.files(plain, 2)


older = CASES.add("older", TS, "1 a 01-05, 2 b 01-06", "1 x 01-05, 2 y 01-01")


def test_an_equal_and_an_older_row_are_unchanged_whatever_their_values(runs) -> None:
    assert runs.told(older, 2) == Told("unchanged", 0, FIRST, {"source_rows": 2, "unchanged": 2})


differing = LONG.add(
    "differing", {**TS, "compare_rows": True}, "1 a 01-05", "1 a 03-01", "1 z 03-02"
)


@pytest.mark.matrix
def test_compare_rows_wants_a_newer_row_with_another_value(long_runs) -> None:
    same = Told("unchanged", 0, ["1 a 01-05 [T1, )"], {"source_rows": 1, "unchanged": 1})
    closed = ["1 a 01-05 [T1, T3)", "1 z 03-02 [T3, )"]
    moved = {"source_rows": 1, "opened_changed": 1, "closed": 1}

    assert long_runs.told(differing, 2) == same
    assert long_runs.told(differing, 3) == Told("success", 1, closed, moved)


timeless = CASES.add("timeless", TS, "1 a 01-05", "1 a NULL")
never = LONG.add("never", TS, "1 a NULL", "1 a NULL", "1 a NULL", "1 a NULL")


def test_a_row_without_updated_at_fails_the_step(runs) -> None:
    told = "null-updated-at: 1 rows in the source of '{}' have NULL in updated_at (e.g. id=1)"

    assert runs.error(timeless, 2) == told.format(timeless)
    assert runs.told(timeless, 2) == Told("null-updated-at", 0, ["1 a 01-05 [T1, )"])


@pytest.mark.matrix
def test_a_row_without_updated_at_fails_the_step_every_time(long_runs) -> None:
    told = "null-updated-at: 1 rows in the source of '{}' have NULL in updated_at (e.g. id=1)"

    assert [long_runs.error(never, run) for run in (1, 2, 3, 4)] == [told.format(never)] * 4
    assert long_runs.told(never, 4) == Told("null-updated-at", -1, [])


ignoring = CASES.add(
    "ignoring",
    {**TS, "null_updated_at": "ignore_row", "hard_deletes": "invalidate"},
    "1 a 01-05, 2 b 01-06",
    "1 a NULL, 2 b 01-06",
)


def test_an_ignored_row_opens_nothing_and_its_key_is_present(runs) -> None:
    counted = {"source_rows": 2, "ignored": 1, "unchanged": 1}

    assert runs.told(ignoring, 1) == Told("success", 0, FIRST, OPENED)
    assert runs.told(ignoring, 2) == Told("unchanged", 0, FIRST, counted)


dated = LONG.add(
    "dated",
    TS,
    "1 a 01-05, 2 b 01-06",
    "1 A 02-01, 2 b 01-06, 3 c 02-02",
    columns="id INT, value STRING, updated_at DATE",
)


@pytest.mark.matrix
def test_updated_at_may_be_a_date_and_the_interval_is_of_instants(long_runs) -> None:
    types = long_runs.sql(
        "SELECT typeof(updated_at), typeof(_ps_valid_from), typeof(_ps_valid_to) "
        "FROM {dated} LIMIT 1"
    )

    assert long_runs.told(dated, 1) == Told("success", 0, FIRST, OPENED)
    assert long_runs.told(dated, 2) == Told("success", 1, CHANGED, MOVED)
    assert types == [("date", "timestamp", "timestamp")]


worded = LONG.add(
    "worded",
    TS,
    "1 a 01-05, 2 b 01-06",
    "1 A 02-01, 2 b 01-06, 3 c 02-02",
    "1 A soon, 2 b 01-06",
    columns="id INT, value STRING, updated_at STRING",
)
flagged = LONG.add("flagged", TS, "1 a true", columns="id INT, value STRING, updated_at BOOLEAN")


@pytest.mark.matrix
def test_updated_at_may_be_text_that_is_a_time(long_runs) -> None:
    assert long_runs.told(worded, 2) == Told("success", 1, CHANGED, MOVED)
    assert long_runs.error(worded, 3) == (
        "updated-at-not-a-time: 1 rows in the source of 'worded' have no time in their updated_at "
        "(e.g. id=1 soon)"
    )
    assert long_runs.error(flagged, 1) == "updated-at-type: updated_at 'updated_at' is BOOLEAN"


def test_all_models_of_a_run_have_the_same_T(runs) -> None:
    starts = runs.sql(
        "SELECT DISTINCT _ps_valid_from FROM {plain} WHERE id = 2 "
        "UNION ALL SELECT DISTINCT _ps_valid_from FROM {older} WHERE id = 2"
    )

    assert [start.replace(tzinfo=dt.UTC) for (start,) in starts] == [T1, T1]


reserved = CASES.add(
    "reserved",
    TS,
    "1 a 01-05 01-05",
    columns="id INT, value STRING, updated_at TIMESTAMP, _PS_Valid_From TIMESTAMP",
    sql=HIDDEN,
)


def test_a_reserved_column_in_the_source_is_refused_before_anything_is_written(runs) -> None:
    assert runs.error(reserved, 1) == "reserved-column: column '_PS_Valid_From' is reserved"
    assert runs.told(reserved, 1) == Told("reserved-column", -1, [])
