"""`penstock snapshot`: run, verify, migrate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.ui.cli.options import (
    Scope,
    Selection,
    example,
    help_alone,
    project_options,
    selection_options,
)
from penstock.ui.cli.output import confirm
from penstock.ui.cli.run_options import RunFlags, snapshot_options

if TYPE_CHECKING:
    from penstock.app.reports import RunReport
    from penstock.app.request import RunRequest, SnapshotRequest

_RESTARTS = "This replaces every selected history table by a first run; its versions are gone."


@click.group(invoke_without_command=True, epilog=example("penstock snapshot run --prune"))
@click.pass_context
def command(ctx: click.Context) -> None:
    """Keep history tables.

    A history table holds every version of every row, with the time in which it was valid.
    """
    help_alone(ctx)


@command.command(
    epilog=example(
        "penstock snapshot run --select tag:daily",
        "penstock snapshot run --prune --keep-last 3 --dry-run",
    )
)
@click.option("--prune", is_flag=True, help="Remove old versions, also where nothing changed.")
@click.option(
    "--keep-last",
    metavar="N",
    type=click.IntRange(min=1),
    help="With --prune: versions per key that stay, instead of the model's retention.",
)
@click.option("--no-prune", is_flag=True, help="Leave the models' retention out.")
@click.option("--allow-empty", is_flag=True, help="Let an empty source close every key.")
@click.option("--dry-run", is_flag=True, help="Count what would be done and write nothing.")
@selection_options
@project_options
@snapshot_options
def run(  # the flags of the command
    scope: Scope,
    selection: Selection,
    flags: RunFlags,
    dry_run: bool,  # noqa: FBT001  click passes by name
    **more: object,
) -> int:
    """Bring history tables up to date.

    New and changed rows open versions, changed ones close theirs; one commit for each table, none
    where nothing changed. Old versions go as the retention says.
    """
    from penstock.ui.cli.run import exit_code, resumable
    from penstock.ui.json_run import run_document
    from penstock.ui.text_snapshot import snapshots_text

    request = flags.request(selection, _asked(**more))
    if flags.full_refresh and not dry_run and not confirm(_RESTARTS, yes=flags.yes):
        return 1
    report = resumable(_report(scope, request, dry_run=dry_run), scope)
    output = scope.output
    for note in report.notes:
        output.warn(note)
    answer = output.tell if report.succeeded and not dry_run else output.give
    answer(report, snapshots_text, run_document)
    return exit_code(report)


def _asked(**more: object) -> SnapshotRequest:
    from penstock.app.request import SnapshotRequest, check_snapshot_flags

    asked = SnapshotRequest(**more)  # type: ignore[arg-type]
    check_snapshot_flags(asked)
    return asked


def _report(scope: Scope, request: RunRequest, *, dry_run: bool) -> RunReport:
    from penstock.app.commands.rehearse import rehearse
    from penstock.app.commands.run import run as execute
    from penstock.app.reports import silent
    from penstock.ui.cli.run import progress

    with scope.opened() as services:
        if dry_run:
            return rehearse(services, request)
        if not (scope.output.verbose or scope.output.json_log or scope.output.is_live):
            return execute(services, request, silent)
        with progress(scope, services) as listener:
            return execute(services, request, listener)


@command.command(epilog=example("penstock snapshot verify users_history"))
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@project_options
def verify(scope: Scope, models: tuple[str, ...]) -> int:
    """Check the laws of history tables.

    Reads one version of each table once and writes nothing. Exits 1 if a law is broken.
    """
    from penstock.app.commands.verify import verify as hold
    from penstock.ui.json_verify import verify_document
    from penstock.ui.text_verify import verify_text

    with scope.opened() as services:
        reports = hold(services, models)
    ok = all(report.ok for report in reports)
    answer = scope.output.tell if ok else scope.output.give
    answer(reports, verify_text, verify_document)
    return 0 if ok else 1


@command.command(
    epilog=example(
        "penstock snapshot migrate users_history --dry-run",
        "penstock snapshot migrate users_history --adopt",
    )
)
@click.argument("model")
@click.option("--adopt", is_flag=True, help="Take over a table that penstock did not make.")
@click.option("--dry-run", is_flag=True, help="Check and count, and write nothing.")
@project_options
def migrate(
    scope: Scope,
    model: str,
    adopt: bool,  # noqa: FBT001  click passes by name
    dry_run: bool,  # noqa: FBT001  click passes by name
) -> None:
    """Let a history table take over its model's new settings.

    Checks the laws under them, counts what the next run would open and close, then says so in the
    table's properties. Versions stay as they are.
    """
    from penstock.app.commands.migrate import migrate as take_over
    from penstock.ui.json_verify import migrate_document
    from penstock.ui.text_verify import migrate_text

    with scope.opened() as services:
        report = take_over(services, model, adopt=adopt, dry_run=dry_run)
    answer = scope.output.give if dry_run else scope.output.tell
    answer(report, migrate_text, migrate_document)
