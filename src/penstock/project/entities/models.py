"""Entities as drafts of models: resolve their inputs, compute their fingerprints."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from penstock.core.entities.entity import (
    Entity,
    EntityColumn,
    EntitySettings,
    ProcessType,
    Slices,
    WholeFolder,
    WholeTable,
)
from penstock.core.entities.reading import BadRecords, BronzeFormat
from penstock.core.entities.transformations import (
    ColumnTransformation,
    Deduplicate,
    Filter,
    Projection,
    Transformation,
)
from penstock.core.findings import Finding
from penstock.core.history import SystemColumns
from penstock.core.masking import without_credentials, without_secrets
from penstock.core.model import ColumnDoc, Model, Source
from penstock.core.names import InputKind, InputName, TableName, shown_name
from penstock.core.project import Target
from penstock.core.query import Query
from penstock.core.steps.inputs import EVERY_COLUMN
from penstock.core.strategy import Strategy, strategies
from penstock.project.checks.phases import NONE, Phases
from penstock.project.checks.scene import WrittenChecks, written_nodes
from penstock.project.files.parsed import SqlFile
from penstock.project.files.values import Plain, digest
from penstock.project.models import Built, Draft
from penstock.project.settings.config import shown_config
from penstock.project.settings.strategy import StrategyConfig, layout_of
from penstock.project.sql.bodies import fingerprint_of_settings
from penstock.project.sql.names import Named, NameResolver

_USUAL = "default"
"""The default schema of a table."""
_SWITCHES = ("delete_missing", "allow_empty", "allow_empty_delete")


@dataclass(slots=True)
class EntityDraft(Draft):
    """An entity as a model to be linked; `phases` are its checks as written.

    `secrets` are values that no record of it may contain.
    """

    entity: Entity = field(kw_only=True)
    phases: Phases = field(kw_only=True, default=NONE)
    secrets: frozenset[str] = field(kw_only=True, default=frozenset())

    @property
    def owner(self) -> str:
        """The owner of its table; entities of one table are checked together when they are read."""
        return f"entity {self.table}"

    @property
    def system_columns(self) -> SystemColumns | None:
        """The columns with the validity interval of a row's version."""
        history = self._strategy().history
        return history.columns if history else None

    def checks(self, fill: Callable[[Plain], Plain]) -> tuple[WrittenChecks, ...]:
        """Return its checks, filled in with its document."""
        del fill
        written = written_nodes(self.phases)
        return (written,) if written else ()

    def made_source(self, resolver: NameResolver, target: Target) -> Source | None:
        """Return its whole source, unless it is declared or in a catalog."""
        found = self._read(resolver)
        if found is None or found.input.kind is not InputKind.EXTERNAL:
            return None
        if isinstance(self.entity.bronze, WholeFolder):
            place, reading = found.table.table, self.entity.settings.reading
            kind, options = str(reading.format), reading.options
            options = EVERY_COLUMN if reading.format is BronzeFormat.PARQUET else options
            return Source(found.table, self.where, place, kind, options, may_be_delta=True)
        if target.catalog or "." in found.table.schema:
            return None
        return Source(found.table, self.where, target.uri_of(found.table))

    def link(self, resolver: NameResolver) -> Built:
        """Resolve its inputs."""
        config, entity, read = self.config, self.entity, self._read(resolver)
        strategy = self._strategy()
        layout = layout_of(config, strategy)
        built = Built(strategy, findings=config.findings)
        if read is not None and read.input.kind is InputKind.MODEL:
            built.parents = {read.input.name: self.where.line}
            self._check_frame(read, resolver)
        text = without_credentials(without_secrets(definition(entity), self.secrets))
        canonical = meaning(entity, str(read.input) if read else "")
        canonical = without_secrets(canonical, self.secrets)
        shown = without_credentials(canonical)
        code = fingerprint_of_settings(strategy, layout, entity.description, config.columns)
        built.model = Model(
            name=self.name,
            table=self.table,
            where=self.where,
            strategy=strategy,
            query=Query(text, text, shown, (read.input,) if read else (), parsed=False),
            # nothing of it is parsed, so no parser ever makes another meaning of it
            fingerprint=replace(code, sql=digest(text), canonical=digest(canonical), parser=""),
            depends_on=tuple(name for name in built.parents if name in resolver.built),
            layout=layout,
            on_schema_change=entity.settings.on_schema_change,
            columns=config.columns,
            description=entity.description,
            tags=entity.tags,
            config=shown_config(config.settings),
            entity=entity,
        )
        return built

    def _strategy(self) -> Strategy:
        made = cast("Callable[[Entity], Strategy]", strategies()[f"entity_{self.entity.process}"])
        return made(self.entity)

    def _read(self, resolver: NameResolver) -> Named | None:
        """Find its whole source; an entity of slices reads no table."""
        match self.entity.bronze:
            case Slices():
                return None
            case WholeFolder(path):
                folder = str(path).rstrip("/")
                unknown = Named(InputName(InputKind.EXTERNAL, folder), TableName("", folder))
                return resolver.places.get(folder, unknown)
            case WholeTable(name):
                parts = str(name).split(".")
                return resolver.table(tuple(parts if len(parts) > 1 else (_USUAL, *parts)))

    def _check_frame(self, read: Named, resolver: NameResolver) -> None:
        if read.input.name in resolver.frames:
            sentence = f"{read.input.name!r} is a Python frame, which is not stored in a table"
            hint = "decorate it with @table"
            self.config.findings.append(Finding(self.where, "not-materialised", sentence, hint))


def draft_of(entity: Entity, phases: Phases, prefix: str) -> EntityDraft:
    """Return an entity as a draft; `prefix` is added to the target's schemas."""
    where, table = entity.where, entity.table
    docs = tuple(ColumnDoc(each.final_name, type=each.type) for each in entity.columns)
    config = StrategyConfig(_config_values(entity), {}, where, entity.model, columns=docs)
    return EntityDraft(
        name=entity.model,
        where=where,
        stem=entity.model.partition("@")[0],
        file=SqlFile(where.path),
        config=config,
        table=table,
        written=TableName(table.schema.removeprefix(prefix), table.table),
        path=entity.path,
        entity=entity,
        phases=phases,
    )


def _config_values(entity: Entity) -> dict[str, Plain]:
    """Return its settings under the keys of documents, for the selector `config.KEY:`."""
    settings = entity.settings
    found: dict[str, Plain] = {
        "materialized": str(entity.process),
        "id": entity.id,
        "connection": entity.connection,
        "destination": entity.destination,
        "group": entity.group,
        "connectiongroup": entity.connection_group,
        "enabled": entity.enabled,
        "secure": entity.secure,
        **{key: getattr(settings, key) for key in _SWITCHES},
        "hash": str(settings.hash),
        "last_seen": str(settings.last_seen),
        "layout": settings.layout,
        **_config_of_records(settings),
        "tags": list(entity.tags),
        "meta": dict(entity.meta),
        "partition_by": list(entity.partition_columns),
        "table_properties": dict(settings.table_properties),
    }
    return {key: value for key, value in found.items() if value or key == "enabled"}


def _config_of_records(settings: EntitySettings) -> dict[str, Plain]:
    reading, events = settings.reading, settings.events
    is_parquet = reading.format is BronzeFormat.PARQUET
    fails = reading.bad_records is BadRecords.FAIL
    return {
        "bronze_format": "" if is_parquet else str(reading.format),
        "infer": reading.infer,
        "rescued": reading.rescued,
        "bad_records": "" if fails else str(reading.bad_records),
        "sequence_by": list(events.sequence_by),
        "delete_when": events.delete_when,
        "ignore_when": events.ignore_when,
        "valid_from": events.valid_from,
        "change_feed": events.change_feed,
    }


def definition(entity: Entity) -> str:
    """Return a readable description of what an entity does.

    >>> from penstock.core.entities.entity import NOWHERE, FieldRole, RunText
    >>> key = EntityColumn("Order No", type="int", roles=frozenset({FieldRole.BUSINESS_KEY}))
    >>> bronze, where = Slices(RunText("/in")), NOWHERE
    >>> made = Entity("x", "s.x", TableName("s", "x"), ProcessType.MERGE, bronze, where)
    >>> definition(replace(made, columns=(key,))).splitlines()[1:3]
    ['from /in, slices *.parquet', 'column `Order No` as OrderNo int, businesskey']
    """
    reading = str(entity.settings.reading)
    source = f"from {entity.bronze}{f', {reading}' if reading else ''}"
    lines = [f"{entity.process} into {shown_name(str(entity.table))}", source]
    lines += map(_transformation, entity.transformations)
    lines += map(_column, entity.columns)
    lines += (
        f"watermark {each.operation} {each.group} {shown_name(each.column)}: {each.expression}"
        for each in entity.watermark
    )
    events = str(entity.settings.events)
    lines += [f"events {events}"] if events else []
    if entity.scope is not None:
        lines.append(f"where {shown_name(entity.scope.column)} = {entity.scope.literal}")
    lines += (f"{key} {value}" for key, value in _effective(entity).items())
    return "\n".join(lines)


def _column(column: EntityColumn) -> str:
    name, final = shown_name(column.made_name), shown_name(column.final_name)
    parts = ["column", name, f"as {final}" if final != name else "", column.type]
    said = " ".join(filter(None, parts)) + "".join(f", {role}" for role in sorted(column.roles))
    return f"{said} = {column.expression}" if column.expression else said


def _transformation(each: Transformation) -> str:
    if isinstance(each, ColumnTransformation):
        return f"set {shown_name(each.column)} = {each.expression}"
    return str(each)


def _effective(entity: Entity) -> dict[str, str]:
    """Return the settings that affect rows, as far as its process uses them."""
    settings, infers = entity.settings, entity.infers_deletes
    found = {
        "delete_missing": infers,
        "allow_empty_delete": infers and settings.allow_empty_delete,
        "allow_empty": entity.process is ProcessType.FULL and settings.allow_empty,
    }
    return {
        "key": entity.key_column,
        "hash": str(settings.hash),
        **({"last_seen": str(settings.last_seen)} if entity.process is ProcessType.MERGE else {}),
        **{key: "true" for key, is_on in found.items() if is_on},
        "prefix": entity.prefix,
        "timezone": entity.timezone,
    }


def _meaning_of_transformation(each: Transformation) -> object:
    match each:
        case ColumnTransformation(column, expression):
            return [column, expression]
        case Projection(items):
            return {"select": items}
        case Filter(condition):
            return {"where": condition}
        case Deduplicate(keep, order_by):
            return {"deduplicate": [str(keep), order_by]}


def meaning(entity: Entity, read: str) -> str:
    """Return everything that affects the rows of an entity as JSON; `read` is its whole source.

    The location of slices and descriptions are not part of it.
    """
    reading, events = str(entity.settings.reading), str(entity.settings.events)
    document = {
        **({"reading": reading} if reading else {}),
        **({"events": events} if events else {}),
        "process": str(entity.process),
        "read": read,
        "scope": [entity.scope.column, entity.scope.literal] if entity.scope else None,
        "columns": [
            [c.name.lower(), c.final_name, c.type, sorted(c.roles), c.expression]
            for c in entity.columns
        ],
        "transformations": [_meaning_of_transformation(each) for each in entity.transformations],
        "watermark": [[w.column, w.operation, w.group, w.expression] for w in entity.watermark],
        "settings": _effective(entity),
    }
    return json.dumps(document, sort_keys=True, ensure_ascii=False)
