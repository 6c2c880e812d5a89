"""Local frames with odd columns: each is a frame of Spark with its values, or a plain error."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penstock.core.columns.schema import Column, Schema
from penstock.engine.local_frames import UnfitFrameError, spark_frame

pytestmark = pytest.mark.matrix

HALF = Decimal("1.50")
DAY = dt.datetime(2024, 1, 1, 12, 30)  # noqa: DTZ001  what Spark gives
FRAMES = {
    "category": (pd.DataFrame({"a": pd.Categorical(["x", None])}), "string", ["x", None]),
    "Int64": (pd.DataFrame({"a": pd.array([1, None], "Int64")}), "bigint", [1, None]),
    "NaN": (pd.DataFrame({"a": [1.5, np.nan]}), "double", [1.5, None]),
    "bytes": (pd.DataFrame({"a": [b"\xff", None]}), "binary", [b"\xff", None]),
    "decimals": (
        pd.DataFrame({"a": [HALF, None]}),
        "decimal(3,2)",
        [HALF, None],
    ),
    "naive": (pd.DataFrame({"a": [pd.Timestamp(DAY), pd.NaT]}), "timestamp", [DAY, None]),
    "zoned": (
        pl.DataFrame({"a": [DAY]}).with_columns(pl.col("a").dt.replace_time_zone("Asia/Tokyo")),
        "timestamp",
        [dt.datetime(2024, 1, 1, 3, 30)],  # noqa: DTZ001
    ),
    "UInt64": (
        pl.DataFrame({"a": [2**64 - 1]}, {"a": pl.UInt64}),
        "decimal(20,0)",
        [Decimal(2**64 - 1)],
    ),
    "lazy": (pl.LazyFrame({"a": [[1, None], None]}), "array<bigint>", [[1, None], None]),
    "struct": (pl.DataFrame({"a": [{"x": "y"}]}), "struct<x:string>", [("y",)]),
    "empty list": (pl.DataFrame({"a": [[]]}, {"a": pl.List(pl.String)}), "array<string>", [[]]),
    "map": (
        pa.table({"a": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8()))}),
        "map<string,tinyint>",
        [{"k": 1}],
    ),
    "fixed binary": (pa.table({"a": pa.array([b"ab"], pa.binary(2))}), "binary", [b"ab"]),
    "dictionary": (pa.table({"a": pa.array(["x", "x"]).dictionary_encode()}), "string", ["x", "x"]),
    "batch": (pa.RecordBatch.from_pydict({"a": [1]}), "bigint", [1]),
    "reader": (pa.table({"a": [1, 2]}).to_reader(1), "bigint", [1, 2]),
    "no rows": (pd.DataFrame({"a": pd.Series([], dtype="int32")}), "int", []),
    "odd name": (pa.table({"a b`.c": [1]}), "bigint", [1]),
}  # fmt: skip
NOTHING = {
    "pandas": pd.DataFrame({"a": [None, None]}),
    "arrow": pa.table({"a": pa.nulls(2)}),
    "polars": pl.DataFrame({"a": [None, None]}),
}
REFUSED = {
    "mixed": pd.DataFrame({"a": [1, "x"]}),
    "nanoseconds": pd.DataFrame({"a": [pd.Timestamp(1)]}),
    "twice": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "number as name": pd.DataFrame({0: [1]}),
    "levels": pd.DataFrame({("a", "b"): [1]}),
    "time": pa.table({"a": pa.array([dt.time(1)])}),
    "period": pd.DataFrame({"a": pd.period_range("2024-01", periods=1, freq="M")}),
    "complex": pd.DataFrame({"a": [1j]}),
    "wide decimal": pa.table({"a": pa.array([Decimal(10**40)], pa.decimal256(41, 0))}),
    "no columns": pd.DataFrame(),
    "no columns of polars": pl.DataFrame(),
}


def test_odd_columns_keep_their_values(spark):
    found = {}
    for name, (value, _, _) in FRAMES.items():
        frame = spark_frame(spark, value, Schema(), "m")
        found[name] = (frame.dtypes[0][1], [row[0] for row in frame.collect()])

    assert found == {name: (kind, rows) for name, (_, kind, rows) in FRAMES.items()}


@pytest.mark.parametrize("name", REFUSED)
def test_what_spark_cannot_take_is_said_plainly(spark, name):
    with pytest.raises(UnfitFrameError, match=r"^returned an? |^its column"):
        spark_frame(spark, REFUSED[name], Schema(), "m").collect()


def test_a_column_without_any_value_has_the_declared_type_or_none(spark):
    declared = Schema((Column("a", "decimal(10,2)"),))

    for name, value in NOTHING.items():
        assert (name, spark_frame(spark, value, Schema(), "m").dtypes) == (name, [("a", "void")])
        frame = spark_frame(spark, value, declared, "m")
        assert (frame.dtypes, [row[0] for row in frame.collect()]) == (
            [("a", "decimal(10,2)")],
            [None, None],
        )


def test_a_column_without_any_value_becomes_no_table(place):
    place.app.table(name="t")(lambda: NOTHING["pandas"].assign(id=1))

    place.app.run()

    assert place.rows("t") == []
