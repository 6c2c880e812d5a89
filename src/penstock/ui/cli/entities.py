"""Entities and their slices: `penstock entities`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from penstock.app.flags import FlagSpec
from penstock.app.request import CommandRequest
from penstock.core.errors import UsageError
from penstock.ui.cli.options import ask, command, group
from penstock.ui.cli.output import CommandOutput

Which = Annotated[str, FlagSpec(names=("ENTITY",))]
Skip = Annotated[str, FlagSpec("Exclude this slice from runs.", metavar="SLICE")]
Unskip = Annotated[str, FlagSpec("Include the slice again.", metavar="SLICE")]
Reason = Annotated[str, FlagSpec("Why the slice is skipped; `slices` shows it.", metavar="TEXT")]
Strict = Annotated[bool, FlagSpec("Treat warnings as errors.")]
Chosen = Annotated[
    Sequence[str],
    FlagSpec(
        "Entities: name, entity:2, group:G, connection:C, connectiongroup:G.",
        ("--select", "-s"),
        "SELECTOR",
    ),
]

entities_command = group(
    "penstock entities list",
    """List and inspect entities.

    An entity is a model that loads a bronze folder or table through a fixed pipeline.
    """,
)


@command(
    "penstock entities list\npenstock entities list --select connection:sales", of=entities_command
)
def entities_list(output: CommandOutput, request: CommandRequest, select: Chosen = ()) -> None:
    """List the entities.

    One row per entity, in file order. Without a selection, disabled entities are listed too.
    """
    from penstock.app.commands.entities import list_entities
    from penstock.app.services.wire import place_of
    from penstock.ui.render.entities import entities_document, entities_text

    found = list_entities(place_of(request), tuple(select))
    output.print(found, entities_text, entities_document)


@command("penstock entities show transactions\npenstock entities show 2", of=entities_command)
def entities_show(output: CommandOutput, request: CommandRequest, entity: Which) -> None:
    """Show the full definition of one entity.

    Name it by id, name or model. Shows where its layers are, its columns with their final names,
    its watermark, and its settings merged with those of its connection.
    """
    from penstock.app.commands.entities import show_entity
    from penstock.app.services.wire import place_of
    from penstock.ui.render.entities import entity_document, entity_text

    output.print(show_entity(place_of(request), entity), entity_text, entity_document)


@command("penstock entities validate --strict", of=entities_command)
def entities_validate(
    output: CommandOutput, request: CommandRequest, *, strict: Strict = False
) -> int:
    """Report findings of entities only.

    Loads the project, touches neither tables nor state, and exits 1 if there is an error.
    """
    from penstock.app.commands.entities import validate_entities
    from penstock.app.services.wire import place_of
    from penstock.ui.render.entities import report_document, report_text

    report = validate_entities(place_of(request), strict=strict)
    output.print(report, report_text, report_document)
    return 0 if report.passed else 1


@command(
    "penstock entities slices transactions\n"
    "penstock entities slices transactions --skip 2025-07-02 --reason 'keys twice'",
    of=entities_command,
)
def entities_slices(
    output: CommandOutput,
    request: CommandRequest,
    entity: Which,
    skip: Skip = "",
    unskip: Unskip = "",
    reason: Reason = "",
) -> None:
    """Show the status of each slice of an entity.

    A run processes waiting and failed slices in this order. Exclude one with --skip and --reason;
    'penstock run --slice NAME' processes it all the same.
    """
    from penstock.app.commands.entities import list_slices, skip_slice
    from penstock.ui.render.entities import slices_document, slices_text

    if bool(skip) and bool(unskip):
        raise UsageError("option-conflict", "--skip and --unskip ask for opposite things")
    if skip and not reason:
        hint = f"penstock entities slices {entity} --skip {skip} --reason 'why'"
        raise UsageError("reason-required", "--skip needs a --reason", hint=hint)
    if skip or unskip:
        found = ask(request, skip_slice, entity, skip or unskip, reason, skips=bool(skip))
    else:
        found = ask(request, list_slices, entity)
    output.print(found, slices_text, slices_document)
