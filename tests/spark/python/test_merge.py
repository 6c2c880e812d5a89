"""Merges of Python models."""

import pytest

from penstock.core.errors import DataError


def users(place, **options):
    @place.app.incremental_table(time_column="ts", unique_key="user", **options)
    def users(raw_logs):
        return raw_logs.select("user", "ts", "amount")


@pytest.mark.matrix
def test_the_newest_row_of_each_key_stays(place):
    place.source(1, 2, 3, 4)
    users(place)
    place.app.run()
    first = place.rows("users", "user, amount")
    place.append(5, 6)

    report = place.app.run()

    assert first == [("a", 30), ("b", 20), ("c", 40)]
    assert place.rows("users", "user, amount") == [("a", 60), ("b", 50), ("c", 40)]
    assert (report["users"].rows.updated, report["users"].rows.inserted) == (2, 0)


@pytest.mark.matrix
def test_an_older_row_changes_nothing(place):
    place.source(1, 2, 3, 4)
    users(place, lookback="2 days")
    place.app.run()
    place.append("(7, '2025-01-15T12:00:00Z', 'c', 5)")

    report = place.app.run()

    assert report["users"].status == "unchanged"
    assert place.rows("users", "user, amount") == [("a", 30), ("b", 20), ("c", 40)]


@pytest.mark.matrix
def test_rows_that_tie_must_be_equal(place):
    place.source(1, 2, 3, 4)
    users(place)
    place.app.run()
    row = "(9, '2025-01-17T10:00:00Z', 'd', 90)"
    place.append(row, row)
    place.app.run()
    equal = place.rows("users", "user, amount")
    place.append("(9, '2025-01-18T10:00:00Z', 'd', 1)", "(9, '2025-01-18T10:00:00Z', 'd', 2)")

    with pytest.raises(DataError, match="user=d") as caught:
        place.app.run()

    assert caught.value.code == "duplicate-keys"
    assert equal == [("a", 30), ("b", 20), ("c", 40), ("d", 90)]
    assert place.rows("users", "user, amount") == equal


@pytest.mark.matrix
def test_duplicates_and_null_keys_may_be_errors(place):
    place.source(1, 3)
    users(place, on_duplicate="error")

    with pytest.raises(DataError) as caught:
        place.app.run()

    assert caught.value.code == "duplicate-keys"


@pytest.mark.matrix
def test_a_null_key_is_an_error_unless_it_may_match(place):
    place.source(1)
    place.append("(8, '2025-01-15T11:00:00Z', NULL, 1)", "(9, '2025-01-15T12:00:00Z', NULL, 2)")
    users(place)

    @place.app.incremental_table(time_column="ts", unique_key="user", null_keys="match")
    def matching(raw_logs):
        return raw_logs.select("user", "ts", "amount")

    with pytest.raises(DataError) as caught:
        place.app.run()

    assert caught.value.code == "null-key"
    assert place.rows("matching", "user, amount") == [("a", 10), (None, 2)]
