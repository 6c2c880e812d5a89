"""Work in a target of one's own: what another target has is read there, without Java."""

import json
from dataclasses import replace

import pytest

from cli.test_built_projects import FILES, PINS, write_commit
from fakes.services import an_intent, built
from penstock.app.services.wire import Where, open_services
from penstock.core.steps.token import write_token

YML = """\
name: shop
vars: {days: 3}
targets:
  dev: {warehouse: warehouse, schema_prefix: dev_}
  prod: {warehouse: elsewhere, vars: {days: 30}}
  bare: {}
"""
THREE = (
    "{{ config(materialized='table') }}\nselect id, {{ var('days') }} as d from {{ ref('two') }}\n"
)
TABLES = {**PINS, "three": {}}


@pytest.fixture
def root(services, monkeypatch):
    """Leave what a run of three tables in prod leaves, and nothing in dev."""
    root = services(**FILES, **{"penstock.yml": YML, "models/m/three.sql": THREE})
    wired = open_services(Where(root, "prod"))
    models = wired.project.models
    store = wired.writing.archive.store_id()
    for number, (name, pins) in enumerate(TABLES.items(), start=1):
        built(wired, models[name], **pins)
        intent = replace(an_intent(models[name], **pins), step_seq=number)
        write_commit(root, name, 0, write_token(intent, "0.1.0", store), warehouse="elsewhere")
    wired.close()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    return root


def change(root, name="two"):
    path = root / f"models/m/{name}.sql"
    path.write_text(path.read_text().replace("select id", "select id + 1 as id"))


def test_the_plan_builds_what_changed_and_reads_the_rest_in_prod(root, call):
    change(root)

    answer = call("plan", "-s", "state:modified+", "--state", "prod", "--defer-to", "prod")

    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0] == "read from target prod: one v0"
    assert [line.split()[:2] for line in lines if line.strip()[:2] in ("1.", "2.")] == [
        ["1.", "two"],
        ["2.", "three"],
    ]


def test_the_document_of_the_plan_lists_inputs_of_another_target(root, call):
    answer = call("plan", "-s", "two", "--defer-to", "prod", "--json")

    assert json.loads(answer.out)["deferred"] == [
        {"input": "one", "target": "prod", "version": "v0", "uri": f"{root}/elsewhere/m/one"}
    ]


def test_sync_previews_what_it_reads_in_another_target(root, call):
    change(root)

    answer = call("sync", "-s", "state:modified", "--defer-to", "prod", "--dry-run")

    assert answer.code == 0, answer.err
    assert "read from target prod: one v0" in answer.out
    assert "two" in answer.out
    assert "not selected, though drifted" not in answer.out


def test_variables_of_the_other_target_do_not_make_a_model_modified(root, call):
    change(root)

    listed = call("list", "-s", "state:modified", "--state", "prod")

    assert [line.split()[0] for line in listed.out.splitlines()[1:]] == ["two"]


def test_status_compares_with_the_target_that_it_defers_to(root, call):
    change(root)

    answer = call("status", "-s", "state:modified", "--defer-to", "prod")

    assert answer.code == 0, answer.err
    assert "two" in answer.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "--defer-to", "prdo"], "unknown-target: no target is called 'prdo'"),
        (["plan", "--defer-to", "bare"], "no-state: --defer-to: target 'bare' has no state"),
        (["plan", "--defer-to", "dev"], "option-conflict: --defer-to dev is the target itself"),
        (["list", "-s", "state:new", "--state", "bare"], "no-state: --state: target 'bare' has"),
        (["list", "-s", "state:new"], "option-conflict: state:modified and state:new need a"),
        (["list", "-s", "state:new", "--state", "prod"], "no-match: no model is new compared with"),
    ],
)
def test_what_cannot_be_compared_is_an_error_with_a_hint(root, call, words, message):
    answer = call(*words)

    assert answer.code == 2
    assert message in answer.err


def test_reading_leaves_both_targets_as_they_were(root, call):
    before = {path: path.read_bytes() for path in root.rglob("elsewhere/**/*.json")}

    call("plan", "-s", "two", "--defer-to", "prod")

    assert {path: path.read_bytes() for path in root.rglob("elsewhere/**/*.json")} == before
    assert not (root / "warehouse").exists()
    assert not (root / ".penstock/state.db").exists()
