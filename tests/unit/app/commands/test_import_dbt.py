"""An import is written as a whole or not at all, and never over what was changed by hand."""

import json
from pathlib import Path

import pytest

from fakes.dbt_shop import TOKEN, write_dbt
from penstock.app.commands.import_dbt import RECORD, ImportRequest, import_dbt
from penstock.core.errors import ProjectError, UsageError

SMALL = {"dbt_project.yml": "name: shop\nprofile: shop\n", "models/a.sql": "select 1 as n\n"}


@pytest.fixture
def dbt(tmp_path):
    return write_dbt(tmp_path / "shop", SMALL)


def do(folder, **asked):
    return import_dbt(ImportRequest(folder, **asked), {"HOME": "/nowhere"})


def held(folder):
    return {
        each.relative_to(folder).as_posix(): each.read_text()
        for each in folder.rglob("*")
        if each.is_file()
    }


def code(call):
    with pytest.raises(UsageError) as error:
        call()
    return error.value.code


def test_the_project_is_written_beside_the_other(dbt, tmp_path):
    before = held(dbt)

    report = do(dbt)

    assert report.written
    assert report.output == str(tmp_path / "shop-penstock")
    assert held(dbt) == before
    assert sorted(held(tmp_path / "shop-penstock")) == [
        RECORD,
        ".gitignore",
        "import-report.md",
        "models/a.sql",
        "penstock.yml",
    ]


def test_a_dry_run_writes_nothing(dbt, tmp_path):
    report = do(dbt, dry_run=True)

    assert not report.written
    assert sorted(report.project.files) == [
        ".gitignore",
        "import-report.md",
        "models/a.sql",
        "penstock.yml",
    ]
    assert [each.name for each in tmp_path.iterdir()] == ["shop"]


def test_a_second_import_keeps_what_the_user_added(dbt, tmp_path):
    do(dbt)
    (tmp_path / "shop-penstock/models/own.sql").write_text("select 2 as n\n")
    (dbt / "models/b.sql").write_text("select 3 as n\n")
    (dbt / "models/a.sql").unlink()

    report = do(dbt)

    assert report.written
    models = tmp_path / "shop-penstock/models"
    assert sorted(each.name for each in models.iterdir()) == ["b.sql", "own.sql"]


def test_a_file_changed_by_hand_is_not_overwritten(dbt, tmp_path):
    do(dbt)
    edited = tmp_path / "shop-penstock/models/a.sql"
    edited.write_text("select 5 as n\n")
    before = held(tmp_path / "shop-penstock")

    report = do(dbt)

    assert report.refused
    (found,) = report.edited
    assert found.path == "models/a.sql"
    assert "-select 5 as n" in found.diff
    assert "+select 1 as n" in found.diff
    assert held(tmp_path / "shop-penstock") == before


def test_force_overwrites_it(dbt, tmp_path):
    do(dbt)
    edited = tmp_path / "shop-penstock/models/a.sql"
    edited.write_text("select 5 as n\n")

    report = do(dbt, force=True)

    assert report.written
    assert edited.read_text().endswith("select 1 as n\n")
    assert not do(dbt).edited


def test_an_import_that_was_killed_is_completed_by_the_next(dbt, tmp_path, monkeypatch):
    do(dbt)
    (dbt / "models/a.sql").write_text("select 2 as n\n")
    (dbt / "models/b.sql").write_text("select 3 as n\n")
    usual = Path.replace
    done = []

    def killed(self, target):
        done.append(target)
        if len(done) > 2:
            raise KeyboardInterrupt
        return usual(self, target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        do(dbt)
    monkeypatch.setattr(Path, "replace", usual)

    report = do(dbt)

    assert report.written
    assert not report.edited
    assert (tmp_path / "shop-penstock/models/b.sql").read_text().endswith("select 3 as n\n")


def test_a_first_import_that_is_killed_leaves_nothing(dbt, tmp_path, monkeypatch):
    def killed(self, data):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        do(dbt)

    assert [each.name for each in tmp_path.iterdir()] == ["shop"]


@pytest.mark.parametrize("inner", [".", "..", "models", "models/x", "dbt_packages/x", "target"])
def test_no_folder_of_the_dbt_project_is_written(dbt, inner):
    assert code(lambda: do(dbt, output=dbt / inner)) == "output-not-ours"


def test_a_folder_within_it_is_written_if_it_is_asked_for(dbt):
    assert do(dbt, output=dbt / "new").written
    assert do(dbt, output=dbt / "new").written
    assert sorted(each.source for each in do(dbt, output=dbt / "new").project.sources) == [
        "dbt_project.yml",
        "models/a.sql",
    ]


def test_a_folder_of_others_is_not_written(dbt, tmp_path):
    write_dbt(tmp_path / "own", {"a.txt": "x"})

    assert code(lambda: do(dbt, output=tmp_path / "own")) == "output-not-ours"


def test_a_folder_without_dbt_is_refused(tmp_path):
    assert code(lambda: do(tmp_path)) == "no-dbt-project"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "is not JSON"),
        ("{}", "is not a manifest of dbt"),
        (
            '{"metadata": {"dbt_schema_version": "https://x/dbt/manifest/v10.json"}}',
            "is a manifest of version 10, and v11 to v13 are read",
        ),
    ],
)
def test_another_manifest_is_refused(dbt, tmp_path, text, said):
    (tmp_path / "m.json").write_text(text)

    with pytest.raises(UsageError, match=said):
        do(dbt, manifest=tmp_path / "m.json")


def test_a_manifest_gives_the_schema_and_a_second_opinion(dbt):
    nodes = {"model.shop.a": node("a", "ann"), "model.shop.b": node("b", "ann")}
    metadata = {"dbt_schema_version": "x/manifest/v12.json", "project_name": "shop"}
    (dbt / "target").mkdir()
    manifest = json.dumps({"metadata": metadata, "nodes": nodes})
    (dbt / "target/manifest.json").write_text(manifest)

    project = do(dbt, dry_run=True).project

    assert project.schema == "ann"
    found = {note.what: str(note.fate) for note in project.sources[-1].notes}
    assert found == {"a": "taken", "b": "by hand"}


def node(name, schema):
    return {"resource_type": "model", "package_name": "shop", "name": name, "schema": schema}


def test_all_findings_come_at_once(dbt):
    (dbt / "models/b.sql").write_text("{{ x")
    (dbt / "models/c.yml").write_text("models: [")

    with pytest.raises(ProjectError) as error:
        do(dbt)

    assert [each.where.path for each in error.value.findings] == ["models/b.sql", "models/c.yml"]


def test_nothing_of_a_profile_but_names_is_anywhere(tmp_path):
    dbt = write_dbt(tmp_path / "shop")

    report = do(dbt)

    texts = [repr(report), *held(tmp_path / "shop-penstock").values()]
    assert not [text for text in texts if TOKEN in text]


def test_a_broken_profile_shows_none_of_its_text(tmp_path):
    dbt = write_dbt(tmp_path / "shop", SMALL, **{"profiles.yml": f"shop: {{outputs: *{TOKEN}\n"})

    report = do(dbt)

    assert TOKEN not in repr(report)
    assert report.project.schema == "shop"
