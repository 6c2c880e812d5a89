"""What `run` and `seed` print: a line per step while it runs, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.app.checking.results import invariants_document
from penstock.app.reports import Cascaded, ModelResult, Plan, RunReport, Step, SyncPreview
from penstock.core.masking import mask
from penstock.core.steps.window import Bound, InputWindow, Watermark
from penstock.core.strategy import strategy_named
from penstock.ui.render.diff import COSMETIC, model_diff_document
from penstock.ui.render.document import Json, instant
from penstock.ui.render.errors import error_document, error_text, first_line
from penstock.ui.render.results import by_check, failures, step_lines
from penstock.ui.render.status import model_status_document
from penstock.ui.render.values import (
    LISTED,
    WHOLE,
    count,
    first_of,
    partitions_text,
    ranges_text,
    row_counts,
    seconds,
)

Planned = Callable[[ModelResult, Step | None], Mapping[str, Json]]

ABORTED = "Aborted, nothing was done."


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
    """Show steps whose checks were pending where nothing else ran, so that no line has."""
    names = max(len(result.name) for result in results)
    keys = [len(ranges_text(r.partitions)) for r in results if r.partitions != WHOLE]
    columns = Columns(len(results), names, max(keys, default=0))
    for number, result in enumerate(results, start=1):
        yield result_line(number, result, columns)
        yield from step_lines(result.invariant_report)


def _left(report: RunReport) -> Iterator[str]:
    if report.preview is not None:
        yield from tail(report.preview)


def error_lines(report: RunReport) -> list[str]:
    """Give the errors of steps that failed themselves, each once."""
    errors = (r.error for r in report.results if r.error is not None and not by_check(r))
    texts = list(dict.fromkeys(map(error_text, errors)))  # a JVM that died is the error of many
    return first_of(texts, LISTED, "error")


def note_lines(report: RunReport) -> Iterator[str]:
    """Give what steps have to say that did not fail, and whether somebody stopped the run."""
    for result in report.results:
        for note in result.notes if result.ok or by_check(result) else ():
            yield f"{result.name}: {mask(note)}"
    if report.interrupted:
        yield "Interrupted."


def _summary(report: RunReport) -> Iterator[str]:
    errors = error_lines(report)
    yield from errors
    if errors and report.log_path:
        yield f"Log: {report.log_path}"
    yield from note_lines(report)
    yield done_line(result for result in report.results if not _is_current(report, result))
    yield from _left(report)
    if report.resume:
        yield f"Resume: {report.resume}"


def done_line(results: Iterable[ModelResult]) -> str:
    """Count the steps that are done, and those that are not; with partitions, those as well.

    A step whose rows failed a check counts as done, and its failure is named.
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


def nothing_to_do(plan: Plan) -> Iterator[str]:
    """Say that everything is up to date, and which changes mean nothing."""
    yield f"nothing to do ({count(len(plan.current), 'model')} up to date)"
    yield from cosmetic_lines(plan.cosmetic)


def cosmetic_lines(names: Sequence[str]) -> Iterator[str]:
    """Say which models' SQL changed without a change of meaning."""
    if names:
        yield f"{COSMETIC} ({', '.join(sorted(names))})"


def tail(preview: SyncPreview) -> Iterator[str]:
    """Say what is left out: by --max-partitions, for want of --cascade, and why."""
    if preview.remaining:
        verb = "remains" if preview.remaining == 1 else "remain"
        yield f"{partitions_text(preview.remaining)} {verb}"
    if preview.left:
        total = count(sum(each.count for each in preview.left), "downstream partition")
        names = [f"{each.model} {each.count:,}" for each in preview.left]
        shown = ", ".join(first_of(names, LISTED, "model"))
        yield (f"{total} would become upstream_changed ({shown}). Run: penstock sync --cascade")
    for line in preview.lines:
        yield mask(line)


def seed_text(report: RunReport) -> str:
    """Give a line per seed, then errors, the summary and the command that resumes."""
    if not report.results:
        return "no seeds"
    width = max(len(result.name) for result in report.results)
    lines = [f"{r.name:<{width}}  {'  '.join(_seed_outcome(r))}" for r in report.results]
    errors = [error_text(r.error) for r in report.results if r.error is not None]
    lines += dict.fromkeys(errors)
    lines.append(done_line(report.results))
    lines += [f"Resume: {report.resume}"] * bool(report.resume)
    return "\n".join(lines)


def _seed_outcome(result: ModelResult) -> Iterator[str]:
    match result.status:
        case "failed" if result.error is not None:
            yield f"FAILED  {first_line(result.error)}"
        case "unchanged":
            yield "up to date"
        case "skipped":
            yield f"skipped: {result.reason}"
        case _:
            yield str(result.table)
            yield row_counts(result.rows)
            yield seconds(result.duration)


def sync_document(preview: SyncPreview) -> Json:
    """Give what drifted, what a cascade adds or would add, and what is left out."""
    return {
        "drifted": [model_status_document(model) for model in preview.drifted],
        "cascaded": [_cascaded(each) for each in preview.cascaded],
        "left": [_cascaded(each) for each in preview.left],
        "diffs": [model_diff_document(model) for model in preview.diffs],
        "remaining": preview.remaining,
        "lines": preview.lines,
    }


def _cascaded(each: Cascaded) -> Json:
    return {"model": each.model, "count": each.count, "after": each.after}


def run_document(report: RunReport, planned: Planned = lambda _result, _step: {}) -> Json:
    """Give what a run did, model by model in topological order; with partitions step by step.

    `planned` is what a run that was only planned has to say of each beside that.
    """
    steps = {(step.model, step.keys): step for step in report.plan.steps}
    of_results = [
        (result, steps.get((result.name, result.partitions))) for result in report.results
    ]
    return {
        "command": report.command,
        "run": report.run_id or None,
        "run_timestamp": instant(report.run_timestamp),
        "dry_run": report.dry_run,
        "succeeded": report.succeeded,
        "interrupted": report.interrupted,
        "aborted": report.aborted,
        "models": [
            {
                **result_document(result),
                "model_version": step.version if step else None,
                "revision": step.revision or None if step else None,
                **planned(result, step),
            }
            for result, step in of_results
        ],
        "not_run": report.not_run,
        "recovered": report.recovered,
        "notes": report.notes,
        "resume": report.resume or None,
        "log": None if report.plan.is_empty else report.log_path or None,
        "preview": sync_document(report.preview) if report.preview else None,
    }


def result_document(result: ModelResult) -> dict[str, Json]:
    """Give what became of one model."""
    checked = result.invariant_report
    return {
        "model": result.name,
        "status": result.status,
        "reason": result.reason,
        "version": result.version,
        "metrics": dict(result.metrics),
        "schema_changes": result.schema_changes,
        "error": error_document(result.error) if result.error else None,
        "table": str(result.table),
        "strategy": result.strategy,
        "step": result.step or None,
        "rows": {
            "inserted": result.rows.inserted,
            "updated": result.rows.updated,
            "deleted": result.rows.deleted,
            "late": result.rows.late,
            "null_time": result.rows.null_time,
        },
        "windows": [_window(window) for window in result.windows],
        "watermarks": [_watermark(watermark) for watermark in result.watermarks],
        "inputs": [{"input": pin.input, "version": str(pin.pin)} for pin in result.inputs],
        "started": instant(result.started),
        "duration": result.duration,
        "notes": result.notes,
        "partitions": result.partitions,
        "count": result.count,
        "trigger": result.trigger,
        "invariant_report": invariants_document(checked) if checked is not None else None,
        "consequence": result.consequence or None,
    }


def _window(window: InputWindow) -> Json:
    return {
        "input": window.input,
        "column": window.window.column,
        "lower": _bound(window.window.lower),
        "upper": _bound(window.window.upper),
        "nulls": window.window.nulls,
    }


def _bound(bound: Bound | None) -> Json:
    if bound is None:
        return None
    return {"type": bound.value.type, "value": bound.value.text, "inclusive": bound.inclusive}


def _watermark(watermark: Watermark) -> Json:
    return {
        "input": watermark.input,
        "column": watermark.column,
        "type": watermark.value.type,
        "value": watermark.value.text,
    }
