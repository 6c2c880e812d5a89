"""Somebody else commits to a table while a step of it runs: it is mended or told, never hidden."""

import pytest

from fakes.clock import FixedClock
from fakes.story_place import NOON, Story, write_story
from fakes.story_tables import RowTables

MODELS = ("log", "last", "sums", "daily")
POINTS = (
    *("after-begin", "during-staging", "before-commit", "at-statement"),
    *("after-commit", "after-finish"),
)


def deleted(rows):
    return rows[1:]


def doubled(rows):
    return (*rows, rows[0])


def with_another(rows):
    return (*rows, (99, *rows[0][1:]))


def updated(rows):
    key, value, *rest = rows[0]
    return ((key, value + 1, *rest), *rows[1:])


DEEDS = (deleted, doubled, with_another, updated)
GATE = (
    ("log", doubled, "at-statement"),
    ("last", deleted, "after-begin"),
    ("last", with_another, "before-commit"),
    ("daily", updated, "after-commit"),
)
CELLS = [(model, deed, point) for model in MODELS for deed in DEEDS for point in POINTS]


class Meddling:
    """A story in whose next command somebody changes each table at a point of its step."""

    def __init__(self, root):
        write_story(root)
        clock = FixedClock(NOON)
        self.root, self.tables = root, RowTables(root, clock)
        self.story = Story(root, self.tables, clock)
        self.story.deliver((1, 10, 1), (2, 20, 30))
        self.story.sync(everything=True)
        self.story.run()
        self.story.deliver((3, 30, 31))

    def change(self, model, deed):
        uri = f"{self.root}/warehouse/m/{model}"
        table = self.tables.lake.tables[uri]
        operation = "WRITE" if deed in (doubled, with_another) else "UPDATE"
        rows = deed(tuple(table.rows))
        if model in ("sums", "daily") and deed is with_another:
            rows = (*table.rows, table.rows[-1])
        self.tables.lake.write(uri, table.names, rows, operation=operation)

    def attack(self, model, point, deed, command):
        left = [1]

        def fault(passed):
            if passed == point and left[0]:
                left[0] -= 1
                self.change(model, deed)

        self.tables.fault = fault
        report = command(model)
        self.tables.fault = None
        return report


@pytest.mark.parametrize(
    ("model", "deed", "point"),
    [pytest.param(*cell, marks=() if cell in GATE else pytest.mark.matrix) for cell in CELLS],
)
def test_what_others_changed_in_the_midst_of_a_step_is_told_until_sync_mends_it(
    tmp_path, model, deed, point
):
    place = Meddling(tmp_path)
    command = place.story.sync if model == "daily" else place.story.run

    place.attack(model, point, deed, command)

    assert place.story.complaints() == []
    place.story.run()
    assert place.story.complaints() == []
    place.story.end()
    assert (place.story.states(), place.story.complaints()) == ({}, [])
