"""`penstock init` makes projects that are right."""

import json

import pyarrow as pa
import pytest
from deltalake import write_deltalake


@pytest.mark.parametrize("template", ["minimal", "demo", "sessions"])
def test_a_new_project_has_no_findings(template, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    made = json.loads(call("init", "shop", "--template", template, "--json").out)

    assert made["folder"] == "shop"
    assert all((tmp_path / "shop" / file).is_file() for file in made["files"])
    assert call("validate", "--project-dir", "shop", "--strict").code == 0


def test_a_new_project_says_how_to_go_on(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert call("init", "shop").out.endswith("\nNext: penstock run shop\n")
    assert call("init", "demo", "--template", "demo").out.endswith(
        "\nNext: cd demo, python deliver.py 1, penstock seed, penstock run\n"
    )
    assert call("init", "web", "--template", "sessions").out.endswith(
        "\nNext: cd web, python visits.py 1, penstock run --as-of 2024-03-04\n"
    )


def test_a_new_project_names_what_must_be_installed_before_it_runs(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("penstock.app.commands.init.find_spec", lambda _: None)

    lines = call("init", "demo", "--template", "demo").out.splitlines()[-2:]
    document = json.loads(call("init", "shop", "--json").out)

    assert lines == [
        "Install first: pip install 'penstock-delta[demo,spark]'",
        "Next: cd demo, python deliver.py 1, penstock seed, penstock run",
    ]
    assert document["install"] == "pip install 'penstock-delta[spark]'"


def test_a_model_over_a_table_validates_and_is_planned(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_deltalake("lake/orders", pa.table({"id": [1]}))

    assert call("init", "shop", "--from-table", "lake/orders").out.endswith(
        "\nNext: penstock run shop --select orders\n"
    )
    monkeypatch.chdir(tmp_path / "shop")
    assert call("init", "--from-table", "../lake/orders", "--name", "more").out == (
        "made models/staging/more.sql\n\nNext: penstock run --select more\n"
    )
    assert call("validate", "--strict").out == "no findings: 2 models, 1 source, 0 seeds\n"
    assert call("plan").out.endswith("\nTotal: 2 steps. Nothing was run.\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("init", "error: bad-usage: Missing argument 'DIR'\n  hint: penstock init DIR\n"),
        (
            "init x --name a",
            "error: option-conflict: --name is for --from-table\n  hint: omit it\n",
        ),
        (
            "init x --from-table t --template demo",
            (
                "error: option-conflict: --template and --from-table both say what the project "
                "holds\n  hint: keep one of them\n"
            ),
        ),
    ],
)
def test_flags_that_do_not_go_together_are_refused(words, message, call):
    answer = call(*words.split())

    assert (answer.code, answer.err) == (2, message)


@pytest.mark.parametrize("words", ["validate", "plan", "run", "list", "status"])
def test_a_dbt_project_is_called_that_by_every_command(words, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dbt_project.yml").write_text("name: jaffle_shop\n")

    answer = call(words)

    assert answer.code == 2
    assert answer.err == (
        f"error: dbt-project: {tmp_path} holds a dbt project (dbt_project.yml) "
        "and no penstock.yml\n"
        f"  hint: penstock import dbt {tmp_path}\n"
    )
    assert call("init", str(tmp_path)).err == answer.err


def test_a_dbt_project_beside_penstock_yml_is_a_warning(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("init", ".")
    (tmp_path / "dbt_project.yml").write_text("name: jaffle_shop\n")

    answer = call("validate")

    assert answer.code == 0
    assert answer.out.startswith(
        "dbt_project.yml:1: warning: not-taken-over: dbt_project.yml is not read\n"
    )
