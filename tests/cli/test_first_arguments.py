"""Where a command's project, models and numbers may stand, and what they may be."""

import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def above(services, call, monkeypatch):
    """Write the project and go to the folder above it; the project is called by its name."""
    root = services()
    monkeypatch.chdir(root.parent)

    def called(words):
        return call(*words.replace("SHOP", root.name).split())

    return called


@pytest.mark.parametrize(
    "command",
    [
        "validate",
        "list",
        "graph",
        "plan",
        "status",
        "audit",
        "diff",
        "recover",
        "schema",
        "entities list",
        "watermark show",
    ],
)
def test_the_first_argument_of_a_command_without_others_is_the_project(above, command):
    assert above(f"{command} SHOP").code == 0


@pytest.mark.parametrize(
    "command",
    [
        "show SHOP users_clean",
        "show SHOP users_clean --json --target prod",
        "show --target prod SHOP users_clean",
        "show users_clean --project-dir SHOP",
        "history SHOP log",
        "diff SHOP log",
        "watermark show SHOP log",
        "watermark set SHOP log 2024-03-01",
        "unlock SHOP staging.log",
    ],
)
def test_the_project_may_stand_before_a_commands_own_arguments(above, command):
    assert above(command).code == 0


def test_an_only_argument_that_is_needed_is_no_project(above):
    answer = above("show SHOP")

    assert (answer.code, "no-project" in answer.err) == (2, True)


def test_with_a_project_that_is_named_no_argument_is_one(services, call, tmp_path):
    services()
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "penstock.yml").write_text("name: other\n")

    answer = call("watermark", "show", "log", "--project-dir", ".")

    assert (answer.code, answer.out) == (0, "no watermarks\n")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("list users_clean", "penstock list --select users_clean; "),
        ("list . users_clean", "penstock list --select users_clean; "),
        ("show users_clean log", ""),
        ("validate . log", ""),
    ],
)
def test_the_hint_for_a_stray_argument_names_the_flag_of_the_project(services, call, words, hint):
    services()

    answer = call(*words.split())

    assert answer.code == 2
    assert answer.err.endswith(f"hint: {hint}a project's folder: --project-dir DIR\n")


def test_a_folder_of_no_project_is_told_the_flag_where_models_cannot_be_named(services, call):
    services()

    assert call("validate", "log").err == (
        "error: bad-usage: 'log' is not a project's folder\n"
        "  hint: penstock validate --project-dir DIR\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        "history log --limit 99999999999999999999",
        "status --days 99999999999999999999",
        "run --threads 2147483648",
        "run --wait 1e300",
        "run --wait inf",
        "diff --context 99999999999",
        "query select --limit 99999999999999999999",
        "list --select 99999999999999999999+log",
        f"list --select {'9' * 5000}+log",
    ],
)
def test_a_number_of_a_flag_has_an_upper_bound(services, call, words):
    services()

    answer = call(*words.split())

    assert (answer.code, answer.err.startswith("error: bad-")) == (2, True)


def test_a_repeated_select_says_how_many_models_it_leaves_out_and_how_to_take_them(services, call):
    services()

    answer = call("list", "--select", "users_clean+", "--select", "daily log")

    assert answer.out.splitlines()[1].split()[0] == "daily"
    assert answer.err == (
        "several --select narrow: 2 models that only some of them select are left out; "
        "to take all: --select 'users_clean+ daily log'\n"
    )


@pytest.mark.parametrize(
    "words", ["--select daily --select daily", "-s daily", "--quiet -s a -s b"]
)
def test_a_select_that_leaves_nothing_out_says_nothing(services, call, words):
    services(**{"models/a.sql": "select 1 as id", "models/b.sql": "select 1 as id"})

    assert "narrow" not in call("list", *words.split()).err


def test_a_query_without_spark_says_what_to_install(services, call, monkeypatch):
    services()
    for name in ("pyspark", "delta"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not there

    answers = [call(*words) for words in (["query", "select 1"], ["query", "select 1", "--json"])]

    assert [answer.code for answer in answers] == [2, 2]
    assert answers[0].err == (
        "error: spark-missing: pyspark and delta-spark are not installed\n"
        "  hint: install them with: pip install 'penstock-delta[spark]'\n"
    )


def chain(root, length):
    """Write models of which each is a view over the one before."""
    folder = root / "models" / "chain"
    folder.mkdir()
    for number in range(length):
        below = f"{{{{ ref('v{number - 1}') }}}}" if number else "{{ ref('users_clean') }}"
        (folder / f"v{number}.sql").write_text(f"select id from {below}\n", encoding="utf-8")


@pytest.mark.parametrize("length", [1_200, pytest.param(10_000, marks=pytest.mark.matrix)])
def test_a_long_chain_of_views_is_looked_at_without_a_word_about_its_length(services, call, length):
    chain(services(), length)

    answers = {
        words: call(*words.split())
        for words in ("validate", "list", "graph", "plan", "status", "diff", "plan --json")
    }

    assert {words: answer.code for words, answer in answers.items()} == dict.fromkeys(answers, 0)
    assert len(answers["list"].out.splitlines()) == length + 4
    assert f"Total: {length + 3} steps." in answers["plan"].out.replace(",", "")
    assert f"chain.v{length - 1} (v1)" in answers["graph"].out
    assert max(map(len, answers["graph"].out.splitlines())) < 500


def test_validate_reports_errors_of_unit_tests_beside_those_of_models(services, call):
    tests = """\
        unit_tests:
          - {name: a, model: users_clean, expct: {rows: []}}
          - {name: b, model: broken, expect: {rows: []}}
          - {name: c, model: below, expect: {rows: []}}
          - {name: d, model: gone, expect: {row_count: 1}}
        """
    services(
        **{
            "tests/t.yml": tests,
            "models/broken.sql": "select 1 as id from {{ ref('nothing') }}",
            "models/below.sql": "select id from {{ ref('broken') }}",
            "models/worse.sql": "{{ config(materialised='view') }} select 1 as id",
        }
    )

    answer = call("validate", "--json")

    assert answer.code == 1
    found = json.loads(answer.out)["findings"]
    assert [(each["code"], each["file"], each["line"]) for each in found] == [
        ("unknown-reference", "models/broken.sql", 1),
        ("unknown-key", "models/worse.sql", 1),
        ("missing-input", "tests/t.yml", 2),
        ("test-without-expectation", "tests/t.yml", 2),
        ("unknown-key", "tests/t.yml", 2),
        ("unknown-model", "tests/t.yml", 5),
    ]
    assert [each.name for each in Path(".penstock").iterdir()] == ["cache"]
