from __future__ import annotations

from pathlib import Path

import pytest

from penstock.project import load_project

FILES = {
    "penstock.yml": "name: shop\nvars: {v: 1}\ntargets: {dev: {}, prod: {}}\n",
    "models/a.sql": "select '{{ env_var(\"WHO\", \"x\") }}' as w, {{ var('v') }} as v",
    "models/b.sql": "select * from {{ ref('a') }}",
    "models/m.yml": (
        "models: [{name: a, description: d}]\nsources: [{name: raw, tables: [{name: t}]}]\n"
    ),
    "macros/m.sql": "{% macro one() %}1{% endmacro %}",
}


ENVIRON = {"WHO": "me", "PW": "hunter2"}


@pytest.fixture
def again(load, tmp_path):
    """Load once, then give a function that loads again with the cache."""
    load(FILES, use_cache=True, environ=ENVIRON)
    return lambda **how: load_project(tmp_path, **{"environ": ENVIRON, **how})


@pytest.fixture
def parsed(monkeypatch):
    """Collect the model files that are parsed anew."""
    from penstock.project import first_pass

    seen = []
    original = first_pass.parse_sql_files

    def spy(texts, macros, render_context):
        seen.extend(texts)
        return original(texts, macros, render_context)

    monkeypatch.setattr(first_pass, "parse_sql_files", spy)
    return seen


def stored(root: Path) -> Path:
    return root / ".penstock/cache/parse.json"


def test_a_second_load_parses_nothing_and_is_equal(again, parsed, tmp_path):
    cold = load_project(tmp_path, environ=ENVIRON, use_cache=False)
    parsed.clear()

    assert again() == cold
    assert parsed == []


@pytest.mark.parametrize(
    ("change", "files"),
    [
        ({"environ": {**ENVIRON, "WHO": "you"}}, ["models/a.sql"]),
        ({"environ": {}}, ["models/a.sql"]),
        ({"vars": {"v": "2"}}, ["models/a.sql"]),
        ({"target": "prod"}, []),
        ({"environ": {**ENVIRON, "OTHER": "1"}}, []),
    ],
)
def test_only_files_that_read_what_changed_are_parsed_again(again, parsed, change, files):
    again(**change)

    assert parsed == files


def test_a_changed_file_is_parsed_again(again, parsed, tmp_path):
    (tmp_path / "models/b.sql").write_text("select 2 as two")

    assert again().models["b"].query.text == "select 2 as two"
    assert parsed == ["models/b.sql"]


def test_a_changed_macro_parses_all_again(again, parsed, tmp_path):
    (tmp_path / "macros/m.sql").write_text("{% macro one() %}2{% endmacro %}")

    again()

    assert parsed == ["models/a.sql", "models/b.sql"]


def test_no_password_is_kept(load, tmp_path):
    project = (
        "name: shop\ntargets:\n  dev:\n    state: {}\n    spark: {{conf: {{fs.secret.key: {}}}}}\n"
    )
    outside = project.format("\"{{ env_var('URL') }}\"", "\"{{ env_var('PW') }}\"")
    inside = project.format("postgresql://me:hunter2@db/x", "hunter2")
    environ = {"PW": "hunter2", "URL": "postgresql://me:hunter2@db/x"}

    from_outside = load({"penstock.yml": outside}, environ=environ, use_cache=True)
    kept = stored(tmp_path).read_text()
    from_inside = load({"penstock.yml": inside, "models/a.sql": "select 1"}, use_cache=True)

    assert from_outside.target == from_inside.target
    assert "hunter2" not in kept + stored(tmp_path).read_text()
    assert "penstock.yml" in kept
    assert "penstock.yml" not in stored(tmp_path).read_text()
