from __future__ import annotations

import pytest

from penstock.core.errors import ProjectError, UsageError
from penstock.project.load import load_project


def test_five_broken_files_are_reported_in_one_go_and_no_state_is_created(load, tmp_path):
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
        "  hint: close what is opened: {{ with }}, {% if %} with {% endif %}, and quotes",
        (
            "models/a/one.sql:1: error: dependency-cycle: "
            "one → two → one (models/a/one.sql:1, models/a/two.sql:1)"
        ),
        "  hint: a model cannot read what is built from it; take one of these references out",
        "models/a/unknown_key.sql:1: error: unknown-key: unknown key 'materialised'",
        "  hint: did you mean 'materialized'?",
        "models/a/unknown_ref.sql:2: error: unknown-reference: no model is called 'nothing_such'",
        "  hint: correct the name, or declare it: as a model, or under sources: in YAML",
        (
            "models/b/one.sql:1: error: duplicate-model: "
            "'one' is defined in models/a/one.sql and models/b/one.sql"
        ),
        "  hint: model names are unique in the whole project; rename one",
    ]
    assert caught.value.exit_code == 1
    assert not list(tmp_path.glob(".penstock/state*"))


def test_a_misspelt_key_of_the_project_file_hides_no_other_finding(findings):
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


def test_a_folder_without_project_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError) as caught:
        load_project(tmp_path, environ={})

    assert (caught.value.code, caught.value.hint, caught.value.exit_code) == (
        "no-project",
        "penstock init DIR",
        2,
    )


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
