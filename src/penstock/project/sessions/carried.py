"""The columns that a package adds to its modules, as its file declares them.

They are carried over from events, count conversions, tell how far a session came in a funnel, or
name its channel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock.core.findings import Finding
from penstock.core.names import is_plain
from penstock.core.sessions.options import (
    CarriedColumn,
    Channel,
    Conversion,
    FunnelStep,
    Passthrough,
)
from penstock.project.files.kinds import ValueKind, or_null
from penstock.project.files.nodes import Section, YamlNode
from penstock.project.files.sections import (
    KeyedSection,
    PartKind,
    each_of,
    key,
    read_section,
    subsection,
    written_values,
)
from penstock.project.files.values import Plain

SQL = "SQL of one event"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TEXTS_BY_NAME: Plain = {"type": "object", "additionalProperties": {"type": "string"}}
_CONDITIONAL: Plain = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "propertyNames": {"enum": ["sql", "when"]},
    "required": ["when"],
}
_COLUMNS_BY_NAME: Plain = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": "string"}, _CONDITIONAL]},
}


def text_kind(expected: str, clean: Callable[[str], str] = str.strip) -> ValueKind[str | None]:
    """Return the kind of texts that are not empty, and no numbers."""
    return ValueKind(
        expected,
        lambda value: (clean(value) or None) if isinstance(value, str) else None,
        {"type": "string"},
        None,
    )


def stripped(sql: str) -> str:
    """Return SQL without white space around it; a comment in it ends with its line."""
    found = sql.strip()
    return f"{found}\n" if "--" in found else found


def as_read(value: object) -> Any:  # noqa: ANN401  what `take` reads instead
    """Return a value that its kind reads by parts."""
    return value


def _carried(section: Section, key: str) -> tuple[CarriedColumn, ...]:
    """Read a list of columns, each a name alone or a name with SQL."""
    node, found = section.members[key], list[CarriedColumn]()
    if not isinstance(node.value, tuple):
        section.bad(key, "a list of columns")
    for item in node.items:
        members = item.members
        if isinstance(item.value, str) and is_plain(item.value):
            members = {item.value: item}
        if not members or not all(each.members or _is_text(each) for each in members.values()):
            sentence = f"{section.dotted(key)} holds what names no column"
            hint = "write a column, {name: SQL}, or {name: {sql: SQL, when: SQL}}"
            section.findings.append(Finding(item.where, "bad-value", sentence, hint))
            continue
        found += _columns_of(members, section.dotted(key), section.findings)
    return tuple(found)


def _is_text(node: YamlNode) -> bool:
    return isinstance(node.value, str)


def _aggregates(section: Section, key: str) -> tuple[CarriedColumn, ...]:
    node = section.members[key]
    fits = all(map(_is_text, node.members.values()))
    if not isinstance(node.value, Mapping) or not fits:
        section.bad(key, "a mapping of names to SQL")
        return ()
    return tuple(_columns_of(node.members, section.dotted(key), section.findings))


def _columns_of(
    members: Mapping[str, YamlNode], above: str, findings: list[Finding]
) -> Iterator[CarriedColumn]:
    for name, node in members.items():
        if node.members:
            found = read_section(CarriedSection, node, f"{above}.{name}", findings)
            yield CarriedColumn(name, found.sql or name, node.where, found.when or "")
        else:
            yield CarriedColumn(name, stripped(str(node.value)), node.where)


EXPRESSION = text_kind(SQL, stripped)
EXPRESSION_OR_NULL = or_null(EXPRESSION)


class CarriedSection(KeyedSection):
    """A column of the first or last event, or session, that fulfils a condition."""

    sql = key(EXPRESSION_OR_NULL, "mkt_campaign")
    """SQL of the column; without it, the column of its name."""
    when = key(EXPRESSION, "event_name = 'purchase'", needed=True)
    """SQL of the condition."""


_CARRIED: PartKind[tuple[CarriedColumn, ...]] = PartKind(
    "a list of columns",
    as_read,
    {"type": "array", "items": {"anyOf": [{"type": "string"}, _COLUMNS_BY_NAME]}},
    (),
    take=_carried,
)
_AGGREGATES = replace(_CARRIED, schema=_TEXTS_BY_NAME, take=_aggregates)


class CarriedSessionsSection(KeyedSection):
    """What sessions take over."""

    first = key(_CARRIED, ["mkt_source"])
    """Of the first page view or ping; with `when`, of the first event that fulfils it."""
    last = key(_CARRIED, ["geo_country"])
    """Of the last page view; with `when`, of the last event that fulfils it."""
    agg = key(_AGGREGATES, {"purchases": "count_if(event_name = 'purchase')"})
    """SQL over all events of a session, by name."""


class CarriedUsersSection(KeyedSection):
    """What users take over, of rows of sessions: no SQL of an event."""

    first = key(_CARRIED, ["mkt_source"])
    """Of the first session; with `when`, of the first that fulfils it."""
    last = key(_CARRIED, ["geo_country"])
    """Of the last one."""
    agg = key(_AGGREGATES, {"purchases": "sum(purchases)"})
    """SQL over all sessions of a user, by name."""


class PassthroughSection(KeyedSection):
    """The columns that modules take over."""

    page_views = key(_CARRIED, ["page_title", {"host": "parse_url(page_url, 'HOST')"}])
    """Columns of page views: a name, `{name: SQL}`, or `{name: {sql: SQL, when: SQL}}`."""
    sessions = key(subsection(CarriedSessionsSection), {"first": ["mkt_source"]})
    """Columns of sessions."""
    users = key(subsection(CarriedUsersSection), {"first": ["mkt_source"]})
    """Columns of users."""


def _passthrough(section: Section, key: str) -> Passthrough:
    found = read_section(PassthroughSection, section.members[key], key, section.findings)
    parts = {"sessions": found.sessions, "users": found.users}
    carried = {
        f"{name}_{word}": columns
        for name, part in parts.items()
        if part is not None
        for word, columns in written_values(part).items()
    }
    return Passthrough(page_views=found.page_views, **carried)


PASSTHROUGH: PartKind[Passthrough] = PartKind(
    "a mapping", as_read, {}, Passthrough(), take=_passthrough, inner=PassthroughSection
)


class ConversionSection(KeyedSection):
    """One kind of conversion."""

    name = key(text_kind("a name"), "purchase", needed=True)
    """Begins its columns: `cv_<name>_volume` and so on; small letters, digits and `_`."""
    when = key(EXPRESSION, "event_name = 'purchase'", needed=True)
    """SQL; an event that fulfils it is a conversion."""
    value = key(EXPRESSION_OR_NULL, "amount")
    """SQL: what a conversion is worth."""


class FunnelStepSection(KeyedSection):
    """One step of the funnel."""

    step = key(text_kind("a name"), "basket", needed=True)
    """Its name; small letters, digits and `_`."""
    when = key(EXPRESSION, "page_url like '%/basket'", needed=True)
    """SQL; the first event that fulfils it, not before that of the step above, reaches the step."""


class ChannelSection(KeyedSection):
    """One rule of the channels; the first that holds counts."""

    channel = key(text_kind("a text"), "Email", needed=True)
    """The name of the channel."""
    when = key(EXPRESSION, "mkt_medium = 'email'", needed=True)
    """SQL of the first event of a session."""


def _once(section: Section, key: str, items: Iterator[tuple[str | None, YamlNode]]) -> None:
    """Report names that are there twice, or that cannot be part of a column's name."""
    seen = set[str]()
    for name, node in items:
        if name and not _NAME.fullmatch(name):
            sentence = f"{section.dotted(key)}: {name!r} cannot begin the name of a column"
            hint = "write a-z, 0-9 and _, and begin with a letter"
            section.findings.append(Finding(node.where, "bad-value", sentence, hint))
        if name and name in seen:
            sentence = f"{section.dotted(key)} has {name!r} twice"
            section.findings.append(Finding(node.where, "bad-value", sentence, "rename one"))
        seen.add(name or "")


def _conversions(section: Section, key: str) -> tuple[Conversion, ...]:
    found = _CONVERSIONS.take(section, key)
    _once(section, key, ((each.name, each.node) for each in found))
    return tuple(
        Conversion(each.name, each.when, each.value or "", each.place("when"))
        for each in found
        if each.name and each.when
    )


def _funnel(section: Section, key: str) -> tuple[FunnelStep, ...]:
    found = _FUNNEL.take(section, key)
    _once(section, key, ((each.step, each.node) for each in found))
    return tuple(
        FunnelStep(each.step, each.when, each.place("when"))
        for each in found
        if each.step and each.when
    )


def _channels(section: Section, key: str) -> tuple[Channel, ...]:
    return tuple(
        Channel(each.channel, each.when, each.place("when"))
        for each in _CHANNELS.take(section, key)
        if each.channel and each.when
    )


_CONVERSIONS = each_of(ConversionSection, "conversions")
_FUNNEL = each_of(FunnelStepSection, "steps")
_CHANNELS = each_of(ChannelSection, "rules")
CONVERSIONS: PartKind[tuple[Conversion, ...]] = PartKind(
    _CONVERSIONS.expected, as_read, {}, (), take=_conversions, inner=ConversionSection, is_list=True
)
FUNNEL: PartKind[tuple[FunnelStep, ...]] = PartKind(
    _FUNNEL.expected, as_read, {}, (), take=_funnel, inner=FunnelStepSection, is_list=True
)
CHANNELS: PartKind[tuple[Channel, ...]] = PartKind(
    _CHANNELS.expected, as_read, {}, (), take=_channels, inner=ChannelSection, is_list=True
)
