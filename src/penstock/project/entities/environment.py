"""The environment and the connections that documents of entities share."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from penstock.core.entities.entity import EntityEnvironment
from penstock.project.entities.parts import Findings, Part, PartReader, open_part
from penstock.project.entities.settings import OUTPUTS, checked
from penstock.project.files.parsed import YamlFile
from penstock.project.files.values import Plain, did_you_mean, mapping_of
from penstock.project.settings.project import absolute

LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF")
DOCUMENT = ("environment", "connections", "entities")
_NEEDED = ("name", "root_folder", "timezone")
_OUTPUTS = ("output_method", "bronze_output", "silver_output")
_PATHS = ("bronze_path", "silver_path", "raw_path")
_IDLE = ("log_appender_type", "log_output")
_TEXTS = (*_NEEDED, *_PATHS, "secure_container_suffix", "systemfield_prefix", *_IDLE)
ENVIRONMENT = (*_TEXTS, *_OUTPUTS, "log_level")
CONNECTION = ("name", "enabled", "settings")
_LOGS = "delete it; read .penstock/logs/, where each run has a log, or run_results.json"
_PREFIX = re.compile(r"[A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ReadEnvironment:
    """The one environment of all documents; `words` are its outputs."""

    facts: EntityEnvironment
    reader: PartReader
    suffix: str = ""
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadConnection:
    """A connection with those of its settings that fit."""

    name: str
    where: Part
    enabled: bool = True
    settings: Mapping[str, Part] = field(default_factory=dict)


@dataclass(slots=True)
class Documents:
    """What all documents say together: their lists one after the other."""

    environment: dict[str, Part] = field(default_factory=dict)
    whole: Part | None = None
    connections: list[Part] = field(default_factory=list)
    entities: list[Part] = field(default_factory=list)


def read_documents(files: Iterable[Part], above: Sequence[Part], findings: Findings) -> Documents:
    """Put documents together; `above` are environments of penstock.yml, the strongest last."""
    found = Documents()
    decided = {key for each in above for key, part in each.members.items() if part.is_written}
    for whole in files:
        document = open_part(whole, findings)
        if document is None:
            continue
        document.check_keys(DOCUMENT)
        found.connections += document.items("connections")
        found.entities += document.items("entities")
        environment = document.inside("environment")
        if environment is not None:
            found.whole = found.whole or environment.whole
            environment.check_keys(ENVIRONMENT)
            for key, part in environment.members.items():
                first = found.environment.setdefault(key, part)
                if first.value != part.value and key not in decided:
                    sentence = f"{key} is another one here than at {first.where}"
                    hint = "keep one, or let entities.environment of penstock.yml decide"
                    findings.report(part, "conflicting-environment", sentence, hint)
        found.whole = found.whole or whole
    for each in above:
        PartReader(each, each.members, findings).check_keys(ENVIRONMENT)
        found.environment |= {k: p for k, p in each.members.items() if p.is_written}
    return found


def environment_of(
    documents: Documents, project: YamlFile, root: FilePath, findings: Findings
) -> ReadEnvironment:
    """Read the environment; what is wrong falls back to its default."""
    whole = documents.whole or Part(project, ("entities", "environment"), None)
    reader = PartReader(whole, documents.environment, findings)
    if documents.entities:
        reader.check_keys(ENVIRONMENT, _NEEDED)
    texts = {key: reader.text(key) for key in _TEXTS}
    level = reader.word("log_level", LOG_LEVELS)
    for key in (*_IDLE, *("log_level",) * bool(level)):
        part = reader.find(key)
        if part is not None:
            sentence = f"{key} has no effect: a step logs one line, its summary, at every level"
            findings.warn(part, "option-without-effect", sentence, _LOGS)
    folder = texts["root_folder"]
    facts = EntityEnvironment(
        name=texts["name"],
        root=absolute(folder, root).removesuffix("/") if folder else "",
        timezone=timezone_under(reader, "timezone") or "UTC",
        prefix=prefix_under(reader, "systemfield_prefix"),
        log_level=level or "WARN",
        log_appender_type=texts["log_appender_type"],
        log_output=texts["log_output"],
    )
    words = {key: reader.word(key, OUTPUTS) for key in _OUTPUTS}
    return ReadEnvironment(facts, reader, texts["secure_container_suffix"], words)


def timezone_under(reader: PartReader, key: str) -> str:
    """Read an IANA zone, "" where there is none."""
    part = reader.find(key)
    if part is None or not isinstance(part.value, str):
        return ""
    try:
        zoneinfo.ZoneInfo(part.value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = did_you_mean(part.value, zoneinfo.available_timezones())
        sentence = f'there is no timezone "{part.value}"'
        hint = near or "a name of the IANA database, such as Europe/Amsterdam"
        reader.findings.report(part, "unknown-timezone", sentence, hint)
        return ""
    return part.value


def prefix_under(reader: PartReader, key: str) -> str:
    """Read the prefix of system columns, "" where there is none or one that cannot be."""
    part = reader.find(key)
    if part is None or not isinstance(part.value, str):
        return ""
    if not _PREFIX.fullmatch(part.value):
        reader.findings.bad(part, "letters, digits and _")
        return ""
    if part.value.lower().startswith("sys_"):
        reader.findings.bad(part, "columns whose names begin with sys_ are left out of tables")
        return ""
    return part.value


def connections_of(documents: Documents, findings: Findings) -> dict[str, ReadConnection]:
    """Read the connections by their names."""
    found: dict[str, ReadConnection] = {}
    taken: dict[str, Part] = {}
    for item in documents.connections:
        reader = open_part(item, findings)
        if reader is None:
            continue
        reader.check_keys(CONNECTION, ("name",))
        name, enabled = reader.text("name"), reader.flag("enabled", default=True)
        settings = checked(reader.find("settings"), findings)
        first = taken.setdefault(name.lower(), item)
        if first is not item and name:
            sentence = f'connection "{name}" is here and at {first.where}'
            findings.report(item, "duplicate-connection", sentence, "keep one of them")
        elif name:
            found[name] = ReadConnection(name, item, enabled, settings)
    return found


def overrides(project: YamlFile, tree: Plain, target: str) -> Iterator[Part]:
    """Yield the environments of penstock.yml: that of all targets, then that of one."""
    document = mapping_of(tree)
    chosen = mapping_of(mapping_of(document.get("targets")).get(target))
    for path, holder in (((), document), (("targets", target), chosen)):
        environment = mapping_of(holder.get("entities")).get("environment")
        if isinstance(environment, Mapping):  # its shape was checked with the whole file
            yield Part(project, (*path, "entities", "environment"), environment)
