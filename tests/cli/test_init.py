"""`penstock init` makes projects that are right."""

import json

import pytest


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
