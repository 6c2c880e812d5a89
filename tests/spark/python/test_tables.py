"""Tables of functions: their columns, rows, partitions and places."""

import datetime as dt

import pytest

import penstock
from fakes import delta_tables
from penstock.core.errors import (
    CheckFailedError,
    PenstockError,
    PythonModelError,
    SchemaChangeError,
)


def test_a_field_and_a_precision_that_change_are_named(place):
    texts = [
        ["named_struct('x', 1) as s", "cast(1 as decimal(10,2)) as d", "array(1) as a"],
        ["named_struct('x', 1, 'y', 2) as s", "cast(1 as decimal(12,2)) as d", "array(1L) as a"],
    ]

    @place.app.table
    def t(spark):
        return spark.range(1).selectExpr(*texts[0])

    place.app.run()
    texts.pop(0)
    with pytest.raises(SchemaChangeError) as caught:
        place.app.run()

    assert caught.value.added == caught.value.removed == ()
    assert tuple(map(str, caught.value.type_changes)) == (
        "s: STRUCT<X:INT> -> STRUCT<X:INT,Y:INT>",
        "d: DECIMAL(10,2) -> DECIMAL(12,2)",
        "a: ARRAY<INT> -> ARRAY<BIGINT>",
    )


@pytest.mark.matrix
def test_rows_come_back_as_they_went(place):
    first = [
        (1, "a", 1.5, True, dt.date(2025, 1, 15)),
        (2, None, float("inf"), None, None),
    ]
    columns = "i int, s string, d double, b boolean, t date"

    @place.app.table
    def small(spark):
        return spark.createDataFrame(first, columns)

    @place.app.table
    def large(spark):
        return spark.range(1000).selectExpr("cast(id as int) as i", "string(id) as s")

    place.app.run()
    read = place.spark.table(place.table("small"))

    assert [(f.name, f.dataType.simpleString()) for f in read.schema.fields] == [
        ("i", "int"),
        ("s", "string"),
        ("d", "double"),
        ("b", "boolean"),
        ("t", "date"),
    ]
    assert place.rows("small") == first
    assert place.rows("large", "count(*), count(distinct i), sum(i)") == [(1000, 1000, 499500)]


@pytest.mark.matrix
def test_partitions_lie_as_they_are_asked_for(place):
    @place.app.source
    def raw_logs():
        return place.frame(1, 2, 3, 4).selectExpr(
            "id", "user", "date(ts) as d", "year(ts) as year", "month(ts) as month"
        )

    @place.app.table(partition_by="d")
    def by_date(raw_logs):
        return raw_logs.select("id", "d")

    @place.app.table(partition_by=["year", "month"], table_properties={"delta.appendOnly": "false"})
    def by_month(raw_logs):
        return raw_logs.select("id", "year", "month")

    @place.app.table(partition_by="user")
    def by_user(raw_logs):
        return raw_logs.select("id", "user")

    @place.app.table(cluster_by=["id"])
    def clustered(raw_logs):
        return raw_logs.select("id", "user")

    place.app.run()
    place.app.run()
    folders = {path.name for path in (place.root / "warehouse/main/by_date").glob("d=*")}
    facts = place.spark.sql(f"DESCRIBE DETAIL {place.table('clustered')}").collect()[0]
    known = place.spark.sql(f"DESCRIBE DETAIL {place.table('by_month')}").collect()[0]

    assert place.ids("by_date") == [1, 2, 3, 4]
    assert by_date.partitions() == [{"d": "2025-01-15"}, {"d": "2025-01-16"}]
    assert by_month.partitions() == [{"year": "2025", "month": "1"}]
    assert by_user.partitions() == [{"user": "a"}, {"user": "b"}, {"user": "c"}]
    assert folders == {"d=2025-01-15", "d=2025-01-16"}
    assert clustered.partitions() == []
    assert facts.clusteringColumns == ["id"]
    assert known.partitionColumns == ["year", "month"]
    assert known.properties["delta.appendOnly"] == "false"


@pytest.mark.matrix
def test_what_partitions_a_table_stays_what_it_is(place):
    values = [[(1, None), (2, "a/b"), (3, "007"), (4, "é=ü")], [(5, "")]]

    @place.app.table(partition_by="p")
    def t(spark):
        return spark.createDataFrame(values[0], "id int, p string").select("p", "id")

    place.app.run()
    kept = place.rows("t", "id, p")
    shown = sorted(str(each["p"]) for each in t.partitions())
    values.pop(0)
    with pytest.raises(PenstockError) as caught:
        place.app.run()

    assert kept == [(1, None), (2, "a/b"), (3, "007"), (4, "é=ü")]
    assert shown == ["007", "None", "a/b", "é=ü"]
    assert place.spark.table(place.table("t")).columns == ["p", "id"]
    assert caught.value.code == "empty-partition-value"
    assert place.rows("t", "id, p") == kept


@pytest.mark.matrix
def test_a_table_may_lie_elsewhere_and_is_found_by_its_name(place):
    def app():
        found = penstock.conf(root=place.root, spark=place.spark)

        @found.source
        def raw_logs():
            return place.frame(1, 2)

        @found.table(path="out/ev")
        def ev(raw_logs):
            return raw_logs

        @found.table
        def counted(ev):
            return ev.groupBy().count()

        return ev, counted

    ev, _ = app()
    before = (ev.exists(), ev.partitions())
    assert ev.build().count() == 2
    found, counted = app()  # as a second process would

    assert before == (False, [])
    assert (found.exists(), found.partitions()) == (True, [])
    assert found.build_lazy().count() == 2
    assert [row["count"] for row in counted.build().collect()] == [2]
    assert (place.root / "out/ev/_delta_log").is_dir()
    assert not (place.root / "warehouse/main/ev").exists()


def test_what_is_no_frame_of_a_table_is_told_before_anything_is_written(place):
    import pandas as pd
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    made = {
        "none": lambda one: None,
        "pandas": lambda one: pd.DataFrame({"id": [1]})["id"],
        "streaming": lambda one: place.spark.readStream.format("rate").load(),
        "twice": lambda one: one.join(one, one.id == one.id),
        "void": lambda one: one.select("id", F.lit(None).alias("x")),
        "spaced": lambda one: one.select(F.col("id").alias("a b")),
    }

    @place.app.source
    def one():
        return place.frame(1)

    tables = [place.app.table(name=name)(_of(made[name])) for name in made]
    with pytest.raises(PythonModelError) as caught:
        place.app.run()
    report = caught.value.report

    assert {name: report[name].error.code for name in made} == {
        "none": "not-a-frame",
        "pandas": "not-a-frame",
        "streaming": "streaming-frame",
        "twice": "duplicate-column",
        "void": "void-column",
        "spaced": "column-name",
    }
    assert all(isinstance(report[name].error, PythonModelError) for name in made)
    assert "to_frame" in report["pandas"].error.hint
    assert "cast" in report["void"].error.hint
    assert not any(table.exists() for table in tables)


def _of(make):
    def function(one):
        return make(one)

    return function


def test_a_table_of_somebody_else_is_left_alone(place):
    delta_tables.create(place.uri("t"), "id BIGINT")
    delta_tables.append(place.uri("t"), "(7,)")

    @place.app.table
    def t(spark):
        return spark.range(1)

    with pytest.raises(PenstockError) as caught:
        place.app.run()

    assert caught.value.code == "foreign-table"
    assert place.ids("t") == [7]


@pytest.mark.matrix
def test_the_checks_of_a_function_hold_back_its_rows(place):
    from penstock import checks

    rows = [1, 1, 2]

    @place.app.table(checks=[checks.unique("id")], on_failure="block")
    def t(spark):
        return spark.createDataFrame([(each,) for each in rows], "id bigint")

    with pytest.raises(CheckFailedError) as caught:
        place.app.run()
    was_there = t.exists()
    rows[:] = [1, 2]
    report = place.app.run()

    assert (caught.value.code, was_there) == ("after-check-failed", False)
    assert report["t"].invariant_report.all_passed
    assert place.ids("t") == [1, 2]
