"""Variables of the Snowplow packages as aliases of keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.core.findings import Finding, Severity
from penstock.project.files.nodes import YamlNode
from penstock.project.files.values import did_you_mean

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
    "conversion_events": _AGG,
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
