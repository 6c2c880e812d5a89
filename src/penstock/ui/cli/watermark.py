"""`penstock watermark`: show, set, reset."""

from __future__ import annotations

import click

from penstock.app.request import ProjectRequest
from penstock.ui.cli.options import YES, example, help_alone, opened, takes
from penstock.ui.cli.output import CommandOutput, confirm

_HISTORY = click.option("--history", is_flag=True, help="Every change, newest first.")
_WHICH = click.option(
    "--column", metavar="INPUT.COLUMN", default="", help="Which, if there are several."
)
_ONLY = click.option("--column", metavar="INPUT.COLUMN", default="", help="Only this one.")
_TYPE = click.option(
    "--type", "type_", metavar="TYPE", default="", help="Its Spark type, if not known."
)
_REASON = click.option("--reason", metavar="TEXT", default="", help="Why; stands in the history.")


@click.group(
    invoke_without_command=True, epilog=example("penstock watermark show events_clean --history")
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show, set or reset watermarks.

    A watermark is the greatest value of a column that a model has taken in.
    """
    help_alone(ctx)


@command.command(epilog=example("penstock watermark show events_clean --history"))
@click.argument("model", default="")
@takes(ProjectRequest, _HISTORY)
def show(output: CommandOutput, request: ProjectRequest, model: str, *, history: bool) -> None:
    """Show the watermarks of one model, or of all."""
    from penstock.app.commands.watermark import show_watermarks
    from penstock.ui.render.state import watermarks_document, watermarks_text

    with opened(request) as services:
        report = show_watermarks(services, model, history=history)
    output.print(report, watermarks_text, watermarks_document)


@command.command(
    "set", epilog=example("penstock watermark set events_clean 2024-03-01T00:00:00 --reason replay")
)
@click.argument("model")
@click.argument("value")
@takes(ProjectRequest, _WHICH, _TYPE, _REASON)
def set_(
    output: CommandOutput, request: ProjectRequest, model: str, value: str, **more: str
) -> None:
    """Set a watermark, lower or higher than it is.

    The next run reads what is above it. The history keeps who did it, and why.
    """
    from penstock.app.commands.watermark import WantedWatermark, set_watermark
    from penstock.ui.render.state import changed_text, changes_document

    wanted = WantedWatermark(model, value, more["column"], more["type_"], more["reason"])
    with opened(request) as services:
        changes = (set_watermark(services, wanted),)
    output.print(changes, changed_text, changes_document, unless_quiet=True)


@command.command(epilog=example("penstock watermark reset events_clean --yes"))
@click.argument("model")
@takes(ProjectRequest, _ONLY, _REASON, YES)
def reset(
    output: CommandOutput,
    request: ProjectRequest,
    model: str,
    column: str,
    reason: str,
    *,
    yes: bool,
) -> int:
    """Take a model's watermarks away.

    The next run reads its inputs from the start, so that 'append' adds rows a second time.
    """
    from penstock.app.commands.watermark import reset_watermarks, watermarks_to_reset
    from penstock.ui.render.state import changed_text, changes_document

    with opened(request) as services:
        watermarks = watermarks_to_reset(services, model, column)
        named = ", ".join(f"{watermark.key} ({watermark.value})" for watermark in watermarks)
        if not confirm(f"This resets {named} of {model}.", yes=yes):
            return 1
        changes = reset_watermarks(services, model, watermarks, reason)
    output.print(changes, changed_text, changes_document, unless_quiet=True)
    return 0
