"""Single tables: `rollback`, `snapshot run`, `verify` and `migrate`, `seed`, `query`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

from penstock.app.flags import FlagSpec, Name, Yes, a_count
from penstock.app.read_requests import QueryRequest
from penstock.app.request import CommandRequest, RollbackRequest, SnapshotRequest
from penstock.core.errors import CheckFailedError, UsageError
from penstock.ui.cli.options import ask, command, group, opened
from penstock.ui.cli.output import CommandOutput, confirm, overwrite_asker, print_rows

if TYPE_CHECKING:
    from typing_extensions import Buffer

_RESTARTS = "This replaces every selected history table by a first run; its versions are gone."
Models = Annotated[Sequence[str], FlagSpec(names=("MODEL...",))]
Adopt = Annotated[bool, FlagSpec("Take over a table that penstock did not make.")]
Trial = Annotated[bool, FlagSpec("Check and count, and write nothing.", ("--dry-run",))]
Seeds = Annotated[
    Sequence[str], FlagSpec("Seeds to load; default: all.", ("--select", "-s"), "NAME")
]
Limit = Annotated[
    int | None, a_count("At most so many rows.  [default: 100, all with --format or --output]")
]
Form = Annotated[
    str | None,
    FlagSpec("Print, or write, the rows so.", ("--format",), choices=("csv", "json", "parquet")),
]
File = Annotated[
    Path | None,
    FlagSpec("Write the rows to this file; its name says the format, too.", ("--output",), "FILE"),
]


class _Screen(io.RawIOBase):
    """What is written is printed."""

    def write(self, line: Buffer, /) -> int:
        """Print a line of UTF-8."""
        print_rows(bytes(line).decode(), nl=False)
        return len(bytes(line))


@command("penstock rollback daily_user_stats --to 0190a3c4 --dry-run")
def rollback_command(output: CommandOutput, request: RollbackRequest, *, yes: Yes = False) -> int:
    """Restore a table to the version before a step.

    'penstock history MODEL --verbose' shows the steps; the beginning of one is enough. The
    partitions' records go back as well.
    """
    from penstock.app.commands.rollback import rollback
    from penstock.ui.render.history import rollback_document, rollback_text

    with opened(request) as services:
        report = rollback(services, request, overwrite_asker(services.clock.now, yes=yes))
    is_done = not (request.dry_run or report.aborted)
    output.print(report, rollback_text, rollback_document, unless_quiet=is_done)
    return 1 if report.aborted else 0


snapshot_command = group(
    "penstock snapshot run --prune",
    """Keep history tables.

    A history table holds every version of every row, with the time in which it was valid.
    """,
)


@command(
    "penstock snapshot run --select tag:daily\n"
    "penstock snapshot run --prune --keep-last 3 --dry-run",
    of=snapshot_command,
)
def snapshot_run(output: CommandOutput, request: SnapshotRequest, *, yes: Yes = False) -> int:
    """Bring history tables up to date.

    New and changed rows open versions, changed ones close theirs; one commit for each table, none
    where nothing changed. Old versions go as the retention says.
    """
    from penstock.app.commands.plan import rehearse
    from penstock.app.commands.run import run
    from penstock.app.events import silent
    from penstock.ui.render.snapshot import snapshots_text

    if request.dry_run:
        return output.finish(request, ask(request, rehearse, request), snapshots_text)
    if request.full_refresh and not confirm(_RESTARTS, yes=yes):
        return 1
    with opened(request) as services:
        # its table says all; lines above it only where somebody asked for more, or looks on
        shows = output.verbose or output.json_log or output.is_live
        with output.progress(services) if shows else nullcontext(silent) as listener:
            report = run(services, request, listener)
        return output.finish(request, report, snapshots_text)


@command("penstock snapshot verify users_history", of=snapshot_command)
def snapshot_verify(output: CommandOutput, request: CommandRequest, models: Models) -> int:
    """Check the laws of history tables.

    Reads one version of each table once and writes nothing. Exits 3 if a law is broken.
    """
    from penstock.app.commands.verify import verify
    from penstock.ui.render.snapshot import verify_document, verify_text

    reports = ask(request, verify, models)
    is_ok = all(report.ok for report in reports)
    output.print(reports, verify_text, verify_document, unless_quiet=is_ok)
    return 0 if is_ok else CheckFailedError.exit_code


@command(
    "penstock snapshot migrate users_history --dry-run\n"
    "penstock snapshot migrate users_history --adopt",
    of=snapshot_command,
)
def snapshot_migrate(
    output: CommandOutput,
    request: CommandRequest,
    model: Name,
    *,
    adopt: Adopt = False,
    dry_run: Trial = False,
) -> None:
    """Let a history table take over its model's new settings.

    Checks the laws under them, counts what the next run would open and close, then says so in the
    table's properties. Versions stay as they are.
    """
    from penstock.app.commands.migrate import migrate
    from penstock.ui.render.snapshot import migrate_document, migrate_text

    report = ask(request, migrate, model, adopt=adopt, dry_run=dry_run)
    output.print(report, migrate_text, migrate_document, unless_quiet=not dry_run)


@command("penstock seed --select countries")
def seed_command(output: CommandOutput, request: CommandRequest, select: Seeds = ()) -> int:
    """Load the files under seeds/ as tables.

    A file that is as it was when it was loaded is left alone.
    """
    from penstock.app.commands.seed import seed
    from penstock.ui.render.run import seed_text

    return output.finish(request, ask(request, seed, tuple(select)), seed_text)


@command(
    "penstock query \"select * from {{ ref('users_clean') }} where country = 'DE'\"\n"
    'penstock query "select * from staging.users_clean" --output users.csv'
)
def query_command(
    output: CommandOutput,
    request: QueryRequest,
    *,
    limit: Limit = None,
    form: Form = None,
    file: File = None,
) -> None:
    """Run a query over the project's tables.

    Models, seeds and sources are called schema.table; a model also by its name alone. The query may
    be a template, as models are.
    """
    from penstock.app.commands.query import export, form_of, query
    from penstock.app.documents import printed
    from penstock.ui.render.state import (
        exported_document,
        exported_text,
        query_document,
        query_text,
    )

    asked = form_of(form, file)
    if asked is None:
        result = ask(request, query, request.sql, limit or 100)
        text = printed(query_document(result), hide=False) if output.as_json else query_text(result)
        print_rows(text)
    elif file is not None:
        made = ask(request, export, request.sql, limit, asked, file)
        output.print(made, exported_text, exported_document, unless_quiet=True)
    elif output.as_json:
        sentence = "--format and --json exclude each other"
        raise UsageError("option-conflict", sentence, hint="leave --json out")
    else:
        ask(request, export, request.sql, limit, asked, cast("BinaryIO", _Screen()))
