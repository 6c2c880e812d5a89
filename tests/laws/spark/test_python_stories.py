"""Whatever happens to Python tables, after each thing they hold what the plain reference says.

Deliveries in and out of time order, rows that vanish, runs, reruns, full refreshes and crashes.
"""

import itertools

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from fakes.oracle_python import TABLES
from fakes.python_story import PythonStory

deep = settings.default.max_examples > 100
COUNTER = itertools.count()
HOURS = st.integers(0, 96)
NAMES = st.sampled_from(TABLES)
POINTS = ("after-begin", "before-commit", "after-commit", "after-finish")
DEEDS = st.one_of(
    st.tuples(
        st.just("deliver"),
        st.lists(st.tuples(HOURS, st.sampled_from("abc")), min_size=1, max_size=4),
    ),
    st.tuples(st.just("drop"), st.integers(1, 6)),
    st.tuples(st.just("run")),
    st.tuples(st.just("rerun"), NAMES, HOURS, st.integers(0, 48)),
    st.tuples(st.just("full"), NAMES),
    st.tuples(
        st.just("crash"),
        st.sampled_from(POINTS),
        NAMES,
        st.sampled_from(("run", "full", "rerun")),
        HOURS,
    ),
)
SAMPLE = [
    ("deliver", [(10, "a"), (33, "b")]),
    ("run",),
    ("deliver", [(12, "a"), (58, "c"), (33, "b")]),
    ("crash", "after-commit", "added", "run", 0),
    ("rerun", "added", 50, 10),
]
STORIES = {
    "a crash in every strategy": [
        ("deliver", [(10, "a"), (33, "b")]),
        ("run",),
        ("deliver", [(12, "a"), (58, "c"), (33, "b")]),
        ("crash", "after-commit", "ranged", "run", 0),
        ("run",),
        ("drop", 2),
        ("crash", "before-commit", "added", "rerun", 10),
        ("rerun", "keyed", 24, 24),
        ("crash", "after-commit", "keyed", "full", 0),
        ("full", "added"),
    ],
    "a crash in the first run": [
        ("deliver", [(10, "a"), (33, "b")]),
        ("crash", "after-commit", "keyed", "run", 0),
        ("rerun", "keyed", 0, 12),
    ],
    "an empty source": [
        ("run",),
        ("rerun", "ranged", 0, 12),
        ("deliver", [(10, "a"), (10, "a"), (9, "c")]),
        ("run",),
        ("drop", 1),
        ("drop", 2),
        ("drop", 3),
        ("run",),
        ("full", "added"),
        ("full", "keyed"),
        ("full", "ranged"),
        ("run",),
        ("deliver", [(5, "b")]),
    ],
}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("stories")


@pytest.mark.matrix
@settings(
    max_examples=40,
    phases=tuple(Phase) if deep else (Phase.explicit,),
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
@example(deeds=SAMPLE)
@given(deeds=st.lists(DEEDS, min_size=3, max_size=10))
def test_tables_hold_what_the_reference_says_after_each_thing(spark, scratch, deeds):
    check(PythonStory(scratch / str(next(COUNTER)), spark), deeds)


@pytest.mark.matrix
@pytest.mark.parametrize("name", STORIES)
def test_stories_that_once_went_wrong_or_might(spark, tmp_path, name):
    check(PythonStory(tmp_path, spark), STORIES[name])


def check(story, deeds):
    deed = {
        "deliver": lambda rows: story.deliver(*rows),
        "drop": story.drop,
        "run": story.run,
        "rerun": story.rerun,
        "full": story.full_refresh,
        "crash": story.crash,
    }
    for word, *rest in deeds:
        deed[word](*rest)
        assert story.complaints() == [], (word, rest)
    story.run()

    assert story.complaints() == []
    assert story.marks() == story.reference.marks
