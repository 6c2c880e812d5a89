"""Values of a package's file from elsewhere: aliases of keys, `{{ var() }}`, keys of a target."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.core.findings import Finding, Severity
from penstock.project.files.nodes import YamlNode
from penstock.project.files.values import Path, Plain, did_you_mean

_VAR = re.compile(
    r"\{\{\s*var\(\s*(?P<quote>['\"])(?P<name>[^'\"]+)(?P=quote)\s*(?:,\s*(?P<default>[^)]*?)\s*)?\)"
    r"\s*\}\}"
)
FIXED = ("strategy", "name", "vars")
"""The keys that a target cannot set: they say which package it is."""
PREFIX = "snowplow__"
_SAME = (
    "start_date",
    "backfill_limit_days",
    "lookback_window_hours",
    "session_lookback_days",
    "max_session_days",
    "days_late_allowed",
    "upsert_lookback_days",
    "heartbeat",
    "min_visit_length",
    "session_stitching",
    "page_view_stitching",
    "user_stitching_id",
    "allow_refresh",
)
_SQL = {"session_id": "session_sql", "user_id": "user_sql"}
_IDENTIFIERS = {"session_id": "session_identifiers", "user_id": "user_identifiers"}
ALIASES: Mapping[str, str] = {
    **{name: name for name in _SAME},
    "session_timestamp": "timestamp",
    "app_id": "app_ids",
    "allow_null_dvce_tstamps": "allow_null_device_timestamps",
    **{name: key for key, name in _IDENTIFIERS.items()},
    **{name: key for key, name in _SQL.items()},
}
"""Keys by names of variables without their prefix; if two map to a key, the later one counts."""
_PASSTHROUGH = "passthrough of the package file"
_AGG = "an aggregate under passthrough: {sessions: {agg: …}}"
_INSTEAD: Mapping[str, str] = {
    "events": "events",
    "events_table": "events",
    "atomic_schema": "events",
    "database": "events",
    "databricks_catalog": "catalog of the target",
    "ua_bot_filter": "bot_pattern",
    "derived_tstamp_partitioned": "partition_column",
    "page_view_passthroughs": _PASSTHROUGH,
    "session_passthroughs": _PASSTHROUGH,
    "user_first_passthroughs": _PASSTHROUGH,
    "user_last_passthroughs": _PASSTHROUGH,
    "conversion_events": "conversions",
    "total_all_conversions": _AGG,
    "list_event_counts": _AGG,
    "entities_or_sdes": "a view that adds the columns, named by events",
    "custom_sql": "a view that adds the columns, named by events",
}
"""Replacements for variables without a key, if there are any."""


def aliased(members: Mapping[str, YamlNode]) -> dict[str, tuple[str, YamlNode]]:
    """Return the members for variables, by key, each with the name of its variable."""
    found: dict[str, tuple[str, YamlNode]] = {}
    for name, key in ALIASES.items():
        member = members.get(PREFIX + name)
        if member is None or member.node.is_absent:
            continue
        node = member.node
        if name in _IDENTIFIERS.values():
            node = YamlNode(tuple(_identifiers(node)) or node.value, node.where)
        found[key] = (PREFIX + name, node.under(member.key))
    return found


def _identifiers(node: YamlNode) -> Iterator[YamlNode]:
    """Yield `{schema, field}` as SQL: a column of the events, or of the first of its contexts."""
    for item in node.items:
        parts = {key: member.node.value for key, member in item.members.items()}
        schema, field = parts.get("schema"), parts.get("field")
        if isinstance(schema, str) and isinstance(field, str):
            yield YamlNode(field if schema == "atomic" else f"{schema}[0].{field}", item.where)
        else:
            yield item  # reported as what is no text


def unknown_variables(members: Mapping[str, YamlNode]) -> Iterator[Finding]:
    """Warn of variables without effect; the hint names a replacement, if there is one."""
    known: Sequence[str] = [PREFIX + name for name in ALIASES]
    for name, member in members.items():
        if not name.startswith(PREFIX) or name in known:
            continue
        instead = _INSTEAD.get(name.removeprefix(PREFIX))
        hint = f"use {instead}" if instead else did_you_mean(name, known)
        sentence = f"{name} has no effect here"
        yield Finding(member.key, "unknown-variable", sentence, hint, Severity.WARNING)


@dataclass(slots=True)
class FilledFile:
    """The content of a file with the values of its variables; `unknown` are those without one."""

    vars: Mapping[str, Plain]
    unknown: list[tuple[Path, str]] = field(default_factory=list)

    def fill(self, tree: Plain, path: Path = ()) -> Plain:
        """Replace every `{{ var() }}`; one that is the whole text keeps the type of its value.

        >>> FilledFile({"days": 2}).fill({"a": "{{ var('days') }}", "b": "x{{ var('c', 'd') }}"})
        {'a': 2, 'b': 'xd'}
        """
        if isinstance(tree, Mapping):
            return {key: self.fill(each, (*path, key)) for key, each in tree.items()}
        if isinstance(tree, list):
            return [self.fill(each, (*path, at)) for at, each in enumerate(tree)]
        if not isinstance(tree, str) or "var(" not in tree:
            return tree
        whole = _VAR.fullmatch(tree.strip())
        if whole is not None:
            return self._value(whole, path)
        return _VAR.sub(lambda call: _text(self._value(call, path)), tree)

    def _value(self, call: re.Match[str], path: Path) -> Plain:
        name, default = call["name"], call["default"]
        if name in self.vars:
            return self.vars[name]
        if default is None:
            self.unknown.append((path, name))
            return ""
        with suppress(ValueError, SyntaxError):
            found = ast.literal_eval(default)
            if found is None or isinstance(found, str | int | float | bool | list):
                return found
        return {"true": True, "false": False, "null": None}.get(default, default)


def _text(value: Plain) -> str:
    return "" if value is None else str(value)


def target_keys(
    targets: YamlNode, target: str, findings: list[Finding]
) -> dict[str, Mapping[str, YamlNode]]:
    """Return what a target sets for session packages, by package."""
    found: dict[str, Mapping[str, YamlNode]] = {}
    packages = (
        targets.members[target].members.get("sessions") if target in targets.members else None
    )
    for name, node in packages.members.items() if packages else ():
        if not isinstance(node.value, Mapping):
            sentence = f"sessions.{name} is not a mapping of keys"
            findings.append(
                Finding(node.where, "bad-value", sentence, "write {start_date: 2024-01-01}")
            )
            continue
        for key in FIXED:
            if key in node.members:
                sentence = f"a target cannot set {key!r} of a session package"
                hint = "write it in the package's file"
                findings.append(Finding(node.members[key].key, "bad-value", sentence, hint))
        found[name] = {key: each for key, each in node.members.items() if key not in FIXED}
    return found


def unknown_packages(
    targets: YamlNode, target: str, packages: Collection[str]
) -> Iterator[Finding]:
    """Report settings of packages that the project does not have."""
    written = targets.members[target].members.get("sessions") if target in targets.members else None
    for name, node in written.members.items() if written else ():
        if name not in packages and isinstance(node.value, Mapping):
            sentence = f"no session package is called {name!r}"
            hint = did_you_mean(name, packages) or f"there are: {', '.join(packages) or 'none'}"
            yield Finding(node.key, "unknown-reference", sentence, hint)
