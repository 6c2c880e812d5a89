"""What `plan` prints: the steps of a run before the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent

from penstock.app.commands.plan import Preview, SqlChange
from penstock.app.reports import Estimate, ModelResult, Plan, RunReport, Step
from penstock.core.masking import mask
from penstock.core.strategy import strategy_named
from penstock.ui.text_diff import COSMETIC, diff_text
from penstock.ui.text_errors import error_text
from penstock.ui.text_partitions import SHOWN as RANGES
from penstock.ui.text_partitions import partitions_text, ranges_text
from penstock.ui.text_table import count, first_of
from penstock.ui.text_values import seconds, size

SHOWN = 50


def plan_text(preview: Preview, *, verbose: bool = False) -> str:
    """Give the numbered steps, what cannot be planned, changes of SQL, and a total.

    At most 50 of each, unless `verbose`.
    """
    plan = preview.report.plan
    if plan.is_empty:
        return "\n".join(nothing_to_do(plan))
    limit = None if verbose else SHOWN
    changes = [_change(change) for change in preview.changes if not change.cosmetic]
    blocks = [
        _steps(preview, limit),
        *first_of(changes, limit, "changed model"),
        blocked_text(plan, limit),
        "\n".join(cosmetic_lines([*plan.cosmetic, *_without_meaning(preview.changes)])),
        _total(plan),
    ]
    return "\n\n".join(block for block in blocks if block)


def nothing_to_do(plan: Plan) -> Iterator[str]:
    """Say that everything is up to date, and which changes mean nothing."""
    yield f"nothing to do ({count(len(plan.current), 'model')} up to date)"
    yield from cosmetic_lines(plan.cosmetic)


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
        told = [str(preview.checks.get(step.key, "")), *map(mask, step.notes)]
        notes = [f"     {line}" for line in told if line]
        shown.append("\n".join(["  ".join([*cells, *_why(result, step)]), *notes]))
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
    if step.initial and strategy_named(result.strategy).is_incremental:
        yield "reads its inputs whole"
    if step.estimate is not None:
        yield _about(step.estimate)


def _about(estimate: Estimate) -> str:
    parts = [count(estimate.rows, "row"), size(estimate.size_bytes), seconds(estimate.seconds)]
    return f"about {', '.join(parts)}"


def _change(change: SqlChange) -> str:
    head = f"{change.model} will be re-run\n\nSQL changes detected:\n"
    return head + diff_text(change.executed, change.resolved)


def blocked_text(plan: Plan, limit: int | None) -> str:
    """Give what cannot be run with its errors; "" if all can."""
    if not plan.blocked:
        return ""
    shown = [indent(error_text(blocked.error), "  ") for blocked in plan.blocked]
    return "\n".join(["Cannot be run:", *first_of(shown, limit, "model")])


def cosmetic_lines(names: Sequence[str]) -> Iterator[str]:
    """Say which models' SQL changed without a change of meaning."""
    if names:
        yield f"{COSMETIC} ({', '.join(sorted(names))})"


def _without_meaning(changes: Sequence[SqlChange]) -> list[str]:
    return [change.model for change in changes if change.cosmetic]


def _total(plan: Plan) -> str:
    pending = sum(1 for step in plan.steps if step.reason.pending)
    parts = [f"Total: {count(len(plan.steps), 'step')}"]
    parts += [f"{pending} pending"] * bool(pending)
    parts += [f"{len(plan.blocked)} cannot be run"] * bool(plan.blocked)
    parts += [f"{count(len(plan.current), 'model')} up to date"] * bool(plan.current)
    return f"{', '.join(parts)}. Nothing was run."
