"""The files of a project: `init` writes them, `validate` checks them, `schema` describes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import Json, document_of
from penstock.app.flags import FlagSpec
from penstock.app.request import CommandRequest
from penstock.ui.cli.options import command, place
from penstock.ui.cli.output import CommandOutput, print_rows
from penstock.ui.render.values import FINDINGS, count, entity_count, findings_text

if TYPE_CHECKING:
    from penstock.app.commands.validate import ValidationReport

_NEXT = {  # how to go on where a template starts with no input, and has a script that makes it
    "deliver.py": "penstock seed, penstock run",
    "visits.py": "penstock run --as-of 2024-03-04",
}


def made_text(report: tuple[str, Sequence[str]]) -> str:
    """Say which files a new project has, and how to go on."""
    folder, files = report
    following = f"penstock run {folder}"
    for script, then in _NEXT.items():
        if script in files:
            following = f"cd {folder}, python {script} 1, {then}"
    return "\n".join([*(f"made {folder}/{file}" for file in files), "", f"Next: {following}"])


def written_text(report: tuple[str, Sequence[str]]) -> str:
    """Say which files were written."""
    folder, files = report
    return "\n".join(f"wrote {folder}/{file}" for file in files)


def files_document(report: tuple[str, Sequence[str]]) -> Json:
    """Return the files that were made in a folder."""
    folder, files = report
    return {"folder": folder, "files": files}


Folder = Annotated[Path, FlagSpec(names=("DIR",))]


Template = Annotated[str, FlagSpec("Template to start from.  [default: minimal]", metavar="NAME")]


@command("penstock init shop --template demo")
def init_command(output: CommandOutput, folder: Folder, template: Template = "minimal") -> None:
    """Create a project that runs right away.

    Refuses a folder that already holds a project.
    """
    from penstock.app.commands.init import init

    made = init(folder, template)
    output.print((str(folder), made), made_text, files_document, unless_quiet=True)


Write = Annotated[bool, FlagSpec("Write them to the project's folder.")]


@command("penstock schema --write")
def schema_command(output: CommandOutput, request: CommandRequest, *, write: Write = False) -> None:
    """Print JSON Schemas of the YAML files, for editors.

    One document that maps the file names that --write uses to their schemas.
    """
    from penstock.app.commands.init import schemas, write_schemas

    if write:
        made = (str(request.project), write_schemas(Path(request.project)))
        output.print(made, written_text, files_document, unless_quiet=True)
        return
    found = {name: json.loads(text) for name, text in schemas().items()}
    print_rows(json.dumps(found, indent=2))


validation_document = partial(
    document_of, names=f"passed errors warnings models sources seeds entities {FINDINGS}"
)


def validation_text(report: ValidationReport) -> str:
    """Return the findings with their count, or what was found to be right."""
    if report.findings:
        return findings_text(report.findings)
    models, sources = count(report.models, "model"), count(report.sources, "source")
    entities = f", {entity_count(report.entities)}" if report.entities else ""
    return f"no findings: {models}, {sources}, {count(report.seeds, 'seed')}{entities}"


Strict = Annotated[bool, FlagSpec("Treat warnings as errors.")]


Connected = Annotated[bool, FlagSpec("Also check which files in bronze folders no run reads.")]


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

    report = validate(place(request), strict=strict, connected=connected)
    output.print(report, validation_text, validation_document)
    return 0 if report.passed else 1
