"""`penstock watermark`: show, set, reset."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, example, help_alone, project_options
from penstock.ui.cli.output import confirm


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
@click.option("--history", is_flag=True, help="Every change, newest first.")
@project_options
def show(scope: Scope, model: str, history: bool) -> None:  # noqa: FBT001  click passes by name
    """Show the watermarks of one model, or of all."""
    from penstock.app.commands.watermark import show_watermarks
    from penstock.ui.json_state import watermarks_document
    from penstock.ui.text_watermark import watermarks_text

    with scope.opened() as services:
        report = show_watermarks(services, model, history=history)
    scope.output.give(report, watermarks_text, watermarks_document)


@command.command(
    "set", epilog=example("penstock watermark set events_clean 2024-03-01T00:00:00 --reason replay")
)
@click.argument("model")
@click.argument("value")
@click.option("--column", metavar="INPUT.COLUMN", default="", help="Which, if there are several.")
@click.option("--type", "type_", metavar="TYPE", default="", help="Its Spark type, if not known.")
@click.option("--reason", metavar="TEXT", default="", help="Why; stands in the history.")
@project_options
def set_(scope: Scope, model: str, value: str, **more: str) -> None:
    """Set a watermark, lower or higher than it is.

    The next run reads what is above it. The history keeps who did it, and why.
    """
    from penstock.app.commands.watermark import WantedMark, set_watermark
    from penstock.ui.json_state import changes_document
    from penstock.ui.text_watermark import changed_text

    wanted = WantedMark(model, value, more["column"], more["type_"], more["reason"])
    with scope.opened() as services:
        changes = (set_watermark(services, wanted),)
    scope.output.tell(changes, changed_text, changes_document)


@command.command(epilog=example("penstock watermark reset events_clean --yes"))
@click.argument("model")
@click.option("--column", metavar="INPUT.COLUMN", default="", help="Only this one.")
@click.option("--reason", metavar="TEXT", default="", help="Why; stands in the history.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_options
def reset(scope: Scope, model: str, column: str, reason: str, yes: bool) -> int:  # noqa: FBT001  click passes by name
    """Take a model's watermarks away.

    The next run reads its inputs from the start, so that 'append' adds rows a second time.
    """
    from penstock.app.commands.watermark import marks_to_reset, reset_watermarks
    from penstock.ui.json_state import changes_document
    from penstock.ui.text_watermark import changed_text

    with scope.opened() as services:
        marks = marks_to_reset(services, model, column)
        named = ", ".join(f"{mark.key} ({mark.value})" for mark in marks)
        if not confirm(f"This resets {named} of {model}.", yes=yes):
            return 1
        changes = reset_watermarks(services, model, marks, reason)
    scope.output.tell(changes, changed_text, changes_document)
    return 0
