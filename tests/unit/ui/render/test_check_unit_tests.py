"""What `penstock test` prints, and its document."""

import json

from penstock.app.unit_testing.differences import RowLine, RowsDiffer, UnitResult, UnitTestReport
from penstock.core.findings import Location
from penstock.project.unit_tests.definition import UnitRun, UnitTest
from penstock.ui.render.check import unit_tests_document, unit_tests_text

TEST = UnitTest(
    "newer_email_wins",
    "users",
    Location("tests/users.yml", 2, 3),
    (UnitRun(),),
    written="staging.users",
)
ROWS = RowsDiffer(
    "rows",
    3,
    3,
    ("id", "email", "updated_at"),
    (
        RowLine("~", ("1", "new@x -> old@x", "2024-06-01 10:00:00 -> 2024-05-01 00:00:00")),
        RowLine("-", ("3", "c@x", "2024-06-01 11:00:00")),
        RowLine("+", ("4", "d@x", "2024-06-01 12:00:00"), 2),
    ),
    ("id",),
)


def report(*differences: object, run: int = 0) -> UnitTestReport:
    failed = UnitResult(TEST, tuple(differences), run, seconds=0.8)  # type: ignore[arg-type]
    return UnitTestReport((UnitResult(TEST), failed))


def test_a_failed_test_is_shown_with_its_rows_and_the_rest() -> None:
    assert unit_tests_text(report(ROWS, "metrics: updated 1 expected, 0 found")) == (
        "FAIL  staging.users  newer_email_wins   tests/users.yml:2   0.8 s\n"
        "  rows: 3 expected, 3 found: 1 changed, 1 missing, 2 unexpected (key: id)\n"
        "      id  email            updated_at\n"
        "    ~ 1   new@x -> old@x   2024-06-01 10:00:00 -> 2024-05-01 00:00:00\n"
        "    - 3   c@x              2024-06-01 11:00:00    expected, not found\n"
        "    + 4   d@x              2024-06-01 12:00:00    found, not expected    x 2\n"
        "  metrics: updated 1 expected, 0 found\n"
        "2 tests: 1 passed, 1 failed."
    )


def test_at_most_twenty_rows_are_printed_and_all_are_in_the_document() -> None:
    many = RowsDiffer("rows", 0, 23, ("id",), tuple(RowLine("+", (str(n),)) for n in range(23)))

    lines = unit_tests_text(report(many, run=2)).splitlines()
    document = json.loads(json.dumps(unit_tests_document(report(many))))

    assert lines[1:4] == [
        "  run 2 of 1",
        "  rows: 0 expected, 23 found: 23 unexpected",
        "      id",
    ]
    assert lines[-3:-1] == ["    + 19    found, not expected", "      and 3 more"]
    assert len(lines) == 26
    assert len(document["tests"][1]["differences"][0]["rows"]) == 23


def test_no_tests_is_said() -> None:
    assert unit_tests_text(UnitTestReport()) == "no unit tests"


def test_the_document_of_a_report() -> None:
    assert unit_tests_document(report("commits: 1 expected, 0 found")) == {
        "ok": False,
        "passed": 1,
        "failed": 1,
        "skipped": 0,
        "tests": [
            {
                "model": "users",
                "name": "newer_email_wins",
                "file": "tests/users.yml",
                "line": 2,
                "tags": (),
                "status": status,
                "seconds": seconds,
                "run": None,
                "differences": differences,
            }
            for status, seconds, differences in (
                ("passed", 0.0, []),
                ("failed", 0.8, [{"message": "commits: 1 expected, 0 found"}]),
            )
        ],
    }
