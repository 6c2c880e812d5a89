"""The environment and the connections of entity documents."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from penstock.core.entities.entity import EntityEnvironment
from penstock.project.entities.parts import ExactSection, Findings
from penstock.project.entities.sections import (
    ConnectionSection,
    DocumentSection,
    EnvironmentSection,
)
from penstock.project.entities.settings import checked
from penstock.project.files.nodes import YamlNode, file_node, take_members
from penstock.project.files.parsed import YamlFile
from penstock.project.files.sections import fill_section, read_section
from penstock.project.files.values import Plain, did_you_mean, mapping_of
from penstock.project.settings.project import absolute

_NEEDED = ("name", "root_folder", "timezone")
_IDLE = ("log_appender_type", "log_output", "log_level")
_LOGS = "delete it; read .penstock/logs/, where each run has a log, or run_results.json"
_PREFIX = re.compile(r"[A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ReadEnvironment:
    """The one environment of all documents."""

    facts: EntityEnvironment
    section: EnvironmentSection


@dataclass(frozen=True, slots=True)
class ReadConnection:
    """A connection with its valid settings."""

    name: str
    where: YamlNode
    enabled: bool = True
    settings: Mapping[str, YamlNode] = field(default_factory=dict)


@dataclass(slots=True)
class Documents:
    """The combined content of all documents: their lists, concatenated."""

    environment: dict[str, YamlNode] = field(default_factory=dict)
    whole: YamlNode | None = None
    connections: list[YamlNode] = field(default_factory=list)
    entities: list[YamlNode] = field(default_factory=list)


def read_documents(
    files: Iterable[YamlNode], above: Sequence[YamlNode], findings: Findings
) -> Documents:
    """Combine documents; `above` are environments of penstock.yml, the strongest last."""
    found = Documents()
    decided = {key for each in above for key, part in each.members.items() if not part.is_absent}
    for whole in files:
        document = read_section(DocumentSection, whole, "", findings)
        if not document.is_mapping:
            continue
        found.connections += document.connections
        found.entities += document.entities
        if document.environment is not None:
            found.whole = found.whole or document.environment
            for key, part in _checked(document.environment, findings).items():
                first = found.environment.setdefault(key, part)
                if first.plain != part.plain and key not in decided:
                    sentence = f"{key} is another one here than at {first.where}"
                    hint = "keep one, or let entities.environment of penstock.yml decide"
                    findings.report(part, "conflicting-environment", sentence, hint)
        found.whole = found.whole or whole
    for each in above:
        found.environment |= {k: p for k, p in _checked(each, findings).items() if not p.is_absent}
    return found


def _checked(environment: YamlNode, findings: Findings) -> Mapping[str, YamlNode]:
    """Return the values of an environment; report unknown keys."""
    section = EnvironmentSection(environment, "", findings)
    take_members(section, section.key_set)
    return environment.members


def environment_of(
    documents: Documents, project: YamlFile, root: FilePath, findings: Findings
) -> ReadEnvironment:
    """Read the environment; invalid values fall back to their defaults."""
    whole = documents.whole or file_node(project, None, ("entities", "environment"))
    section = EnvironmentSection(whole, "", findings, documents.environment)
    fill_section(section, _NEEDED if documents.entities else ())
    for key in _IDLE:
        if getattr(section, key):
            sentence = f"{key} has no effect: a step logs one line, its summary, at every level"
            findings.warn(section.members[key], "option-without-effect", sentence, _LOGS)
    folder = section.root_folder
    facts = EntityEnvironment(
        name=section.name,
        root=absolute(folder, root).removesuffix("/") if folder else "",
        timezone=timezone_under(section, "timezone") or "UTC",
        prefix=prefix_under(section, "systemfield_prefix"),
        log_level=section.log_level or "WARN",
        log_appender_type=section.log_appender_type,
        log_output=section.log_output,
    )
    return ReadEnvironment(facts, section)


def timezone_under(section: ExactSection, key: str) -> str:
    """Read an IANA zone, "" if there is none."""
    part = section.find(key)
    if part is None or not isinstance(part.value, str):
        return ""
    try:
        zoneinfo.ZoneInfo(part.value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = did_you_mean(part.value, zoneinfo.available_timezones())
        sentence = f'there is no timezone "{part.value}"'
        hint = near or "a name of the IANA database, such as Europe/Amsterdam"
        section.findings.report(part, "unknown-timezone", sentence, hint)
        return ""
    return part.value


def prefix_under(section: ExactSection, key: str) -> str:
    """Read the prefix of system columns, "" if it is missing or invalid."""
    part = section.find(key)
    if part is None or not isinstance(part.value, str):
        return ""
    if not _PREFIX.fullmatch(part.value):
        section.findings.bad(part, "letters, digits and _")
        return ""
    if part.value.lower().startswith("sys_"):
        section.findings.bad(part, "columns whose names begin with sys_ are left out of tables")
        return ""
    return part.value


def connections_of(documents: Documents, findings: Findings) -> dict[str, ReadConnection]:
    """Read the connections by their names."""
    found: dict[str, ReadConnection] = {}
    taken: dict[str, YamlNode] = {}
    for item in documents.connections:
        section = read_section(ConnectionSection, item, "", findings)
        if not section.is_mapping:
            continue
        name, settings = section.name, checked(section.settings, findings)
        first = taken.setdefault(name.lower(), item)
        if first is not item and name:
            sentence = f'connection "{name}" is here and at {first.where}'
            findings.report(item, "duplicate-connection", sentence, "keep one of them")
        elif name:
            found[name] = ReadConnection(name, item, section.enabled, settings)
    return found


def overrides(project: YamlFile, tree: Plain, target: str) -> Iterator[YamlNode]:
    """Yield the environments of penstock.yml: that of all targets, then that of one."""
    document = mapping_of(tree)
    chosen = mapping_of(mapping_of(document.get("targets")).get(target))
    for path, holder in (((), document), (("targets", target), chosen)):
        environment = mapping_of(holder.get("entities")).get("environment")
        if isinstance(environment, Mapping):  # its shape was checked with the whole file
            yield file_node(project, environment, (*path, "entities", "environment"))
