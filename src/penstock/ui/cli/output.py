"""A command writes its answer, text or one JSON document, to stdout, the rest to stderr.

Options are built from the annotations of `CommandOutput`, so they are evaluated in this module.
"""

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, TypeVar

import click

from penstock.app.flags import FlagSpec, command_words
from penstock.core.errors import (
    PenstockError,
    UsageError,
)
from penstock.core.masking import mask, mask_uris
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
        is_unknown = error.message.startswith("No such")  # what click finds near is our hint
        sentence = error.message if is_unknown else error.format_message()
        error = UsageError("bad-usage", sentence, hint=_way_out(error))
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


_RUNS = (["run"], ["plan"], ["sync"], ["backfill"], ["seed"], ["snapshot", "run"])
"""Commands whose document always has `models` and `resume`."""
_THEIRS = {
    "build": "penstock run",
    "clean": "penstock run --full-refresh",
    "clone": "penstock run --target NAME",
    "compile": "penstock show MODEL",
    "debug": "penstock doctor",
    "deps": "penstock init DIR",
    "freshness": "penstock check --sources",
    "ls": "penstock list",
    "parse": "penstock validate",
    "retry": "penstock run",
    "source": "penstock check --sources",
}
"""Commands of dbt, each with its equivalent here."""
_ALIKE, _ALIKE_SHORT, _SHORT = 0.75, 0.6, 3
_THEIR_FLAGS = {
    "-f": "--full-refresh",
    "-m": "--select",
    "-t": "--target",
    "-x": "--fail-fast",
    "--models": "--select",
    "--profile": "--target",
    "--profiles-dir": "--project-dir",
    "--event-time-start": "--from",
    "--event-time-end": "--to",
    "--resource-type": "--select",
}


def _way_out(error: click.ClickException) -> str:
    """Return the command that was probably meant."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return "penstock --help"
    command, path = context.command, context.command_path
    if isinstance(error, click.NoSuchOption):
        flags = [name for param in command.params for name in param.opts]
        theirs = _THEIR_FLAGS.get(error.option_name)
        near = [theirs] if theirs in flags else _near(error.option_name, flags)
        return f"did you mean {near[0]}?" if near else f"{path} --help"
    asked = error.message.partition("'")[2].rpartition("'")[0]
    if isinstance(command, click.Group):
        ours = {name: f"did you mean {path} {name}?" for name in command.list_commands(context)}
        others = {word: f"in penstock: {does}" for word, does in _THEIRS.items()}
        known = {**others, **ours} if path == "penstock" else ours
        return next((known[near] for near in _near(asked, known)), f"{path} --help")
    if not error.message.startswith("Got unexpected extra argument"):
        return f"{path} --help"
    names = {param.name for param in command.params}
    words = error.message.partition("(")[2].rpartition(")")[0]
    first = context.params.get("project_1")
    if first is not None and not Path(first, "penstock.yml").is_file():
        words = f"{first} {words}"
    ways = [f"{path} --select {shlex.quote(words)}"] if "select" in names else []
    ways += ["a project's folder: --project-dir DIR"] if "project" in names else []
    return "; ".join(ways) or f"{path} --help"


def _near(written: str, names: Iterable[str]) -> list[str]:
    """Return a word with the same beginning or few different letters; None without one."""
    bare = {each.lstrip("-"): each for each in names}
    word = written.lstrip("-")
    near = [each for each in bare if len(word) > 1 and each.startswith(word)]
    near = near or get_close_matches(
        word, bare, 1, cutoff=_ALIKE if len(word) > _SHORT else _ALIKE_SHORT
    )
    return [bare[each] for each in near[:1]]


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
