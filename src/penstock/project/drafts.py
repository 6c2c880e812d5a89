"""Model files with their settings, before their names are linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from penstock.core.findings import Finding, Location
from penstock.core.names import InputKind, InputName, TableName
from penstock.project.book import Named
from penstock.project.config import Config, merged
from penstock.project.files import check_name, model_name
from penstock.project.parsed import SqlFile
from penstock.project.settings import Settings, defaults_for
from penstock.project.sources import Entry
from penstock.project.values import Plain, is_true, mapping_of, texts_of


@dataclass(slots=True)
class Draft:
    """One model: its file, its settings, its table with and without the schema prefix."""

    name: str
    file: SqlFile
    config: Config
    table: TableName
    written: TableName
    columns: Plain = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def where(self) -> Location:
        """The file."""
        return Location(self.file.path)

    @property
    def stem(self) -> str:
        """The file's name without .sql, as ref() may write it."""
        return PurePosixPath(self.file.path).name.removesuffix(".sql")

    @property
    def enabled(self) -> bool:
        """Whether the model counts at all."""
        return is_true(self.config.settings.get("enabled", True))

    @property
    def named(self) -> Named:
        """What others call it."""
        return Named(InputName(InputKind.MODEL, self.name), self.table)


def draft(file: SqlFile, entry: Entry | None, settings: Settings) -> Draft:
    """Merge what is known of a model: its header, then YAML beside it, then defaults."""
    name = model_name(file.path)
    header_at = Location(file.path, file.config_line)
    layers = defaults_for(settings.defaults, file.path, settings.folders)
    own = dict.fromkeys(_keys(file.config), header_at)
    beside, columns = {}, None
    if entry:
        beside = _beside(entry.tree)
        columns = entry.tree.get("columns")
        config_at = entry.file.place(*entry.path, "config")
        own = {**dict.fromkeys(_keys(beside), config_at), **own}
    values = merged([*layers, beside, file.config])
    if "tags" in own:
        values["tags"] = list(
            dict.fromkeys((*texts_of(file.config.get("tags")), *texts_of(beside.get("tags"))))
        )
    config = Config(values, own, header_at)
    schema = config.text("schema") or _folder(file.path, settings)
    table = config.text("alias") or name
    result = Draft(
        name,
        file,
        config,
        TableName(settings.target.schema_prefix + schema, table),
        TableName(schema, table),
        columns if columns is not None else values.get("columns"),
    )
    for what, word in (("model", name), ("schema", schema), ("table", table)):
        bad = check_name(what, word, header_at if word != name else result.where)
        said_elsewhere = (what == "table" and word == name) or word == settings.name
        if bad and not said_elsewhere:
            result.findings.append(bad)
    return result


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


def _keys(layer: Mapping[str, Plain]) -> list[str]:
    return ["unique_key" if key == "primary_key" else key for key in layer]


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
            sentence = f"{item.name!r} is defined in {first.file.path} and {item.file.path}"
            hint = "model names are unique in the project, whatever the folder; rename one"
            findings.append(Finding(item.where, "duplicate-model", sentence, hint))
    return list(seen.values()), findings
