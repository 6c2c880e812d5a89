"""Whatever happens to a project: what is called current is right, and a run and a sync mend all.

Stories of deliveries, late rows, edits, foreign commits, failures, partial commands and `--as-of`,
told over tables of rows and held against an oracle that knows no penstock.
"""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.clock import FixedClock
from fakes.story_place import HABITS, NOON, Story, write_story
from fakes.story_rows import READS
from fakes.story_tables import RowTables

STORIES = 12 if settings.default.derandomize else 200  # the gate takes a sample
MODELS = tuple(READS)
TABLES = (*READS, "seen")
EVENTS = st.tuples(st.integers(1, 4), st.integers(0, 9), st.integers(0, 96))
NAMES = st.lists(st.sampled_from(TABLES), max_size=3, unique=True).map(tuple)
DAYS = st.integers(0, 3)
DEEDS = st.one_of(
    st.tuples(st.just("deliver"), st.lists(EVENTS, min_size=1, max_size=4)),
    st.tuples(st.just("run"), NAMES, DAYS),
    st.tuples(st.just("run"), st.just(()), DAYS),
    st.tuples(st.just("sync"), NAMES, st.booleans(), DAYS),
    st.tuples(st.just("edit"), st.integers(0, 2)),
    st.tuples(st.just("meddle"), st.sampled_from(MODELS)),
    st.tuples(st.just("fail"), st.sampled_from(MODELS)),
    st.tuples(st.just("tomorrow")),
)


@settings(max_examples=STORIES)
@given(st.sampled_from(HABITS), st.lists(DEEDS, min_size=3, max_size=14))
def test_what_is_called_current_is_right_and_a_run_and_a_sync_mend_everything(habit, deeds):
    with tempfile.TemporaryDirectory() as folder:
        story = a_story(Path(folder))
        story.deliver((1, 1, 1))

        for deed in deeds:
            story.tell(deed, habit)
            assert story.complaints() == [], deed

        story.end()

        assert story.states() == {}
        assert story.complaints() == []
        assert story.left() == []


@settings(max_examples=STORIES)
@given(st.lists(DEEDS, min_size=1, max_size=6), DAYS)
def test_a_plan_right_after_a_run_as_of_the_same_time_is_empty(deeds, days):
    with tempfile.TemporaryDirectory() as folder:
        story = a_story(Path(folder))
        story.deliver((1, 1, 1))
        for deed in deeds:
            story.tell(deed, "sometimes")
        story.tables.fail("")
        as_of = story.ago(days)

        story.run(as_of=as_of)

        assert story.runs_left(as_of) == []


def a_story(root):
    write_story(root)
    clock = FixedClock(NOON)
    return Story(root, RowTables(root, clock), clock)
