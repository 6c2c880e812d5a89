"""Columns that come, go and change their type; names; layouts."""

import pytest

from fakes.snapshot_cases import CK, COLUMNS, HIDDEN, TS, Cases, Extract, Told
from penstock.engine.log.delta_log import DeltaLog

CASES = Cases()
LONG = Cases()
WITH_CITY = f"{COLUMNS}, city STRING"
ALL = CK | {"check_cols": "all"}

growing = CASES.add(
    "growing",
    CK,
    "1 a 01-01, 2 b 01-01",
    Extract("1 A 01-01 Rome, 2 b 01-01 Oslo", columns=WITH_CITY),
)


@pytest.mark.matrix
def test_a_new_column_is_NULL_in_what_is_there(runs) -> None:
    versions = ["1 a 01-01 NULL [T1, T2)", "1 A 01-01 Rome [T2, )", "2 b 01-01 NULL [T1, )"]
    moved = {"source_rows": 2, "opened_changed": 1, "closed": 1, "unchanged": 1}

    assert runs.told(growing, 2) == Told("success", 1, versions, moved)
    assert runs.result(growing, 2).schema_changes == ("added city",)


comparing = LONG.add(
    "comparing",
    ALL,
    "1 a 01-01, 2 b 01-01",
    Extract("1 a 01-01 Rome, 2 b 01-01 NULL", columns=WITH_CITY),
)


@pytest.mark.matrix
def test_with_all_a_value_in_a_new_column_is_a_change(long_runs) -> None:
    versions = ["1 a 01-01 NULL [T1, T2)", "1 a 01-01 Rome [T2, )", "2 b 01-01 NULL [T1, )"]
    moved = {"source_rows": 2, "opened_changed": 1, "closed": 1, "unchanged": 1}

    assert long_runs.told(comparing, 2) == Told("success", 1, versions, moved)


waiting = CASES.add(
    "waiting",
    CK,
    "1 a 01-01",
    Extract("1 a 01-01 Rome", columns=WITH_CITY),
    Extract("1 a 01-01 Rome", columns=WITH_CITY, config={"on_schema_change": "fail"}),
)


@pytest.mark.matrix
def test_a_new_column_alone_makes_no_commit_and_may_be_an_error(runs) -> None:
    same = Told("unchanged", 0, ["1 a 01-01 [T1, )"], {"source_rows": 1, "unchanged": 1})

    assert runs.told(waiting, 2) == same
    assert runs.error(waiting, 3) == (
        "schema-changed: waiting: added=[city], removed=[], widened=[]"
    )


NOTED = "id INT, value STRING, note STRING, updated_at TIMESTAMP"
shrinking = LONG.add(
    "shrinking",
    CK,
    Extract("1 a x 01-01, 2 b y 01-01", columns=NOTED),
    Extract("01-02 A 1, 01-02 b 2", columns="updated_at TIMESTAMP, value STRING, id INT"),
)


@pytest.mark.matrix
def test_a_column_that_is_gone_stays_and_the_order_does_not_matter(long_runs) -> None:
    versions = ["1 a x 01-01 [T1, T2)", "1 A NULL 01-02 [T2, )", "2 b y 01-01 [T1, )"]
    moved = {"source_rows": 2, "opened_changed": 1, "closed": 1, "unchanged": 1}

    assert long_runs.told(shrinking, 2) == Told("success", 1, versions, moved)


listed = LONG.add(
    "listed",
    CK,
    "1 a 01-01",
    Extract("1 01-01", columns="id INT, updated_at TIMESTAMP"),
    Extract("a 01-01", columns="value STRING, updated_at TIMESTAMP"),
    sql=HIDDEN,
)
timed = LONG.add(
    "timed", TS, "1 a 01-01", Extract("1 a", columns="id INT, value STRING"), sql=HIDDEN
)


@pytest.mark.matrix
def test_columns_that_settings_name_must_be_selected(long_runs) -> None:
    assert long_runs.error(listed, 2) == "column-not-selected: check_cols 'value' is not selected"
    assert long_runs.error(listed, 3) == "column-not-selected: unique_key 'id' is not selected"
    assert (
        long_runs.error(timed, 2) == "column-not-selected: updated_at 'updated_at' is not selected"
    )


wider = CASES.add(
    "wider",
    ALL,
    Extract("1 7, 2 8", columns="id INT, amount INT"),
    Extract("1 5000000000, 2 8", columns="id INT, amount BIGINT"),
    Extract("1 5000000000, 2 9", columns="id INT, amount BIGINT"),
)


def test_a_wider_type_widens_the_column(runs) -> None:
    moved = {"source_rows": 2, "opened_changed": 1, "closed": 1, "unchanged": 1}
    second = ["1 7 [T1, T2)", "1 5000000000 [T2, )", "2 8 [T1, )"]
    third = ["1 7 [T1, T2)", "1 5000000000 [T2, )", "2 8 [T1, T3)", "2 9 [T3, )"]

    assert runs.told(wider, 2) == Told("success", 2, second, moved)
    assert runs.told(wider, 3) == Told("success", 3, third, moved)
    assert runs.sql("SELECT DISTINCT typeof(amount) FROM {wider}") == [("bigint",)]


typed = LONG.add(
    "typed",
    ALL,
    Extract("1 7 8 01-05", columns="id INT, amount INT, big BIGINT, at TIMESTAMP"),
    Extract("1 7 8 01-05", columns="id INT, amount STRING, big BIGINT, at TIMESTAMP"),
    Extract("1 7 8 01-05", columns="id INT, amount INT, big BIGINT, at DATE"),
    Extract("1 7 8 01-05", columns="id INT, amount INT, big INT, at TIMESTAMP"),
)


@pytest.mark.matrix
def test_another_type_is_refused_with_both_types(long_runs) -> None:
    assert [long_runs.error(typed, run) for run in (2, 3)] == [
        "incompatible-type: column 'amount' is STRING in the query and INT in m.typed",
        "incompatible-type: column 'at' is DATE in the query and TIMESTAMP in m.typed",
    ]


@pytest.mark.matrix
def test_a_narrower_type_is_cast_up(long_runs) -> None:
    same = {"source_rows": 1, "unchanged": 1}

    assert long_runs.told(typed, 4) == Told("unchanged", 0, ["1 7 8 01-05 [T1, )"], same)
    assert long_runs.sql("SELECT typeof(big) FROM {typed}") == [("bigint",)]


twice = CASES.add(
    "twice", CK, Extract("1 a A", columns="id INT, value STRING, Value STRING", sql=HIDDEN)
)
odd = LONG.add(
    "odd",
    {
        "strategy": "check",
        "unique_key": "id",
        "check_cols": ["a.b", "ä ö"],
        "table_properties": {"delta.columnMapping.mode": "name"},
    },
    "1 a b, 2 a b, 3 a b",
    "1 A b, 2 a B, 3 a b",
    columns="id INT, `a.b` STRING, `ä ö` STRING",
)


def test_names_that_differ_by_case_alone_are_refused(runs) -> None:
    assert runs.error(twice, 1) == (
        "duplicate-column: the query of 'twice' gives the column 'Value' twice"
    )


@pytest.mark.matrix
def test_odd_names_are_kept_and_compared(long_runs) -> None:
    versions = ["1 a b [T1, T2)", "1 A b [T2, )", "2 a b [T1, T2)", "2 a B [T2, )", "3 a b [T1, )"]
    moved = {"source_rows": 3, "opened_changed": 2, "closed": 2, "unchanged": 1}

    assert long_runs.told(odd, 2) == Told("success", 1, versions, moved)


RUNS = ["1 a NL, 2 z DE", "1 b NL, 2 y NL"]
ROWS = ["1 a NL [T1, T2)", "1 b NL [T2, )", "2 z DE [T1, T2)", "2 y NL [T2, )"]


def laid(name: str, **config: object) -> str:
    return CASES.add(name, CK | config, *RUNS, columns="id INT, value STRING, country STRING")


parted = laid(
    "parted",
    partition_by="country",
    description="who lives where",
    table_properties={"delta.enableDeletionVectors": "false"},
)
clustered = laid("clustered", cluster_by="country", description="who lives where")


def test_layout_comment_and_properties_stay(runs) -> None:
    warehouse = runs.place.root / "warehouse" / "m"
    facts = [DeltaLog().facts(str(warehouse / name)) for name in (parted, clustered)]

    assert [each.partition_by for each in facts] == [("_ps_is_current", "country"), ()]
    assert [each.cluster_by for each in facts] == [(), ("_ps_valid_to", "country")]
    assert [each.comment for each in facts] == ["who lives where"] * 2
    assert [each.properties["delta.enableDeletionVectors"] for each in facts] == ["false", "true"]


@pytest.mark.parametrize("name", [parted, clustered])
def test_the_layout_does_not_change_the_rows(runs, name) -> None:
    moved = {"source_rows": 2, "opened_changed": 2, "closed": 2}

    assert runs.told(name, 2) == Told("success", 1, ROWS, moved)
