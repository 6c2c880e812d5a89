"""Small tables are read by the list of files in Delta's checksum, and as Delta reads them."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from fakes.spark_jobs import jobs_of
from penstock.core.columns.typed import TypedValue
from penstock.core.names import InputKind, InputName
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.steps.window import Bound, Window

TEN = "CREATE TABLE {t} USING delta AS SELECT id FROM range(10)"
LOOKS_AT_THE_LOG = 4
"""The jobs of a read by which Delta works out the files; one of them reads the rows."""


def bind(bench, version, name="t", window=None):
    """Bind a version of a table as `small`, and give its columns."""
    read = DeltaRead(bench.at(name), version)
    relation = Relation(InputName(InputKind.EXTERNAL, "t"), "small", read, window)
    return bench.session.bind([relation])["small"].columns


def read(bench, version, name="t"):
    return bind(bench, version, name), bench.rows("SELECT to_json(struct(*)) FROM small")


def by_delta(bench, version):
    """Give the same by Delta's own reader."""
    source = f"delta.`{bench.at('t')}` VERSION AS OF {version}"
    described = bench.session.describe(f"SELECT * FROM {source}")
    return described.columns, bench.rows(f"SELECT to_json(struct(*)) FROM {source}")


def rows_of(*ids):
    return sorted((f'{{"id":{n}}}',) for n in ids)


def log_of(bench, name, file):
    return Path(bench.at(name), "_delta_log", file)


def jobs_of_reading(bench, version):
    bind(bench, version)
    return jobs_of(bench.spark, lambda: bench.rows("SELECT * FROM small"))


def test_no_job_looks_at_the_log_of_a_small_table(bench):
    bench.commit(TEN)

    assert jobs_of_reading(bench, 0) == 1
    assert read(bench, 0)[1] == rows_of(*range(10))


def test_a_larger_table_is_left_to_delta(bench, monkeypatch):
    monkeypatch.setattr("penstock.engine.reading._SMALL", 1)
    bench.commit(TEN)

    assert jobs_of_reading(bench, 0) == LOOKS_AT_THE_LOG
    assert read(bench, 0)[1] == rows_of(*range(10))


KINDS = {
    "deletion vectors": "'delta.enableDeletionVectors' = 'true'",
    "mapped by name": "'delta.columnMapping.mode' = 'name'",
    "widened": "'delta.enableTypeWidening' = 'true'",
    "mapped by id": "'delta.columnMapping.mode' = 'id'",
    "newest": "'delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true', "
    "'delta.enableChangeDataFeed' = 'true', 'delta.checkpointPolicy' = 'v2'",
    "oldest": "'delta.minReaderVersion' = '1', 'delta.enableDeletionVectors' = 'false'",
}
FIRST = """INSERT INTO {t}
SELECT id, named_struct('a', id, 'b', array(id)), 'x/y:%20', date_add(date'2024-01-01', id % 3),
    timestamp'2024-01-01 00:00:00.123456', id / 3
FROM (SELECT CAST(id AS INT) id FROM range(12))"""
STATEMENTS = (
    FIRST,
    "INSERT INTO {t} VALUES (99, NULL, NULL, NULL, NULL, NULL)",
    "DELETE FROM {t} WHERE id IN (1, 5)",
    "UPDATE {t} SET name = 'other' WHERE id IN (2, 8)",
    "ALTER TABLE {t} ADD COLUMN more STRING COMMENT 'later'",
    "INSERT INTO {t} VALUES (100, NULL, 'n', date'2024-01-02', NULL, NULL, 'm')",
    "DELETE FROM {t}",
)
MAPPED = ("ALTER TABLE {t} RENAME COLUMN name TO `new name`", "ALTER TABLE {t} DROP COLUMN price")
WIDENED = ("ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",)


OFTEN = {"mapped by name"}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in OFTEN else pytest.mark.matrix) for kind in KINDS],
)
def test_every_version_reads_as_delta_reads_it(bench, kind):
    bench.commit(
        "CREATE TABLE {t} (id INT NOT NULL, s STRUCT<a: INT, b: ARRAY<INT>>, "
        "name STRING COMMENT 'c', day DATE, at TIMESTAMP, price DOUBLE) USING delta "
        f"PARTITIONED BY (day) TBLPROPERTIES ({KINDS[kind]})"
    )
    mapped = MAPPED * kind.startswith("mapped") + WIDENED * (kind == "widened")
    for statement in (*STATEMENTS[:-1], *mapped, STATEMENTS[-1]):
        bench.commit(statement)
    versions = range(bench.steps)

    assert [read(bench, each) for each in versions] == [by_delta(bench, each) for each in versions]
    if kind != "widened":  # deltalake does not read the deletion vectors of such a table
        assert jobs_of_reading(bench, 4) == 1


def test_a_column_without_a_type_stays(bench):
    bench.commit("CREATE TABLE {t} (id INT, nothing VOID) USING delta")
    bench.commit("INSERT INTO {t} (id) VALUES (1)")

    assert read(bench, 1) == by_delta(bench, 1)


def test_the_checksum_of_another_commit_is_not_believed(bench):
    """Someone removed a commit, left its checksum, and another writer made that version anew."""
    bench.commit(TEN)
    bench.commit("INSERT INTO {t} VALUES (10)")
    shutil.copytree(bench.at("t"), bench.at("copy"))
    checksum = log_of(bench, "copy", f"{1:020d}.crc")
    left = checksum.read_bytes()
    checksum.unlink()
    log_of(bench, "copy", f"{1:020d}.json").unlink()
    log_of(bench, "copy", f".{1:020d}.json.crc").unlink()
    write_deltalake(bench.at("copy"), pa.table({"id": [77]}), mode="append")
    checksum.write_bytes(left)

    assert json.loads(left)["numFiles"] == len(DeltaTable(bench.at("copy")).file_uris())
    assert read(bench, 1, "copy")[1] == rows_of(*range(10), 77)

    copy = f"delta.`{bench.at('copy')}`"
    bench.session._spark.sql(
        f"INSERT INTO {copy} VALUES (78)"
    )  # its checksum is made of the old one
    made = json.loads(log_of(bench, "copy", f"{2:020d}.crc").read_text())

    live = {Path(uri).name for uri in DeltaTable(bench.at("copy")).file_uris()}
    assert {file["path"] for file in made["allFiles"]} != live
    assert read(bench, 2, "copy")[1] == rows_of(*range(10), 77, 78)


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"allFiles": [{}]}'])
def test_a_damaged_checksum_is_not_believed(bench, damage):
    bench.commit(TEN)
    shutil.copytree(bench.at("t"), bench.at("copy"))
    log_of(bench, "copy", f"{0:020d}.crc").write_bytes(damage)

    assert read(bench, 0, "copy")[1] == rows_of(*range(10))


def bound(text, *, inclusive=False, kind="TIMESTAMP"):
    return Bound(TypedValue.parse(kind, text), inclusive=inclusive)


def read_window(bench, lower=None, upper=None, *, column="at", nulls=False):
    """Give the number of files that a window opens, and the ids of its rows."""
    bind(bench, 4, window=Window(column, lower, upper, nulls))
    return bench.files("small"), [each for (each,) in bench.rows("SELECT id FROM small")]


@pytest.fixture
def times(bench):
    """A file for each day, one of them with NULL; Delta cuts their statistics to milliseconds."""
    bench.commit("CREATE TABLE {t} (id INT, at TIMESTAMP, day DATE) USING delta")
    bench.commit("INSERT INTO {t} VALUES (1, '2024-01-01 23:59:59.999999', '2024-01-01')")
    bench.commit("INSERT INTO {t} VALUES (2, '2024-01-02 00:00:00.123456', '2024-01-02')")
    bench.commit("INSERT INTO {t} VALUES (3, '2024-01-03 00:00:00', '2024-01-03'), (4, NULL, NULL)")
    bench.commit("INSERT INTO {t} SELECT 5, timestamp'2024-01-04 12:00:00', date'2024-01-04'")
    return bench


@pytest.mark.parametrize(
    ("lower", "upper", "files", "ids"),
    [
        ("2024-01-02 00:00:00.123456", None, 3, [3, 5]),
        ("2024-01-02 00:00:00.123", None, 3, [2, 3, 5]),
        ("2024-01-02 00:00:00.124", None, 2, [3, 5]),
        (None, "2024-01-02 00:00:00.123", 2, [1]),
        ("2024-01-01 23:59:59.999999", "2024-01-02 00:00:00.123456", 1, [2]),
        ("2024-01-04 12:00:00.001", None, 0, []),
    ],
)
def test_a_window_opens_only_files_that_may_have_its_rows(times, lower, upper, files, ids):
    low, high = lower and bound(lower), bound(upper or "2024-02-01", inclusive=True)

    assert read_window(times, low, high) == (files, ids)


def test_a_window_with_null_opens_their_file(times):
    low = bound("2024-01-03 12:00:00")

    assert read_window(times, low, nulls=True) == (2, [4, 5])


def test_a_day_is_one_value(times):
    third, fourth = (bound(f"2024-01-0{n}", kind="DATE") for n in (3, 4))
    from_third = bound("2024-01-03", kind="DATE", inclusive=True)

    assert read_window(times, third, fourth, column="day") == (1, [])
    assert read_window(times, from_third, fourth, column="day") == (2, [3])
