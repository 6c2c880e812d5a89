"""Where a command's answer goes: text or one JSON document, on stdout; the rest on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from penstock.ui.json_document import Json

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Output:
    """How a command answers."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    json_log: bool = False

    def give(
        self, value: Value, text: Callable[[Value], str], document: Callable[[Value], Json]
    ) -> None:
        """Print what the command was asked for."""
        if self.as_json:
            from penstock.ui.json_document import printed

            click.echo(printed(document(value)))
        else:
            click.echo(text(value))

    def tell(
        self, value: Value, text: Callable[[Value], str], document: Callable[[Value], Json]
    ) -> None:
        """Print what was done; a quiet command leaves the text out."""
        if self.as_json or not self.quiet:
            self.give(value, text, document)

    def warn(self, text: str) -> None:
        """Print beside the answer."""
        if text and not self.quiet:
            click.echo(text, err=True)

    @property
    def is_live(self) -> bool:
        """Whether somebody looks at a terminal that can be drawn on."""
        plain = self.as_json or self.quiet or self.verbose or self.json_log
        return not plain and sys.stdout.isatty()


def confirm(question: str, *, yes: bool) -> bool:
    """Ask for the word `yes`; raise `needs-confirmation` where nobody can be asked.

    Gives False, and says so, for any other answer.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        from penstock.core.errors import UsageError

        raise UsageError(
            "needs-confirmation",
            f"{question} This needs a confirmation, and there is no terminal to ask at.",
            hint="add --yes",
        )
    click.echo(question, err=True)
    click.echo("Type 'yes' to confirm: ", nl=False, err=True)
    if sys.stdin.readline().strip() == "yes":
        return True
    click.echo("Nothing was done.", err=True)
    return False
