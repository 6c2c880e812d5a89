from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.core.errors import ProjectError
from penstock.project import cache, load_project

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

    def spy(texts, macros, surroundings):
        seen.extend(texts)
        return original(texts, macros, surroundings)

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


def test_another_version_of_a_parser_parses_all_again(again, parsed, monkeypatch):
    monkeypatch.setattr(cache, "_version", lambda package: f"{package} next")

    again()

    assert parsed == ["models/a.sql", "models/b.sql"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: text.replace('"files"', '"flies"'),
        lambda text: json.dumps({**json.loads(text), "files": {"models/a.sql": 4}}),
        lambda text: text.replace('"materialized"', "4"),
        lambda text: _with_results(text, []),
        lambda text: _with_results(text, [1, 2, 3, 4]),
        lambda text: _with_results(text, [{}, 1, [["x", None, [["odd", [], 1, True, True]]]], []]),
    ],
)
def test_a_damaged_cache_is_thrown_away(again, tmp_path, damage):
    whole = again()
    stored(tmp_path).write_text(damage(stored(tmp_path).read_text()))

    assert again() == whole


def _with_results(text, result):
    document = json.loads(text)
    for entry in document["files"].values():
        entry[2] = result
    return json.dumps(document)


def test_files_that_are_gone_leave_the_cache(again, tmp_path):
    (tmp_path / "models/b.sql").unlink()

    again()

    assert sorted(json.loads(stored(tmp_path).read_text())["files"]) == [
        "models/a.sql",
        "models/m.yml",
        "penstock.yml",
    ]


def test_a_file_with_an_error_is_not_kept(again, tmp_path):
    (tmp_path / "models/b.sql").write_text("select {{ nope }}")

    with pytest.raises(ProjectError):
        again()
    with pytest.raises(ProjectError):
        again()

    assert "models/b.sql" not in json.loads(stored(tmp_path).read_text())["files"]


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


def test_loading_writes_nothing_but_the_cache(load, tmp_path):
    load(FILES, use_cache=True)

    assert [str(p.relative_to(tmp_path)) for p in sorted(tmp_path.glob(".penstock/**/*.*"))] == [
        ".penstock/cache/parse.json"
    ]


def test_without_the_cache_nothing_is_written(load, tmp_path):
    load(FILES)

    assert not (tmp_path / ".penstock").exists()


def test_a_folder_where_nothing_can_be_written_loads(load, tmp_path):
    (tmp_path / ".penstock").write_text("in the way")

    assert load(FILES, use_cache=True).name == "shop"


def test_a_warm_load_imports_no_parser(again, tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "import penstock.strategies.registry\n"
        "from penstock.project import load_project, select, Known\n"
        f"p = load_project(Path({str(tmp_path)!r}), environ={ENVIRON!r})\n"
        "select(p, ['+b'], [], Known())\n"
        "parsers = {'jinja2', 'sqlglot', 'pydantic', 'yaml'}\n"
        "print(sorted(p.models), sorted(parsers & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("['a', 'b'] []\n", "")
