"""An older state is put back, and since it was copied another table took a table's place."""

from dataclasses import replace

from fakes.clock import FixedClock
from fakes.story_place import NOON, Story, write_story
from fakes.story_tables import RowTables
from penstock.app.execution.recover import recover

DAILY = "warehouse/m/daily"


def test_partitions_of_the_table_that_is_gone_are_not_taken_for_those_of_the_new_one(tmp_path):
    write_story(tmp_path)
    clock = FixedClock(NOON)
    story = Story(tmp_path, RowTables(tmp_path, clock), clock)
    story.deliver((1, 1, 1), (2, 2, 30), (3, 3, 50))
    story.sync(everything=True)
    store = story.tables.services(anew=False).writing
    old = store.archive.export()
    del story.tables.lake.tables[f"{tmp_path}/{DAILY}"]
    for value in (4, 5, 6):  # so that the new table's versions pass those of the old one
        story.deliver((3, value, 50))
        story.run("daily")
    table = story.tables.lake.tables[f"{tmp_path}/{DAILY}"]
    table.commits[:] = [replace(commit, time=clock.now()) for commit in table.commits]
    store.archive.load(old)

    recover(story.tables.services(anew=False))

    assert story.states()["daily"] == ["missing ('its rows are gone',)"]
    assert story.complaints() == []
    story.end()
    assert (story.states(), story.complaints()) == ({}, [])
