"""Commands that only read the project: `init`, `validate`, `list`, `show`, `graph`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from penstock.app.flags import FlagSpec, Name
from penstock.app.request import CommandRequest, ModelsRequest
from penstock.ui.cli.options import ask, command
from penstock.ui.cli.output import CommandOutput

Folder = Annotated[Path, FlagSpec(names=("DIR",))]
Template = Annotated[str, FlagSpec("Template to start from.  [default: minimal]", metavar="NAME")]
Strict = Annotated[bool, FlagSpec("Treat warnings as errors.")]
Connected = Annotated[bool, FlagSpec("Also check which files in bronze folders no run reads.")]
Day = Annotated[
    str | None, FlagSpec("The SQL of the partition that holds this date.", ("--date",), "D")
]
Form = Annotated[
    str, FlagSpec("Output format.", ("--format",), choices=("tree", "mermaid", "dot", "json"))
]


@command("penstock init shop --template demo")
def init_command(output: CommandOutput, folder: Folder, template: Template = "minimal") -> None:
    """Create a project that runs right away.

    Refuses a folder that already holds a project.
    """
    from penstock.app.commands.init import init
    from penstock.ui.render.state import files_document, made_text

    made = init(folder, template)
    output.print((str(folder), made), made_text, files_document, unless_quiet=True)


@command("penstock validate --strict")
def validate_command(
    output: CommandOutput,
    request: CommandRequest,
    *,
    strict: Strict = False,
    connected: Connected = False,
) -> int:
    """Report every finding of every file.

    Loads the project, touches neither tables nor state, and exits 1 if there is an error.
    """
    from penstock.app.commands.validate import validate
    from penstock.app.services.wire import place_of
    from penstock.ui.render.values import validation_document, validation_text

    report = validate(place_of(request), strict=strict, connected=connected)
    output.print(report, validation_text, validation_document, colours=True)
    return 0 if report.passed else 1


@command("penstock list --select tag:daily")
def list_command(output: CommandOutput, request: ModelsRequest) -> None:
    """List the models.

    One row per model, upstreams first.
    """
    from penstock.app.commands.show import list_models
    from penstock.ui.render.show import list_document, list_text

    output.print(ask(request, list_models, request), list_text, list_document)


@command("penstock show users_clean\npenstock show daily_user_stats --date 2024-12-02")
def show_command(
    output: CommandOutput, request: CommandRequest, model: Name, date: Day = None
) -> None:
    """Show everything about one model.

    Its columns, versions, inputs, settings, resolved SQL, state, watermarks and last runs.
    """
    from penstock.app.commands.show import show
    from penstock.ui.render.show import show_document, show_text

    output.print(ask(request, show, model, date), show_text, show_document)


@command("penstock graph --format mermaid --select +daily_user_stats")
def graph_command(output: CommandOutput, request: ModelsRequest, form: Form = "tree") -> None:
    """Draw the dependency graph.

    Sources and models without upstreams are the roots. A node that appears again is drawn without
    its children.
    """
    from penstock.app.commands.show import graph
    from penstock.ui.render.show import DRAWINGS, graph_document

    output.print(ask(request, graph, request), DRAWINGS[form], graph_document)
