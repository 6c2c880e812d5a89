"""`--as-of`: a run as of an earlier day records what it read, and the next one finds the rest."""

import datetime as dt

import pytest

from fakes.clock import FixedClock
from fakes.story_place import NOON, Story, write_story
from fakes.story_tables import RowTables
from penstock.core.steps.inputs import DeltaPin

MARCH = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)


@pytest.fixture
def story(tmp_path):
    """One event of the first of March and one of the second; now is the third."""
    write_story(tmp_path)
    clock = FixedClock(NOON)
    story = Story(tmp_path, RowTables(tmp_path, clock), clock)
    story.deliver((1, 10, 5), (2, 20, 30))
    return story


def ids(story, model="log"):
    return [row["id"] for row in story.tables.rows(model)]


def hour(number):
    return MARCH + dt.timedelta(hours=number)


def record(story, model="log"):
    return story.tables.services(anew=False).reading.records.models()[model]


def test_a_run_as_of_an_earlier_time_keeps_its_pins_and_where_it_was_cut(story):
    story.run(as_of=hour(12))

    found = record(story)
    assert ids(story) == [1]
    assert found.pins == {"raw.events": DeltaPin("id-1", 0)}
    assert (found.cut_at, str(found.watermarks[0].value)) == (
        hour(12),
        "TIMESTAMP 2024-03-01T05:00:00.000000Z",
    )


def test_a_run_that_leaves_rows_says_so(story):
    report = story.run(as_of=hour(12))

    assert report["log"].notes == ("rows after 2024-03-01 12:00:00 are left to a later run",)


def test_the_next_run_without_it_reads_what_was_left_of_the_same_version(story):
    story.run(as_of=hour(12))

    report = story.run()

    assert report["log"].reason == "source_changed: read up to 2024-03-01 12:00:00 only"
    assert ids(story) == [1, 2]
    assert record(story).cut_at is None
    assert story.runs_left() == []


@pytest.mark.parametrize("number", [1, 12, 30, 31])
def test_a_plan_as_of_the_same_time_is_empty(story, number):
    story.run(as_of=hour(number))

    assert story.runs_left(hour(number)) == []


def test_a_time_after_all_rows_cuts_nothing_off(story):
    story.run(as_of=hour(31))

    assert record(story).cut_at is None
    assert [each for each in story.runs_left() if "log" in each] == []


def test_a_time_before_the_watermark_reads_nothing_and_loses_nothing(story):
    story.run()
    story.deliver((3, 30, 29), (4, 40, 31))

    early = story.run(as_of=hour(12))
    late = story.run()

    assert (early["log"].status, early["log"].rows.late) == ("unchanged", 1)
    assert (late["log"].rows.written, late["log"].rows.late) == (1, 0)
    assert ids(story) == [1, 2, 4]


def test_a_lookback_window_of_a_time_before_the_watermark_is_empty(story):
    story.run()
    story.deliver((3, 30, 29), (4, 40, 31))

    early = story.run(as_of=hour(12))
    story.run()

    assert early["last"].status == "unchanged"
    assert early["last"].windows[0].window.is_empty
    assert sorted(ids(story, "last")) == [1, 2, 3, 4]


@pytest.mark.parametrize("habit", ["always", "sometimes", "never"])
def test_a_change_below_the_watermark_is_seen_whatever_the_habit(story, habit):
    story.run(**({"as_of": hour(40)} if habit != "never" else {}))
    story.deliver((3, 30, 29))
    story.run("log", full_refresh=True)

    states = story.states()["again"]
    story.run(**({"as_of": hour(41)} if habit == "always" else {}))

    assert states == ["upstream_changed ('log',)"]
    assert story.states()["again"] == ["upstream_changed ('log',)"]
    story.sync(everything=True, cascade=True)
    assert (story.states(), sorted(ids(story, "again"))) == ({}, [1, 2, 3])


def test_a_later_time_moves_the_cut_where_nothing_lies_between(story):
    story.run(as_of=hour(12))
    story.run(as_of=hour(12))

    assert story.run(as_of=hour(29))["log"].status == "unchanged"
    assert record(story).cut_at == hour(29)


def test_a_full_refresh_as_of_an_earlier_time_is_finished_by_the_next_run(story):
    story.run()

    story.run("log", full_refresh=True, as_of=hour(12))
    cut = ids(story)
    story.run("log")

    assert (cut, ids(story)) == ([1], [1, 2])


def test_what_a_run_passes_by_stays_drift_until_everything_is_read(story):
    story.run()
    story.tables.meddle("log")

    first = story.run()
    second = story.run()

    assert "rows that others changed stay as they are" in first["log"].notes[0]
    assert second.plan.is_empty
    assert second.notes[1] == (
        "log: version 1 DELETE at 2024-03-01 00:00:01 UTC; rows that others changed stay as they "
        "are; penstock sync --select log rebuilds it, penstock accept log --reason TEXT keeps "
        "them"
    )
    told = "tampered ('version 1 DELETE at 2024-03-01 00:00:01 UTC',)"
    assert story.states()["log"] == [told]
    story.sync(everything=True, cascade=True)
    assert (story.states(), story.complaints()) == ({}, [])


def test_a_view_between_two_tables_hides_no_change(story):
    story.run()
    story.deliver((3, 30, 29))
    story.run("log", full_refresh=True)

    assert story.states()["through"] == ["upstream_changed ('seen',)"]
