"""Sessions of events that have no session id: the events of a user without a long silence.

The lifecycle manifest has the first and the last event of each session. So new events and known
sessions are ranges of time, and those of a user that are near each other are one session. Only
where they are longer than a session may be, the events between are read, and cut. A session keeps
the id that it got first; of several that become one, the earliest stays.
"""

from __future__ import annotations

import datetime as dt

from penstock.core.names import literal
from penstock.core.sessions.manifest import RebuildRequest
from penstock.core.statement import Stage
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.sessions.events import (
    CLASS,
    PASS,
    REREAD,
    TS,
    USER,
    SessionRun,
    Spans,
    texts,
    user_events,
)
from penstock.strategies.sessions.reread import (
    LATE,
    OLD_SESSIONS,
    REPLACED,
    RESET_USERS,
    counted_stage,
    days_of,
    horizon,
    reset_users,
    sessions_of_users,
)
from penstock.strategies.sessions.tables import PAST_IDS
from penstock.strategies.sessions.window import REGIONS, is_near

_ID, _USER = "session_identifier", "user_identifier"
_POINTS = "penstock_user_events"
_ASKED = "penstock_asked_sessions"
_FOUND = "penstock_found_sessions"
_OWN = f"concat(k.{_ID}, '') AS {_ID}, concat(k.{_USER}, '') AS {_USER}"
"""Columns of their own: in a join with the same view, Spark takes one for the other otherwise."""
_TIMES = "CAST(array() AS ARRAY<TIMESTAMP>)"
_NO_TEXTS, _NO_DATES = "CAST(array() AS ARRAY<STRING>)", "CAST(array() AS ARRAY<DATE>)"


def asked_stage(run: SessionRun, request: RebuildRequest) -> Stage:
    """Return the known sessions that a user named, or that have a part in a range of days."""
    where = f"{_ID} IN {texts(request.sessions)}"
    if request.first is not None and request.last is not None:
        first, last = (literal(str(each)) for each in (request.first, request.last))
        where = f"start_date <= DATE {last} AND DATE(end_tstamp) >= DATE {first}"
    rows = f"SELECT {_OWN}, start_tstamp, end_tstamp FROM {OLD_SESSIONS} k WHERE {where}"
    return counted_stage(run, _ASKED, rows, {"days": days_of("start_tstamp", "end_tstamp")})


def asked_days(request: RebuildRequest, days: str) -> str:
    """Return the days whose events a rebuild reads: those of its sessions and of its range."""
    found = {*days.split(",")} - {""}
    if request.first is not None and request.last is not None:
        span = (request.last - request.first).days
        found |= {str(request.first + dt.timedelta(days=n)) for n in range(span + 1)}
    return ",".join(sorted(found))


def window_points(run: SessionRun, bound: dt.datetime | None) -> Stage:
    """Return when users have events in the window, or late ones up to a bound."""
    inside = user_events(run, run.low, run.high)
    rows = f"SELECT {USER}, {TS}, false AS is_late FROM ({inside}) WHERE {CLASS} = '{PASS}'"
    if bound is not None:
        high = instant_literal(bound)
        late = user_events(run, horizon(run), high, source=LATE)
        rows += f" UNION ALL SELECT {USER}, {TS}, true FROM ({late}) WHERE {CLASS} = '{PASS}'"
    return _points(run, rows)


def rebuilt_points(run: SessionRun, request: RebuildRequest, spans: Spans) -> Stage:
    """Return when users have events in a range of days, or in the sessions to rebuild."""
    inside = f"e.{TS} BETWEEN a.start_tstamp AND a.end_tstamp"
    if request.first is not None and request.last is not None:
        days = f"DATE {literal(str(request.first))} AND DATE {literal(str(request.last))}"
        inside = f"({inside} OR DATE(e.{TS}) BETWEEN {days})"
        join = "LEFT JOIN"
        where = f"a.{_ID} IS NOT NULL OR DATE(e.{TS}) BETWEEN {days}"
    else:
        join, where = "JOIN", "true"
    rows = (
        f"SELECT e.{USER}, e.{TS}, true AS is_late FROM ({_events(run, spans)}) e "
        f"{join} {_ASKED} a ON a.{_USER} = e.{USER} AND {inside} WHERE {where}"
    )
    return _points(run, rows)


def _points(run: SessionRun, rows: str) -> Stage:
    found = (
        f"SELECT {USER} AS {_USER}, {TS} AS ts, bool_or(is_late) AS is_late FROM ({rows}) "
        f"GROUP BY {USER}, {TS}"
    )
    return counted_stage(run, _POINTS, found, {"points": "count(*)"})


def _events(run: SessionRun, spans: Spans) -> str:
    """Return the valid events in some ranges of time."""
    if not spans:
        return f"{user_events(run, run.high, run.low)} LIMIT 0"
    (low, high), *more = spans
    bounds = (instant_literal(low), instant_literal(high))
    found = user_events(run, *bounds, spans=tuple(more))
    return f"SELECT * FROM ({found}) WHERE {CLASS} = '{PASS}'"


def _known_sessions(run: SessionRun, *, rebuilds: bool) -> str:
    near = "" if rebuilds else f" WHERE {is_near(run)}"
    return f"SELECT * FROM {OLD_SESSIONS}{near}"


def region_stage(run: SessionRun, *, rebuilds: bool) -> Stage:
    """Return the times of users in which sessions may begin and end otherwise than known.

    Each begins with a session that begins as before. One that is longer than a session may be
    `is_long`; `late` is its first late event. One without events `is_gone`.
    """
    known = _known_sessions(run, rebuilds=rebuilds)
    if rebuilds:  # nothing that is known of them counts
        known = f"SELECT k.* FROM ({known}) k LEFT ANTI JOIN {_ASKED} a ON a.{_ID} = k.{_ID}"
    of_users = f"SELECT k.* FROM ({known}) k LEFT SEMI JOIN {_POINTS} p ON p.{_USER} = k.{_USER}"
    ranges = (
        f"SELECT {_USER}, ts AS low, ts AS high, true AS is_point, is_late FROM {_POINTS} "
        f"UNION ALL SELECT {_USER}, start_tstamp, end_tstamp, false, false FROM ({of_users})"
    )
    order = f"PARTITION BY {_USER} ORDER BY low, high, is_point"
    before = f"max(high) OVER ({order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    begins = f"CASE WHEN low <= {before} + {_timeout(run)} THEN 0 ELSE 1 END"
    numbered = (
        f"SELECT *, sum(begins) OVER ({order} ROWS UNBOUNDED PRECEDING) AS chain "
        f"FROM (SELECT *, {begins} AS begins FROM ({ranges}))"
    )
    chains = (
        f"SELECT {_USER}, min(low) AS low, max(high) AS high, "
        "min(CASE WHEN is_point THEN low END) AS point, min(CASE WHEN is_late THEN low END) "
        "AS late, collect_list(CASE WHEN NOT is_point THEN low END) AS starts "
        f"FROM ({numbered}) GROUP BY {_USER}, chain HAVING max(is_point)"
    )
    is_long = f"high > low + {run.max_span}"
    last = "coalesce(array_max(filter(starts, s -> s <= point)), low)"
    regions = (
        f"SELECT {_USER}, CASE WHEN {is_long} THEN {last} ELSE low END AS first_tstamp, "
        f"high AS last_tstamp, late FROM ({chains})"
    )
    is_long = f"last_tstamp > first_tstamp + {run.max_span}"
    found = f"SELECT *, {is_long} AS is_long, false AS is_gone FROM ({regions})"
    if rebuilds:
        found += (
            f" UNION ALL SELECT {_USER}, start_tstamp, end_tstamp, start_tstamp, false, true "
            f"FROM {_ASKED}"
        )
    ends = "CASE WHEN is_long THEN {} END"
    long = days_of(ends.format("first_tstamp"), ends.format("last_tstamp"))
    return counted_stage(run, REGIONS, found, {"long_days": long})


def _timeout(run: SessionRun) -> str:
    timeout = run.package.options.session_timeout or dt.timedelta()
    return f"INTERVAL '{timeout // dt.timedelta(seconds=1)}' SECOND"


def _found_stage(run: SessionRun, spans: Spans) -> Stage:
    """Return the sessions in those times, without ids: long times are cut at their events."""
    rows = (
        f"SELECT {_USER}, first_tstamp, last_tstamp, late FROM {REGIONS} "
        "WHERE NOT is_long AND NOT is_gone"
    )
    if spans:
        times = (
            f"SELECT r.{_USER}, r.first_tstamp AS region, r.late, "
            f"array_sort(collect_set(e.{TS})) AS times FROM ({_events(run, spans)}) e "
            f"JOIN {REGIONS} r ON r.{_USER} = e.{USER} AND r.is_long "
            f"AND e.{TS} BETWEEN r.first_tstamp AND r.last_tstamp "
            f"GROUP BY r.{_USER}, r.first_tstamp, r.late"
        )
        goes_on = f"coalesce(t <= try_element_at(s, -1) + {run.max_span}, false)"
        starts = (
            f"aggregate(times, {_TIMES}, (s, t) -> "
            f"CASE WHEN {goes_on} THEN s ELSE concat(s, array(t)) END)"
        )
        cuts = (
            f"SELECT {_USER}, late, times, starts, posexplode(starts) AS (n, first_tstamp) "
            f"FROM (SELECT *, {starts} AS starts FROM ({times}))"
        )
        inside = "t -> coalesce(t < try_element_at(starts, n + 2), true)"
        rows += (
            f" UNION ALL SELECT {_USER}, first_tstamp, array_max(filter(times, {inside})), late "
            f"FROM ({cuts})"
        )
    return counted_stage(run, _FOUND, rows, {"found": "count(*)"})


def session_stages(
    run: SessionRun, spans: Spans, *, rebuilds: bool, maps: bool
) -> tuple[Stage, ...]:
    """Return the sessions of the pass with their ids, and what was known of them.

    `spans` are the days of long times. With `maps`, users who may lose the event that says who
    they are are mapped again, so their other sessions belong to the pass.
    """
    known = _known_sessions(run, rebuilds=rebuilds)
    of_users = f"SELECT k.* FROM ({known}) k LEFT SEMI JOIN {REGIONS} g ON g.{_USER} = k.{_USER}"
    inside = f"g.{_USER} = k.{_USER} AND k.start_tstamp BETWEEN g.first_tstamp AND g.last_tstamp"
    overlap = f"r.{_USER} = k.{_USER} AND k.start_tstamp <= r.last_tstamp"
    ranked = f"row_number() OVER (PARTITION BY k.{_ID}, k.start_tstamp ORDER BY r.first_tstamp)"
    replaced = (
        f"SELECT {_OWN}, k.start_tstamp, k.start_date AS session_start_date, "
        f"k.past_user_identifiers, k.past_start_dates, k.{PAST_IDS}, "
        "coalesce(r.first_tstamp, k.start_tstamp) AS first_tstamp, r.last_tstamp, r.late AS low, "
        f"{str(rebuilds).lower()} AS is_moved, r.{_USER} IS NULL AS is_gone, {ranked} AS n "
        f"FROM (SELECT k.* FROM ({known}) k LEFT SEMI JOIN {REGIONS} g ON {inside}) k "
        f"LEFT JOIN {_FOUND} r ON {overlap} AND k.end_tstamp >= r.first_tstamp"
    )
    every = "flatten(collect_set(array_union(past_start_dates, array(session_start_date))))"
    counts = {"old_dates": f"array_join(array_sort(array_distinct({every})), ',')"}
    again = _named_sessions(run, of_users)
    users: tuple[Stage, ...] = ()
    if maps:
        reset = {"reset": "count(*)"}
        users = (counted_stage(run, RESET_USERS, reset_users(run, rebuilds=rebuilds), reset),)
        others = sessions_of_users(known, "p.end_tstamp")
        again += (
            f" UNION ALL SELECT {_ID}, {_USER}, first_tstamp, last_tstamp, last_tstamp, "
            f"{_NO_TEXTS}, {_NO_DATES} FROM ({others})"
        )
    outside = f"first_tstamp < {run.low} OR last_tstamp > {run.high}"
    ends = [f"CASE WHEN {outside} THEN {each} END" for each in ("first_tstamp", "last_tstamp")]
    return (
        _found_stage(run, spans),
        counted_stage(run, REPLACED, f"SELECT * EXCEPT (n) FROM ({replaced}) WHERE n = 1", counts),
        *users,
        counted_stage(run, REREAD, again, {"days": days_of(*ends), "again": "count(*)"}),
    )


def _named_sessions(run: SessionRun, of_users: str) -> str:
    """Return the found sessions with their ids: the earliest known one in it, or a new one."""
    dates = "flatten(collect_list(array_union(past_start_dates, array(session_start_date))))"
    known = (
        f"SELECT {_USER}, first_tstamp, "
        f"min_by({_ID}, struct(start_tstamp, {_ID})) AS id, "
        f"array_union(collect_list({_ID}), flatten(collect_list({PAST_IDS}))) AS ids, "
        f"array_distinct({dates}) AS dates FROM {REPLACED} WHERE NOT is_gone "
        f"GROUP BY {_USER}, first_tstamp"
    )
    taken = (
        f"SELECT {_USER}, flatten(collect_list(array_union({PAST_IDS}, array({_ID})))) AS taken "
        f"FROM (SELECT {_OWN}, {PAST_IDS} FROM ({of_users}) k) GROUP BY {_USER}"
    )
    event = f"concat(f.{_USER}, ' ', unix_micros(f.first_tstamp))"
    is_taken = f"coalesce(array_contains(t.taken, md5({event})), false)"
    # a session that began with this event has another start since
    new = f"CASE WHEN {is_taken} THEN md5(concat({event}, ' {run.seq}')) ELSE md5({event}) END"
    rows = (
        f"SELECT coalesce(k.id, {new}) AS {_ID}, f.*, k.ids, k.dates FROM {_FOUND} f "
        f"LEFT JOIN ({known}) k ON k.{_USER} = f.{_USER} AND k.first_tstamp = f.first_tstamp "
        f"LEFT JOIN ({taken}) t ON t.{_USER} = f.{_USER}"
    )
    return (
        f"SELECT {_ID}, {_USER}, first_tstamp, last_tstamp, last_tstamp AS seen_tstamp, "
        f"coalesce(array_except(ids, array({_ID})), {_NO_TEXTS}) AS joined_ids, "
        f"coalesce(dates, {_NO_DATES}) AS joined_dates FROM ({rows})"
    )
