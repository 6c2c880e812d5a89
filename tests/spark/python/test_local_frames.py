"""Frames of pandas, Polars and Arrow as results of functions."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import PythonModelError
from penstock.engine.local_frames import UnfitFrameError, spark_frame


def test_local_frames_become_tables_with_their_types_or_the_declared_ones(place):
    day = dt.date(2024, 1, 1)
    made = {
        "of_pandas": pd.DataFrame({"id": [1, 2], "day": [day, None]}, index=[7, 8]),
        "of_polars": pl.DataFrame({"id": [1, 2], "day": [day, None]}),
        "of_arrow": pa.table({"id": [1, 2], "day": [day, None]}),
        "empty": pa.table({"id": pa.array([], pa.int64()), "day": pa.array([], pa.date32())}),
    }
    for name, frame in made.items():
        place.app.table(name=name)(lambda frame=frame: frame)

    @place.app.table(schema="day TIMESTAMP, id INT")
    def typed():
        return pd.DataFrame({"id": [1, 2], "day": [pd.Timestamp(day), pd.NaT]})

    place.app.run()

    for name in ("of_pandas", "of_polars", "of_arrow"):
        assert place.rows(name) == [(1, day), (2, None)]
        assert place.spark.table(place.table(name)).schema.simpleString() == (
            "struct<id:bigint,day:date>"
        )
    assert place.rows("empty") == []
    assert place.spark.table(place.table("typed")).schema.simpleString() == (
        "struct<day:timestamp,id:int>"
    )
    assert place.rows("typed", "id, string(day)") == [(1, "2024-01-01 00:00:00"), (2, None)]


def test_a_value_that_the_declared_type_cannot_hold_is_refused(place):
    @place.app.table(schema="id TINYINT")
    def t():
        return pa.table({"id": [1, 300]})

    with pytest.raises(PythonModelError) as caught:
        place.app.run()

    assert caught.value.code == "not-a-frame"
    assert "300" in caught.value.sentence
    assert not t.exists()


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


@pytest.mark.matrix
def test_odd_columns_keep_their_values(spark):
    found = {}
    for name, (value, _, _) in FRAMES.items():
        frame = spark_frame(spark, value, Schema(), "m")
        found[name] = (frame.dtypes[0][1], [row[0] for row in frame.collect()])

    assert found == {name: (kind, rows) for name, (_, kind, rows) in FRAMES.items()}


@pytest.mark.matrix
@pytest.mark.parametrize("name", REFUSED)
def test_what_spark_cannot_take_is_said_plainly(spark, name):
    with pytest.raises(UnfitFrameError, match=r"^returned an? |^its column"):
        spark_frame(spark, REFUSED[name], Schema(), "m").collect()


@pytest.mark.matrix
def test_a_column_without_any_value_has_the_declared_type_or_none(spark):
    declared = Schema((Column("a", "decimal(10,2)"),))

    for name, value in NOTHING.items():
        assert (name, spark_frame(spark, value, Schema(), "m").dtypes) == (name, [("a", "void")])
        frame = spark_frame(spark, value, declared, "m")
        assert (frame.dtypes, [row[0] for row in frame.collect()]) == (
            [("a", "decimal(10,2)")],
            [None, None],
        )


@pytest.mark.matrix
def test_a_column_without_any_value_and_type_is_refused(place):
    place.app.table(name="t")(lambda: NOTHING["pandas"].assign(id=1))

    with pytest.raises(PythonModelError, match="column 'a' of 't' is NULL without a type"):
        place.app.run()
