"""What `penstock check` prints, and its document."""

import datetime as dt
import json
from dataclasses import replace

from fakes.builders import NOON, a_source
from fakes.check_story import BOUNDS, FAILED, HAS_ROWS, MIN_USERS, NO_BASE, NULLS, STORY
from fakes.reports import a_check_result
from penstock.app.checking.results import AcceptReport, CheckReport, ModelChecked, SourceChecked
from penstock.app.commands.check import freshness_checks
from penstock.app.documents import printed
from penstock.core.check_results import Flag, InvariantReport, Quarantine
from penstock.core.errors import PenstockError
from penstock.core.model import SourceFreshness
from penstock.ui.render.check import accept_document, accept_text, check_text, checks_document

DAYS = (("2024-12-01", "2024-12-03"),)
WHOLE = (("*", "*"),)
ROWS = a_check_result("row_count", FAILED, "1 of 3 partitions failed: 2024-12-03: rows 0 < min 1")
THREE = replace(NULLS, message="1 of 3 partitions failed: 2024-12-01: nulls 33.33 % > max 5.00 %")
LIMITS = SourceFreshness("created_at", dt.timedelta(days=1))
(LATE,) = freshness_checks(a_source("events", freshness=LIMITS))
OLD = a_check_result(
    LATE.name,
    FAILED,
    "newest 2024-12-03 09:00:00, age 1d 12h > max 1d",
    severity=LATE.severity,
    type=LATE.type,
)


def checked(*after, model="user_stats", keys=DAYS, before=(), **changes):
    return ModelChecked(model, keys, 3, 7, InvariantReport(before, after), **changes)


def test_the_results_of_a_model_stand_below_its_partitions_and_version():
    assert check_text(CheckReport((checked(ROWS, THREE),))) == (
        "user_stats  2024-12-01 to 2024-12-03  version 7\n"
        "  row_count   failed   error    1 of 3 partitions failed: 2024-12-03: rows 0 < min 1\n"
        "  null_check  failed   warning  1 of 3 partitions failed: 2024-12-01:"
        " nulls 33.33 % > max 5.00 %\n"
        "2 checks: 0 passed, 2 failed (1 error)."
    )


def test_both_phases_are_named_where_there_are_both():
    report = CheckReport((checked(BOUNDS, NO_BASE, before=(HAS_ROWS,), keys=WHOLE),))

    assert check_text(report) == (
        "user_stats  version 7\n"
        "  before  source_has_data  passed\n"
        "  after   revenue_bounds   passed   condition is true\n"
        "  after   growth           skipped  no earlier execution\n"
        "3 checks: 2 passed, 0 failed, 1 skipped."
    )


def test_sources_stand_below_the_models():
    report = CheckReport(sources=(SourceChecked("raw.events", OLD),))

    assert check_text(report) == (
        "sources\n"
        "  raw.events  failed   warning  newest 2024-12-03 09:00:00, age 1d 12h > max 1d\n"
        "1 check: 0 passed, 1 failed (0 errors)."
    )


def test_what_a_model_has_to_say_stands_below_its_checks():
    text = check_text(CheckReport((checked(BOUNDS, lines=("flag of step 1 closed",)),)))

    assert text.splitlines()[1:] == [
        "  revenue_bounds  passed   condition is true",
        "  flag of step 1 closed",
        "1 check: 1 passed, 0 failed.",
    ]


def test_quiet_shows_failures_only():
    report = CheckReport((checked(BOUNDS, model="a"), checked(BOUNDS, ROWS, lines=("more",))))

    assert check_text(report, quiet=True).splitlines()[:2] == [
        "user_stats  2024-12-01 to 2024-12-03  version 7",
        "  row_count  failed   error    1 of 3 partitions failed: 2024-12-03: rows 0 < min 1",
    ]


def test_of_many_models_every_failure_is_shown_and_fifty_others():
    well = [checked(BOUNDS, model=f"m{number}") for number in range(60)]
    report = CheckReport((*well, checked(ROWS, model="bad")))

    lines = check_text(report).splitlines()

    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
        *(f"m{number}" for number in range(50)),
        "bad",
        "and",
        "61",
    ]
    assert lines[-2] == "and 10 more models"
    assert "m59" in check_text(report, verbose=True)


def test_the_document_has_every_value_of_every_result():
    report = CheckReport((checked(MIN_USERS, keys=DAYS),))

    assert json.loads(printed(checks_document(report))) == {
        "command": "check",
        "ok": False,
        "strict": False,
        "checks": {"total": 1, "passed": 0, "failed": 1, "skipped": 0, "errors": 1},
        "models": [
            {
                "model": "user_stats",
                "partitions": [["2024-12-01", "2024-12-03"]],
                "count": 3,
                "version": 7,
                "before": [],
                "after": [
                    {
                        "name": "min_users",
                        "type": "sql",
                        "phase": "after",
                        "severity": "error",
                        "status": "failed",
                        "message": "1 row (expected 0)",
                        "details": None,
                        "partitions": ["2024-12-01"],
                        "values": [],
                        "failures": None,
                        "sample": {
                            "columns": ["date", "user_count"],
                            "rows": [["2024-12-01", "80"]],
                        },
                        "error": None,
                        "duration": 0.0,
                        "scope": "step",
                        "where": "models/user_stats.yml:31:7",
                    }
                ],
                "lines": [],
            }
        ],
        "sources": [],
        "notes": [],
        "error": None,
    }


def test_the_document_says_that_nothing_was_checked():
    error = PenstockError("nothing-checked", "1 check skipped, none evaluated")

    document = json.loads(printed(checks_document(CheckReport((checked(NO_BASE),)), error)))

    assert (document["ok"], document["error"]["code"]) == (False, "nothing-checked")


def test_python_callers_get_the_same_document():
    report = CheckReport((checked(MIN_USERS, NULLS),), (SourceChecked("raw.events", OLD),))

    assert json.loads(report.to_json()) | {"error": None} == json.loads(
        printed(checks_document(report))
    )
    assert report.reports == {"user_stats": InvariantReport((), (MIN_USERS, NULLS))}


def test_without_a_sample_there_is_no_cell():
    report = CheckReport((checked(replace(MIN_USERS, sample=None)),))

    assert json.loads(report.to_json())["models"][0]["after"][0]["sample"] is None
    assert check_text(report).splitlines()[1] == (
        "  min_users  failed   error    1 row (expected 0)"
    )


def test_no_password_is_in_a_document():
    report = CheckReport(
        (
            checked(
                replace(ROWS, message="at postgresql://me:hunter2@db"),
            ),
        )
    )

    assert "hunter2" not in report.to_json()


FLAG = Flag("0192a3c4", 3, "user_stats", 1, "2024-12-01", ("min_users", "ids"), NOON, 7)
KEPT = Quarantine(
    "0192a3c4",
    "user_stats",
    "/w/penstock_staging/s__user_stats__0192a3c4",
    "penstock_staging.s__user_stats__0192a3c4",
    ((1, 1),),
    3,
    dt.datetime(2024, 12, 8, tzinfo=dt.UTC),
)


def test_accepting_says_which_flags_are_closed():
    assert accept_text(AcceptReport((FLAG, replace(FLAG, partition="*")))) == (
        "accepted: user_stats 2024-12-01 (step 0192a3c4): min_users, ids\n"
        "accepted: user_stats (step 0192a3c4): min_users, ids"
    )


def test_dropping_says_which_rows_are_gone():
    assert accept_text(AcceptReport((), (KEPT,))) == (
        "dropped: penstock_staging.s__user_stats__0192a3c4 of user_stats"
        " (3 rows, kept until 2024-12-08)"
    )
    assert accept_text(AcceptReport()) == "nothing to do"


def test_the_document_of_both():
    assert json.loads(printed(accept_document(AcceptReport((FLAG,), (KEPT,))))) == {
        "command": "check",
        "accepted": [
            {
                "step": "0192a3c4",
                "model": "user_stats",
                "partition": "2024-12-01",
                "checks": ["min_users", "ids"],
                "opened": "2024-03-01T12:00:00Z",
                "version": 7,
            }
        ],
        "dropped": [
            {
                "step": "0192a3c4",
                "model": "user_stats",
                "table": "penstock_staging.s__user_stats__0192a3c4",
                "rows": 3,
                "expires": "2024-12-08T00:00:00Z",
            }
        ],
    }


def test_what_reports_say_of_themselves():
    def said(report):
        return (
            report.all_passed(),
            report.has_warnings(),
            report.has_errors(),
            report.has_before_errors(),
            report.has_after_errors(),
        )

    before = replace(MIN_USERS, phase=HAS_ROWS.phase)

    assert said(InvariantReport()) == (True, False, False, False, False)
    assert said(InvariantReport((), (NULLS,))) == (False, True, False, False, False)
    assert said(InvariantReport((before,))) == (False, False, True, True, False)
    assert said(InvariantReport((), (MIN_USERS,))) == (False, False, True, False, True)
    assert said(InvariantReport((), (NO_BASE,))) == (True, False, False, False, False)
    assert said(STORY) == (False, True, True, False, True)
