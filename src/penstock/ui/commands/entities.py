"""`entities`: entities, and the state of their slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import Json, document_of
from penstock.app.flags import FlagSpec
from penstock.app.request import CommandRequest
from penstock.core.entities.entity import Entity, EntityColumn
from penstock.core.entities.transformations import ColumnTransformation, Transformation
from penstock.core.errors import UsageError
from penstock.core.masking import mask, mask_value
from penstock.ui.cli.options import ask, command, group, place
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.run import slice_text
from penstock.ui.render.tables import section, table, table_section
from penstock.ui.render.values import (
    FINDINGS,
    count,
    entity_count,
    facts,
    findings_text,
    moment,
    size,
)

if TYPE_CHECKING:
    from penstock.app.commands.entities import EntitiesReport, SlicesReport

_MOST = 100  # rows of slices
_ENTITY = (
    "id name model table strategy=process connection destination group connection_group enabled "
    "secure path timezone prefix business_keys partition_columns key_column description tags where"
)
_COLUMN = "name newname final_name type expression reads volatile"
_WATERMARK = "column operation group expression"
_SETTINGS = (
    "delete_missing allow_empty allow_empty_delete require_success hash last_seen on_schema_change "
    "table_properties layout"
)


def entities_text(entities: Sequence[Entity]) -> str:
    """Return one row per entity, in the order of the files."""
    if not entities:
        return "no entities"
    rows = [
        [
            "-" if each.id is None else str(each.id),
            each.name,
            each.model,
            str(each.process),
            each.connection or "-",
            each.group or "-",
            "yes" if each.enabled else "no",
            each.where.path,
        ]
        for each in entities
    ]
    header = ["id", "name", "model", "strategy", "connection", "group", "enabled", "file"]
    return table(header, rows, right=["id"], first=("id", "name", "strategy", "enabled"))


def entity_text(entity: Entity) -> str:
    """Return the places, columns, watermarks, transformations and settings of an entity."""
    columns = [
        [each.name or "-", each.final_name, each.type or "-", _roles(each), mask(each.expression)]
        for each in entity.columns
    ]
    watermark = [
        [each.column, each.operation, str(each.group), each.expression] for each in entity.watermark
    ]
    blocks = [
        "\n".join(_head(entity)),
        table_section("Columns", ["name", "final name", "type", "roles", "expression"], columns),
        table_section("Watermark", ["column", "operation", "group", "expression"], watermark),
        section("Transformations", map(_transformation, entity.transformations)),
        section("Settings", _settings(entity)),
    ]
    return "\n\n".join(block for block in blocks if block)


def _head(entity: Entity) -> Iterator[str]:
    yield f"{entity.model}  {entity.process}"
    if entity.description:
        yield f"  {entity.description}"
    rows = {
        "id": "" if entity.id is None else str(entity.id),
        "name": entity.name,
        "file": str(entity.where),
        "enabled": "" if entity.enabled else "no",
        "connection": entity.connection,
        "group": entity.group,
        "bronze": mask(str(entity.bronze)),
        "silver": mask(entity.path) or str(entity.table),
        "scope": f"{entity.scope.column} = {entity.scope.literal}" if entity.scope else "",
        "key": ", ".join(entity.business_keys),
        "partitions": ", ".join(entity.partition_columns),
        "prefix": entity.prefix,
        "timezone": entity.timezone,
        "tags": ", ".join(entity.tags),
    }
    yield from facts(rows, 10)


def _roles(column: EntityColumn) -> str:
    return ", ".join(sorted(column.roles)) or "-"


def _transformation(each: Transformation) -> str:
    if isinstance(each, ColumnTransformation):
        return mask(f"{each.column} = {each.expression}")
    return mask(str(each))


def _settings(entity: Entity) -> Iterator[str]:
    own = document_of(entity.settings, _SETTINGS)
    said = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in own.items() if v}
    said |= {key.removeprefix("settings_"): value for key, value in _user_settings(entity)}
    yield from (f"{key}: {mask_value(key, value)}" for key, value in sorted(said.items()))


def _user_settings(entity: Entity) -> Iterator[tuple[str, str]]:
    return ((key, value) for key, value in entity.names.items() if key.startswith("settings_"))


def entities_document(entities: Sequence[Entity]) -> Json:
    """Return the entities in the order of the files."""
    return {"entities": [entity_document(each) for each in entities]}


def entity_document(entity: Entity) -> Json:
    """Return one complete entity; settings of users have their own keys."""
    return {
        **document_of(entity, _ENTITY),
        "bronze": str(entity.bronze),
        "scope": document_of(entity.scope, "column literal") if entity.scope else None,
        "columns": [
            {**document_of(each, _COLUMN), "roles": sorted(each.roles)} for each in entity.columns
        ],
        "watermark": [document_of(each, _WATERMARK) for each in entity.watermark],
        "transformations": [_transformation(each) for each in entity.transformations],
        "settings": {
            **document_of(entity.settings, _SETTINGS),
            **{key.removeprefix("settings_"): value for key, value in _user_settings(entity)},
        },
    }


def slices_text(report: SlicesReport) -> str:
    """Return one row per slice, of many the last ones, and a count per status."""
    if not report.slices:
        return "\n".join([f"{report.model} has no slices", *report.notes])
    rows = [
        [
            each.id.name,
            each.status,
            size(each.id.size),
            moment(each.moment),
            each.step or "-",
            slice_text(each.metrics) if each.metrics else "-",
            mask(" ".join(filter(None, (each.why, f"({each.who})" if each.who else "")))),
        ]
        for each in report.slices[-_MOST:]
    ]
    header = ["slice", "status", "size", "processed at", "step", "rows", "why"]
    counted = Counter(each.status for each in report.slices)
    listed = ", ".join(f"{number:,} {status}" for status, number in counted.items())
    left = len(report.slices) - len(rows)
    more = [f"{count(left, 'slice')} before these, see --json"] if left else []
    body = table(header, rows, right=["size"], first=("slice", "status", "rows", "why"))
    total = f"{count(len(report.slices), 'slice')}: {listed}"
    return "\n".join([*more, body, "", total, *report.notes])


def slices_document(report: SlicesReport) -> Json:
    """Return all slices in their order."""
    named = "name=id.name status size=id.size modified=id.modified digest=id.digest"
    return document_of(
        report, f"model slices[{named} processing_time=moment step? metrics why? who?] notes"
    )


def report_text(report: EntitiesReport) -> str:
    """Return the findings with their count, or a summary of valid files."""
    if report.findings:
        return findings_text(report.findings)
    off = f", {report.disabled} disabled" if report.disabled else ""
    return f"no findings: {entity_count(report.entities)}{off}"


report_document = partial(document_of, names=f"passed entities disabled {FINDINGS}")
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

    found = list_entities(place(request), tuple(select))
    output.print(found, entities_text, entities_document)


@command("penstock entities show transactions\npenstock entities show 2", of=entities_command)
def entities_show(output: CommandOutput, request: CommandRequest, entity: Which) -> None:
    """Show the full definition of one entity.

    Name it by id, name or model. Shows where its layers are, its columns with their final names,
    its watermark, and its settings merged with those of its connection.
    """
    from penstock.app.commands.entities import show_entity

    output.print(show_entity(place(request), entity), entity_text, entity_document)


@command("penstock entities validate --strict", of=entities_command)
def entities_validate(
    output: CommandOutput, request: CommandRequest, *, strict: Strict = False
) -> int:
    """Report findings of entities only.

    Loads the project, touches neither tables nor state, and exits 1 if there is an error.
    """
    from penstock.app.commands.entities import validate_entities

    report = validate_entities(place(request), strict=strict)
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
