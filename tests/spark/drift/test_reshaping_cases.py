"""Versions that change columns, types and layout of a built table."""

import datetime as dt
import shutil
import sqlite3
from dataclasses import dataclass

import pytest
from deltalake import DeltaTable

from fakes import stranger
from fakes.clock import FixedClock
from fakes.drift_place import DriftPlace
from fakes.small_model import FILE, MOMENT, SELECT, SMALL, TABLE, add_version, small_place
from penstock.app.execution.recover import rebuild

BUILT = [
    ("2024-11-30", "1", "1", "1"),
    ("2024-12-01", "2", "2", "2"),
    ("2024-12-02", "3", "3", "3"),
]
LATER = MOMENT + dt.timedelta(minutes=1)


@pytest.fixture(scope="module")
def small_folder(tmp_path_factory, spark):
    """The small model after `sync --yes`."""
    place = small_place(tmp_path_factory.mktemp("small"), spark)
    place.sync()
    return place.root


@pytest.fixture
def small(tmp_path, spark, small_folder):
    """A copy of it, a minute later."""
    return copied(small_folder, tmp_path, spark)


def copied(folder, target, spark):
    shutil.copytree(folder, target / "small")
    return DriftPlace(target / "small", spark, files={}, clock=FixedClock(LATER))


def table_of(place):
    return DeltaTable(str(place.root / "warehouse" / TABLE))


def commits(place):
    """Give the operations of the table, oldest first."""
    return [entry["operation"] for entry in reversed(table_of(place).history())]


def columns(place):
    return {field.name: str(field.type.type) for field in table_of(place).schema().fields}


def codes(report):
    return [result.error.code if result.error else "" for result in report.results]


def records(place):
    with sqlite3.connect(place.root / ".penstock" / "state.db") as store:
        return store.execute(
            'SELECT "partition", status, commit_version, settled_version '
            "FROM partition_state_full ORDER BY 1"
        ).fetchall()


WRONG_ROWS = [
    ("2024-11-30", "date_add(d, 1) AS d, n, s, b", "row-outside-partition"),
    ("2024-12-01", "IF(n = 1, date_add(d, 1), d) AS d, n, s, b", "row-outside-partition"),
    ("2024-11-30", "CAST(NULL AS DATE) AS d, n, s, b", "row-outside-partition"),
    ("2024-11-30", "d, n, s, NULLIF(b, 1) AS b", "null-in-required-column"),
    ("2024-11-30", "d, n, s, 'x' AS b", "spark-cast-invalid-input"),
    ("2024-11-30", "d, n, s", "output-column-missing"),
    ("2024-11-30", "d, n, s, b, 1 AS extra", "output-column-extra"),
]


@pytest.mark.matrix
def test_rows_that_do_not_fit_are_never_committed(small):
    required = SMALL.replace("type: BIGINT", "type: BIGINT, mode: REQUIRED")
    found = []

    for last, wrong, _ in WRONG_ROWS:
        small.write({FILE: required.replace(SELECT, f"SELECT {wrong}")})
        found += codes(small.backfill("m", "2024-11-30", last))

    assert found == [code for _, _, code in WRONG_ROWS]
    assert (commits(small), small.rows(TABLE)) == (["CREATE TABLE", "WRITE"], BUILT)
    assert records(small) == [
        ("2024-11-30", "FAILED", 1, 1),
        ("2024-12-01", "FAILED", 1, 1),
        ("2024-12-02", "SUCCESS", 1, 1),
    ]
    assert small.states() == {
        "m": [
            "failed 2024-11-30..2024-12-01 also sql_changed,schema_changed",
            "sql_changed 2024-12-02 also schema_changed",
        ]
    }
    small.write({FILE: required})
    small.sync()
    assert (small.rows(TABLE), small.states()) == (BUILT, {"m": []})


@pytest.mark.matrix
def test_a_table_of_others_is_replaced_by_one_of_the_layout_asked_for(small):
    stranger.replace(small.root / "warehouse" / TABLE)
    small.edit(FILE, "partition: {field: d}", "partition: {field: d}, layout: clustered")
    small.edit(FILE, SELECT, "SELECT b, s, d, n")
    asked = []

    small.sync(ask=lambda told: asked.append(told) or True)

    assert [(each.model, each.count) for each in asked[0]] == [("m", 3)]
    assert small.rows(TABLE) == BUILT
    detail = small.sql(f"DESCRIBE DETAIL {small.table(TABLE)}")[0]
    assert (detail[7], detail[8]) == ([], ["d"])
    assert small.states() == {"m": []}


@pytest.mark.matrix
def test_what_others_updated_is_built_again(small):
    small.sql(f"UPDATE {small.table(TABLE)} SET n = 99 WHERE d = '2024-12-01'")

    before = small.states()
    small.sync()

    assert before == {"m": ["tampered 2024-12-01"]}
    assert (small.rows(TABLE), small.states()) == (BUILT, {"m": []})


WIDE = "[{name: d, type: DATE}, {name: n, type: BIGINT}, {name: s, type: %s}]"
GROWING = (
    (
        2,
        "2024-12-01",
        "{base: '${{ versions.1.schema }}', add: [{name: events, type: INT64}]}",
        "SELECT @partition_date AS d, 5 AS n, 5 AS s, 5 AS b, 7 AS events",
    ),
    (3, "2024-12-02", WIDE % "SMALLINT", "SELECT @partition_date AS d, 3000000000 AS n, 6 AS s"),
    (4, "2024-12-03", WIDE % "INT", "SELECT @partition_date AS d, 8 AS n, 70000 AS s"),
)


@dataclass(frozen=True)
class Grown:
    """How things stood before and after the sync of a new version."""

    states: list[str]
    operations: list[str]
    columns: dict[str, str]
    rows: list[tuple[str | None, ...]]
    changes: tuple[str, ...]


@pytest.fixture(scope="module")
def grown(tmp_path_factory, spark, small_folder):
    """Versions 2 to 4 added one by one, each synced; version 4 is a day later."""
    place = copied(small_folder, tmp_path_factory.mktemp("grown"), spark)
    seen = {}
    for number, *rest in GROWING:
        add_version(place, number, *rest)
        place.clock.advance(days=1 if number == 4 else 0)
        states, before = place.states()["m"], len(commits(place))
        changes = place.sync().results[0].schema_changes
        new = commits(place)[before:]
        seen[number] = Grown(states, new, columns(place), place.rows(TABLE), changes)
    return seen


@pytest.mark.matrix
def test_a_new_version_brings_its_column_with_its_rows(grown):
    assert grown[2] == Grown(
        states=["version_upgraded 2024-12-01..2024-12-02"],
        operations=["WRITE"],
        columns={"d": "date", "n": "integer", "s": "short", "b": "long", "events": "long"},
        rows=[
            ("2024-11-30", "1", "1", "1", None),
            ("2024-12-01", "5", "5", "5", "7"),
            ("2024-12-02", "5", "5", "5", "7"),
        ],
        changes=("+ events BIGINT",),
    )


def test_the_first_wider_type_is_allowed_first_and_lacking_columns_are_null(grown):
    assert grown[3] == Grown(
        states=["version_upgraded 2024-12-02"],
        operations=["SET TBLPROPERTIES", "WRITE"],
        columns={"d": "date", "n": "long", "s": "short", "b": "long", "events": "long"},
        rows=[
            ("2024-11-30", "1", "1", "1", None),
            ("2024-12-01", "5", "5", "5", "7"),
            ("2024-12-02", "3000000000", "6", None, None),
        ],
        changes=("n INT -> BIGINT",),
    )


def test_a_further_wider_type_comes_with_the_rows_alone(grown):
    assert grown[4] == Grown(
        states=["never_run 2024-12-03"],
        operations=["WRITE"],
        columns={"d": "date", "n": "long", "s": "integer", "b": "long", "events": "long"},
        rows=[
            ("2024-11-30", "1", "1", "1", None),
            ("2024-12-01", "5", "5", "5", "7"),
            ("2024-12-02", "3000000000", "6", None, None),
            ("2024-12-03", "8", "70000", None, None),
        ],
        changes=("s SMALLINT -> INT",),
    )


@pytest.mark.matrix
def test_a_type_that_is_no_wider_rewrites_the_table_only_when_allowed(small):
    schema = "{base: '${{ versions.1.schema }}', modify: [{name: b, type: DOUBLE}]}"
    sql = "SELECT @partition_date AS d, 4 AS n, 4 AS s, 0.5D AS b"
    add_version(small, 2, "2024-12-02", schema, sql)

    refused, asked = small.sync(), []
    small.sync(ask=lambda told: asked.append(told) or True, allow_breaking=True)

    assert codes(refused) == ["incompatible-type"]
    assert [each.breaking for each in asked[0]] == [("b BIGINT -> DOUBLE",)]
    assert commits(small) == [
        "CREATE TABLE",
        "WRITE",
        "CREATE OR REPLACE TABLE AS SELECT",
        "WRITE",
    ]
    assert small.rows(TABLE) == [
        ("2024-11-30", "1", "1", "1.0"),
        ("2024-12-01", "2", "2", "2.0"),
        ("2024-12-02", "4", "4", "0.5"),
    ]
    assert records(small) == [
        ("2024-11-30", "SUCCESS", 2, 2),
        ("2024-12-01", "SUCCESS", 2, 2),
        ("2024-12-02", "SUCCESS", 3, 3),
    ]
    assert small.states() == {"m": []}


def test_other_partitions_need_a_full_refresh_which_keeps_rows_and_history(small):
    small.edit(FILE, "{field: d}", "{field: d, type: MONTH}")
    small.edit(FILE, "effective_from: 2024-11-30", "effective_from: 2024-11-01")
    small.edit(FILE, "WHERE d = @", "WHERE trunc(d, 'MM') = @")

    refused = small.sync()
    small.sync(full_refresh=True)

    assert codes(refused) == ["partition-layout-changed"]
    assert small.rows(TABLE) == BUILT
    assert [(partition, status) for partition, status, *_ in records(small)] == [
        ("2024-11", "SUCCESS"),
        ("2024-12", "SUCCESS"),
    ]
    assert {row.execution.partition for row in small.history("m").rows} == {
        "2024-11-30",
        "2024-12-01",
        "2024-12-02",
        "2024-11",
        "2024-12",
    }
    assert small.states() == {"m": []}


def test_another_partition_field_needs_a_full_refresh_of_everything(small):
    small.edit(FILE, "{field: d}", "{field: day}")
    small.edit(FILE, "name: d,", "name: day,")
    small.edit(FILE, SELECT, "SELECT d AS day, n, s, b")

    (blocked,) = small.preview().plan.blocked
    (step,) = small.preview(full_refresh=True, first="2024-12-02").plan.steps

    assert (blocked.error.code, blocked.error.sentence) == (
        "partition-layout-changed",
        "the partitions of a.m were by d and are by day now",
    )
    assert (step.keys, str(step.reason)) == ((("2024-11-30", "2024-12-02"),), "never_run")


def test_state_rebuild_gives_the_records_back_as_they_were(small):
    before = records(small)
    for name in ("state.db", "state.db.good"):
        (small.root / ".penstock" / name).unlink()

    lost = small.states()
    report = small.with_shop(rebuild)

    assert lost == {"m": ["unrecorded *"]}
    assert (report.steps, records(small), small.states()) == (2, before, {"m": []})
