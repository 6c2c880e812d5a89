"""One session file, read into a package: its options, its tables, and everything wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from penstock.core.findings import Finding, Location, Severity
from penstock.core.sessions.package import (
    SessionOptions,
    SessionPackage,
    SessionSchemas,
    SessionTable,
    SessionUser,
    session_models,
    unresolved,
)
from penstock.project.files.discovery import check_name
from penstock.project.files.nodes import Section, YamlNode, open_section
from penstock.project.files.parsed import PACKAGE
from penstock.project.sessions.aliases import aliased, unknown_variables
from penstock.project.sessions.keys import FILE, OPTIONS, OptionReader, WrittenSql

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_COMPAT: Mapping[str, object] = {
    "strict_seed_limits": True,
    "skip_unchanged": False,
    "user_of_session": SessionUser.FIRST_RUN,
}
"""What `compat: snowplow` says where the file does not."""
_HORIZON = (
    "session_lookback_days",
    "backfill_limit_days",
    "max_session_days",
    "lookback_window_hours",
)


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A package whose events are not looked up yet: `events` is what the file writes.

    `sql` are all its expressions, `checks` what stands under `checks`.
    """

    package: SessionPackage
    events: str
    events_at: Location
    sql: tuple[WrittenSql, ...] = ()
    checks: Mapping[str, YamlNode] = field(default_factory=dict)
    description: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionScene:
    """What the packages of a project share: variables, and the schema of those that name none.

    `asked` are the variables of the command.
    """

    schema: str
    schema_prefix: str = ""
    vars: Mapping[str, YamlNode] = field(default_factory=dict)
    asked: Mapping[str, YamlNode] = field(default_factory=dict)


def read_package(
    node: YamlNode, scene: SessionScene, findings: list[Finding]
) -> SessionFile | None:
    """Read a file; None where it has no name. Its options are the usual ones where it is wrong."""
    section = open_section(node, FILE, "", findings)
    section.word("strategy", [PACKAGE])
    name = section.text("name")
    if name and not _NAME.fullmatch(name):
        section.bad("name", "at most 40 of a-z, 0-9 and _, and begin with a letter")
        name = ""
    _take_variables(section, scene)
    sql: list[WrittenSql] = []
    options = _options(section, sql)
    _check(section, options)
    if not name:
        return None
    schemas = _schemas(section, scene)
    package = SessionPackage(
        name=name,
        events=unresolved(section.text("events")),
        options=options,
        models=session_models(name, schemas, options),
        manifest_schema=schemas.manifest,
        where=section.place("name"),
        places={key: member.key for key, member in section.members.items()},
    )
    checks = section.find("checks")
    if checks is not None and not isinstance(checks.value, Mapping):
        section.bad("checks", "a mapping of tables to checks")
    return SessionFile(
        package=package,
        events=package.events.name,
        events_at=section.place("events"),
        sql=tuple(sql),
        checks=checks.members if checks is not None else {},
        description=section.text("description").strip(),
        tags=tuple(str(each.value) for each in section.texts("tags")),
    )


def _take_variables(section: Section, scene: SessionScene) -> None:
    """Put variables under their keys: those of the command win over the file, it over the project.

    A key and a variable of the same file that say two things are a finding.
    """
    vars_node = section.find("vars")
    own = vars_node.members if vars_node is not None else {}
    if vars_node is not None and not isinstance(vars_node.value, Mapping):
        section.bad("vars", "a mapping")
    section.findings += unknown_variables(own)
    for key, (variable, member) in aliased(own).items():
        known = section.members.get(key)
        if known is None:
            section.members[key] = member
        elif _value(section, key, known) != _value(section, key, member):
            said, other = (_plain(each.node) for each in (known, member))
            sentence = f"{key} is {said} but vars has {variable} {other}"
            section.report(key, "conflicting-settings", sentence, "keep one")
    for key, (variable, member) in aliased(scene.asked).items():
        known = section.members.get(key)
        section.members[key] = member.under(known.key if known else section.place("name"))
        if known is None or _value(section, key, known) != _value(section, key, member):
            said = f"{key} is {_plain(member.node)}: --vars {variable}"
            said += f" wins over {_plain(known.node)} of the file" if known else " sets it"
            where = section.members[key].key
            hint, info = "leave --vars out to take what files say", Severity.INFO
            section.findings.append(Finding(where, "set-by-vars", said, hint, info))
    for key, (_, member) in aliased(scene.vars).items():
        section.members.setdefault(key, member)


def _value(section: Section, key: str, member: YamlNode) -> object:
    alone = Section(section.node, "", [], {key: member})
    return OptionReader(alone, []).read(key) or member.node.plain


def _plain(node: YamlNode) -> str:
    return str(node.plain).lower() if isinstance(node.value, bool) else str(node.plain)


def _options(section: Section, sql: list[WrittenSql]) -> SessionOptions:
    reader = OptionReader(section, sql)
    found: dict[str, Any] = {key: value[0] for key in OPTIONS if (value := reader.read(key))}
    if "upsert_lookback_days" in found:
        sentence = "upsert_lookback_days has no effect: upserts are exact"
        section.warn("upsert_lookback_days", "option-without-effect", sentence)
    usual: Mapping[str, Any] = _COMPAT if found.get("compat") else {}
    return replace(SessionOptions(), **{**usual, **found})


def _schemas(section: Section, scene: SessionScene) -> SessionSchemas:
    def named(key: str, usual: str) -> str:
        text = section.text(key) or usual
        bad = check_name("schema", text, section.place(key)) if key in section.members else None
        if bad is not None:
            section.findings.append(bad)
        return text

    derived = named("schema", scene.schema)
    found = (derived, named("manifest_schema", derived), named("scratch_schema", derived))
    return SessionSchemas(*(scene.schema_prefix + each for each in found))


def _check(section: Section, options: SessionOptions) -> None:
    """Report options that do not go together."""
    lookback, modules = options.session_lookback_days, options.modules
    window, days = options.backfill_limit_days, options.max_session_days
    least = window + days + ceil(options.lookback_window_hours / 24)
    if lookback is not None and lookback < least:
        sentence = (
            f"session_lookback_days is {lookback}; windows of {window} days and sessions of "
            f"{days} need at least {least}"
        )
        written = (key for key in _HORIZON if key in section.members)
        section.report(next(written, _HORIZON[0]), "horizon-too-short", sentence)
    if SessionTable.USERS in modules and SessionTable.SESSIONS not in modules:
        sentence = "modules names 'users', which is made of 'sessions'"
        section.report("modules", "module-needs", sentence, "add sessions")
    if options.user_stitching_id is not None:
        return
    if SessionTable.USER_MAPPING in modules:
        sentence = "modules names 'user_mapping', and user_stitching_id is null"
        section.report("modules", "module-needs", sentence, "name the column of known users")
    for key in ("session_stitching", "page_view_stitching"):
        if key in section.members and getattr(options, key):
            sentence = f"{key} has no effect: user_stitching_id is null"
            section.warn(key, "option-without-effect", sentence)
