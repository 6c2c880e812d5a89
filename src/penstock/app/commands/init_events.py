"""The use case `init --template sessions --events`: a session package from a table's columns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.app.commands.init import new_source
from penstock.core.columns.schema import Column
from penstock.core.errors import UsageError
from penstock.core.facts import TableFacts
from penstock.core.names import column_sql

_TIMES, _ANY = ("timestamp", "timestamp_ntz"), ()
_SYNONYMS: dict[str, tuple[Sequence[str], str]] = {
    "timestamp": (
        _TIMES,
        """collector_tstamp event_timestamp event_time event_tstamp received_at timestamp ts time
        occurred_at sent_at created_at""",
    ),
    "derived_tstamp": (_TIMES, "derived_tstamp"),
    "created_tstamp": (_TIMES, "dvce_created_tstamp device_time client_time original_timestamp"),
    "sent_tstamp": (_TIMES, "dvce_sent_tstamp device_sent_time"),
    "event_id": (_ANY, "event_id eventid message_id messageid insert_id uuid id"),
    "session_id": (
        _ANY,
        """domain_sessionid session_id sessionid session_identifier ga_session_id visit_id visitid
        session""",
    ),
    "user_id": (
        _ANY,
        """domain_userid anonymous_id anonymousid user_pseudo_id visitor_id client_id clientid
        device_id cookie_id distinct_id user_id userid user""",
    ),
    "user_stitching_id": (_ANY, "user_id userid account_id customer_id member_id login"),
    "event_name": (_ANY, "event_name event_type eventname event type action name"),
    "page_view_id": (_ANY, "page_view_id pageview_id view_id"),
    "page_url": (_ANY, "page_url page_location url href page_path path page"),
}
"""The types that a key's column may have, and names by which it is known, the surest first."""
_OPTIONAL = ("derived_tstamp", "created_tstamp", "sent_tstamp", "user_stitching_id")
_LISTS = ("session_id", "user_id")
TEMPLATE = "sessions"
_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Guess:
    """The value of a key, with a comment if it is uncertain."""

    key: str
    value: str
    note: str


def init_package(folder: Path, path: str, template: str = "") -> tuple[str, ...]:
    """Write a session package over a Delta table of events; return the files, sorted.

    A folder without penstock.yml becomes a project first. Nothing is overwritten. Raises
    `not-a-delta-table`, `file-exists` if there is a package already, and `option-conflict` for
    another template.
    """
    if template not in ("", TEMPLATE):
        hint = f"penstock init DIR --template {TEMPLATE} --events {path}"
        sentence = f"--events goes with --template {TEMPLATE}"
        raise UsageError("option-conflict", sentence, hint=hint)
    again = f"penstock init {shlex.quote(str(folder))} --template sessions --events"
    source = new_source(folder, path, again)
    files = {"sessions/web.yml": package_text(str(source.table), source.facts, source.first_day)}
    return source.write(files, "models/events.yml")


def package_text(events: str, facts: TableFacts, first_day: str) -> str:
    """Return the file of a package; every guess is marked, every gap is named."""
    lines = [f"{each.key}: {each.value}{each.note}" for each in guesses(facts)]
    days = [each for each in facts.partition_by if _type_of(facts, each) == "date"]
    if days:
        lines.append(f"partition_column: {days[0]}")
    start = first_day or "2020-01-01"
    note = "the first day of the table" if first_day else "guessed: earlier events are left out"
    body = "\n".join(lines)
    return (
        f"# Written from the columns of {events}. Check lines with 'guessed' or 'not found';\n"
        "# then: penstock validate, penstock run --select web\n"
        f"strategy: sessions\nname: web\nevents: {events}\n\n{body}\n\n"
        f"start_date: {start}  # {note}\n"
        "view_events: [page_view]  # guessed: values of event_name that begin a page view\n"
        "ping_events: [page_ping]  # guessed: values that say that a page is still open\n"
    )


def guesses(facts: TableFacts) -> Iterator[Guess]:
    """Yield what each key says, in the order of the file."""
    taken: dict[str, str] = {}
    for key in _SYNONYMS:
        found = list(dict.fromkeys(candidates(key, facts.schema.columns)))
        if key == "user_stitching_id":  # who is known is not who is counted
            found = [each for each in found if each != taken.get("user_id")]
        if found:
            taken[key] = found[0]
            yield Guess(key, _value(key, column_sql(found[0])), _note(key, found))
            continue
        yield _without(key, taken)


def candidates(key: str, columns: Sequence[Column]) -> Iterator[str]:
    """Yield the columns that a key may mean, the surest first."""
    types, words = _SYNONYMS[key]
    by_word = {
        _WORD.sub("", each.name.lower()): each.name
        for each in reversed(columns)
        if not types or each.type in types
    }
    for word in words.split():
        if (name := by_word.get(_WORD.sub("", word))) is not None:
            yield name
    if key == "timestamp":
        named = {_WORD.sub("", word) for word in words.split()}
        yield from (name for word, name in by_word.items() if word not in named)


def _value(key: str, sql: str) -> str:
    text = sql if re.fullmatch(r"\w+", sql) else f'"{sql}"'
    return f"[{text}]" if key in _LISTS else text


def _note(key: str, columns: Sequence[str]) -> str:
    """Return a comment unless the column has the usual name of the key."""
    _, words = _SYNONYMS[key]
    if columns[0].lower() == words.split()[0]:
        return ""
    others = f", or {', '.join(columns[1:4])}" if len(columns) > 1 else ""
    return f"  # guessed{others}"


def _without(key: str, taken: dict[str, str]) -> Guess:
    """Return what a key says if no column looks like it."""
    if key in _OPTIONAL:
        return Guess(key, "null", "  # not found: null switches it off")
    if key == "session_id":
        return Guess("session_timeout", "30 minutes", "  # no session id found: after this silence")
    event = taken.get("event_id")
    if key == "page_view_id" and event:
        return Guess(key, column_sql(event), "  # not found: every event is a view of its own")
    if key == "page_url":
        return Guess(key, '"CAST(NULL AS STRING)"', "  # not found: pages are unknown")
    usual = _SYNONYMS[key][1].split()[0]
    return Guess(key, _value(key, usual), "  # not found: write the column, or SQL")


def _type_of(facts: TableFacts, name: str) -> str:
    column = facts.schema.find(name)
    return column.type if column else ""
