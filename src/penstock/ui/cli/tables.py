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
Trial = Annotated[bool, FlagSpec("Check and count only; write nothing.", ("--dry-run",))]
Seeds = Annotated[
    Sequence[str], FlagSpec("Seeds to load; default: all.", ("--select", "-s"), "NAME")
]
Limit = Annotated[
    int | None, a_count("Maximum number of rows.  [default: 100, all with --format or --output]")
]
Form = Annotated[
    str | None,
    FlagSpec("Output format.", ("--format",), choices=("csv", "json", "parquet")),
]
File = Annotated[
    Path | None,
    FlagSpec("Write the rows to this file; its extension sets the format.", ("--output",), "FILE"),
]


class _Screen(io.RawIOBase):
    """A binary file whose lines are printed as the answer."""

    def write(self, line: Buffer, /) -> int:
        """Print a line of UTF-8."""
        print_rows(bytes(line).decode(), nl=False)
        return len(bytes(line))


@command("penstock rollback daily_user_stats --to 0190a3c4 --dry-run")
def rollback_command(output: CommandOutput, request: RollbackRequest, *, yes: Yes = False) -> int:
    """Restore a table to the version before a step.

    'penstock history MODEL --verbose' lists the steps; a unique prefix is enough. The records of
    the partitions are restored as well.
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
    """Update and verify history tables.

    A history table keeps every version of every row and the interval in which it was valid.
    """,
)


@command(
    "penstock snapshot run --select tag:daily\n"
    "penstock snapshot run --prune --keep-last 3 --dry-run",
    of=snapshot_command,
)
def snapshot_run(output: CommandOutput, request: SnapshotRequest, *, yes: Yes = False) -> int:
    """Bring history tables up to date.

    New and changed rows open versions; changed rows close their old one. Each table gets one
    commit, or none if nothing changed. Retention removes old versions.
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
        # the table at the end says it all; lines above it only on request or on a terminal
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
    """Apply a model's new settings to its history table.

    Checks the laws under the new settings, counts what the next run would open and close, then
    records the settings in the table's properties. Existing versions do not change.
    """
    from penstock.app.commands.migrate import migrate
    from penstock.ui.render.snapshot import migrate_document, migrate_text

    report = ask(request, migrate, model, adopt=adopt, dry_run=dry_run)
    output.print(report, migrate_text, migrate_document, unless_quiet=not dry_run)


@command("penstock seed --select countries")
def seed_command(output: CommandOutput, request: CommandRequest, select: Seeds = ()) -> int:
    """Load the files under seeds/ as tables.

    Skips files that have not changed since they were loaded.
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

    Name models, seeds and sources as schema.table, a model also by its name alone. Templates work
    as in models.
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
