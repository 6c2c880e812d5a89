"""`penstock recover`."""

from __future__ import annotations

import click

from penstock.app.request import ProjectRequest
from penstock.core.errors import UsageError
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput

_STEP = click.option("--step", metavar="STEP", help="With --as: the open step that is meant.")
_AS = click.option(
    "--as",
    "became",
    type=click.Choice(["committed", "failed"]),
    help="What became of a step that nobody can tell: somebody has looked into its table.",
)


@click.command(
    epilog=example("penstock recover", "penstock recover --step 0190a3c4 --as committed")
)
@takes(ProjectRequest, _STEP, _AS)
def command(
    output: CommandOutput, request: ProjectRequest, step: str | None, became: str | None
) -> int:
    """Settle what a crash left open.

    Steps that had committed are recorded, others are marked failed. Every run does this first. What
    cannot be settled is told with the ways out, and stops its own model alone.
    """
    from penstock.app.execution.recover import Recovery, recover, settle_as
    from penstock.ui.render.state import recovered_document, recovered_text

    if (step is None) != (became is None):
        hint = "penstock recover --step STEP --as committed"
        raise UsageError("option-conflict", "--step and --as go together", hint=hint)
    with opened(request) as services:
        if step is not None:
            found = Recovery((settle_as(services, step, committed=became == "committed"),))
        else:
            found = recover(services)
    output.print(found, recovered_text, recovered_document, unless_quiet=True)
    return 1 if found.stuck else 0
