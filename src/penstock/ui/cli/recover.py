"""`penstock recover`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(
    epilog=example("penstock recover", "penstock recover --step 0190a3c4 --as committed")
)
@click.option("--step", metavar="STEP", help="With --as: the open step that is meant.")
@click.option(
    "--as",
    "became",
    type=click.Choice(["committed", "failed"]),
    help="What became of a step that nobody can tell: somebody has looked into its table.",
)
@project_options
def command(scope: Scope, step: str | None, became: str | None) -> int:
    """Settle what a crash left open.

    Steps that had committed are recorded, others are marked failed. Every run does this first. What
    cannot be settled is told with the ways out, and stops its own model alone.
    """
    from penstock.app.execution.recover import Recovery, recover, settle_as
    from penstock.core.errors import UsageError
    from penstock.ui.json_state import recovered_document
    from penstock.ui.text_state import recovered_text

    if (step is None) != (became is None):
        hint = "penstock recover --step STEP --as committed"
        raise UsageError("option-conflict", "--step and --as go together", hint=hint)
    with scope.opened() as services:
        if step is not None:
            found = Recovery((settle_as(services, step, committed=became == "committed"),))
        else:
            found = recover(services)
    scope.output.tell(found, recovered_text, recovered_document)
    return 1 if found.stuck else 0
