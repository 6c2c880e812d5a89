"""The rows that a commit added, as a Delta table of their own."""

import pytest

from penstock.core.errors import TableError
from penstock.engine import staged_files

TEN = "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id + 2000000, 'new' FROM range(10)"
UNUSUAL = "INSERT INTO {t} VALUES (1, 'a b'), (2, 'x/y:%20'), (3, NULL), (4, '2024-01-01 00:00:00')"


def test_only_the_files_of_the_commit_are_read(bench):
    bench.commit("CREATE TABLE {t} USING delta AS SELECT id, 'old' AS name FROM range(1000)")
    bench.commit(TEN)

    schema, rows = bench.added(1)

    assert (schema.names, rows, bench.files("new")) == (("id", "name"), {"n": 10}, 1)
    assert bench.session.row("SELECT min(id) AS low FROM `new`") == {"low": 2_000_000}


PROPERTIES = {
    "names": "'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true'",
    "ids": "'delta.columnMapping.mode' = 'id', 'delta.appendOnly' = 'true'",
    "newest": "'delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true', "
    "'delta.enableChangeDataFeed' = 'true', 'delta.checkpointPolicy' = 'v2'",
    "oldest": "'delta.minReaderVersion' = '1', 'delta.enableDeletionVectors' = 'false'",
}


@pytest.mark.matrix
@pytest.mark.parametrize("kind", PROPERTIES)
def test_tables_of_every_protocol_give_their_added_rows(bench, kind, monkeypatch):
    """With the checksum that Delta leaves beside a commit, and for two of them without it."""
    bench.commit(
        "CREATE TABLE {t} (id BIGINT NOT NULL, name STRING COMMENT 'c') USING delta "
        f"PARTITIONED BY (name) TBLPROPERTIES ({PROPERTIES[kind]})"
    )
    bench.commit(UNUSUAL.replace("(3, NULL)", "(3, 'n')"))
    bench.commit(UNUSUAL)

    holds_what_unusual_added(bench, "summed")
    if kind in ("names", "newest"):
        monkeypatch.setattr(staged_files, "checksum", lambda uri, version: {})
        holds_what_unusual_added(bench, "unsummed")


def holds_what_unusual_added(bench, folder) -> None:
    schema = bench.session.side_tables.added(bench.at("t"), 2, bench.at(folder), "new")
    rows = bench.session.row("SELECT count(*) AS n FROM `new`")

    assert [(c.name, c.type, c.comment) for c in schema.columns] == [
        ("id", "bigint", ""),
        ("name", "string", "c"),
    ]
    assert rows == {"n": 4}
    assert bench.rows("SELECT * FROM `new` WHERE id <> 3") == [
        (1, "a b"),
        (2, "x/y:%20"),
        (4, "2024-01-01 00:00:00"),
    ]


@pytest.mark.matrix
def test_a_widened_column_has_the_type_of_the_version(bench):
    bench.commit(
        "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
    )
    bench.commit("INSERT INTO {t} VALUES (1)")
    bench.commit("ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT")
    bench.commit("INSERT INTO {t} VALUES (2)")

    assert [bench.added(version)[0].columns[0].type for version in (1, 3)] == ["int", "bigint"]
    assert bench.rows("SELECT * FROM `new`") == [(2,)]


def test_partitions_that_were_replaced_are_what_was_added(bench):
    bench.commit("CREATE TABLE {t} (id BIGINT, name STRING) USING delta PARTITIONED BY (name)")
    bench.commit("INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    dynamic = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
    bench.commit("INSERT OVERWRITE {t} SELECT 3L, 'a'", confs=dynamic)

    assert bench.added(2)[1] == {"n": 1}
    assert bench.rows("SELECT * FROM `new`") == [(3, "a")]


def test_a_commit_that_added_nothing_has_no_rows(bench):
    bench.commit("CREATE TABLE {t} (id BIGINT) USING delta")

    schema, rows = bench.added(0)

    assert (schema.names, rows) == (("id",), {"n": 0})


def test_a_commit_that_hid_rows_is_refused(bench):
    bench.commit("CREATE TABLE {t} USING delta AS SELECT /*+ COALESCE(1) */ id FROM range(4)")
    bench.commit("DELETE FROM {t} WHERE id = 0")

    with pytest.raises(TableError) as caught:
        bench.added(1)

    assert caught.value.code == "rows-not-apart"


def test_a_commit_whose_log_is_gone_is_told(bench):
    bench.commit("CREATE TABLE {t} (id BIGINT) USING delta")

    with pytest.raises(TableError) as caught:
        bench.added(7)

    assert caught.value.code == "log-gap"


def test_files_of_a_clone_keep_the_places_they_have(bench):
    bench.commit("CREATE TABLE {t} USING delta AS SELECT id FROM range(4)")
    bench.session.side_tables.clone(bench.at("t"), 0, bench.at("clone"))

    schema = bench.session.side_tables.added(bench.at("clone"), 0, bench.at("added"), "new")

    assert (schema.names, len(bench.rows("SELECT * FROM `new`"))) == (("id",), 4)


@pytest.mark.matrix
def test_a_folder_may_have_percent_signs_in_its_name(bench, tmp_path):
    other = type(bench)(bench.spark, tmp_path / "50% %20")
    other.commit("CREATE TABLE {t} (id BIGINT) USING delta")
    other.commit("INSERT INTO {t} VALUES (1)")

    assert other.added(1)[1] == {"n": 1}
