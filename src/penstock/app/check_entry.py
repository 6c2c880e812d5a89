"""The Python entry point of checks: what `penstock check` does, as a function."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.checking.flags import refuse_conflicts
from penstock.app.checking.reports import CheckReport, CheckRequest
from penstock.app.request import asked_range
from penstock.app.services.services import parse_moment
from penstock.app.services.wire import Where, open_services
from penstock.core.checks import Phase
from penstock.core.errors import UsageError

if TYPE_CHECKING:
    from penstock.engine.spark_engine import SparkSession


def check(  # the flags of the command
    project: str | Path = ".",
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    everything: bool = False,
    date: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    partition: str = "",
    phases: Sequence[Phase | str] = ("before", "after"),
    checks: Sequence[str] = (),
    sources: bool = False,
    strict: bool = False,
    record: bool = True,
    sample: bool = True,
    as_of: dt.datetime | str | None = None,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> CheckReport:
    """Evaluate checks on the rows of today, as `penstock check`; `everything` is --all.

    What failed is in the report, not raised: `report.ok`. `report.reports["users"]` is what the
    checks of one model said. A Spark that is handed in, or runs in this
    process, is used and never stopped.
    """
    from penstock.app.commands.check import check as evaluate

    request = CheckRequest(
        select=tuple(select),
        exclude=tuple(exclude),
        everything=everything,
        range=asked_range(from_, to, date=date),
        partition=partition,
        phases=frozenset(map(_phase, phases)),
        names=tuple(checks),
        sources=sources,
        strict=strict,
        record=record,
        sample=sample,
        as_of=parse_moment(str(as_of)) if as_of is not None else None,
    )
    refuse_conflicts(request)
    services = open_services(Where(Path(project), target, variables or {}), spark)
    try:
        return evaluate(services, request)
    finally:
        services.close()


def _phase(given: Phase | str) -> Phase:
    if given not in [str(phase) for phase in Phase]:
        raise UsageError("bad-value", f"{given!r} is no phase", hint="before, after")
    return Phase(given)
