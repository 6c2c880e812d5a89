from __future__ import annotations

import sys

import pytest

from penstock.core.masking import SECRETS
from penstock.project import processes
from penstock.project.files.render_context import RenderContext
from penstock.project.sql import sql_file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("insert into a select 1", "a model is one query; this begins with INSERT"),
        ("select 1; select 2", "a model is one query; another statement follows"),
        ("-- nothing", "there is no query"),
        (
            "with a as (select 1) insert into b select * from a",
            "a model is one query; this is INSERT",
        ),
    ],
)
def test_anything_but_one_query_is_refused(findings, text, said):
    assert findings({"models/a.sql": text}) == [f"models/a.sql:1: error: not-a-query: {said}"]


def test_a_semicolon_at_the_end_is_fine(load):
    project = load({"models/a.sql": "select 1 as id ; -- done;\n;"})

    assert project.models["a"].query.text == "select 1 as id  -- done;\n"


def test_unparsed_sql_is_a_warning_and_keeps_its_references(load):
    files = {
        "models/a.sql": "select 1 as x",
        "models/b.sql": "select x:y.z from {{ ref('a') }} where 1=1",
    }

    project = load(files)

    model = project.models["b"]
    assert [f.code for f in project.findings] == ["unparsed-sql"]
    assert (model.query.parsed, model.depends_on) == (False, ("a",))
    assert model.query.text == "select x:y.z from `penstock:model:a:bare:a` where 1=1"
    assert model.query.canonical == project.shown_sql(model)


def test_a_query_in_steps_has_its_references_and_its_text_for_its_meaning(load):
    files = {
        "models/a.sql": "select 1 as x",
        "models/b.sql": "from {{ ref('a') }} |> limit 5 |> where x = 1",
    }

    project = load(files)

    model = project.models["b"]
    assert [f.code for f in project.findings] == []
    assert (model.query.parsed, model.depends_on) == (False, ("a",))
    assert model.query.canonical == project.shown_sql(model)


HIDDEN = "never_shown_" * 5  # longer than what is shown of a word
FILES = {
    "models/a.sql": "{{ config(materialized='table') }}\nselect 1 as a",
    "models/f.sql": HIDDEN,
    "models/b.sql": "select a from {{ ref('a') }}",
    "models/c.sql": "{{ config(materialized='tabel') }}\nselect b from",
    "models/d.sql": "{{ twice('x') }}",
    "models/e.sql": "select {{ twice('1') }} as e where {{ is_incremental() }}",
}
MACROS = {"macros/m.sql": "{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}", "macros/n.sql": "{%"}


@pytest.mark.parametrize(
    ("python", "read_here"), [(sys.executable, 3), ("/nowhere/python", 6), ("/bin/false", 6)]
)
def test_many_files_are_read_by_several_processes_and_here_where_there_are_none(
    monkeypatch, python, read_here
):
    SECRETS.add([HIDDEN])
    alone = sql_file.parse_sql_files(FILES, MACROS, RenderContext({}))
    here = []
    read = sql_file.parse_model
    monkeypatch.setattr(sql_file, "parse_model", lambda *given: here.append(1) or read(*given))
    monkeypatch.setattr(processes.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(sql_file, "_WORTH_A_PROCESS", 2)
    monkeypatch.setattr(processes.sys, "executable", python)

    shared = sql_file.parse_sql_files(FILES, MACROS, RenderContext({}))

    assert shared == alone
    assert list(shared) == list(alone)
    assert shared["models/f.sql"].findings[0].sentence.endswith("this begins with ***")
    assert len(here) == read_here
