"""Lookback, overwrite, grain."""

import datetime as dt

import pytest

from fakes.python_app import PythonApp
from penstock.core.errors import DataError


def dates(place, name="events"):
    found = place.spark.sql(f"SELECT date, count(*) FROM {place.table(name)} GROUP BY 1").collect()
    return {row[0].day: row[1] for row in found}


def window(report, name="events"):
    return str(report[name].windows[0].window).replace(":00.000000Z", "")


@pytest.mark.matrix
def test_a_lookback_of_nothing_reads_ties_again(place):
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts", lookback=0)
    def events(raw_logs):
        return raw_logs.select("id", "ts", "amount")

    @place.app.incremental_table(time_column="ts", lookback=0, unique_key="id")
    def keyed(raw_logs):
        return raw_logs.select("id", "ts", "amount")

    place.app.run()
    place.append("(8, '2025-01-16T12:00:00Z', 'd', 80)")
    report = place.app.run()

    assert window(report) == "[2025-01-16T12:00, 2025-01-16T12:00]"
    assert (report["events"].rows.deleted, report["events"].rows.inserted) == (1, 2)
    assert place.ids("events") == [1, 2, 3, 4, 8]
    assert (report["keyed"].rows.inserted, report["keyed"].rows.updated) == (1, 0)
    assert place.ids("keyed") == [1, 2, 3, 4, 8]


@pytest.mark.matrix
def test_a_row_outside_its_window_fails_the_write(place):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    place.source(1, 2, 3, 4)

    def hours(raw_logs):
        return raw_logs.select("id", F.date_trunc("hour", "ts").alias("ts"))

    place.app.incremental_table(time_column="ts", name="bare")(hours)
    place.app.incremental_table(time_column="ts", grain="hour", name="grained")(hours)
    place.app.run()
    place.append("(9, '2025-01-16T12:30:00Z', 'a', 90)")

    with pytest.raises(DataError, match="made a row of ts 2025-01-16 12:00"):
        place.app.run()

    assert place.ids("bare") == [1, 2, 3, 4]
    assert place.ids("grained") == [1, 2, 3, 4, 9]


def daily(place):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    def add(**options):
        @place.app.incremental_table(time_column="ts", partition_by="date", **options)
        def events(raw_logs):
            return raw_logs.select("id", "ts", "user", "amount", F.to_date("ts").alias("date"))

    return add


@pytest.mark.matrix
def test_a_lookback_takes_late_rows_of_its_days(place):
    daily(place)(lookback="1 day")
    place.source()
    place.append(
        "(1, '2025-01-15T10:00:00Z', 'a', 1)",
        "(2, '2025-01-16T10:00:00Z', 'a', 1)",
        "(3, '2025-01-17T10:00:00Z', 'a', 1)",
    )
    place.app.run()
    place.append("(4, '2025-01-16T15:00:00Z', 'a', 1)")

    place.app.run()

    assert dates(place) == {15: 1, 16: 2, 17: 1}


@pytest.mark.matrix
@pytest.mark.parametrize("lookback", ["2 days", dt.timedelta(days=2), 2])
def test_a_lookback_is_written_in_three_ways(place, lookback):
    @place.app.source
    def raw_logs():
        return place.frame(1, 2)

    @place.app.incremental_table(time_column="ts", lookback=lookback)
    def events(raw_logs):
        return raw_logs

    place.app.run()
    report = place.app.run()

    assert place.ids("events") == [1, 2]
    assert window(report) == "[2025-01-13T18:00, 2025-01-15T18:00]"


@pytest.mark.matrix
def test_a_lookback_into_a_day_takes_all_of_it(place):
    @place.app.source
    def raw_logs():
        return place.spark.sql(
            "SELECT id, to_timestamp(ts) ts, 'a' user, 1L amount FROM VALUES "
            "(1, '2025-01-16T08:00:00Z'), (2, '2025-01-16T12:00:00Z'), "
            "(3, '2025-01-17T10:00:00Z') AS t(id, ts)"
        )

    daily(place)(lookback="1 day")
    place.app.run()

    report = place.app.run()

    assert window(report) == "[2025-01-16T00:00, 2025-01-17T10:00]"
    assert place.ids("events") == [1, 2, 3]


@pytest.mark.matrix
def test_a_lookback_replaces_its_range(place):
    place.source(1, 2, 3, 4, 5, 6)

    @place.app.incremental_table(time_column="ts", lookback="1 day")
    def events(raw_logs):
        return raw_logs

    place.app.run()
    place.append("(7, '2025-01-16T15:00:00Z', 'a', 70)")
    report = place.app.run()

    assert window(report) == "[2025-01-16T10:00, 2025-01-17T10:00]"
    assert (report["events"].rows.deleted, report["events"].rows.inserted) == (3, 4)
    assert place.ids("events") == [1, 2, 3, 4, 5, 6, 7]


def test_an_aggregate_by_day_is_made_again_from_the_day_on(place):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="date", window_on={"raw_logs": "ts"})
    def daily(raw_logs):
        return raw_logs.groupBy(F.to_date("ts").alias("date")).agg(F.sum("amount").alias("n"))

    place.app.run()
    first = place.rows("daily", "day(date), n")
    place.append(5, 6)
    report = place.app.run()

    assert first == [(15, 30), (16, 70)]
    assert window(report, "daily") == "[2025-01-16T00:00, 2025-01-17T10:00]"
    assert place.rows("daily", "day(date), n") == [(15, 30), (16, 120), (17, 60)]
    assert (report["daily"].rows.deleted, report["daily"].rows.inserted) == (1, 2)


@pytest.mark.matrix
def test_a_lookback_of_numbers_counts_units(place):
    place.source(columns="id BIGINT, ts BIGINT")
    place.append("(1, 8), (2, 9), (3, 10)")

    @place.app.incremental_table(time_column="ts", lookback=3)
    def events(raw_logs):
        return raw_logs

    place.app.run()
    place.append("(4, 7), (5, 11)")
    report = place.app.run()

    assert window(report) == "[7, 11]"
    assert place.ids("events") == [1, 2, 3, 4, 5]


@pytest.mark.matrix
@pytest.mark.parametrize("more", [{}, {"lookback": 0}], ids=["", "lookback"])
def test_two_inputs_of_one_day_are_both_read_from_the_lowest_start(place, more):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    place.source(1, 2, 3)
    late = PythonApp(place.root / "other", place.spark)
    late.source(1)
    place.app.source(path="other/landing/raw_logs", name="others")(lambda df: df)
    filtered = {"window_on": {"raw_logs": None, "others": None}}

    @place.app.incremental_table(
        time_column="date", window_on={"raw_logs": "ts", "others": "ts"}, **more
    )
    def daily(raw_logs, others):
        both = raw_logs.unionByName(others)
        return both.groupBy(F.to_date("ts").alias("date")).agg(F.count("*").alias("n"))

    @place.app.incremental_table(time_column="date", **filtered, **more)
    def own(raw_logs, others):
        one = raw_logs.select("*").incremental_filter("ts", name="one")
        both = one.unionByName(others.select("*").incremental_filter("ts", name="two"))
        return both.groupBy(F.to_date("ts").alias("date")).agg(F.count("*").alias("n"))

    place.app.run()
    late.append(2)
    place.append(4, 6)
    place.app.run()

    right = [(15, 4), (16, 2), (17, 1)]
    assert place.rows("daily", "day(date), n") == right
    assert place.rows("own", "day(date), n") == right
