"""A command writes its answer, text or one JSON document, to stdout, the rest to stderr.

Options are built from the annotations of `CommandOutput`, so they are evaluated in this module.
"""

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, TextIO, TypeVar

import click

from penstock.app.flags import FlagSpec, command_words
from penstock.core.errors import (
    PenstockError,
    UsageError,
)
from penstock.core.masking import mask, mask_uris
from penstock.ui.cli.dbt_words import usage_error
from penstock.ui.cli.streams import answer, is_drawn_on, lost_answer, terminal_width
from penstock.ui.render.tables import WIDTH, wrapped

if TYPE_CHECKING:
    import datetime as dt

    from penstock.app.documents import Json
    from penstock.app.events import Listener
    from penstock.app.reports import Overwrite
    from penstock.app.request import CommandRequest
    from penstock.app.run_report import RunReport
    from penstock.app.services.services import Services

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """How a command answers."""

    as_json: Annotated[bool, FlagSpec("Print one JSON document.", ("--json",))] = False
    quiet: Annotated[bool, FlagSpec("Print errors only.", ("--quiet", "-q"))] = False
    verbose: Annotated[bool, FlagSpec("Print more detail.", ("--verbose", "-v"))] = False
    log_format: Annotated[str, FlagSpec("Format of progress lines.", choices=("text", "json"))] = (
        "text"
    )

    def print(
        self,
        value: Value,
        text: Callable[[Value], str],
        document: Callable[[Value], "Json"],
        *,
        unless_quiet: bool = False,
        is_code: bool = False,
    ) -> None:
        """Print the answer; `unless_quiet` marks a report that --quiet leaves out.

        On a terminal it has colours, and lines as wide as that, unless `is_code`: people copy it.
        """
        if self.as_json:
            from penstock.app.documents import printed

            say(printed(document(value)), is_code=True)
        elif not (unless_quiet and self.quiet):
            with as_wide_as(answer()):
                shown = text(value)
            if shown:
                say(shown, is_code=is_code, colours=True)
        if not unless_quiet:
            require_answer()

    def print_done(self, message: str) -> None:
        """Print one sentence about what was done."""
        self.print(message, str, lambda text: {"done": text}, unless_quiet=True)

    def warn(self, text: str) -> None:
        """Print a warning to stderr."""
        if text and not self.quiet:
            say(text, err=True)

    @property
    def json_log(self) -> bool:
        """Whether progress is logged as JSON."""
        return self.log_format == "json"

    @property
    def is_live(self) -> bool:
        """Whether a live table can be drawn on a terminal."""
        plain = self.as_json or self.quiet or self.verbose or self.json_log
        return not plain and is_drawn_on(answer())

    def progress(self, services: "Services") -> "AbstractContextManager[Listener]":
        """Choose how progress is shown: a live table, lines, or failed checks only."""
        if self.is_live:
            from rich.console import Console

            from penstock.ui.render.live import LiveTable

            table = LiveTable(Console(file=answer()), time.monotonic)
            services.waiting = table.waiting
            return table
        from penstock.ui.render.run import JsonLines, TextLines

        if self.json_log:
            log = partial(say, err=True, is_code=True)
            return nullcontext(JsonLines(log, services.clock.now))
        line = partial(say, err=True) if self.as_json else partial(say, colours=True)
        return nullcontext(TextLines(line, verbose=self.verbose, quiet=self.quiet))

    def finish(
        self, request: "CommandRequest", report: "RunReport", text: "Callable[[RunReport], str]"
    ) -> int:
        """Print the result of a run with the command that resumes it; return the exit code.

        That command names the same project and target.
        """
        from penstock.app.run_report import run_document

        for note in report.notes:
            self.warn(note)
        if report.resume:
            place = shlex.join(command_words(request, ("project", "target", "variables")))
            report = replace(report, resume=mask(f"{report.resume} {place}".strip()))
        is_done = report.succeeded and not report.dry_run
        self.print(report, text, run_document, unless_quiet=is_done)
        return report.exit_code


def say(
    text: str, *, err: bool = False, nl: bool = True, is_code: bool = False, colours: bool = False
) -> None:
    """Print a text of ours, broken between words where a terminal is too narrow, unless `is_code`.

    `print_rows` prints rows of a user.
    """
    stream, shown = sys.stderr if err else answer(), mask_uris(text)
    if not is_code:
        with as_wide_as(stream):
            shown = wrapped(shown)
    if colours and is_drawn_on(stream) and not os.environ.get("NO_COLOR"):
        from penstock.ui.render.values import painted

        shown = painted(shown)
    click.echo(shown, stream, nl=nl)


@contextmanager
def as_wide_as(stream: TextIO) -> Iterator[None]:
    """Lay texts out for the terminal behind a stream, if there is one."""
    before = WIDTH.set(terminal_width(stream))
    try:
        yield
    finally:
        WIDTH.reset(before)


def print_rows(text: str, *, nl: bool = True) -> None:
    """Print a text unchanged; raise `output-lost` if it cannot be written."""
    click.echo(text, answer(), nl=nl)
    require_answer()


def require_answer() -> None:
    """Raise `output-lost` if stdout did not take everything, except for a closed pipe."""
    if (lost := lost_answer()) is not None:
        sentence = f"stdout cannot be written: {lost.strerror}"
        raise PenstockError("output-lost", sentence, hint="free some space and repeat the command")


def print_error(error: Exception, arguments: Sequence[str]) -> int | None:
    """Print a user's mistake or an external failure and return its exit code; None for a bug.

    With `--json` it is a document on stdout; otherwise, or if stdout is closed, text on stderr.
    """
    if isinstance(error, click.ClickException):
        error = usage_error(error)
    if not isinstance(error, PenstockError):
        return None
    from penstock.app.documents import printed
    from penstock.ui.render.values import error_text, failure_document

    if "--json" in arguments and lost_answer() is None:
        is_run = arguments[:1] in _RUNS or arguments[:2] in _RUNS
        say(printed(failure_document(error, is_run=is_run)))
    if "--json" not in arguments or lost_answer() is not None:
        say(error_text(error), err=True)
    return error.exit_code


_RUNS = (
    *(["build"], ["run"], ["plan"], ["sync"], ["backfill"], ["seed"]),
    *(["snapshot", "run"], ["snapshot", "backfill"]),
)
"""Commands whose document always has `models` and `resume`."""


def confirm(question: str, *, yes: bool) -> bool:
    """Ask for the word `yes`; raise `needs-confirmation` without a terminal.

    Any other answer prints that nothing was done, and returns False.
    """
    unasked = f"{question} This needs a confirmation, and there is no terminal to ask at."
    error = UsageError("needs-confirmation", unasked, hint="add --yes")
    if yes or _is_confirmed(question, error):
        return True
    say("Nothing was done.", err=True)
    return False


def overwrite_asker(
    now: Callable[[], "dt.datetime"], *, yes: bool
) -> "Callable[[tuple[Overwrite, ...]], bool]":
    """Return a function that asks before partitions are overwritten, unless `yes`.

    It shows what would be overwritten and reads one line; only `yes` continues.
    """

    def ask(overwrites: "tuple[Overwrite, ...]") -> bool:
        if yes:
            return True
        from penstock.ui.render.values import nobody_to_ask, prompt_text

        return _is_confirmed(f"{prompt_text(overwrites, now())}\n", nobody_to_ask(overwrites))

    return ask


def _is_confirmed(question: str, nobody_to_ask: PenstockError) -> bool:
    if not sys.stdin.isatty():
        raise nobody_to_ask
    say(f"{question}\nType 'yes' to confirm: ", nl=False, err=True)
    return sys.stdin.readline().strip() == "yes"
