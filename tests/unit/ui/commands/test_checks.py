"""The commands around checks: what their flags ask of the use cases, and how they end."""

import datetime as dt
import json

import pytest

from fakes.check_story import BOUNDS, MIN_USERS, NO_BASE, NULLS, STORY
from fakes.reports import a_plan, a_report
from penstock.app.checking.results import AcceptReport, CheckReport, ModelChecked
from penstock.app.commands.check import SuggestReport
from penstock.app.commands.history import CheckHistory
from penstock.app.flags import Range
from penstock.app.read_requests import HistoryRequest
from penstock.app.request import (
    BackfillRequest,
    CheckRequest,
    RunRequest,
    SnapshotRequest,
    SyncRequest,
)
from penstock.core.check_results import CheckRecord, InvariantReport
from penstock.core.checks.check import OnFailure, Phase
from penstock.strategies.checks.suggest import Suggestion
from penstock.ui.cli.main import main

NOON = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)
NOTHING = a_report(a_plan(current=("daily",)))
DAY = (("2024-12-01", "2024-12-01"),)


def found(*after, **changes):
    return CheckReport((ModelChecked("a", DAY, 1, 7, InvariantReport((), after)),), **changes)


@pytest.fixture
def check(use_case, capfd):
    """Call `penstock check`, which finds this; give request, code, output and errors."""

    def called(report, *words):
        asked = use_case("commands.check", "check", report)
        code = main(["check", *words])
        return (asked[0][1], code, *capfd.readouterr())

    return called


def test_check_asks_for_what_its_flags_say(check):
    words = (
        "--query a --exclude b --from 2024-12-01 --to 2024-12-03 --after --check x --check y"
        " --strict --no-record --no-sample --as-of 2024-12-16"
    )

    request, _, _, _ = check(found(BOUNDS), *words.split())

    assert request == CheckRequest(
        select=("a",),
        exclude=("b",),
        from_="2024-12-01",
        to="2024-12-03",
        phases={Phase.AFTER},
        checks=("x", "y"),
        strict=True,
        record=False,
        sample=False,
        as_of=dt.datetime(2024, 12, 16, tzinfo=dt.UTC),
        arguments=f"check {words}",
    )


def test_without_a_phase_or_with_both_it_is_both(check):
    phases = [
        check(found(BOUNDS), *words)[0].phases
        for words in ([], ["--before"], ["--after"], ["--before", "--after"])
    ]

    both = frozenset(Phase)
    assert phases == [both, frozenset({Phase.BEFORE}), frozenset({Phase.AFTER}), both]


def test_groups_are_named_by_date_by_key_or_all_at_once(check):
    requests = [
        check(found(BOUNDS), *words)[0]
        for words in (["--date", "2024-12-01"], ["--partition", "2024-W01"], ["--all"])
    ]

    assert [(one.range, one.partition, one.everything) for one in requests] == [
        (Range("2024-12-01", "2024-12-01"), "", False),
        (Range(), "2024-W01", False),
        (Range(), "", True),
    ]


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (found(BOUNDS), 0),
        (found(BOUNDS, NULLS), 0),
        (found(BOUNDS, NULLS, strict=True), 3),
        (found(MIN_USERS), 3),
        (found(NO_BASE), 1),
        (CheckReport(), 1),
    ],
)
def test_it_exits_3_for_a_failure_and_1_for_silence(report, code, check):
    assert check(report)[1] == code


def test_that_nothing_was_checked_is_said_on_stderr(check):
    _, _, out, err = check(found(NO_BASE))

    assert out == (
        "a  2024-12-01  version 7\n"
        "  growth  skipped  no earlier execution\n"
        "1 check: 0 passed, 0 failed, 1 skipped.\n"
    )
    assert err == (
        "error: nothing-checked: 1 check skipped, none evaluated\n"
        "  hint: read why the checks were skipped, or select others\n"
    )


def test_no_check_that_was_selected_is_nothing_either(check):
    assert check(CheckReport())[3] == (
        "error: nothing-checked: no check was selected, none evaluated\n"
        "  hint: select models that have checks, or all of them with --all\n"
    )


def test_json_is_one_document_whatever_was_found(check):
    _, code, out, _ = check(found(NO_BASE), "--json")

    document = json.loads(out)
    assert (code, document["ok"], document["error"]["code"]) == (1, False, "nothing-checked")


def test_a_quiet_check_says_nothing_of_what_is_well(check):
    assert check(found(BOUNDS), "--quiet")[2:] == ("", "")
    assert check(found(BOUNDS, NULLS), "--quiet")[2].splitlines()[1:] == [
        "  null_check  failed   warning  nulls 33.33 % > max 5.00 %",
        "2 checks: 1 passed, 1 failed (0 errors).",
    ]


def test_flags_are_accepted_with_a_reason(use_case, capfd):
    asked = use_case("checking.flags", "accept drop_quarantine", AcceptReport())

    codes = [
        main(["check", "--accept", "0192", "--reason", " a holiday "]),
        main(["check", "--drop-quarantine", "all"]),
    ]

    assert codes == [0, 0]
    assert [words[1:] for words in asked] == [("0192", "a holiday"), ("all",)]
    assert capfd.readouterr().out == "nothing to do\nnothing to do\n"


def test_the_history_of_checks_is_asked_for_by_name(use_case, capfd):
    record = CheckRecord("a", "step-1", "run-1", BOUNDS, ("*",), 7, NOON)
    asked = use_case("commands.history", "check_history", CheckHistory((record,)))

    code = main(["history", "a", "--checks", "--check", "revenue_bounds", "--limit", "3"])

    assert code == 0
    assert [words[1:] for words in asked] == [(HistoryRequest(".", "a", limit=3), "revenue_bounds")]
    assert capfd.readouterr().out == (
        "STARTED              PHASE  CHECK           STATUS  SEVERITY  MESSAGE\n"
        "2024-12-16 12:00:00  after  revenue_bounds  passed  error     condition is true\n"
    )


@pytest.mark.parametrize("flag", ["--skip-checks", "--skip-invariants"])
@pytest.mark.parametrize(
    ("module", "name", "words", "kind"),
    [
        ("commands.run", "run", ["run"], RunRequest),
        ("commands.run", "run", ["snapshot", "run"], SnapshotRequest),
        ("commands.sync", "sync", ["sync", "--yes"], SyncRequest),
        (
            "commands.sync",
            "sync",
            ["backfill", "a", "--from", "2024", "--to", "2024", "--yes"],
            BackfillRequest,
        ),
    ],
)
def test_every_command_that_runs_steps_can_skip_checks(  # one row per command
    flag, module, name, words, kind, use_case
):
    asked = use_case(module, name, NOTHING)

    assert main([*words, flag, "--on-failure", "block"]) == 0
    request = asked[0][1]
    assert isinstance(request, kind)
    assert (request.skip_checks, request.on_failure) == (True, OnFailure.BLOCK)
    assert (request.options.skip_checks, request.options.on_failure) == (True, OnFailure.BLOCK)


def test_without_these_flags_the_project_decides(use_case):
    asked = use_case("commands.run", "run", NOTHING)

    assert main(["snapshot", "run"]) == 0
    request = asked[0][1]
    assert request == SnapshotRequest(arguments="snapshot run")
    assert (request.skip_checks, request.on_failure) == (False, None)


def test_python_callers_see_what_failed():
    report = CheckReport((ModelChecked("a", DAY, 1, 7, STORY),))

    assert (report.ok, report.reports["a"].has_warnings()) == (False, True)


def test_checks_are_proposed_as_text_or_document(use_case, capfd):
    report = SuggestReport("a", "s.a", 3, (Suggestion({"type": "row_count", "min": 1}, "3 rows"),))
    asked = use_case("commands.check", "suggest", report)

    codes = [main(["check", "--suggest", "a", *more]) for more in ([], ["--json", "--no-sample"])]

    text, _, document = capfd.readouterr().out.partition("# 3 rows\n")
    assert codes == [0, 0]
    assert text.endswith("        - {type: row_count, min: 1}  ")
    assert json.loads(document)["checks"] == [
        {"check": {"type": "row_count", "min": 1}, "why": "3 rows"}
    ]
    assert [each[1:] for each in asked] == [("a", True), ("a", False)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--strict"], "--suggest evaluates nothing and goes with no flag that says what"),
        (["--query", "b"], "--suggest evaluates nothing and goes with no flag that says what"),
        (["--accept", "1", "--reason", "x"], "--suggest goes with none of --accept, --reason"),
    ],
)
def test_proposing_evaluates_nothing(words, sentence, capfd):
    assert main(["check", "--suggest", "a", *words]) == 2
    assert sentence in capfd.readouterr().err
