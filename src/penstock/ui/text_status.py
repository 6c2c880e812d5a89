"""What `status` prints."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.app.reports import State
from penstock.app.status import ModelStatus, StatusReport
from penstock.core.masking import mask
from penstock.ui.text_table import count, first_of
from penstock.ui.text_values import moment

SHOWN = 50


def status_text(report: StatusReport, *, verbose: bool = False) -> str:
    """Give the models that drifted or wait for one that did; with `verbose` all models."""
    if not verbose and not report.drifted and not report.pending:
        return "All current ✓"
    shown = [m for m in report.models if verbose or m.drifted or m.pending]
    blocks = ["\n".join(_model(model, verbose=verbose)) for model in shown]
    lines = first_of(blocks, None if verbose else SHOWN, "model")
    return "\n".join([*lines, "", _total(report)])


def _model(model: ModelStatus, *, verbose: bool) -> Iterator[str]:
    pending = " (pending)" if model.pending else ""
    yield f"{model.model}: {model.state}{pending}"
    if model.detail:
        yield f"    {mask(model.detail)}"
    if model.also:
        yield f"    also {', '.join(model.also)}"
    if model.cosmetic:
        yield "    SQL text changed, meaning unchanged."
    if verbose:
        yield f"    {model.table}, last run {moment(model.executed_at)}"


def _total(report: StatusReport) -> str:
    if not report.drifted and not report.pending:
        return "All current ✓"
    total = f"{report.drifted:,} of {count(len(report.models), 'model')} drifted"
    if report.pending:
        total += f", {report.pending:,} pending"
    states = {model.state for model in report.models}
    command = "state rebuild" if State.UNRECORDED in states else "run"
    return f"{total}. Next: penstock {command}"
