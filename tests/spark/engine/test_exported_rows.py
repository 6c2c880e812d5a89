"""Rows of a query as files that other tools read: every type, nulls, signs that need quotes."""

import io
import json
import os

import pytest

from penstock.core.errors import QueryError, UsageError
from penstock.core.ports.engine import ExportForm
from penstock.core.project import SparkSettings
from penstock.engine.launch import LaunchSettings
from penstock.engine.spark_engine import SparkEngine

ROWS = """
select * from values
    (1, 'say "hi", Jörg', 1.50, true, array(1, null), named_struct('a', 1, 'b', null),
     timestamp '2024-03-31 02:30:00.000001', date '2024-03-01', X'00FF', '', null),
    (2, 'two\\nlines', null, null, null, null, null, null, null, null, null)
as t (id, text, price, flag, list, struct, at, day, bytes, empty, nothing)
order by id
"""
CSV = """\
id,text,price,flag,list,struct,at,day,bytes,empty,nothing
1,"say ""hi"", Jörg",1.50,true,"[1,null]","{""a"":1,""b"":null}",2024-03-31 02:30:00.000001,\
2024-03-01,AP8=,"",
2,"two
lines",,,,,,,,,
"""
FIRST = {
    "id": 1,
    "text": 'say "hi", Jörg',
    "price": 1.5,
    "flag": True,
    "list": [1, None],
    "struct": {"a": 1, "b": None},
    "at": "2024-03-31T02:30:00.000001Z",
    "day": "2024-03-01",
    "bytes": "AP8=",
    "empty": "",
    "nothing": None,
}


@pytest.fixture
def engine(spark, tmp_path):
    settings = LaunchSettings(SparkSettings(), str(tmp_path), tmp_path / "log")
    return SparkEngine(settings, dict(os.environ), lambda: ("", "", ""), lambda _: None, spark)


def exported(engine, sql, form, limit=None):
    file = io.BytesIO()
    count = engine.export((), sql, limit, form, file)
    return count, file.getvalue()


def test_rows_become_csv_json_and_parquet(engine):
    from pyarrow import parquet

    of_csv, csv = exported(engine, ROWS, ExportForm.CSV)
    of_json, text = exported(engine, ROWS, ExportForm.JSON, 1)
    of_parquet, data = exported(engine, ROWS, ExportForm.PARQUET)

    assert (of_csv, csv.decode()) == (2, CSV)
    assert (of_json, json.loads(text)) == (1, [FIRST])
    table = parquet.read_table(io.BytesIO(data))
    assert (of_parquet, table["id"].to_pylist()) == (2, [1, 2])
    assert str(table.schema.field("at").type) == "timestamp[us, tz=UTC]"
    assert str(table.schema.field("price").type) == "decimal128(3, 2)"


def test_no_rows_are_a_file_too(engine):
    none = "select 1 as a, 2 as b where false"

    assert exported(engine, none, ExportForm.CSV) == (0, b"a,b\n")
    assert exported(engine, none, ExportForm.JSON) == (0, b"[]\n")


def test_two_columns_of_one_name_are_csv_alone(engine):
    twice = "select 1 as a, 2 as A"

    assert exported(engine, twice, ExportForm.CSV) == (1, b"a,A\n1,2\n")
    with pytest.raises(UsageError, match="two columns are called 'a', which json cannot hold"):
        exported(engine, twice, ExportForm.JSON)


def test_a_row_that_fails_is_sparks_error(engine):
    with pytest.raises(QueryError) as caught:
        exported(engine, "select assert_true(id < 3) from range(5)", ExportForm.CSV)

    assert caught.value.code == "spark-user-raised-exception"
