"""The places of an entity's layers: render templates, check folders and table names."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import (
    Bronze,
    Entity,
    RunText,
    Slices,
    WholeFolder,
    WholeTable,
    normalised,
)
from penstock.core.entities.slices import BronzeFolder
from penstock.core.masking import is_secret_key
from penstock.core.names import TableName
from penstock.project.entities.environment import ReadEnvironment
from penstock.project.entities.parts import Findings
from penstock.project.entities.reading import format_of
from penstock.project.entities.settings import OF_SLICES, MergedSettings
from penstock.project.entities.template_functions import BadExpressionError
from penstock.project.entities.templates import EntityTemplate, parse_template, path_scope
from penstock.project.files.nodes import YamlNode

_SOME_DAY = TypedValue("DATE", "2000-01-01")
_DAY = "today"
_PART = re.compile(r"[a-z0-9_]+")
_MOST_PARTS = 3


@dataclass(frozen=True, slots=True)
class FilledTemplate:
    """A parsed template: its value for a run, and an example for some day."""

    text: RunText
    sample: str

    @property
    def moves(self) -> bool:
        """Whether its value differs on another day."""
        return bool(self.text.template)


@dataclass(frozen=True, slots=True)
class EntityPlaces:
    """Determines the layers of one entity; `names` are the values for its templates.

    `catalog` is that of the target, "" without one. An error is a finding, and the result is None.
    """

    environment: ReadEnvironment
    settings: MergedSettings
    names: Mapping[str, str]
    whole: YamlNode
    findings: Findings
    catalog: str = ""
    secure: bool = False

    def bronze(self) -> Bronze | None:
        """Return the bronze layer."""
        is_table, part = self._layer("bronze")
        is_whole = self.settings.text("bronze_read").lower() == "whole"
        if is_table:
            self._check_slices("a table is read whole", ("bronze_read", *OF_SLICES))
            return self._bronze_table(part)
        path = self._path("bronze", part) if part is not None else None
        if is_whole:
            self._check_slices("the folder is read whole", OF_SLICES)
        if path is None:
            return None
        pattern = self.settings.text("slice_pattern") or format_of(self.settings).pattern
        ordering = self.settings.ordering(self.findings)
        return WholeFolder(path) if is_whole else Slices(path, pattern, ordering)

    def silver(self) -> tuple[TableName, str] | None:
        """Return the silver table, and its folder if it is outside the warehouse."""
        is_table, part = self._layer("silver")
        path = RunText("")
        if not is_table:
            found = self._path("silver", part) if part is not None else None
            if found is None:
                return None
            path = found
        table = self._silver_table()
        return None if table is None else (table, str(path))

    def _layer(self, layer: str) -> tuple[bool, YamlNode | None]:
        """Return whether a layer is a table or a path, and the part that defines it."""
        parts, environment = self.settings.parts, self.environment
        for what in ("table", "path"):
            if f"{layer}_{what}" in parts:
                return what != "path", parts[f"{layer}_{what}"]
        words = (f"{layer}_output", "output_method")
        said = [self.settings.text(word) for word in words]
        said += [getattr(environment.section, word) for word in words]
        if next(filter(None, said), "paths").lower() == "catalog":
            return True, None
        part = environment.section.find(f"{layer}_path")
        if part is None:
            sentence = f"'{layer}_path' is missing, and \"{self.names['entity']}\" has no other"
            hint = f"write it in environment, or {layer}_table or {layer}_path in settings"
            self.findings.report(environment.section.node, "missing-key", sentence, hint)
        return False, part

    def _check_slices(self, why: str, keys: tuple[str, ...]) -> None:
        for key in keys:
            if key in self.settings.own and self.settings.text(key).lower() != "whole":
                sentence = f"{key} has no effect: {why}"
                self.findings.warn(self.settings.parts[key], "option-without-effect", sentence)

    def _bronze_table(self, part: YamlNode | None) -> WholeTable | None:
        if part is None:
            return WholeTable(RunText(f"bronze_{self.names['connection']}.{self.names['entity']}"))
        found = self._filled(part)
        if found is None:
            return None
        parts = found.sample.split(".")
        if not all(parts) or len(parts) > _MOST_PARTS:
            self._bad_name(part, found.sample, "schema.table, or catalog.schema.table")
            return None
        return WholeTable(found.text)

    def _silver_table(self) -> TableName | None:
        part = self.settings.parts.get("silver_table")
        if part is None:
            connection, destination = self.names["connection"], self.names["destination"]
            return self._table_name(self.whole, [f"silver_{connection}", destination])
        found = self._filled(part)
        if found is None or self._moves(found, part):
            return None
        return self._table_name(part, found.sample.lower().split("."))

    def _table_name(self, part: YamlNode, written: list[str]) -> TableName | None:
        parts = [normalised(each.lower()) for each in written]
        written_name, hint = ".".join(written), "each part of letters, digits and _: schema.table"
        if not all(_PART.fullmatch(each) for each in parts):
            self._bad_name(part, written_name, hint)
            return None
        if len(parts) == _MOST_PARTS and parts[0] == self.catalog.lower():
            parts = parts[1:]
        elif len(parts) == 1:
            parts = ["default", *parts]
        if len(parts) != 2:  # noqa: PLR2004  schema and table
            said = f", {self.catalog} in front of it or not" if self.catalog else ""
            self._bad_name(part, written_name, f"write schema.table{said}")
            return None
        return TableName(*parts)

    def _bad_name(self, part: YamlNode, name: str, hint: str) -> None:
        self.findings.report(
            part, "bad-table-name", f'"{_safe_text(part, name)}" names no table', hint
        )

    def _path(self, layer: str, part: YamlNode) -> RunText | None:
        found = self._filled(part)
        if found is None or (layer == "silver" and self._moves(found, part)):
            return None
        if self._is_unsafe(found.sample.removeprefix("/").removesuffix("/"), part):
            return None
        suffix = self.environment.section.secure_container_suffix if self.secure else ""
        folder = f"{self.environment.facts.root}/{layer}{suffix}"
        text, template = (each.removesuffix("/") for each in (found.text.text, found.text.template))
        if template:
            return RunText(folder, "/" + template.removeprefix("/"))
        return RunText(f"{folder}/{text.removeprefix('/')}")

    def _is_unsafe(self, path: str, part: YamlNode) -> bool:
        """Report a path that leaves its folder."""
        segments = path.split("/")
        odd = next((each for each in segments if each in ("", ".", "..")), None)
        if odd is None:
            return False
        what = f'the segment "{odd}"' if odd else "an empty segment"
        sentence = f'"{_safe_text(part, path)}" has {what}'
        hint = "no value of a template may be empty, absolute or hold .."
        self.findings.report(part, "unsafe-path", sentence, hint)
        return True

    def _moves(self, template: FilledTemplate, part: YamlNode) -> bool:
        if template.moves:
            sentence = f'"{part.value}" asks for the day: the table would move every day'
            hint = "take ${today} out; bronze may have it"
            self.findings.report(part, "volatile-target", sentence, hint)
        return template.moves

    def _filled(self, part: YamlNode) -> FilledTemplate | None:
        return filled(part, str(part.value), self.names, self.findings)


def _safe_text(part: YamlNode, text: str) -> str:
    """Return the value of a template for display; with a secret, the template itself."""
    written = part.value
    return written if isinstance(written, str) and is_secret_key(written) else text


def filled(
    part: YamlNode, written: str, names: Mapping[str, str], findings: Findings
) -> FilledTemplate | None:
    """Render a template as far as loading can; None with a finding."""
    values = {name: TypedValue("STRING", value) for name, value in names.items()}
    try:
        template: EntityTemplate = parse_template(written)
        template.check(path_scope(dict.fromkeys(names, "STRING")))
        sample = template.render({**values, _DAY: _SOME_DAY})
    except BadExpressionError as error:
        findings.report(part, "bad-expression", error.sentence, error.hint)
        return None
    moves = _DAY in template.names()
    return FilledTemplate(RunText("", written) if moves else RunText(sample), sample)


def place_on(place: RunText, names: Mapping[str, str], moment: dt.datetime, zone: str) -> str:
    """Return a place's name on the day of a time, in a time zone."""
    from zoneinfo import ZoneInfo  # it is looked for on disk

    if not place.template:
        return place.text
    day = moment.astimezone(ZoneInfo(zone)).date().isoformat()
    values = {name: TypedValue("STRING", value) for name, value in names.items()}
    values["today"] = TypedValue.parse("DATE", day)
    return place.text + parse_template(place.template).render(values)


def bronze_folder(entity: Entity, run_timestamp: dt.datetime) -> BronzeFolder | None:
    """Return the folder of slices for a run; None if the source is read whole."""
    if not isinstance(entity.bronze, Slices):
        return None
    path = place_on(entity.bronze.path, entity.names, run_timestamp, entity.timezone)
    bronze, settings = entity.bronze, entity.settings
    endings, needs_success = settings.reading.format.endings, settings.require_success
    return BronzeFolder(path, bronze.pattern, entity.where, needs_success, bronze.ordering, endings)
