"""`penstock snapshot`: run, verify, migrate."""

from __future__ import annotations

from contextlib import nullcontext

import click

from penstock.app.request import ProjectRequest, SnapshotRequest
from penstock.ui.cli.options import YES, example, help_alone, opened, takes
from penstock.ui.cli.output import CommandOutput, confirm
from penstock.ui.cli.steps import finish, progress

_RESTARTS = "This replaces every selected history table by a first run; its versions are gone."
_ADOPT = click.option("--adopt", is_flag=True, help="Take over a table that penstock did not make.")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Check and count, and write nothing.")


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
@takes(SnapshotRequest, YES)
def run(output: CommandOutput, request: SnapshotRequest, *, yes: bool) -> int:
    """Bring history tables up to date.

    New and changed rows open versions, changed ones close theirs; one commit for each table, none
    where nothing changed. Old versions go as the retention says.
    """
    from penstock.app.commands.rehearse import rehearse
    from penstock.app.commands.run import run as execute
    from penstock.app.reports import silent
    from penstock.ui.render.snapshot import snapshots_text

    if request.full_refresh and not request.dry_run and not confirm(_RESTARTS, yes=yes):
        return 1
    with opened(request) as services:
        if request.dry_run:
            return finish(output, request, rehearse(services, request), snapshots_text)
        # its table tells all; lines above it only where somebody asked for more, or looks on
        shows = output.verbose or output.json_log or output.is_live
        with progress(output, services) if shows else nullcontext(silent) as listener:
            report = execute(services, request, listener)
        return finish(output, request, report, snapshots_text)


@command.command(epilog=example("penstock snapshot verify users_history"))
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@takes(ProjectRequest)
def verify(output: CommandOutput, request: ProjectRequest, models: tuple[str, ...]) -> int:
    """Check the laws of history tables.

    Reads one version of each table once and writes nothing. Exits 1 if a law is broken.
    """
    from penstock.app.commands.verify import verify as hold
    from penstock.ui.render.snapshot import verify_document, verify_text

    with opened(request) as services:
        reports = hold(services, models)
    is_ok = all(report.ok for report in reports)
    output.print(reports, verify_text, verify_document, unless_quiet=is_ok)
    return 0 if is_ok else 1


@command.command(
    epilog=example(
        "penstock snapshot migrate users_history --dry-run",
        "penstock snapshot migrate users_history --adopt",
    )
)
@click.argument("model")
@takes(ProjectRequest, _ADOPT, _DRY_RUN)
def migrate(
    output: CommandOutput, request: ProjectRequest, model: str, *, adopt: bool, dry_run: bool
) -> None:
    """Let a history table take over its model's new settings.

    Checks the laws under them, counts what the next run would open and close, then says so in the
    table's properties. Versions stay as they are.
    """
    from penstock.app.commands.migrate import migrate as take_over
    from penstock.ui.render.snapshot import migrate_document, migrate_text

    with opened(request) as services:
        report = take_over(services, model, adopt=adopt, dry_run=dry_run)
    output.print(report, migrate_text, migrate_document, unless_quiet=not dry_run)
