"""What a step's checks make of its result: status, error, and what became of its rows."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.checking.verdicts import refusal
from penstock.app.commit import Ended
from penstock.app.reports import ModelResult
from penstock.app.view_reports import ViewReport
from penstock.core.check_results import Checked
from penstock.core.checks import OnFailure, Phase
from penstock.core.errors import CheckFailedError
from penstock.core.partition import shown_ranges
from penstock.core.project import Project
from penstock.core.ranges import Ranges, difference


def with_checks(result: ModelResult, ended: Ended) -> ModelResult:
    """Add what the checks of a step said; a failed gate makes it failed."""
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
    notes = (*result.notes, *_undone(ended, checked))
    told = consequence(ended, checked)
    return replace(result, status="failed", error=error, consequence=told, notes=notes)


def of_view(project: Project, found: ViewReport) -> ModelResult:
    """Give what came of a view whose checks a step that reads it has looked at again."""
    model, report = project.models[found.view], found.report
    result = ModelResult(
        name=model.name,
        table=model.table,
        strategy=model.strategy_name,
        status="unchanged",
        reason="what it reads has changed",
        duration=found.duration,
        invariant_report=report,
    )
    phase = Phase.BEFORE if report.has_before_errors() else Phase.AFTER
    error = refusal(model.name, phase, report.all, model.grid, ())
    if error is None:
        return result
    return replace(result, status="failed", error=error, consequence="what reads it is not built")


def failed_by(ended: Ended) -> Ranges:
    """Give the partitions that are not as their readers need them; those of a whole table: 0."""
    checked = ended.checked
    if checked is None or checked.failure is None:
        return ()
    return ended.intent.ords if ended.undone is not None else checked.failed


def consequence(ended: Ended, checked: Checked) -> str:
    """Say what became of the rows that failed."""
    if ended.undone is not None:
        return f"restored to version {ended.restored}"
    if checked.mode is not OnFailure.BLOCK:
        return f"{_written(ended)} flagged"
    kept = checked.quarantine
    if kept is None:
        return "nothing published"
    return f"rows kept in {kept.table} until {kept.expires.date().isoformat()}"


def _written(ended: Ended) -> str:
    if not ended.intent.uri:
        return "view made and"
    return "nothing was written;" if ended.outcome.version is None else "rows written and"


def _undone(ended: Ended, checked: Checked) -> tuple[str, ...]:
    """Name the partitions that a RESTORE took back with those that failed."""
    intent = ended.intent
    others = difference(intent.ords, checked.failed)
    if ended.undone is None or not others:
        return ()
    gone, bad = (shown_ranges(intent.grid, ranges) for ranges in (others, checked.failed))
    return (f"rolled-back: {intent.model} {gone}: undone with {bad}",)
