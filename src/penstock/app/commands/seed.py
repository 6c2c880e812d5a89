"""The use case `seed`: load every file under seeds/ as a table when the file changes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

from penstock.app.artifacts.write import write_artifacts
from penstock.app.execution.commit import refresh_record
from penstock.app.execution.recover import recover
from penstock.app.execution.seed_step import STRATEGY, load_seed, seed_reason
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.run_context import Context
from penstock.app.reports import ModelResult
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.app.services.workers import on_record, on_worker
from penstock.core.errors import PenstockError, SelectorError, SparkDiedError
from penstock.core.model import Seed
from penstock.plan.values import Now, Plan, Reason, State
from penstock.project.files.values import did_you_mean, some_of

COMMAND = "seed"


def seed(services: Services, select: tuple[str, ...] = ()) -> RunReport:
    """Load the selected seeds whose file, types or table changed; by default all seeds.

    An unchanged seed starts no JVM. A failed seed does not stop the others.
    """
    wanted = selected_seeds(services, select)
    recovery = recover(services)
    now = services.clock.now()
    context = Context(
        holder=services.holder(services.clock.new_id()),
        run_timestamp=now,
        project=services.project,
        view=ObservedTables(Now(now, {}, {})),
        records=dict(services.reading.records.models()),
        triggered_by=COMMAND,
    )
    reasons = {each.name: seed_reason(services, each, context.records, now) for each in wanted}
    report = RunReport(
        run_id=context.holder.run,
        run_timestamp=now,
        plan=Plan(now),
        results=(),
        command=COMMAND,
        recovered=recovery.messages_by_step,
    )
    changed = [each for each in wanted if reasons[each.name].state is not State.CURRENT]
    done = _load(services, context, changed, reasons) if changed else {}
    results = tuple(done.get(s.name) or _result(s, "unchanged", "current") for s in wanted)
    left = tuple(result.name for result in results if not result.ok)
    resume = f"penstock seed --select {' '.join(left)!r}" if left else ""
    report = replace(report, results=results, left=left, resume=resume)
    report = replace(report, log_path=services.written_log)
    if changed:
        write_artifacts(services, report)
    return report


def selected_seeds(services: Services, select: Iterable[str]) -> tuple[Seed, ...]:
    """Return the seeds by name or glob; raise `SelectorError` if a selector matches none."""
    seeds = services.project.seeds
    asked = [word for value in select for word in value.split()]
    if not asked:
        return tuple(seeds.values())
    chosen: set[str] = set()
    for word in asked:
        found = {name for name in seeds if fnmatchcase(name, word)}
        if not found:
            hint = did_you_mean(word, seeds) or f"there are: {some_of(seeds) or 'none'}"
            raise SelectorError("nothing-selected", f"no seed is called {word!r}", hint=hint)
        chosen |= found
    return tuple(each for name, each in seeds.items() if name in chosen)


def _load(
    services: Services, context: Context, seeds: list[Seed], reasons: dict[str, Reason]
) -> dict[str, ModelResult]:
    run = services.run_record(context.holder.run, COMMAND, context.run_timestamp)
    done: dict[str, ModelResult] = {}
    with on_record(services, run) as succeeded:
        for each in seeds:
            load = partial(_do, services, context, each, reasons[each.name])
            done[each.name] = on_worker(services, load)
            if isinstance(done[each.name].error, SparkDiedError):
                break
        if len(done) == len(seeds) and all(result.ok for result in done.values()):
            succeeded()
    left = (each for each in seeds if each.name not in done)
    return done | {each.name: _result(each, "skipped", "Spark's JVM is gone") for each in left}


def _do(services: Services, context: Context, seed: Seed, reason: Reason) -> ModelResult:
    started, clock = services.clock.now(), time.monotonic()
    result = _result(seed, "success", str(reason))
    try:
        ended = load_seed(services, context, seed, reason)
        refresh_record(services, context.records, seed.name)
        result = replace(
            result,
            version=ended.outcome.settled_version,
            rows=ended.outcome.rows,
            metrics=ended.outcome.metrics,
            step=ended.intent.step,
        )
    except PenstockError as error:
        result = replace(result, status="failed", error=error)
    return replace(result, started=started, duration=round(time.monotonic() - clock, 3))


def _result(seed: Seed, status: str, reason: str) -> ModelResult:
    return ModelResult(seed.name, seed.table, STRATEGY, status, reason)
