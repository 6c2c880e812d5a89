"""The result of a run: a mapping from model names to results, and its document."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.app.checking.results import invariants_document
from penstock.app.documents import (
    MODEL_STATUS,
    Json,
    document_of,
    limits_document,
    model_diff_document,
    printed,
    resume_document,
)
from penstock.app.reports import RESULT_COLUMNS, ModelResult, SyncPreview
from penstock.core.errors import (
    CheckFailedError,
    InterruptedRunError,
    LeaseHeldError,
    interruption,
)
from penstock.core.masking import mask
from penstock.core.partitions.ranges import Ranges, union
from penstock.core.records import HookRecord
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.plan.values import PassesNow, Plan, Step

Planned = Callable[[ModelResult, Step | None], Mapping[str, Json]]
SIGTERM, TERMINATED = "SIGTERM", 143
_HAVE_CODES = (CheckFailedError, LeaseHeldError)
WOULD_COMMIT = "would commit"
NO_CHANGE = "no change"
_VALUE = "type=value.type value=value.text"
_BOUNDS = f"lower=window.lower[{_VALUE} inclusive] upper=window.upper[{_VALUE} inclusive]"
_RESULT = (
    "model=name status reason version metrics schema_changes "
    "table strategy=shown_strategy kind step? rows[inserted updated deleted late null_time] "
    f"windows[input column=window.column kind version {_BOUNDS} nulls=window.nulls] "
    f"watermarks[input column {_VALUE}] inputs[input version=pin] "
    "started duration notes partitions count trigger slice?"
)
_HOOK = "moment step? model? number status sql=text started duration_ms error=failure.message?"
_DEFERRED = "input=source.input target=source.target version=pin uri=source.uri"


@dataclass(frozen=True, slots=True)
class RunReport(Mapping[str, ModelResult], ShownInNotebooks):
    """The result of a run: a mapping from model names to results, in plan order.

    `said` are the limits of session `packages`, printed first. `left` are selectors of what remains
    to be done, `resume` is the command that does it. `not_run` are selected models that another
    command builds. `aborted` is true if the user did not confirm; then nothing was done.
    """

    _rows = "results"
    _columns = RESULT_COLUMNS
    _lines = "recovered said notes preview.lines resume"

    run_id: str
    run_timestamp: dt.datetime
    plan: Plan
    results: tuple[ModelResult, ...]
    command: str = "run"
    dry_run: bool = False
    recovered: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    packages: tuple[PassesNow, ...] = ()
    notes: tuple[str, ...] = ()
    resume: str = ""
    left: tuple[str, ...] = ()
    log_path: str = ""
    interrupted: bool = False
    terminated: bool = False
    """Whether SIGTERM interrupted it."""
    not_run: tuple[str, ...] = ()
    preview: SyncPreview | None = None
    aborted: bool = False
    hooks: tuple[HookRecord, ...] = ()
    """The hooks that ran, for earlier steps and in this run."""

    @property
    def steps(self) -> tuple[ModelResult, ...]:
        """The result of each step, and of each model without steps, in plan order."""
        return self.results

    @property
    def succeeded(self) -> bool:
        """Whether every model succeeded or had nothing to do."""
        stopped = self.interrupted or self.aborted
        done = all(result.ok for result in self.results) and all(hook.ok for hook in self.hooks)
        return done and not stopped

    @property
    def exit_code(self) -> int:
        """The exit code of the command.

        A held lease or a failed check has its own code if nothing else failed: a later run, or an
        inspection of the rows, is enough.
        """
        if self.interrupted:
            return TERMINATED if self.terminated else InterruptedRunError.exit_code
        if self.succeeded:
            return 0
        errors = [result.error for result in self.results if result.error is not None]
        codes = {error.exit_code for error in errors if isinstance(error, _HAVE_CODES)}
        fails = any(not isinstance(error, _HAVE_CODES) for error in errors)
        fails |= any(not hook.ok for hook in self.hooks)
        return min(codes) if codes and not fails else 1

    def to_json(self) -> str:
        """Return the document that `penstock run --json` prints, without secrets."""
        return printed(run_document(self))

    def __str__(self) -> str:
        """Return a line for each step, for scripts and notebooks that print a report."""
        lines = [each.line for each in self.results]
        counted = Counter(each.status for each in self.results)
        total = ", ".join(f"{number} {status}" for status, number in counted.items())
        failures = [each.failure.message for each in self.hooks if each.failure and not each.ok]
        return "\n".join([*lines, total or "nothing to do", *map(mask, failures), *self.notes])

    def __getitem__(self, name: str) -> ModelResult:
        """Return the result of a model; raise `KeyError` if the run did not include it."""
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        """Return the names in plan order."""
        return (result.name for result in self.results)

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self.results)


def run_document(
    report: RunReport, planned: Planned = lambda _result, _step: {}
) -> dict[str, Json]:
    """Return the results, model by model in topological order; with partitions step by step.

    `planned` adds fields to each model of a dry run.
    """
    steps = {(step.model, step.keys): step for step in report.plan.steps}
    models = []
    for result in report.results:
        step = steps.get((result.name, result.partitions))
        versions = document_of(step, "model_version=version revision?")
        models.append({**result_document(result), **versions, **planned(result, step)})
    names = "command run=run_id? run_timestamp dry_run succeeded interrupted aborted"
    return {
        **document_of(report, names),
        "limits": [_of_package(each) for each in report.packages],
        "models": models,
        "resume": resume_document(report.left, report.resume),
        **document_of(report, f"not_run recovered messages=said notes hooks[{_HOOK}]"),
        **document_of(report.plan, f"deferred[{_DEFERRED}]"),
        "log": None if report.plan.is_empty else report.log_path or None,
        "preview": sync_document(report.preview) if report.preview else None,
    }


def _of_package(now: PassesNow) -> Json:
    tracked = len({*now.package.modules, *now.readers})
    return limits_document(now.package.name, now.limits, tracked)


def result_document(result: ModelResult) -> dict[str, Json]:
    """Return the result of one model."""
    checked = result.invariant_report
    return {
        **document_of(result, _RESULT),
        **document_of(result, "error"),
        "invariant_report": invariants_document(checked) if checked is not None else None,
        "consequence": result.consequence or None,
    }


def sync_document(preview: SyncPreview) -> Json:
    """Return what drifted, what a cascade adds or would add, and what is left out."""
    others = "cascaded[model count after] left[model count after]"
    return {
        **document_of(preview, f"drifted[{MODEL_STATUS}] {others}"),
        "diffs": [model_diff_document(model) for model in preview.diffs],
        **document_of(preview, "remaining lines"),
    }


def raise_interrupted(report: RunReport) -> RunReport:
    """Return the report; raise `InterruptedRunError` with it if the run was interrupted."""
    if report.interrupted:
        error = interruption(hint=report.resume)
        error.report = report
        raise error
    return report


@dataclass(frozen=True, slots=True)
class Settled:
    """What was settled, as results of a run.

    `failed` are partitions by model that must not be used now. For models in `unlooked` the only
    reason is that their checks could not be evaluated: rebuilding solves that.
    """

    results: tuple[ModelResult, ...] = ()
    failed: Mapping[str, Ranges] = field(default_factory=dict)
    unlooked: frozenset[str] = frozenset()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the result of each step as text."""
        return tuple(
            f"{each.name}: {each.reason}; now {each.status}"
            + (f": {each.error.sentence}" if each.error else "")
            for each in self.results
        )

    def __add__(self, other: Settled) -> Settled:
        """Combine the results of two steps."""
        models = self.failed.keys() | other.failed.keys()
        failed = {
            name: union(self.failed.get(name, ()), other.failed.get(name, ()))
            for name in sorted(models)
        }
        unlooked = self.unlooked | other.unlooked
        return Settled((*self.results, *other.results), failed, unlooked)
