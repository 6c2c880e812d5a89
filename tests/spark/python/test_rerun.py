"""Running a range again."""

import datetime as dt

import pytest

from penstock.core.errors import PenstockError


def source_anew(place, *rows):
    """Put a source with other rows in the place of the one that was."""
    values = ", ".join(rows)
    names = "t(id, ts, user, amount)"
    frame = place.spark.sql(
        "SELECT CAST(id AS BIGINT) id, CAST(ts AS TIMESTAMP) ts, user, CAST(amount AS BIGINT) "
        f"amount FROM VALUES {values} AS {names}"
    )
    frame.write.format("delta").mode("overwrite").save(place.path)


def refused(call, *args):
    with pytest.raises(PenstockError) as caught:
        call(*args)
    return caught.value.code


OTHER = (
    "(1, '2025-01-15T10:00:00Z', 'a', 15)",
    "(2, '2025-01-15T18:00:00Z', 'b', 25)",
    "(3, '2025-01-16T09:00:00Z', 'a', 30)",
    "(4, '2025-01-16T12:00:00Z', 'c', 40)",
)


@pytest.mark.matrix
def test_a_range_of_an_append_table_is_replaced(events):
    events.app.run()
    source_anew(events, *OTHER)

    result = events.events.rerun("2025-01-15T12:00:00", "2025-01-15T18:00:00")
    again = events.app.run()

    assert (result.rows.deleted, result.rows.inserted) == (1, 1)
    assert events.rows("events", "id, amount") == [(1, 10), (2, 25), (3, 30), (4, 40)]
    assert [each.value.text for each in result.watermarks] == ["2025-01-16T12:00:00.000000Z"]
    assert again["events"].rows.inserted == 0


@pytest.mark.matrix
@pytest.mark.parametrize("mode", ["flag", "block"])
def test_the_checks_of_an_append_table_see_what_a_rerun_made(place, mode):
    place.source(1, 2, 3, 4)
    small = {"type": "value_range", "column": "amount", "max": 50}
    rules = {"after": [{"type": "unique", "columns": ["id"]}, small]}

    @place.app.incremental_table(time_column="ts", checks=rules, on_failure=mode)
    def events(raw_logs):
        return raw_logs.select("id", "ts", "amount")

    place.app.run()
    source_anew(place, *OTHER)
    result = events.rerun("2025-01-15", "2025-01-15")
    source_anew(place, OTHER[0].replace("15)", "99)"), *OTHER[1:])
    code = refused(events.rerun, "2025-01-15", "2025-01-15") if mode == "block" else ""

    assert [each.status for each in result.invariant_report.after] == ["passed", "passed"]
    assert place.rows("events", "id, amount") == [(1, 15), (2, 25), (3, 30), (4, 40)]
    assert code == ("after-check-failed" if mode == "block" else "")


@pytest.mark.matrix
def test_both_ends_are_replaced_and_a_date_is_its_whole_day(events):
    events.app.run()
    source_anew(events, *OTHER)

    ends = events.events.rerun("2025-01-15T10:00:00", "2025-01-15T18:00:00")
    day = events.events.rerun(dt.date(2025, 1, 15), "2025-01-15")

    assert (ends.rows.deleted, ends.rows.inserted) == (2, 2)
    assert (day.rows.deleted, day.rows.inserted) == (2, 2)
    assert events.rows("events", "id, amount") == [(1, 15), (2, 25), (3, 30), (4, 40)]


@pytest.mark.matrix
def test_a_rerun_takes_late_rows_of_its_range(events):
    events.app.run()
    events.append(5, 6)

    result = events.events.rerun("2025-01-16T00:00:00", "2025-01-16T23:00:00")
    code = refused(events.events.rerun, "2025-01-17T00:00:00", "2025-01-17T23:00:00")
    again = events.app.run()

    assert (result.rows.deleted, result.rows.inserted) == (2, 3)
    assert [each.value.text for each in result.watermarks] == ["2025-01-16T20:00:00.000000Z"]
    assert code == "rerun-beyond-watermark"
    assert again["events"].rows.inserted == 1
    assert events.ids("events") == [1, 2, 3, 4, 5, 6]


@pytest.mark.matrix
def test_a_rerun_of_keys_deletes_those_that_are_gone(place):
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts", unique_key="user")
    def users(raw_logs):
        return raw_logs.select("user", "ts", "amount")

    place.app.run()
    same = users.rerun("2025-01-15", "2025-01-15")
    first = place.rows("users", "user, amount")
    source_anew(place, OTHER[0], OTHER[2], OTHER[3])
    gone = users.rerun("2025-01-15", "2025-01-15")

    assert (same.status, same.version) == ("unchanged", 0)
    assert first == [("a", 30), ("b", 20), ("c", 40)]
    assert gone.rows.deleted == 1
    assert place.rows("users", "user, amount") == [("a", 30), ("c", 40)]


@pytest.mark.matrix
def test_what_cannot_be_run_again(events):
    @events.app.model
    def some(events):
        return events

    @events.app.table
    def plain(events):
        return events

    before = refused(events.events.rerun, "2025-01-15", "2025-01-15")
    events.app.run()

    assert before == "rerun-before-first-run"
    assert refused(some.rerun, "2025-01-15", "2025-01-15") == "rerun-unsupported"
    assert refused(plain.rerun, "2025-01-15", "2025-01-15") == "rerun-unsupported"
    assert refused(events.events.rerun, "2025-01-16", "2025-01-15") == "rerun-bounds"
    assert refused(events.events.rerun, "yesterday", "2025-01-15") == "rerun-bounds-type"
    assert refused(events.events.rerun, 1, 2) == "rerun-bounds-type"


@pytest.mark.matrix
def test_a_function_that_filters_is_given_the_range(place):
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts", window_on={"raw_logs": None})
    def events(raw_logs):
        return raw_logs.select("id", "ts", "amount").incremental_filter("ts")

    place.app.run()
    source_anew(place, *OTHER)
    result = events.rerun("2025-01-15T12:00:00", "2025-01-15T18:00:00")

    assert (result.rows.deleted, result.rows.inserted) == (1, 1)
    assert place.rows("events", "id, amount") == [(1, 10), (2, 25), (3, 30), (4, 40)]


@pytest.mark.matrix
def test_a_range_without_rows_is_cleared_and_a_plan_clears_nothing(events):
    events.app.run()
    source_anew(events, OTHER[0], OTHER[1])
    before = [*(events.root / ".penstock").rglob("*")]

    planned = events.events.rerun("2025-01-16", "2025-01-16", dry_run=True)
    untouched = (events.ids("events"), [*(events.root / ".penstock").rglob("*")])
    result = events.events.rerun("2025-01-16", "2025-01-16")

    assert (planned.status, planned.kind, planned.version) == ("planned", "rerun", None)
    assert [str(each.window) for each in planned.windows] == [
        "[2025-01-16T00:00:00.000000Z, 2025-01-16T23:59:59.999999Z]"
    ]
    assert untouched == ([1, 2, 3, 4], before)
    assert (result.kind, result.rows.deleted, result.rows.inserted) == ("rerun", 2, 0)
    assert events.ids("events") == [1, 2]
    assert [each.value.text for each in result.watermarks] == ["2025-01-16T12:00:00.000000Z"]


@pytest.mark.matrix
def test_part_of_a_day_of_an_overwrite_table_leaves_the_rest(place):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    @place.app.incremental_table(time_column="ts", partition_by="date", partition_mode="overwrite")
    def events(raw_logs):
        return raw_logs.select("id", "ts", "amount", F.to_date("ts").alias("date"))

    place.source(1, 2, 3, 4)
    place.app.run()
    source_anew(place, *OTHER)
    result = events.rerun("2025-01-15T12:00:00", "2025-01-15T20:00:00")

    assert (result.rows.deleted, result.rows.inserted, result.notes) == (1, 1, ())
    assert place.rows("events", "id, amount") == [(1, 10), (2, 25), (3, 30), (4, 40)]


@pytest.mark.matrix
def test_a_range_of_days_is_widened_to_whole_ones_and_says_so(place):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    @place.app.incremental_table(time_column="date", window_on={"raw_logs": "ts"})
    def daily(raw_logs):
        return raw_logs.groupBy(F.to_date("ts").alias("date")).agg(F.sum("amount").alias("n"))

    place.source(1, 2, 3, 4)
    place.app.run()
    result = daily.rerun("2025-01-15T12:00:00", "2025-01-15T13:00:00")

    assert result.notes == ("the range was widened to whole units (day): 2025-01-15",)
    assert place.rows("daily", "day(date), n") == [(15, 30), (16, 70)]
    assert (result.rows.deleted, result.rows.inserted) == (1, 1)


@pytest.mark.matrix
def test_a_rerun_that_may_change_columns_is_asked_to(place):
    place.source(1, 2, 3, 4)
    texts = [["id", "ts", "amount"], ["id", "ts", "amount", "user"]]

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.selectExpr(*texts[0])

    place.app.run()
    texts.pop(0)
    code = refused(events.rerun, "2025-01-15", "2025-01-15")
    events.rerun("2025-01-15", "2025-01-15", safe=False)

    assert code == "schema-changed"
    assert place.rows("events", "id, user") == [(1, "a"), (2, "b"), (3, None), (4, None)]


@pytest.mark.matrix
def test_a_table_that_was_deleted_is_made_anew(events):
    import shutil

    events.app.run()
    events.append(5, 6)
    events.app.run()
    shutil.rmtree(events.uri("events"))

    report = events.app.run()

    assert "missing" in report["events"].reason
    assert events.ids("events") == [1, 2, 3, 4, 5, 6]
