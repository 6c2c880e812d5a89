"""Rows in files between two writes: what is written, and that nothing of it changes."""

from pathlib import Path

import pytest

from penstock.core.errors import QueryError
from penstock.core.statement import Feed, StagedRows

COUNT = {"_ps_n": "count(*)"}
TYPES = {
    "decimal": "CAST(id AS DECIMAL(38, 9)) + 0.1",
    "ntz": "TIMESTAMP_NTZ '0001-01-01 00:00:00.000001'",
    "old": "TIMESTAMP '0001-01-01 00:00:00.000001'",
    "late": "TIMESTAMP '9999-12-31 23:59:59.999999'",
    "date": "DATE '0001-01-01'",
    "tiny": "CAST(id AS TINYINT)",
    "float": "CAST('NaN' AS FLOAT)",
    "minus": "-0.0D",
    "binary": "X'00FF'",
    "nested": "named_struct('a b', 1, 'x.y', array(map('k', TIMESTAMP '1800-01-01 00:00:00')))",
    "void": "NULL",
    "variant": """parse_json('{"a": [1, null]}')""",
    "variants": "array(parse_json('1'))",
    "collated": "CAST('a' AS STRING COLLATE UTF8_LCASE)",
    "day_time": "INTERVAL '1' DAY",
    "month": "INTERVAL '1' MONTH",
}


def kept(bench, sql, counts=None, name="kept"):
    return bench.session.side_tables.keep(Feed("fed", sql, counts or {}), bench.at(name))


@pytest.mark.matrix
@pytest.mark.parametrize("kind", TYPES)
def test_columns_of_every_type_come_back_as_they_were(bench, kind):
    sql = f"SELECT {TYPES[kind]} AS v FROM range(2) UNION ALL SELECT NULL FROM range(1)"
    as_text = "SELECT to_json(named_struct('v', v)) AS j, CAST(v AS STRING) AS t FROM {}"
    if kind == "month":  # JSON has none
        as_text = "SELECT CAST(v AS STRING) AS t FROM {}"
    before = bench.session.describe(sql)
    expected = bench.session.rows(as_text.format(f"({sql})"))

    found = kept(bench, sql, COUNT)

    assert found == StagedRows(3, {"_ps_n": 3})
    assert [(c.name, c.type) for c in bench.session.describe("SELECT * FROM `fed`").columns] == [
        (c.name, c.type) for c in before.columns
    ]
    assert bench.session.rows(as_text.format("`fed`")) == expected


def test_columns_of_any_name_come_back(bench):
    found = kept(bench, "SELECT 1 AS `a b`, 2 AS `a.b`, 3 AS `x``;(){}=,`, 4 AS `ü\n`, 5 AS `C0`")

    assert found == StagedRows(1)
    assert bench.session.rows("SELECT * FROM `fed`") == (
        {"a b": 1, "a.b": 2, "x`;(){}=,": 3, "ü\n": 4, "C0": 5},
    )


def test_lengths_and_comments_of_columns_come_back(bench):
    bench.commit("CREATE TABLE {t} (c CHAR(3) COMMENT 'code', v VARCHAR(2)) USING delta")
    bench.commit("INSERT INTO {t} VALUES ('a', 'b')")
    read = f"SELECT * FROM delta.`{bench.at('t')}`"
    before = bench.session._spark.sql(read).schema

    kept(bench, read)

    assert bench.session._spark.table("fed").schema == before
    assert bench.session.rows("SELECT * FROM `fed`") == ({"c": "a  ", "v": "b"},)


def test_no_rows_keep_their_columns(bench):
    found = kept(bench, "SELECT id, 'x' AS x FROM range(5) WHERE id > 10", COUNT)

    assert found == StagedRows(0, {"_ps_n": 0})
    assert bench.session.describe("SELECT * FROM `fed`").names == ("id", "x")
    assert bench.session.rows("SELECT * FROM `fed`") == ()


def test_a_query_that_is_known_to_be_empty_keeps_its_columns(bench):
    assert kept(bench, "SELECT 1 AS x WHERE false", COUNT) == StagedRows(0, {"_ps_n": 0})
    assert bench.session.rows("SELECT * FROM `fed`") == ()


def test_a_count_that_does_not_agree_with_the_files_is_thrown_away(bench):
    assert kept(bench, "SELECT id FROM range(5)", {"_ps_n": "count(*) + 1"}) == StagedRows(5)


def test_files_are_written_for_one_reading(bench):
    from pyarrow import parquet as pq

    kept(bench, "SELECT CAST(id % 3 AS STRING) AS s, TIMESTAMP '2024-01-01' AS t FROM range(1000)")
    [file, *_] = Path(bench.at("kept")).glob("*.parquet")
    told = pq.read_metadata(file).row_group(0)
    columns = [told.column(place) for place in range(2)]

    assert [(c.compression, c.statistics) for c in columns] == [("UNCOMPRESSED", None)] * 2
    assert not [c for c in columns if any("DICTIONARY" in each for each in c.encodings)]
    assert columns[1].physical_type == "INT64"


def test_a_view_is_kept_under_its_own_name(bench):
    bench.session.define("fed", "SELECT uuid() AS u FROM range(3)")

    kept(bench, "SELECT * FROM `fed`")
    first, again = (bench.session.rows("SELECT u FROM `fed` ORDER BY u") for _ in range(2))

    assert (len(first), first) == (3, again)


def test_a_commit_reads_what_was_kept_and_observes_nothing(bench):
    feed = Feed("fed", "SELECT rand() AS r FROM range(3)", {"_ps_n": "count(*)", "low": "min(r)"})
    bench.commit("CREATE TABLE {t} (r DOUBLE) USING delta")

    told = bench.session.side_tables.keep(feed, bench.at("kept"))
    bench.commit("INSERT INTO {t} BY NAME SELECT * FROM `fed`", feed)

    assert [(told.counts["low"],)] == bench.rows("SELECT min(r) FROM {t}")
    assert bench.session.observed(3) is None


def test_what_is_left_of_an_attempt_before_is_not_read(bench):
    kept(bench, "SELECT id FROM range(5)")

    assert kept(bench, "SELECT id FROM range(2)", COUNT) == StagedRows(2, {"_ps_n": 2})


def test_a_process_can_be_killed_while_rows_are_staged(bench):
    kept(bench, "SELECT 1 AS id")

    assert bench.faults == ["during-staging"]


def test_a_query_that_fails_while_it_is_kept_names_the_model(bench):
    with pytest.raises(QueryError) as caught:
        kept(bench, "SELECT CAST(s AS INT) AS n FROM (SELECT 'x' AS s)")

    assert (caught.value.code, caught.value.where.path) == (
        "spark-cast-invalid-input",
        "models/orders.sql",
    )
