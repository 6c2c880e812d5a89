"""What unit tests said: per test what differs, bounded only where it is printed."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.project.unit_tests.definition import UnitTest


@dataclass(frozen=True, slots=True)
class RowLine:
    """A row that differs: `~` found otherwise, `-` not found, `+` not expected; `times` so often.

    A cell that differs holds both texts: `expected -> found`.
    """

    sign: str
    cells: tuple[str, ...]
    times: int = 1


@dataclass(frozen=True, slots=True)
class RowsDiffer:
    """How the rows of a table differ from those expected; `what` is `rows` or `quarantine`."""

    what: str
    expected: int
    found: int
    columns: tuple[str, ...]
    lines: tuple[RowLine, ...]
    key: tuple[str, ...] = ()

    def count(self, sign: str) -> int:
        """Count the rows of a mark."""
        return sum(line.times for line in self.lines if line.sign == sign)


Difference = RowsDiffer | str
"""Rows that differ, or a line about anything else: `metrics: updated 1 expected, 0 found`."""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What became of one test. `differences` are empty for one that passed; `seconds` it took.

    With several runs each difference belongs to one of them: `run` counts from 1, 0 with one run.

    >>> from penstock.core.findings import Location
    >>> test = UnitTest("keeps_latest", "users", Location("tests/users.yml"), ())
    >>> result = UnitResult(test, ("row_count: 2 expected, 3 found",))
    >>> result.status, result.lines
    ('failed', ('row_count: 2 expected, 3 found',))
    """

    test: UnitTest
    differences: tuple[Difference, ...] = ()
    run: int = 0
    seconds: float = 0.0
    skipped: bool = False

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.differences and not self.skipped

    @property
    def status(self) -> str:
        """Its word: passed, failed or skipped."""
        return "skipped" if self.skipped else "passed" if self.passed else "failed"

    @property
    def lines(self) -> tuple[str, ...]:
        """The differences in one line each."""
        return tuple(each if isinstance(each, str) else summary(each) for each in self.differences)


@dataclass(frozen=True, slots=True)
class UnitTestReport:
    """The results in the order of files and lines; skipped ones came after `--fail-fast`.

    `log_path` is the log of Spark, "" where none was started.

    >>> UnitTestReport().ok, UnitTestReport().count("failed")
    (True, 0)
    """

    results: tuple[UnitResult, ...] = ()
    log_path: str = ""

    @property
    def ok(self) -> bool:
        """Whether no test failed and none was skipped."""
        return all(result.passed for result in self.results)

    def count(self, status: str) -> int:
        """Count the tests that came out so."""
        return sum(1 for result in self.results if result.status == status)


def summary(rows: RowsDiffer) -> str:
    """Count what differs.

    >>> summary(RowsDiffer("rows", 2, 1, ("id",), (RowLine("-", ("1",)),)))
    'rows: 2 expected, 1 found: 1 missing'
    """
    words = (("~", "changed"), ("-", "missing"), ("+", "unexpected"))
    counts = ", ".join(f"{rows.count(sign)} {word}" for sign, word in words if rows.count(sign))
    key = f" (key: {', '.join(rows.key)})" if rows.key else ""
    return f"{rows.what}: {rows.expected} expected, {rows.found} found: {counts}{key}"
