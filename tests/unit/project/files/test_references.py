from __future__ import annotations

import pytest

from fakes.versioned_cases import ONLY, daily
from penstock.core.columns.schema import Column
from penstock.project.files.discovery import LIMIT_BYTES, read_content

FIELDS = "- {name: date, type: DATE}\n- {name: users, type: INT64}\n- {name: c, type: STRING}\n"
SCHEMA = "schema:\n      - {name: date, type: DATE}\n      - {name: users, type: INT64}\n"


def names(project) -> tuple[str, ...]:
    return project.models["daily"].versions[0].schema.names


def text_of(project) -> str:
    return project.models["daily"].versions[0].body.text


@pytest.mark.parametrize(
    "form",
    [
        "${{ file: s.yaml }}",
        "${{file: s.yaml}}  # why",
        "'${{ file: s.yaml }}' # why",
        '"${{ file: s.yaml }}"',
        "\n      ${{ file: s.yaml }}",
        "!!str ${{ file: s.yaml }}",
        "${{ file: 's.yaml' }}\r",
    ],
)
def test_a_schema_may_be_a_file(load, form):
    project = load({**daily(SCHEMA, f"schema: {form}\n"), "models/s.yaml": FIELDS})

    assert names(project) == ("date", "users", "c")
    assert list(project.models) == ["daily"]


def test_a_list_in_a_list_is_spliced(load):
    schema = "schema:\n      - ${{ file: c.yaml }}\n      - {name: users, type: INT64}\n"
    two = "- {name: date, type: DATE}\n- {name: k, type: INT}\n"

    project = load({**daily(SCHEMA, schema), "models/c.yaml": two})

    assert names(project) == ("date", "k", "users")
    assert list(project.models) == ["daily"]


def test_an_included_mapping_is_merged_and_keys_beside_it_win(load):
    destination = "  dataset: mart\n  table: daily\n  partition: {field: date, type: DAY}\n"
    files = daily(destination, "  <<: ${{ file: parts/_to.yml }}\n  table: other\n")
    to = "dataset: mart\ntable: daily\npartition: ${{ file: ../p.yml }}\n"

    project = load({**files, "models/parts/_to.yml": to, "models/p.yml": "field: date\n"})

    assert str(project.models["daily"].table) == "mart.other"
    assert project.models["daily"].strategy.field == "date"


def test_included_text_is_kept_byte_for_byte(load):
    files = daily("sql: daily.sql", "sql: ${{ file: q.sql }}")

    project = load({**files, "models/q.sql": "SELECT 1 AS a -- x: #b"})

    assert text_of(project) == "SELECT 1 AS a -- x: #b"
    assert project.models["daily"].versions[0].body.source == "q.sql"


def test_sql_may_be_the_first_key_of_an_item(load):
    keys = "version: 1\n    effective_from: 2024-01-01\n    "
    files = daily(f"{keys}sql: daily.sql\n", f"sql: ${{{{ file: q.sql }}}}\n    {keys[:-4]}")
    text = "SELECT date,\n  1 AS users -- x: #b\nFROM raw.events\n"

    project = load({**files, "models/q.sql": text})

    assert text_of(project) == text


def test_comments_and_block_scalars_are_text(load):
    sql = "sql: |  # ${{ file: nope }}\n      select '\n      ${{ file: nope }}\n      ' as x"

    project = load(daily("sql: daily.sql", sql, more="# ${{ file: nope }}\n"))

    assert text_of(project) == "select '\n${{ file: nope }}\n' as x\n"


@pytest.mark.parametrize(
    "said", ["see ${{ file: nope }}", "'a ${{ file: nope }} b'", "${{ nothing }}"]
)
def test_longer_strings_are_text(findings, load, said):
    description = f"description: {said}\n" if said != "see ${{ file: nope }}" else ""

    assert findings(daily(more=description)) == []


def test_a_bare_reference_in_a_flow_collection_is_a_syntax_error(findings):
    files = daily(more="tags: [${{ file: t.yml }}]\n")

    assert findings(files)[0].startswith("models/daily.yaml:13:9: error: yaml-syntax")


def test_a_quoted_reference_in_a_flow_collection_is_one(load):
    files = {**daily(more='tags: ["${{ file: t.yml }}", own]\n'), "models/t.yml": "[a, b]\n"}

    assert load(files).models["daily"].tags == ("a", "b", "own")


def test_a_cycle_of_files_prints_its_chain(findings):
    files = daily(SCHEMA, "schema: ${{ file: b.yaml }}\n")
    files["models/b.yaml"] = "- ${{ file: c.yaml }}\n"
    files["models/c.yaml"] = "- {name: x, type: INT}\n- ${{ file: b.yaml }}\n"

    assert findings(files) == [
        "models/c.yaml:2:3: error: include-cycle: models/b.yaml → models/c.yaml → models/b.yaml"
    ]


def test_a_model_that_includes_itself_is_found(findings):
    files = {
        **daily(SCHEMA, "schema: ${{ file: b.yaml }}\n"),
        "models/b.yaml": "- ${{ file: daily.yaml }}\n",
    }

    assert findings(files) == [
        (
            "models/b.yaml:1:3: error: include-cycle: "
            "models/daily.yaml → models/b.yaml → models/daily.yaml"
        )
    ]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("s.yaml", "include-not-found: there is no file models/s.yaml"),
        ("../../etc/x", "include-outside-project: '../../etc/x' is outside the project"),
        ("/etc/x", "include-outside-project: '/etc/x' is outside the project"),
    ],
)
def test_what_cannot_be_included_is_said(findings, path, says):
    assert findings(daily(SCHEMA, f"schema: ${{{{ file: {path} }}}}\n")) == [
        f"models/daily.yaml:10:13: error: {says}"
    ]


def test_findings_of_included_content_point_into_its_file(findings):
    files = daily(SCHEMA, "schema: ${{ file: sub/s.yaml }}\n")
    files["models/sub/s.yaml"] = "- name: date\n  type: DATE\n- name: users\n  typ: INT64\n"

    assert findings(files) == [
        "models/sub/s.yaml:3:3: error: missing-key: 'type' is missing",
        "models/sub/s.yaml:4:3: error: unknown-key: unknown key 'typ'",
    ]


def test_an_included_file_that_is_no_yaml_is_one_finding(findings):
    files = {**daily(SCHEMA, "schema: ${{ file: s.yaml }}\n"), "models/s.yaml": "- [\n"}

    assert [f.split(": ")[2] for f in findings(files)] == ["yaml-syntax"]


def test_a_broken_file_takes_its_sql_with_it(findings):
    files = {
        "models/daily.yaml": "name: [\n",
        "models/daily.v1.sql": "select @partition_date as d",
        "models/daily.v2.sql": "select 2 as d",
    }

    assert [f.split(": ")[2] for f in findings(files)] == ["yaml-syntax"]


def test_files_may_lie_outside_of_the_model_folders(load):
    files = {**daily(SCHEMA, "schema: ${{ file: ../parts/s.yaml }}\n"), "parts/s.yaml": FIELDS}

    assert load(files).models["daily"].versions[0].schema.columns[2] == Column("c", "string")


@pytest.mark.parametrize("name", ["_common.yml", "_daily.yaml"])
def test_files_with_an_underscore_are_fragments(load, name):
    text = ONLY["models/daily.yaml"] if "daily" in name else "- {name: a, type: INT}\n"

    assert list(load({**ONLY, f"models/{name}": text}).models) == ["daily"]


def test_files_with_an_underscore_may_describe(load, findings):
    described = {"models/_m.yml": "sources: [{name: raw, tables: [{name: events}]}]\n"}
    misspelt = {"models/_n.yml": "surces: []\n"}

    assert list(load({**ONLY, **described}).sources) == ["raw.events"]
    assert findings(misspelt) == ["models/_n.yml:1:1: error: unknown-key: unknown key 'surces'"]


def test_a_model_may_be_merged_from_another_file(load):
    text = ONLY["models/daily.yaml"].replace("name: daily\n", "", 1)
    files = {**ONLY, "models/daily.yaml": "name: other\n<<: ${{ file: _d.yaml }}\n"}

    assert list(load({**files, "models/_d.yaml": text}).models) == ["other"]


def test_included_files_are_no_strays(findings):
    files = {**daily(more="meta: {a: '${{ file: a.json }}'}\n"), "models/a.json": "{}"}

    assert findings(files) == []


def test_every_odd_file_is_a_finding_of_its_own(findings):
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


@pytest.mark.parametrize(
    ("path", "hint"),
    [("models/a.sql", "split it, or load it as a seed"), ("entities/a.json", "split it")],
)
def test_a_file_that_is_too_large_is_told_what_would_help_it(tmp_path, path, hint):
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_bytes(b" " * (LIMIT_BYTES + 1))
    found = []

    assert read_content(tmp_path, path, found) is None
    assert [(each.code, each.hint) for each in found] == [("file-too-large", hint)]


def test_stray_files_are_warnings_and_files_of_python_are_none(findings):
    files = {
        "models/notes.docx": b"x",
        "models/p.py": "",
        "models/README.md": "",
    }

    assert findings(files) == ["models/notes.docx:1: warning: stray-file: this is not a model"]
