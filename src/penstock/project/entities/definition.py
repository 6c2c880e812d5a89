"""One entity, out of a document or a native file: keys read, settings merged, places found."""

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
from penstock.core.entities.slices import Ordering, SliceOrder
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
from penstock.project.entities.parts import Findings, Part, PartReader, open_part
from penstock.project.entities.places import EVERY_FILE, EntityPlaces, filled
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
from penstock.project.files.nodes import node_of
from penstock.project.files.values import did_you_mean, pairs_of
from penstock.project.settings.project import absolute

PROCESSES: Mapping[str, ProcessType] = {
    "full": ProcessType.FULL,
    "merge": ProcessType.MERGE,
    "delta": ProcessType.MERGE,
    "historic": ProcessType.HISTORIC,
}
"""What `processtype` may say."""
_TABLE = "table"  # what a native file may call full
NATIVE_WORDS = (*PROCESSES, _TABLE)
_SAID = ("description", "tags", "meta", "checks")
_BOTH = ("id", "connection", "destination", "group", "connectiongroup", "enabled")
_LISTS = ("columns", "watermark", "transformations", "settings")
ENTITY = ("name", "processtype", "secure", *_BOTH, *_LISTS, *_SAID)
NATIVE = ("name", "schema", "strategy", "entity", *_SAID)
NATIVE_ENTITY = ("systemfield_prefix", "timezone", "bronze", *_BOTH, *_LISTS)
_OF_SLICES = ("pattern", *OF_SLICES[1:])
BRONZE = ("path", "table", "read", *_OF_SLICES)


@dataclass(frozen=True, slots=True)
class EntityScene:
    """What the entities of a project share."""

    root: FilePath
    environment: ReadEnvironment
    connections: Mapping[str, ReadConnection]
    catalog: str = ""
    schema_prefix: str = ""
    expressions: Expressions = field(default_factory=Expressions)


@dataclass(frozen=True, slots=True)
class ReadEntity:
    """An entity with its place in the file, and its checks as they are written."""

    entity: Entity
    part: Part
    columns: ReadColumns
    checks: Phases = NONE


def document_entity(part: Part, scene: EntityScene, findings: Findings) -> ReadEntity | None:
    """Read an entity of a document; None where something that it must say cannot be read."""
    reader = open_part(part, findings)
    if reader is None:
        return None
    reader.check_keys(ENTITY, ("id", "name", "connection", "processtype"))
    process = PROCESSES.get(reader.word("processtype", tuple(PROCESSES)))
    reading = _EntityReader(scene, reader, reader, reader.text("name"), process)
    secure, environment = reader.flag("secure"), scene.environment
    places = EntityPlaces(
        environment, reading.settings, reading.names, part, findings, scene.catalog, secure
    )
    bronze, silver = None, None
    if reading.names["connection"] and reading.names["entity"]:
        bronze, silver = places.bronze(), places.silver()
    reading.secure = secure
    return reading.placed(bronze, silver)


def native_entity(whole: Part, scene: EntityScene, findings: Findings) -> ReadEntity | None:
    """Read a native file; None where something that it must say cannot be read."""
    top = open_part(whole, findings)
    inside = top.inside("entity") if top is not None else None
    if top is None or inside is None:
        return None
    top.check_keys(NATIVE, ("name", "schema", "strategy"))
    inside.check_keys(NATIVE_ENTITY, ("bronze",))
    word = top.word("strategy", NATIVE_WORDS)
    process = ProcessType.FULL if word == _TABLE else PROCESSES.get(word)
    reading = _EntityReader(scene, top, inside, top.text("name"), process)
    for key in PLACES:
        if key in reading.settings.own:
            sentence = f"{key} has no effect: a native file says where its layers are"
            findings.warn(reading.settings.parts[key], "option-without-effect", sentence)
    if inside.text("timezone"):
        reading.timezone = timezone_under(inside, "timezone")
    if inside.find("systemfield_prefix") is not None:
        inside.text("systemfield_prefix")
        reading.prefix = prefix_under(inside, "systemfield_prefix")
    table = reading.native_table()
    return reading.placed(reading.native_bronze(), None if table is None else (table, ""))


class _EntityReader:
    """One entity while it is read; `said` is where its name and description stand."""

    def __init__(
        self,
        scene: EntityScene,
        said: PartReader,
        reader: PartReader,
        name: str,
        process: ProcessType | None,
    ) -> None:
        self.scene, self.said, self.reader = scene, said, reader
        self.name, self.process = name, process
        self.findings, self.secure = reader.findings, False
        self.prefix, self.timezone = (
            scene.environment.facts.prefix,
            scene.environment.facts.timezone,
        )
        self.connection = reader.text("connection")
        self.connected = self._connected()
        own = checked(reader.find("settings"), self.findings)
        self.settings = settings_under(self.connected.settings if self.connected else {}, own)
        self.destination = (reader.text("destination") or name).lower()
        texts = {"connection": self.connection, "entity": name, "destination": self.destination}
        self.names = {key: text.lower() for key, text in texts.items()} | self.settings.names

    def _connected(self) -> ReadConnection | None:
        known = self.scene.connections
        if not self.connection or self.connection in known:
            return known.get(self.connection)
        part = self.reader.members["connection"]
        sentence = f'no connection is called "{self.connection}"'
        hint = did_you_mean(self.connection, known) or "write it under connections"
        self.findings.report(part, "unknown-connection", sentence, hint)
        return None

    def native_table(self) -> TableName | None:
        """Return the table that a native file names."""
        schema = self.said.text("schema")
        bad = False
        for what, key, word in (("schema", "schema", schema), ("table", "name", self.name)):
            part = self.said.find(key)
            found = check_name(what, word, part.where) if part is not None and word else None
            if found is not None and part is not None:
                bad = True
                self.findings.report(part, "bad-table-name", found.sentence, found.hint)
        return TableName(schema, self.name) if schema and self.name and not bad else None

    def native_bronze(self) -> Bronze | None:
        """Return the bronze layer that a native file names."""
        reader = self.reader.inside("bronze")
        if reader is None:
            return None
        reader.check_keys(BRONZE)
        given = [part for key in ("path", "table") if (part := reader.find(key)) is not None]
        if len(given) != 1:
            code = "option-conflict" if given else "missing-key"
            sentence = f"bronze has {'both path and table' if given else 'no path and no table'}"
            self.findings.report(reader.whole, code, sentence, "write one of both")
            return None
        is_whole = reader.word("read", ("slices", "whole"), "slices") == "whole"
        pattern = reader.text("pattern")
        named = reader.find("table")
        ordering = _ordering(reader)
        idle = ("read", *_OF_SLICES) if named is not None else _OF_SLICES if is_whole else ()
        for key in idle:
            part = reader.find(key)
            if part is not None:
                what = "a table" if named is not None else "the folder"
                sentence = f"{key} has no effect: {what} is read whole"
                self.findings.warn(part, "option-without-effect", sentence)
        written = reader.text(str(given[0].path[-1]))
        found = filled(given[0], written, self.names, self.findings) if written else None
        if found is None:
            return None
        if named is not None:
            return WholeTable(found.text)
        text, template = found.text.text, found.text.template
        path = RunText(absolute(text, self.scene.root) if text else "", template)
        return WholeFolder(path) if is_whole else Slices(path, pattern or EVERY_FILE, ordering)

    def placed(
        self, bronze: Bronze | None, silver: tuple[TableName, str] | None
    ) -> ReadEntity | None:
        """Read everything else."""
        reader, known = self.reader, self.scene.expressions
        transformations = transformations_of(reader, known)
        columns = columns_of(reader, known, transformations)
        check_deduplicate(reader, transformations, columns)
        watermark = watermark_of(reader, columns)
        check_volatile_keys(columns, [each.column for each in watermark], self.findings)
        checks = _checks(self.said)
        if self.process is not None:
            self._check_process(self.process, bronze, columns)
            self._check_inference(self.process, watermark)
        said = self._said()
        if bronze is not None:
            self._check_place(bronze)
        if self.process is None or bronze is None or silver is None:
            return None
        entity = replace(
            said,
            model=str(silver[0]),
            table=TableName(self.scene.schema_prefix + silver[0].schema, silver[0].table),
            path=silver[1],
            bronze=bronze,
            process=self.process,
            columns=tuple(columns.columns),
            watermark=watermark,
            transformations=transformations,
        )
        return ReadEntity(entity, reader.whole, columns, checks)

    def _said(self) -> Entity:
        """Return what an entity says beside its columns; its layers and its process are not yet."""
        reader, said = self.reader, self.said
        meta, is_on = said.inside("meta"), reader.flag("enabled", default=True)
        return Entity(
            name=self.name,
            model="",
            table=TableName("", ""),
            process=ProcessType.FULL,
            bronze=WholeTable(RunText("")),
            where=(said.find("name") or reader.whole).where,
            id=reader.number("id"),
            connection=self.connection,
            destination=self.destination,
            group=reader.text("group").lower(),
            connection_group=reader.text("connectiongroup").lower(),
            enabled=is_on and (self.connected is None or self.connected.enabled),
            secure=self.secure,
            prefix=self.prefix,
            timezone=self.timezone,
            settings=entity_settings(self.settings),
            names=self.names,
            description=said.text("description").strip(),
            tags=said.texts("tags"),
            meta=pairs_of(meta.whole.value) if meta else {},
        )

    def _check_place(self, bronze: Bronze) -> None:
        """Report a whole source that moves: what a step reads has one name and its versions."""
        if not isinstance(bronze, Slices) and (
            moving := (bronze.path if isinstance(bronze, WholeFolder) else bronze.name).template
        ):
            sentence = f'"{moving}" asks for the day, and what is read whole lies in one place'
            hint = "take ${today} out, or read slices: their folder may move"
            self.findings.report(self.reader.whole, "volatile-source", sentence, hint)

    def _check_process(
        self, process: ProcessType, bronze: Bronze | None, columns: ReadColumns
    ) -> None:
        """Report what the process lacks, and settings that it has no use for."""
        settings, findings = self.settings, self.findings
        has_key = any(FieldRole.BUSINESS_KEY in each.roles for each in columns.columns)
        if process is not ProcessType.FULL and not has_key:
            sentence = f'"{self.name}" is {process} and has no business key'
            hint = 'name one: "fieldroles": ["businesskey"]'
            findings.report(self.reader.whole, "no-business-key", sentence, hint)
        for key, why in idle(process, bronze, settings.own):
            if key in settings.parts:
                sentence = f"{key} has no effect on {process}: {why}"
                findings.warn(settings.parts[key], "option-without-effect", sentence)

    def _check_inference(self, process: ProcessType, watermark: Sequence[WatermarkEntry]) -> None:
        """Warn where rows that are gone would never be found, or hardly any."""
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
        places = {each.where: each for each in self.reader.items("watermark")}
        for entry in watermark:
            if is_plain_value(entry):
                rest = "of the older rows only those at the previous maximum are in the window"
                sentence = f'the watermark of "{entry.column}" has no lookback: {rest}'
                hint = "for example '${minus_days(last_value, 7)}'"
                warn(places[entry.where], "last-value-without-lookback", sentence, hint)


def _ordering(bronze: PartReader) -> Ordering:
    """Read the order of slices from a native file."""
    before = len(bronze.findings.found)
    bronze.word("order", tuple(SliceOrder))
    if bronze.text("order_pattern"):
        check_order_pattern(bronze.members["order_pattern"], bronze.findings)
    if any(each.is_error for each in bronze.findings.found[before:]):
        return Ordering()
    parts = {key: part for key in OF_SLICES if (part := bronze.find(key)) is not None}
    return ordering_of(parts, bronze.findings)


def _checks(said: PartReader) -> Phases:
    part = said.find("checks")
    if part is None:
        return NONE
    node = node_of(part.value, part.file.spot, part.path)
    return read_phases(node, "checks", said.findings.found)
