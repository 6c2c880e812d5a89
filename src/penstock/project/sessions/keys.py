"""The keys of a session file: what each may hold, and how it is read into an option."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from penstock.core.findings import Finding
from penstock.core.names import is_plain
from penstock.core.sessions.package import (
    MODULES,
    SNOWPLOW,
    BackfillOrder,
    CarriedColumn,
    Passthrough,
    SessionTable,
    SessionUser,
)
from penstock.project.files.nodes import Keys, Section, YamlNode, open_section

COLUMNS = ("timestamp", "app_id", "useragent")
OPTIONAL_COLUMNS = (
    "derived_tstamp",
    "created_tstamp",
    "sent_tstamp",
    "partition_column",
    "user_stitching_id",
)
COLUMN_LISTS = ("tie_break", "event_columns")
EXPRESSIONS = ("event_id", "event_name", "page_view_id", "page_url")
EXPRESSION_LISTS = ("session_id", "user_id")
OPTIONAL_EXPRESSIONS = ("engaged_when",)
TEXT_LISTS = ("view_events", "ping_events")
LEAST: Mapping[str, int] = {
    **dict.fromkeys(("backfill_limit_days", "max_session_days", "heartbeat"), 1),
    **dict.fromkeys(("lookback_window_hours", "days_late_allowed", "upsert_lookback_days"), 0),
    **dict.fromkeys(("partition_pad_days", "min_visit_length"), 0),
}
_MOST = 300_000
"""Days or hours: of more the calendar has no dates."""
FLAGS = (
    "allow_null_device_timestamps",
    "quarantine",
    "session_stitching",
    "page_view_stitching",
    "strict_seed_limits",
    "skip_unchanged",
    "allow_refresh",
)
WORDS: Mapping[str, type[StrEnum]] = {"user_of_session": SessionUser, "backfill": BackfillOrder}
_OTHERS = (
    "start_date",
    "session_lookback_days",
    "app_ids",
    "filters",
    "modules",
    "bot_pattern",
    "passthrough",
    "compat",
)
OPTIONS = (
    *COLUMNS,
    *OPTIONAL_COLUMNS,
    *COLUMN_LISTS,
    *EXPRESSIONS,
    *EXPRESSION_LISTS,
    *OPTIONAL_EXPRESSIONS,
    *TEXT_LISTS,
    *LEAST,
    *FLAGS,
    *WORDS,
    *_OTHERS,
)
"""The keys that become options, each under its own name."""
REQUIRED = ("strategy", "name", "events")
FILE = Keys(
    (
        *REQUIRED,
        *("schema", "manifest_schema", "scratch_schema"),
        *OPTIONS,
        *("vars", "checks", "description", "tags", "meta"),
    ),
    REQUIRED,
)
PASSTHROUGH = Keys(("page_views", "sessions", "users"))
OF_SESSIONS = Keys(("first", "last", "agg"))
OF_USERS = Keys(("first", "last"))
_NULLABLE = frozenset((*OPTIONAL_COLUMNS, *OPTIONAL_EXPRESSIONS))
NULLABLE = _NULLABLE | {"session_lookback_days", "bot_pattern", "compat"}
"""The keys of which null says something."""
Option = (
    str | int | bool | dt.datetime | tuple[str, ...] | tuple[str | None, ...] | Passthrough | None
)


@dataclass(frozen=True, slots=True)
class WrittenSql:
    """SQL that a file writes under a key; an aggregate looks at all events of a session."""

    key: str
    text: str
    node: YamlNode
    is_aggregate: bool = False


@dataclass(slots=True)
class OptionReader:
    """Reads options one by one; what does not fit is a finding, and no option.

    `sql` collects every expression that is read.
    """

    section: Section
    sql: list[WrittenSql]

    def read(self, key: str) -> tuple[Option, ...]:
        """Return the option of a key in a tuple; nothing where it is absent or does not fit."""
        member = self.section.members.get(key)
        if member is None:
            return ()
        if member.node.value is None:
            return (None,) if key in NULLABLE else ()
        found = self._read(key, member.node)
        return () if found is None else (found,)

    def _read(self, key: str, node: YamlNode) -> Option:
        section = self.section
        if key in LEAST:
            return section.number(key, LEAST[key], _MOST)
        if key == "session_lookback_days":
            return section.number(key, 1, _MOST)
        if key in FLAGS:
            return section.flag(key)
        if key in WORDS:
            word = section.word(key, [*WORDS[key]])
            return WORDS[key](word) if word else None
        if key == "compat":
            return section.word(key, [SNOWPLOW]) or None
        if key in (*EXPRESSIONS, *OPTIONAL_EXPRESSIONS):
            return self._expression(key, node)
        if key in (*COLUMNS, *OPTIONAL_COLUMNS):
            return self._text(key, node, "the name of a column")
        if key in (*COLUMN_LISTS, *TEXT_LISTS, *EXPRESSION_LISTS, "filters"):
            return self._texts(key)
        special: Mapping[str, Callable[[YamlNode], Option]] = {
            "start_date": self._start,
            "app_ids": self._app_ids,
            "modules": self._modules,
            "bot_pattern": self._pattern,
            "passthrough": self._passthrough,
        }
        return special[key](node)

    def _text(self, key: str, node: YamlNode, what: str) -> str | None:
        if isinstance(node.value, str) and node.value.strip():
            return node.value.strip()
        self.section.bad(key, what)
        return None

    def _expression(self, key: str, node: YamlNode) -> str | None:
        text = self._text(key, node, "SQL of one event")
        if text is not None:
            self.sql.append(WrittenSql(key, text, node))
        return text

    def _texts(self, key: str) -> tuple[str, ...] | None:
        before = len(self.section.findings)
        items = self.section.texts(key)
        if len(self.section.findings) > before:
            return None
        texts = tuple(str(item.value).strip() for item in items)
        is_sql = key in (*EXPRESSION_LISTS, "filters")
        if not all(texts) or (key in EXPRESSION_LISTS and not texts):
            self.section.bad(key, f"a list of {'SQL of one event' if is_sql else 'texts'}")
            return None
        if is_sql:
            pairs = zip(items, texts, strict=True)
            self.sql.extend(WrittenSql(key, text, item) for item, text in pairs)
        return texts

    def _start(self, node: YamlNode) -> dt.datetime | None:
        with suppress(ValueError):
            if isinstance(node.value, str):
                found = dt.datetime.fromisoformat(node.value.strip())
                return (
                    found.replace(tzinfo=dt.UTC) if not found.tzinfo else found.astimezone(dt.UTC)
                )
        self.section.bad("start_date", "a date or a time such as 2021-01-01")
        return None

    def _app_ids(self, node: YamlNode) -> tuple[str | None, ...] | None:
        items = node.items if isinstance(node.value, tuple) else (node,)
        values = [each.value for each in items]
        if all(value is None or isinstance(value, str) for value in values):
            return tuple(None if value is None else str(value) for value in values)
        self.section.bad("app_ids", "a list of texts; null in it stands for rows without one")
        return None

    def _modules(self, node: YamlNode) -> tuple[SessionTable, ...] | None:
        texts = self._texts("modules")
        if texts is None:
            return None
        for text, item in zip(texts, self.section.texts("modules"), strict=True):
            if text not in MODULES:
                found = Section(item, "", self.section.findings, {"modules": item})
                found.word("modules", [str(each) for each in MODULES])
                return None
        del node
        return tuple(each for each in MODULES if each in texts)

    def _pattern(self, node: YamlNode) -> str | None:
        text = self._text("bot_pattern", node, "a regular expression")
        try:
            re.compile(text or "")
        except re.error as error:
            self.section.bad("bot_pattern", f"a regular expression ({error})")
            return None
        return text

    def _passthrough(self, node: YamlNode) -> Passthrough | None:
        findings, sql = self.section.findings, self.sql
        whole = open_section(node, PASSTHROUGH, "passthrough", findings)
        if not isinstance(node.value, Mapping):
            return None
        found: dict[str, tuple[CarriedColumn, ...]] = {
            "page_views": tuple(_carried(whole, "page_views", sql))
        }
        for key, keys in (("sessions", OF_SESSIONS), ("users", OF_USERS)):
            inside = whole.find(key)
            if inside is None:
                continue
            section = open_section(inside, keys, f"passthrough.{key}", findings)
            for word in keys.known:
                items = _aggregates if word == "agg" else _carried
                # users are made of rows of sessions: what they carry is no SQL of an event
                said = sql if keys is OF_SESSIONS else []
                found[f"{key}_{word}"] = tuple(items(section, word, said))
        return Passthrough(**found)


def _carried(section: Section, key: str, sql: list[WrittenSql]) -> Iterator[CarriedColumn]:
    """Read a list of columns, each a name alone or a name with SQL."""
    node = section.find(key)
    if node is None:
        return
    if not isinstance(node.value, tuple):
        section.bad(key, "a list of columns")
        return
    for item in node.items:
        if isinstance(item.value, str) and is_plain(item.value):
            pairs: Sequence[tuple[str, YamlNode]] = ((item.value, item),)
        else:
            pairs = [(name, member.node) for name, member in item.members.items()]
        if not pairs or not all(isinstance(each.value, str) for _, each in pairs):
            sentence = f"{section.above}.{key} holds what names no column"
            hint = "write a column, or {name: SQL}"
            section.findings.append(Finding(item.where, "bad-value", sentence, hint))
            continue
        yield from _named(pairs, sql, f"passthrough.{key}", is_aggregate=False)


def _aggregates(section: Section, key: str, sql: list[WrittenSql]) -> Iterator[CarriedColumn]:
    node = section.find(key)
    if node is None:
        return
    pairs = [(name, member.node) for name, member in node.members.items()]
    if not isinstance(node.value, Mapping) or not all(isinstance(n.value, str) for _, n in pairs):
        section.bad(key, "a mapping of names to SQL")
        return
    yield from _named(pairs, sql, f"passthrough.{key}", is_aggregate=True)


def _named(
    pairs: Sequence[tuple[str, YamlNode]], sql: list[WrittenSql], key: str, *, is_aggregate: bool
) -> Iterator[CarriedColumn]:
    for name, node in pairs:
        text = str(node.value).strip()
        sql.append(WrittenSql(key, text, node, is_aggregate))
        yield CarriedColumn(name, text, node.where)
