"""Add the check results to a step's result: status, error, and what happened to its rows."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from penstock.app.checking.results import refusal
from penstock.app.execution.commit import Ended
from penstock.app.flags import command_words
from penstock.app.preparing.outcomes import base_of
from penstock.app.preparing.run_context import ViewReport
from penstock.app.reports import ModelResult
from penstock.app.request import AnyRun, AnySync, SnapshotRequest, StepsRequest
from penstock.app.run_report import RunReport
from penstock.core.check_results import Checked
from penstock.core.checks.check import OnFailure, Phase
from penstock.core.errors import (
    CheckFailedError,
    ConcurrentWriterError,
    PenstockError,
    SchemaChangeError,
)
from penstock.core.partitions.partition import shown_ranges
from penstock.core.partitions.ranges import Ranges, difference
from penstock.core.project import Project
from penstock.plan.values import Step


def result_of(result: ModelResult, step: Step, ended: Ended) -> ModelResult:
    """Add what a step has done to its result."""
    intent, outcome = ended.intent, ended.outcome
    settled = outcome if ended.undone is None else ended.undone
    made = replace(
        result,
        version=settled.settled_version,
        rows=outcome.rows,
        windows=intent.windows,
        kind=intent.windows[0].kind if intent.windows else step.kind,
        watermarks=intent.watermarks,
        inputs=intent.inputs,
        metrics=outcome.metrics,
        schema_changes=ended.schema_changes,
        notes=(*warnings_of_step(ended), *(ended.notes if ended.checked is None else ())),
        step=intent.step,
    )
    return with_checks(made, ended)


def in_order(
    results: Iterable[ModelResult], names: Iterable[str], unchanged: Iterable[ModelResult]
) -> tuple[ModelResult, ...]:
    """Return models in the order of their names, and the steps of each in that of partitions.

    Views that only their readers have checked come first.
    """
    known, by_name = dict.fromkeys(names), dict[str, list[ModelResult]]()
    for result in results:
        by_name.setdefault(result.name, []).append(result)
    order = dict.fromkeys((*(name for name in by_name if name not in known), *known))
    for result in unchanged:
        by_name.setdefault(result.name, [result])
    return tuple(result for name in order for result in by_name.get(name, ()))


def with_checks(result: ModelResult, ended: Ended) -> ModelResult:
    """Add the check results of a step; a failed gate makes it failed."""
    checked = ended.checked
    if checked is None:
        return result
    result = replace(result, invariant_report=checked.report, notes=(*result.notes, *ended.notes))
    if checked.failure is None:
        return result
    gates = [each for each in checked.report.all if each.failed_gate]
    failure = checked.failure
    where = gates[0].where if gates else None
    error = CheckFailedError(failure.code, failure.message, where=where, hint=failure.hint)
    notes, intent = result.notes, ended.intent
    others = difference(intent.ords, checked.failed)
    if ended.undone is not None and others:  # a RESTORE took them back with those that failed
        gone, bad = (shown_ranges(intent.grid, ranges) for ranges in (others, checked.failed))
        notes = (*notes, f"rolled-back: {intent.model} {gone}: undone with {bad}")
    messages = consequence_text(ended, checked)
    return replace(result, status="failed", error=error, consequence=messages, notes=notes)


def view_result(project: Project, view: ViewReport) -> ModelResult:
    """Return the result of a view whose checks were evaluated again by a step that reads it."""
    model, report = project.models[view.view], view.report
    result = replace(
        ModelResult.of(model, "unchanged", "what it reads has changed"),
        duration=view.duration,
        invariant_report=report,
    )
    phase = Phase.BEFORE if report.has_before_errors() else Phase.AFTER
    error = refusal(model.name, phase, report.all, model.grid, ())
    if error is None:
        return result
    return replace(
        result, status="failed", error=error, consequence="models that read it are not built"
    )


def failed_partitions(ended: Ended) -> Ranges:
    """Return the partitions that readers must not use; 0 for a whole table."""
    checked = ended.checked
    if checked is None or checked.failure is None:
        return ()
    return ended.intent.ords if ended.undone is not None else checked.failed


def consequence_text(ended: Ended, checked: Checked) -> str:
    """Return what happened to the rows that failed."""
    if ended.undone is not None:
        return f"restored to version {ended.restored}"
    if checked.mode is not OnFailure.BLOCK:
        nothing = ended.outcome.version is None
        written = "nothing was written;" if nothing else "rows written and"
        return f"{written if ended.intent.uri else 'view made and'} flagged"
    kept = checked.quarantine
    if kept is None:
        return "nothing published"
    return f"rows kept in {kept.table} until {kept.expires.date().isoformat()}"


Asked = TypeVar("Asked", bound=StepsRequest)
_NAMED = 20
_MODELS = ("select", "exclude", "state")
_CHECKS = ("skip_checks", "on_failure")
# What decides which rows are made; how fast, and how many at a time, is asked for anew.
_ROWS = (
    *("states", "date", "from_", "to", "days", "everything", "cascade"),
    *("full_refresh", "adopt", "allow_breaking", "allow_source_mutation", "allow_schema_change"),
    *("prune", "keep_last", "no_prune", "allow_empty", "catch_up"),
    *("slice", "strategy", "processing_time", "allow_backdated", "strict"),
    *("as_of", "defer_to", *_CHECKS),
)


def with_resume_command(
    report: RunReport,
    request: AnyRun | AnySync,
    selecting: Mapping[str, str] = MappingProxyType({}),
) -> RunReport:
    """Return the report with the remaining work, and the command that does it."""
    if isinstance(request, AnySync):
        command, selecting = resume_sync(report, request), {}
    else:
        command = resume_command(report, request, selecting)
    if not command and any(each.step and not each.ok for each in report.hooks):
        command = "penstock recover"  # all models are done
    left = _selectors(_unfinished_models(report), selecting) if command else ()
    return replace(report, resume=command, left=tuple(left))


def _unfinished_models(report: RunReport) -> list[str]:
    """Return the models that failed, were skipped or have not begun, in the order of the plan."""
    planned = dict.fromkeys(step.model for step in report.plan.steps)
    bad = dict.fromkeys(result.name for result in report.results if not result.ok)
    begun = {result.name for result in report.results}
    left = [name for name in planned if name in bad or name not in begun]
    return [*(name for name in bad if name not in planned), *left]


def _selectors(names: Sequence[str], selecting: Mapping[str, str]) -> list[str]:
    words = " ".join(selecting.get(name, name) for name in names).split()
    return list(dict.fromkeys(words))


def resume_sync(report: RunReport, request: AnySync) -> str:
    """Return the command that finishes a sync or repeats a backfill; "" if nothing is left."""
    done = {(result.name, result.partitions) for result in report.results if result.ok}
    left = any((step.model, step.keys) not in done for step in report.plan.steps)
    if not left and not report.plan.blocked:
        return ""
    words = ["penstock", request.command, *[request.model] * bool(request.model)]
    words += command_words(_with_schema_change(report, request), (*_MODELS, *_ROWS))
    return shlex.join([*words, "--yes"])


def resume_command(
    report: RunReport, request: AnyRun, selecting: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the command that runs only the remaining models, "" if there are none.

    `selecting` maps models to the words that select them; a package runs as a whole.

    >>> words = ["penstock", "run", "--select", "a b"]
    >>> shlex.join(words)
    "penstock run --select 'a b'"
    """
    names = _unfinished_models(report)
    if all(name in selecting for name in names):  # what is to be made anew is on record by now
        request = replace(request, full_refresh=False)
    left = _selectors(names, selecting)
    if not left:
        return ""
    flagged = _flagged_partitions(report)
    if flagged is not None:
        words = command_words(request, ("as_of", "defer_to", *_CHECKS))
        return shlex.join(["penstock", "sync", *flagged, *words])
    words = ["penstock", *report.command.split()]
    if len(left) <= _NAMED:
        words += ["--select", " ".join(left)]
    else:  # what is done is current, so the same selection does only what is left
        words += command_words(request, _MODELS)
    words += command_words(_with_schema_change(report, request), _ROWS)
    # only `snapshot run` asks before it builds anew
    words += ["--yes"] * (request.full_refresh and isinstance(request, SnapshotRequest))
    return shlex.join(words)


def _with_schema_change(report: RunReport, request: Asked) -> Asked:
    """Return the request with schema changes allowed, if that is what stopped a function."""
    errors = [result.error for result in report.results]
    if any(isinstance(error, SchemaChangeError) and error.passes for error in errors):
        return replace(request, allow_schema_change=True)
    return request


def _flagged_partitions(report: RunReport) -> list[str] | None:
    """Return one model's partitions that failed their checks, if nothing else is left."""
    left = [result for result in report.results if not result.ok]
    if not left or any(result.partitions == (("*", "*"),) for result in left):
        return None
    checked = all(isinstance(result.error, CheckFailedError) for result in left)
    if not checked or len({result.name for result in left}) > 1:
        return None
    first, last = left[0].partitions[0][0], left[-1].partitions[-1][1]
    return ["--query", left[0].name, "--from", first, "--to", last]


def warnings_of_step(ended: Ended) -> tuple[str, ...]:
    """Return warnings: rows that were not read, foreign rows, a history table without rows."""
    metrics, intent = ended.outcome.metrics, ended.intent
    notes = []
    if intent.cut_at is not None:
        notes.append(f"rows after {intent.cut_at:%Y-%m-%d %H:%M:%S} are left to a later run")
    if passed := [name for name in intent.passed_by if name != intent.model]:
        command = f"penstock sync --select {intent.model}"
        notes.append(f"{', '.join(passed)} changed rows that it had read; {command} rebuilds it")
    for each in ended.outcome.foreign:
        if each.version > base_of(intent):
            what = f"version {each.version} ({each.operation}) of {intent.table}"
            notes.append(f"tampered: {what} was written by others during the step; penstock status")
    created = ended.outcome.version is not None and ended.intent.base_version is None
    if created and metrics.get("source_rows") == 0:
        notes.append("the source has no rows: the table is empty")
    return tuple(notes)


def final_error(error: PenstockError) -> PenstockError:
    """Return the final error after the last retry."""
    if isinstance(error, ConcurrentWriterError) and error.code != "concurrent-writer":
        return ConcurrentWriterError(
            "concurrent-writer", error.sentence, where=error.where, hint=error.hint
        )
    return error


def remaining_steps(step: Step, ranges: Ranges) -> tuple[Step, ...]:
    """Return the remaining part of a step; SQL over a range needs a range without gaps."""
    if not ranges:
        return ()
    if step.work.is_range:
        return tuple(step.of((piece,)) for piece in ranges)
    return (step.of(ranges),)
