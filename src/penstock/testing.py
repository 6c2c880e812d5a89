"""Public names for unit tests of models: `penstock test` from Python, for a project's own pytest.

>>> from penstock.testing import run_unit_tests
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.commands.test import run_tests
from penstock.app.services.wire import Where, open_services
from penstock.app.unit_testing.reports import UnitResult, UnitTestReport, UnitTestRequest

if TYPE_CHECKING:
    from penstock.engine.spark_engine import SparkSession

__all__ = ["UnitResult", "UnitTestReport", "run_unit_tests"]


def run_unit_tests(  # the flags of the command
    project: str | Path = ".",
    *,
    select: Sequence[str] = (),
    tests: Sequence[str] = (),
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> UnitTestReport:
    """Run the unit tests under tests/ as `penstock test` does; `tests` are names of them.

    A test that fails is in the report; what raises is a project, or a test file, that cannot be
    understood. A Spark that is handed in, or runs in this
    process, is used and never stopped.
    """
    services = open_services(Where(Path(project), target, variables or {}), spark)
    try:
        return run_tests(services, UnitTestRequest(select=tuple(select), names=tuple(tests)))
    finally:
        services.close()
