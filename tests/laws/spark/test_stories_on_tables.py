"""The law of stories on Delta tables: what is called current is right, and all can be mended.

The stories are those of test_story_laws.py; each number is one of them, the same at every run.
"""

import random

import pytest

from fakes.clock import FixedClock
from fakes.story_place import HABITS, NOON, Story, write_story
from fakes.story_rows import READS
from fakes.story_tables import DeltaTables

MODELS = tuple(READS)
NUMBERS = range(20)
DEEDS = 6


def events(dice):
    """Give some events; the later their place in the story the later most of them are."""
    return [
        (dice.randint(1, 4), dice.randint(0, 9), dice.randint(0, 96))
        for _ in range(dice.randint(1, 3))
    ]


def deed(dice):
    """Give one thing that happens."""
    some = tuple(dice.sample(MODELS, dice.choice((0, 0, 1, 2))))
    return dice.choice(
        [
            ("deliver", events(dice)),
            ("deliver", events(dice)),
            ("run", some, dice.randint(0, 3)),
            ("run", (), dice.randint(0, 3)),
            ("sync", some, dice.random() < 0.5, dice.randint(0, 3)),
            ("edit", dice.randint(1, 2)),
            ("meddle", dice.choice(MODELS)),
            ("tomorrow",),
        ]
    )


def check(root, spark, number, deeds=DEEDS):
    dice = random.Random(number)  # noqa: S311  # a story, no secret
    write_story(root)
    clock = FixedClock(NOON)
    story = Story(root, DeltaTables(root, clock, spark), clock)
    habit = HABITS[number % 3]
    story.deliver((1, 1, 1))
    story.tell(("run", (), dice.randint(0, 2)), habit)
    for _ in range(deeds):
        told = deed(dice)
        story.tell(told, habit)
        if told[0] in {"run", "sync", "meddle"}:
            assert story.complaints() == [], told

    story.end()

    assert story.states() == {}
    assert story.complaints() == []
    assert story.left() == []


@pytest.mark.matrix
def test_what_is_called_current_is_right_on_delta_tables(tmp_path, spark):
    check(tmp_path, spark, 2, deeds=3)  # a delivery, a foreign commit, a sync of a part


@pytest.mark.matrix
@pytest.mark.parametrize("number", NUMBERS)
def test_twenty_stories_on_delta_tables(tmp_path, spark, number):
    check(tmp_path, spark, number)
