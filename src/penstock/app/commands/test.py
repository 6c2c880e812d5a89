"""The use case `test`: unit tests of models, on one Spark, away from the project's tables."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from penstock.app.artifacts.write import write_unit_test_artifacts
from penstock.app.commands.run import run as run_models
from penstock.app.planning.selection import known_states
from penstock.app.request import AnyRun, RunRequest, SnapshotRequest, UnitTestRequest
from penstock.app.services.services import Services
from penstock.app.services.wire import apart, elsewhere
from penstock.app.unit_testing.differences import Difference, UnitResult, UnitTestReport
from penstock.app.unit_testing.loading import Variants, load_tests
from penstock.app.unit_testing.preparing import Preparing
from penstock.app.unit_testing.verdict import ExpectationCheck, TestOutcome, judge_error
from penstock.app.unit_testing.world import TestClock, is_seed, wanted_inputs, world_of
from penstock.core import errors
from penstock.core.names import InputName
from penstock.core.project import Project
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.selectors import Known, select
from penstock.project.unit_tests.definition import UnitRun, UnitTest

_ALL_TAGS = "tags of all unit tests"
NOTHING_KNOWN = Known()
Listener = Callable[[UnitResult], None]


def chosen(
    project: Project,
    tests: Sequence[UnitTest],
    request: UnitTestRequest,
    states: Known = NOTHING_KNOWN,
) -> tuple[UnitTest, ...]:
    """Return the tests selected by model, tag and name; raise `SelectorError` if there are none."""
    found = [test for test in tests if not request.tests or _is_named(test, request.tests)]
    for name in request.tests:
        if not any(_is_named(test, (name,)) for test in tests):
            known = [test.name for test in tests]
            hint = did_you_mean(name, known) or f"there are: {some_of(known) or 'none'}"
            raise errors.SelectorError(
                "nothing-selected", f"no unit test is called {name!r}", hint=hint
            )
    if not request.select and not (request.exclude and tests):
        return tuple(found)
    return _selected(project, found, request, states)


def _selected(
    project: Project, tests: Sequence[UnitTest], request: UnitTestRequest, states: Known
) -> tuple[UnitTest, ...]:
    """Select each model with the tags of its tests; an unknown model has the tags of all."""
    refusal: errors.SelectorError | None = None
    answers: dict[tuple[str, tuple[str, ...]], bool] = {}
    every = tuple(dict.fromkeys(tag for test in tests for tag in test.tags))
    for name, tags in dict.fromkeys((test.model, test.tags) for test in tests):
        model = project.models[name]
        tagged = replace(model, tags=(*model.tags, *tags))
        tagging = replace(model, name=_ALL_TAGS, tags=every, depends_on=())
        models = {**project.models, name: tagged, _ALL_TAGS: tagging}
        known = replace(project, models=models)
        try:
            answers[name, tags] = name in select(known, request.select, request.exclude, states)
        except errors.SelectorError as error:
            refusal = error
    found = tuple(test for test in tests if answers.get((test.model, test.tags)))
    if found:
        return found
    if refusal is not None and not answers:
        raise refusal
    asked = " ".join((*request.select, *(f"--exclude {each}" for each in request.exclude)))
    raise errors.SelectorError(
        "nothing-selected",
        f"{asked!r} selects no unit test",
        hint=f"tests are of: {some_of({test.model for test in tests}) or 'no model'}",
    )


def _is_named(test: UnitTest, names: Sequence[str]) -> bool:
    return any(test.name == name or fnmatchcase(test.name, name) for name in names)


def run_test(services: Services, project: Project, test: UnitTest, folder: Path) -> UnitResult:
    """Run one test in its own folder; an error of its step is a difference.

    An interrupt is raised. All tests share the Spark of `services`, which is not the project's.
    """
    model = project.models[test.model]
    given: dict[InputName, tuple[str, ...]] = {}
    for each in test.runs:
        for name, table in each.given.inputs.items():
            given[name] = (*given.get(name, ()), *table.names, *table.file_types)
    read = (name for each in test.runs for name in wanted_inputs(model, test, each))
    lacking = [name for name in read if name not in given and is_seed(project, name)]
    seeds = {name: project.seeds[name.name] for name in lacking}
    given |= dict.fromkeys(seeds, ())
    clock = TestClock(test.runs[0].as_of)
    services = apart(services, world_of(project, test, given, folder), clock)
    started = time.monotonic()  # Spark has started
    later = {name: table for run in test.runs[1:] for name, table in run.given.inputs.items()}
    preparing = Preparing(services, clock, services.project.models[test.model], seeds, later)
    found: tuple[Difference, ...] = ()
    failed = 0
    for at, each in enumerate(test.runs, 1):
        found = tuple(_differences(preparing, test, each))
        if found:
            failed = at if len(test.runs) > 1 else 0
            break
    return UnitResult(test, found, failed, round(time.monotonic() - started, 3))


def _differences(preparing: Preparing, test: UnitTest, each: UnitRun) -> Iterator[Difference]:
    services, model = preparing.services, preparing.model
    try:
        with services.engine.session(model.name, model.where) as session:
            preparing.prepare(session, each)
            outcome = _run(services, test, each)
            if each.error is not None:
                yield from judge_error(each.error, outcome)
            elif each.expect is not None:
                yield from ExpectationCheck(session, each.expect, outcome, test.key).differences()
            elif outcome.error is not None:
                yield _message(outcome.error)
    except errors.SparkDiedError:
        raise  # no other test can be run
    except errors.PenstockError as error:
        yield _message(error)


def _message(error: errors.PenstockError) -> str:
    where = f"{error.where}: " if error.where else ""
    return f"{where}{error.code}: {error.sentence}"


def _run(services: Services, test: UnitTest, each: UnitRun) -> TestOutcome:
    model = services.project.models[test.model]
    head = None if model.is_view else services.log.head(services.project.uri_of(model.table))
    before = head.version if head else None
    kind = RunRequest if model.strategy.command == RunRequest.command else SnapshotRequest
    request: AnyRun = kind(
        select=(f"name:{model.name}",),
        full_refresh=each.full_refresh,
        on_failure=each.on_failure,
        threads=1,
    )
    if each.first and isinstance(request, RunRequest):
        request = replace(request, from_=each.first, to=each.last)
    try:
        report = run_models(services, request)
    except errors.PenstockError as error:
        return TestOutcome(services, model, before, refused=error)
    if report.interrupted:
        raise errors.InterruptedRunError("interrupted", "the tests were interrupted")
    results = tuple(result for result in report.results if result.name == model.name)
    return TestOutcome(services, model, before, results)


def run_tests(
    services: Services, request: UnitTestRequest, listener: Listener = lambda _: None
) -> UnitTestReport:
    """Run the chosen tests; `listener` receives each one when it ends, in any order.

    Raises `ProjectError` with the findings of all test files before anything runs, and
    `SelectorError` if a selector matches nothing. Without tests no JVM starts.
    """
    variants = Variants(services.project)
    loaded = load_tests(variants)
    if any(finding.is_error for finding in loaded.findings):
        raise errors.ProjectError(loaded.findings)
    states = known_states(services, (*request.select, *request.exclude), services.clock.now())
    tests = chosen(services.project, loaded.tests, request, states)
    if not tests:
        return UnitTestReport()
    services.engine.require()
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    moved = elsewhere(services, str(folder / "warehouse"))

    def run_one(number: int, test: UnitTest) -> UnitResult:
        return run_test(moved, variants.of(test.vars), test, folder / f"t{number}")

    try:
        results = _results(moved, run_one, tests, request, listener)
        log_path = moved.written_log
    finally:
        moved.engine.stop()
        shutil.rmtree(folder, ignore_errors=True)
    write_unit_test_artifacts(services, results)
    return UnitTestReport(tuple(results), log_path)


def _results(  # the sides of one command
    services: Services,
    run_one: Callable[[int, UnitTest], UnitResult],
    tests: Sequence[UnitTest],
    request: UnitTestRequest,
    listener: Listener,
) -> list[UnitResult]:
    stopped = threading.Event()

    def one(number: int, test: UnitTest) -> UnitResult:
        if stopped.is_set():
            return UnitResult(test, skipped=True)
        result = run_one(number, test)
        if request.fail_fast and not result.passed:
            stopped.set()
        listener(result)
        return result

    threads = request.threads or services.project.threads
    with ThreadPoolExecutor(max(1, min(threads, len(tests)))) as pool:
        try:
            return [*pool.map(one, range(len(tests)), tests)]
        except BaseException:  # a bug or Ctrl-C: nothing new may start behind it
            stopped.set()
            services.interrupt()
            raise
