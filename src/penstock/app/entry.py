"""The Python entry point: one function per command; what it does, as a report.

Nothing here prints, asks or exits: what a command would confirm is done. A failed step is in the
report, not raised; what raises is a project that cannot be understood, flags that do not go
together, an environment that lacks something, or an interrupt: `InterruptedRunError`, whose
`report` says what was done. Keywords are the fields of the request that a
function takes (`app.request`).
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from penstock.app.flags import takes
from penstock.app.read_requests import LimitsRequest, QueryRequest, VerifyRequest
from penstock.app.request import (
    AcceptRequest,
    AuditRequest,
    BackfillRequest,
    CheckRequest,
    CommandRequest,
    DiffRequest,
    HistoryRequest,
    RollbackRequest,
    RunRequest,
    SnapshotRequest,
    StatusRequest,
    SyncRequest,
    UnitTestRequest,
)
from penstock.app.services.wire import ask, open_project, open_request, place_of

if TYPE_CHECKING:
    from penstock.app.checking.results import CheckReport
    from penstock.app.commands.accept import AcceptedCommits
    from penstock.app.commands.rollback import RollbackReport
    from penstock.app.commands.verify import VerifyReport
    from penstock.app.reports import AuditReport, DiffReport, HistoryReport, StatusReport
    from penstock.app.request import AnySync
    from penstock.app.run_report import RunReport
    from penstock.app.unit_testing.differences import UnitTestReport
    from penstock.core.project import Project
    from penstock.core.sessions.manifest import Limits
    from penstock.engine.spark_engine import DataFrame


@takes(CommandRequest)
def load(request: CommandRequest) -> Project:
    """Load a project folder; raise `ProjectError` with every finding of every file."""
    return open_project(place_of(request))


@takes(RunRequest)
def run(request: RunRequest) -> RunReport:
    """Bring what is selected up to date, as `penstock run`; with `dry_run` as `penstock plan`.

    A list of selectors means what a repeated `--select` means: each narrows. `as_of` without an
    offset is UTC. A Spark that is handed in, or runs in this process, is used and never stopped.
    """
    from penstock.app.commands.catch_up import catch_up
    from penstock.app.commands.plan import preview
    from penstock.app.commands.run import run as execute
    from penstock.app.run_report import raise_interrupted

    if request.dry_run:
        return ask(request, preview).report
    return raise_interrupted(ask(request, catch_up if request.catch_up else execute))


@takes(SnapshotRequest)
def snapshot_run(request: SnapshotRequest) -> RunReport:
    """Bring history tables up to date, as `penstock snapshot run`; nobody is asked.

    `report["users_snapshot"].metrics["opened_new"]` is one of the counts of docs/history.md. With
    `dry_run` they are counted and nothing is written.
    """
    from penstock.app.commands.plan import rehearse
    from penstock.app.commands.run import run as execute
    from penstock.app.run_report import raise_interrupted

    return raise_interrupted(ask(request, rehearse if request.dry_run else execute))


@takes(VerifyRequest)
def snapshot_verify(request: VerifyRequest) -> VerifyReport:
    """Check the laws of one history table, as `penstock snapshot verify`; nothing is written."""
    from penstock.app.commands.verify import verify

    with open_request(request) as services:
        return verify(services, (request.model,))[0]


@takes(SyncRequest)
def sync(request: SyncRequest) -> RunReport:
    """Run what drifted, as `penstock sync --yes`; `everything` is --all."""
    return _synced(request)


@takes(BackfillRequest)
def backfill(request: BackfillRequest) -> RunReport:
    """Run a range of a model's partitions whatever their state, as `penstock backfill --yes`."""
    return _synced(request)


def _synced(request: AnySync) -> RunReport:
    from penstock.app.commands.sync import preview_sync
    from penstock.app.commands.sync import sync as execute
    from penstock.app.run_report import raise_interrupted

    if request.dry_run:
        return ask(request, preview_sync).report
    return raise_interrupted(ask(request, execute))


@takes(CheckRequest)
def check(request: CheckRequest) -> CheckReport:
    """Run checks against the current tables, as `penstock check`; `everything` is --all.

    A failed check is in the report, not raised: `report.ok`. `report.reports["users"]` holds the
    results of one model. A Spark that is handed in, or runs in this process, is used and never
    stopped.
    """
    from penstock.app.commands.check import check as evaluate

    return ask(request, evaluate)


@takes(QueryRequest)
def query(request: QueryRequest) -> DataFrame:
    """Return the DataFrame of a query over the project's tables, as `penstock query` asks it.

    Tables are those that lie there now, and stay so. `ref`, `source` and macros work as in models.
    A Spark that it starts stays, because the frame needs it.
    """
    from penstock.app.application import keep
    from penstock.app.commands.query import frame

    with ExitStack() as lasting:
        found = frame(lasting.enter_context(open_request(request)), request.sql)
        keep(lasting)
    return found  # type: ignore[return-value]  # only the engine knows pyspark


@takes(StatusRequest)
def status(request: StatusRequest) -> StatusReport:
    """Say of every partition of the selected models whether it is current; start no JVM."""
    from penstock.app.commands.status import status as look

    return ask(request, look)


@takes(DiffRequest)
def diff(request: DiffRequest) -> DiffReport:
    """Compare the SQL and schema that built partitions with those of the files."""
    from penstock.app.commands.diff import diff as compare

    return ask(request, compare)


@takes(HistoryRequest)
def history(request: HistoryRequest) -> HistoryReport:
    """Return the executions of a model's partitions, newest first."""
    from penstock.app.commands.history import history as executions

    return ask(request, executions)


@takes(AuditRequest)
def audit(request: AuditRequest) -> AuditReport:
    """Say of every version and revision what it built and whether its SQL still is the same."""
    from penstock.app.commands.audit import audit as compare

    return ask(request, compare)


@takes(LimitsRequest)
def sessions_limits(request: LimitsRequest) -> tuple[Limits, ...]:
    """Return the limits of the passes that the next run of a package executes; start no JVM.

    If it has nothing to do, they are those that the manifest asks for.
    """
    from penstock.app.commands.sessions import sessions_limits as look
    from penstock.core.sessions.manifest import executed

    with open_request(request) as services:
        passes = look(services, request).plan.limits
        return tuple(each.limits for each in executed(passes) or passes)


@takes(RollbackRequest)
def rollback(request: RollbackRequest) -> RollbackReport:
    """Bring a table and its records back to before a step, as `penstock rollback --yes`."""
    from penstock.app.commands.rollback import rollback as go_back

    return ask(request, go_back)


@takes(AcceptRequest)
def accept(request: AcceptRequest) -> AcceptedCommits:
    """Accept rows that others changed, as `penstock accept`; write records only, start no JVM.

    Raises `UsageError` `nothing-to-accept` where nobody else changed rows of the model.
    """
    from penstock.app.commands.accept import accept as let_stand

    with open_request(request) as services:
        return let_stand(services, request.model, request.reason, request.arguments)


@takes(UnitTestRequest)
def run_unit_tests(request: UnitTestRequest) -> UnitTestReport:
    """Run the unit tests under tests/ as `penstock test` does, and give what became of each.

    `tests` are names of tests, which may hold `*`; without a choice all are run. A test runs its
    model on tables of its own in a temporary folder; no table or record of the project is touched.
    A Spark that is handed in, or runs in this process, is used and never stopped; without a test
    none starts.

    A test that fails is in the report, with its differences as `lines`. Raises `ProjectError` for a
    project, or a test file, with findings, `SelectorError` for a name or selector that matches
    nothing, and `EnvironmentMissingError` without Java or pyspark.

    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "penstock.yml").write_text("name: shop")
    ...     report = run_unit_tests(folder)
    >>> report.ok, report.results
    (True, ())
    """
    from penstock.app.commands.test import run_tests

    return ask(request, run_tests)
