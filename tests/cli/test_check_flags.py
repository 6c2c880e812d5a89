"""The flags of `check` and those about checks of `run`, `plan`, `sync`, `backfill`, `history`."""

import json

import pytest

import penstock
from penstock.core.errors import UsageError


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--all", "--date", "2024-12-01"], "--all and --date exclude each other\n"),
        (["--all", "--from", "2024-12-01"], "--all and --from exclude each other\n"),
        (["--all", "--query", "daily"], "--all and --query exclude each other\n"),
        (["--all", "--model=daily"], "--all and --model exclude each other\n"),
        (["--all", "-s", "daily"], "--all and --select exclude each other\n"),
        (["--sources", "--check", "a"], "--sources and --check exclude each other\n"),
        (["--sources", "--before"], "--sources and --before exclude each other\n"),
        (["--sources", "--after"], "--sources and --after exclude each other\n"),
        (["--sources", "--all"], "--sources and --all exclude each other\n"),
        (["--sources", "--date", "2024-12-01"], "--sources and --date exclude each other\n"),
        (["--sources", "--partition", "2024"], "--sources and --partition exclude each other\n"),
        (["--sources", "--exclude", "daily"], "--sources and --exclude exclude each other\n"),
        (["--all", "--exclude", "daily"], "--all and --exclude exclude each other"),
        (["--all", "--partition", "2024"], "--all and --partition exclude each other"),
        (["--date", "2024-12-01", "--to", "2024-12-02"], "--date and --to exclude each other"),
        (
            ["--partition", "2024", "--from", "2024-12-02"],
            "--partition and --from exclude each other",
        ),
        (["--accept", "0192"], "--accept needs --reason"),
        (["--accept", "0192", "--reason", " "], "--accept needs --reason"),
        (["--reason", "a holiday"], "--reason belongs to --accept"),
        (
            ["--accept", "0192", "--reason", "a holiday", "--drop-quarantine", "all"],
            "--accept and --drop-quarantine exclude each other",
        ),
        (
            ["--drop-quarantine", "all", "--query", "daily"],
            "--drop-quarantine evaluates nothing and goes with no flag",
        ),
        (
            ["--accept", "0192", "--reason", "a holiday", "--strict"],
            "--accept evaluates nothing and goes with no flag",
        ),
    ],
)
def test_flags_that_exclude_each_other_are_refused(words, said, services, call):
    services()

    answer = call("check", *words)

    assert answer.code == 2
    assert answer.err.startswith(f"error: option-conflict: {said}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--drop-quarantine", ""], "unknown-step: '' names no quarantine\n"),
        (["--check", "nope"], "unknown-check: no selected model has a check called 'nope'\n"),
        (["--partition", "soon"], "invalid-partition: 'soon' is not "),
    ],
)
def test_words_that_name_nothing_are_refused_before_anything_is_looked_at(
    words, said, services, call
):
    services()

    answer = call("check", *words)

    assert answer.code == 2
    assert answer.err.startswith(f"error: {said}")


def test_python_refuses_the_same(services):
    services()

    with pytest.raises(UsageError, match="--all and --select exclude each other"):
        penstock.check(".", everything=True, select=["daily"])
    with pytest.raises(UsageError, match="--all and --date exclude each other"):
        penstock.check(".", everything=True, date="2024-12-01")
    with pytest.raises(UsageError, match="--date and --from exclude each other"):
        penstock.check(".", date="2024-12-01", from_="2024-12-01")
    with pytest.raises(UsageError, match="--sources and --check exclude each other"):
        penstock.check(".", sources=True, checks=["a"])
    with pytest.raises(UsageError, match="'later' is not a phase"):
        penstock.check(".", phases=["later"])
    with pytest.raises(UsageError, match="on_failure is 'stop'"):
        penstock.run(".", on_failure="stop")


@pytest.mark.parametrize("command", ["run", "plan", "sync"])
def test_a_mode_that_is_none_is_refused(command, services, call):
    services()

    answer = call(command, "--on-failure", "stop")

    assert answer.code == 2
    assert "'stop' is not one of 'flag', 'block', 'rollback'" in answer.err


def test_the_history_of_checks_starts_empty(services, call):
    services()

    answer = call("history", "daily", "--checks")
    document = json.loads(call("history", "daily", "--checks", "--json").out)

    assert (answer.code, answer.out) == (0, "no results of checks\n")
    assert document == {
        "command": "history",
        "model": "daily",
        "checks": [],
        "truncated": False,
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--check", "x"], "option-conflict: --check needs --checks"),
        (["--checks", "--show-sql"], "option-conflict: --checks and --show-sql exclude each other"),
        (["--checks", "--check", "x"], "unknown-check: daily has no check called 'x'"),
    ],
)
def test_a_history_that_cannot_be_shown_is_refused(words, said, services, call):
    services()

    answer = call("history", "daily", *words)

    assert answer.code == 2
    assert answer.err.startswith(f"error: {said}")
