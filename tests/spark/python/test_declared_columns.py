"""Declared columns in runs: what differs is named, what fits is written by name."""

import pytest

from penstock.core.errors import PenstockError

SCHEMA = "id BIGINT NOT NULL COMMENT 'its number', amount INT, name STRING"


def test_a_frame_is_compared_with_its_schema_and_written_by_name(place):
    @place.app.table(schema=SCHEMA)
    def wrong(spark):
        return spark.range(2).selectExpr("id", "id as amount", "id as more")

    @place.app.table(schema=SCHEMA)
    def right(spark):
        return spark.range(2).selectExpr("'x' as name", "cast(id as int) as amount", "id")

    with pytest.raises(PenstockError) as caught:
        place.app.run("wrong")
    place.app.run("right")
    table = place.spark.table(place.table("right"))

    assert caught.value.code == "contract-broken"
    assert caught.value.sentence == (
        "wrong: amount is BIGINT in the frame and INT in the schema; wrong: name is not in the "
        "frame; wrong: more is not in the schema"
    )
    assert place.rows("right") == [(0, 0, "x"), (1, 1, "x")]
    assert [(c.name, c.description) for c in right_meta(place)] == [
        ("id", "its number"),
        ("amount", ""),
        ("name", ""),
    ]
    assert table.schema["id"].metadata == {"comment": "its number"}


def right_meta(place):
    models = {each.name: each for each in place.app._functions.models}
    return models["right"].get_meta().columns


def test_null_in_a_column_that_is_not_null_is_not_written(place):
    @place.app.table(schema="id BIGINT NOT NULL")
    def t(spark):
        return spark.range(2).selectExpr("nullif(id, 1) as id")

    with pytest.raises(PenstockError) as caught:
        place.app.run()

    assert caught.value.code == "null-in-required-column"
    assert "column 'id' of 't' is NOT NULL" in caught.value.sentence
    assert not t.exists()
