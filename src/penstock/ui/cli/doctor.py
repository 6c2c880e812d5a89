"""`penstock doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.app.request import ProjectRequest
from penstock.ui.cli.options import example, takes
from penstock.ui.cli.output import CommandOutput

_FIX = click.option("--fix", is_flag=True, help="Put right what can be put right.")


@click.command(epilog=example("penstock doctor --fix"))
@takes(ProjectRequest, _FIX)
def command(output: CommandOutput, request: ProjectRequest, *, fix: bool) -> int:
    """Check this machine, and say what to do.

    Java, Spark and Delta, the state, the warehouse. Needs no project; exits 1 if a check fails.
    """
    from penstock.app.commands.doctor import examine
    from penstock.ui.render.state import doctor_document, doctor_text

    report = examine(Path(request.project), request.target, fix=fix)
    output.print(report, doctor_text, doctor_document)
    return 0 if report.healthy else 1
