"""What `status` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.app.documents import Json, document_of, model_status_document
from penstock.app.reports import ModelStatus, State, StateCount, StatusReport
from penstock.core.masking import mask
from penstock.core.strategy import strategy_named
from penstock.ui.render.diff import COSMETIC
from penstock.ui.render.values import (
    LISTED,
    RANGES,
    by_state,
    count,
    first_of,
    label,
    moment,
    partitions_text,
    ranges_text,
)

ALL_CURRENT = "All current ✓"
_GAP = "   "
_INPUT_STATES = (State.SOURCE_CHANGED, State.UPSTREAM_CHANGED)


def status_text(report: StatusReport, *, verbose: bool = False, states: Sequence[str] = ()) -> str:
    """Give the models that drifted, wait for one that did, or have something to say.

    With `verbose` all models and ranges. `states` are those that were asked for, none for all.
    """
    waiting = State.NOT_EFFECTIVE
    shown = [
        model
        for model in report.models
        if verbose
        or model.drifted
        or model.pending
        or model.lines
        or (states and model.states)
        or any(each.state is waiting and each.also for each in model.states)
    ]
    if states and not shown:
        return f"No partition is {' or '.join(states)}."
    limit = None if verbose else LISTED
    width = max((len(each.state) for m in shown[:limit] for each in m.states), default=0)
    blocks = ["\n".join(_model(model, width, verbose=verbose)) for model in shown]
    lines = first_of(blocks, limit, "model")
    return "\n".join([*lines, "", _total(report)] if lines else [_total(report)])


def _model(model: ModelStatus, width: int, *, verbose: bool) -> Iterator[str]:
    counts = [
        f"{state} ({partitions_text(number)}{', pending' if pending else ''})"
        for state, number, pending in by_state(model.states)
    ]
    all_current = f"current ({partitions_text(model.partitions)})"
    yield f"{model.model}: {', '.join(counts) or all_current}"
    limit = None if verbose else RANGES
    ranges = [ranges_text(each.ranges, limit) for each in model.states]
    left = max(map(len, ranges), default=0)
    for each, text in zip(model.states, ranges, strict=True):
        cells = [f"{text:<{left}}", f"{each.state:<{width}}", *_why(model, each)]
        yield f"    {_GAP.join(cells)}".rstrip()
    for line in model.lines:
        yield f"    {mask(line)}"
    if model.cosmetic:
        yield f"    {COSMETIC} ({partitions_text(model.cosmetic)})"
    if verbose:
        yield f"    {model.table}, last run {moment(model.executed_at)}"


def _why(model: ModelStatus, each: StateCount) -> Iterator[str]:
    if each.because:
        are_names = not any(" " in text for text in each.because)
        if are_names and each.state in _INPUT_STATES:
            yield f"after {', '.join(each.because)}"
        else:
            yield mask("; ".join(each.because))
    elif each.version is not None and (model.grain != "*" or each.version > 1 or each.revision):
        yield label(each.version, each.revision)
    if each.also:
        yield f"also {mask(', '.join(each.also))}"


def _total(report: StatusReport) -> str:
    if not report.drifted and not report.pending:
        return ALL_CURRENT
    total = f"{report.drifted:,} of {count(report.partitions, 'partition')} drifted"
    if report.pending:
        total += f", {report.pending:,} pending"
    return f"{total}. Next: penstock {_next(report)}"


def _next(report: StatusReport) -> str:
    drifted = [model for model in report.models if model.drifted]
    if any(each.state is State.UNRECORDED for model in drifted for each in model.states):
        return "state rebuild"
    if drifted and all(
        each.state is State.UNREADABLE for m in drifted for each in m.states if each.drifted
    ):
        return "plan"  # it says of each what would mend it
    commands = {strategy_named(model.strategy).command for model in drifted}
    if len(commands) == 1 and commands != {"run"}:
        return commands.pop()  # `sync` repairs what `run` builds
    return "sync --cascade" if report.pending else "sync"


def status_document(report: StatusReport) -> Json:
    """Give the states of every model, what is current left out (spec/drift.md §10)."""
    models = [model_status_document(model) for model in report.models]
    totals = document_of(report, "run_timestamp partitions drifted pending")
    return {"command": "status", **totals, "models": models}
