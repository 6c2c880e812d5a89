"""Words of dbt on a command line: rewritten, left out, or answered."""

import pytest

from fakes.wording import wrong_names
from penstock.core.errors import UsageError
from penstock.ui.cli.dbt_words import (
    OTHER_COMMANDS,
    OTHER_FLAGS,
    SAME_COMMANDS,
    WITHOUT_EFFECT,
    translate,
)
from penstock.ui.cli.main import COMMANDS


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("ls --select a", "list --select a"),
        ("parse", "validate"),
        ("debug", "doctor"),
        ("source freshness --select raw", "check --sources --select raw"),
        ("snapshot", "snapshot run"),
        ("snapshot --select a", "snapshot run --select a"),
        ("snapshot verify a", "snapshot verify a"),
        ("snapshot --help", "snapshot --help"),
        ("show --inline=X --limit 5", "query --limit 5 X"),
        ("show --limit 5 --inline X", "query --limit 5 X"),
        ("show orders", "show orders"),
        ("--quiet run --select a", "run --quiet --select a"),
        ("--log-format json --no-partial-parse ls", "list --log-format json"),
        ("--target prod source freshness", "check --sources --target prod"),
        ("--target test run", "run --target test"),
        ("run --no-version-check --no-write-json", "run"),
        ("run --defer --state prod --select state:modified+", None),
        ("run --defer --defer-to prod", "run --defer-to prod"),
        ("run --defer --state=prod", "run --defer-to=prod"),
        ("run --state prod", "run --state prod"),
        ("nope --no-partial-parse", "nope --no-partial-parse"),
        ("--version", "--version"),
        ("--nope", "--nope"),
        ("", ""),
    ],
)
def test_a_word_that_means_the_same_is_rewritten(theirs, ours):
    expected = ours if ours is not None else "run --defer-to prod --select state:modified+"

    assert translate(theirs.split(), COMMANDS) == expected.split()


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        ("deps", "unknown-command", OTHER_COMMANDS["deps"]),
        ("--quiet retry", "unknown-command", OTHER_COMMANDS["retry"]),
        ("run-operation grant", "unknown-command", OTHER_COMMANDS["run-operation"]),
        ("source", "unknown-command", "penstock check --sources"),
        ("run --defer", "option-conflict", "write --defer-to TARGET instead"),
        (
            "show --select orders",
            "bad-usage",
            "penstock show orders; its rows: penstock query \"select * from {{ ref('orders') }}\"",
        ),
    ],
)
def test_a_word_that_does_not_exist_is_answered_with_ours(words, code, hint):
    with pytest.raises(UsageError) as caught:
        translate(words.split(), COMMANDS)

    assert (caught.value.code, caught.value.hint) == (code, hint)


def test_what_is_said_instead_exists():
    named = {**OTHER_COMMANDS, **OTHER_FLAGS}

    assert {word: found for word, hint in named.items() if (found := [*wrong_names(hint)])} == {}
    assert {ours[0] for ours in SAME_COMMANDS.values()} <= COMMANDS.keys()
    assert WITHOUT_EFFECT.isdisjoint(OTHER_FLAGS)
    assert OTHER_COMMANDS.keys().isdisjoint(COMMANDS)
