"""The window of a run: its events by session, and the changes to the lifecycle manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.core.names import literal
from penstock.core.sessions.options import SessionTable, SessionUser
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.sessions.events import (
    CLASS,
    CLASSES,
    EVENT,
    PASS,
    REREAD,
    SESSION,
    TS,
    USER,
    SessionRun,
    classify,
    days,
)
from penstock.strategies.sessions.tables import PAST_IDS, kept_columns

WINDOW = "penstock_window"
"""The view of the sessions with an event in the window, kept for the whole run."""
KNOWN = "penstock_known_sessions"
"""The view of the groups with a valid event, joined with the known sessions."""
CHANGES = "penstock_lifecycle_changes"
"""The view of the changes to the lifecycle manifest."""
BEFORE = f"penstock_{SessionTable.QUARANTINE}_before"
"""The view of the quarantine at the start of the run."""
REGIONS = "penstock_user_regions"
"""The view of the times of users in which sessions may change, if events have no session."""
TOUCHED = "penstock_touched_sessions"
"""The view of the manifest rows to rebuild, kept for later base tables."""
MOST_DATES = 400
_ID = "session_identifier"
_NO_TEXTS = "CAST(array() AS ARRAY<STRING>)"
_NO_DATES = "CAST(array() AS ARRAY<DATE>)"
_OF_ROW = {  # the order in which the winner of two events is found, as a struct
    SessionUser.EARLIEST_EVENT: ("ts", "event", "user"),
    SessionUser.LATEST_EVENT: ("ts", "event", "user"),
    SessionUser.MAX: ("user", "back", "event", "ts"),
    SessionUser.FIRST_RUN: ("user", "ts", "event"),
}


def window_groups(run: SessionRun) -> str:
    """Return the events of the window by session: counts of each class, bounds, user.

    Released sessions include their valid events from their start on; events before the window are
    not counted.
    """
    options = run.package.options
    events = with_reread(run, classify(run, run.low, run.high, with_released=True, spans=run.spans))
    if options.user_of_session in (SessionUser.LATEST_EVENT, SessionUser.MAX):
        events = _with_cap(run, events)
    inside = f"{TS} BETWEEN {run.low} AND {run.high}"
    counts = [f"count_if({inside}) AS read"]
    for each in CLASSES:
        name = "passing" if each == PASS else each
        counts.append(f"count_if({inside} AND {CLASS} = {literal(each)}) AS {name}")
    passing = f"FILTER (WHERE {CLASS} = '{PASS}')"
    ends = f"min({TS}) {passing} AS n_start, max({TS}) {passing} AS n_end"
    return (
        f"SELECT {SESSION} AS {_ID}, {', '.join(counts)}, {ends}, {_candidate(run)} AS candidate "
        f"FROM ({events}) GROUP BY {SESSION}"
    )


def with_reread(run: SessionRun, events: str) -> str:
    """Leave out events that were only read for sessions of other events."""
    if run.reread is None:
        return events
    released = f" OR e.{SESSION} IN {run.released_ids}" if run.released else ""
    return (
        f"SELECT e.* FROM ({events}) e LEFT JOIN {REREAD} r ON r.{_ID} = e.{SESSION} "
        f"WHERE {TS} BETWEEN {run.low} AND {run.high}{released} "
        f"OR {TS} BETWEEN r.first_tstamp AND r.last_tstamp"
    )


def _with_cap(run: SessionRun, events: str) -> str:
    """Return events with the cap of their session: later events cannot determine its user."""
    over = f"OVER (PARTITION BY {SESSION})"
    passing = f"CASE WHEN {CLASS} = '{PASS}' THEN {TS} END"
    ends = f"min({passing}) {over} AS _ps_first, max({passing}) {over} AS _ps_last"
    starts = (
        f"SELECT {_ID}, collect_list(start_tstamp) AS starts "
        f"FROM {run.table(SessionTable.LIFECYCLE)} WHERE {is_near(run)} GROUP BY {_ID}"
    )
    # as `previous_rows` chooses among generations
    start = "coalesce(array_max(filter(starts, s -> s <= _ps_last)), array_min(starts))"
    first = "_ps_first" if run.rebuilds else f"least(_ps_first, {start})"
    return (
        f"SELECT e.*, {first} + {run.max_span} AS _ps_cap "
        f"FROM (SELECT *, {ends} FROM ({events})) e LEFT JOIN ({starts}) p ON p.{_ID} = e.{SESSION}"
    )


def _candidate(run: SessionRun) -> str:
    """Return the event of the window that may determine the user of its session, as a struct."""
    rule = run.package.options.user_of_session
    event = f"coalesce({EVENT}, '')"
    terms = {
        "ts": TS,
        "event": event,
        "user": USER,
        "back": f"-unix_micros({TS})",  # of events of the greatest user the earliest one
    }
    if rule is SessionUser.FIRST_RUN:  # which event it was does not matter
        terms |= {"ts": "CAST(NULL AS TIMESTAMP)", "event": "CAST(NULL AS STRING)"}
    named = ", ".join(f"'{name}', {terms[name]}" for name in _OF_ROW[rule])
    inside = f"{CLASS} = '{PASS}' AND {USER} IS NOT NULL"
    if rule in (SessionUser.LATEST_EVENT, SessionUser.MAX):
        inside += f" AND {TS} <= _ps_cap"
    best = "min" if rule is SessionUser.EARLIEST_EVENT else "max"
    return f"{best}(named_struct({named})) FILTER (WHERE {inside})"


def is_near(run: SessionRun) -> str:
    """Return the condition for manifest rows within the horizon, or released."""
    back = run.package.options.session_lookback_days
    high = run.known_to if run.package.options.takes_late_rows else run.high
    last = f"{high} + {run.max_span}"
    found = f"start_tstamp <= {last} AND start_date <= DATE({last})"
    if back is not None:
        first = f"{run.low} - {days(back)}"
        found += f" AND start_tstamp >= {first} AND start_date >= DATE({first})"
    if run.rebuilds:
        found = f"(({found}) OR {in_spans(run)})"
    return _with_released(run, found)


def in_spans(run: SessionRun) -> str:
    """Return the condition for manifest rows in the partitions of sessions that are read again."""
    days = [
        f"start_date BETWEEN DATE({instant_literal(low)}) AND DATE({instant_literal(high)})"
        for low, high in run.spans
    ]
    return f"({' OR '.join(days) or 'false'})"


def _with_released(run: SessionRun, condition: str) -> str:
    """Include the rows of released sessions, in any partition."""
    if not run.released:
        return condition
    dates = in_dates("start_date", [each.start.date().isoformat() for each in run.released])
    return f"(({condition}) OR ({_ID} IN {run.released_ids} AND {dates}))"


def in_window(run: SessionRun, of: str = "") -> str:
    """Return the condition for sessions that overlap the window; all ends are inclusive."""
    first, last = f"{run.low} - {run.max_span}", run.high
    return (
        f"{of}start_tstamp BETWEEN {first} AND {last} AND {of}end_tstamp >= {run.low} "
        f"AND {of}start_date BETWEEN DATE({first}) AND DATE({last})"
    )


def touched_sessions(run: SessionRun) -> str:
    """Return the manifest rows to rebuild, including those of released and of old sessions."""
    rows = f"SELECT * FROM {run.table(SessionTable.LIFECYCLE)} WHERE "
    if run.rebuilds:
        return (
            f"SELECT l.* FROM ({rows}{in_spans(run)}) l JOIN {REREAD} r ON r.{_ID} = l.{_ID} "
            "AND l.start_tstamp BETWEEN r.first_tstamp AND r.last_tstamp"
        )
    if run.reread is not None:
        again = f" OR ({_ID} IN {run.released_ids} AND {is_near(run)})" if run.released else ""
        near = f"({in_window(run)}) OR {in_spans(run)}{again}"
        return (
            f"SELECT l.* FROM ({rows}{near}) l LEFT JOIN {REREAD} r ON r.{_ID} = l.{_ID} "
            "AND l.start_tstamp BETWEEN r.first_tstamp AND r.last_tstamp "
            f"WHERE r.{_ID} IS NOT NULL"
            # with a timeout, the pass has no events of other sessions
            + ("" if run.package.options.finds_sessions else f" OR ({in_window(run, 'l.')})")
            + (f" OR l.{_ID} IN {run.released_ids}" if run.released else "")
        )
    if not run.released:
        return rows + in_window(run)
    # a released session may have moved, and an older one may have had its id
    again = f"{_ID} IN {run.released_ids}"
    newest = f"row_number() OVER (PARTITION BY {_ID} ORDER BY start_tstamp DESC) = 1"
    return (
        f"SELECT * FROM ({rows}{in_window(run)} OR ({again} AND {is_near(run)})) QUALIFY {newest}"
    )


def previous_rows(run: SessionRun, ids: str, near: str = "") -> str:
    """Return the row of every session in the view `ids`, which has the end of its events.

    Of several generations, it is the latest one that has begun by then. `near` are the rows among
    which it is; by default those of the manifest within the horizon.
    """
    own = ", ".join(f"p.{name}" for name in _columns(run))
    began = "p.start_tstamp <= n.n_end"
    order = f"{began} DESC, abs(unix_micros(p.start_tstamp) - unix_micros(n.n_end))"
    rank = f"row_number() OVER (PARTITION BY p.{_ID} ORDER BY {order})"
    manifest = run.table(SessionTable.LIFECYCLE)
    near = near or f"SELECT * FROM {manifest} WHERE {is_near(run)}"
    few = run.hint("n")  # the manifest need not be sorted to find them
    rows = f"SELECT {few}{own}, {rank} AS _ps_n FROM ({near}) p JOIN {ids} n ON n.{_ID} = p.{_ID}"
    return f"SELECT * FROM ({rows}) WHERE _ps_n = 1"


def known_sessions(run: SessionRun) -> str:
    """Return the groups with a valid event, with the known state, and their bounds.

    This is the only read of the manifest that grows with history. Sessions with `is_taken` change
    the manifest: those in quarantine, or at their cap, no longer change.
    """
    passing = f"(SELECT * FROM {WINDOW} WHERE n_start IS NOT NULL)"
    held = "false"
    if run.package.options.quarantine:
        held = f"n.{_ID} IN (SELECT {_ID} FROM {old_quarantine(run)})"
    again, seen, join, own = "false", "CAST(NULL AS TIMESTAMP)", "", ""
    if run.package.options.finds_sessions:
        own = f", r.joined_ids, r.joined_dates, p.{PAST_IDS}"
    if run.reread is not None:
        again, seen = f"r.{_ID} IS NOT NULL", "r.seen_tstamp"
        join = f" LEFT JOIN {REREAD} r ON r.{_ID} = n.{_ID}"
    joined = (
        f"SELECT n.{_ID}, n.passing, n.n_start, n.n_end, n.candidate, {held} AS is_held, "
        f"{again} AS is_again, {seen} AS seen_tstamp, "
        "p.start_tstamp AS old_start, p.start_date AS old_start_date, p.end_tstamp AS old_end, "
        "p.user_identifier AS old_user, p.user_tstamp, p.user_event_id, p.past_user_identifiers, "
        f"p.past_start_dates, p.first_run_id{own} FROM {passing} n "
        f"LEFT JOIN ({previous_rows(run, passing)}) p ON p.{_ID} = n.{_ID}{join}"
    )
    is_open = f"old_start IS NULL OR old_end < old_start + {run.max_span}"
    if run.released:
        is_open += f" OR {_ID} IN {run.released_ids}"
    taken = f"(NOT is_held AND ({is_open})) OR is_again"
    if run.package.options.takes_late_rows:  # an earlier event changes a session at its cap, too
        taken = f"coalesce({taken} OR n_start <= old_start + {run.max_span}, false)"
    taken = f"SELECT *, {taken} AS is_taken FROM ({joined})"
    first, last = "least(n_start, old_start)", "greatest(n_end, old_end, seen_tstamp)"
    if run.rebuilds or run.package.options.finds_sessions:
        first, last = "n_start", "n_end"
    start = f"CASE WHEN is_taken THEN {first} ELSE old_start END"
    end = f"least(start_tstamp + {run.max_span}, {last})"
    return (
        f"SELECT *, CASE WHEN is_taken THEN {end} ELSE old_end END AS end_tstamp "
        f"FROM (SELECT *, {start} AS start_tstamp FROM ({taken}))"
    )


def old_quarantine(run: SessionRun) -> str:
    """Return the quarantine at the start of the run, without released sessions."""
    return (
        f"(SELECT * FROM {BEFORE} WHERE {_ID} NOT IN {run.released_ids})"
        if run.released
        else BEFORE
    )


def lifecycle_changes(run: SessionRun) -> str:
    """Return the changed manifest rows, each with the date of its partition."""
    cap = f"start_tstamp + {run.max_span} AS cap"
    chosen = (
        f"SELECT *, {_user_winner(run)} AS winner FROM (SELECT *, {cap}, "
        f"coalesce(past_user_identifiers, {_NO_TEXTS}) AS past_users, "
        f"coalesce(past_start_dates, {_NO_DATES}) AS past_dates FROM {KNOWN} WHERE is_taken)"
    )
    moved = "old_start_date IS NOT NULL AND old_start_date <> DATE(start_tstamp)"
    other = "old_user IS NOT NULL AND NOT old_user <=> winner.user"
    past_users = (
        f"CASE WHEN {other} THEN array_union(past_users, array(old_user)) ELSE past_users END"
    )
    past_dates = (
        f"CASE WHEN {moved} THEN array_union(past_dates, array(old_start_date)) ELSE past_dates END"
    )
    if run.rebuilds:  # what they were is among the sessions before
        past_users, past_dates = _NO_TEXTS, _NO_DATES
    ids, start_date = "", "DATE(start_tstamp)"
    if run.package.options.finds_sessions:
        known = f"coalesce({PAST_IDS}, {_NO_TEXTS})"
        ids = f"array_except(array_union({known}, joined_ids), array({_ID})) AS {PAST_IDS}, "
        # the date of its own rows is not past
        past_dates = f"array_except(array_union({past_dates}, joined_dates), array({start_date}))"
    rows = (
        f"SELECT {_ID}, old_start_date, winner.user AS user_identifier, start_tstamp, "
        f"end_tstamp, {start_date} AS start_date, "
        "winner.ts AS user_tstamp, nullif(winner.event, '') AS user_event_id, "
        f"{past_users} AS past_user_identifiers, {past_dates} AS past_start_dates, "
        f"coalesce(first_run_id, {run.run_id}) AS first_run_id, "
        f"{run.run_id} AS last_run_id, {ids}false AS gone FROM ({chosen})"
    )
    deletes = run.rebuilds or run.package.options.finds_sessions
    return f"{rows} UNION ALL {_gone_sessions(run)}" if deletes else rows


def _gone_sessions(run: SessionRun) -> str:
    """Return the manifest rows of sessions to rebuild that have no event any more."""
    nothing = {name: f"CAST(NULL AS {kind}) AS {name}" for name, kind in _columns(run).items()}
    del nothing[_ID]
    if run.package.options.finds_sessions:
        return (
            f"SELECT l.{_ID}, l.start_date AS old_start_date, {', '.join(nothing.values())}, "
            f"true AS gone FROM {run.table(SessionTable.LIFECYCLE)} l LEFT SEMI JOIN {REGIONS} g "
            "ON g.user_identifier = l.user_identifier "
            "AND l.start_tstamp BETWEEN g.first_tstamp AND g.last_tstamp "
            f"LEFT ANTI JOIN {REREAD} r ON r.{_ID} = l.{_ID} WHERE {is_near(run)}"
        )
    return (
        f"SELECT l.{_ID}, l.start_date AS old_start_date, {', '.join(nothing.values())}, "
        "true AS gone "
        f"FROM {run.table(SessionTable.LIFECYCLE)} l JOIN {REREAD} r ON r.{_ID} = l.{_ID} "
        "AND l.start_tstamp BETWEEN r.first_tstamp AND r.last_tstamp "
        f"LEFT ANTI JOIN {KNOWN} k ON k.{_ID} = l.{_ID} WHERE {in_spans(run)}"
    )


def _user_winner(run: SessionRun) -> str:
    """Return the event that determines the user, of the recorded one and the window's."""
    rule = run.package.options.user_of_session
    if run.rebuilds or run.package.options.finds_sessions:
        is_first = rule is SessionUser.FIRST_RUN
        return "candidate" if is_first else "CASE WHEN candidate.ts <= cap THEN candidate END"
    old = {
        "ts": "user_tstamp",
        "event": "coalesce(user_event_id, '')",
        "user": "old_user",
        "back": "-unix_micros(user_tstamp)",
    }
    if rule is SessionUser.FIRST_RUN:
        old |= {"event": "user_event_id"}
    named = ", ".join(f"'{name}', {old[name]}" for name in _OF_ROW[rule])
    known = f"named_struct({named})"
    if rule is SessionUser.FIRST_RUN:
        return f"CASE WHEN old_user IS NOT NULL THEN {known} ELSE candidate END"
    # a start that moved back may have left the winner beyond the cap
    so_far = f"CASE WHEN user_tstamp <= cap THEN {known} END"
    found = "CASE WHEN candidate.ts <= cap THEN candidate END"
    best = "least" if rule is SessionUser.EARLIEST_EVENT else "greatest"
    return f"{best}({so_far}, {found})"


def _columns(run: SessionRun) -> Mapping[str, str]:
    return kept_columns(SessionTable.LIFECYCLE, run.package.options)


def lifecycle_merge(run: SessionRun, target: str, dates: Sequence[str]) -> str:
    """Return the statement that merges the changes into the manifest.

    `dates` are the distinct dates of the changed rows, as `2021-01-01`: only these partitions are
    read, and no row is missed, because each knows its date.
    """
    pruned = in_dates("t.start_date", dates)
    on = f"t.{_ID} = s.{_ID} AND t.start_date = s.old_start_date AND {pruned}"
    own = [name for name in _columns(run) if name not in (_ID, "first_run_id")]
    changed = ", ".join(f"t.{name} = s.{name}" for name in own)
    columns = ", ".join(_columns(run))
    values = ", ".join(f"s.{name}" for name in _columns(run))
    return (
        f"MERGE INTO {target} t USING {CHANGES} s ON {on} WHEN MATCHED AND s.gone THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {changed} "
        f"WHEN NOT MATCHED AND NOT s.gone THEN INSERT ({columns}) VALUES ({values})"
    )


def in_dates(column: str, dates: Sequence[str]) -> str:
    """Return the condition for a date in a set; for very many dates only their range.

    >>> in_dates("d", ["2021-01-02", "2021-01-01"]), in_dates("d", [])
    ("d IN (DATE '2021-01-01', DATE '2021-01-02')", 'false')
    """
    found = sorted(set(dates))
    if not found:
        return "false"
    if len(found) > MOST_DATES:
        return f"{column} BETWEEN DATE '{found[0]}' AND DATE '{found[-1]}'"
    return f"{column} IN ({', '.join(f'DATE {literal(each)}' for each in found)})"
