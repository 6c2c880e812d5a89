"""Quarantines and clones: Delta tables beside the target."""

from dataclasses import replace
from decimal import Decimal

import pytest
from deltalake import DeltaTable

from contracts.store_cases import intent
from penstock.core.errors import QueryError
from penstock.core.statement import Commit
from penstock.engine.log.delta_log import DeltaLog
from spark.engine.conftest import Bench

MERGE = (
    "MERGE INTO {} t USING (SELECT 2L AS id, 'n' AS name UNION ALL SELECT 9L, 'n') s "
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
MAPPED = " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"


@pytest.fixture(scope="module")
def three(spark, tmp_path_factory):
    """Give a table of three rows of which one is hidden by a deletion vector; none changes it."""
    made = {}

    def of(properties: str = "") -> Bench:
        if properties not in made:
            made[properties] = bench = Bench(spark, tmp_path_factory.mktemp("three") / "a b ü")
            bench.commit(f"CREATE TABLE {{t}} (id BIGINT, name STRING) USING delta{properties}")
            bench.commit("INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, 'o' FROM range(4)")
            bench.commit("DELETE FROM {t} WHERE id = 0")
            bench.commit("INSERT INTO {t} VALUES (5, 'later')")
        return made[properties]

    return of


@pytest.mark.matrix
@pytest.mark.parametrize("properties", ["", MAPPED])
def test_a_clone_is_the_table_at_a_version(three, properties):
    bench = three(properties)

    name = bench.session.side_tables.clone(bench.at("t"), 2, bench.at("clone"))

    assert bench.rows(f"SELECT id FROM {name}") == [(1,), (2,), (3,)]


@pytest.mark.matrix
@pytest.mark.parametrize("properties", ["", MAPPED])
def test_a_merge_on_a_clone_leaves_the_table_as_it_was(three, properties):
    bench = three(properties)
    name = bench.session.side_tables.clone(bench.at("t"), 2, bench.at("merged"))

    bench.session.side_tables.trial(Commit(MERGE.format(name)))

    assert bench.rows(f"SELECT * FROM {name}") == [(1, "o"), (2, "n"), (3, "o"), (9, "n")]
    assert bench.rows("SELECT * FROM {t}") == [(1, "o"), (2, "o"), (3, "o"), (5, "later")]


@pytest.mark.matrix
def test_neither_a_clone_nor_what_is_tried_on_it_carries_a_token(three):
    bench = three()
    name = bench.session.side_tables.clone(bench.at("t"), 3, bench.at("tried"))
    bench.session.side_tables.trial(Commit(MERGE.format(name)))

    said = [action for version in (0, 1) for action in bench.log("tried", version)]

    assert not [a for a in said if "txn" in a or "userMetadata" in a.get("commitInfo", {})]


def test_a_clone_that_a_step_commits_carries_its_token_and_may_replace_a_table(three):
    bench = three()
    source, made = f"delta.`{bench.at('t')}`", f"delta.`{bench.at('copy')}`"
    own = replace(intent(), uri=bench.at("copy"), step_seq=1)
    for create, version in (("CREATE", 0), ("CREATE OR REPLACE", 2)):
        sql = f"{create} TABLE {made} SHALLOW CLONE {source} VERSION AS OF {version}"
        bench.session.commit(Commit(sql, once=False), own)

    log = DeltaLog()
    commits = log.commits(bench.at("copy"), -1)

    assert [(c.operation, c.step, c.overwrites, c.changes_data) for c in commits] == [
        ("CLONE", own.step, True, False),
        ("CLONE", own.step, True, True),
    ]
    assert [bool(each.table_id) for each in commits] == [True, True]
    assert log.facts(bench.at("copy")).table_id == commits[-1].table_id
    assert commits[0].table_id != log.facts(bench.at("t")).table_id
    assert bench.rows(f"SELECT id FROM {made}") == [(1,), (2,), (3,)]


def test_a_version_that_is_not_there_cannot_be_cloned(three):
    bench = three()

    with pytest.raises(QueryError, match="99"):
        bench.session.side_tables.clone(bench.at("t"), 99, bench.at("none"))


def test_readers_that_know_no_deletion_vectors_read_a_quarantine(bench):
    bench.session.side_tables.write_table("SELECT 1L AS id, 'o' AS name", bench.at("quarantine"))

    assert DeltaTable(bench.at("quarantine")).to_pandas().to_dict("list") == {
        "id": [1],
        "name": ["o"],
    }


def test_a_table_of_rows_keeps_their_columns_and_counts_them(bench):
    sql = "SELECT id, CAST(id AS DECIMAL(9, 2)) AS price FROM range(2)"

    rows = bench.session.side_tables.write_table(sql, bench.at("failed"))
    read = f"SELECT * FROM delta.`{bench.at('failed')}`"

    assert (rows, bench.rows(read)) == (2, [(0, Decimal("0.00")), (1, Decimal("1.00"))])
    assert [column.type for column in bench.session.describe(read).columns] == [
        "bigint",
        "decimal(9,2)",
    ]


def test_a_table_of_no_rows_is_a_table(bench):
    rows = bench.session.side_tables.write_table("SELECT 1 AS id WHERE false", bench.at("failed"))

    assert (rows, bench.rows(f"SELECT * FROM delta.`{bench.at('failed')}`")) == (0, [])


def test_a_table_of_rows_with_unusual_columns_is_readable(bench):
    rows = bench.session.side_tables.write_table(
        "SELECT 1 AS `a b`, 2 AS `x=;`", bench.at("failed")
    )

    assert rows == 1
    assert bench.session.rows(f"SELECT * FROM delta.`{bench.at('failed')}`") == (
        {"a b": 1, "x=;": 2},
    )
