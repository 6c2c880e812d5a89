"""What `run` prints: a line per event while it runs, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from penstock.app.reports import ModelResult, Plan, RunReport
from penstock.core.masking import mask
from penstock.ui.text_errors import error_text, first_line
from penstock.ui.text_plan import SHOWN, nothing_to_do
from penstock.ui.text_table import count, first_of
from penstock.ui.text_values import row_counts, seconds


def result_line(number: int, result: ModelResult, plan: Plan) -> str:
    """Give the line of a step that ended, `[1/5] name  reason  rows  time`."""
    total = len(plan.steps) + len(plan.blocked)
    names = [*(step.model for step in plan.steps), *(b.model for b in plan.blocked), result.name]
    head = f"[{number}/{max(total, number)}] {result.name:<{max(map(len, names))}}"
    return "  ".join([head, *_outcome(result)])


def _outcome(result: ModelResult) -> Iterator[str]:
    if result.status == "failed" and result.error is not None:
        yield "FAILED"
        yield first_line(result.error)
        return
    if result.status == "skipped":
        yield f"skipped: {result.reason}"
        return
    yield mask(result.reason)
    if result.status == "unchanged":
        yield "no change"
    elif result.strategy != "view":
        yield row_counts(result.rows)
    yield from result.schema_changes
    yield seconds(result.duration)


def run_text(report: RunReport) -> str:
    """Give what stands below the progress: errors, the summary, the command that resumes."""
    if report.plan.is_empty:
        return "\n".join(nothing_to_do(report.plan))
    return "\n".join(_summary(report))


def _summary(report: RunReport) -> Iterator[str]:
    errors = [result.error for result in report.results if result.error is not None]
    yield from first_of([error_text(error) for error in errors], SHOWN, "error")
    if errors and report.log_path:
        yield f"Log: {report.log_path}"
    for result in report.results:
        for note in result.notes if result.ok else ():
            yield f"{result.name}: {mask(note)}"
    if report.interrupted:
        yield "Interrupted."
    current = set(report.plan.current)
    yield done_line(result for result in report.results if result.name not in current)
    if report.resume:
        yield f"Resume: {report.resume}"


def done_line(results: Iterable[ModelResult]) -> str:
    """Count the steps that are done, and those that are not."""
    found = Counter(result.status for result in results)
    others = [f"{found[word]} {word}" for word in ("unchanged", "failed", "skipped") if found[word]]
    done = f"Done: {count(found['success'], 'step')}."
    return f"{done} {', '.join(others)}." if others else done
