"""The use case `test`: unit tests of models, on one Spark, far from the project's own tables."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from penstock.app.artifacts import write_unit_test_artifacts
from penstock.app.request import UnitTestRequest
from penstock.app.result_nodes import UnitTested
from penstock.app.shop import Shop
from penstock.app.unit_testing.choosing import chosen
from penstock.app.unit_testing.loading import Variants, load_tests
from penstock.app.unit_testing.one_test import Bench, run_test
from penstock.app.unit_testing.reports import UnitResult, UnitTestReport
from penstock.app.wire import elsewhere
from penstock.core.errors import ProjectError
from penstock.core.unit_tests import UnitTest

Listener = Callable[[UnitResult], None]


def silent(_: UnitResult) -> None:
    """Hear nothing."""


def run_tests(shop: Shop, request: UnitTestRequest, listener: Listener = silent) -> UnitTestReport:
    """Run the chosen tests; each is told to `listener` when it ends, in any order.

    Raises `ProjectError` with the findings of all test files before anything runs, and
    `SelectorError` for a selector that matches nothing. Without tests no JVM starts.
    """
    variants = Variants(shop.project)
    loaded = load_tests(variants)
    if any(finding.is_error for finding in loaded.findings):
        raise ProjectError(loaded.findings)
    tests = chosen(shop.project, loaded.tests, request)
    if not tests:
        return UnitTestReport()
    shop.engine.require()
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    apart = elsewhere(shop, str(folder / "warehouse"))
    try:
        results = _results(Bench(apart, folder), variants, tests, request, listener)
        log_path = apart.written_log
    finally:
        apart.engine.stop()
        shutil.rmtree(folder, ignore_errors=True)
    write_unit_test_artifacts(shop, [_told(result) for result in results])
    return UnitTestReport(tuple(results), log_path)


def _results(  # the sides of one command
    bench: Bench,
    variants: Variants,
    tests: Sequence[UnitTest],
    request: UnitTestRequest,
    listener: Listener,
) -> list[UnitResult]:
    """Run tests on threads and give their results in the order of the tests."""
    stopped = threading.Event()

    def one(number: int, test: UnitTest) -> UnitResult:
        if stopped.is_set():
            return UnitResult(test, skipped=True)
        result = run_test(bench, variants.of(test.vars), test, number)
        if request.fail_fast and not result.passed:
            stopped.set()
        listener(result)
        return result

    threads = request.threads or bench.shop.project.threads
    with ThreadPoolExecutor(max(1, min(threads, len(tests)))) as pool:
        futures: list[Future[UnitResult]] = [pool.submit(one, *each) for each in enumerate(tests)]
        try:
            return [future.result() for future in futures]
        except BaseException:  # a bug or Ctrl-C: nothing new may start behind it
            stopped.set()
            bench.shop.engine.cancel()
            raise


def _told(result: UnitResult) -> UnitTested:
    test, message = result.test, "; ".join(result.lines)
    return UnitTested(
        test.model, test.name, result.status, message, result.seconds, test.where.path
    )
