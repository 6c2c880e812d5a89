"""Where answers go, and how questions are asked."""

import datetime as dt
import io

import pytest

from penstock.app.reports import Overwrite
from penstock.core.errors import UsageError
from penstock.ui.cli.output import CommandOutput, overwrite_asker

NOON = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)
TWO_WEEKS = (("2024-12-02", "2024-12-16"),)
DAILY = Overwrite("daily_user_stats", 15, TWO_WEEKS, NOON - dt.timedelta(hours=2, minutes=30))
ASKED = (
    "WARNING: This will overwrite 15 partitions\n"
    "  Query: daily_user_stats\n"
    "  Range: 2024-12-02 to 2024-12-16\n"
    "  Last successful run: 2 hours ago\n"
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def typed(monkeypatch):
    def on(stdin):
        monkeypatch.setattr("sys.stdin", stdin)

    return on


def ask(*overwrites, yes=False):
    return overwrite_asker(lambda: NOON, yes=yes)(overwrites)


@pytest.mark.parametrize(
    ("answer", "goes_on"),
    [("yes\n", True), ("y\n", False), ("YES\n", False), ("\n", False), ("", False)],
)
def test_only_the_word_yes_goes_on(answer, goes_on, typed, capfd):
    typed(Terminal(answer))

    assert ask(DAILY) is goes_on
    assert capfd.readouterr() == ("", f"{ASKED}\nType 'yes' to confirm: ")


def test_without_a_terminal_nobody_can_be_asked(typed):
    typed(io.StringIO("yes\n"))

    with pytest.raises(UsageError) as caught:
        ask(DAILY)

    assert caught.value.exit_code == 2
    assert caught.value.render() == (
        "error: needs-confirmation: this overwrites 15 partitions (daily_user_stats),"
        " and there is no terminal to ask at\n"
        "  hint: add --yes"
    )


def test_with_yes_nothing_is_asked(typed, capfd):
    typed(io.StringIO())

    assert ask(DAILY, yes=True)
    assert capfd.readouterr() == ("", "")


def test_what_was_done_is_left_out_under_quiet(capsys):
    CommandOutput(quiet=True).print_done("made it")
    CommandOutput(quiet=True).print(1, str, lambda _: {})
    CommandOutput(quiet=True).warn("beside")

    assert capsys.readouterr() == ("1\n", "")


def test_a_document_is_printed_whatever_is_quiet(capsys):
    CommandOutput(as_json=True, quiet=True).print_done("made it")

    assert capsys.readouterr().out == '{\n  "done": "made it"\n}\n'
