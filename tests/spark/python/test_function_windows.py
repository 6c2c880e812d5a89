"""`incremental_filter`, `window` and `window_on`."""

import datetime as dt
import threading

import pytest

import penstock
from fakes.python_app import PythonApp
from penstock.core.errors import IncrementalConfigError, PenstockError
from penstock.testing import window as given_window


def window(report, name="events", number=0):
    return str(report[name].windows[number].window).replace(":00.000000Z", "")


def code_of(app):
    with pytest.raises(PenstockError) as caught:
        app.run()
    return caught.value.code, caught.value.hint


@pytest.mark.matrix
@pytest.mark.parametrize("way", ["method", "transform"])
def test_a_function_may_filter_by_itself(place, way):
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts", window_on={"raw_logs": None})
    def events(raw_logs):
        found = raw_logs.select("id", "ts").where("id > 0")
        if way == "method":
            return found.incremental_filter("ts")
        return found.transform(penstock.incremental_filter("ts"))

    first = place.app.run()
    place.append(5, 6)
    second = place.app.run()

    assert first["events"].rows.inserted == 4
    assert window(second) == "(2025-01-16T12:00, 2025-01-17T10:00]"
    assert [each.key for each in second["events"].watermarks] == ["events.ts"]
    assert place.ids("events") == [1, 2, 3, 4, 5, 6]


@pytest.mark.matrix
def test_a_frame_that_filters_is_made_for_each_of_its_readers(place):
    calls = []
    place.source(1, 2, 3, 4)

    @place.app.model
    def cut(raw_logs):
        calls.append(1)
        return raw_logs.incremental_filter("ts")

    @place.app.incremental_table(time_column="ts")
    def a(cut):
        return cut

    place.app.run()
    place.append(5, 6)

    @place.app.incremental_table(time_column="ts")
    def b(cut):
        return cut

    calls.clear()
    report = place.app.run()

    assert (report["a"].rows.inserted, report["b"].rows.inserted) == (2, 6)
    assert len(calls) == 2
    assert [len(report[name].windows) for name in "ab"] == [1, 1]


def test_a_filter_does_nothing_where_there_is_no_window(place):
    raw = place.frame(1, 2, 3, 4)

    @place.app.source
    def raw_logs():
        return place.frame(1, 2, 3, 4)

    @place.app.table
    def whole(raw_logs):
        return raw_logs.incremental_filter("ts")

    place.app.run()

    assert raw.incremental_filter("ts").count() == 4
    assert place.ids("whole") == [1, 2, 3, 4]


def test_a_unit_test_says_what_the_window_is(place):
    @place.app.source
    def raw_logs():
        return place.frame(1)

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.transform(penstock.incremental_filter("ts"))

    low = dt.datetime(2025, 1, 15, 18, tzinfo=dt.UTC)
    with given_window("ts", low=low):
        found = events(place.frame(1, 2, 3, 4))

    assert sorted(row.id for row in found.collect()) == [3, 4]


def test_another_method_of_that_name_is_left_alone(place, monkeypatch):
    from pyspark.sql import DataFrame

    monkeypatch.setattr(DataFrame, "incremental_filter", lambda self: self, raising=False)

    @place.app.source
    def raw_logs():
        return place.frame(1)

    assert code_of(place.app)[0] == "method-taken"


def test_a_table_that_would_read_all_of_its_inputs_each_time_is_refused(place):
    place.source(1)

    @place.app.incremental_table(time_column="moment")
    def events(raw_logs):
        return raw_logs.withColumnRenamed("ts", "moment")

    code, hint = code_of(place.app)

    assert code == "no-windowed-input"
    assert "window_on" in hint


@pytest.mark.matrix
def test_the_same_instants_may_have_another_name(place):
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="moment", window_on={"raw_logs": "ts"})
    def events(raw_logs):
        return raw_logs.selectExpr("id", "ts as moment")

    place.app.run()
    place.append(5, 6)
    report = place.app.run()

    assert report["events"].rows.inserted == 2
    assert place.ids("events") == [1, 2, 3, 4, 5, 6]


@pytest.mark.matrix
def test_a_function_that_reads_by_itself_is_told_from_when_to_when(place):
    seen = []

    @place.app.incremental_table(time_column="ts")
    def events(spark, window):
        seen.append((window.low, window.high, window.kind))
        return place.frame(1, 2, 3, 4, 5, 6).where(window.sql("ts"))

    place.app.run(as_of="2025-01-16T10:00:00")
    first = place.ids("events")
    place.app.run(as_of="2025-01-18T00:00:00")

    early, late = (
        dt.datetime(2025, 1, day, hour, tzinfo=dt.UTC) for day, hour in ((16, 10), (18, 0))
    )
    assert seen == [(None, early, "initial"), (early, late, "external")]
    assert first == [1, 2, 3]
    assert place.ids("events") == [1, 2, 3, 4, 5, 6]


@pytest.mark.matrix
def test_a_window_writes_itself_as_sql(place):
    said = []
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs, window):
        said.append(window.sql("ts"))
        return raw_logs

    @place.app.table
    def whole(raw_logs, window):
        said.append(window.sql("ts"))
        return raw_logs

    place.app.run(select="events")
    place.append(5, 6)
    place.app.run(select="events")
    place.app.run(select="whole")

    low, high = "2025-01-16T12:00:00.000000Z", "2025-01-17T10:00:00.000000Z"
    assert said[1:] == [f"ts > TIMESTAMP '{low}' AND ts <= TIMESTAMP '{high}'", "true"]


def test_a_filter_in_a_thread_of_its_own_has_no_context(place):
    place.source(1)
    caught = []

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        def work():
            try:
                raw_logs.incremental_filter("ts")
            except PenstockError as error:
                caught.append((error.code, "copy_context" in error.hint))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return raw_logs

    place.app.run()

    assert caught == [("filter-without-context", True)]


@pytest.mark.matrix
def test_two_filters_of_one_function_need_names(place):
    place.source(1, 2)

    @place.app.incremental_table(time_column="ts", window_on={"raw_logs": None})
    def events(raw_logs):
        return raw_logs.incremental_filter("ts").incremental_filter("ts")

    code, hint = code_of(place.app)

    assert code == "duplicate-window"
    assert "name=" in hint


@pytest.mark.matrix
def test_a_second_filter_with_a_name_is_fine(place):
    place.source(1, 2)

    @place.app.incremental_table(time_column="ts", window_on={"raw_logs": None})
    def events(raw_logs):
        return raw_logs.incremental_filter("ts").incremental_filter("ts", name="x")

    report = place.app.run()

    assert [each.key for each in report["events"].watermarks] == ["events.ts", "events.x"]


@pytest.mark.matrix
def test_a_filter_on_no_column_names_those_there_are(place):
    place.source(1)

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.incremental_filter("moment")

    assert code_of(place.app) == (
        "time-column-missing",
        "available columns: id, ts, user, amount",
    )


@pytest.mark.matrix
def test_each_input_has_its_own_watermark(place):
    from fakes import delta_tables

    for name, values in (("orders", "(1, 10)"), ("payments", "(2, 8)")):
        delta_tables.create(f"{place.root}/landing/{name}", "id INT, n BIGINT")
        delta_tables.append(f"{place.root}/landing/{name}", values)

    @place.app.source(path="landing/orders")
    def orders(df):
        return df

    @place.app.source(path="landing/payments")
    def payments(df):
        return df

    @place.app.incremental_table(time_column="n")
    def both(orders, payments):
        return orders.unionByName(payments)

    first = place.app.run()
    delta_tables.append(f"{place.root}/landing/payments", "(3, 9)")
    place.app.run()

    assert [each.value.text for each in first["both"].watermarks] == ["10", "8"]
    assert place.rows("both") == [(1, 10), (2, 8), (3, 9)]


@pytest.mark.matrix
def test_a_filter_that_became_a_window_of_the_input_adds_no_row_again(place, tmp_path):
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts", window_on={"raw_logs": None})
    def t(raw_logs):
        return raw_logs.incremental_filter("ts")

    place.app.run()
    place.append(5)
    now = PythonApp(tmp_path, place.spark)
    now.app.source(path="landing/raw_logs", name="raw_logs")(lambda df: df)

    @now.app.incremental_table(time_column="ts", name="t")
    def t_now(raw_logs):
        return raw_logs

    with pytest.raises(IncrementalConfigError) as caught:
        now.app.run()

    assert caught.value.code == "new-windowed-input"
    assert now.ids("t") == [1, 2, 3, 4]
