"""Read one entity from a document or a native file: keys, merged settings, places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

from penstock.core.entities.entity import (
    Bronze,
    Entity,
    FieldRole,
    ProcessType,
    RunText,
    Slices,
    WatermarkEntry,
    WholeFolder,
    WholeTable,
)
from penstock.core.entities.slices import Ordering
from penstock.core.names import TableName
from penstock.project.checks.phases import NONE, Phases, read_phases
from penstock.project.entities.columns import (
    Expressions,
    ReadColumns,
    check_volatile_keys,
    columns_of,
    is_plain_value,
    watermark_of,
)
from penstock.project.entities.environment import (
    ReadConnection,
    ReadEnvironment,
    prefix_under,
    timezone_under,
)
from penstock.project.entities.parts import Findings
from penstock.project.entities.places import EntityPlaces, filled
from penstock.project.entities.reading import ReadingRules, format_of
from penstock.project.entities.sections import (
    FULL_TABLE,
    PROCESSES,
    BronzeSection,
    EntitySection,
    NativeEntitySection,
    NativeSection,
)
from penstock.project.entities.settings import (
    OF_SLICES,
    PLACES,
    check_order_pattern,
    checked,
    entity_settings,
    idle,
    ordering_of,
    settings_under,
)
from penstock.project.entities.transformations import check_deduplicate, transformations_of
from penstock.project.files.discovery import check_name
from penstock.project.files.nodes import YamlNode
from penstock.project.files.sections import read_section
from penstock.project.files.values import did_you_mean, pairs_of
from penstock.project.settings.project import absolute

_OF_SLICES = ("pattern", *OF_SLICES[1:])


@dataclass(frozen=True, slots=True)
class EntityScene:
    """The common context of a project's entities."""

    root: FilePath
    environment: ReadEnvironment
    connections: Mapping[str, ReadConnection]
    catalog: str = ""
    schema_prefix: str = ""
    expressions: Expressions = field(default_factory=Expressions)


@dataclass(frozen=True, slots=True)
class ReadEntity:
    """An entity with its place in the file, and its checks as written."""

    entity: Entity
    part: YamlNode
    columns: ReadColumns
    checks: Phases = NONE


def document_entity(part: YamlNode, scene: EntityScene, findings: Findings) -> ReadEntity | None:
    """Read an entity of a document; None if a required part cannot be read."""
    section = read_section(EntitySection, part, "", findings)
    if not section.is_mapping:
        return None
    reading = _EntityReader(scene, section, section, PROCESSES.get(section.processtype))
    places = EntityPlaces(
        scene.environment,
        reading.settings,
        reading.names,
        part,
        findings,
        scene.catalog,
        section.secure,
    )
    bronze, silver = None, None
    if reading.names["connection"] and reading.names["entity"]:
        bronze, silver = places.bronze(), places.silver()
    reading.secure = section.secure
    return reading.read(bronze, silver)


def native_entity(whole: YamlNode, scene: EntityScene, findings: Findings) -> ReadEntity | None:
    """Read a native file; None if a required part cannot be read."""
    top = read_section(NativeSection, whole, "", findings)
    inner = top.entity
    if inner is None:
        return None
    process = ProcessType.FULL if top.strategy == FULL_TABLE else PROCESSES.get(top.strategy)
    reading = _EntityReader(scene, top, inner, process)
    for key in PLACES:
        if key in reading.settings.own:
            sentence = f"{key} has no effect: a native file says where its layers are"
            findings.warn(reading.settings.parts[key], "option-without-effect", sentence)
    if inner.timezone:
        reading.timezone = timezone_under(inner, "timezone")
    if inner.find("systemfield_prefix") is not None:
        reading.prefix = prefix_under(inner, "systemfield_prefix")
    table = reading.native_table(top.schema)
    bronze = None if inner.bronze is None else reading.native_bronze(inner.bronze)
    return reading.read(bronze, None if table is None else (table, ""))


class _EntityReader:
    """Reads one entity; `top` is the place of its name and description."""

    def __init__(
        self,
        scene: EntityScene,
        top: EntitySection | NativeSection,
        section: EntitySection | NativeEntitySection,
        process: ProcessType | None,
    ) -> None:
        self.scene, self.top, self.section = scene, top, section
        self.name, self.process = top.name, process
        self.findings, self.secure = section.findings, False
        facts = scene.environment.facts
        self.prefix, self.timezone = facts.prefix, facts.timezone
        self.connected = self._connected()
        own = checked(section.settings, self.findings)
        self.settings = settings_under(self.connected.settings if self.connected else {}, own)
        self.destination = (section.destination or self.name).lower()
        texts = {
            "connection": section.connection,
            "entity": self.name,
            "destination": self.destination,
        }
        self.names = {key: text.lower() for key, text in texts.items()} | self.settings.names

    def _connected(self) -> ReadConnection | None:
        connections = self.scene.connections
        connection = self.section.connection
        if not connection or connection in connections:
            return connections.get(connection)
        part = self.section.members["connection"]
        sentence = f'no connection is called "{connection}"'
        hint = did_you_mean(connection, connections) or "write it under connections"
        self.findings.report(part, "unknown-connection", sentence, hint)
        return None

    def native_table(self, schema: str) -> TableName | None:
        """Return the table that a native file names."""
        bad = False
        for what, key, word in (("schema", "schema", schema), ("table", "name", self.name)):
            part = self.top.find(key)
            found = check_name(what, word, part.where) if part is not None and word else None
            if found is not None and part is not None:
                bad = True
                self.findings.report(part, "bad-table-name", found.sentence, found.hint)
        return TableName(schema, self.name) if schema and self.name and not bad else None

    def native_bronze(self, section: BronzeSection) -> Bronze | None:
        """Return the bronze layer that a native file names."""
        parts = [part for key in ("path", "table") if (part := section.find(key)) is not None]
        if len(parts) != 1:
            code = "option-conflict" if parts else "missing-key"
            sentence = f"bronze has {'both path and table' if parts else 'no path and no table'}"
            self.findings.report(section.node, code, sentence, "write one of both")
            return None
        is_whole, is_table = section.read_ == "whole", parts[0].path[-1] != "path"
        ordering = _ordering(section)
        idle = ("read", *_OF_SLICES) if is_table else _OF_SLICES if is_whole else ()
        for key in idle:
            part = section.find(key)
            if part is not None:
                what = "a table" if is_table else "the folder"
                sentence = f"{key} has no effect: {what} is read whole"
                self.findings.warn(part, "option-without-effect", sentence)
        written = section.path or section.table
        found = filled(parts[0], written, self.names, self.findings) if written else None
        if found is None:
            return None
        if is_table:
            return WholeTable(found.text)
        text, template = found.text.text, found.text.template
        path = RunText(absolute(text, self.scene.root) if text else "", template)
        pattern = section.pattern or format_of(self.settings).pattern
        return WholeFolder(path) if is_whole else Slices(path, pattern, ordering)

    def read(
        self, bronze: Bronze | None, silver: tuple[TableName, str] | None
    ) -> ReadEntity | None:
        """Read all other parts."""
        section, expressions = self.section, self.scene.expressions
        transformations = transformations_of(section, expressions)
        columns = columns_of(section, expressions, transformations)
        check_deduplicate(section, transformations, columns)
        watermark = watermark_of(section, columns)
        check_volatile_keys(columns, [each.column for each in watermark], self.findings)
        checks = _checks(self.top)
        if self.process is not None:
            self._check_process(self.process, bronze, columns)
            self._check_inference(self.process, watermark)
        outline = self._outline()
        if bronze is not None:
            self._check_place(bronze)
        settings = outline.settings
        if self.process is not None:
            how = self.process, bronze, self.findings, section.node
            rules = ReadingRules(self.settings, columns, *how)
            reading, events = rules.reading(), rules.events(expressions)
            settings = replace(settings, reading=reading, events=events)
        if self.process is None or bronze is None or silver is None:
            return None
        entity = replace(
            outline,
            settings=settings,
            model=str(silver[0]),
            table=TableName(self.scene.schema_prefix + silver[0].schema, silver[0].table),
            path=silver[1],
            bronze=bronze,
            process=self.process,
            columns=tuple(columns.columns),
            watermark=watermark,
            transformations=transformations,
        )
        return ReadEntity(entity, section.node, columns, checks)

    def _outline(self) -> Entity:
        """Return an entity without its columns, layers and process."""
        section, top = self.section, self.top
        return Entity(
            name=self.name,
            model="",
            table=TableName("", ""),
            process=ProcessType.FULL,
            bronze=WholeTable(RunText("")),
            where=(top.find("name") or section.node).where,
            id=section.id,
            connection=section.connection,
            destination=self.destination,
            group=section.group.lower(),
            connection_group=section.connectiongroup.lower(),
            enabled=section.enabled and (self.connected is None or self.connected.enabled),
            secure=self.secure,
            prefix=self.prefix,
            timezone=self.timezone,
            settings=entity_settings(self.settings),
            names=self.names,
            description=top.description.strip(),
            tags=top.tags,
            meta=pairs_of(top.meta.plain) if top.meta else {},
        )

    def _check_place(self, bronze: Bronze) -> None:
        """Report a whole source whose path changes: a step needs one name with versions."""
        if not isinstance(bronze, Slices) and (
            moving := (bronze.path if isinstance(bronze, WholeFolder) else bronze.name).template
        ):
            sentence = f'"{moving}" asks for the day, but a source that is read whole has one path'
            hint = "take ${today} out, or read slices: their folder may move"
            self.findings.report(self.section.node, "volatile-source", sentence, hint)

    def _check_process(
        self, process: ProcessType, bronze: Bronze | None, columns: ReadColumns
    ) -> None:
        """Report missing settings of the process, and settings that it does not use."""
        settings, findings = self.settings, self.findings
        has_key = any(FieldRole.BUSINESS_KEY in each.roles for each in columns.columns)
        if process is not ProcessType.FULL and not has_key:
            sentence = f'"{self.name}" is {process} and has no business key'
            hint = 'name one: "fieldroles": ["businesskey"]'
            findings.report(self.section.node, "no-business-key", sentence, hint)
        for key, why in idle(process, bronze, settings.own):
            if key in settings.parts:
                sentence = f"{key} has no effect on {process}: {why}"
                findings.warn(settings.parts[key], "option-without-effect", sentence)

    def _check_inference(self, process: ProcessType, watermark: Sequence[WatermarkEntry]) -> None:
        """Warn if missing rows would never, or hardly ever, be detected."""
        if self.settings.plain.get("delete_missing") is not True:
            return
        part, warn = self.settings.parts["delete_missing"], self.findings.warn
        nothing = "nothing will ever be inferred"
        if process is ProcessType.FULL:
            sentence = f'"{self.name}" is full: {nothing}'
            warn(part, "delete-missing-on-full", sentence, "take delete_missing out")
            return
        if not watermark:
            sentence = f'"{self.name}" has no watermark: {nothing}'
            hint = "name a column that grows under watermark"
            warn(part, "delete-missing-without-watermark", sentence, hint)
        places = {each.node.where: each.node for each in self.section.watermark}
        for entry in watermark:
            if is_plain_value(entry):
                rest = "of the older rows only those at the previous maximum are in the window"
                sentence = f'the watermark of "{entry.column}" has no lookback: {rest}'
                hint = "for example '${minus_days(last_value, 7)}'"
                warn(places[entry.where], "last-value-without-lookback", sentence, hint)


def _ordering(bronze: BronzeSection) -> Ordering:
    """Read the order of slices from a native file."""
    before = len(bronze.findings)
    if bronze.order_pattern:
        check_order_pattern(bronze.members["order_pattern"], bronze.findings)
    is_wrong = any(each.is_error for each in bronze.findings[before:])
    parts = {key: part for key in OF_SLICES if (part := bronze.find(key)) is not None}
    if is_wrong or any(key in parts and not getattr(bronze, key) for key in OF_SLICES[1:]):
        return Ordering()
    return ordering_of(parts, bronze.findings)


def _checks(top: EntitySection | NativeSection) -> Phases:
    return NONE if top.checks is None else read_phases(top.checks, "checks", top.findings)
