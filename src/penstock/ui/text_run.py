"""What `run` prints: a line per event while it runs, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock.app.reports import ModelResult, Plan, RunReport
from penstock.core.masking import mask
from penstock.core.strategy import strategy_named
from penstock.ui.text_errors import error_text, first_line
from penstock.ui.text_failures import by_check, failures
from penstock.ui.text_invariants import step_lines
from penstock.ui.text_partitions import WHOLE, partitions_text, ranges_text
from penstock.ui.text_plan import SHOWN, nothing_to_do
from penstock.ui.text_prompt import ABORTED
from penstock.ui.text_sync import tail
from penstock.ui.text_table import count, first_of
from penstock.ui.text_values import row_counts, seconds


@dataclass(frozen=True, slots=True)
class Columns:
    """How wide the lines of a plan's steps are; `keys` is 0 where no step has partitions."""

    steps: int
    names: int
    keys: int

    @classmethod
    def of(cls, plan: Plan) -> Columns:
        """Measure a plan once, before its steps run."""
        names = [*(step.model for step in plan.steps), *(each.model for each in plan.blocked)]
        keys = [len(ranges_text(step.keys)) for step in plan.steps if not step.grid.is_whole]
        return cls(len(names), max(map(len, names), default=0), max(keys, default=0))


def result_line(number: int, result: ModelResult, columns: Columns) -> str:
    """Give the line of a step that ended, `[1/5] name  partitions  reason  rows  time`."""
    head = [f"[{number}/{max(columns.steps, number)}] {result.name:<{columns.names}}"]
    head += [f"{ranges_text(result.partitions):<{columns.keys}}"] * bool(columns.keys)
    return "  ".join([*head, *_outcome(result)])


def _outcome(result: ModelResult) -> Iterator[str]:
    if result.status == "failed" and result.error is not None and not by_check(result):
        yield "FAILED"
        yield first_line(result.error)
        return
    if result.status == "skipped":
        yield f"skipped: {result.reason}"
        return
    yield mask(result.reason)
    if result.partitions != WHOLE:
        yield partitions_text(result.count)
    if result.status == "unchanged":
        yield "no change"
    elif not strategy_named(result.strategy).is_view:
        yield row_counts(result.rows)
    yield from result.schema_changes
    yield seconds(result.duration)


def run_text(report: RunReport) -> str:
    """Give what stands below the progress: errors, the summary, the command that resumes."""
    if report.aborted:
        return ABORTED
    settled = [each for each in report.results if not _is_current(report, each)]
    if report.plan.is_empty and not settled:
        return "\n".join([*nothing_to_do(report.plan), *_left(report)])
    lines = _settled(settled) if report.plan.is_empty else ()
    return "\n".join([*lines, *_summary(report)])


def _is_current(report: RunReport, result: ModelResult) -> bool:
    return result.name in report.plan.current and result.status == "unchanged"


def _settled(results: Sequence[ModelResult]) -> Iterator[str]:
    """Show steps whose checks were pending where nothing else ran, so that no line told of them."""
    names = max(len(result.name) for result in results)
    keys = [len(ranges_text(r.partitions)) for r in results if r.partitions != WHOLE]
    columns = Columns(len(results), names, max(keys, default=0))
    for number, result in enumerate(results, start=1):
        yield result_line(number, result, columns)
        yield from step_lines(result.invariant_report)


def _left(report: RunReport) -> Iterator[str]:
    if report.preview is not None:
        yield from tail(report.preview)


def _summary(report: RunReport) -> Iterator[str]:
    errors = [r.error for r in report.results if r.error is not None and not by_check(r)]
    told = list(dict.fromkeys(map(error_text, errors)))  # a JVM that died is the error of many
    yield from first_of(told, SHOWN, "error")
    if errors and report.log_path:
        yield f"Log: {report.log_path}"
    for result in report.results:
        for note in result.notes if result.ok or by_check(result) else ():
            yield f"{result.name}: {mask(note)}"
    if report.interrupted:
        yield "Interrupted."
    yield done_line(result for result in report.results if not _is_current(report, result))
    yield from _left(report)
    if report.resume:
        yield f"Resume: {report.resume}"


def done_line(results: Iterable[ModelResult]) -> str:
    """Count the steps that are done, and those that are not; with partitions, those as well.

    A step whose rows failed a check counts as done, and its failure is told.
    """
    ended = list(results)
    found = Counter("failed" if by_check(result) else result.status for result in ended)
    if any(result.partitions != WHOLE for result in ended):
        return _done_partitions(ended)
    others = [f"{found['unchanged']} unchanged"] * bool(found["unchanged"])
    others += failures(ended)
    others += [f"{found['skipped']} skipped"] * bool(found["skipped"])
    checked = sum(1 for result in ended if by_check(result) and result.status == "failed")
    done = f"Done: {count(found['success'] + checked, 'step')}."
    return f"{done} {', '.join(others)}." if others else done


def _done_partitions(ended: Sequence[ModelResult]) -> str:
    """Count a step that found nothing to change among those that are done."""
    done = [
        result
        for result in ended
        if result.status in ("success", "unchanged")
        or (by_check(result) and result.status == "failed")
    ]
    total = partitions_text(sum(result.count for result in done))
    others = failures(ended)
    skipped = (r for r in ended if r.status == "skipped" and not by_check(r))
    why = Counter(_in_short(result.reason) for result in skipped)
    others += [f"{number} skipped ({reason})" for reason, number in why.items()]
    line = f"Done: {count(len(done), 'step')}, {total}."
    return f"{line} {', '.join(others)}." if others else line


def _in_short(reason: str) -> str:
    return "upstream failed" if reason.startswith("upstream") else reason
