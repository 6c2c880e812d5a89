"""What reads of an incremental table only what is new in it."""

import textwrap

import pytest

import penstock
from fakes.command import kill_at
from penstock.project.files.discovery import PROJECT_FILE


@pytest.mark.matrix
def test_a_table_of_what_is_new_holds_that_alone(events):
    @events.app.table(delta=["events"])
    def newest(events):
        return events

    @events.app.incremental_table(time_column="ts", delta=["events"])
    def kept(events, raw_logs):
        return events.join(raw_logs.select("id", "user"), "id")

    events.app.run()
    first = (events.ids("newest"), events.ids("kept"))
    events.append(5, 6)
    report = events.app.run()
    second = (events.ids("newest"), events.ids("kept"))
    again = events.app.run(["newest", "kept"])["newest"]
    events.app.run("newest", full_refresh=True)

    assert first == ([1, 2, 3, 4], [1, 2, 3, 4])
    assert second == ([5, 6], [1, 2, 3, 4, 5, 6])
    (window,) = report["newest"].windows
    shown = "(2025-01-16T12:00:00.000000Z, 2025-01-17T10:00:00.000000Z]"
    assert (window.input, str(window.window)) == ("events", shown)
    assert again.status == "unchanged"
    assert events.ids("newest") == [1, 2, 3, 4, 5, 6]


@pytest.mark.matrix
def test_rows_of_others_in_a_table_of_what_is_new_are_told_until_it_is_made_anew(place):
    place.source(1, 2, 3, 4)
    (place.root / "models").mkdir()
    (place.root / PROJECT_FILE).write_text("name: main\n")
    (place.root / "models" / "pipeline.py").write_text(textwrap.dedent(PIPELINE))
    penstock.run(place.root, spark=place.spark)
    stranger = place.spark.newSession()
    row = "9, TIMESTAMP'2025-01-15T10:00:00Z', CAST(9 AS BIGINT)"
    stranger.sql(f"INSERT INTO {place.table('newest')} SELECT {row}")

    seen = []
    for _ in range(2):
        penstock.run(place.root, spark=place.spark)
        [newest] = (m for m in penstock.status(place.root).models if m.model == "newest")
        seen.append([str(each.state) for each in newest.states])
    kept = place.ids("newest")
    penstock.sync(place.root, spark=place.spark)

    assert seen == [["tampered"], ["tampered"]]
    assert kept == [1, 2, 3, 4, 9]
    assert place.ids("newest") == [1, 2, 3, 4]
    assert penstock.status(place.root).drifted == 0


PIPELINE = """
from penstock import incremental_table, source, table

@source(path="landing/raw_logs")
def raw_logs(df):
    return df

@incremental_table(time_column="ts")
def events(raw_logs):
    return raw_logs.select("id", "ts", "amount")

@table(delta=["events"])
def newest(events):
    return events
"""


@pytest.mark.matrix
def test_a_kill_between_a_table_and_its_reader_loses_nothing(place):
    place.source(1, 2, 3, 4)
    (place.root / "models").mkdir()
    (place.root / PROJECT_FILE).write_text("name: main\n")
    (place.root / "models" / "pipeline.py").write_text(textwrap.dedent(PIPELINE))
    penstock.run(place.root, spark=place.spark)
    place.append(5, 6)

    kill_at("after-finish", place.root, "run", spark=place.spark)
    between = (place.ids("events"), place.ids("newest"))
    report = penstock.run(place.root, spark=place.spark)

    assert between == ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4])
    assert report["newest"].status == "success"
    assert place.ids("newest") == [5, 6]
