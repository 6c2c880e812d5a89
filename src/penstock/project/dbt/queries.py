"""The SQL files of models and snapshots: another header, and what else must change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.project.dbt.decide import Decision, GivenConfig, lines_of, outcomes
from penstock.project.dbt.editing.calls import (
    HeaderChange,
    TemplateToken,
    config_calls,
    tokens_of,
    with_settings,
)
from penstock.project.dbt.gather import DbtNode
from penstock.project.dbt.notes import FileLog
from penstock.project.files.values import Plain

_SEMICOLON = re.compile(r";(?P<rest>(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/|\{#.*?#\}|;)*)\Z", re.DOTALL)
_RENDER = re.compile(r"\.render\(\)")


@dataclass(frozen=True, slots=True)
class QueryContext:
    """What the SQL of one node depends on beside its text."""

    project: str
    config: GivenConfig
    decision: Decision
    yaml: frozenset[str]
    """Settings that its YAML holds: they change there."""
    times: Mapping[tuple[str, ...], str]
    """The event time of models by (name,), of sources by (source, table)."""


def query_text(node: DbtNode, context: QueryContext, log: FileLog) -> str:
    """Return the SQL file of a node."""
    calls = config_calls(node.text)
    lines = lines_of(calls)
    held: dict[str, Plain] = {}
    for argument in (each for call in calls for each in call.arguments if each.name):
        known = context.config.header
        name = argument.name.replace("-", "_")
        held[argument.name] = known.get(name, argument.value)
    found = outcomes(held, context.decision, log, lines)
    delete = {name for name, outcome in found.items() if outcome is None}
    rename = {name: each.name for name, each in found.items() if each and each.name != name}
    values: dict[str, Plain] = {
        name: each.value
        for name, each in found.items()
        if each and each.is_changed and name.replace("-", "_") not in context.config.unknown
    }
    written = {each.name for each in found.values() if each}
    for key, value in context.decision.values.items():
        if key not in written and key not in context.yaml:
            values[key] = value
            log.change(f"config.{key}", context.decision.why.get(key, ""))
    text = with_settings(node.text, HeaderChange(frozenset(delete), rename, values))
    text = without_semicolon(text, log)
    if context.decision.window is not None:
        text = _filtered(text, context, log)
    for note in context.decision.log.notes:
        log.add(note)
    head = f"{{# From {node.path} of the dbt project {context.project}. #}}"
    return f"{head}\n{text}"


def without_semicolon(text: str, log: FileLog) -> str:
    """Return a query without the semicolon at its end."""
    found = _SEMICOLON.search(text)
    if found is None:
        return text
    line = text.count("\n", 0, found.start()) + 1
    log.change("semicolon", "a model is one query, and a query ends without it", line)
    return text[: found.start()] + found["rest"].replace(";", "")


def _filtered(text: str, context: QueryContext, log: FileLog) -> str:
    """Read only the range of the step from inputs with an event time, as dbt does."""
    tokens = [each for each in tokens_of(text) if each.kind != "whitespace"]
    edits = []
    for at, token in enumerate(tokens):
        names = _called(tokens, at) if token.text in ("ref", "source") else ()
        if not names or tokens[at - 1].kind != "variable_begin":
            continue
        end = next(each for each in tokens[at:] if each.kind == "variable_end").end
        start, call = tokens[at - 1].start, text[tokens[at - 1].start : end]
        if _RENDER.search(call):
            edits.append((start, end, _RENDER.sub("", call)))
            continue
        time = context.times.get(names)
        if time:
            where = f"{time} >= @start_date and {time} < @end_date"
            edits.append((start, end, f"(select * from {call} where {where})"))
            line = text.count("\n", 0, start) + 1
            why = f"dbt reads only the batch of an input with an event_time: {time}"
            log.change(f"{token.text}({', '.join(names)})", why, line)
    if not any("@start_date" in new for *_, new in edits):
        why = "no input has an event_time: filter the query by @start_date and @end_date"
        log.hand("config.event_time", why)
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text


def _called(tokens: list[TemplateToken], at: int) -> tuple[str, ...]:
    """Return the texts of a call's arguments; a package in front of a model is left out."""
    if tokens[at + 1].text != "(":
        return ()
    names = []
    for each in tokens[at + 2 :]:
        if each.text == ")":
            break
        if each.kind == "string":
            names.append(each.text[1:-1])
    return tuple(names[-1:] if tokens[at].text == "ref" else names)
