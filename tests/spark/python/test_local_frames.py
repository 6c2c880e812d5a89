"""Frames of pandas, Polars and Arrow as results of functions."""

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penstock.core.errors import PythonModelError


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
