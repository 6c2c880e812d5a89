"""Late rows, rows without a time, types, and watermarks that do not fit."""

import pytest
from deltalake import DeltaTable

import penstock
from fakes import delta_tables
from penstock.core.errors import IncrementalConfigError

IDS = ("id", "ts", "amount")


def window(report, name="events"):
    return str(report[name].windows[0].window).replace(":00.000000Z", "")


def mark(report, name="events"):
    return str(report[name].watermarks[0].value)


def refused(app, **options):
    with pytest.raises(IncrementalConfigError) as caught:
        app.run(**options)
    return caught.value


def table(place, name="events", **options):
    """Declare a table of the source's rows: id, ts, amount."""

    @place.app.incremental_table(**{"time_column": "ts", "name": name, **options})
    def made(raw_logs):
        return raw_logs.select(*IDS)

    return made


def by_day(place, name="events_d", **options):
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    @place.app.incremental_table(time_column="ts", partition_by="date", name=name, **options)
    def made(raw_logs):
        return raw_logs.select(*IDS, "user", F.to_date("ts").alias("date"))


@pytest.mark.matrix
def test_rows_that_come_late_are_counted_and_left(events):
    table(events, "quiet", late="ignore")
    events.app.run()
    events.append("(7, '2025-01-14T00:00:00Z', 'd', 70)")

    late, again = events.app.run(), events.app.run("events")
    events.append("(8, '2025-01-16T12:00:00Z', 'd', 80)")
    tie = events.app.run("events")
    DeltaTable(events.path).update(predicate="id = 1", updates={"amount": "11"})
    events.append("(9, '2025-01-14T00:00:00Z', 'd', 90)")
    rewritten = events.app.run("events")

    found = [report["events"] for report in (late, again, tie, rewritten)]
    assert [(each.status, each.version, each.rows.late) for each in found] == [
        ("unchanged", 0, 1),
        ("unchanged", 0, None),
        ("unchanged", 0, 1),
        ("unchanged", 0, None),
    ]
    assert again.plan.steps == ()
    assert mark(late) == mark(rewritten) == "TIMESTAMP 2025-01-16T12:00:00.000000Z"
    assert late["quiet"].rows.late is None
    assert events.ids("events") == [1, 2, 3, 4]


@pytest.mark.matrix
def test_late_rows_are_those_that_the_functions_between_let_through(place):
    place.source(1, 2, 3, 4)

    @place.app.model
    def clean(raw_logs):
        return raw_logs.where("user <> 'test'")

    @place.app.incremental_table(time_column="ts")
    def events(clean):
        return clean.select(*IDS)

    place.app.run()
    place.append("(7, '2025-01-14T00:00:00Z', 'd', 70)", "(8, '2025-01-14T00:00:00Z', 'test', 8)")
    place.append(5)
    report = place.app.run()

    assert (report["events"].rows.inserted, report["events"].rows.late) == (1, 1)


@pytest.mark.matrix
def test_the_zone_of_the_callers_session_moves_no_instant(place):
    abroad = place.spark.newSession()
    abroad.conf.set("spark.sql.session.timeZone", "Europe/Amsterdam")
    place.app = penstock.conf(root=place.root, spark=abroad)
    place.source()
    table(place)
    by_day(place, lookback=0)
    place.append("(1, '2025-10-26T00:30:00Z', 'a', 10)")

    first = place.app.run()
    place.append("(2, '2025-10-26T01:30:00Z', 'a', 20)")  # half past two, an hour later
    second = place.app.run()

    names = ("events", "events_d")
    assert [first[name].rows.inserted for name in names] == [1, 1]
    assert [place.ids(name) for name in names] == [[1, 2], [1, 2]]
    assert mark(second) == mark(second, "events_d") == "TIMESTAMP 2025-10-26T01:30:00.000000Z"
    assert abroad.conf.get("spark.sql.session.timeZone") == "Europe/Amsterdam"


@pytest.mark.matrix
def test_more_rows_of_the_last_day_are_ties(place):
    place.source(columns="id BIGINT, day DATE")
    place.append("(1, '2025-01-15')")

    def days(raw_logs):
        return raw_logs

    place.app.incremental_table(time_column="day", name="events")(days)
    place.app.incremental_table(time_column="day", lookback=0, name="again")(days)
    place.app.run()
    place.append("(2, '2025-01-15'), (3, '2025-01-16')")
    report = place.app.run()

    assert report["events"].rows.late == 1
    assert report["again"].rows.late == 0
    assert (place.ids("events"), place.ids("again")) == ([1, 3], [1, 2, 3])


@pytest.mark.matrix
def test_rows_without_a_time(place):
    place.source(1, 2, 3, 4)
    place.append("(7, NULL, 'd', 70)")
    table(place)
    table(place, "first", null_watermark="include_first")
    table(place, "dropped", null_watermark="drop_counted")
    by_day(place, null_watermark="include_first")

    error = refused(place.app)
    place.append("(8, NULL, 'd', 80)")
    later = place.app.run(select="first dropped events_d")

    first = error.report
    assert (error.code, error.sentence) == (
        "null-watermark",
        "column 'ts' of raw_logs is NULL in 1 rows that 'events' would read",
    )
    names = ("first", "events_d", "dropped")
    assert [first[name].rows.inserted for name in names] == [5, 5, 4]
    assert [first[name].rows.null_time for name in names] == [1, 1, 1]
    assert [later[name].rows.null_time for name in names] == [2, 2, 2]
    assert [mark(later, name) for name in names] == ["TIMESTAMP 2025-01-16T12:00:00.000000Z"] * 3
    assert [len(place.rows(name)) for name in names] == [5, 5, 4]
    assert (None, None) in place.rows("events_d", "ts, date")


@pytest.mark.matrix
def test_where_no_row_has_a_time(place):
    place.source()
    place.append("(7, NULL, 'd', 70)")
    table(place, "dropped", null_watermark="drop_counted")
    table(place, "first", null_watermark="include_first")

    report = place.app.run()
    place.append("(8, NULL, 'd', 80)")
    again = place.app.run()
    place.append(1)
    place.app.run()

    assert [report[name].version for name in ("dropped", "first")] == [0, 0]
    assert [each[name].watermarks for each in (report, again) for name in report] == [()] * 6
    assert (place.ids("dropped"), place.ids("first")) == ([1], [1, 7])


@pytest.mark.matrix
def test_types_that_carry_a_watermark(place):
    kinds = {
        "ntz": ("TIMESTAMP_NTZ", "'2025-01-15T10:00:00'", "'2025-01-15T10:00:00.000001'"),
        "decimal": ("DECIMAL(10,2)", "12.50", "12.51"),
        "wider": ("INT", "5", "6"),
        "text": ("STRING", "'a'", "'b'"),
    }
    paths = {name: f"{place.root}/landing/{name}" for name in kinds}
    for name, (kind, first, _) in kinds.items():
        delta_tables.create(paths[name], f"id BIGINT, n {kind}")
        delta_tables.append(paths[name], f"(1, {first})")

        @place.app.source(path=f"landing/{name}", name=f"{name}_in")
        def source(df):
            return df

    def declare(name, function, **options):
        place.app.incremental_table(time_column="n", name=name, **options)(function)

    declare("ntz", lambda ntz_in: ntz_in)
    declare("decimal", lambda decimal_in: decimal_in)
    declare("wider", lambda wider_in: wider_in.selectExpr("id", "bigint(n) n"))
    declare("text", lambda text_in: text_in, string_watermark=True)
    place.app.run()
    wide = place.spark.sql("SELECT 1L id, 5L n UNION ALL SELECT 2L, 6L").coalesce(1)
    wide.write.format("delta").mode("overwrite").option("overwriteSchema", True).save(
        paths["wider"]
    )
    for name, (_, _, then) in kinds.items():
        if name != "wider":
            delta_tables.append(paths[name], f"(2, {then})")
    report = place.app.run()

    assert {name: mark(report, name) for name in kinds} == {
        "ntz": "TIMESTAMP_NTZ 2025-01-15T10:00:00.000001",
        "decimal": "DECIMAL(10,2) 12.51",
        "wider": "BIGINT 6",
        "text": "STRING b",
    }
    assert [place.ids(name) for name in kinds] == [[1, 2]] * 4


@pytest.mark.matrix
def test_columns_that_the_output_lacks(place):
    place.source(1, 2, 3, 4)
    table(place, "without_time", time_column="timestamp", window_on={"raw_logs": "ts"})
    table(place, "without_any_time", time_column="timestamp")
    table(place, "without_part", partition_by="date")
    table(place, "without_key", unique_key="user")
    by_day(place, "by_date")

    @place.app.table(partition_by="land")
    def plain(raw_logs):
        return raw_logs

    @place.app.incremental_table(time_column="ts", partition_by="user")
    def by_user(raw_logs):
        return raw_logs

    error = refused(place.app)

    found = {name: each.error for name, each in error.report.items() if each.error}
    available = "available columns: id, ts, amount"
    assert {n: (e.code, e.hint) for n, e in found.items() if n not in ("plain", "by_user")} == {
        "without_time": ("time-column-missing", available),
        "without_any_time": ("time-column-missing", available),
        "without_part": ("partition-column-missing", available),
        "without_key": ("key-column-missing", available),
    }
    assert found["plain"].code == "partition-column-missing"
    assert (found["by_user"].code, found["by_user"].sentence, found["by_user"].hint) == (
        "no-date-partition",
        "'by_user' requires at least one DATE column in partition_by; it has user STRING",
        "add F.to_date('ts').alias('date') and partition_by=['user', 'date']",
    )
    assert error.report["by_date"].rows.inserted == 4


@pytest.mark.matrix
def test_an_input_that_shrank_and_a_time_to_come(events):
    events.app.run()
    DeltaTable(events.path).delete("id >= 3")
    shrunk = events.app.run()
    events.append("(9, '2099-01-01T00:00:00Z', 'd', 90)")
    ahead = events.app.run()

    assert (shrunk["events"].status, shrunk["events"].version) == ("unchanged", 0)
    [note] = shrunk["events"].notes
    assert note == (
        "input-behind-watermark: raw_logs.ts ends at 2025-01-15T18:00:00.000000Z, "
        "below the watermark 2025-01-16T12:00:00.000000Z"
    )
    [note] = ahead["events"].notes
    assert note == (
        "watermark-in-future: raw_logs.ts is 2099-01-01T00:00:00.000000Z; "
        "penstock watermark set events VALUE --column raw_logs.ts"
    )
    assert events.ids("events") == [1, 2, 3, 4, 9]


@pytest.mark.matrix
def test_cuts_in_time_give_the_rows_of_one_run(place):
    place.source(1, 2, 3, 4, 5, 6)
    table(place)
    for name in ("once", "cut"):
        options = {"time_column": "ts", "unique_key": "user", "name": name}

        @place.app.incremental_table(**options)
        def users(raw_logs):
            return raw_logs.select("user", "ts", "amount")

    first = place.app.run(select="raw_logs events cut", as_of="2025-01-16T10:00:00")
    early = place.ids("events")
    place.app.run()

    assert mark(first) == "TIMESTAMP 2025-01-16T09:00:00.000000Z"
    assert (early, place.ids("events")) == ([1, 2, 3], [1, 2, 3, 4, 5, 6])
    assert place.rows("cut", "user, amount") == [("a", 60), ("b", 50), ("c", 40)]
    assert place.rows("once") == place.rows("cut")


@pytest.mark.matrix
def test_another_time_column_asks_for_a_full_refresh(place):
    place.source()
    delta_tables.create(f"{place.root}/landing/times", "id INT, ts DATE, made DATE")
    delta_tables.append(f"{place.root}/landing/times", "(1, '2025-01-15', '2025-01-16')")

    @place.app.source(path="landing/times")
    def times(df):
        return df

    def rows(times):
        return times

    def declare(column, on=None):
        options = {"window_on": {"times": on}} if on else {}
        place.app = type(place.app)(place.root, spark=place.spark)
        place.app.source(path="landing/times")(times.function)
        place.app.incremental_table(time_column=column, name="events", **options)(rows)

    declare("ts")
    place.app.run()
    declare("made")
    changed = refused(place.app)
    declare("ts", on="made")
    moved = refused(place.app)
    declare("made")
    place.app.run(full_refresh=True)
    delta_tables.append(f"{place.root}/landing/times", "(2, '2025-01-14', '2025-01-17')")
    report = place.app.run()

    assert [changed.code, moved.code] == ["time-column-changed"] * 2
    assert changed.sentence == "the watermark of times is on 'ts', the code says 'made'"
    assert mark(report) == "DATE 2025-01-17"
    assert place.ids("events") == [1, 2]


@pytest.mark.matrix
def test_an_input_of_another_name_has_no_watermark(events):
    from penstock.app.commands.state import set_watermark

    @events.app.incremental_table(time_column="ts", unique_key="id")
    def keyed(raw_logs):
        return raw_logs.select(*IDS)

    events.app.run()
    events.app = type(events.app)(events.root, spark=events.spark)

    @events.app.source(path="landing/raw_logs")
    def logs(df):
        return df

    for name, options in (("events", {}), ("keyed", {"unique_key": "id"})):

        @events.app.incremental_table(time_column="ts", name=name, **options)
        def made(logs):
            return logs.select(*IDS)

    error = refused(events.app)
    with events.app.opened() as services:
        set_watermark(services, "events", "2025-01-16T12:00:00", column="logs.ts")
    again = events.app.run()

    assert (error.code, error.hint) == (
        "new-windowed-input",
        "--full-refresh, or penstock watermark set events VALUE --column logs.ts",
    )
    assert str(error.report["keyed"].windows[0].window).startswith("(-∞")
    assert error.report["keyed"].status == "unchanged"
    assert again["events"].rows.inserted == 0
    assert (events.ids("events"), events.ids("keyed")) == ([1, 2, 3, 4], [1, 2, 3, 4])


@pytest.mark.matrix
def test_rows_of_days_that_are_there_and_of_new_ones_are_added(place):
    place.source(1, 2, 3)
    by_day(place)
    place.app.run()
    first = DeltaTable(place.uri("events_d")).partitions()
    place.append(4, 6)
    place.app.run()

    found = place.rows("events_d", "day(date), id")
    assert (len(first), len(DeltaTable(place.uri("events_d")).partitions())) == (2, 3)
    assert found == [(15, 1), (15, 2), (16, 3), (16, 4), (17, 6)]


@pytest.mark.matrix
def test_rows_of_another_hour_stand_beside_or_take_the_place(place):
    shown = [(1, 2)]

    @place.app.source
    def raw_logs():
        hour = 9 + len(shown)
        rows = ", ".join(f"({n}, '2025-01-15T{hour}:00:00Z')" for n in shown[-1])
        return place.spark.sql(
            "SELECT id, CAST(ts AS TIMESTAMP) ts, 'a' user, 1L amount "
            f"FROM VALUES {rows} AS t(id, ts)"
        )

    by_day(place, "added")
    by_day(place, "replaced", partition_mode="overwrite")
    place.app.run()
    shown.append((3, 4))
    place.app.run()

    assert place.ids("added") == [1, 2, 3, 4]
    assert place.ids("replaced") == [3, 4]


@pytest.mark.matrix
def test_a_day_that_became_empty_is_cleared(place):
    place.source()
    first = ["(1, '2025-01-15T10:00:00Z', 'a', 1)", "(2, '2025-01-15T11:00:00Z', 'a', 1)"]
    place.append(*first, "(3, '2025-01-16T10:00:00Z', 'a', 1)")
    by_day(place, partition_mode="overwrite")
    place.app.run()
    lying = {path for path in DeltaTable(place.uri("events_d")).file_uris() if "01-15" in path}
    delta_tables.overwrite(place.path, ", ".join([*first, "(4, '2025-01-16T12:00:00Z', 'a', 1)"]))

    changed = place.app.run()
    then = place.ids("events_d")
    delta_tables.overwrite(place.path, ", ".join(first))
    gone = place.app.run()

    assert (then, place.ids("events_d")) == ([1, 2, 4], [1, 2])
    assert window(gone, "events_d") == "[2025-01-16T00:00, 2025-01-16T12:00]"
    assert mark(changed, "events_d") == mark(gone, "events_d")
    assert set(DeltaTable(place.uri("events_d")).file_uris()) == lying
