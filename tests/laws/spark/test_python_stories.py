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
    ("crash", "after-commit", "ranged", "run", 0),
    ("run",),
    ("drop", 2),
    ("crash", "before-commit", "added", "rerun", 10),
    ("rerun", "keyed", 24, 24),
    ("full", "added"),
]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("stories")


@settings(
    max_examples=60,
    phases=tuple(Phase) if deep else (Phase.explicit,),
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
@example(deeds=SAMPLE)
@given(deeds=st.lists(DEEDS, min_size=3, max_size=10))
def test_tables_hold_what_the_reference_says_after_each_thing(spark, scratch, deeds):
    story = PythonStory(scratch / str(next(COUNTER)), spark)
    for word, *rest in deeds:
        match word:
            case "deliver":
                story.deliver(*rest[0])
            case "drop":
                story.drop(*rest)
            case "run":
                story.run()
            case "rerun":
                story.rerun(*rest)
            case "full":
                story.full_refresh(*rest)
            case "crash":
                story.crash(*rest)
        assert story.complaints() == [], (word, rest)
    story.run()

    assert story.complaints() == []
    assert story.marks() == story.reference.marks
