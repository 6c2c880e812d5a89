"""One session file, read into a package: its options, its tables, and its findings."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from math import ceil
from typing import Any

from penstock.core.findings import Finding, Location, Severity
from penstock.core.sessions.options import (
    LateRows,
    SessionOptions,
    SessionTable,
    SessionUser,
)
from penstock.core.sessions.package import (
    SessionPackage,
    SessionSchemas,
    session_models,
    unresolved,
)
from penstock.project.files.discovery import check_name
from penstock.project.files.nodes import YamlNode
from penstock.project.files.sections import read_section, written_values
from penstock.project.files.values import pairs_of
from penstock.project.sessions.sections import SQL_KINDS, PackageSection
from penstock.project.sessions.variables import aliased, unknown_variables

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_COMPAT: Mapping[str, object] = {
    "strict_seed_limits": True,
    "skip_unchanged": False,
    "user_of_session": SessionUser.FIRST_RUN,
    "late_loaded": LateRows.COUNT,
}
"""The defaults of `compat: snowplow`."""
_HORIZON = (
    "session_lookback_days",
    "backfill_limit_days",
    "max_session_days",
    "lookback_window_hours",
)


OF_USERS, GOALS = "users.", "conversions, funnel and channels"
"""What is in keys of SQL over the sessions of a user; the key of what sessions reached."""
_OPTIONS = frozenset(each.name for each in fields(SessionOptions))


@dataclass(frozen=True, slots=True)
class WrittenSql:
    """SQL in a file under a key; an aggregate reads all events of a session."""

    key: str
    text: str
    where: Location
    is_aggregate: bool = False


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A package with unresolved events: `events` is the text in the file.

    `sql` are all its expressions, `checks` the content of `checks`.
    """

    package: SessionPackage
    events: str
    events_at: Location
    sql: tuple[WrittenSql, ...] = ()
    checks: Mapping[str, YamlNode] = field(default_factory=dict)
    description: str = ""
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionScene:
    """The common context of a project's packages: variables, and the default schema.

    `asked_vars` are the variables of the command, `of_target` the keys that the target sets, by
    package.
    """

    schema: str
    schema_prefix: str = ""
    vars: Mapping[str, YamlNode] = field(default_factory=dict)
    asked_vars: Mapping[str, YamlNode] = field(default_factory=dict)
    of_target: Mapping[str, Mapping[str, YamlNode]] = field(default_factory=dict)


def read_package(
    node: YamlNode, scene: SessionScene, findings: list[Finding]
) -> SessionFile | None:
    """Read a file; None if it has no name. Invalid options fall back to their defaults."""
    section = read_section(PackageSection, _with_variables(node, scene, findings), "", findings)
    name = section.name
    if name and not _NAME.fullmatch(name):
        section.bad("name", "at most 40 of a-z, 0-9 and _, and begin with a letter")
        name = ""
    options = _options(section)
    _check(section, options)
    if not name:
        return None
    schemas = _schemas(section, scene)
    package = SessionPackage(
        name=name,
        events=unresolved(section.events),
        options=options,
        models=session_models(name, schemas, options),
        manifest_schema=schemas.manifest,
        where=section.place("name"),
        places={key: member.key for key, member in section.members.items()},
    )
    return SessionFile(
        package=package,
        events=package.events.name,
        events_at=section.place("events"),
        sql=tuple(_written_sql(section)),
        checks=section.checks or {},
        description=section.description.strip(),
        tags=section.tags,
        meta=pairs_of(section.meta.plain) if section.meta else {},
    )


def _with_variables(node: YamlNode, scene: SessionScene, findings: list[Finding]) -> YamlNode:
    """Return a file with variables under their keys: command, target, file, project.

    If a key and a variable of the same file differ, that is a finding.
    """
    members = dict(node.members)
    own = members["vars"].members if "vars" in members else {}
    findings += unknown_variables(own)
    for key, (variable, member) in aliased(own).items():
        known = members.setdefault(key, member)
        if _value(key, known) != _value(key, member):
            sentence = f"{key} is {_plain(known)} but vars has {variable} {_plain(member)}"
            findings.append(Finding(known.where, "conflicting-settings", sentence, "keep one"))
    if "name" in members:
        members |= scene.of_target.get(str(members["name"].plain), {})
    for key, (variable, member) in aliased(scene.asked_vars).items():
        written = members.get(key)
        where = written.key if written else members.get("name", node).where
        members[key] = member.under(where)
        if written is None or _value(key, written) != _value(key, member):
            said = f"{key} is {_plain(member)}: --vars {variable}"
            said += f" wins over {_plain(written)} of the file" if written else " sets it"
            hint, info = "leave --vars out to take what files say", Severity.INFO
            findings.append(Finding(where, "set-by-vars", said, hint, info))
    for key, (_, member) in aliased(scene.vars).items():
        members.setdefault(key, member)
    return node.having(members) if isinstance(node.value, Mapping) else node


def _value(key: str, member: YamlNode) -> object:
    alone = read_section(PackageSection, YamlNode({key: member}), "", [])
    return written_values(alone).get(key, (member.plain,))


def _plain(node: YamlNode) -> str:
    return str(node.plain).lower() if isinstance(node.value, bool) else str(node.plain)


def _options(section: PackageSection) -> SessionOptions:
    written = written_values(section)
    if "upsert_lookback_days" in written:
        sentence = "upsert_lookback_days has no effect: upserts are exact"
        section.warn("upsert_lookback_days", "option-without-effect", sentence)
    usual: Mapping[str, Any] = _COMPAT if section.compat else {}
    if written.get("session_timeout"):
        usual = {**usual, "quarantine": False}  # sessions are cut instead
    options = {key: value for key, value in written.items() if key in _OPTIONS}
    return SessionOptions(**{**usual, **options})


def _written_sql(section: PackageSection) -> Iterator[WrittenSql]:
    for key, value in written_values(section).items():
        if section.declared[key].kind in SQL_KINDS and value is not None:
            node, texts = section.members[key], (value,) if isinstance(value, str) else value
            for item, text in zip(node.items or (node,), texts, strict=False):
                yield WrittenSql(key, text, item.where)
    top = section.node.where
    for part in fields(section.passthrough):
        name = f"passthrough.{part.name.removeprefix('sessions_').replace('users_', OF_USERS)}"
        for column in getattr(section.passthrough, part.name):
            where = column.where or top
            if part.name not in ("users_first", "users_last"):  # columns of sessions
                yield WrittenSql(name, column.sql, where, part.name.endswith("agg"))
            if column.when:
                yield WrittenSql(name, column.when, where)
    texts = [(each.when, each.where) for each in section.conversions]
    texts += [(each.when, each.where) for each in section.funnel]
    texts += [(each.value, each.where) for each in section.conversions if each.value]
    texts += [(each.when, each.where) for each in section.channels]
    for text, where in texts:
        yield WrittenSql(GOALS, text, where or top)


def _schemas(section: PackageSection, scene: SessionScene) -> SessionSchemas:
    def schema(key: str, usual: str) -> str:
        text = getattr(section, key) or usual
        bad = check_name("schema", text, section.place(key)) if key in section.members else None
        if bad is not None:
            section.findings.append(bad)
        return text

    derived = schema("schema", scene.schema)
    found = (derived, schema("manifest_schema", derived), schema("scratch_schema", derived))
    return SessionSchemas(*(scene.schema_prefix + each for each in found))


def _check_timeout(section: PackageSection, options: SessionOptions) -> None:
    """Report options that say otherwise which sessions there are than a timeout does."""
    timeout = options.session_timeout
    if timeout is None:
        return
    if timeout > dt.timedelta(days=options.max_session_days):
        sentence = f"session_timeout is {timeout}, longer than max_session_days"
        section.report("session_timeout", "bad-value", sentence)
    if "session_id" in section.members:
        sentence = "session_id is written, and session_timeout finds sessions without it"
        section.report("session_id", "conflicting-settings", sentence, "keep one")
    if options.is_snowplow:
        sentence = "compat: snowplow has no session_timeout"
        section.report("session_timeout", "conflicting-settings", sentence, "keep one")
    if options.quarantine:
        sentence = "quarantine is on, and with session_timeout a long session is cut instead"
        section.report("quarantine", "conflicting-settings", sentence, "take quarantine out")
    if "user_of_session" in section.members:
        sentence = "user_of_session has no effect: with session_timeout a session has one user"
        section.warn("user_of_session", "option-without-effect", sentence)


def _check_goals(section: PackageSection, options: SessionOptions) -> None:
    """Report columns of sessions and users without their tables, and persons without a mapping."""
    for key in ("conversions", "funnel", "channels"):
        if getattr(options, key) and SessionTable.SESSIONS not in options.modules:
            sentence = f"{key} are columns of sessions, which modules leaves out"
            section.report(key, "module-needs", sentence, "add sessions")
    if not options.by_person:
        return
    if SessionTable.SESSIONS not in options.stitched or SessionTable.USERS not in options.modules:
        sentence = "users_by is stitched, which needs users, and sessions with session_stitching"
        section.report("users_by", "module-needs", sentence, "add what is missing")
    if options.is_snowplow:
        sentence = "compat: snowplow has users by visitor alone"
        section.report("users_by", "conflicting-settings", sentence, "keep one")


def _check(section: PackageSection, options: SessionOptions) -> None:
    """Report options that contradict each other."""
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
        sentence = "modules names 'users', which is built from 'sessions'"
        section.report("modules", "module-needs", sentence, "add sessions")
    _check_timeout(section, options)
    _check_goals(section, options)
    if options.user_stitching_id is not None:
        return
    if SessionTable.USER_MAPPING in modules:
        sentence = "modules names 'user_mapping', and user_stitching_id is null"
        section.report("modules", "module-needs", sentence, "name the column of known users")
    for key in ("session_stitching", "page_view_stitching"):
        if key in section.members and getattr(options, key):
            sentence = f"{key} has no effect: user_stitching_id is null"
            section.warn(key, "option-without-effect", sentence)
