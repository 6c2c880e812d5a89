"""This machine and this shell: `doctor`, `engine`, `schema`, `completion`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from click.shell_completion import ShellComplete, get_completion_class

from penstock.app.flags import FlagSpec
from penstock.app.request import CommandRequest
from penstock.core.errors import EnvironmentMissingError
from penstock.ui.cli.options import command, group
from penstock.ui.cli.output import CommandOutput, print_rows

Fix = Annotated[bool, FlagSpec("Fix what can be fixed.")]
Write = Annotated[bool, FlagSpec("Write them to the project's folder.")]
Shell = Annotated[str, FlagSpec(names=("SHELL",), choices=("bash", "zsh", "fish"))]


@command("penstock doctor --fix")
def doctor_command(output: CommandOutput, request: CommandRequest, *, fix: Fix = False) -> int:
    """Check this machine and say what to fix.

    Java, Spark and Delta, the state, the warehouse. Needs no project. Exits 2 if anything is wrong.
    """
    from penstock.app.commands.doctor import examine
    from penstock.ui.render.state import doctor_document, doctor_text

    report = examine(Path(request.project), request.target, fix=fix)
    output.print(report, doctor_text, doctor_document)
    return 0 if report.healthy else EnvironmentMissingError.exit_code


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
    from penstock.app.commands.engine import engine_status
    from penstock.ui.render.state import engine_document, engine_text

    output.print(engine_status(), engine_text, engine_document)


@command("penstock engine stop", of=engine_command)
def engine_stop(output: CommandOutput) -> None:
    """Stop the JVMs that are kept warm.

    Those of this user on this machine; the next command starts a new one. Needs no project.
    """
    from penstock.app.commands.engine import engine_stop
    from penstock.ui.render.state import engine_document, stopped_text

    output.print(engine_stop(), stopped_text, engine_document, unless_quiet=True)


@command("penstock schema --write")
def schema_command(output: CommandOutput, request: CommandRequest, *, write: Write = False) -> None:
    """Print JSON Schemas of the YAML files, for editors.

    One document that maps the file names that --write uses to their schemas.
    """
    from penstock.app.commands.init import schemas, write_schemas
    from penstock.ui.render.state import files_document, written_text

    if write:
        made = (str(request.project), write_schemas(Path(request.project)))
        output.print(made, written_text, files_document, unless_quiet=True)
        return
    found = {name: json.loads(text) for name, text in schemas().items()}
    print_rows(json.dumps(found, indent=2))


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
    output.print(script, str, lambda text: {"script": text})
