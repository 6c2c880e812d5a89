"""Keys: several columns, duplicates, NULL, another case."""

import pytest

from fakes.snapshot_cases import CK, TS, Cases, Told

CASES = Cases()
LONG = Cases()

pair = LONG.add(
    "pair",
    {"strategy": "check", "unique_key": ["user_id", "country"], "check_cols": "value"},
    "7 NL a, 7 DE b",
    "7 NL A, 7 DE b",
    columns="user_id INT, country STRING, value STRING",
)


@pytest.mark.matrix
def test_a_key_of_two_columns_is_one_key(long_runs) -> None:
    versions = ["7 DE b [T1, )", "7 NL a [T1, T2)", "7 NL A [T2, )"]
    moved = {"source_rows": 2, "opened_changed": 1, "closed": 1, "unchanged": 1}

    assert long_runs.told(pair, 2) == Told("success", 1, versions, moved)


twice = CASES.add("twice", CK, "1 a 01-01, 1 b 01-01, 2 c 01-01")
later = CASES.add(
    "later",
    CK,
    "1 a 01-01, 2 c 01-01",
    "1 a 01-01, 1 b 01-01, 2 c 01-01",
    "1 a 01-01, 2 c 01-01, NULL d 01-01",
)
STORED = ["1 a 01-01 [T1, )", "2 c 01-01 [T1, )"]


@pytest.mark.matrix
def test_a_key_that_occurs_twice_is_refused_on_every_run(runs) -> None:
    told = "duplicate-keys: 1 keys occur more than once in the source of '{}' (e.g. id=1 ×2)"

    assert runs.error(twice, 1) == told.format(twice)
    assert runs.told(twice, 1) == Told("duplicate-keys", -1, [])
    assert runs.error(later, 2) == told.format(later)
    assert runs.told(later, 2) == Told("duplicate-keys", 0, STORED)


nameless = CASES.add("nameless", CK, "NULL a 01-01")
matching = LONG.add(
    "matching", CK | {"null_keys": "match"}, "NULL a 01-01", "NULL a 01-01", "NULL b 01-01"
)


def test_a_NULL_key_is_refused(runs) -> None:
    told = "null-key: 1 rows in the source of '{}' have NULL in their key (id) (e.g. id=NULL)"

    assert runs.error(nameless, 1) == told.format(nameless)
    assert runs.told(nameless, 1) == Told("null-key", -1, [])
    assert runs.error(later, 3) == told.format(later)
    assert runs.told(later, 3) == Told("null-key", 0, STORED)


@pytest.mark.matrix
def test_or_it_matches_NULL(long_runs) -> None:
    one = ["NULL a 01-01 [T1, )"]
    two = ["NULL a 01-01 [T1, T3)", "NULL b 01-01 [T3, )"]
    moved = {"source_rows": 1, "opened_changed": 1, "closed": 1}

    assert long_runs.told(matching, 1) == Told(
        "success", 0, one, {"source_rows": 1, "opened_new": 1}
    )
    assert long_runs.told(matching, 2) == Told(
        "unchanged", 0, one, {"source_rows": 1, "unchanged": 1}
    )
    assert long_runs.told(matching, 3) == Told("success", 1, two, moved)


loud = CASES.add(
    "loud",
    {"strategy": "timestamp", "unique_key": "ID", "updated_at": "Updated_At"},
    "1 a 01-05, 2 b 01-06",
    "1 A 02-01, 2 b 01-06",
)


def test_settings_name_columns_without_regard_to_case(runs) -> None:
    versions = ["1 a 01-05 [T1, T2)", "1 A 02-01 [T2, )", "2 b 01-06 [T1, )"]
    moved = {"source_rows": 2, "opened_changed": 1, "closed": 1, "unchanged": 1}
    (names,) = runs.sql(
        "SELECT array_join(array_agg(k), ' ') FROM (SELECT "
        "explode(map_keys(from_json(to_json(struct(*)), 'map<string,string>'))) k "
        "FROM {loud} WHERE id = 2)"
    )

    assert runs.told(loud, 2) == Told("success", 1, versions, moved)
    assert names == ("id value updated_at _ps_valid_from _ps_is_current",)


broken = CASES.add("broken", TS, "1 a 01-05, 1 b 01-06, NULL c 01-05, 2 d NULL")


def test_everything_that_is_wrong_with_a_source_is_told_at_once(runs) -> None:
    assert runs.error(broken, 1) == (
        "duplicate-keys: 1 keys occur more than once in the source of 'broken' (e.g. id=1 ×2); "
        "null-key: 1 rows in the source of 'broken' have NULL in their key (id) (e.g. id=NULL) "
        "(filter them out, or set null_keys: match); "
        "null-updated-at: 1 rows in the source of 'broken' have NULL in updated_at (e.g. id=2) "
        "(fill it in the SELECT, or set null_updated_at: ignore_row)"
    )
