"""This machine and this shell: `doctor`, `engine` with waiting JVMs, `completion`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from click.shell_completion import ShellComplete, get_completion_class

from penstock.app.documents import document_of
from penstock.app.flags import FlagSpec
from penstock.app.request import CommandRequest
from penstock.core.errors import EnvironmentMissingError
from penstock.core.masking import mask
from penstock.ui.cli.options import command, group
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.tables import table
from penstock.ui.render.values import count, moment

if TYPE_CHECKING:
    from penstock.app.commands.clean import CleanReport
    from penstock.app.commands.doctor import DoctorReport, EngineReport


_SIGNS = {"ok": "✓", "warning": "⚠", "error": "✗"}


def doctor_text(report: DoctorReport) -> str:
    """Return one line per check, and hints below failed ones."""
    width = max((len(check.name) for check in report.checks), default=0)
    lines = []
    for check in report.checks:
        sentence = mask(check.says)
        lines.append(f"{_SIGNS[check.health]} {check.name:<{width}}  {sentence}".rstrip())
        if check.health != "ok" and check.hint:
            lines.append(f"  hint: {mask(check.hint)}")
    return "\n".join(lines)


doctor_document = partial(document_of, names="healthy checks[name health message=says hint?]")


Fix = Annotated[bool, FlagSpec("Fix what can be fixed.")]


Shell = Annotated[str, FlagSpec(names=("SHELL",), choices=("bash", "zsh", "fish"))]


def cleaned_text(report: CleanReport) -> str:
    """Return the files that were removed by folder, and those that were kept."""
    lines = [
        f"removed {count(number, 'file')} of {name}" for name, number in report.removed.items()
    ]
    lines += [f"kept {name}, which holds a table" for name in report.kept_folders]
    return "\n".join(lines) or "nothing to remove"


clean_document = partial(document_of, names="removed kept=kept_folders")


@command("penstock clean")
def clean_command(output: CommandOutput, request: CommandRequest) -> None:
    """Remove caches and artifacts.

    The files under .penstock/cache and .penstock/target, which later commands write again. Never
    removes a table, the state, a log or a site.
    """
    from penstock.app.commands.clean import clean

    output.print(clean(Path(request.project)), cleaned_text, clean_document, unless_quiet=True)


@command("penstock doctor --fix")
def doctor_command(output: CommandOutput, request: CommandRequest, *, fix: Fix = False) -> int:
    """Check this machine and say what to fix.

    Java, Spark and Delta, the state, the warehouse. Needs no project. Exits 2 if anything is wrong.
    """
    from penstock.app.commands.doctor import examine

    report = examine(Path(request.project), request.target, fix=fix)
    output.print(report, doctor_text, doctor_document)
    return 0 if report.healthy else EnvironmentMissingError.exit_code


@command('eval "$(penstock completion bash)"')
def completion_command(output: CommandOutput, shell: Shell) -> None:
    """Print a shell's completion script.

    Load it from the shell's own startup file.
    """
    # `main` finds this file by its name, so it cannot stand among the imports above
    from penstock.ui.cli.main import commands

    found = (get_completion_class(shell) or ShellComplete)(
        commands, {}, "penstock", "_PENSTOCK_COMPLETE"
    )
    # not `source`, which asks bash itself for its version
    script = (found.source_template % found.source_vars()).strip()
    output.print(script, str, lambda text: {"script": text}, is_code=True)


def engine_text(report: EngineReport) -> str:
    """Return one row per JVM that waits."""
    if not report.kept:
        return "no JVM waits"
    rows = [[each.root, each.target, str(each.pid), moment(each.ends)] for each in report.kept]
    return table(["project", "target", "pid", "ends"], rows)


def stopped_text(report: EngineReport) -> str:
    """Return which JVMs were stopped."""
    return "\n".join(f"ended {each.pid}, of {each.root}" for each in report.kept) or "no JVM waits"


engine_document = partial(document_of, names="kept[root target pid ends]")


engine_command = group(
    "penstock engine status",
    """Show or stop JVMs that are kept warm.

    A JVM waits for the next command if the target's `spark` sets `keep_warm: 10m`.
    """,
)


@command("penstock engine status", of=engine_command)
def engine_status(output: CommandOutput) -> None:
    """Show the JVMs that are kept warm.

    Those of this user on this machine; a JVM in use belongs to its command. Needs no project.
    """
    from penstock.app.commands.doctor import engine_status

    output.print(engine_status(), engine_text, engine_document)


@command("penstock engine stop", of=engine_command)
def engine_stop(output: CommandOutput) -> None:
    """Stop the JVMs that are kept warm.

    Those of this user on this machine; the next command starts a new one. Needs no project.
    """
    from penstock.app.commands.doctor import engine_stop

    output.print(engine_stop(), stopped_text, engine_document, unless_quiet=True)
