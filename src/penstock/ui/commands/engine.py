"""`engine`: JVMs that wait for the next command."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.app.documents import document_of
from penstock.ui.cli.options import command, group
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.values import moment, table

if TYPE_CHECKING:
    from penstock.app.commands.doctor import EngineReport


def engine_text(report: EngineReport) -> str:
    """Return one row per JVM that waits."""
    if not report.kept:
        return "no JVM waits"
    rows = [[each.root, each.target, str(each.pid), moment(each.ends)] for each in report.kept]
    return table(["project", "target", "pid", "ends"], rows)


def stopped_text(report: EngineReport) -> str:
    """Say which JVMs were ended."""
    return "\n".join(f"ended {each.pid}, of {each.root}" for each in report.kept) or "no JVM waits"


engine_document = partial(document_of, names="kept[root target pid ends]")


engine_command = group(
    "penstock engine status",
    """Show or stop JVMs that are kept warm.

    A JVM waits for the next command if the target's `spark` sets `keep_warm: 10m`.
    """,
)


@command("penstock engine status", of=engine_command)
def engine_status(output: CommandOutput) -> None:
    """Show the JVMs that are kept warm.

    Those of this user on this machine; a JVM in use belongs to its command. Needs no project.
    """
    from penstock.app.commands.doctor import engine_status

    output.print(engine_status(), engine_text, engine_document)


@command("penstock engine stop", of=engine_command)
def engine_stop(output: CommandOutput) -> None:
    """Stop the JVMs that are kept warm.

    Those of this user on this machine; the next command starts a new one. Needs no project.
    """
    from penstock.app.commands.doctor import engine_stop

    output.print(engine_stop(), stopped_text, engine_document, unless_quiet=True)
