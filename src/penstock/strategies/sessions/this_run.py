"""The other base tables: the quarantine, the sessions and events of a run, and its counts."""

from __future__ import annotations

import datetime as dt

from penstock.core.columns.schema import Schema
from penstock.core.names import literal, quoted
from penstock.core.sessions.manifest import Limits
from penstock.core.sessions.options import SessionTable
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.sessions.events import (
    CLASS,
    EVENT,
    PASS,
    REREAD,
    SESSION,
    TS,
    SessionRun,
    ascending,
    classify,
    event_hash,
    order_of,
)
from penstock.strategies.sessions.tables import PAST_IDS, QUARANTINE_COLUMNS
from penstock.strategies.sessions.window import BEFORE, KNOWN, TOUCHED, old_quarantine

_ID = "session_identifier"
VERDICT, SCOPE = "_ps_verdict", "_ps_scope"
VERDICTS = ("quarantined", "before_start", "beyond_cap", "duplicate", "kept")
"""The classes of valid events."""
ROWS_HELD = "penstock_quarantine_rows"
"""The view of the sessions whose quarantine entry may change."""
CANDIDATES = "penstock_event_candidates"
"""The view of the events read for a run, with their classes."""


def sessions_this_run(run: SessionRun) -> str:
    """Return the sessions to rebuild, including quarantined ones whose cap is in the window."""
    ids = f"{PAST_IDS}, " if run.package.options.finds_sessions else ""
    return (
        f"SELECT {_ID}, user_identifier, start_tstamp, "
        f"least(end_tstamp, {run.high}) AS end_tstamp, start_date AS session_start_date, "
        f"past_user_identifiers, past_start_dates, {ids}{run.run_id} AS run_id "
        f"FROM {TOUCHED}"
    )


def quarantine_rows(run: SessionRun) -> str:
    """Return the changed quarantine entries, without counts of dropped events.

    The lifecycle manifest already includes this run. Events after the cap, or after the last
    counted one, are dropped; each counts once. If all events of the window are there, they are
    counted already; with `is_past`, only some are.
    """
    at_cap = f"end_tstamp >= start_tstamp + {run.max_span}"
    seen = f"UNION ALL SELECT {_ID}, start_tstamp, end_tstamp, false FROM {KNOWN} WHERE NOT is_held"
    if run.package.options.is_snowplow:
        at_cap, seen = f"least(end_tstamp, {run.high}) = start_tstamp + {run.max_span}", ""
    found = (
        f"SELECT {_ID}, max(struct(in_run, start_tstamp)) AS f FROM (SELECT {_ID}, start_tstamp, "
        f"end_tstamp, true AS in_run FROM {TOUCHED} {seen}) WHERE {at_cap} "
        f"GROUP BY {_ID}"
    )
    released = f"{_ID} IN {run.released_ids}"
    if run.rebuilds:  # their entries are decided again, too
        released += f" OR {_ID} IN (SELECT {_ID} FROM {REREAD})"
    known = f"SELECT *, coalesce({released}, false) AS is_released FROM {BEFORE}"
    both = (
        f"SELECT coalesce(k.{_ID}, q.{_ID}) AS {_ID}, q.{_ID} IS NOT NULL AS is_found, "
        f"k.{_ID} IS NOT NULL AND NOT k.is_released AS is_known, "
        f"coalesce(k.is_released, false) AS is_released, q.f.in_run, k.since, k.reason, k.run_id, "
        "coalesce(q.f.start_tstamp, k.start_tstamp) AS start_tstamp, "
        "coalesce(k.events_dropped, 0) AS events_dropped, k.dropped_to "
        f"FROM ({found}) q FULL OUTER JOIN ({known}) k ON k.{_ID} = q.{_ID}"
    )
    counted = f"greatest(b.start_tstamp + {run.max_span}, b.dropped_to)"
    whole = f"w.n_start > {counted} AND w.n_start >= {run.low}"
    rows = (
        f"SELECT b.*, {counted} AS mark, coalesce(w.n_end > {counted}, false) AS is_past, "
        f"coalesce({whole}, false) AS is_whole, w.passing, w.n_end "
        f"FROM ({both}) b LEFT JOIN {KNOWN} w ON w.{_ID} = b.{_ID}"
    )
    return (
        f"SELECT {_ID}, coalesce(CASE WHEN is_known THEN since END, {instant_literal(run.now)}) "
        "AS since, CASE WHEN is_known THEN reason WHEN in_run THEN 'too_long' "
        "ELSE 'id_reused' END AS reason, "
        f"coalesce(CASE WHEN is_known THEN run_id END, {run.run_id}) AS run_id, "
        "start_tstamp, events_dropped + CASE WHEN is_whole THEN passing ELSE 0 END "
        "AS events_dropped, CASE WHEN is_whole THEN n_end ELSE dropped_to END AS dropped_to, "
        "NOT is_found AND is_released AS gone, NOT is_known AS is_new, mark, "
        "is_past AND NOT is_whole AS is_past, NOT is_known OR is_whole AS is_changed "
        f"FROM ({rows}) WHERE NOT is_known OR is_past"
    )


def quarantine_changes(run: SessionRun) -> str:
    """Return the changes of the quarantine, with the dropped events of the window.

    This reads the events a third time, if there is anything to count.
    """
    events = (
        f"SELECT {SESSION} AS {_ID}, {TS} AS ts FROM ({classify(run, run.low, run.high)}) "
        f"WHERE {CLASS} = '{PASS}'"
    )
    dropped = (
        f"SELECT {run.hint('m')}m.{_ID}, count(*) AS n, max(e.ts) AS last "
        f"FROM {ROWS_HELD} m JOIN ({events}) e "
        f"ON e.{_ID} = m.{_ID} AND e.ts > m.mark WHERE m.is_past GROUP BY m.{_ID}"
    )
    return (
        f"SELECT m.{_ID}, m.since, m.reason, m.run_id, m.start_tstamp, "
        "m.events_dropped + coalesce(d.n, 0) AS events_dropped, "
        "greatest(m.dropped_to, d.last) AS dropped_to, m.gone "
        f"FROM {ROWS_HELD} m LEFT JOIN ({dropped}) d ON d.{_ID} = m.{_ID} "
        "WHERE m.is_changed OR d.n > 0"
    )


def quarantine_merge(target: str, changes: str) -> str:
    """Return the one statement that inserts, counts and removes."""
    own = [name for name in QUARANTINE_COLUMNS if name != _ID]
    changed = ", ".join(f"t.{name} = s.{name}" for name in own)
    columns = ", ".join(QUARANTINE_COLUMNS)
    values = ", ".join(f"s.{name}" for name in QUARANTINE_COLUMNS)
    return (
        f"MERGE INTO {target} t USING {changes} s ON t.{_ID} = s.{_ID} "
        "WHEN MATCHED AND s.gone THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {changed} "
        f"WHEN NOT MATCHED AND NOT s.gone THEN INSERT ({columns}) VALUES ({values})"
    )


def event_candidates(run: SessionRun, first_start: dt.datetime | None) -> str:
    """Return every event of scan B with its scope and its class.

    `first_start` is the earliest start among the sessions of this run: earlier events are not read.
    The result has valid events in the window, and all earlier events of sessions of this run.
    Events of other sessions in the window are read only to be counted.
    """
    is_early = first_start is not None and not run.rebuilds
    starts = [run.limits.lower_limit, *([first_start] if first_start and is_early else [])]
    begin = instant_literal(min(starts))
    in_window = f"{TS} >= {run.low}"
    held = "false"
    if run.package.options.quarantine:
        held = f"coalesce(r.{_ID}, k.{_ID}) IN (SELECT {_ID} FROM {old_quarantine(run)})"
    of_sessions = (
        f"SELECT coalesce(r.{_ID}, k.{_ID}) AS _ps_id, r.{_ID}, r.user_identifier, "
        "r.session_start_date, coalesce(r.start_tstamp, k.start_tstamp) AS _ps_start, "
        f"{held} AS _ps_held FROM penstock_{SessionTable.SESSIONS_THIS_RUN} r "
        f"FULL OUTER JOIN {KNOWN} k ON k.{_ID} = r.{_ID}"
    )
    history = upto = again = ""
    if run.reread is not None:
        upto = f"{TS} <= {run.high} AND "
        again = f" LEFT JOIN {REREAD} a ON a.{_ID} = s.{_ID}"
        history = f" AND ({TS} >= {begin} OR {TS} BETWEEN a.first_tstamp AND a.last_tstamp)"
    rows = (
        f"SELECT {run.hint('s')}e.*, "
        f"CASE WHEN {in_window} THEN 'window' ELSE 'history' END AS {SCOPE}, "
        f"s.{_ID}, s.user_identifier, s.session_start_date, s._ps_start, s._ps_held "
        f"FROM ({classify(run, begin, run.high, spans=run.spans)}) e JOIN ({of_sessions}) s "
        f"ON s._ps_id = e.{SESSION}{again} "
        f"WHERE {upto}(({in_window} AND {CLASS} = '{PASS}') "
        f"OR (NOT {in_window} AND s.{_ID} IS NOT NULL{history}))"
    )
    bounds = f"{TS} BETWEEN _ps_start AND _ps_start + {run.max_span}"
    fits = f"{CLASS} = '{PASS}' AND {_ID} IS NOT NULL AND {bounds}"
    key = EVENT if run.package.options.is_snowplow else f"{_ID}, {EVENT}"
    alike = f"PARTITION BY {fits}, {key}"
    tied = f"CASE WHEN count(*) OVER ({alike}) > 1 THEN {event_hash(run.schema.columns)} END"
    hashed = f"SELECT *, {fits} AS _ps_fits, {tied} AS _ps_hash FROM ({rows})"
    order = ascending([*order_of(run), "_ps_hash"])
    rank = f"row_number() OVER (PARTITION BY _ps_fits, {key} ORDER BY {order})"
    ranked = f"SELECT *, {rank} AS _ps_rank FROM ({hashed})"
    return f"SELECT *, {_outcome_of(run)} AS {VERDICT} FROM ({ranked})"


def _outcome_of(run: SessionRun) -> str:
    cap = f"_ps_start + {run.max_span}"
    alone = "" if run.package.options.is_snowplow else f"{EVENT} IS NULL OR "
    cases = {
        f"{CLASS} <> '{PASS}'": CLASS,
        "_ps_start IS NULL": "'quarantined'",
        f"_ps_held AND ({TS} < _ps_start OR {TS} > {cap})": "'quarantined'",
        f"{TS} < _ps_start": "'before_start'",
        f"{TS} > {cap}": "'beyond_cap'",
        f"{alone}_ps_rank = 1": "'kept'",
    }
    whens = " ".join(f"WHEN {when} THEN {then}" for when, then in cases.items())
    return f"CASE {whens} ELSE 'duplicate' END"


def events_this_run(run: SessionRun) -> str:
    """Return the kept events: ids first, then the carried columns."""
    carried = [f"c.{quoted(name)}" for name in carried_columns(run).names]
    ids = f"c.{_ID}, c.user_identifier, c.session_start_date"
    return f"SELECT {', '.join([ids, *carried])} FROM {CANDIDATES} c WHERE {VERDICT} = 'kept'"


def carried_columns(run: SessionRun) -> Schema:
    """Return the carried columns, without duplicates, in the order of file and events."""
    found = []
    for each in run.package.options.event_columns:
        column = run.schema.find(each)
        found += list(run.schema.columns) if each == "*" else [column] if column else []
    return Schema(tuple(dict.fromkeys(found)))


def event_counts() -> dict[str, str]:
    """Return the counts of the candidates: classes by scope, and the newest `ts`.

    The newest `ts` is in microseconds since 1970. `window_counts` counts the invalid events of the
    window.
    """
    counts = {
        f"{scope}_{word}": f"count_if({SCOPE} = '{scope}' AND {VERDICT} = '{word}')"
        for scope in ("window", "history")
        for word in VERDICTS
    }
    for word in ("filtered", "null_device", "late", "null_session"):
        counts[f"history_{word}"] = f"count_if({SCOPE} = 'history' AND {VERDICT} = '{word}')"
    counts["history_read"] = f"count_if({SCOPE} = 'history')"
    counts["greatest"] = f"unix_micros(max(CASE WHEN {VERDICT} = 'kept' THEN {TS} END))"
    return counts


def window_counts() -> dict[str, str]:
    """Return the counts of the window's groups: all events, and invalid ones."""
    words = ("read", "filtered", "null_device", "late", "null_session")
    return {f"window_{word}": f"coalesce(sum({word}), 0)" for word in words}


def limits_view(limits: Limits | None, run: str = "") -> str:
    """Return the one row of the view of limits; no row without a pass."""
    if limits is None:
        none = "CAST(NULL AS TIMESTAMP)"
        return (
            f"SELECT {none} AS lower_limit, {none} AS upper_limit, 0 AS state, '' AS run_id "
            "WHERE false"
        )
    return (
        f"SELECT {instant_literal(limits.lower_limit)} AS lower_limit, "
        f"{instant_literal(limits.upper_limit)} AS upper_limit, "
        f"{limits.state:d} AS state, {literal(run)} AS run_id"
    )
