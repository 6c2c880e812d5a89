"""Keys that are gone from the source."""

import pytest

from fakes.snapshot_cases import CK, Cases, Extract, Told

pytestmark = pytest.mark.matrix

CASES = Cases()
BOTH, ONE = "1 a 01-01, 2 b 01-01", "1 a 01-01"
OPEN = ["1 a 01-01 [T1, )", "2 b 01-01 [T1, )"]
GONE = ["1 a 01-01 [T1, )", "2 b 01-01 [T1, T2)"]
LEFT = {"source_rows": 1, "unchanged": 1, "closed": 1, "deleted": 1}

ignoring = CASES.add("ignoring", CK, BOTH, ONE)


def test_a_missing_key_stays_current_unless_told_otherwise(runs) -> None:
    assert runs.told(ignoring, 2) == Told("unchanged", 0, OPEN, {"source_rows": 1, "unchanged": 1})


closing = CASES.add("closing", CK | {"hard_deletes": "invalidate"}, BOTH, ONE, BOTH)


def test_invalidate_closes_the_version_of_a_missing_key(runs) -> None:
    assert runs.told(closing, 2) == Told("success", 1, GONE, LEFT)


def test_a_key_that_was_closed_and_returns_is_new(runs) -> None:
    opened = {"source_rows": 2, "opened_new": 1, "unchanged": 1}

    assert runs.told(closing, 3) == Told("success", 2, [*GONE, "2 b 01-01 [T3, )"], opened)


marking = CASES.add("marking", CK | {"hard_deletes": "new_record"}, BOTH, ONE, ONE, BOTH)
MARKED = [*GONE, "2 b 01-01 [T2, )†"]


def test_new_record_keeps_a_tombstone_for_a_missing_key(runs) -> None:
    assert runs.told(marking, 1) == Told("success", 0, OPEN, {"source_rows": 2, "opened_new": 2})
    assert runs.told(marking, 2) == Told("success", 1, MARKED, LEFT)
    assert runs.result(marking, 2).rows.inserted == 1
    assert runs.told(marking, 3) == Told("unchanged", 1, MARKED, {"source_rows": 1, "unchanged": 1})


def test_a_key_that_returns_closes_its_tombstone(runs) -> None:
    versions = [*GONE, "2 b 01-01 [T2, T4)†", "2 b 01-01 [T4, )"]
    moved = {"source_rows": 2, "opened_changed": 1, "closed": 1, "unchanged": 1}

    assert runs.told(marking, 4) == Told("success", 2, versions, moved)
    assert runs.sql(
        "SELECT _ps_is_deleted FROM {marking} WHERE id = 2 ORDER BY _ps_valid_from"
    ) == [(False,), (True,), (False,)]


turning = CASES.add("turning", CK, BOTH, Extract(ONE, config={"hard_deletes": "new_record"}))


def test_a_table_that_turns_to_new_record_gets_its_column_with_the_first_tombstone(
    runs,
) -> None:
    deleted = runs.sql("SELECT id, _ps_is_deleted FROM {turning} ORDER BY id, _ps_valid_from")

    assert runs.told(turning, 1).version == 0
    assert runs.told(turning, 2) == Told("success", 1, MARKED, LEFT)
    assert deleted == [(1, None), (2, None), (2, True)]
