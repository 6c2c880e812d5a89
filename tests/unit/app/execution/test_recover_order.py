"""An older state is put back; what it forgot is recorded in the order of each table's versions."""

import datetime as dt
from dataclasses import replace

from fakes.clock import FixedClock
from fakes.story_place import NOON, Story, write_story
from fakes.story_tables import RowTables


def test_a_clock_that_was_set_back_takes_no_watermark_back_and_doubles_no_row(tmp_path):
    write_story(tmp_path)
    clock = FixedClock(NOON)
    story = Story(tmp_path, RowTables(tmp_path, clock), clock)
    store = story.tables.services(anew=True).writing
    story.deliver((1, 1, 1))
    story.run("log")
    old = store.archive.export()
    for hour in (3, 4):
        story.deliver((hour, hour, hour))
        story.run("log")
    commits = story.tables.lake.tables[f"{tmp_path}/warehouse/m/log"].commits
    for version, hours in ((1, 0), (2, -1)):
        commits[version] = replace(commits[version], time=clock.now() + dt.timedelta(hours=hours))
    store.archive.load(old)

    story.run("log")

    (watermark,) = store.records.models()["log"].watermarks
    assert str(watermark.value) == "TIMESTAMP 2024-03-01T04:00:00.000000Z"
    assert sorted(row["id"] for row in story.tables.rows("log")) == [1, 3, 4]
    assert store.records.models()["log"].settled_version == 2
    assert story.run("log").plan.is_empty
