"""A cascade that stopped half way is taken up by the same command."""

import pytest

from fakes.clock import FixedClock
from fakes.story_place import NOON, Story, write_story
from fakes.story_tables import RowTables


@pytest.fixture
def story(tmp_path):
    """Everything built of one event on the second of March, whose day then gets another."""
    write_story(tmp_path)
    clock = FixedClock(NOON)
    story = Story(tmp_path, RowTables(tmp_path, clock), clock)
    story.deliver((1, 10, 30))
    story.run()
    story.sync(everything=True, cascade=True)
    story.deliver((2, 20, 31))
    return story


def statuses(report):
    done = (each for each in report.results if each.status != "unchanged")
    return [(each.name, each.partitions, each.status) for each in done]


def test_a_failed_downstream_partition_is_built_by_the_same_command(story):
    story.tables.lake.broken.add("three")
    first = story.sync("daily", cascade=True)

    again = story.sync("daily", cascade=True)

    day, both = (("2024-03-02", "2024-03-02"),), (("2024-03-02", "2024-03-03"),)
    assert statuses(first) == [("daily", day, "success"), ("three", both, "failed")]
    assert first.resume == "penstock sync --select daily --cascade --yes"
    assert statuses(again) == [("three", both, "success")]
    assert story.tables.rows("three")[-1] == {"day": "2024-03-03", "total": 30}


def test_a_downstream_table_that_failed_is_built_by_the_same_command(story):
    story.run("log again")
    story.tables.lake.broken.add("sums")
    story.run("sums")
    story.tables.lake.broken.add("sums")
    first = story.sync("again", cascade=True, full_refresh=True)

    again = story.sync("again", cascade=True)

    assert statuses(first)[-1] == ("sums", (("*", "*"),), "failed")
    assert statuses(again) == [("sums", (("*", "*"),), "success")]


def test_what_else_drifted_below_is_named_with_its_command(tmp_path):
    write_story(tmp_path)
    clock = FixedClock(NOON)
    story = Story(tmp_path, RowTables(tmp_path, clock), clock)
    story.deliver((1, 10, 30))
    story.sync("daily")

    report = story.sync("daily", cascade=True)

    assert statuses(report) == []
    assert report.preview.lines == (
        "drifted below what is selected: three; penstock sync --select 'three'",
    )


def test_without_a_cascade_nothing_below_is_run(story):
    story.tables.lake.broken.add("three")
    story.sync("daily", cascade=True)

    assert story.sync("daily").plan.is_empty
