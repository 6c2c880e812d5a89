"""One test from what it gives to what differs; what it makes lies in a folder of its own."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.app.request import AnyRun, RunRequest, SnapshotRequest
from penstock.app.run import run as run_models
from penstock.app.shop import Shop
from penstock.app.unit_testing.judging import Judging, judge_error
from penstock.app.unit_testing.outcome import Outcome
from penstock.app.unit_testing.preparing import Preparing
from penstock.app.unit_testing.reports import Difference, UnitResult
from penstock.app.unit_testing.versions import is_seed, wanted_inputs
from penstock.app.unit_testing.world import TestClock, world_of
from penstock.app.wire import apart
from penstock.core.errors import InterruptedRunError, PenstockError, SparkDiedError
from penstock.core.model import Seed
from penstock.core.names import InputName
from penstock.core.project import Project
from penstock.core.unit_tests import UnitRun, UnitTest


@dataclass(frozen=True, slots=True)
class Bench:
    """What all tests share: a shop whose Spark has started elsewhere, and a folder."""

    shop: Shop
    folder: Path


def run_test(bench: Bench, project: Project, test: UnitTest, number: int) -> UnitResult:
    """Run one test; an error of its step is a difference, an interruption is raised."""
    folder = bench.folder / f"t{number}"
    given: dict[InputName, tuple[str, ...]] = {}
    for each in test.runs:
        for name, table in each.given.inputs.items():
            given[name] = (*given.get(name, ()), *table.names, *table.known)
    seeds = _seeds(project, test, given)
    given |= dict.fromkeys(seeds, ())
    clock = TestClock(test.runs[0].as_of)
    shop = apart(bench.shop, world_of(project, test, given, folder), clock)
    started = time.monotonic()  # Spark has started
    later = {name: table for run in test.runs[1:] for name, table in run.given.inputs.items()}
    preparing = Preparing(shop, clock, shop.project.models[test.model], seeds, later)
    found: tuple[Difference, ...] = ()
    failed = 0
    for at, each in enumerate(test.runs, 1):
        found = tuple(_differences(preparing, test, each))
        if found:
            failed = at if len(test.runs) > 1 else 0
            break
    return UnitResult(test, found, failed, round(time.monotonic() - started, 3))


def _seeds(project: Project, test: UnitTest, given: Collection[InputName]) -> dict[InputName, Seed]:
    """Give the seeds that the model reads and the test gives no rows for."""
    model = project.models[test.model]
    read = (name for run in test.runs for name in wanted_inputs(model, test, run))
    lacking = (name for name in read if name not in given and is_seed(project, name))
    return {name: project.seeds[name.name] for name in lacking}


def _differences(preparing: Preparing, test: UnitTest, each: UnitRun) -> Iterator[Difference]:
    shop, model = preparing.shop, preparing.model
    try:
        with shop.engine.session(model.name, model.where) as session:
            preparing.prepare(session, each)
            outcome = _run(shop, test, each)
            if each.error is not None:
                yield from judge_error(each.error, outcome)
            elif each.expect is not None:
                yield from Judging(session, each.expect, outcome, test.key).differences()
            elif outcome.error is not None:
                yield _told(outcome.error)
    except SparkDiedError:
        raise  # no other test can be run
    except PenstockError as error:
        yield _told(error)


def _told(error: PenstockError) -> str:
    where = f"{error.where}: " if error.where else ""
    return f"{where}{error.code}: {error.sentence}"


def _run(shop: Shop, test: UnitTest, each: UnitRun) -> Outcome:
    model = shop.project.models[test.model]
    head = None if model.is_view else shop.log.head(shop.project.uri_of(model.table))
    before = head.version if head else None
    kind = SnapshotRequest if model.is_snapshot else RunRequest
    request: AnyRun = kind(
        select=(f"name:{model.name}",),
        full_refresh=each.full_refresh,
        on_failure=each.on_failure,
        threads=1,
    )
    if each.first and isinstance(request, RunRequest):
        request = replace(request, from_=each.first, to=each.last)
    try:
        report = run_models(shop, request)
    except PenstockError as error:
        return Outcome(shop, model, before, refused=error)
    if report.interrupted:
        raise InterruptedRunError("interrupted", "the tests were interrupted")
    results = tuple(result for result in report.results if result.name == model.name)
    return Outcome(shop, model, before, results)
