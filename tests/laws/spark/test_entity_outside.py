"""Entities against a second opinion that shares no code with penstock, and both against cases
that were worked out by hand.
"""

from pathlib import Path

import pytest

from fakes import outside_entity
from fakes.outside_story import OutsideStory

STORIES, ROUNDS = 40, 5


@pytest.mark.parametrize("seed", [1, 3])
def test_a_sample_of_stories_ends_as_the_second_opinion_says(spark, tmp_path, seed):
    OutsideStory(tmp_path / "s", spark, seed).tell(3)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(STORIES))
def test_a_random_story_ends_as_the_second_opinion_says(spark, tmp_path, seed):
    OutsideStory(tmp_path / "s", spark, seed).tell(ROUNDS)


def test_the_second_opinion_imports_nothing_of_penstock():
    assert "penstock." not in Path(outside_entity.__file__).read_text(encoding="utf-8")
