"""Which files a project has: odd ones are findings, and what is not taken over is said."""

import os

import pytest

from penstock.core.errors import UsageError
from penstock.core.findings import Location
from penstock.project.files.discovery import discover, project_root


def test_a_folder_a_pipe_and_a_lost_link_are_findings_where_a_file_is_expected(findings, tmp_path):
    (tmp_path / "models" / "folder.sql").mkdir(parents=True)
    os.mkfifo(tmp_path / "models" / "pipe.sql")
    os.mkfifo(tmp_path / "models" / "pipe.yml")
    (tmp_path / "models" / "zero.sql").symlink_to("/dev/zero")
    (tmp_path / "models" / "lost.py").symlink_to("nowhere")

    assert findings({}) == [
        "models/folder.sql:1: error: unreadable-file: this is a folder, and a file is expected",
        ("models/lost.py:1: error: unreadable-file: cannot be read: No such file or directory"),
        (
            "models/pipe.sql:1: error: unreadable-file: "
            "this is a pipe, socket or device, and a file is expected"
        ),
        (
            "models/pipe.yml:1: error: unreadable-file: "
            "this is a pipe, socket or device, and a file is expected"
        ),
        (
            "models/zero.sql:1: error: unreadable-file: "
            "this is a pipe, socket or device, and a file is expected"
        ),
    ]


@pytest.mark.parametrize(
    ("name", "shown"), [("a\nb.sql", r"a\nb.sql"), ("\x1b[31m.yml", r"\x1b[31m.yml")]
)
def test_a_name_that_cannot_be_printed_on_one_line_is_a_finding_that_can(findings, name, shown):
    assert findings({f"models/{name}": "select 1"}) == [
        (
            f"models/{shown}:1: error: bad-name: "
            "the name of the file holds characters that cannot be printed"
        )
    ]


def test_a_name_of_bytes_that_are_no_text_is_a_finding(findings, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "\udcff.sql").write_bytes(b"select 1")

    assert [each.partition(": error: ")[2][:8] for each in findings({})] == ["bad-name"]


def test_what_a_project_of_dbt_has_beside_models_is_one_warning_each(findings):
    files = {
        "snapshots/a.sql": "{% snapshot a %}select 1{% endsnapshot %}",
        "snapshots/b.sql": "{% snapshot b %}select 1{% endsnapshot %}",
        "packages.yml": "packages: []",
        "dbt_project.yml": "name: x",
        "tests/t.yml": "# of users\nunit_test:\n  - name: a\n",
        "models/a.sql": "select 1 as one",
    }

    assert findings(files, hints=True) == [
        (
            "dbt_project.yml:1: warning: not-taken-over: dbt_project.yml is not read\n"
            "  hint: penstock import dbt DIR takes over a whole dbt project; or move its vars: "
            "and settings of folders into penstock.yml"
        ),
        (
            "packages.yml:1: warning: not-taken-over: packages.yml is not read\n"
            "  hint: penstock import dbt DIR takes over a whole dbt project; or copy the macros "
            "of each package to packages/NAME/macros/"
        ),
        (
            "snapshots/a.sql:1: warning: not-taken-over: "
            "the folder snapshots/ is not read, and holds 2 files\n"
            "  hint: penstock import dbt DIR takes over a whole dbt project; or write "
            "models/NAME.sql with materialized='snapshot'"
        ),
        (
            "tests/t.yml:2: warning: not-taken-over: "
            "unit_test: is not read, so none of these tests run\n"
            "  hint: write unit_tests:"
        ),
    ]


def test_snapshots_that_is_a_folder_of_models_is_read(findings):
    files = {
        "penstock.yml": "name: shop\nmodels: [models, snapshots]\n",
        "snapshots/a.sql": "select 1 as one",
    }

    assert findings(files) == []


def test_hooks_of_dbts_project_file_are_warnings_that_say_what_to_do_instead(findings):
    files = {"penstock.yml": "name: shop\non-run-start: x\non-run-end: y\n"}
    files |= {"models/a.sql": "select 1 as one"}

    assert findings(files, hints=True) == [
        (
            f"penstock.yml:{line}:1: warning: not-taken-over: {key} is not taken over: "
            f"nothing of it runs\n  hint: write hooks: {{{word}: […]}} in penstock.yml"
        )
        for line, key, word in ((2, "on-run-start", "before"), (3, "on-run-end", "after"))
    ]


def test_sql_of_a_check_that_nothing_names_is_a_warning_and_no_model(load, findings):
    files = {
        "models/a.sql": "select 1 as one",
        "models/checks/gone.sql": "select * from {destination}",
        "models/checks/made.sql": "{{ config(materialized='view') }}select 1 as one",
    }

    assert findings(files, hints=True) == [
        (
            "models/checks/gone.sql:1: warning: not-taken-over: no check names this file, "
            "and it has no header of a model: it is not read\n"
            "  hint: under checks: of a model write - {name: gone, sql: checks/gone.sql}"
        )
    ]
    assert list(load(files).models) == ["a", "made"]


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_a_folder_that_no_disk_can_have_holds_no_project(tmp_path, name):
    with pytest.raises(UsageError) as caught:
        project_root(tmp_path / name, is_needed=True)

    assert (caught.value.code, caught.value.hint) == ("no-project", "penstock init DIR")


@pytest.mark.parametrize("folder", ["models", "entities", "sessions", "tests", "seeds", "macros"])
@pytest.mark.parametrize("inner", ["", "/inner"])
def test_a_folder_that_cannot_be_read_is_an_error(open_folder, closed, folder, inner):
    place = open_folder / f"{folder}{inner}"
    place.mkdir(parents=True)
    closed(place)

    found = discover(open_folder, *({each: Location("p")} for each in ("models", "sessions")))

    assert [each.render().partition("\n")[0] for each in found.findings] == [
        f"{folder}{inner}:1: error: unreadable-file: cannot be read: Permission denied"
    ]


def test_a_file_where_a_folder_is_expected_is_an_error(findings):
    assert findings({"seeds": "a,b"}) == [
        "seeds:1: error: unreadable-file: cannot be read: Not a directory"
    ]


def test_a_link_to_nothing_in_place_of_a_folder_is_an_error(findings, tmp_path):
    (tmp_path / "macros").symlink_to("nowhere")

    assert findings({}) == [
        "macros:1: error: unreadable-file: cannot be read: No such file or directory"
    ]


def test_links_to_folders_are_followed_but_for_one_that_leads_back(load, findings, tmp_path):
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "orders.sql").write_text("select 1 as id")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linked").symlink_to("../common")

    assert [*load({}).models] == ["orders"]

    (tmp_path / "common" / "back").symlink_to("..")

    assert findings({}) == [
        ("models/linked/back:1: error: unreadable-file: this link leads back to a folder above it")
    ]


def test_a_folder_of_models_that_leads_above_the_project_is_not_walked(findings, tmp_path):
    (tmp_path.parent / "stranger.sql").write_text("select 1")
    (tmp_path / "models").symlink_to("..")

    assert findings({}) == [
        "models:1: error: unreadable-file: this link leads back to a folder above it"
    ]


@pytest.mark.parametrize("path", ["models/a.sql", "models/a.yml", "models/a.py", "seeds/a.csv"])
def test_a_file_that_cannot_be_read_is_an_error_of_its_own(findings, tmp_path, path):
    target = tmp_path / path
    target.parent.mkdir()
    target.symlink_to(target.name)  # a circle, which stops every user

    assert findings({}) == [
        f"{path}:1: error: unreadable-file: cannot be read: Too many levels of symbolic links"
    ]


def test_sql_whose_name_begins_with_an_underscore_is_a_model(load):
    project = load({"models/_x.sql": "select 1 as id", "models/_y/z.sql": "select 1 as id"})

    assert [*project.models] == ["_x", "z"]


def test_a_file_of_python_from_which_nothing_comes_is_a_warning(findings):
    files = {
        "models/lib.py": "def f(): ...",
        "models/used.py": "LIMIT = 1",
        "models/_used.py": "LIMIT = 1",
        "models/_unused.py": "LIMIT = 1",
        "models/test_p.py": "def test_f(): ...",
        "models/empty.py": "# nothing\n",
        "models/p.py": """\
from models.used import LIMIT
from models import _used
from penstock import model
@model
def f(spark): ...
""",
        "models/snow.py": "import snowpark\n\ndef model(dbt, session):\n    return dbt.ref('f')\n",
    }

    assert findings(files, hints=True) == [
        (
            "models/_unused.py:1: warning: not-taken-over: "
            "files and folders that begin with _ are read only where another file imports them\n"
            "  hint: rename it, or import it"
        ),
        (
            "models/lib.py:1: warning: not-taken-over: "
            "the file declares no model, and no other file imports it\n"
            "  hint: put @model or @table above a function, or move the file out of models/"
        ),
        (
            "models/snow.py:1: warning: not-taken-over: "
            "this is a Python model of dbt, and is not run\n"
            "  hint: put @model above a function whose parameters are its inputs"
        ),
    ]


def test_analyses_are_a_warning(findings):
    files = {"analyses/a.sql": "select 1", "models/o.sql": "select 1 as id"}

    assert findings(files) == [
        (
            "analyses/a.sql:1: warning: not-taken-over: "
            "the folder analyses/ is not read, and holds 1 file"
        )
    ]


@pytest.mark.parametrize(
    "path", ["seeds/a.tsv", "macros/a.jinja", "sessions/a.sql", "entities/a.sql", "models/a.sqlx"]
)
def test_a_file_of_another_kind_is_a_warning_in_every_folder(findings, path):
    assert [each.partition(": ")[2][:19] for each in findings({path: ""})] == [
        "warning: stray-file"
    ]
