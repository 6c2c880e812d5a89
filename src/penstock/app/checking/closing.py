"""Flags that `penstock check` closes: what failed then passes now."""

from __future__ import annotations

from penstock.app.shop import Shop, user_name
from penstock.core.check_results import CheckStatus, Flag, InvariantReport
from penstock.core.model import Model
from penstock.core.partition import Grid
from penstock.core.ranges import Ranges, holds


def close_passed(shop: Shop, model: Model, report: InvariantReport, partitions: Ranges) -> None:
    """Close the flags of partitions that were looked at and pass every check that failed then."""
    flags = [
        flag
        for flag in shop.writing.checks.flags()
        if flag.model == model.name
        and holds(partitions, flag.ord)
        and _passes(report, flag, model.grid)
    ]
    if flags:
        shop.writing.journal.close_flags(flags, "penstock check", user_name())


def _passes(report: InvariantReport, flag: Flag, grid: Grid) -> bool:
    """Whether every check that a flag names was looked at and holds for its partition now."""
    by_name = {result.name: result for result in report.after}
    found = [by_name.get(name) for name in flag.checks]
    here = ((flag.ord, flag.ord),)
    return all(
        each is not None
        and each.status is not CheckStatus.SKIPPED
        and not each.failed_ords(grid, here)
        for each in found
    )
