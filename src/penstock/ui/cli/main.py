"""The command `penstock`: find the file of a command, and report errors."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import click

from penstock.core.errors import DISTRIBUTION, InterruptedRunError
from penstock.ui.cli.dbt_words import translate
from penstock.ui.cli.streams import answer, command_streams, lost_answer

_COMMANDS = {
    "init": ("init", "Create a project that runs right away."),
    "import": ("import_", "Make a penstock project from another tool's."),
    "validate": ("init", "Report every finding of every file."),
    "list": ("show", "List the models."),
    "show": ("show", "Show everything about one model."),
    "compile": ("show", "Write the SQL of models without templates."),
    "graph": ("show", "Draw the dependency graph."),
    "entities": ("entities", "List and inspect entities."),
    "sessions": ("sessions", "Inspect and control session packages."),
    "plan": ("plan", "Show what a run would do, and why."),
    "run": ("plan", "Bring tables and views up to date."),
    "build": ("build", "Run unit tests, then load seeds and run all models."),
    "sync": ("plan", "Run the partitions that drifted."),
    "backfill": ("plan", "Run all partitions of a range, drifted or not."),
    "check": ("checks", "Run checks against the current tables."),
    "test": ("checks", "Run unit tests of models."),
    "rollback": ("history", "Restore a table to the version before a step."),
    "snapshot": ("snapshot", "Update and verify history tables."),
    "seed": ("seed", "Load the files under seeds/ as tables."),
    "query": ("query", "Run a query over the project's tables."),
    "status": ("status", "Show which partitions are no longer current."),
    "diff": ("status", "Show what changed since the partitions were built."),
    "history": ("history", "Show the executions of a model, newest first."),
    "metrics": ("metrics", "Print metrics for Prometheus."),
    "audit": ("history", "Compare every version's SQL with what was run."),
    "accept": ("state", "Accept rows that were changed outside penstock."),
    "watermark": ("state", "Show, set or reset watermarks."),
    "recover": ("state", "Settle steps that a crash left open."),
    "state": ("state", "Export, import, move, restore or rebuild the state."),
    "target": ("target", "Copy tables between targets."),
    "docs": ("docs", "Show the project in a browser."),
    "unlock": ("state", "Release the lease of a run that is gone."),
    "doctor": ("doctor", "Check this machine and say what to fix."),
    "clean": ("doctor", "Remove caches and artifacts."),
    "engine": ("doctor", "Show or stop JVMs that are kept warm."),
    "schema": ("init", "Print JSON Schemas of the YAML files, for editors."),
    "completion": ("doctor", "Print a shell's completion script."),
}
"""The file of each command in `ui.commands` and its short help, in the order of the help."""
COMMANDS = {name: does for name, (_, does) in _COMMANDS.items()}
_SHOWN = 100
INTERRUPTED = InterruptedRunError.exit_code
TERMINATED = 143
_ALIVE = 100_000
"""Objects of a project stay alive until the command ends, so garbage collection finds none."""


class Commands(click.Group):
    """Commands by name; a command's file is imported when it is called.

    The help imports none of them and answers at once.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click asks so
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's file and return its `<name>_command`."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"penstock.ui.commands.{_COMMANDS[cmd_name][0]}")
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found

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
    package_name=DISTRIBUTION, message="penstock %(version)s", help="Print the version."
)
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Build Delta tables on Spark from SQL files, and know which are no longer current."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; a user's mistake is a message, a bug a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        gc.set_threshold(_ALIVE)
        if _completes():
            return 0
    with _terminating() as signals, command_streams(own_process=arguments is None):
        code = _run(given)
        if code == INTERRUPTED and signals:
            code = TERMINATED
        if arguments is None and code in (INTERRUPTED, TERMINATED):
            _leave(code)
    if arguments is None:
        gc.freeze()  # the interpreter ends without looking at each object once more
    return code


def _completes() -> bool:
    """Answer a shell that asks for names of the project."""
    asked = os.environ.get("_PENSTOCK_COMPLETE", "")
    if not asked:
        return False
    from penstock.ui.cli.completion import complete

    return complete(commands, asked)


def _leave(code: int) -> NoReturn:
    """End at once with this code.

    While the interpreter shuts down, signals have their defaults again: a second Ctrl-C would end
    the process by the signal and not with our code. After a second Ctrl-C a step may still run on
    its thread; it stays on record as running and is settled later.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    answer().flush()
    sys.stderr.flush()
    os._exit(code)


@contextmanager
def _terminating() -> Iterator[list[int]]:
    """Make SIGTERM interrupt like Ctrl-C; yield a list that contains it once it arrived."""
    came: list[int] = []

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        # everything ends as after Ctrl-C, with an exit code of its own
        raise KeyboardInterrupt(signal.Signals(number).name)

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)


def _refuse_unreadable(words: Sequence[str]) -> None:
    """Raise for arguments with NUL or with bytes that are not UTF-8: no name contains them."""
    for word in words:
        if "\0" in word or any("\ud800" <= sign <= "\udfff" for sign in word):
            raise click.UsageError(f"the argument {ascii(word)[:_SHOWN]} is not valid UTF-8 text")


def _run(words: list[str]) -> int:
    try:
        _refuse_unreadable(words)
        words = translate(words, COMMANDS)
        code = commands.main(words, "penstock", standalone_mode=False, obj=words)
        answer().flush()
        if (lost := lost_answer()) is not None:  # what the command did stays done
            click.echo(f"stdout cannot be written: {lost.strerror}", sys.stderr)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        from penstock.ui.cli.output import print_error

        code = print_error(error, words)
        if code is None:
            raise
    return int(code or 0)
