"""What runs, in which order, how often, and with which frames."""

import pytest

from penstock.core.errors import ModelFailedError


def test_a_run_of_one_model_takes_all_that_it_reads(place):
    @place.app.source
    def src():
        return place.frame(1, 2)

    @place.app.model
    def step1(src):
        return src.where("id = 1")

    @place.app.table
    def step2(step1):
        return step1

    @place.app.table
    def other(src):
        return src

    report = place.app.run("step2")

    assert [*report] == ["src", "step1", "step2"]
    assert place.ids("step2") == [1]


@pytest.mark.matrix
def test_what_reads_a_table_reads_all_of_it(events):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    @events.app.table
    def counted(events):
        return events.agg(F.count("*").alias("n"), F.sum("amount").alias("total"))

    events.app.run()
    first = events.rows("counted")
    events.append(5)
    events.app.run()

    assert first == [(4, 100)]
    assert events.rows("counted") == [(5, 150)]


def test_a_frame_of_chance_is_made_once_for_all_who_read_it(place):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    calls = []

    @place.app.source
    def src():
        return place.frame(1, 2, 3)

    @place.app.model
    def chance(src):
        calls.append("chance")
        return src.select("id", F.rand().alias("r"))

    @place.app.table
    def one(chance):
        return chance

    @place.app.table
    def two(chance):
        return chance

    place.app.run()

    assert place.rows("one") == place.rows("two")
    assert calls == ["chance"]
    assert place.spark._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.mark.matrix
def test_a_frame_of_windowed_tables_is_kept_from_the_lowest_bound_on(place, monkeypatch):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows
    from pyspark.sql.classic.dataframe import DataFrame

    kept, persist = [], DataFrame.persist

    def spied(frame, *level):
        kept.append(sorted(row.id for row in frame.collect()))
        return persist(frame, *level)

    place.source(1, 2)

    @place.app.model
    def chance(raw_logs):
        return raw_logs.withColumn("r", F.rand())

    @place.app.incremental_table(time_column="ts")
    def one(chance):
        return chance

    @place.app.incremental_table(time_column="ts")
    def two(chance):
        return chance

    place.app.run()
    place.append(3, 4)
    place.app.run("two")
    place.append(5)
    monkeypatch.setattr(DataFrame, "persist", spied)
    report = place.app.run()

    assert [str(report[n].windows[0].window.lower.value) for n in ("one", "two")] == [
        "TIMESTAMP 2025-01-15T18:00:00.000000Z",
        "TIMESTAMP 2025-01-16T12:00:00.000000Z",
    ]
    assert kept == [[2, 3, 4, 5]]
    assert (place.ids("one"), place.ids("two")) == ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    assert dict(place.rows("one", "id, r"))[5] == dict(place.rows("two", "id, r"))[5]
    assert place.spark._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.mark.matrix
def test_chained_tables_over_a_free_form_source_call_it_once_a_run(place):
    calls = []

    @place.app.source
    def src():
        calls.append("src")
        return place.frame(1, 2)

    @place.app.table
    def a(src):
        return src

    @place.app.table
    def b(a, src):
        return a.join(src, "id").select("id")

    @place.app.table
    def c(b, src):
        return b.join(src, "id").select("id")

    assert calls == []
    place.app.run()
    place.app.run()

    assert calls == ["src", "src"]
    assert place.ids("c") == [1, 2]


def test_a_function_that_raises_stops_what_reads_it_and_nothing_else(place):
    @place.app.source
    def src():
        return place.frame(1)

    @place.app.table
    def b(src):
        raise ValueError("no luck")

    @place.app.table
    def c(b):
        return b

    @place.app.table
    def d(src):
        return src

    with pytest.raises(ModelFailedError, match="'b' raised ValueError: no luck") as caught:
        place.app.run()

    report = caught.value.report
    assert [report[name].status for name in "bcd"] == ["failed", "skipped", "success"]
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.where.path.endswith("test_graph.py")
    assert "--select" in report.resume


@pytest.mark.matrix
def test_two_tables_filter_one_free_form_source(place):
    @place.app.source
    def src():
        return place.frame(1, 2, 3)

    @place.app.table
    def low(src):
        return src.where("id < 2")

    @place.app.table
    def high(src):
        return src.where("id >= 2")

    place.app.run()

    assert (place.ids("low"), place.ids("high")) == ([1], [2, 3])
