"""What `rollback` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.core.masking import mask
from penstock.ui.text_partitions import partitions_text, ranges_text
from penstock.ui.text_run import ABORTED

if TYPE_CHECKING:
    from penstock.app.rolling_back import RollbackReport


def rollback_text(report: RollbackReport) -> str:
    """Say which partitions went back to which version, and what drifts because of it."""
    return ABORTED if report.aborted else "\n".join(_lines(report))


def _lines(report: RollbackReport) -> Iterator[str]:
    done = "would be restored" if report.dry_run else "restored"
    yield (
        f"{report.model}: {done} to version {report.version}, before step {report.step} "
        f"({partitions_text(report.count)})"
    )
    yield f"    {ranges_text(report.partitions)}"
    if report.deleted:
        yield f"    {partitions_text(report.deleted)} without an earlier success: records deleted"
    yield from map(mask, report.lines)
    yield "Nothing was done." if report.dry_run else "Next: penstock status"
