from __future__ import annotations

import pytest

from penstock.core.errors import ProjectError, UsageError
from penstock.project import load_project


def test_J1_five_broken_files_are_reported_in_one_go_and_no_state_is_created(load, tmp_path):
    files = {
        "models/a/unknown_key.sql": "{{ config(materialised='table') }}\nselect 1 as id",
        "models/a/unknown_ref.sql": "select *\nfrom {{ ref('nothing_such') }}",
        "models/a/one.sql": "select * from {{ ref('two') }}",
        "models/a/two.sql": "select * from {{ ref('one') }}",
        "models/a/bad_jinja.sql": "select 1\n{% if %}",
        "models/b/one.sql": "select 1",
    }

    with pytest.raises(ProjectError) as caught:
        load(files, use_cache=True)

    assert caught.value.render().splitlines() == [
        (
            "models/a/bad_jinja.sql:2: error: template-syntax: "
            "Expected an expression, got 'end of statement block'"
        ),
        (
            "models/a/one.sql:1: error: dependency-cycle: "
            "one → two → one (models/a/one.sql:1, models/a/two.sql:1)"
        ),
        "  hint: a model cannot read what is built from it; take one of these references out",
        "models/a/unknown_key.sql:1: error: unknown-key: unknown key 'materialised'",
        "  hint: did you mean 'materialized'?",
        "models/a/unknown_ref.sql:2: error: unknown-reference: no model is called 'nothing_such'",
        (
            "models/b/one.sql:1: error: duplicate-model: "
            "'one' is defined in models/a/one.sql and models/b/one.sql"
        ),
        "  hint: model names are unique in the project, whatever the folder; rename one",
    ]
    assert caught.value.exit_code == 1
    assert not list(tmp_path.glob(".penstock/state*"))


def test_J2_a_misspelt_key_of_the_project_file_hides_no_other_finding(findings):
    files = {
        "penstock.yml": "name: shop\ntaget:\n  dev: {}\n",
        "models/a.sql": "select * from {{ ref('b') }}",
    }

    assert findings(files, hints=True) == [
        "models/a.sql:1: error: unknown-reference: no model is called 'b'",
        (
            "penstock.yml:2:1: error: unknown-key: unknown key 'taget'\n"
            "  hint: did you mean 'targets'?"
        ),
    ]


def test_J3_a_cycle_names_its_path_and_every_place(findings):
    files = {
        "models/a.sql": "select *\nfrom {{ ref('c') }}",
        "models/b.sql": "select * from {{ ref('a') }}",
        "models/c.sql": "select * from shop.b",
    }

    assert findings(files) == [
        (
            "models/a.sql:2: error: dependency-cycle: "
            "a → b → c → a (models/a.sql:2, models/b.sql:1, models/c.sql:1)"
        )
    ]


def test_J4_an_unknown_reference_names_the_nearest_model(findings):
    files = {
        "models/users_clean.sql": "select 1 as id",
        "models/daily.sql": "select *\nfrom {{\n  ref('user_clean')\n}}",
    }

    assert findings(files, hints=True) == [
        (
            "models/daily.sql:3: error: unknown-reference: no model is called 'user_clean'\n"
            "  hint: did you mean 'users_clean'?"
        )
    ]


def test_J22_every_odd_file_is_a_finding_of_its_own(findings):
    files = {
        "models/latin.sql": "select 'a'\n, 'é'".encode("latin-1"),
        "models/nul.sql": b"select 1\n\0",
        "models/empty.sql": " \n",
        "models/big.sql": "-- x\n" * 1_000_000,
        "models/two words.sql": "select 1",
        "models/quo'te.sql": "select 1",
        "models/up.sql": "select 1\n{% include '../secret.sql' %}",
        "models/gone.sql": "select 1\n{% include 'gone.sql' %}",
    }

    assert findings(files) == [
        (
            "models/big.sql:1: error: file-too-large: "
            "the file has 5,000,000 bytes; at most 1,000,000 are read"
        ),
        "models/empty.sql:1: error: empty-file: the file is empty",
        "models/gone.sql:2: error: include-not-found: no macro file is called 'gone.sql'",
        "models/latin.sql:2: error: not-utf8: byte 0xe9 is not UTF-8",
        "models/nul.sql:2: error: not-utf8: the file holds a NUL byte",
        """models/quo'te.sql:1: error: bad-name: "quo'te" cannot name a model""",
        "models/two words.sql:1: error: bad-name: 'two words' cannot name a model",
        "models/up.sql:2: error: path-outside-project: '../secret.sql' lies outside of macros/",
    ]


def test_a_folder_without_project_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError) as caught:
        load_project(tmp_path, environ={})

    assert (caught.value.code, caught.value.hint, caught.value.exit_code) == (
        "no-project",
        "penstock init DIR",
        2,
    )


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


def test_stray_files_and_python_files_are_warnings(findings):
    files = {
        "models/notes.docx": b"x",
        "models/p.py": "",
        "models/README.md": "",
        "models/_f.sql": "",
    }

    assert findings(files) == [
        "models/notes.docx:1: warning: stray-file: this is no model",
        "models/p.py:1: warning: stray-file: Python models come with a later release",
    ]


def test_two_models_may_not_write_one_table(findings):
    files = {
        "models/a.sql": "{{ config(schema='s', alias='t') }} select 1",
        "models/b.sql": "{{ config(schema='S', alias='T') }} select 1",
    }

    assert findings(files) == [
        (
            "models/b.sql:1: error: duplicate-destination: "
            "model b and model a (models/a.sql:1) are both the table S.T"
        )
    ]


def test_an_unknown_table_in_a_schema_of_the_project_is_a_warning(findings):
    files = {
        "models/staging/users.sql": "select 1 as id",
        "models/mart/a.sql": "select * from staging.user\njoin other.thing",
    }

    assert findings(files, hints=True) == [
        (
            "models/mart/a.sql:1: warning: external-table: "
            "table staging.user is no model or source, though the project builds its schema\n"
            "  hint: did you mean 'users'?"
        )
    ]


def test_a_disabled_model_is_no_model(findings):
    files = {
        "models/a.sql": "{{ config(enabled=false) }} select 1",
        "models/b.sql": "select * from {{ ref('a') }}",
    }

    assert findings(files, hints=True) == [
        (
            "models/b.sql:1: error: unknown-reference: no model is called 'a'\n"
            "  hint: that model has enabled=false"
        )
    ]


def test_yaml_mistakes_have_line_and_column(findings):
    files = {
        "models/m.yml": "models:\n  - name: a\n    descripton: x\n    name: b\n",
        "models/n.yml": "sources:\n  - name: raw\n    tables: 4\n",
        "models/o.yml": "models: [\n",
        "models/p.yml": "name: p\ndestination: {table: p}\nversions: []\n",
        "models/a.sql": "select 1",
    }

    assert findings(files) == [
        "models/m.yml:3:5: error: unknown-key: unknown key 'descripton'",
        (
            "models/m.yml:4:5: error: duplicate-key: "
            "key 'name' is written twice; the first is on line 2"
        ),
        "models/n.yml:3:13: error: bad-value: sources.tables is 4; it must be a list",
        "models/o.yml:2:1: error: yaml-syntax: expected the node content, but found '<stream end>'",
        "models/p.yml:2:14: error: missing-key: 'dataset' is missing",
        "models/p.yml:3:1: error: empty-versions: the model has no version",
    ]


def test_yaml_beside_a_model_that_is_not_there_is_a_finding(findings):
    files = {"models/a.yml": "models:\n  - name: orders_\n", "models/orders.sql": "select 1"}

    assert findings(files, hints=True) == [
        (
            "models/a.yml:2:5: error: unknown-model: no model is called 'orders_'\n"
            "  hint: did you mean 'orders'?"
        )
    ]


def test_hostile_yaml_is_a_finding(findings):
    bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n"
        for old, new in zip("abcdef", "bcdefg", strict=True)
    )

    assert findings({"models/bomb.yml": bomb, "models/loop.yml": "a: &a [*a]\n"}) == [
        "models/bomb.yml:1:1: error: yaml-syntax: the document unfolds to more than 500,000 nodes",
        "models/loop.yml:1:1: error: yaml-syntax: the document unfolds to more than 500,000 nodes",
    ]
