"""What `entities list`, `show`, `validate` and `slices` print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from penstock.app.commands.entities import EntitiesReport, SlicesReport
from penstock.app.documents import Json, document_of
from penstock.core.entities.entity import Entity, EntityColumn
from penstock.core.entities.transformations import ColumnTransformation, Transformation
from penstock.core.masking import mask, mask_value
from penstock.ui.render.run import slice_text
from penstock.ui.render.values import (
    FINDINGS,
    count,
    entity_count,
    findings_text,
    moment,
    size,
    table,
)

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
    return table(header, rows, right=["id"])


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
        _table("Columns", ["name", "final name", "type", "roles", "expression"], columns),
        _table("Watermark", ["column", "operation", "group", "expression"], watermark),
        _section("Transformations", map(_transformation, entity.transformations)),
        _section("Settings", _settings(entity)),
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
    for name, value in rows.items():
        if value:
            yield f"  {name:<10} {value}"


def _roles(column: EntityColumn) -> str:
    return ", ".join(sorted(column.roles)) or "-"


def _transformation(each: Transformation) -> str:
    if isinstance(each, ColumnTransformation):
        return mask(f"{each.column} = {each.expression}")
    return mask(str(each))


def _settings(entity: Entity) -> Iterator[str]:
    own = document_of(entity.settings, _SETTINGS)
    said = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in own.items() if v}
    said |= {key.removeprefix("settings_"): value for key, value in _given(entity)}
    yield from (f"{key}: {mask_value(key, value)}" for key, value in sorted(said.items()))


def _given(entity: Entity) -> Iterator[tuple[str, str]]:
    return ((key, value) for key, value in entity.names.items() if key.startswith("settings_"))


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return _section(title, iter(table(header, rows).splitlines() if rows else []))


def _section(title: str, lines: Iterator[str]) -> str:
    found = [f"  {line}".rstrip() for line in lines]
    return "\n".join([f"{title}:", *found]) if found else ""


def entities_document(entities: Sequence[Entity]) -> Json:
    """Return the entities in the order of the files."""
    return {"entities": [entity_document(each) for each in entities]}


def entity_document(entity: Entity) -> Json:
    """Return all of one entity; settings of users stand under their keys."""
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
            **{key.removeprefix("settings_"): value for key, value in _given(entity)},
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
    body = table(header, rows, right=["size"])
    total = f"{count(len(report.slices), 'slice')}: {listed}"
    return "\n".join([*more, body, "", total, *report.notes])


def slices_document(report: SlicesReport) -> Json:
    """Return all slices in their order."""
    named = "name=id.name status size=id.size modified=id.modified digest=id.digest"
    return document_of(
        report, f"model slices[{named} processing_time=moment step? metrics why? who?] notes"
    )


def report_text(report: EntitiesReport) -> str:
    """Return the findings with their count, or what was found to be right."""
    if report.findings:
        return findings_text(report.findings)
    off = f", {report.disabled} disabled" if report.disabled else ""
    return f"no findings: {entity_count(report.entities)}{off}"


report_document = partial(document_of, names=f"passed entities disabled {FINDINGS}")
