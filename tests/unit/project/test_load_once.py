"""What is said of a project: at the cause, once, and of the models that are meant."""

from __future__ import annotations

import pytest

from penstock.app.planning.make_plan import findings_on

SOURCES = "sources:\n  - name: raw\n    tables:\n      - {name: a, path: ../in, format: csv}\n"
READS = "select * from {{ source('raw', 'a') }}"
MACROS = {
    "macros/m.sql": "{% macro boom() %}\n{{ 1 / 0 }}{% endmacro %}"
    "{% macro asks() %}\n\n{{ var('gone') }}{% endmacro %}"
}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("boom()", "template-error: division by zero (in macros/m.sql:2)"),
        ("asks()", "missing-var: no var is called 'gone' (in macros/m.sql:4)"),
    ],
)
def test_an_error_in_a_macro_names_the_line_of_the_call_and_that_of_the_macro(findings, call, said):
    files = {**MACROS, "models/a.sql": f"select\n\n {{{{ {call} }}}}"}

    assert findings(files) == [f"models/a.sql:3: error: {said}"]


@pytest.mark.parametrize(
    ("path", "broken", "said"),
    [
        (
            "models/s.yml",
            SOURCES + "  ] :\n",
            "models/s.yml:5:3: error: yaml-syntax: expected <block end>, but found ']'",
        ),
        ("models/b.sql", b"\xff", "models/b.sql:1: error: not-utf8: byte 0xff is not UTF-8"),
        ("models/b.sql", "", "models/b.sql:1: error: empty-file: the file is empty"),
        (
            "macros/c.sql",
            "{% macro cents(x) %}{{ x }",
            "macros/c.sql:1: error: template-syntax: unexpected '}'",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_the_only_finding(findings, path, broken, said):
    files = {
        "models/s.yml": SOURCES,
        "models/b.sql": READS,
        "models/c.sql": "select {{ cents('a') }} as a from {{ ref('b') }}",
        "macros/c.sql": "{% macro cents(x) %}{{ x }}{% endmacro %}",
        "models/docs.yml": "models:\n  - name: b\n",
    }

    assert findings(files) == []
    assert findings({**files, path: broken}) == [said]


def test_a_name_that_no_broken_file_holds_is_still_missed(findings):
    files = {"models/s.yml": "sources: [\n", "models/a.sql": "select * from {{ ref('nowhere') }}"}

    assert [each.split(": ")[2] for each in findings(files)] == ["unknown-reference", "yaml-syntax"]


@pytest.mark.parametrize("scheme", ["abfss", "gs", "hdfs"])
def test_a_remote_source_is_a_finding_at_its_line_without_a_credential(findings, scheme):
    place = f"{scheme}://me:hunter2@bucket/x?sig=hunter2"
    source = SOURCES.replace("../in", f"'{place}'")

    found = findings({"models/s.yml": source, "models/a.sql": READS}, hints=False)

    assert found == [
        (
            f"models/s.yml:4:25: error: remote-not-supported: {scheme}: is not supported yet; "
            "tables and files are read from disks and from S3"
        )
    ]


@pytest.mark.parametrize(
    "place", ["s3a://me:hunter2@bucket/x", "s3a://bucket/x?sig=hunter2", "S3A:///x"]
)
def test_a_place_in_a_bucket_has_no_credential_and_nothing_else(findings, place):
    source = SOURCES.replace("../in", f"'{place}'")

    assert findings({"models/s.yml": source, "models/a.sql": READS}, hints=False) == [
        (
            "models/s.yml:4:25: error: bad-value: "
            "a location of s3a is s3a://BUCKET/PATH and nothing else"
        )
    ]


@pytest.mark.parametrize(
    ("place", "part"),
    [
        ("s3://lake/a#b", "#"),
        ("s3://lake/a%41b", "%41"),
        ("s3://lake//x", "//"),
        ("s3://lake/a/./x", "."),
        ("s3a://lake/a/..", ".."),
        ("/data/a%2Fb", "%2F"),
        ("file:///data/a#b", "#"),
    ],
)
def test_a_place_that_readers_of_tables_take_for_another_is_a_finding(findings, place, part):
    source = SOURCES.replace("../in, format: csv", f"'{place}'")
    project = f"name: shop\ntargets:\n  dev: {{warehouse: '{place}'}}\n"
    sentence = (
        f"error: bad-value: a location cannot contain '{part}', which may mean another folder"
    )

    assert findings(
        {"penstock.yml": project, "models/s.yml": source, "models/a.sql": READS}, hints=False
    ) == [f"models/s.yml:4:25: {sentence}", f"penstock.yml:3:20: {sentence}"]


def test_a_folder_of_files_on_a_disk_may_have_any_name(load):
    source = SOURCES.replace("../in", "'/data/a%41#b'")

    (found,) = load({"models/s.yml": source, "models/a.sql": READS}).sources.values()

    assert found.path == "/data/a%41#b"


def test_a_place_in_a_bucket_is_kept_as_it_is_written(load):
    source = SOURCES.replace("../in", "'S3://lake/raw/x/'")

    (found,) = load({"models/s.yml": source, "models/a.sql": READS}).sources.values()

    assert found.path == "s3://lake/raw/x/"


def test_a_remote_warehouse_is_one_finding_whatever_lies_in_it(findings):
    project = "name: shop\ntargets:\n  dev: {warehouse: 'gs://key:hunter2@lake/w'}\n"
    files = {"penstock.yml": project, "models/s.yml": "sources: [{name: r, tables: [{name: a}]}]"}

    assert findings(files) == [
        (
            "penstock.yml:3:20: error: remote-not-supported: gs: is not supported yet; "
            "tables and files are read from disks and from S3"
        )
    ]


def test_of_fifty_known_keys_a_finding_says_where_all_are_printed(findings):
    (found,) = findings({"models/a.sql": "{{ config(zzz=1) }}select 1 as a"}, hints=True)

    hint = found.partition("hint: ")[2]
    assert hint == "delete it; penstock schema prints the 72 keys that are known here"


def test_a_command_repeats_no_warning_of_models_that_it_did_not_select(load):
    files = {
        "models/a.sql": "{{ config(docs={}) }}select 1 as one",
        "models/b.sql": "select 1 as one",
        "models/d.yml": "models:\n  - name: b\n    config: {docs: x}\n  - name: c\n",
        "models/c.sql": "select 1 as one",
        "packages.yml": "packages: []",
    }

    project = load(files)

    assert [str(each.where) for each in findings_on(project, ["c"])] == ["packages.yml:1"]
    assert [str(each.where) for each in findings_on(project, ["a"])] == [
        "models/a.sql:1",
        "packages.yml:1",
    ]
    assert [str(each.where) for each in findings_on(project, ["b"])] == [
        "models/d.yml:3:14",
        "packages.yml:1",
    ]
