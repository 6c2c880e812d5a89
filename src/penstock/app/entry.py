"""The Python entry point: one function per command, which returns a report.

These functions do not print, prompt or exit: where a command would ask for confirmation, they go
ahead. A failed step is in the report and does not raise. They raise for a project with errors, for
flags that exclude each other, for a missing part of the environment, and for an interrupt:
`InterruptedRunError`, whose `report` contains what was done. Keywords are the fields of the
function's request (`app.request`).
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from penstock.app.flags import takes
from penstock.app.read_requests import (
    DataDiffRequest,
    DiffRequest,
    HistoryBackfillRequest,
    HistoryRequest,
    LimitsRequest,
    QueryRequest,
    SiteRequest,
    VerifyRequest,
)
from penstock.app.request import (
    AcceptRequest,
    AuditRequest,
    BackfillRequest,
    CheckRequest,
    CommandRequest,
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
    from penstock.app.commands.data_diff import DataDiff
    from penstock.app.commands.rollback import RollbackReport
    from penstock.app.commands.verify import VerifyReport
    from penstock.app.reports import AuditReport, DiffReport, HistoryReport, StatusReport
    from penstock.app.request import AnySync
    from penstock.app.run_report import RunReport
    from penstock.app.site.generate import SiteReport
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
    """Bring the selected models up to date, as `penstock run`; with `dry_run` as `penstock plan`.

    A list of selectors works like a repeated `--select`: each one narrows the selection. `as_of`
    without an offset is UTC. A Spark that is passed in, or runs in this process, is used and never
    stopped.
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
    """Bring history tables up to date, as `penstock snapshot run`, without a prompt.

    `report["users_snapshot"].metrics["opened_new"]` is one of the counts in docs/history.md. With
    `dry_run`, the rows are counted and nothing is written.
    """
    from penstock.app.commands.plan import rehearse
    from penstock.app.commands.run import run as execute
    from penstock.app.run_report import raise_interrupted

    return raise_interrupted(ask(request, rehearse if request.dry_run else execute))


@takes(HistoryBackfillRequest)
def snapshot_backfill(request: HistoryBackfillRequest) -> RunReport:
    """Make a history out of versions of its sources, as `penstock snapshot backfill`."""
    from penstock.app.commands.snapshot_backfill import snapshot_backfill as execute
    from penstock.app.run_report import raise_interrupted

    return raise_interrupted(ask(request, execute))


@takes(VerifyRequest)
def snapshot_verify(request: VerifyRequest) -> VerifyReport:
    """Check the invariants of one history table, as `penstock snapshot verify`; write nothing."""
    from penstock.app.commands.verify import verify

    with open_request(request) as services:
        return verify(services, (request.model,))[0]


@takes(SyncRequest)
def sync(request: SyncRequest) -> RunReport:
    """Run the partitions that drifted, as `penstock sync --yes`; `everything` is --all."""
    return _synced(request)


@takes(BackfillRequest)
def backfill(request: BackfillRequest) -> RunReport:
    """Run a range of a model's partitions in any state, as `penstock backfill --yes`."""
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

    A failed check does not raise: see `report.ok`. `report.reports["users"]` holds the results of
    one model. A Spark that is passed in, or runs in this process, is used and never stopped.
    """
    from penstock.app.commands.check import check as evaluate

    return ask(request, evaluate)


@takes(QueryRequest)
def query(request: QueryRequest) -> DataFrame:
    """Return the DataFrame of a query over the project's tables, as `penstock query` runs it.

    The query reads the current versions of the tables, and the frame keeps reading them. `ref`,
    `source` and macros work as in models. A Spark that it starts keeps running, because the frame
    needs it.
    """
    from penstock.app.application import keep
    from penstock.app.commands.query import frame

    with ExitStack() as lasting:
        found = frame(lasting.enter_context(open_request(request)), request.sql)
        keep(lasting)
    return found  # type: ignore[return-value]  # only the engine knows pyspark


@takes(StatusRequest)
def status(request: StatusRequest) -> StatusReport:
    """Report whether each partition of the selected models is current; start no JVM."""
    from penstock.app.commands.status import status as look

    return ask(request, look)


@takes(DiffRequest)
def diff(request: DiffRequest) -> DiffReport:
    """Compare the SQL and schema that built partitions with those of the files."""
    from penstock.app.commands.diff import diff as compare

    return ask(request, compare)


@takes(DataDiffRequest)
def diff_data(request: DataDiffRequest) -> DataDiff:
    """Compare the rows of a model's table with those of another version, step or target."""
    from penstock.app.commands.data_diff import data_diff

    return ask(request, data_diff)


@takes(SiteRequest)
def docs_generate(request: SiteRequest) -> SiteReport:
    """Write the site of a project to a folder; start no JVM. Notebooks show a link to it."""
    from penstock.app.site.generate import docs_generate as generate

    return generate(request)


@takes(HistoryRequest)
def history(request: HistoryRequest) -> HistoryReport:
    """Return the executions of a model's partitions, newest first."""
    from penstock.app.commands.history import history as executions

    return ask(request, executions)


@takes(AuditRequest)
def audit(request: AuditRequest) -> AuditReport:
    """Report which versions and revisions built partitions and whether their SQL changed since."""
    from penstock.app.commands.audit import audit as compare

    return ask(request, compare)


@takes(LimitsRequest)
def sessions_limits(request: LimitsRequest) -> tuple[Limits, ...]:
    """Return the limits of the passes that the next run of a package executes; start no JVM.

    If the run has nothing to do, return those that the manifest asks for.
    """
    from penstock.app.commands.sessions import sessions_limits as look
    from penstock.core.sessions.manifest import executed

    with open_request(request) as services:
        passes = look(services, request).plan.limits
        return tuple(each.limits for each in executed(passes) or passes)


@takes(RollbackRequest)
def rollback(request: RollbackRequest) -> RollbackReport:
    """Restore a table and its records to the state before a step, as `penstock rollback --yes`."""
    from penstock.app.commands.rollback import rollback as go_back

    return ask(request, go_back)


@takes(AcceptRequest)
def accept(request: AcceptRequest) -> AcceptedCommits:
    """Accept rows that others changed, as `penstock accept`; write records only, start no JVM.

    Raises `UsageError` `nothing-to-accept` if the model has no foreign changes.
    """
    from penstock.app.commands.accept import accept as let_stand

    with open_request(request) as services:
        return let_stand(services, request.model, request.reason, request.arguments)


@takes(UnitTestRequest)
def run_unit_tests(request: UnitTestRequest) -> UnitTestReport:
    """Run the unit tests under tests/ as `penstock test` does; return the result of each.

    `tests` are names of tests and may contain `*`; by default all tests run. A test runs its model
    on separate tables in a temporary folder; tables and records of the project stay untouched. A
    Spark that is passed in, or runs in this process, is used and never stopped; without tests, none
    starts.

    A failed test is in the report, with its differences as `lines`. Raises `ProjectError` if the
    project or a test file has findings, `SelectorError` if a name or selector matches nothing, and
    `EnvironmentMissingError` without Java or pyspark.

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
