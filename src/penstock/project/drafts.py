"""Model files with their settings, before their names are linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from penstock.core.findings import Finding, Location
from penstock.core.names import InputKind, InputName, TableName
from penstock.project.book import Named
from penstock.project.checks.extracted import CHECK_KEYS
from penstock.project.config import Config, merged
from penstock.project.files import check_name, model_name
from penstock.project.header_keys import line_of
from penstock.project.lifted import lift
from penstock.project.parsed import SqlFile
from penstock.project.settings import Settings, defaults_for
from penstock.project.sources import Entry
from penstock.project.values import Path, Plain, is_true, mapping_of, texts_of

SNAPSHOTS = "snapshots"
_SYSTEM = "system_columns"


@dataclass(slots=True)
class Draft:
    """One model: its file, its settings, its table with and without the schema prefix.

    `stem` is another name by which ref() may call it: that of its file without .sql. `entry` is
    what a YAML file says of it.
    """

    name: str
    where: Location
    stem: str
    file: SqlFile
    config: Config
    table: TableName
    written: TableName
    columns: Plain = None
    entry: Entry | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def enabled(self) -> bool:
        """Whether the model counts at all."""
        return is_true(self.config.settings.get("enabled", True))

    @property
    def named(self) -> Named:
        """What others call it."""
        return Named(InputName(InputKind.MODEL, self.name), self.table)

    @property
    def place(self) -> str:
        """Where it is defined, for sentences: a file, or a line of a YAML file."""
        is_file = self.where == Location(self.file.path)
        return self.file.path if is_file else str(self.where)


@dataclass(frozen=True, slots=True)
class _Origin:
    name: str
    where: Location
    stem: str
    file: SqlFile


def draft(file: SqlFile, entry: Entry | None, settings: Settings) -> Draft:
    """Merge what is known of a SQL file: its header, then YAML beside it, then defaults."""
    stem = PurePosixPath(file.path).name.removesuffix(".sql")
    origin = _Origin(model_name(file.path), Location(file.path), stem, file)
    return _drafted(origin, entry, settings)


def entry_draft(file: SqlFile, entry: Entry, settings: Settings) -> Draft:
    """Do the same for an entry of `snapshots:`, whose query is `file`: it is a snapshot."""
    where = Location(entry.file.path, entry.where.line)
    return _drafted(_Origin(entry.name, where, entry.name, file), entry, settings)


def _drafted(origin: _Origin, entry: Entry | None, settings: Settings) -> Draft:
    file, name = origin.file, origin.name
    config = _config(origin, entry, settings)
    schema = config.text("schema") or _folder(file.path, settings)
    table = config.text("alias") or name
    columns = entry.tree.get("columns") if entry else None
    result = Draft(
        name,
        origin.where,
        origin.stem,
        file,
        config,
        TableName(settings.target.schema_prefix + schema, table),
        TableName(schema, table),
        columns if columns is not None else config.settings.get("columns"),
        entry,
    )
    for what, word in (("model", name), ("schema", schema), ("table", table)):
        bad = check_name(what, word, config.where if word != name else result.where)
        said_elsewhere = (what == "table" and word == name) or word == settings.name
        if bad and not said_elsewhere:
            result.findings.append(bad)
    return result


def _config(origin: _Origin, entry: Entry | None, settings: Settings) -> Config:
    file = origin.file
    header_at = Location(file.path, file.config_line)

    def header_place(path: Path) -> Location:
        return Location(file.path, line_of(file.key_lines, path, file.config_line))

    def beside_place(path: Path) -> Location:
        return entry.file.key_place(*entry.path, "config", *path) if entry else header_at

    layers = defaults_for(settings.defaults, file.path, settings.folders)
    lowest = [lift(layer, lambda _: header_at).values for layer in layers]
    beside = lift(_beside(entry.tree) if entry else {}, beside_place)
    said = {key: value for key, value in file.config.items() if key not in CHECK_KEYS}
    header = lift(said, header_place)
    values = merged([*lowest, beside.values, header.values])
    own = {**beside.places, **header.places}
    if "tags" in own:
        both = (*texts_of(header.values.get("tags")), *texts_of(beside.values.get("tags")))
        values["tags"] = list(dict.fromkeys(both))
    if entry and entry.path[0] == SNAPSHOTS:
        values["materialized"] = "snapshot"
    if values.get("materialized") == "snapshot":
        columns = merged([{_SYSTEM: settings.system_columns}, values])[_SYSTEM]
        values |= {_SYSTEM: columns} if columns else {}
    where = header_at if file.config or not entry else beside_place(())
    return Config(values, own, where, origin.name, [*beside.findings, *header.findings])


def _beside(tree: Mapping[str, Plain]) -> dict[str, Plain]:
    config = dict(mapping_of(tree.get("config")))
    if tree.get("description"):
        config.setdefault("description", tree["description"])
    tags = (*texts_of(tree.get("tags")), *texts_of(config.get("tags")))
    if tags:
        config["tags"] = list(tags)
    if tree.get("meta"):
        config["meta"] = {**mapping_of(config.get("meta")), **mapping_of(tree["meta"])}
    return config


def _folder(path: str, settings: Settings) -> str:
    parent = PurePosixPath(path).parent
    return settings.name if str(parent) in settings.folders else parent.name


def without_duplicates(drafts: Sequence[Draft]) -> tuple[list[Draft], list[Finding]]:
    """Leave out models whose name is taken; the finding names both places."""
    seen: dict[str, Draft] = {}
    findings = []
    for item in drafts:
        first = seen.setdefault(item.name.lower(), item)
        if first is not item:
            sentence = f"{item.name!r} is defined in {first.place} and {item.place}"
            hint = "model names are unique in the project, whatever the folder; rename one"
            findings.append(Finding(item.where, "duplicate-model", sentence, hint))
    return list(seen.values()), findings
