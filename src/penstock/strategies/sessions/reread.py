"""Old sessions that a pass builds again: those of late rows, and those that a user named.

Each has a first and a last time: its events are read between them, beside those of the window.
"""

from __future__ import annotations

import datetime as dt

from penstock.core.names import literal
from penstock.core.sessions.manifest import RebuildRequest
from penstock.core.sessions.options import SessionUser
from penstock.core.statement import Passing, Stage
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.sessions.events import (
    CLASS,
    PASS,
    REREAD,
    SESSION,
    TS,
    USER,
    SessionRun,
    Spans,
    as_time,
    classify,
    days,
    texts,
)
from penstock.strategies.sessions.window import is_near, previous_rows

LATE = "penstock_late_events"
"""The view of all rows of new files."""
OLD_SESSIONS, OLD_MAPPING = "penstock_old_sessions", "penstock_old_mapping"
"""The views of the lifecycle manifest and of the user mapping before the pass."""
RESET_USERS = "penstock_reset_users"
"""The view of the users whose mapping is made from nothing."""
REPLACED = "penstock_replaced_sessions"
"""The view of what was known of the sessions to build again."""
MOST_SPANS = 60
"""More ranges of days become one: a condition has its limits."""
_ID, _USER = "session_identifier", "user_identifier"
_FOUND = "penstock_asked_sessions"
_DAY = dt.timedelta(days=1)
_INSTANT = dt.timedelta(microseconds=1)


def late_counts(run: SessionRun, bound: dt.datetime) -> str:
    """Return how many rows of new files are before the window, and how many up to a bound.

    Rows before the start date are in no window; those before the horizon belong to no session.
    """
    ts = as_time(run, run.package.options.timestamp)
    return (
        f"SELECT count_if({ts} < {run.low}) AS late, count_if({ts} < {horizon(run)}) AS beyond, "
        f"count(*) AS early FROM {LATE} "
        f"WHERE {ts} BETWEEN {_start(run)} AND {instant_literal(bound)}"
    )


def _start(run: SessionRun) -> str:
    return instant_literal(run.package.options.start_date)


def horizon(run: SessionRun) -> str:
    """Return the time before which a late row belongs to no session."""
    back = run.package.options.session_lookback_days
    return _start(run) if back is None else f"greatest({_start(run)}, {run.low} - {days(back)})"


def late_stages(run: SessionRun, bound: dt.datetime, *, maps: bool) -> tuple[Stage, ...]:
    """Return the sessions of rows that arrived late, up to a bound, from their first event on.

    With `maps`, users who may lose the event that says who they are are among `RESET_USERS`: rows
    inside the window can take it, too.
    """
    rows = classify(run, horizon(run), instant_literal(bound), source=LATE)
    found = (
        f"SELECT {SESSION} AS {_ID}, min({TS}) AS low, max({TS}) AS n_end, "
        f"min(CASE WHEN {USER} IS NOT NULL THEN {TS} END) AS user_low FROM ({rows}) "
        f"WHERE {CLASS} = '{PASS}' GROUP BY {SESSION}"
    )
    first = "least(f.low, p.start_tstamp)"
    last = f"least({first} + {run.max_span}, {run.known_to})"
    cut = f"{first} + {run.max_span}"
    moved = f"f.user_low <= p.user_tstamp OR p.user_tstamp > {cut}"
    moved += " OR size(p.past_user_identifiers) > 0"  # by an attempt before
    if run.package.options.user_of_session is not SessionUser.EARLIEST_EVENT:
        moved = "true"
    known = f"SELECT * FROM {OLD_SESSIONS} WHERE {is_near(run)}"
    return _stages(run, found, (known, first, last, moved), maps=maps, rebuilds=False)


def rebuild_stages(run: SessionRun, request: RebuildRequest, *, maps: bool) -> tuple[Stage, ...]:
    """Return the sessions that a user named, or that begin in a range of days.

    A session may begin up to its greatest length before what is known of it. Sessions of the
    range's events count, too: what is known of their start may be wrong.
    """
    old = f"SELECT {_ID}, start_tstamp AS low, end_tstamp AS high FROM {OLD_SESSIONS} WHERE "
    if request.first is None or request.last is None:
        found = old + f"{_ID} IN {texts(request.sessions)}"
    else:
        span = f"DATE {literal(str(request.first))} AND DATE {literal(str(request.last))}"
        low = dt.datetime.combine(request.first, dt.time(), dt.UTC)
        high = dt.datetime.combine(request.last, dt.time(), dt.UTC) + _DAY - _INSTANT
        high = min(high, run.limits.upper_limit)
        events = classify(run, instant_literal(low), instant_literal(high))
        found = (
            f"{old}start_date BETWEEN {span} UNION ALL SELECT {SESSION} AS {_ID}, {TS} AS low, "
            f"{TS} AS high FROM ({events}) WHERE {CLASS} = '{PASS}'"
        )
    # a column of its own: Spark takes it for that of the manifest otherwise
    found = (
        f"SELECT concat({_ID}, '') AS {_ID}, min(low) AS low, max(high) AS n_end, "
        f"CAST(NULL AS TIMESTAMP) AS user_low FROM ({found}) GROUP BY {_ID}"
    )
    cap = f"p.start_tstamp + {run.max_span}"
    first = f"greatest({_start(run)}, least(f.low, p.start_tstamp) - {run.max_span})"
    ended = f"CASE WHEN p.end_tstamp >= {cap} THEN {run.known_to} ELSE {cap} END"
    last = f"least({run.known_to}, greatest(f.n_end + {run.max_span}, {ended}))"
    known = f"SELECT * FROM {OLD_SESSIONS}"
    return _stages(run, found, (known, first, last, "true"), maps=maps, rebuilds=True)


def _stages(
    run: SessionRun, ids: str, terms: tuple[str, str, str, str], *, maps: bool, rebuilds: bool
) -> tuple[Stage, ...]:
    """Return the sessions to build again, what was known of them, and users to map again."""
    near, first, last, moved = terms
    seen = "CAST(NULL AS TIMESTAMP)" if rebuilds else "f.n_end"
    known = previous_rows(run, _FOUND, near)
    replaced = (
        f"SELECT f.{_ID}, f.low, {first} AS first_tstamp, {last} AS last_tstamp, "
        f"{seen} AS seen_tstamp, {moved} AS is_moved, "
        f"p.{_USER}, p.start_tstamp, p.start_date AS session_start_date, "
        f"coalesce(p.past_user_identifiers, CAST(array() AS ARRAY<STRING>)) "
        "AS past_user_identifiers, coalesce(p.past_start_dates, CAST(array() AS ARRAY<DATE>)) "
        f"AS past_start_dates FROM {_FOUND} f LEFT JOIN ({known}) p ON p.{_ID} = f.{_ID}"
    )
    every = "flatten(collect_set(array_union(past_start_dates, array(session_start_date))))"
    counts = {"old_dates": f"array_join(array_sort(array_distinct({every})), ',')"}
    again = f"SELECT {_ID}, first_tstamp, last_tstamp, seen_tstamp FROM {REPLACED}"
    users: tuple[Stage, ...] = ()
    if maps:
        users = (
            counted_stage(
                run, RESET_USERS, reset_users(run, rebuilds=rebuilds), {"reset": "count(*)"}
            ),
        )
        last = f"least(p.start_tstamp + {run.max_span}, {run.known_to})"
        others = sessions_of_users(near, last)
        nothing = "CAST(NULL AS TIMESTAMP) AS seen_tstamp"
        again += f" UNION ALL SELECT {_ID}, first_tstamp, last_tstamp, {nothing} FROM ({others})"
    read = {"days": days_of("first_tstamp", "last_tstamp"), "again": "count(*)"}
    return (
        counted_stage(run, _FOUND, ids, {"asked": "count(*)"}),
        counted_stage(run, REPLACED, replaced, counts),
        *users,
        counted_stage(run, REREAD, again, read),
    )


def counted_stage(run: SessionRun, view: str, sql: str, counts: dict[str, str]) -> Stage:
    """Return rows that are computed once, with their counts."""
    passing = Passing(f"{view}_all", sql, counts)
    return Stage(view, f"SELECT * FROM {view}_all", passing=passing, confs=run.confs)


def reset_users(run: SessionRun, *, rebuilds: bool) -> str:
    """Return users whose known name may come from an event that is theirs no more.

    One whose mapping is gone already was found by an attempt before.
    """
    every = f"array_union(past_user_identifiers, array({_USER}))"
    past = "CAST(array_max(past_start_dates) AS TIMESTAMP) + INTERVAL '1' DAY"
    newest = f"greatest(start_tstamp, {past})"
    rows = (
        f"SELECT explode({every}) AS {_USER}, {_USER} AS now, is_moved, low, first_tstamp, "
        f"{newest} + {run.max_span} AS cap FROM {REPLACED} WHERE start_tstamp IS NOT NULL"
    )
    inside = "m.mapped_tstamp BETWEEN u.first_tstamp AND u.cap"
    dropped = "u.is_moved OR m.mapped_tstamp >= u.low"  # by a duplicate, or beyond the cap
    gone = f"m.{_USER} IS NULL" + ("" if rebuilds else f" AND NOT u.{_USER} <=> u.now")
    return (
        f"SELECT DISTINCT u.{_USER} FROM ({rows}) u LEFT JOIN {OLD_MAPPING} m "
        f"ON m.{_USER} = u.{_USER} WHERE u.{_USER} IS NOT NULL "
        f"AND (({inside} AND ({dropped})) OR ({gone}))"
    )


def sessions_of_users(near: str, last: str) -> str:
    """Return the other known sessions of these users, up to a time."""
    newest = f"row_number() OVER (PARTITION BY p.{_ID} ORDER BY p.start_tstamp DESC)"
    rows = (
        f"SELECT p.{_ID}, p.{_USER}, p.start_tstamp AS first_tstamp, {last} AS last_tstamp, "
        f"{newest} AS n "
        f"FROM ({near}) p "
        f"LEFT SEMI JOIN {RESET_USERS} u ON u.{_USER} = p.{_USER} "
        f"LEFT ANTI JOIN {REPLACED} r ON r.{_ID} = p.{_ID}"
    )
    return f"SELECT {_ID}, {_USER}, first_tstamp, last_tstamp FROM ({rows}) WHERE n = 1"


def days_of(first: str, last: str) -> str:
    """Return the aggregate of the days between two times, comma-separated and ascending."""
    dates = f"flatten(collect_set(sequence(DATE({first}), DATE({last}))))"
    return f"array_join(array_sort(array_distinct({dates})), ',')"


def spans_of(dates: str) -> Spans:
    """Return days, comma-separated and ascending, as ranges of time.

    >>> [(str(a)[:10], str(b)[:10]) for a, b in spans_of("2021-01-01,2021-01-02,2021-03-01")]
    [('2021-01-01', '2021-01-02'), ('2021-03-01', '2021-03-01')]
    """
    ranges: list[tuple[dt.datetime, dt.datetime]] = []
    for text in dates.split(",") if dates else ():
        low = dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
        high = low + _DAY - _INSTANT
        if ranges and low - ranges[-1][1] == _INSTANT:
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((low, high))
    if len(ranges) > MOST_SPANS:
        return ((ranges[0][0], ranges[-1][1]),)
    return tuple(ranges)
