"""Public names for unit tests of models: `penstock test` from Python, for a project's own pytest.

A project's test is one function::

    def test_the_models() -> None:
        report = run_unit_tests()

        assert report.ok, [line for result in report.results for line in result.lines]
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
    """Run the unit tests under tests/ as `penstock test` does, and give what became of each.

    `project` is the folder of penstock.yml, `select` are selectors of models and tags, `tests`
    names of tests, which may hold `*`; without either all are run. `target` and `variables` are
    those of `--target` and `--vars`. A test runs its model on tables of its own in a temporary
    folder; no table or record of the project is touched. A Spark that is handed in, or runs in
    this process, is used and never stopped; without a test none starts.

    A test that fails is in the report, with its differences as `lines`. Raises `ProjectError` for a
    project, or a test file, with findings, `SelectorError` for a name or selector that matches
    nothing, and `EnvironmentMissingError` without Java or pyspark.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "penstock.yml").write_text("name: shop")
    ...     report = run_unit_tests(folder)
    >>> report.ok, report.results
    (True, ())
    """
    services = open_services(Where(Path(project), target, variables or {}), spark)
    try:
        return run_tests(services, UnitTestRequest(select=tuple(select), names=tuple(tests)))
    finally:
        services.close()
