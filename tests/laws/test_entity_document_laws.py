"""Whatever a document of entities says, loading gives entities or findings with places."""

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock.strategies.registry  # noqa: F401  strategies are found by their words
from fakes.entity_files import KEY, WATERMARK, document, entity
from penstock.core.errors import ProjectError
from penstock.project.load import load_project

pytestmark = pytest.mark.laws
WHOLE = json.loads(
    document(
        entity(
            columns=[KEY, {"name": "c", "expression": "upper(x)", "fieldroles": ["partition"]}],
            watermark=[{**WATERMARK, "operation_group": 1}],
            transformations=["*", {"column": "x", "expression": "id + 1"}],
            settings={"table_properties": {"a": "b"}, "retention": {"keep_last": 1}},
            checks=[{"type": "row_count", "min": 1}],
            tags=["a"],
            meta={"a": "b"},
        ),
        entity(2, "y"),
    )
)
TEXTS = st.text(max_size=8) | st.sampled_from(["${today}", "${", "..", "'", "a.b", "uuid()", "x"])
SCALARS = st.none() | st.booleans() | st.integers() | TEXTS
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(TEXTS, SCALARS, max_size=2)


def paths(tree, at=()):
    yield at
    inside = tree.items() if isinstance(tree, dict) else ()
    inside = enumerate(tree) if isinstance(tree, list) else inside
    for key, value in inside:
        yield from paths(value, (*at, key))


PLACES = [each for each in paths(WHOLE) if each]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_any_value_anywhere_is_an_entity_or_a_finding(tmp_path, changes):
    tree = copy.deepcopy(WHOLE)
    for path, value in changes:
        put(tree, path, value)
    folder = tmp_path / "entities"
    folder.mkdir(exist_ok=True)
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    (folder / "x.json").write_text(json.dumps(tree, indent=1))

    try:
        findings = load_project(tmp_path, environ={}, use_cache=False).findings
    except ProjectError as error:
        findings = error.findings

    assert {each.where.path for each in findings} <= {"entities/x.json"}
    assert all(each.where.column for each in findings)


def put(tree, path, value):
    *above, last = path
    with suppress(KeyError, IndexError, TypeError):  # an earlier change took the place away
        for key in above:
            tree = tree[key]
        tree[last] = value
