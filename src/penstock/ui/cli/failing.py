"""What the terminal shows when a command cannot do what it was asked."""

from __future__ import annotations

from collections.abc import Sequence

import click

from penstock.core.errors import PenstockError, UsageError


def worded(error: Exception, arguments: Sequence[str]) -> int | None:
    """Print a user's mistake or an outside failure and give its exit code; None for a bug.

    With `--json` a document on stdout says it, else text on stderr.
    """
    known = _as_ours(error)
    if known is None:
        return None
    if "--json" in arguments:
        from penstock.ui.json_document import printed
        from penstock.ui.json_errors import failure_document

        click.echo(printed(failure_document(known)))
    else:
        from penstock.ui.text_errors import error_text

        click.echo(error_text(known), err=True)
    return known.exit_code


def _as_ours(error: Exception) -> PenstockError | None:
    if isinstance(error, PenstockError):
        return error
    if not isinstance(error, click.ClickException):
        return None
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "penstock"
    return UsageError("bad-usage", error.format_message(), hint=f"{path} --help")
