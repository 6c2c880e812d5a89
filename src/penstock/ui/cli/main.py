"""The command `penstock`: finds the file of a command, and words whatever stops it."""

from __future__ import annotations

import gc
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, TextIO, cast

import click

from penstock.core.errors import EnvironmentMissingError
from penstock.core.masking import SECRETS

_BY_FILE = {
    "project": {
        "init": "Make a project that runs at once.",
        "validate": "Report every finding of every file.",
        "list": "List the models.",
        "show": "Show all that is known of one model.",
        "graph": "Draw what reads what.",
    },
    "entities": {
        "entities": "Look at entities.",
    },
    "sessions": {
        "sessions": "Look at session packages.",
    },
    "build": {
        "plan": "Show what a run would do, and why.",
        "run": "Bring tables and views up to date.",
        "sync": "Run the partitions that drifted.",
        "backfill": "Run all partitions of a range, drifted or not.",
    },
    "checks": {
        "check": "Evaluate checks on the rows of today.",
        "test": "Run unit tests of models.",
    },
    "tables": {
        "rollback": "Restore a table to the version before a step.",
        "snapshot": "Keep history tables.",
        "seed": "Load the files under seeds/ as tables.",
        "query": "Run a query over the project's tables.",
    },
    "drift": {
        "status": "Show which partitions are no longer current.",
        "diff": "Show what changed since the partitions were built.",
        "history": "Show the executions of a model, newest first.",
        "audit": "Compare every version's SQL with what was run.",
    },
    "state": {
        "watermark": "Show, set or reset watermarks.",
        "recover": "Settle what a crash left open.",
        "state": "Export, import, restore or rebuild the state.",
        "unlock": "Take a target's lease from a run that is gone.",
    },
    "machine": {
        "doctor": "Check this machine, and say what to do.",
        "engine": "Look at JVMs that wait for a next command.",
        "schema": "Print JSON Schemas of the YAML files, for editors.",
        "completion": "Print a shell's completion script.",
    },
}
COMMANDS = {name: says for named in _BY_FILE.values() for name, says in named.items()}
INTERRUPTED = 130
_SHOWN = 100
TERMINATED = 143
_ALIVE = 100_000
"""What a project is made of lives until a command ends: looking for garbage in it finds none."""


class Commands(click.Group):
    """Commands by name; a command's file is imported when it is called.

    Its help needs none of them, so that it answers at once.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click asks so
        """Give the names in the order in which a project is worked on."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's file and give what is called `<name>_command` there."""
        for file, named in _BY_FILE.items():
            if cmd_name in named:
                module = importlib.import_module(f"penstock.ui.cli.{file}")
                found: click.Command = getattr(module, f"{cmd_name}_command")
                return found
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the literal table above."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=Commands,
    invoke_without_command=True,
    epilog="'penstock COMMAND --help' explains a command with an example.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    package_name="penstock", message="penstock %(version)s", help="Print the version."
)
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Build Delta tables on Spark from SQL files, and know which are no longer current."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; give its exit code. Words a user's mistake, lets a bug keep its traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a path may hold bytes that are no text
            stream.reconfigure(errors="backslashreplace")
    if arguments is None:
        gc.set_threshold(_ALIVE)
    try:
        with _terminating() as signals, _masking(to_the_end=arguments is None):
            code = _run(given)
            if code == INTERRUPTED and signals:
                code = TERMINATED
            if arguments is None and code in (INTERRUPTED, TERMINATED):
                _leave(code)
    finally:
        _drain()
    return code


def _open_streams() -> None:
    """Open streams that the caller has closed, or the next file would be taken for one."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def _drain() -> None:
    """Leave nothing that nobody reads any more to the interpreter's last flush.

    Click ends a command whose reader is gone by itself, with what it could not write still there.
    """
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _leave(code: int) -> NoReturn:
    """End at once with this code.

    While the interpreter takes itself down a signal has its default again, so that a second Ctrl-C
    would end the process by the signal and not with our code; and a step whose user asked twice may
    still run on its thread: it stays on record as running, and is settled later.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@contextmanager
def _worded() -> Iterator[None]:
    """Let a full disk, or whatever else keeps a line from being printed, be an error in words."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        sentence = f"the output cannot be written: {error.strerror}"
        hint = "free space, or print elsewhere; what was done is done"
        raise EnvironmentMissingError("output-unwritable", sentence, hint=hint) from error


class MaskedStream:
    """A stream of text that shows no secret value, whoever writes to it."""

    def __init__(self, stream: TextIO) -> None:
        """Write to this one."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text without secret values."""
        with _worded():
            return self._stream.write(SECRETS.hide(text))

    def flush(self) -> None:
        """Write what waits to be written."""
        with _worded():
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        """Be the other one in everything else."""
        return getattr(self._stream, name)


@contextmanager
def _masking(*, to_the_end: bool) -> Iterator[None]:
    """Let whatever is printed pass a masked stream: prints of functions, too.

    With `to_the_end` so does the traceback of a bug, which the interpreter prints.
    """
    SECRETS.add_environment(os.environ)
    before = sys.stdout, sys.stderr
    masked = [cast("TextIO", MaskedStream(stream)) for stream in before]
    sys.stdout, sys.stderr = masked
    try:
        yield
    finally:
        if not to_the_end:
            sys.stdout, sys.stderr = before


@contextmanager
def _terminating() -> Iterator[list[int]]:
    """Let SIGTERM interrupt like Ctrl-C; give a list that holds it once it came."""
    came: list[int] = []

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt  # everything ends as after Ctrl-C, with an exit code of its own

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)


def _refuse_unreadable(given: Sequence[str]) -> None:
    """Refuse words with a NUL or with bytes that are no UTF-8: nothing can be called so."""
    for word in given:
        if "\0" in word or any("\ud800" <= sign <= "\udfff" for sign in word):
            raise click.UsageError(f"the argument {ascii(word)[:_SHOWN]} is no text in UTF-8")


def _run(given: list[str]) -> int:
    try:
        _refuse_unreadable(given)
        code = commands.main(given, "penstock", standalone_mode=False, obj=given)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return 1
    except Exception as error:
        from penstock.ui.cli.output import print_error

        try:
            code = print_error(error, given)
        except (BrokenPipeError, EnvironmentMissingError):  # nobody can be told
            code = EnvironmentMissingError.exit_code
        if code is None:
            raise
    return int(code or 0)
