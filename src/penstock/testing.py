"""Public names for unit tests of models: `penstock test` from Python, for a project's own pytest.

A project's test is one function::

    def test_the_models() -> None:
        report = run_unit_tests()

        assert report.ok, [line for result in report.results for line in result.lines]
"""

from __future__ import annotations

from penstock.app.entry import run_unit_tests
from penstock.app.unit_testing.differences import UnitResult, UnitTestReport

__all__ = ["UnitResult", "UnitTestReport", "run_unit_tests"]
