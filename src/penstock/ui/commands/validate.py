"""`validate`: every finding of every file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import document_of
from penstock.app.flags import FlagSpec
from penstock.app.request import CommandRequest
from penstock.ui.cli.options import command, place
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.values import FINDINGS, count, entity_count, findings_text

if TYPE_CHECKING:
    from penstock.app.commands.validate import ValidationReport


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
    output.print(report, validation_text, validation_document, colours=True)
    return 0 if report.passed else 1
