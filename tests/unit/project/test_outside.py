"""What models depend on outside of their code counts, and is named when it changes."""

from __future__ import annotations

import os

import pytest

from fakes.python_files import PythonFiles
from penstock.core.errors import ProjectError
from penstock.plan.verdict import outside_differences
from penstock.project.load import load_project

TABLE = "@source\ndef logs(spark): ...\n\n@{}(depends_on={}{})\ndef t(logs): return logs\n"
SQL = "{{{{ config(materialized='table', depends_on={}) }}}} select 1 as a"


@pytest.fixture
def files(tmp_path):
    return PythonFiles(tmp_path)


def loaded(files, environ=None):
    return load_project(files.root, environ=environ or {}).models["t"]


def declared(files, entries: object, more: str = "", kind: str = "table") -> None:
    files.models(TABLE.format(kind, entries, more))


def test_a_file_that_changed_is_named(files):
    files.write("conf/rates.yml", "rate: 1")
    files.write("conf/other.yml", "a: 1")
    declared(files, ["conf/*.yml"])
    before = loaded(files)

    files.write("conf/rates.yml", "rate: 2")

    after = loaded(files)
    assert before.fingerprint.settings != after.fingerprint.settings
    assert before.fingerprint.canonical == after.fingerprint.canonical
    assert outside_differences(before.outside, after.outside) == "conf/rates.yml changed"


def test_a_variable_of_the_environment_counts(files):
    declared(files, ["env:RATE"])

    texts = [loaded(files, each).outside for each in ({}, {"RATE": "1"}, {"RATE": "2"})]

    assert outside_differences(texts[0], texts[1]) == "env:RATE changed"
    assert outside_differences(texts[1], texts[2]) == "env:RATE changed"
    assert loaded(files, {"RATE": "2", "OTHER": "3"}).outside == texts[2]


def test_the_version_of_a_package_counts(files):
    declared(files, ["pkg:pytest"])

    assert loaded(files).outside.splitlines()[1] == f"pkg:pytest {pytest.__version__}"


@pytest.mark.parametrize("kind", ["table", "model", "incremental_table"])
def test_a_version_by_hand_counts_on_every_decorator(files, kind):
    more = ", time_column='ts'" if kind == "incremental_table" else ""
    declared(files, [], f"{more}, version='1'", kind)
    before = loaded(files)

    declared(files, [], f"{more}, version='2'", kind)

    after = loaded(files)
    assert outside_differences(before.outside, after.outside) == "version changed"
    assert before.fingerprint.settings != after.fingerprint.settings


@pytest.mark.parametrize("kind", ["'table'", "'view'"])
def test_files_that_a_macro_reads_count_for_a_model_of_sql(files, kind):
    files.write("seeds_of_macros/rates.csv", "a\n1\n")
    sql = SQL.replace("'table'", kind)
    files.write("models/t.sql", sql.format(["seeds_of_macros/*.csv", "env:RATE"]))
    before = loaded(files)

    files.write("seeds_of_macros/rates.csv", "a\n2\n")

    after = loaded(files)
    named = outside_differences(before.outside, after.outside)
    assert named == "seeds_of_macros/rates.csv changed"
    assert before.fingerprint.settings != after.fingerprint.settings


def test_yaml_beside_a_model_says_what_it_depends_on(files):
    files.write("conf/a.yml", "a: 1")
    files.write("models/t.sql", "select 1 as a")
    files.write(
        "models/models.yml",
        "models: [{name: t, config: {depends_on: [conf/a.yml], version: 3, materialized: table}}]",
    )

    assert [line.split()[0] for line in loaded(files).outside.splitlines()] == [
        "settings",
        "conf/a.yml",
        "version",
    ]


def test_every_partition_has_the_checksum_of_what_it_depends_on(files):
    files.write("conf/a.yml", "a: 1")
    header = "{{ config(materialized='partition', partition_by='d', start='2025-01-01', "
    files.write(
        "models/t.sql",
        header + "depends_on=['conf/a.yml']) }} select @partition_date as d",
    )

    model = loaded(files)

    (version,) = model.versions
    assert version.body.fingerprint.settings == model.fingerprint.settings != ""
    assert "conf/a.yml" in model.outside


def test_a_model_that_depends_on_nothing_outside_has_the_settings_that_it_had(files):
    files.models("@table\ndef t(): ...")

    assert loaded(files).outside == ""


@pytest.mark.parametrize(
    ("entry", "code", "stops"),
    [
        ("/etc/passwd", "path-outside-project", True),
        ("../other/a.yml", "path-outside-project", True),
        ("env:DB_PASSWORD", "bad-value", True),
        ("", "bad-value", True),
        (".", "bad-value", True),
        ("env:", "bad-value", True),
        ("**.yml", "bad-value", True),
        ("conf/*.yml", "no-match", False),
        ("pkg:no-such-package", "no-match", False),
    ],
)
def test_what_cannot_be_depended_on_is_a_finding(files, entry, code, stops):
    declared(files, [entry])

    if stops:
        with pytest.raises(ProjectError) as caught:
            loaded(files)
        found = caught.value.findings
    else:
        found = load_project(files.root, environ={}).findings
    assert [(each.code, str(each.where)) for each in found] == [(code, "models/m/pipeline.py:6")]


def test_a_folder_that_is_named_alone_gets_the_pattern_of_its_files(files):
    files.write("conf/deep/a.yml", "a: 1")
    declared(files, ["conf/"])

    (found,) = load_project(files.root, environ={}).findings

    assert found.sentence == "depends_on: no file matches 'conf/'"
    assert found.hint == "for all files below a folder write conf/**/*"


def test_links_to_nothing_and_pipes_are_findings_at_their_place(files):
    files.write("conf/good.yml", "a: 1")
    (files.root / "conf/lost.yml").symlink_to("nowhere")
    os.mkfifo(files.root / "conf/pipe.yml")
    declared(files, ["conf/*.yml"])

    with pytest.raises(ProjectError) as caught:
        loaded(files)

    assert [(each.code, str(each.where)) for each in caught.value.findings] == [
        ("unreadable-file", "conf/lost.yml:1"),
        ("unreadable-file", "conf/pipe.yml:1"),
    ]


@pytest.mark.parametrize("place", ["conf/deep/a.yml", "conf/deep", "conf"])
def test_files_and_folders_without_read_access_are_findings(place, open_folder, closed):
    files = PythonFiles(open_folder)
    files.write("conf/deep/a.yml", "a: 1")
    declared(files, ["conf/**/*.yml"])
    closed(files.root / place)

    with pytest.raises(ProjectError) as caught:
        load_project(files.root, environ={}, use_cache=False)

    assert [str(each.where) for each in caught.value.findings if not each.is_warning] == [
        f"{place}:1"
    ]


def test_what_is_new_and_what_is_gone_is_named():
    before, after = "settings 1\na.yml 1\nb.yml 1", "settings 2\nb.yml 1\nc.yml 1"

    assert outside_differences(before, after) == (
        "its settings changed; a.yml is gone, c.yml is new"
    )
    assert outside_differences(None, "settings 1\na.yml 1") == "its settings changed; a.yml is new"
    assert outside_differences(None, "") == "its settings changed"
