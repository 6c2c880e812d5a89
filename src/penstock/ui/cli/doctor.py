"""`penstock doctor`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(epilog=example("penstock doctor --fix"))
@click.option("--fix", is_flag=True, help="Put right what can be put right.")
@project_options
def command(scope: Scope, fix: bool) -> int:  # noqa: FBT001  click passes by name
    """Check this machine, and say what to do.

    Java, Spark and Delta, the state, the warehouse. Needs no project; exits 1 if a check fails.
    """
    from penstock.app.commands.doctor import examine
    from penstock.ui.json_state import doctor_document
    from penstock.ui.text_doctor import doctor_text

    report = examine(scope.root, scope.target, fix=fix)
    scope.output.give(report, doctor_text, doctor_document)
    return 0 if report.healthy else 1
