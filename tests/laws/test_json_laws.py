"""The reader of JSON with places reads what every reader of JSON reads, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.project.files.documents import read_json

pytestmark = pytest.mark.laws
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers() | NUMBERS | st.text()
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(TREES, st.booleans())
def test_what_json_writes_is_read_as_json_reads_it(tree, is_ascii):
    text = json.dumps(tree, ensure_ascii=is_ascii, indent=1)

    file = read_json("a.json", text)

    assert (file.tree, file.findings) == (json.loads(text), ())


@given(st.text(alphabet='{}[]",:01.-etrufalsn \n\t\\'))
def test_what_json_refuses_is_a_finding_and_what_it_reads_is_none(text):
    file = read_json("a.json", text)

    codes = {each.code for each in file.findings}
    try:
        expected = json.loads(text)
    except ValueError:
        assert "json-syntax" in codes
    else:
        assert codes <= {"duplicate-key"}
        assert codes or file.tree == expected
