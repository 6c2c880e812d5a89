"""What a check that cannot be evaluated costs, as a command sees it."""

from dataclasses import replace

from fakes.builders import a_model, a_source
from fakes.check_inputs import a_check, answered, column_check, said
from fakes.lake import ID
from fakes.workshop import Workshop
from penstock.core.checks.check import Checks
from penstock.core.errors import DataError
from penstock.core.findings import Severity
from penstock.strategies.checks.types import NotNull, RowCount

ROWS = a_check(RowCount(1), name="rows", sample=False)
IDS = a_check(NotNull(("id",)), name="ids", sample=False)
UNKNOWN = a_check(NotNull(("revenu",)), name="typo", severity=Severity.WARNING)
DIVIDED = a_check(column_check("id", "SUM({column}) / 0 > 1"), name="ratio")
BY_ZERO = DataError("spark-divide-by-zero", "Division by zero.")


def a_workshop(*checks):
    model = a_model("a", "raw.events", checks=Checks((), checks))
    workshop = Workshop(a_source("events"), model)
    told = {**answered(ROWS, ID, 1), **answered(IDS, ID, 1, **{"nulls id": 0})}
    workshop.lake.answers("check_after_target", told)
    return workshop


def test_an_unknown_column_of_a_warning_stops_nothing():
    workshop = a_workshop(ROWS, UNKNOWN, IDS)

    report = workshop.run()

    assert said(report["a"].invariant_report.after) == [
        ("passed", "rows 1"),
        ("failed", 'could not be evaluated: unknown column "revenu"'),
        ("passed", "no NULL"),
    ]
    assert report.exit_code == 0
    assert report["a"].invariant_report.has_warnings()


def test_a_gate_that_divides_by_zero_fails_the_run_and_no_other_check():
    workshop = a_workshop(ROWS, DIVIDED, IDS)
    workshop.lake.trouble("a", "rows", BY_ZERO, lambda: None, BY_ZERO)

    report = workshop.run()

    assert said(report["a"].invariant_report.after) == [
        ("passed", "rows 1"),
        ("failed", "could not be evaluated: Division by zero"),
        ("passed", "no NULL"),
    ]
    assert report.exit_code == 3
    assert report["a"].error.code == "after-check-failed"


def test_check_exits_as_the_run_did():
    workshop = a_workshop(ROWS, UNKNOWN)
    workshop.run()

    assert workshop.check().ok
    assert not workshop.check(strict=True).ok

    gate = replace(UNKNOWN, severity=Severity.ERROR)
    workshop.has(a_model("a", "raw.events", checks=Checks((), (ROWS, gate))))
    assert not workshop.check().ok
