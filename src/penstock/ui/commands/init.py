"""The files of a project: `init` writes them, `validate` checks them, `schema` describes them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import Json, document_of
from penstock.app.flags import FlagSpec
from penstock.app.request import CommandRequest
from penstock.core.errors import UsageError, install_hint
from penstock.ui.cli.options import command, place
from penstock.ui.cli.output import CommandOutput, print_rows
from penstock.ui.render.values import FINDINGS, count, entity_count, findings_text

if TYPE_CHECKING:
    from penstock.app.commands.validate import ValidationReport

_NEXT = {  # how to go on where a template starts with no input, and has a script that makes it
    "deliver.py": "penstock seed, penstock run",
    "visits.py": "penstock run --as-of 2024-03-04",
}


@dataclass(frozen=True, slots=True)
class NewFiles:
    """What `init` wrote, the command that installs missing extras, and the next command."""

    folder: str
    files: tuple[str, ...]
    install: str
    then: str


def made_text(report: NewFiles) -> str:
    """Return the files of a new project, what to install, and the next command."""
    install = [f"Install first: {report.install}"] if report.install else []
    made = (f"made {Path(report.folder, file)}" for file in report.files)
    return "\n".join([*made, "", *install, f"Next: {report.then}"])


def written_text(report: tuple[str, Sequence[str]]) -> str:
    """Return the files that were written."""
    folder, files = report
    return "\n".join(f"wrote {folder}/{file}" for file in files)


def files_document(report: tuple[str, Sequence[str]]) -> Json:
    """Return the files that were written to a folder."""
    folder, files = report
    return {"folder": folder, "files": files}


Folder = Annotated[Path | None, FlagSpec(names=("DIR",))]
Template = Annotated[
    str | None, FlagSpec("Template to start from.  [default: minimal]", metavar="NAME")
]
FromTable = Annotated[
    str | None, FlagSpec("Write a model over this existing Delta table.", metavar="PATH")
]
Events = Annotated[
    str | None,
    FlagSpec("With --template sessions: a package over this Delta table.", metavar="PATH"),
]
ModelName = Annotated[
    str | None, FlagSpec("Name of that model; default: of the table.", metavar="NAME")
]


@command(
    "penstock init shop --template demo\npenstock init shop --from-table lake/orders\n"
    "penstock init shop --template sessions --events lake/clicks"
)
def init_command(
    output: CommandOutput,
    folder: Folder = None,
    template: Template = None,
    from_table: FromTable = None,
    name: ModelName = None,
    events: Events = None,
) -> None:
    """Create a project that runs right away.

    Refuses a folder that already holds a project, and overwrites no file. --from-table and
    --events also add to an existing project; there DIR is the current folder by default.
    """
    if events is not None:
        _init_package(output, folder or Path(), template, events, from_table or name)
        return
    from penstock.app.commands.init import DEFAULT_TEMPLATE, init, init_from_table, missing_extras

    if from_table is None:
        if folder is None:
            raise UsageError("bad-usage", "Missing argument 'DIR'", hint="penstock init DIR")
        if name is not None:
            sentence = "--name is for --from-table"
            raise UsageError("option-conflict", sentence, hint="omit it")
        made = init(folder, template or DEFAULT_TEMPLATE)
        then = f"penstock run {shlex.quote(str(folder))}"
        for script, following in _NEXT.items():
            if script in made:
                then = f"cd {shlex.quote(str(folder))}, python {script} 1, {following}"
    elif template is not None:
        sentence = "--template and --from-table both say what the project holds"
        raise UsageError("option-conflict", sentence, hint="keep one of them")
    else:
        folder = folder or Path()
        made = init_from_table(folder, from_table, name)
        model = next(Path(each).stem for each in made if each.endswith(".sql"))
        place_there = "" if folder == Path() else f"{shlex.quote(str(folder))} "
        then = f"penstock run {place_there}--select {model}"
    extras = ",".join(missing_extras(template or DEFAULT_TEMPLATE))
    report = NewFiles(str(folder), made, install_hint(extras) if extras else "", then)
    output.print(report, made_text, NEW_FILES, unless_quiet=True)


def _init_package(
    output: CommandOutput, folder: Path, template: str | None, events: str, other: str | None
) -> None:
    """Write a session package from the columns of a table."""
    from penstock.app.commands.init import missing_extras
    from penstock.app.commands.init_events import init_package

    if other is not None:
        sentence = "--events is not for --from-table or --name"
        raise UsageError("option-conflict", sentence, hint="keep one of them")
    made, extras = init_package(folder, events, template or ""), ",".join(missing_extras())
    place_there = "" if folder == Path() else f" {shlex.quote(str(folder))}"
    then = f"check the marked lines of sessions/web.yml, then penstock validate{place_there}"
    report = NewFiles(str(folder), made, install_hint(extras) if extras else "", then)
    output.print(report, made_text, NEW_FILES, unless_quiet=True)


NEW_FILES = partial(document_of, names="folder files install")


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
    """Return the findings with their number, or the numbers of a project without findings."""
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
