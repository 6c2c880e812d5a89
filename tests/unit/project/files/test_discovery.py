"""Which files a project has: odd ones are findings, and what is not taken over is said."""

import os

import pytest

from penstock.core.errors import UsageError
from penstock.project.files.discovery import project_root


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
            "  hint: move its vars: into penstock.yml, settings of folders under defaults:"
        ),
        (
            "packages.yml:1: warning: not-taken-over: packages.yml is not read\n"
            "  hint: copy the macros that are used into macros/; packages are not installed"
        ),
        (
            "snapshots/a.sql:1: warning: not-taken-over: "
            "the folder snapshots/ is not read, and holds 2 files\n"
            "  hint: write models/NAME.sql with materialized='snapshot', or snapshots: in its YAML"
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


def test_hooks_and_grants_are_warnings_that_say_what_to_do_instead(findings):
    header = "{{ config(pre_hook='x', post_hook=['y'], grants={'select': ['me']}) }}"

    assert findings({"models/a.sql": f"{header}\nselect 1 as one"}) == [
        f"models/a.sql:1: warning: not-taken-over: {key} is not taken over: nothing of it runs"
        for key in ("grants", "post_hook", "pre_hook")
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
