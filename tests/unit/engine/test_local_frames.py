"""Local frames in types that Spark has; no JVM is asked."""

import datetime as dt
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penstock.core.columns.schema import Schema
from penstock.engine import local_frames
from penstock.engine.local_frames import UnfitFrameError, local_kind, spark_frame

NOON = dt.datetime(2024, 1, 1, 12)  # noqa: DTZ001  times without a zone


class Taken:
    """Takes tables as a session does, up to where the JVM begins."""

    def createDataFrame(self, table, schema):
        """Cast as PySpark does before it asks the JVM."""
        from pyspark.sql.pandas.types import to_arrow_schema

        return table.cast(to_arrow_schema(schema, timezone="UTC")), schema.simpleString()


def taken(value):
    """Give the rows that Spark would get, and its columns."""
    table, kind = spark_frame(Taken(), value, Schema(), "t")
    return table.to_pylist(), kind.removeprefix("struct<").removesuffix(">")


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        (pa.array([255], pa.uint8()), "smallint", 255),
        (pa.array([65535], pa.uint16()), "int", 65535),
        (pa.array([2**32 - 1], pa.uint32()), "bigint", 2**32 - 1),
        (pa.array([2**64 - 1], pa.uint64()), "decimal(20,0)", Decimal(2**64 - 1)),
        (pa.array([1.5], pa.float16()), "float", 1.5),
        (pa.array(["a"], pa.large_string()), "string", "a"),
        (pa.array(["a"], pa.string_view()), "string", "a"),
        (pa.array([b"a"], pa.binary_view()), "binary", b"a"),
        (pa.array(["a"]).dictionary_encode(), "string", "a"),
        (pa.array([NOON], pa.timestamp("ns")), "timestamp", NOON.replace(tzinfo=dt.UTC)),
        (
            pa.array([NOON], pa.timestamp("s", "Europe/Paris")),
            "timestamp",
            NOON.replace(tzinfo=dt.UTC),
        ),
        (pa.array([NOON.date()], pa.date64()), "date", NOON.date()),
        (pa.array([[{"x": 1}]]), "array<struct<x:bigint>>", [{"x": 1}]),
        (
            pa.array([[("a", 1)]], pa.map_(pa.string(), pa.uint8())),
            "map<string,smallint>",
            [("a", 1)],
        ),
        (pa.array([None]), "void", None),
    ],
)
def test_a_column_of_arrow_is_one_of_spark(values, kind, wanted):
    assert taken(pa.table({"a": values})) == ([{"a": wanted}], f"a:{kind}")


def test_every_kind_of_local_frame_is_taken():
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    frames = [
        pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": ["x", "y"]}, index=[5, 6]),
        pl.DataFrame({"a": [1, None], "b": ["x", "y"]}),
        pl.LazyFrame({"a": [1, None], "b": ["x", "y"]}),
        table,
        table.to_batches()[0],
        table.to_reader(),
    ]

    kinds = [local_kind(each) for each in frames]
    found = [taken(each) for each in frames]

    assert kinds == [
        "pandas DataFrame",
        "Polars DataFrame",
        "Polars LazyFrame",
        "Arrow Table",
        "Arrow RecordBatch",
        "Arrow RecordBatchReader",
    ]
    assert found == [([{"a": 1, "b": "x"}, {"a": None, "b": "y"}], "a:bigint,b:string")] * 6


def test_missing_numbers_and_times_of_pandas_are_null():
    frame = pd.DataFrame({"f": [1.5, float("nan")], "t": pd.to_datetime(["2024-01-01", None])})

    rows, kind = taken(frame)

    assert rows == [
        {"f": 1.5, "t": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)},
        {"f": None, "t": None},
    ]
    assert kind == "f:double,t:timestamp"


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (
            pa.table({"a": [dt.time(1)]}),
            "its column 'a' is of Arrow's type time64[us]; make it a text",
        ),
        (pd.DataFrame({"a": [1, "x"]}), "Conversion failed for column a"),
        (pd.DataFrame({"a": [pd.Timestamp(1, unit="ns")]}), "would lose data"),
        (pd.DataFrame(), "it has no columns"),
    ],
)
def test_what_no_column_can_hold_is_named(frame, said):
    with pytest.raises(UnfitFrameError) as caught:
        taken(frame)

    assert f" {local_kind(frame)} that Spark cannot take: " in str(caught.value)
    assert said in str(caught.value)


def test_much_is_taken_with_a_warning(monkeypatch):
    monkeypatch.setattr(local_frames, "MUCH", 10)

    with pytest.warns(UserWarning, match="t returned an Arrow Table of 1.6 GB") as caught:
        taken(pa.table({"a": [1, 2]}))

    assert "build it with Spark" in str(caught[0].message)
