"""The columns that a package needs in its events table, checked against the existing ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.core.columns.schema import Schema
from penstock.core.findings import Finding, Location
from penstock.core.names import is_plain
from penstock.core.sessions.options import (
    CHANNEL,
    CarriedColumn,
    SessionOptions,
    SessionTable,
    prefixed_name,
)
from penstock.core.sessions.package import SessionPackage
from penstock.project.checks.scene import KnownColumns
from penstock.project.entities.parts import ExpressionFacts
from penstock.project.files.values import did_you_mean
from penstock.project.sessions.definition import GOALS, OF_USERS, SessionFile, WrittenSql

RESERVED = ("session_identifier", "user_identifier", "session_start_date")
"""The columns that penstock adds to the events of a run."""
_TIMES = ("timestamp", "timestamp_ntz")
_OF_VIEWS = frozenset({SessionTable.PAGE_VIEWS, SessionTable.SESSIONS})
_PAGE_VIEWS = """
page_view_id event_id session_identifier user_identifier user_id page_url app_id platform
stitched_user_id page_view_in_session_index page_views_in_session start_tstamp end_tstamp
engaged_time_in_s absolute_time_in_s horizontal_pixels_scrolled vertical_pixels_scrolled
horizontal_percentage_scrolled vertical_percentage_scrolled session_start_date run_id
"""
_SESSIONS = """
session_identifier user_identifier user_id first_event_id app_id platform start_tstamp end_tstamp
page_views total_events engaged_time_in_s absolute_time_in_s is_engaged first_page_url last_page_url
stitched_user_id session_start_date run_id
"""
_USERS = """
user_identifier user_id start_tstamp end_tstamp sessions page_views engaged_time_in_s
first_session_identifier last_session_identifier first_page_url last_page_url
user_identifiers run_id
"""
_SESSION_COLUMNS = tuple(_SESSIONS.split())
_INSIDE = "_ps_"
"""The prefix of columns that only statements see."""


@dataclass(frozen=True, slots=True)
class NeededColumn:
    """A column of the events that a key needs.

    `types` are its allowed types, empty for any. `of_modules` is whether only modules read it, from
    the events of a run.
    """

    key: str
    column: str
    where: Location
    types: tuple[str, ...] = ()
    hint: str = ""
    of_modules: bool = False


Facts = Callable[[str], ExpressionFacts]
"""Returns the facts of an expression."""


def sql_findings(file: SessionFile, facts: Facts) -> Iterator[Finding]:
    """Report expressions that are invalid, or that differ between runs."""
    for each in file.sql:
        found = facts(each.text)
        where, is_whole = each.where, each.is_aggregate
        if found.problem and not (is_whole and found.aggregate):
            sentence = f"{each.key} is {_cut(each.text)}: {found.problem}"
            hint = "write an aggregate over the events of a session" if is_whole else ""
            yield Finding(where, "bad-expression", sentence, hint or "write SQL of one event")
        elif is_whole and not found.aggregate:
            sentence = f"{each.key} is {_cut(each.text)}, which reads one event"
            yield Finding(where, "bad-expression", sentence, "write an aggregate, such as max(x)")
        elif found.volatile:
            calls = " and ".join(f"{word}()" for word in found.volatile)
            sentence = f"{each.key} calls {calls}"
            yield Finding(where, "volatile-expression", sentence, "use columns of the event")


def _cut(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")  # noqa: PLR2004  bounded output


def needed_columns(file: SessionFile, facts: Facts) -> Iterator[NeededColumn]:
    """Yield every column that the package reads of its events, from its keys."""
    yield from _of_base(file.package)
    yield from _of_modules(file.package)
    yield from _of_expressions(file, facts)


def _place(package: SessionPackage, key: str) -> Location:
    """Return the place of a key, or of the `events` key without it."""
    return package.places.get(key) or package.places.get("events", package.where)


def _needed(
    package: SessionPackage,
    key: str,
    column: str | None,
    **more: Any,  # noqa: ANN401  fields
) -> Iterator[NeededColumn]:
    if column is not None:
        yield NeededColumn(key, column, _place(package, key), **more)


def _of_base(package: SessionPackage) -> Iterator[NeededColumn]:
    options, written = package.options, package.places
    yield from _needed(package, "timestamp", options.timestamp, types=_TIMES)
    if options.tests_lateness:
        for key in ("created_tstamp", "sent_tstamp"):
            hint = f"set {key}: null to switch the lateness test off"
            yield from _needed(package, key, getattr(options, key), types=_TIMES, hint=hint)
    if options.app_ids:
        yield from _needed(package, "app_id", options.app_id)
    hint = "name a DATE column that the events are partitioned by, or take the key out"
    column = options.partition_column
    yield from _needed(package, "partition_column", column, types=("date",), hint=hint)
    for column in options.tie_break if "tie_break" in written else ():
        yield from _needed(package, "tie_break", column)
    for column in options.event_columns:
        yield from _needed(package, "event_columns", None if column == "*" else column)


def _of_modules(package: SessionPackage) -> Iterator[NeededColumn]:
    options = package.options
    if options.built_modules:
        hint = "set user_stitching_id to the column of users that are known"
        column = options.user_stitching_id
        yield from _needed(package, "user_stitching_id", column, hint=hint, of_modules=True)
    if _has_views(options):
        hint = f"set derived_tstamp: null to take {options.timestamp}"
        clock, of = options.derived_tstamp, {"types": _TIMES, "of_modules": True}
        yield from _needed(package, "derived_tstamp", clock, hint=hint, **of)
        if options.bot_pattern:
            yield from _needed(package, "useragent", options.useragent, of_modules=True)


def _has_views(options: SessionOptions) -> bool:
    """Return whether some table reads views and pings."""
    return not _OF_VIEWS.isdisjoint(options.modules)


def _of_expressions(file: SessionFile, facts: Facts) -> Iterator[NeededColumn]:
    options, written = file.package.options, {each.key for each in file.sql}
    usual = _usual(options)
    said: list[tuple[str, str, Location]] = [
        (each.key, each.text, each.where) for each in file.sql if _counts(each, options)
    ]
    for key, texts in usual.items():
        said += [(key, text, file.events_at) for text in texts if key not in written]
    base = ("event_id", "session_id", "user_id", "filters")
    for key, text, where in said:
        for column in facts(text).reads:
            yield NeededColumn(key, column, where, of_modules=key not in base)


def _usual(options: SessionOptions) -> Mapping[str, tuple[str, ...]]:
    """Return the default expressions of keys."""
    views = _has_views(options)
    return {
        "event_id": (options.event_id,),
        **({} if options.finds_sessions else {"session_id": options.session_id}),
        "user_id": options.user_id,
        **({"event_name": (options.event_name,)} if views else {}),
        **({"page_view_id": (options.page_view_id,)} if views else {}),
    }


def _counts(each: WrittenSql, options: SessionOptions) -> bool:
    """Return whether some built table reads an expression."""
    of_views = ("event_name", "page_view_id", "page_url", "passthrough.page_views")
    if each.key in of_views:
        return _has_views(options)
    if OF_USERS in each.key:  # it reads sessions
        return False
    carried = ("passthrough.first", "passthrough.last", "passthrough.agg")
    of_sessions = ("engaged_when", GOALS, *carried)
    return each.key not in of_sessions or SessionTable.SESSIONS in options.modules


def column_findings(file: SessionFile, columns: KnownColumns, facts: Facts) -> Iterator[Finding]:
    """Check the needed columns against those of the events, as far as they are known."""
    yield from _held_against(file.package, needed_columns(file, facts), columns)
    yield from _user_findings(file, file.package.options, facts)


def events_findings(package: SessionPackage, schema: Schema) -> Iterator[Finding]:
    """Check the needed columns against the events of a run.

    The files may not have contained their columns. Of expressions, only plain names are checked.
    """
    names = {each.name.lower(): each.type.lower() for each in schema.columns}
    plain = (
        NeededColumn(key, text, _place(package, key))
        for key, texts in _usual(package.options).items()
        for text in texts
        if is_plain(text)
    )
    needed = (*_of_base(package), *_of_modules(package), *plain)
    return _held_against(package, needed, KnownColumns(schema.names, names))


def _held_against(
    package: SessionPackage, needed: Iterable[NeededColumn], columns: KnownColumns
) -> Iterator[Finding]:
    carried, events = _carried(package.options), package.events.name
    seen = set()
    for each in needed:
        if (each.key, each.column.lower()) in seen:
            continue
        seen.add((each.key, each.column.lower()))
        if columns.lacks(each.column):
            near = did_you_mean(each.column, columns.names or ())
            sentence = f"{events} has no {each.column!r}"
            hint = each.hint or near or columns.without(each.column)[1]
            yield Finding(each.where, "unknown-column", sentence, hint)
            continue
        kind = columns.type_of(each.column)
        if kind and each.types and kind not in each.types:
            wanted = " or ".join(word.upper() for word in each.types)
            sentence = f"{each.key} is {each.column}, which is {kind.upper()}; it must be {wanted}"
            yield Finding(each.where, "wrong-column-type", sentence)
        if carried is not None and each.of_modules and each.column.lower() not in carried:
            where = _place(package, "event_columns")
            sentence = f"event_columns leaves {each.column!r} out, which {each.key} needs"
            yield Finding(where, "module-needs", sentence, f"add {each.column}, or '*'")
    for name in RESERVED:
        if columns.names is not None and not columns.lacks(name):
            sentence = f"{events} has a column {name!r}, which penstock adds to its events"
            hint = "rename it in a view, and let events name that"
            yield Finding(_place(package, "events"), "reserved-column", sentence, hint)


def _carried(options: SessionOptions) -> frozenset[str] | None:
    """Return the columns that modules find among the events of a run, None for all."""
    if "*" in options.event_columns:
        return None
    return frozenset(name.lower() for name in options.event_columns)


def _user_findings(file: SessionFile, options: SessionOptions, facts: Facts) -> Iterator[Finding]:
    """Report user columns that sessions do not have."""
    carried = options.passthrough
    said = (*carried.sessions_first, *carried.sessions_agg)
    known = [*_SESSION_COLUMNS, *(each.name for each in said), *options.goal_columns]
    known += [last_name(each.name) for each in carried.sessions_last]
    read = [(each.sql, each) for each in (*carried.users_first, *carried.users_last)]
    texts = [(each.sql, each) for each in carried.users_agg]
    texts += [(each.when, each) for _, each in read if each.when]
    read += [(name, each) for text, each in texts for name in facts(text).reads]
    for name, each in read:
        if name.lower() not in map(str.lower, known):
            where = each.where or file.package.places.get("passthrough", file.events_at)
            sentence = f"{file.package.name}_sessions has no {name!r}"
            hint = did_you_mean(name, known) or "carry it over into sessions first"
            yield Finding(where, "unknown-column", sentence, hint)


def last_name(name: str) -> str:
    """Return the name of a column that sessions take from their last event."""
    return f"last_{name}"


def carried_findings(package: SessionPackage) -> Iterator[Finding]:
    """Report carried columns whose name the module already has, in any letter case."""
    carried, options = package.options.passthrough, package.options
    clocks = (options.timestamp, options.derived_tstamp, options.created_tstamp)
    own = {
        "page_views": [*_PAGE_VIEWS.split(), *(each for each in clocks if each)],
        "sessions": _SESSIONS.split(),
        "users": _USERS.split(),
    }
    own["sessions"] += options.goal_columns
    own["users"] += [name for each in options.conversions for name in each.columns]
    own["users"] += [f"{word}_{CHANNEL}" for word in ("first", "last") if options.channels]
    named: Mapping[str, Sequence[tuple[str, CarriedColumn]]] = {
        "page_views": [(each.name, each) for each in carried.page_views],
        "sessions": [
            *((each.name, each) for each in carried.sessions_first),
            *((last_name(each.name), each) for each in carried.sessions_last),
            *((each.name, each) for each in carried.sessions_agg),
        ],
        "users": [
            *((prefixed_name("first", each.name), each) for each in carried.users_first),
            *((prefixed_name("last", each.name), each) for each in carried.users_last),
            *((each.name, each) for each in carried.users_agg),
        ],
    }
    for module, columns in named.items():
        known = {*map(str.lower, (*own[module], *RESERVED))}
        for name, each in columns:
            if name.lower() in known or name.lower().startswith(_INSIDE):
                where = each.where or _place(package, "passthrough")
                sentence = f"{package.name}_{module} has a column {name!r} already"
                yield Finding(where, "duplicate-column", sentence, "write {other_name: SQL}")
            known.add(name.lower())
