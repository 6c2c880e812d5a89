"""What each step of a pass runs: stages that are computed once, then at most one commit.

Every table of the package is read under its view, `penstock_<table>`; the events, and the window
that is held for the base tables, under theirs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.core.names import quoted
from penstock.core.sessions.package import SessionTable
from penstock.core.statement import Commit, Passing, Row, Rule, Stage, Work
from penstock.core.strategy import Build
from penstock.strategies.build import create
from penstock.strategies.sessions.events import SessionRun
from penstock.strategies.sessions.tables import (
    LIFECYCLE_COLUMNS,
    MAPPING_COLUMNS,
    QUARANTINE_COLUMNS,
)
from penstock.strategies.sessions.this_run import (
    CANDIDATES,
    ROWS_HELD,
    event_candidates,
    event_counts,
    events_this_run,
    quarantine_changes,
    quarantine_merge,
    quarantine_rows,
    sessions_this_run,
)
from penstock.strategies.sessions.users import GONE, columns_of, module_merge, replacement, rows_of
from penstock.strategies.sessions.users import stitch as stitched_by
from penstock.strategies.sessions.window import (
    CHANGES,
    KNOWN,
    WINDOW,
    known_sessions,
    lifecycle_changes,
    lifecycle_merge,
    window_groups,
)

_ID = "session_identifier"
_KEPT = "penstock_kept_events"
_FOUND = "penstock_changes"
_ROWS = "rows_changed"
_DATES, _PAST = "dates_changed", "sessions_past"
_KNOWN: Mapping[SessionTable, Mapping[str, str]] = {
    SessionTable.LIFECYCLE: LIFECYCLE_COLUMNS,
    SessionTable.QUARANTINE: QUARANTINE_COLUMNS,
    SessionTable.USER_MAPPING: MAPPING_COLUMNS,
}


def window_stage(run: SessionRun) -> Stage:
    """Give the window by session, which lasts as long as the pass: it is scanned once."""
    # the rows are computed when the sessions are that the next stage looks at
    return Stage(WINDOW, window_groups(run), "SELECT 0 AS window")


def no_rows(part: SessionTable) -> str:
    """Give a table that is not there yet, to be read as one without rows."""
    columns = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in _KNOWN[part].items())
    return f"SELECT {columns} WHERE false"


def touched_dates(run: SessionRun) -> str:
    """Give one row: the dates of the sessions of this run, before and now, and the first start.

    The dates are one text with commas between, the start is in microseconds since 1970.
    """
    dates = "explode(array_union(past_start_dates, array(session_start_date))) AS day"
    rows = f"SELECT start_tstamp, {dates} FROM {run.table(SessionTable.SESSIONS_THIS_RUN)}"
    first = "unix_micros(min(start_tstamp)) AS first"
    return f"SELECT {_joined('day')} AS dates, {first} FROM ({rows})"


def _joined(column: str) -> str:
    return f"array_join(array_sort(collect_set(CAST({column} AS STRING))), ',')"


def lifecycle_work(run: SessionRun, build: Build) -> Work:
    """Take the window into the manifest of lifecycles, each session once."""
    doubled = Rule(
        "doubled",
        "duplicate-keys",
        "{count} sessions would be in the manifest of lifecycles twice; this is a bug of penstock",
        "report it with the package file",
    )
    look = (
        f"SELECT count(*) AS {_ROWS}, count(*) - count(DISTINCT {_ID}) AS doubled, "
        f"{_joined('old_start_date')} AS {_DATES} FROM {CHANGES}"
    )
    known = Stage(KNOWN, known_sessions(run), "SELECT 0 AS known")
    stage = Stage(CHANGES, lifecycle_changes(run), look, (doubled,), kept=False)

    rows = f"SELECT {', '.join(LIFECYCLE_COLUMNS)} FROM {CHANGES}"

    def decide(found: Row) -> Commit | None:
        if build.table is None:
            return create(build, rows)
        dates = [each for each in str(found[_DATES] or "").split(",") if each]
        return Commit(lifecycle_merge(build.target, dates)) if found[_ROWS] else None

    return Work((known, stage), decide, rows=lambda _: rows)


def quarantine_work(run: SessionRun, build: Build) -> Work:
    """Put sessions into quarantine, count what they lost, let the released ones go."""
    columns = ", ".join(QUARANTINE_COLUMNS)
    look = f"SELECT count_if(is_new) AS {_ROWS}, count_if(is_past) AS {_PAST} FROM {ROWS_HELD}"
    stages = (
        Stage(ROWS_HELD, quarantine_rows(run), look),
        Stage(_FOUND, quarantine_changes(run), _counted(_FOUND), when=_PAST),
    )

    def changes(found: Row) -> str:
        return _FOUND if found[_PAST] else ROWS_HELD

    def rows(found: Row) -> str:
        return f"SELECT {columns} FROM {changes(found)} WHERE NOT gone"

    def decide(found: Row) -> Commit | None:
        if build.table is None:
            return create(build, rows(found))
        return Commit(quarantine_merge(build.target, changes(found))) if found[_ROWS] else None

    return Work(stages, decide, rows=rows)


def held_again(run: SessionRun) -> str:
    """Give the sessions that were released and are quarantined anew, once that is worked out."""
    again = f"is_new AND NOT gone AND {_ID} IN {run.released_ids}"
    return f"SELECT {_ID} AS id FROM {ROWS_HELD} WHERE {again}"


def _counted(view: str) -> str:
    return f"SELECT count(*) AS {_ROWS} FROM {view}"


def sessions_work(run: SessionRun, build: Build) -> Work:
    """Write the sessions that are rebuilt."""
    rows = sessions_this_run(run)
    return replace(Work.just(create(build, rows)), rows=lambda _: rows)


def events_work(run: SessionRun, build: Build, first_start: dt.datetime | None) -> Work:
    """Write the events of those sessions; all that are read for it are counted as they pass.

    `first_start` is the earliest start of the sessions of this run, None without any.
    """
    passing = Passing(CANDIDATES, event_candidates(run, first_start), event_counts())
    stage = Stage(_KEPT, events_this_run(run), passing=passing)
    rows = f"SELECT * FROM {_KEPT}"
    return Work((stage,), lambda _: create(build, rows), rows=lambda _: rows)


def module_work(run: SessionRun, part: SessionTable, build: Build, dates: Sequence[str]) -> Work:
    """Replace what the sessions, or the users, of this run have in a module; no row is no commit.

    `dates` are those that `touched_dates` gives.
    """
    rows = rows_of(run, part)
    new = f"SELECT {', '.join(map(quoted, columns_of(run, part)))} FROM {_FOUND}"
    changes, is_there = rows.sql, build.table is not None
    if is_there:
        changes, new = replacement(run, part, rows, dates), f"{new} WHERE NOT {GONE}"
    merge = module_merge(run, part, build.target, _FOUND, dates, build.table)
    stage = Stage(_FOUND, changes, _counted(_FOUND))

    def decide(found: Row) -> Commit | None:
        if not is_there:
            return create(build, new)
        return Commit(merge) if found[_ROWS] else None

    return Work((stage,), decide, rows=lambda _: new)


def stitch_work(run: SessionRun, part: SessionTable, build: Build, stitched: int) -> Work:
    """Take over the mappings that changed after the run `stitched`, where rows have another one."""
    if build.table is None:
        return Work.just(None)
    changed = (
        f"SELECT user_identifier, user_id FROM {run.table(SessionTable.USER_MAPPING)} "
        f"WHERE changed_seq > {stitched}"
    )
    statement = Commit(stitched_by(run, build.target, stitched))
    stage = Stage(_FOUND, changed, _counted(_FOUND))
    new = {"stitched_user_id": "s.user_id", "run_id": run.run_id}
    columns = [f"{new.get(n, f't.{quoted(n)}')} AS {quoted(n)}" for n in build.table.names]
    # the table as it was before: afterwards no row has another one
    rows = (
        f"SELECT {', '.join(columns)} FROM {run.table(part)} t JOIN {_FOUND} s "
        "ON t.user_identifier = s.user_identifier AND NOT t.stitched_user_id <=> s.user_id"
    )
    return Work((stage,), lambda found: statement if found[_ROWS] else None, rows=lambda _: rows)
