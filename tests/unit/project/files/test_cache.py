from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.core.errors import ProjectError
from penstock.core.partitions.mapping import (
    At,
    Bound,
    ByGrain,
    Calendar,
    Ceiled,
    Computed,
    Everything,
    Floored,
    Greatest,
    LastDay,
    Least,
    Lower,
    Moved,
    RangeMapping,
    Same,
    Trailing,
    Upper,
)
from penstock.project.files import cache
from penstock.project.files.cache import codec_of
from penstock.project.files.parsed import SqlFile
from penstock.project.load import load_project
from penstock.project.sql.sql_file import parse_plain_sql

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
    """Load once, then give a function that loads again with the cache of single files."""

    def once_more(**how):
        (tmp_path / ".penstock/cache/project.bin").unlink(missing_ok=True)
        return load_project(tmp_path, **{"environ": ENVIRON, **how})

    load(FILES, use_cache=True, environ=ENVIRON)
    return once_more


@pytest.fixture
def parsed(monkeypatch):
    """Collect the model files that are parsed anew."""
    from penstock.project.sql import sql_file

    seen = []
    original = sql_file.parse_sql_files

    def spy(texts, macros, render_context):
        seen.extend(texts)
        return original(texts, macros, render_context)

    monkeypatch.setattr(sql_file, "parse_sql_files", spy)
    return seen


def stored(root: Path) -> Path:
    return root / ".penstock/cache/parse.jsonl"


def kept_files(root: Path) -> list[str]:
    return sorted(json.loads(line)[0] for line in stored(root).read_text().split("\n")[1:])


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
        lambda text: text.replace("\t", " "),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text + "\n",
        lambda text: text.replace('"d"', '"e"'),
        lambda text: text.replace('["ref", ["a"]', '["ref", []'),
        lambda text: re.sub('"sum": [0-9]+', '"sum": 0', text),
        lambda text: re.sub(', "sum": [0-9]+', "", text),
    ],
)
def test_a_damaged_cache_is_thrown_away(again, tmp_path, damage):
    whole, kept = again(), stored(tmp_path).read_text()
    damaged = damage(kept)
    stored(tmp_path).write_text(damaged)

    assert damaged != kept
    assert again() == whole
    assert stored(tmp_path).read_text() == kept


def test_files_that_are_gone_leave_the_cache(again, tmp_path):
    (tmp_path / "models/b.sql").unlink()

    again()

    assert kept_files(tmp_path) == [
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

    assert "models/b.sql" not in kept_files(tmp_path)


def test_loading_writes_nothing_but_the_cache(load, tmp_path):
    load(FILES, use_cache=True)

    assert [str(p.relative_to(tmp_path)) for p in sorted(tmp_path.glob(".penstock/**/*.*"))] == [
        ".penstock/cache/parse.jsonl",
        ".penstock/cache/project.bin",
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
        "from penstock.project.load import load_project\n"
        "from penstock.project.selectors import Known, select\n"
        f"p = load_project(Path({str(tmp_path)!r}), environ={ENVIRON!r})\n"
        "select(p, ['+b'], [], Known())\n"
        "parsers = {'jinja2', 'sqlglot', 'pydantic', 'yaml'}\n"
        "print(sorted(p.models), sorted(parsers & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("['a', 'b'] []\n", "")


def test_the_cache_gives_bodies_back():
    file = parse_plain_sql("q.yaml", "select @run_date from t", 7)

    write, read = codec_of(SqlFile)
    assert read(json.loads(json.dumps(write(file)))) == file


@pytest.mark.parametrize(
    "bound",
    [
        Lower(),
        Upper(),
        At(0),
        Moved(Lower(), months=1),
        Moved(Lower(), months=-2, micros=86_400_000_000),
        Floored(Lower(), "quarter"),
        Floored(Lower(), "week"),
        Ceiled(Lower(), "month"),
        LastDay(Upper()),
        Least((Lower(), Upper(), At(0))),
        Greatest((Lower(), Upper())),
    ],
)
def test_bounds_read_back_equal(bound):
    write, read = codec_of(Bound)

    assert read(json.loads(json.dumps(write(bound)))) == bound


@pytest.mark.parametrize(
    "mapping",
    [
        Everything(),
        Same(),
        Calendar("week"),
        Trailing(7),
        ByGrain(),
        Computed("date", ((Lower(), None), (None, Moved(Upper(), 1, -2)))),
        Computed("date", ()),
    ],
)
def test_mappings_read_back_equal(mapping):
    write, read = codec_of(RangeMapping)

    assert read(json.loads(json.dumps(write(mapping)))) == mapping


@pytest.mark.parametrize(
    "document", [[], ["other"], ["trailing"], ["computed", "d", [[["x"], None]]]]
)
def test_what_is_no_mapping_is_refused(document):
    with pytest.raises((ValueError, LookupError)):
        codec_of(RangeMapping).read(document)
