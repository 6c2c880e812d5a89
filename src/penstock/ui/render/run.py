"""What `run` and `seed` print: a line per step while it runs, and what came of it."""

from __future__ import annotations

import datetime as dt
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from penstock.app.documents import Json, instant, printed
from penstock.app.events import Event, RunStarted, Said, StepEnded, StepStarted
from penstock.app.reports import Keys, ModelResult, Plan, SyncPreview
from penstock.app.run_report import RunReport, result_document
from penstock.core.masking import mask
from penstock.ui.render.check import by_check, failures, step_lines
from penstock.ui.render.diffs import COSMETIC
from penstock.ui.render.tables import first_of
from penstock.ui.render.values import (
    LISTED,
    WHOLE,
    count,
    error_text,
    first_line,
    hook_text,
    late_rows,
    partitions_text,
    ranges_text,
    reason_text,
    row_counts,
    seconds,
    window_text,
)

ABORTED = "Aborted, nothing was done."
SIGNS = {"failed": "✗", "skipped": "-"}
"""What stands before a step that ended in this way; what is done has one of its own."""
_NAMED = 3
"""Models that one line names."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Columns:
    """The widths of the columns of a plan's steps; `keys` is 0 if no step has partitions."""

    steps: int
    names: int
    keys: int

    @classmethod
    def of(cls, plan: Plan) -> Columns:
        """Measure a plan once, before its steps run."""
        steps = [(step.model, step.keys) for step in plan.steps]
        return cls.fitting([*steps, *((each.model, WHOLE) for each in plan.blocked)])

    @classmethod
    def fitting(cls, steps: Collection[tuple[str, Keys]]) -> Columns:
        """Measure steps by their models and partitions."""
        parts = [len(ranges_text(keys)) for _, keys in steps if keys != WHOLE]
        return cls(len(steps), max((len(n) for n, _ in steps), default=0), max(parts, default=0))


def result_line(number: int, result: ModelResult, columns: Columns) -> str:
    """Return the line of a step that ended, `[1/5] ✓ name  partitions  reason  rows  time`."""
    steps = str(columns.steps)
    sign = SIGNS.get("failed" if by_check(result) else result.status, "✓")
    head = [f"[{number:>{len(steps)}}/{steps}] {sign} {result.name:<{columns.names}}"]
    keys = "" if result.partitions == WHOLE else ranges_text(result.partitions)
    head += [f"{keys:<{columns.keys}}"] * bool(columns.keys)
    return "  ".join([*head, *_outcome(result)])


def _outcome(result: ModelResult) -> Iterator[str]:
    if result.status == "failed" and result.error is not None and not by_check(result):
        yield "FAILED"
        yield first_line(result.error)
        return
    if result.status == "skipped":
        yield f"skipped: {result.reason}"
        return
    yield reason_text(result.reason)
    if result.slice:
        yield slice_text(result.metrics)
    elif result.partitions != WHOLE:
        yield partitions_text(result.count)
    yield from map(window_text, result.windows)
    if result.status == "unchanged":
        yield "no change"
        yield from late_rows(result.rows)
    elif not (result.slice or result.is_view):
        yield row_counts(result.rows)
    if (result.windows or result.slice) and result.version is not None:
        yield f"v{result.version}"
    yield from result.schema_changes
    yield seconds(result.duration)


_COUNTED = (
    *("inserted", "updated", "deleted", "unchanged", "inferred_deleted"),
    *("stale", "late", "superseded", "ignored", "rescued", "bad_records"),
)
_WORDS = {"inferred_deleted": "inferred deleted", "bad_records": "bad"}


def slice_text(metrics: Mapping[str, int]) -> str:
    """Return the rows of a slice and what was done with them.

    >>> slice_text({"recordsInSlice": 3, "inserted": 1, "updated": 2, "inferred_deleted": 1})
    '3 rows: 1 inserted, 2 updated, 1 inferred deleted'
    """
    parts = [f"{metrics[n]:,} {_WORDS.get(n, n)}" for n in _COUNTED if metrics.get(n)]
    rows = count(metrics.get("recordsInSlice", 0), "row")
    return f"{rows}: {', '.join(parts)}" if parts else rows


def run_text(report: RunReport) -> str:
    """Return the end of a run's output: errors, the summary, the command that resumes."""
    if report.aborted:
        return ABORTED
    current = report.plan.current
    ended = [r for r in report.results if r.name not in current or r.status != "unchanged"]
    left = [*tail(report.preview)] if report.preview is not None else []
    if report.plan.is_empty and not ended:
        if report.said and not current:  # the limits of a package were all that was asked for
            return "\n".join(left)
        failed = error_lines(report)
        resume = [f"Resume: {report.resume}"] * bool(report.resume)
        return "\n".join([*failed, *nothing_to_do(report.plan), *left, *resume])
    lines = []
    if report.plan.is_empty:  # checks of these were pending, so no line was shown
        columns = Columns.fitting([(result.name, result.partitions) for result in ended])
        for number, result in enumerate(ended, start=1):
            lines += [result_line(number, result, columns), *step_lines(result.invariant_report)]
    errors = error_lines(report)
    lines += errors
    if errors and report.log_path:
        lines.append(f"Log: {report.log_path}")
    lines += [*note_lines(report), done_line(ended), *left]
    if report.resume:
        lines.append(f"Resume: {report.resume}")
    return "\n".join(lines)


def seed_text(report: RunReport) -> str:
    """Return a line per seed, then errors, the summary and the command that resumes."""
    if not report.results:
        return "no seeds"
    width = max(len(result.name) for result in report.results)
    lines = []
    for result in report.results:
        found = [str(result.table), row_counts(result.rows), seconds(result.duration)]
        if result.status == "failed" and result.error is not None:
            found = ["FAILED", first_line(result.error)]
        elif result.status == "unchanged":
            found = ["up to date"]
        elif result.status == "skipped":
            found = [f"skipped: {result.reason}"]
        lines.append("  ".join([f"{result.name:<{width}}", *found]))
    lines += dict.fromkeys(error_text(r.error) for r in report.results if r.error is not None)
    lines.append(done_line(report.results))
    lines += [f"Resume: {report.resume}"] * bool(report.resume)
    return "\n".join(lines)


def error_lines(report: RunReport) -> list[str]:
    """Return the errors of failed steps, each once."""
    errors = (r.error for r in report.results if r.error is not None and not by_check(r))
    found = [*map(error_text, errors), *(hook_text(each) for each in report.hooks if not each.ok)]
    texts = list(dict.fromkeys(found))  # a JVM that died is the error of many
    return first_of(texts, LISTED, "error")


def note_lines(report: RunReport) -> Iterator[str]:
    """Yield the notes of steps that did not fail, and a line if the run was interrupted."""
    for result in report.results:
        for note in result.notes if result.ok or by_check(result) else ():
            yield f"{result.name}: {mask(note)}"
    unsupported = (hook for hook in report.hooks if hook.ok and hook.failure)
    for hook in islice(unsupported, 1):  # once a run: it holds for all models
        yield f"warning: {hook_text(hook)}"
    if report.interrupted:
        yield "Interrupted."


def done_line(ended: Sequence[ModelResult]) -> str:
    """Return the numbers of steps that are done, failed and skipped, and of partitions.

    A step whose rows failed a check counts as done, and its failure is named.
    """
    parted = any(result.partitions != WHOLE and not result.slice for result in ended)
    found = Counter("failed" if by_check(result) else result.status for result in ended)
    is_done = ("success", "unchanged") if parted else ("success",)
    done = [r for r in ended if r.status in is_done or (r.status == "failed" and by_check(r))]
    others = [f"{found['unchanged']} unchanged"] * bool(found["unchanged"] and not parted)
    others += failures(ended)
    if parted:
        skipped = [r.reason for r in ended if r.status == "skipped" and not by_check(r)]
        why = Counter("upstream failed" if r.startswith("upstream") else r for r in skipped)
        others += [f"{number} skipped ({reason})" for reason, number in why.items()]
    else:
        others += [f"{found['skipped']} skipped"] * bool(found["skipped"])
    total = f", {partitions_text(sum(result.count for result in done))}" if parted else ""
    line = f"Done: {count(len(done), 'step')}{total}."
    return f"{line} {', '.join(others)}." if others else line


def nothing_to_do(plan: Plan) -> Iterator[str]:
    """Yield that everything is up to date, and the changes without a meaning."""
    yield f"nothing to do ({count(len(plan.current), 'model')} up to date)"
    yield from cosmetic_lines(plan.cosmetic)


def cosmetic_lines(names: Sequence[str]) -> Iterator[str]:
    """Yield the models whose SQL changed without a change of meaning."""
    if names:
        yield f"{COSMETIC} ({', '.join(sorted(names))})"


def tail(preview: SyncPreview) -> Iterator[str]:
    """Yield what was left out, by --max-partitions or without --cascade, and why."""
    if preview.remaining:
        verb = "remains" if preview.remaining == 1 else "remain"
        yield f"{partitions_text(preview.remaining)} {verb}"
    if preview.left:
        total = count(sum(each.count for each in preview.left), "downstream partition")
        names = [f"{each.model} {each.count:,}" for each in preview.left]
        shown = ", ".join(first_of(names, LISTED, "model"))
        yield f"{total} would become upstream_changed ({shown}). Run: {preview.mends}"
    for line in preview.lines:
        yield mask(line)


@dataclass(slots=True)
class TextLines:
    """One line per step that ended, with its checks; with `verbose` also one per step that starts.

    Models that one error keeps from running share a line. With `quiet` only failed checks are
    shown. Called from the threads of the steps.
    """

    say: Say
    verbose: bool = False
    quiet: bool = False
    _columns: Columns | None = None
    _ended: int = 0
    _blocked: dict[str, list[str]] = field(default_factory=dict)
    """The models that cannot run, by their error."""

    def __call__(self, event: Event) -> None:
        """Show the event."""
        match event:
            case RunStarted(run, plan):
                self._columns, self._ended, self._blocked = Columns.of(plan), 0, {}
                for each in plan.blocked:
                    self._blocked.setdefault(first_line(each.error), []).append(each.model)
                if self.verbose:
                    self.say(f"run {run}  {plan.run_timestamp:%Y-%m-%d %H:%M:%S} UTC")
            case StepStarted(model, reason):
                if self.verbose:
                    self.say(f"      {model}  {reason_text(reason)}")
            case StepEnded(result, steps):
                self._ended += steps
                self._end(result, self._ended + (not steps))
            case Said(text):
                if not self.quiet:
                    self.say(mask(text))

    def _end(self, result: ModelResult, number: int) -> None:
        report = result.invariant_report
        checks = step_lines(report, failures=self.quiet, verbose=self.verbose)
        if self._columns is None or (self.quiet and not checks):
            return
        names = self._blocked.get(first_line(result.error), []) if result.error else []
        if result.name in names[:-1]:  # the line of the last one names them all
            return
        if result.name in names[1:]:
            result = replace(result, name=", ".join(first_of(names, _NAMED, "model")))
        line = result_line(min(number, self._columns.steps), result, self._columns)
        self.say("\n".join([line, *checks]))


@dataclass(slots=True)
class JsonLines:
    """One JSON document per event and line."""

    say: Say
    now: Callable[[], dt.datetime]
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, event: Event) -> None:
        """Show the event."""
        match event:
            case RunStarted(run, plan):
                found: dict[str, Json] = {
                    "event": "run_started",
                    "run": run,
                    "steps": len(plan.steps),
                }
            case StepStarted(model, reason):
                found = {"event": "step_started", "model": model, "reason": reason}
            case StepEnded(result):
                found = {"event": "step_ended", **result_document(result)}
            case Said(text):
                found = {"event": "said", "text": text}
        with self._lock:
            self.say(printed({"time": instant(self.now()), **found}, indent=None))
