"""Appends of Python models, their windows and watermarks."""

import pytest

from penstock.core.columns.typed import TypedValue


def watermark(report, name="events"):
    (found,) = report[name].watermarks
    return f"{found.value.type} {found.value.text}"


def test_the_first_run_takes_all_rows(events):
    report = events.app.run()

    result = report["events"]
    assert (result.status, result.rows.inserted, result.version) == ("success", 4, 0)
    assert events.ids("events") == [1, 2, 3, 4]
    assert watermark(report) == "TIMESTAMP 2025-01-16T12:00:00.000000Z"


def test_a_second_run_is_not_planned_and_a_third_takes_what_is_new(events):
    events.app.run()

    again = events.app.run()
    events.append(5, 6)
    more = events.app.run()

    assert again["events"].status == "unchanged"
    assert again.plan.steps == ()
    (window,) = more["events"].windows
    assert str(window.window) == "(2025-01-16T12:00:00.000000Z, 2025-01-17T10:00:00.000000Z]"
    assert (more["events"].rows.inserted, more["events"].version) == (2, 1)
    assert events.ids("events") == [1, 2, 3, 4, 5, 6]
    assert watermark(more) == "TIMESTAMP 2025-01-17T10:00:00.000000Z"


@pytest.mark.matrix
def test_an_empty_source_makes_an_empty_table_without_a_watermark(place):
    place.source()

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.select("id", "ts", "amount")

    first = place.app.run()
    second = place.app.run()
    place.append(1)
    third = place.app.run()

    assert (first["events"].watermarks, first["events"].version) == ((), 0)
    assert second["events"].status == "unchanged"
    assert place.ids("events") == [1]
    assert watermark(third) == "TIMESTAMP 2025-01-15T10:00:00.000000Z"


@pytest.mark.matrix
def test_a_free_form_source_is_always_read_and_nothing_doubles(place):
    @place.app.source
    def raw_logs():
        return place.frame(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.select("id", "ts", "amount")

    reports = [place.app.run() for _ in range(4)]

    assert place.ids("events") == [1, 2, 3, 4]
    assert [report["events"].status for report in reports[1:]] == ["unchanged"] * 3
    assert place.commits("events") == 1
    assert watermark(reports[3]) == "TIMESTAMP 2025-01-16T12:00:00.000000Z"
    assert "input-unpinned: raw_logs" in reports[1]["events"].reason


@pytest.mark.matrix
def test_nanoseconds_are_exact_to_the_last_digit(place):
    place.source(columns="id BIGINT, ts BIGINT")
    place.append("(1, 1762383600123456789)")

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs

    place.app.run()
    second = place.app.run()
    place.append("(2, 1762383600123456790)")
    third = place.app.run()

    assert second["events"].status == "unchanged"
    assert place.ids("events") == [1, 2]
    (found,) = third["events"].watermarks
    assert found.value == TypedValue("BIGINT", "1762383600123456790")


@pytest.mark.matrix
def test_a_window_cannot_be_lost_by_what_a_function_does(place):
    place.source(1, 2, 3, 4)

    @place.app.source
    def users():
        return place.spark.sql("SELECT * FROM VALUES ('a', 1), ('b', 2), ('c', 3) AS t(user, n)")

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs, users):
        found = raw_logs.join(users, "user", "left").where("amount > 0")
        return found.selectExpr("id", "ts", "amount * n as worth")

    place.app.run()
    place.app.run()

    assert place.ids("events") == [1, 2, 3, 4]


@pytest.mark.matrix
def test_a_time_column_may_be_renamed_and_back(place):
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.withColumnRenamed("ts", "t").withColumnRenamed("t", "ts")

    place.app.run()
    place.append(5, 6)
    report = place.app.run()

    assert report["events"].rows.inserted == 2
    assert place.ids("events") == [1, 2, 3, 4, 5, 6]
