"""Event-time mode, where late rows are placed into closed history."""

from itertools import permutations

import pytest

from fakes.snapshot_cases import EV, Cases, Told

pytestmark = pytest.mark.matrix

CASES = Cases()
LONG = Cases()

late = CASES.add(
    "late",
    EV,
    "1 a 01-10",
    "1 b 02-10",
    "1 x 01-20, 1 z 01-01",
    "1 a 01-10, 1 b 02-10, 1 x 01-20, 1 z 01-01",
)
TWO = ["1 a 01-10 [01-10, 02-10)", "1 b 02-10 [02-10, )"]
FOUR = [
    "1 z 01-01 [01-01, 01-10)",
    "1 a 01-10 [01-10, 01-20)",
    "1 x 01-20 [01-20, 02-10)",
    "1 b 02-10 [02-10, )",
]


def test_intervals_start_where_the_source_says(runs) -> None:
    opened = {"source_rows": 1, "opened_new": 1}
    moved = {"source_rows": 1, "opened_changed": 1, "closed": 1}

    assert runs.told(late, 1) == Told("success", 0, ["1 a 01-10 [01-10, )"], opened)
    assert runs.told(late, 2) == Told("success", 1, TWO, moved)


def test_late_rows_are_placed_into_closed_history(runs) -> None:
    placed = {"source_rows": 2, "opened_late": 2, "shortened": 1}

    assert runs.told(late, 3) == Told("success", 2, FOUR, placed)


def test_rows_that_are_known_make_no_commit(runs) -> None:
    assert runs.told(late, 4) == Told("unchanged", 2, FOUR, {"source_rows": 4, "unchanged": 4})
    assert runs.files(late, 4) == runs.files(late, 3)


log = CASES.add("log", EV, "1 a 01-10, 1 b 02-10, 1 c 03-10", "1 d 04-10, 1 e 04-10")
LOG = ["1 a 01-10 [01-10, 02-10)", "1 b 02-10 [02-10, 03-10)", "1 c 03-10 [03-10, )"]


def test_several_rows_of_a_key_in_one_source_are_several_versions(runs) -> None:
    opened = {"source_rows": 3, "opened_new": 1, "opened_changed": 2}

    assert runs.told(log, 1) == Told("success", 0, LOG, opened)


ROWS = ("a 01-10", "b 02-10", "c 03-10")
ORDERS = list(enumerate(permutations(ROWS), 1))
orders = LONG.add(
    "orders",
    EV,
    *[", ".join(f"{key} {order[run]}" for key, order in ORDERS) for run in (0, 1, 2)],
)


def test_the_order_in_which_rows_come_does_not_matter(long_runs) -> None:
    """Each of six keys has its rows in another order."""
    versions = [f"{key} {version[2:]}" for key, _ in ORDERS for version in LOG]

    assert (long_runs.told(orders, 3).version, long_runs.told(orders, 3).versions) == (2, versions)


tied = CASES.add("tied", EV, "1 a 01-10, 1 b 01-10")


def test_two_rows_of_a_key_at_the_same_time_are_refused(runs) -> None:
    told = (
        "tied-versions: 1 times a key of '{}' has two rows with the same updated_at "
        "(e.g. id=1 at 2024-{} 00:00:00 ×2)"
    )

    assert runs.error(tied, 1) == told.format(tied, "01-10")
    assert runs.told(tied, 1) == Told("tied-versions", -1, [])
    assert runs.error(log, 2) == told.format(log, "04-10")
    assert runs.told(log, 2) == Told("tied-versions", 0, LOG)


returned = LONG.add(
    "returned",
    EV | {"hard_deletes": "invalidate"},
    "1 a 01-10, 2 b 01-10, 3 c 01-10",
    "2 b 01-10",
    "1 a 01-10, 2 b 01-10, 3 d 06-11",
    "1 a 01-10, 2 b 01-10, 3 d 06-11",
)
AGAIN = [
    "1 a 01-10 [01-10, T2)",
    "1 a 01-10 [T3, )",
    "2 b 01-10 [01-10, )",
    "3 c 01-10 [01-10, T2)",
    "3 d 06-11 [06-11, )",
]


def test_a_key_that_returns_with_an_old_row_is_opened_again_at_T(long_runs) -> None:
    """In the same run: key 3 returns with a row of ten days after it was gone."""
    gone = ["1 a 01-10 [01-10, T2)", "2 b 01-10 [01-10, )", "3 c 01-10 [01-10, T2)"]
    left = {"source_rows": 1, "unchanged": 1, "closed": 2, "deleted": 2}
    back = {"source_rows": 3, "opened_changed": 1, "reopened": 1, "unchanged": 1}

    assert long_runs.told(returned, 2) == Told("success", 1, gone, left)
    assert long_runs.told(returned, 3) == Told("success", 2, AGAIN, back)


def test_a_key_that_returned_is_known(long_runs) -> None:
    assert long_runs.told(returned, 4) == Told(
        "unchanged", 2, AGAIN, {"source_rows": 3, "unchanged": 3}
    )


def test_a_key_that_returns_with_a_new_row_starts_there(long_runs) -> None:
    assert long_runs.told(returned, 3).versions[3:] == AGAIN[3:]


dated = LONG.add(
    "dated",
    EV,
    "1 a 01-10",
    "1 b 02-10",
    "1 q 02-10",
    columns="id INT, value STRING, updated_at DATE",
)
counted = LONG.add("counted", EV, "1 a 7", columns="id INT, value STRING, updated_at BIGINT")


def test_a_date_is_midnight_UTC_and_a_number_is_no_time(long_runs) -> None:
    (starts,) = long_runs.sql(
        "SELECT typeof(max(_ps_valid_from)), array_join(sort_array("
        "array_agg(cast(_ps_valid_from AS STRING))), ', ') FROM {dated}"
    )

    assert long_runs.told(dated, 2).versions == TWO
    assert starts == ("timestamp", "2024-01-10 00:00:00, 2024-02-10 00:00:00")
    assert long_runs.error(counted, 1) == "updated-at-type: updated_at 'updated_at' is BIGINT"


def test_a_known_row_is_never_compared(long_runs) -> None:
    assert long_runs.told(dated, 3) == Told("unchanged", 1, TWO, {"source_rows": 1, "unchanged": 1})


LAST = {**EV, "retention": {"keep_last": 2}}
short = LONG.add(
    "short", LAST, "1 a 01-10, 1 b 02-10, 1 c 03-10", "1 a 01-10, 1 b 02-10, 1 c 03-10"
)


def test_a_row_that_retention_would_remove_at_once_is_never_written(long_runs) -> None:
    first = {"source_rows": 3, "opened_changed": 2, "skipped": 1}
    second = {"source_rows": 3, "unchanged": 2, "skipped": 1}

    assert long_runs.told(short, 1) == Told("success", 0, LOG[1:], first)
    assert long_runs.told(short, 2) == Told("unchanged", 0, LOG[1:], second)
