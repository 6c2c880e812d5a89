"""What a user reads, and the shell is told, when a command cannot do what it was asked."""

import json
import os
import subprocess
import sys

import pytest

from penstock.core.errors import UsageError

PROJECT_WITH_TYPO = """\
name: shop
taget: {dev: {}}
"""
BROKEN = {
    "penstock.yml": PROJECT_WITH_TYPO,
    "models/marts/daily.sql": "select * from {{ ref('user_clean') }}\n",
}


def test_findings_of_all_files_are_printed_at_once(services, call):
    services(**BROKEN)

    answer = call("list")

    assert answer.code == 1
    assert answer.out == ""
    assert answer.err == (
        "models/marts/daily.sql:1: error: unknown-reference: no model is called 'user_clean'\n"
        "  hint: did you mean 'users_clean'?\n"
        "penstock.yml:2:1: error: unknown-key: unknown key 'taget'\n"
        "  hint: did you mean 'targets'?\n"
        "2 errors, 0 warnings\n"
    )


def test_findings_are_a_document_with_json(services, call):
    services(**BROKEN)

    answer = call("list", "--json")

    assert answer.code == 1
    assert [found["code"] for found in json.loads(answer.out)["findings"]] == [
        "unknown-reference",
        "unknown-key",
    ]
    assert answer.err == ""


def test_a_selector_that_matches_nothing_says_which_tags_there_are(services, call):
    services()

    answer = call("list", "--select", "tag:nothing")

    assert answer.code == 2
    assert answer.err == (
        "error: no-match: no model has tag 'nothing'; there are: daily\n  hint: penstock list\n"
    )


def test_an_error_is_a_document_with_json(services, call):
    services()

    answer = call("show", "user_clean", "--json")

    assert answer.code == 2
    assert json.loads(answer.out) == {
        "error": {
            "code": "unknown-model",
            "message": "no model is called 'user_clean'",
            "where": None,
            "hint": "did you mean 'users_clean'?",
        }
    }
    assert answer.err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], "error: unknown-command: No such command 'nope'"),
        (["run", "--foo"], "error: bad-usage: No such option '--foo'"),
        (["show"], "error: bad-usage: Missing argument 'MODEL'"),
        (["list", "--vars", "x"], "error: bad-value: --vars: 'x' is not NAME=VALUE, nor"),
        (["plan", "--as-of", "noon"], "error: bad-value: --as-of: 'noon' is not a time"),
        (["plan", "elsewhere", "--project-dir", "here"], "error: bad-usage: the project is"),
        (["status", "--state", "taperd"], "error: bad-value: --state: unknown state 'taperd'"),
        (["list", "--target", "production"], "error: unknown-target: no target is called"),
        (["list", "--project-dir", "nowhere"], "error: no-project: there is no penstock.yml in"),
        (["query", "drop table x"], "error: not-a-query: one query is expected"),
        (["query", "select 1 from nothing.here"], "error: unknown-table: "),
        (["init", "."], "error: project-exists: "),
        (["run", "--break"], "error: bad-usage: No such option '--break'"),
    ],
)
def test_a_command_that_makes_no_sense_exits_2(words, said, services, call):
    services()

    answer = call(*words)

    assert answer.code == 2
    assert answer.err.startswith(said)
    assert answer.out == ""


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            "run users_clean",
            "penstock run --select users_clean; a project's folder: --project-dir DIR",
        ),
        (
            "plan models/staging",
            "penstock plan --select models/staging; a project's folder: --project-dir DIR",
        ),
        (
            "run models/staging/log.sql",
            "penstock run --select models/staging/log.sql; a project's folder: --project-dir DIR",
        ),
        (
            "status users_clean",
            "penstock status --select users_clean; a project's folder: --project-dir DIR",
        ),
        ("list a b", "penstock list --select 'a b'; a project's folder: --project-dir DIR"),
        ("statsu", "did you mean penstock status?"),
        ("snapshot rum", "did you mean penstock snapshot run?"),
        ("entities lst", "did you mean penstock entities list?"),
        ("bild", "did you mean penstock build?"),
        ("prse", "did you mean penstock validate?"),
        ("clone", "penstock target clone FROM TO"),
        ("source", "penstock check --sources"),
        (
            "retry",
            "penstock run; it runs what failed or was skipped, and nothing that is current",
        ),
        ("zzz", "penstock --help"),
        ("run --fulll-refresh", "did you mean --full-refresh?"),
        ("run --bogus", "penstock run --help"),
        ("run --sel x", "did you mean --select?"),
        (
            "list --profiles-dir x",
            "leave it out; targets are in penstock.yml: --target NAME",
        ),
        (
            "run --event-time-start 2024-01-01",
            "penstock backfill MODEL --from D --to D, both inclusive",
        ),
        ("run --store-failures", "write store_failures: true at the check"),
        ("run --debug", "did you mean --verbose?"),
        ("run --empty", "penstock test runs models on the rows that a unit test gives"),
        (
            "run --resource-type model",
            "penstock build --resource-type TYPE, penstock list --resource-type TYPE",
        ),
        ("list --zzz", "penstock list --help"),
        ("list --select tags:x", "did you mean 'tag'?"),
        (
            "list --select test_type:unit",
            "penstock test runs unit tests, penstock check all other tests",
        ),
        ("list --resource-type seed", "penstock graph --format json shows seeds"),
        ("list --selector nightly", "selectors.yml has: none"),
        ("backfill", "penstock backfill --help"),
    ],
)
def test_a_word_that_is_not_known_gets_the_one_that_was_meant(words, hint, services, call):
    services()

    answer = call(*words.split())

    assert answer.code == 2
    assert answer.err.splitlines()[1] == f"  hint: {hint}"


def test_a_folder_that_is_none_is_no_model_where_no_project_is(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)

    answer = call("run", "shop")

    assert answer.err == (
        f"error: no-project: there is no penstock.yml in {tmp_path}/shop\n"
        "  hint: penstock init DIR\n"
    )


def test_a_bug_keeps_its_traceback(services, call, monkeypatch):
    services()
    monkeypatch.setattr("penstock.app.commands.show.list_models", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        call("list")


def test_ctrl_c_exits_130(services, call, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    services()
    monkeypatch.setattr("penstock.app.commands.show.list_models", interrupted)

    assert call("list").code == 130


def test_a_reader_that_goes_away_is_no_error(services):
    root = services()
    code = "import sys; from penstock.ui.cli.main import main; sys.exit(main(['graph']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        complaints = process.stderr.read()

    assert complaints == b""


@pytest.mark.parametrize("password", ["hunter2", "a@hunter2", "a/b@c@hunter2", "a:hunter2"])
def test_a_password_in_a_url_is_not_printed(services, call, password):
    url = f"postgresql+psycopg://some-user:{password}@127.0.0.1:1/x"
    services(**{"penstock.yml": f"name: shop\ntargets: {{dev: {{state: '{url}'}}}}\n"})

    answers = [call(*words.split()) for words in ("status", "status --json", "doctor")]

    assert [answer.code for answer in answers[:2]] in ([1, 1], [2, 2])
    said = "".join(answer.out + answer.err for answer in answers)
    assert "127.0.0.1:1" in said
    assert not [word for word in ("hunter2", "some-user") if word in said]


def test_no_secret_value_is_printed_whoever_prints_it(services, call, monkeypatch):
    def prints(*_):
        sys.stdout.write("the word is open-sesame-9\n")
        raise UsageError("odd", "no open-sesame-9 at x://me@h", hint="say open-sesame-9")

    monkeypatch.setenv("PENSTOCK_SECRET_WORD", "open-sesame-9")
    monkeypatch.setattr("penstock.app.commands.show.list_models", prints)
    services()

    answer = call("list")

    assert answer.out == ""
    assert answer.err == "the word is ***\nerror: odd: no *** at x://***@h\n  hint: say ***\n"


def test_the_traceback_of_a_bug_shows_no_secret_value(services):
    root = services()
    code = (
        "import sys, os, penstock.app.commands.show as show\n"
        "from penstock.ui.cli.main import main\n"
        "def bug(*_): raise RuntimeError(os.environ['DBT_ENV_SECRET_WORD'])\n"
        "show.list_models = bug; sys.argv = ['penstock', 'list']; main()"
    )
    environ = {**os.environ, "DBT_ENV_SECRET_WORD": "open-sesame-9"}

    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 1
    assert told.stderr.splitlines()[-1] == "RuntimeError: ***"
    assert "open-sesame-9" not in told.stderr
