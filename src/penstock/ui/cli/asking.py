"""The question before partitions are overwritten."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import datetime as dt

    from penstock.app.reports import Overwrite
    from penstock.core.errors import UsageError

    Ask = Callable[[tuple[Overwrite, ...]], bool]


def asker(now: Callable[[], dt.datetime], *, yes: bool) -> Ask:
    """Give the function that asks; with `yes` one that need not.

    It shows what would be overwritten and reads one line: only `yes` goes on. It raises
    `needs-confirmation` where there is no terminal to ask at.
    """

    def ask(overwrites: tuple[Overwrite, ...]) -> bool:
        from penstock.ui.text_prompt import CONFIRM, prompt_text

        if not sys.stdin.isatty():
            raise _nobody_to_ask(overwrites)
        click.echo(f"{prompt_text(overwrites, now())}\n\n{CONFIRM}", nl=False, err=True)
        return sys.stdin.readline().strip() == "yes"

    return (lambda _: True) if yes else ask


def _nobody_to_ask(overwrites: tuple[Overwrite, ...]) -> UsageError:
    from penstock.core.errors import UsageError
    from penstock.ui.text_partitions import partitions_text
    from penstock.ui.text_prompt import SHOWN
    from penstock.ui.text_table import first_of

    total = partitions_text(sum(each.count for each in overwrites))
    models = ", ".join(first_of([each.model for each in overwrites], SHOWN, "model"))
    return UsageError(
        "needs-confirmation",
        f"this overwrites {total} ({models}), and there is no terminal to ask at",
        hint="--yes",
    )
