"""Projects with mistakes in them, from the command line."""

import pytest

TWO = "{{ config(materialized='table') }}\nselect * from {{ ref('two') }}\n"


@pytest.fixture
def only(services):
    """Write a project of these models alone."""

    def written(**models):
        gone = dict.fromkeys(
            (
                "models/sources.yml",
                "models/staging/users_clean.sql",
                "models/staging/log.sql",
                "models/marts/daily.sql",
            )
        )
        return services(**(gone | models))

    return written


def test_one_validate_lists_all_broken_files_and_creates_no_state(only, call):
    root = only(
        **{
            "models/a/bad_jinja.sql": "select 1\n{% if %}\n",
            "models/a/one.sql": TWO,
            "models/a/same.sql": "select 1 as id\n",
            "models/a/two.sql": "select * from {{ ref('one') }}\n",
            "models/a/unknown_key.sql": "{{ config(materialised='table') }}\nselect 1 as id\n",
            "models/a/unknown_ref.sql": "select *\nfrom {{ ref('sane') }}\n",
            "models/b/same.sql": "select 1 as id\n",
        }
    )

    answer = call("validate")

    assert answer.code == 1
    assert answer.err == ""
    assert answer.out == (
        "models/a/bad_jinja.sql:2: error: template-syntax: "
        "Expected an expression, got 'end of statement block'\n"
        "  hint: close what is opened: {{ with }}, {% if %} with {% endif %}, and quotes\n"
        "models/a/one.sql:2: error: dependency-cycle: "
        "one → two → one (models/a/one.sql:2, models/a/two.sql:1)\n"
        "  hint: a model cannot read what is built from it; take one of these references out\n"
        "models/a/unknown_key.sql:1: error: unknown-key: unknown key 'materialised'\n"
        "  hint: did you mean 'materialized'?\n"
        "models/a/unknown_ref.sql:2: error: unknown-reference: no model is called 'sane'\n"
        "  hint: did you mean 'same'?\n"
        "models/b/same.sql:1: error: duplicate-model: "
        "'same' is defined in models/a/same.sql and models/b/same.sql\n"
        "  hint: model names are unique in the whole project; rename one\n"
        "5 errors, 0 warnings\n"
    )
    assert list(root.glob(".penstock/state*")) == []


@pytest.mark.parametrize("command", ["validate", "list", "plan", "run"])
def test_a_cycle_is_printed_with_its_path_and_its_three_places(command, only, call):
    only(
        **{
            "models/m/a.sql": "select *\nfrom {{ ref('c') }}\n",
            "models/m/b.sql": "select * from {{ ref('a') }}\n",
            "models/m/c.sql": "select * from m.b\n",
        }
    )

    answer = call(command)

    assert answer.code == 1
    assert answer.out + answer.err == (
        "models/m/a.sql:2: error: dependency-cycle: "
        "a → b → c → a (models/m/a.sql:2, models/m/b.sql:1, models/m/c.sql:1)\n"
        "  hint: a model cannot read what is built from it; take one of these references out\n"
        "1 error, 0 warnings\n"
    )


def test_a_misspelt_reference_is_answered_with_the_model_that_was_meant(services, call):
    services(**{"models/marts/daily.sql": "select count(*) as n\nfrom {{ ref('user_clean') }}\n"})

    answer = call("validate")

    assert answer.code == 1
    assert answer.out == (
        "models/marts/daily.sql:2: error: unknown-reference: no model is called 'user_clean'\n"
        "  hint: did you mean 'users_clean'?\n"
        "1 error, 0 warnings\n"
    )


def test_a_source_without_its_path_is_named_where_it_is_declared(services, call):
    root = services()
    (root / "landing" / "users.csv").unlink()

    answers = [call(command, "--select", "users_clean") for command in ("plan", "run")]

    error = (
        "models/sources.yml:4:9: source-missing: "
        f"source raw.users has no files: {root}/landing/users.csv does not exist\n"
    )
    hint = "hint: correct `path`, or deliver the files\n"
    assert [answer.code for answer in answers] == [1, 1]
    assert answers[0].out == (
        f"Cannot be run:\n  {error}    {hint}\nTotal: 0 steps, 1 cannot be run. Nothing was run.\n"
    )
    assert answers[1].out == (
        f"[1/1] ✗ users_clean  FAILED  {error.partition(': ')[2]}"
        f"{error}  {hint}"
        "Done: 0 steps. 1 failed.\nResume: penstock run --select users_clean\n"
    )
    assert list(root.glob("warehouse/*")) == []


ODD = {
    "models/latin.sql": "select 'a'\n, 'é'".encode("latin-1"),
    "models/nul.sql": b"select 1\n\0",
    "models/empty.sql": b"",
    "models/big.sql": b"-- x\n" * 1_000_000,
    "models/two words.sql": b"select 1",
    "models/quo'te.sql": b"select 1",
    "models/up.sql": b"select 1\n{% include '../secret.sql' %}",
}


@pytest.mark.parametrize("command", ["validate", "list", "plan", "run"])
def test_every_odd_file_is_a_finding_and_never_a_traceback(command, only, call):
    root = only(**{"models/fine.sql": "select 1 as id\n"})
    for name, data in ODD.items():
        (root / name).write_bytes(data)

    answer = call(command)

    assert answer.code == 1
    assert [line for line in (answer.out + answer.err).splitlines() if "hint: " not in line] == [
        (
            "models/big.sql:1: error: file-too-large: "
            "the file has 5,000,000 bytes; at most 1,000,000 are read"
        ),
        "models/empty.sql:1: error: empty-file: the file is empty",
        "models/latin.sql:2: error: not-utf8: byte 0xe9 is not UTF-8",
        "models/nul.sql:2: error: not-utf8: the file holds a NUL byte",
        """models/quo'te.sql:1: error: bad-name: "quo'te" cannot name a model""",
        "models/two words.sql:1: error: bad-name: 'two words' cannot name a model",
        "models/up.sql:2: error: path-outside-project: '../secret.sql' lies outside of macros/",
        "7 errors, 0 warnings",
    ]


def test_one_validate_lists_what_four_snapshots_lack(only, call):
    header = "{{{{ config(materialized='snapshot', {}) }}}}\nselect 1 as id, 2 as value\n"
    only(
        **{
            "models/s/a.sql": header.format("strategy='check', check_cols='value'"),
            "models/s/b.sql": header.format("unique_key='id'"),
            "models/s/c.sql": header.format("unique_key='id', strategy='timestamp'"),
            "models/s/d.sql": header.format("unique_key='id', snapshot={'strategy': 'check'}"),
        }
    )

    answer = call("validate")

    assert answer.code == 1
    assert answer.out == (
        "models/s/a.sql:1: error: snapshot-key-missing: snapshot 'a' has no unique_key\n"
        "  hint: add unique_key='…' (or a list)\n"
        "models/s/b.sql:1: error: snapshot-strategy-missing: snapshot 'b' has no strategy\n"
        "  hint: write snapshot={'strategy': 'timestamp'} or 'check'\n"
        "models/s/c.sql:1: error: updated-at-missing: strategy 'timestamp' needs updated_at\n"
        "  hint: name the column that tells when a row changed\n"
        "models/s/d.sql:1: error: check-cols-missing: strategy 'check' needs check_cols\n"
        "  hint: a list of columns, or 'all'\n"
        "4 errors, 0 warnings\n"
    )


def test_a_column_that_changes_by_itself_is_a_warning(only, call):
    header = "materialized='snapshot', unique_key='id', strategy='check', check_cols='value'"
    text = f"{{{{ config({header}) }}}}\nselect 1 as id,\n  now() as value\n"
    only(**{"models/s/a.sql": text})

    answer = call("validate")

    assert answer.code == 0
    assert answer.out == (
        "models/s/a.sql:3: warning: volatile-change-column: "
        "'value' differs on every run; each run would open a version of every row\n"
        "  hint: compare other columns, or select this one from the source\n"
        "0 errors, 1 warning\n"
    )
