"""Commands that change what is remembered: watermark, state, unlock; and their questions."""

import getpass
import json
import socket
import sys

import pytest

ME = f"{getpass.getuser()}@{socket.gethostname()}"


def marks(call, *words):
    return json.loads(call("watermark", "show", *words, "--json").out)


def test_a_watermark_is_set_with_who_and_why(services, call):
    services()

    answer = call("watermark", "set", "log", "2024-03-01", "--reason", "replay")

    assert answer.out == "log: raw.users.seen set to TIMESTAMP 2024-03-01T00:00:00.000000Z\n"
    (found,) = marks(call, "log")["watermarks"]
    assert (found["value"], found["who"], found["why"]) == (
        "2024-03-01T00:00:00.000000Z",
        ME,
        "replay",
    )


def test_a_watermark_is_reset_and_its_history_stays(services, call):
    services()
    call("watermark", "set", "log", "2024-03-01")

    answer = call("watermark", "reset", "log", "--yes")

    assert answer.out == "log: raw.users.seen reset\n"
    found = marks(call, "log", "--history")
    assert found["watermarks"] == []
    assert [change["value"] for change in found["history"]] == [None, "2024-03-01T00:00:00.000000Z"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set", "daily", "1"], "error: no-watermark: daily is a view model without a time_column"),
        (["set", "log", "soon"], "error: bad-value: 'soon' is not a TIMESTAMP"),
        (["set", "log", "1", "--column", "seem"], "error: unknown-column: log has no window on 's"),
        (["set", "log", "1", "--type", "BINARY"], "error: watermark-type: 'BINARY' cannot carry"),
        (["reset", "log", "--yes"], "error: no-watermark: log has no watermark"),
        (["show", "lgo"], "error: unknown-model: no model is called 'lgo'"),
    ],
)
def test_what_cannot_be_set_is_refused(words, said, services, call):
    services()

    answer = call("watermark", *words)

    assert answer.code == 2
    assert answer.err.startswith(said)


def test_a_model_with_two_windowed_inputs_needs_a_column(services, call):
    two = """\
        {{ config(materialized='append', time_column='seen') }}
        select id, seen from {{ source('raw', 'users') }}
        union all select id, seen from raw.others
        """
    services(**{"models/staging/log.sql": two})

    answer = call("watermark", "set", "log", "2024-03-01")
    set_one = call("watermark", "set", "log", "2024-03-01", "--column", "RAW.USERS.SEEN")

    assert answer.err == (
        "error: ambiguous-column: log has more than one windowed input\n"
        "  hint: add --column with one of: raw.others.seen, raw.users.seen\n"
    )
    assert set_one.code == 0


def test_a_question_without_a_terminal_needs_yes(services, call):
    services()
    call("watermark", "set", "log", "2024-03-01")

    answer = call("watermark", "reset", "log")

    assert answer.code == 2
    assert answer.err.startswith("error: needs-confirmation: This resets raw.users.seen (TIMESTAMP")
    assert len(marks(call, "log")["watermarks"]) == 1


@pytest.mark.parametrize(("typed", "code", "left"), [("yes\n", 0, 0), ("y\n", 1, 1), ("", 1, 1)])
def test_only_the_word_yes_is_a_yes(typed, code, left, services, call, monkeypatch):
    class Terminal:
        def isatty(self):
            return True

        def readline(self):
            return typed

    services()
    call("watermark", "set", "log", "2024-03-01")
    monkeypatch.setattr(sys, "stdin", Terminal())

    answer = call("watermark", "reset", "log")

    assert answer.code == code
    assert "Type 'yes' to confirm: " in answer.err
    assert len(marks(call, "log")["watermarks"]) == left


def test_the_state_goes_out_and_comes_back(services, call):
    root = services()
    call("watermark", "set", "log", "2024-03-01")
    (root / "state.json").write_text(call("state", "export").out)
    call("watermark", "reset", "log", "--yes")

    answer = call("state", "import", "state.json", "--yes")

    assert answer.out == "imported state.json\n"
    assert len(marks(call, "log")["watermarks"]) == 1


def test_a_document_of_something_else_is_refused(services, call):
    root = services()
    (root / "state.json").write_text("{}")

    answer = call("state", "import", "state.json", "--yes")

    assert answer.code == 2
    assert answer.err.startswith("error: state-import-invalid: ")
    assert call("state", "import", "nothing.json", "--yes").code == 2


def test_without_a_state_there_is_nothing_to_export_restore_or_unlock(services, call):
    root = services()

    assert call("state", "export").err == (
        "error: no-state: target 'dev' has no state yet\n  hint: the first penstock run makes it\n"
    )
    assert call("state", "restore", "--yes").err.startswith("error: state-no-copy: ")
    assert call("unlock", "staging.log").out == "staging.log is not locked\n"
    assert call("recover").out == "nothing to recover\n"
    assert list(root.glob(".penstock/state*")) == []
