"""What `watermark` prints."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.app.commands.watermark import WatermarkReport
from penstock.core.masking import mask
from penstock.core.records import WatermarkChange
from penstock.ui.text_table import table
from penstock.ui.text_values import moment


def watermarks_text(report: WatermarkReport) -> str:
    """Give one row per watermark, or per change of one, newest first."""
    if report.history is not None:
        return changes_text(report.history) if report.history else "no watermark was ever set"
    return changes_text(report.current) if report.current else "no watermarks"


def changes_text(changes: Sequence[WatermarkChange]) -> str:
    """Give one row per change."""
    header = ["model", "column", "value", "set_at", "by", "why"]
    return table(header, [_row(change) for change in changes])


def changed_text(changes: Sequence[WatermarkChange]) -> str:
    """Say in a line each what a person changed."""
    return "\n".join(
        f"{one.model}: {one.input}.{one.column} "
        + ("reset" if one.value is None else f"set to {one.value}")
        for one in changes
    )


def _row(change: WatermarkChange) -> list[str]:
    return [
        change.model,
        f"{change.input}.{change.column}",
        change.value or "(reset)",
        moment(change.set_at),
        change.who or f"step {change.step}",
        mask(change.why),
    ]
