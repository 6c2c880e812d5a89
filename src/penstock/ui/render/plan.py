"""What `plan` prints: the steps of a run before the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import indent

from penstock.app.commands.plan import Preview
from penstock.app.documents import Json, changed_lines, document_of
from penstock.app.reports import ModelResult, Plan, Step
from penstock.app.run_report import RunReport, run_document
from penstock.core.masking import mask
from penstock.core.strategy import strategy_named
from penstock.ui.render.diff import diff_text
from penstock.ui.render.errors import error_text
from penstock.ui.render.run import cosmetic_lines, nothing_to_do
from penstock.ui.render.values import (
    LISTED,
    RANGES,
    count,
    first_of,
    partitions_text,
    ranges_text,
    seconds,
    size,
    window_text,
)

_ESTIMATE = "rows bytes=size_bytes seconds"
_CHECKS = "before after observed scans on_failure skipped of_views"


def plan_text(preview: Preview, *, verbose: bool = False) -> str:
    """Give the numbered steps, what cannot be planned, changes of SQL, and a total.

    At most 50 of each, unless `verbose`.
    """
    plan = preview.report.plan
    if plan.is_empty:
        return "\n".join(nothing_to_do(plan))
    limit = None if verbose else LISTED
    changes = [
        f"{change.model} will be re-run\n\nSQL changes detected:\n"
        f"{diff_text(change.executed, change.resolved)}"
        for change in preview.changes
        if not change.cosmetic
    ]
    pending = sum(step.reason.pending for step in plan.steps)
    total = [f"Total: {count(len(plan.steps), 'step')}"]
    total += [f"{pending} pending"] * bool(pending)
    total += [f"{len(plan.blocked)} cannot be run"] * bool(plan.blocked)
    total += [f"{count(len(plan.current), 'model')} up to date"] * bool(plan.current)
    same = [change.model for change in preview.changes if change.cosmetic]
    blocks = [
        _steps(preview, limit),
        *first_of(changes, limit, "changed model"),
        blocked_text(plan, limit),
        "\n".join(cosmetic_lines([*plan.cosmetic, *same])),
        f"{', '.join(total)}. Nothing was run.",
    ]
    return "\n\n".join(block for block in blocks if block)


def _steps(preview: Preview, limit: int | None) -> str:
    report = preview.report
    steps = report.plan.steps
    if not steps:
        return ""
    results = [result_of(report, step) for step in steps]
    names = max(len(step.model) for step in steps)
    strategies = max(len(result.strategy) for result in results)
    ranges = None if limit is None else RANGES
    keys = ["" if step.grid.is_whole else ranges_text(step.keys, ranges) for step in steps]
    width = max(map(len, keys))
    shown = []
    for number, (step, result, text) in enumerate(zip(steps, results, keys, strict=True), start=1):
        cells = [f"{number:>3}. {step.model:<{names}}", f"{result.strategy:<{strategies}}"]
        cells += [f"{text:<{width}}"] * bool(width)
        notes = [str(preview.checks.get(step.key, "")), *map(mask, step.notes)]
        below = [f"     {line}" for line in notes if line]
        shown.append("\n".join(["  ".join([*cells, *_why(result, step)]), *below]))
    lines = ["Execution plan (topological order):", *first_of(shown, limit, "step")]
    return "\n".join(lines)


def result_of(report: RunReport, step: Step) -> ModelResult:
    """Find the result of a step; of a model with one result it is that."""
    found = [result for result in report.results if result.name == step.model]
    return next((result for result in found if result.partitions == step.keys), found[0])


def _why(result: ModelResult, step: Step) -> Iterator[str]:
    if result.status == "skipped":
        yield f"will be skipped: {result.reason}"
        return
    yield mask(str(step.reason))
    if step.reason.pending:
        yield "pending"
    if step.reason.also:
        yield f"also {', '.join(step.reason.also)}"
    if not step.grid.is_whole:
        yield partitions_text(step.count)
    yield from map(window_text, result.windows)
    if step.initial and strategy_named(result.strategy).is_incremental:
        yield "reads its inputs whole"
    if step.estimate is not None:
        rows, took = count(step.estimate.rows, "row"), seconds(step.estimate.seconds)
        yield f"about {rows}, {size(step.estimate.size_bytes)}, {took}"


def blocked_text(plan: Plan, limit: int | None) -> str:
    """Give what cannot be run with its errors; "" if all can."""
    if not plan.blocked:
        return ""
    shown = [indent(error_text(blocked.error), "  ") for blocked in plan.blocked]
    return "\n".join(["Cannot be run:", *first_of(shown, limit, "model")])


def preview_document(preview: Preview) -> Json:
    """Give the document of a run for one that was only planned, each step with its plan."""
    changes = {change.model: change for change in preview.changes}
    cosmetic = preview.report.plan.cosmetic

    def planned(result: ModelResult, step: Step | None) -> Mapping[str, Json]:
        if step is None:
            return {"plan": None, "cosmetic": result.name in cosmetic}
        checks, change = preview.checks.get(step.key), changes.get(result.name)
        found = {
            **document_of(step.reason, "state also pending"),
            **document_of(step, "initial upstream"),
            "estimate": document_of(step.estimate, _ESTIMATE) if step.estimate else None,
            "diff": changed_lines(change.executed, change.resolved) if change else [],
            "cosmetic": change.cosmetic if change else False,
            "checks": document_of(checks, _CHECKS) if checks and checks.total else None,
        }
        return {"plan": found, "cosmetic": result.name in cosmetic}

    return run_document(preview.report, planned)
