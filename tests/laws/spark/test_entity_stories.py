"""Any history of an entity ends as plain Python says: rows, slices, watermarks, counts."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.entity_story import KINDS, EntityStory

ROWS = st.dictionaries(
    st.integers(1, 5),
    st.tuples(
        st.sampled_from([None, 1, 2, 3, 4, 5, 6]),
        st.sampled_from([None, "", "a", "b"]),
        st.sampled_from([None, False, False, True]),
    ),
    max_size=4,
)
OFTEN = ("deliver", "deliver", "deliver", "run", "run", "killed", "roll back", "lose state")
SELDOM = ("named", "anew", "backdated", "killed anew", "remove", "skip", "lose table", "optimize")
OF_STATE = ("keep state", "put back", "move")
DEED = st.tuples(
    st.sampled_from([*OFTEN, *SELDOM, *OF_STATE]),
    st.sampled_from("abcde"),
    st.integers(0, 9),
    ROWS,
)


@pytest.mark.matrix
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(sorted(KINDS)), first=ROWS, deeds=st.lists(DEED, max_size=8))
def test_no_history_of_slices_loses_or_doubles_anything(spark, kind, first, deeds):
    with TemporaryDirectory() as folder:
        story = EntityStory(Path(folder) / "lake", spark, kind)
        story.deliver("c", first)
        story.run()
        for deed in deeds:
            story.does(*deed)
        story.run()
