"""Public names for unit tests of models: `penstock test` from Python, for a project's own pytest.

>>> from penstock.testing import run_unit_tests
"""

from __future__ import annotations

from penstock.app.entry import run_unit_tests
from penstock.app.unit_testing.reports import UnitResult, UnitTestReport

__all__ = ["UnitResult", "UnitTestReport", "run_unit_tests"]
