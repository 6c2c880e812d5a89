"""Whatever a session file says, loading gives a package or findings with places."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock.strategies.registry  # noqa: F401  strategies are found by their words
from fakes.session_files import source
from penstock.core.errors import ProjectError
from penstock.project.load import load_project
from penstock.project.sessions.sections import PackageSection
from penstock.project.sessions.variables import ALIASES

pytestmark = pytest.mark.laws
WORDS = ("raw.events", "web", "sessions", "users", "uuid()", "a >", "count(*)", "2021-01-01", "(")
TEXTS = st.text(max_size=8) | st.sampled_from(WORDS)
SCALARS = st.none() | st.booleans() | st.integers(-5, 99) | TEXTS
KEYS = (
    st.sampled_from(["first", "last", "agg", "page_views", "sessions", "schema", "field"]) | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
VARIABLES = st.dictionaries(
    st.sampled_from([f"snowplow__{name}" for name in (*ALIASES, "other")]), VALUES, max_size=3
)
SAID = st.dictionaries(st.sampled_from([*PackageSection.declared]), VALUES, max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(SAID, VARIABLES)
def test_any_value_of_any_key_is_a_package_or_a_finding(tmp_path, said, variables):
    file = {"strategy": "sessions", "name": "web", "events": "raw.events", **said}
    if variables:
        file["vars"] = variables
    for folder in ("sessions", "models"):
        (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    (tmp_path / "models" / "raw.yml").write_text(source())
    (tmp_path / "sessions" / "web.yml").write_text(json.dumps(file, indent=1))

    try:
        findings = load_project(tmp_path, environ={}, use_cache=False).findings
    except ProjectError as error:
        findings = error.findings

    assert {each.where.path for each in findings} <= {"sessions/web.yml"}
    assert all(each.where.line >= 1 and each.sentence for each in findings)
