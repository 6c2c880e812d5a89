"""The Python entry points of drift: `sync`, `backfill`, `diff`, `history`, `audit`, `rollback`.

They mirror the commands; nobody is asked, so what a command would confirm is done.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.reports import AuditReport, DiffReport, HistoryReport, RunReport
from penstock.app.request import Range, RollbackRequest, SyncRequest, failure_mode
from penstock.app.services.services import parse_moment
from penstock.app.services.wire import Where, open_services
from penstock.core.checks import OnFailure

if TYPE_CHECKING:
    from penstock.app.commands.rollback import RollbackReport
    from penstock.engine.spark_engine import SparkSession


def sync(  # the flags of the command
    project: str | Path = ".",
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    states: Sequence[str] = (),
    from_: str | None = None,
    to: str | None = None,
    days: int | None = None,
    everything: bool = False,
    cascade: bool = False,
    dry_run: bool = False,
    max_partitions: int | None = None,
    batch_size: int | None = None,
    threads: int | None = None,
    fail_fast: bool = False,
    full_refresh: bool = False,
    allow_breaking: bool = False,
    allow_source_mutation: bool = False,
    skip_checks: bool = False,
    on_failure: OnFailure | str | None = None,
    as_of: dt.datetime | str | None = None,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> RunReport:
    """Run what drifted, as `penstock sync --yes`; `everything` is --all."""
    request = SyncRequest(
        select=tuple(select),
        exclude=tuple(exclude),
        states=tuple(states),
        range=Range(from_, to, days),
        everything=everything,
        cascade=cascade,
        dry_run=dry_run,
        max_partitions=max_partitions,
        batch_size=batch_size,
        threads=threads,
        fail_fast=fail_fast,
        full_refresh=full_refresh,
        allow_breaking=allow_breaking,
        allow_source_mutation=allow_source_mutation,
        skip_checks=skip_checks,
        on_failure=failure_mode(on_failure),
        as_of=parse_moment(str(as_of)) if as_of is not None else None,
    )
    return _synced(Where(Path(project), target, variables or {}), request, spark)


def backfill(  # the flags of the command
    project: str | Path,
    model: str,
    *,
    from_: str,
    to: str,
    cascade: bool = False,
    dry_run: bool = False,
    max_partitions: int | None = None,
    batch_size: int | None = None,
    threads: int | None = None,
    fail_fast: bool = False,
    full_refresh: bool = False,
    allow_breaking: bool = False,
    allow_source_mutation: bool = False,
    skip_checks: bool = False,
    on_failure: OnFailure | str | None = None,
    as_of: dt.datetime | str | None = None,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> RunReport:
    """Run a range of a model's partitions whatever their state, as `penstock backfill --yes`."""
    request = SyncRequest(
        range=Range(from_, to),
        backfill=model,
        cascade=cascade,
        dry_run=dry_run,
        max_partitions=max_partitions,
        batch_size=batch_size,
        threads=threads,
        fail_fast=fail_fast,
        full_refresh=full_refresh,
        allow_breaking=allow_breaking,
        allow_source_mutation=allow_source_mutation,
        skip_checks=skip_checks,
        on_failure=failure_mode(on_failure),
        as_of=parse_moment(str(as_of)) if as_of is not None else None,
    )
    return _synced(Where(Path(project), target, variables or {}), request, spark)


def _synced(where: Where, request: SyncRequest, spark: SparkSession | None) -> RunReport:
    from penstock.app.commands.sync import preview_sync
    from penstock.app.commands.sync import sync as execute

    services = open_services(where, spark)
    try:
        return preview_sync(services, request) if request.dry_run else execute(services, request)
    finally:
        services.close()


def diff(
    project: str | Path = ".",
    model: str | None = None,
    *,
    partition: str | None = None,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> DiffReport:
    """Compare the SQL and schema that built partitions with those of the files."""
    from penstock.app.commands.diff import diff as compare

    services = open_services(Where(Path(project), target, variables or {}))
    try:
        return compare(services, model, partition)
    finally:
        services.close()


def history(  # the flags of the command
    project: str | Path,
    model: str,
    *,
    partition: str | None = None,
    limit: int = 20,
    show_sql: bool = False,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> HistoryReport:
    """Give the executions of a model's partitions, newest first."""
    from penstock.app.commands.history import history as executions

    services = open_services(Where(Path(project), target, variables or {}))
    try:
        return executions(services, model, partition, limit, show_sql=show_sql)
    finally:
        services.close()


def audit(  # the flags of the command
    project: str | Path = ".",
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    modified_only: bool = False,
    diffs: bool = False,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> AuditReport:
    """Say of every version and revision what it built and whether its SQL still is the same."""
    from penstock.app.commands.audit import audit as rows

    services = open_services(Where(Path(project), target, variables or {}))
    try:
        chosen = tuple(select), tuple(exclude)
        return rows(services, *chosen, modified_only=modified_only, diffs=diffs)
    finally:
        services.close()


def rollback(  # the flags of the command
    project: str | Path,
    model: str,
    *,
    to: str,
    include_foreign: bool = False,
    dry_run: bool = False,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> RollbackReport:
    """Bring a table and its records back to before a step, as `penstock rollback --yes`."""
    from penstock.app.commands.rollback import rollback as go_back

    request = RollbackRequest(model, to, include_foreign, dry_run)
    services = open_services(Where(Path(project), target, variables or {}), spark)
    try:
        return go_back(services, request)
    finally:
        services.close()
