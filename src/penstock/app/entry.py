"""The Python entry point: what the commands do, as functions that give reports.

Nothing here prints, asks or exits. A failed step is in the report, not raised; what raises is a
project that cannot be understood, or an environment that lacks something.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.reports import RunReport, StatusReport
from penstock.app.request import (
    Range,
    RunRequest,
    SnapshotRequest,
    StatusRequest,
    check_snapshot_flags,
    failure_mode,
)
from penstock.app.services.services import Services, parse_moment
from penstock.app.services.wire import Where, open_project, open_services
from penstock.core.checks import OnFailure
from penstock.core.project import Project

if TYPE_CHECKING:
    from penstock.app.commands.verify import VerifyReport
    from penstock.engine.spark_engine import SparkSession


def load(
    project: str | Path = ".",
    *,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Project:
    """Load a project folder; raise `ProjectError` with every finding of every file."""
    return open_project(Where(Path(project), target, variables or {}))


def run(  # the flags of the command
    project: str | Path = ".",
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    date: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    full_refresh: bool = False,
    dry_run: bool = False,
    as_of: dt.datetime | str | None = None,
    threads: int | None = None,
    fail_fast: bool = False,
    skip_checks: bool = False,
    on_failure: OnFailure | str | None = None,
    spark: SparkSession | None = None,
) -> RunReport:
    """Bring what is selected up to date, as `penstock run`; with `dry_run` as `penstock plan`.

    A list of selectors means what a repeated `--select` means: each narrows. `as_of` without an
    offset is UTC. A Spark that is handed in, or runs in this
    process, is used and never stopped.
    """
    request = RunRequest(
        select=tuple(select),
        exclude=tuple(exclude),
        full_refresh=full_refresh,
        threads=threads,
        fail_fast=fail_fast,
        as_of=_moment(as_of),
        range=Range(date or from_, date or to),
        skip_checks=skip_checks,
        on_failure=failure_mode(on_failure),
    )
    services = open_services(Where(Path(project), target, variables or {}), spark)
    try:
        return _dry(services, request) if dry_run else _run(services, request)
    finally:
        services.close()


def status(  # the flags of the command
    project: str | Path = ".",
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    states: Sequence[str] = (),
    from_: str | None = None,
    to: str | None = None,
    days: int | None = None,
    as_of: dt.datetime | str | None = None,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> StatusReport:
    """Say of every partition of the selected models whether it is current; start no JVM."""
    from penstock.app.commands.status import status as look

    request = StatusRequest(
        tuple(select), tuple(exclude), tuple(states), Range(from_, to, days), _moment(as_of)
    )
    services = open_services(Where(Path(project), target, variables or {}))
    try:
        return look(services, request)
    finally:
        services.close()


def snapshot_run(  # the flags of the command
    project: str | Path = ".",
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    as_of: dt.datetime | str | None = None,
    prune: bool = False,
    keep_last: int | None = None,
    no_prune: bool = False,
    dry_run: bool = False,
    full_refresh: bool = False,
    allow_empty: bool = False,
    threads: int | None = None,
    fail_fast: bool = False,
    skip_checks: bool = False,
    on_failure: OnFailure | str | None = None,
    spark: SparkSession | None = None,
) -> RunReport:
    """Bring history tables up to date, as `penstock snapshot run`; nobody is asked.

    `report["users_snapshot"].metrics["opened_new"]` is one of the counts of docs/history.md. With
    `dry_run` they are counted and nothing is written.
    """
    asked = SnapshotRequest(prune, keep_last, no_prune, allow_empty)
    check_snapshot_flags(asked)
    request = RunRequest(
        select=tuple(select),
        exclude=tuple(exclude),
        full_refresh=full_refresh,
        threads=threads,
        fail_fast=fail_fast,
        as_of=_moment(as_of),
        snapshot=asked,
        skip_checks=skip_checks,
        on_failure=failure_mode(on_failure),
    )
    services = open_services(Where(Path(project), target, variables or {}), spark)
    try:
        return _rehearse(services, request) if dry_run else _run(services, request)
    finally:
        services.close()


def snapshot_verify(
    project: str | Path,
    model: str,
    *,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> VerifyReport:
    """Check the laws of one history table, as `penstock snapshot verify`; nothing is written."""
    from penstock.app.commands.verify import verify

    services = open_services(Where(Path(project), target, variables or {}), spark)
    try:
        return verify(services, (model,))[0]
    finally:
        services.close()


def _moment(given: dt.datetime | str | None) -> dt.datetime | None:
    """Read a time; without an offset it is UTC."""
    return None if given is None else parse_moment(str(given))


def _run(services: Services, request: RunRequest) -> RunReport:
    from penstock.app.commands.run import run as execute

    return execute(services, request)


def _rehearse(services: Services, request: RunRequest) -> RunReport:
    from penstock.app.commands.rehearse import rehearse

    return rehearse(services, request)


def _dry(services: Services, request: RunRequest) -> RunReport:
    from penstock.app.commands.plan import preview

    return preview(services, request).report
