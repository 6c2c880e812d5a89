"""The work of each step of a pass: stages that are computed once, then at most one commit.

Every table of the package is read under its view, `penstock_<table>`; the events, and the rows kept
for base tables, under their own. Rows of a stage are detached from their query: later statements do
not plan it again, and its counts come from the one action that computes it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.core.names import quoted
from penstock.core.sessions.options import SessionTable
from penstock.core.statement import Commit, Passing, Row, Rule, Stage, Work
from penstock.core.strategy import Build
from penstock.strategies.build import create
from penstock.strategies.sessions.events import SessionRun
from penstock.strategies.sessions.tables import QUARANTINE_COLUMNS, kept_columns
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
    window_counts,
)
from penstock.strategies.sessions.users import GONE, columns_of, module_merge, replacement, rows_of
from penstock.strategies.sessions.users import stitch as stitched_by
from penstock.strategies.sessions.window import (
    BEFORE,
    CHANGES,
    KNOWN,
    TOUCHED,
    WINDOW,
    known_sessions,
    lifecycle_changes,
    lifecycle_merge,
    touched_sessions,
    window_groups,
)

_ID = "session_identifier"
_FOUND = "penstock_changes"
_ROWS = "rows_changed"
_DATES, _PAST, _DOUBLED = "dates_changed", "sessions_past", "doubled"
_COUNT = {_ROWS: "count(*)"}
_SCRATCH = {"delta.enableDeletionVectors": "false"}  # nothing is ever deleted from it
_MERGED = {"spark.databricks.delta.merge.materializeSource": "none"}  # a stage is computed once
_BY_DATE = (SessionTable.PAGE_VIEWS, SessionTable.SESSIONS)


def _stage(run: SessionRun, view: str, sql: str, counts: Mapping[str, str] = _COUNT) -> Stage:
    """Return rows that are computed once and counted at the same time."""
    passing = Passing(f"{view}_all", sql, counts)
    return Stage(view, f"SELECT * FROM {view}_all", passing=passing, confs=run.confs)


def window_stages(run: SessionRun) -> tuple[Stage, ...]:
    """Return the window by session, kept for the whole pass: it is scanned once.

    The initial quarantine is kept with it.
    """
    window = _stage(run, WINDOW, window_groups(run), window_counts())
    if not run.package.options.quarantine:
        return (window,)
    return (window, _stage(run, BEFORE, f"SELECT * FROM {BEFORE}"))


def touched_stage(run: SessionRun) -> Stage:
    """Return the manifest rows to rebuild; they already include this run."""
    return _stage(run, TOUCHED, touched_sessions(run))


def touched_dates(run: SessionRun) -> dict[str, str]:
    """Return aggregates over the sessions of this run: their dates, before and now, and starts.

    The dates are one comma-separated text, the first start is in microseconds since 1970: that of
    sessions whose events are not read in ranges of their own.
    """
    every = "flatten(collect_set(array_union(past_start_dates, array(session_start_date))))"
    dates = f"array_join(array_sort(array_distinct({every})), ',')"
    start = "start_tstamp"
    if run.reread is not None:  # what is observed may have no FILTER
        near = f"start_tstamp >= {run.low} - {run.max_span}"
        near += f" OR {_ID} IN {run.released_ids}" if run.released else ""
        start = f"CASE WHEN {near} THEN start_tstamp END"
    return {"dates": dates, "first": f"unix_micros(min({start}))"}


def lifecycle_work(run: SessionRun, build: Build) -> Work:
    """Merge the window into the lifecycle manifest, each session once."""
    doubled = Rule(
        _DOUBLED,
        "duplicate-keys",
        "{count} sessions would be in the manifest of lifecycles twice; this is a bug of penstock",
        "report it with the package file",
    )
    changes = f"SELECT *, count(*) OVER (PARTITION BY {_ID}) AS times FROM"
    dates = "array_join(array_sort(collect_set(CAST(old_start_date AS STRING))), ',')"
    counts = {**_COUNT, _DOUBLED: "count_if(times > 1 AND NOT gone)", _DATES: dates}
    stage = _stage(run, CHANGES, f"{changes} ({lifecycle_changes(run)})", counts)
    known = _stage(run, KNOWN, known_sessions(run), {"sessions_known": "count(*)"})
    columns = ", ".join(kept_columns(SessionTable.LIFECYCLE, run.package.options))
    rows = f"SELECT {columns} FROM {CHANGES} WHERE NOT gone"

    def decide(row: Row) -> Commit | None:
        if build.table is None:
            return _create_of(run, build, rows)
        dates = [each for each in str(row[_DATES] or "").split(",") if each]
        return _merge_of(run, lifecycle_merge(run, build.target, dates), row, len(dates))

    return Work((known, replace(stage, rules=(doubled,))), decide, rows=lambda _: rows)


def _merge_of(run: SessionRun, sql: str, row: Row, partitions: float = math.inf) -> Commit | None:
    """Return the statement that merges the found rows; None without any.

    An unpartitioned table would otherwise get a file for each partition of the join, every day.
    """
    rows = int(row[_ROWS] or 0)
    few = replace(run, rows=rows).confs if run.is_small else {}
    return Commit(sql, {**few, **_MERGED}, partitions=partitions) if rows else None


def _create_of(run: SessionRun, build: Build, rows: str, *, scratch: bool = False) -> Commit:
    made = create(build, rows, _SCRATCH if scratch else None)
    return replace(made, confs=run.confs)


def quarantine_work(run: SessionRun, build: Build) -> Work:
    """Put sessions into quarantine, count their dropped events, remove the released ones."""
    columns = ", ".join(QUARANTINE_COLUMNS)
    counts = {_ROWS: "count_if(is_changed)", _PAST: "count_if(is_past)"}
    stages = (
        touched_stage(run),
        _stage(run, ROWS_HELD, quarantine_rows(run), counts),
        replace(_stage(run, _FOUND, quarantine_changes(run)), when=_PAST),
    )

    def changes(row: Row) -> str:
        return _FOUND if row[_PAST] else ROWS_HELD

    def rows(row: Row) -> str:
        return f"SELECT {columns} FROM {changes(row)} WHERE NOT gone"

    def decide(row: Row) -> Commit | None:
        if build.table is None:
            return _create_of(run, build, rows(row))
        merge = quarantine_merge(build.target, changes(row))
        return _merge_of(run, merge, row)

    return Work(stages, decide, rows=rows)


def requarantined(run: SessionRun) -> str:
    """Return the released sessions that are quarantined again, once they are computed."""
    again = f"is_new AND NOT gone AND {_ID} IN {run.released_ids}"
    return f"SELECT {_ID} AS id FROM {ROWS_HELD} WHERE {again}"


def sessions_work(run: SessionRun, build: Build) -> Work:
    """Write the sessions to rebuild, and return the dates of their partitions."""
    table = run.table(SessionTable.SESSIONS_THIS_RUN)
    stage, rows = (_stage(run, table, sessions_this_run(run), touched_dates(run)), _all(table))
    stages = (stage,) if run.package.options.quarantine else (touched_stage(run), stage)
    return Work(stages, lambda _: _create_of(run, build, rows, scratch=True), rows=lambda _: rows)


def _all(view: str) -> str:
    return f"SELECT * FROM {view}"


def events_work(run: SessionRun, build: Build, first_start: dt.datetime | None) -> Work:
    """Write the events of those sessions; count all events that are read for it.

    `first_start` is the earliest start of the sessions of this run, None without any.
    """
    table = run.table(SessionTable.EVENTS_THIS_RUN)
    passing = Passing(CANDIDATES, event_candidates(run, first_start), event_counts())
    stage = Stage(table, events_this_run(run), passing=passing, confs=run.confs)
    rows = _all(table)
    commit = _create_of(run, build, rows, scratch=True)
    return Work((stage,), lambda _: commit, rows=lambda _: rows)


def module_work(run: SessionRun, part: SessionTable, build: Build, dates: Sequence[str]) -> Work:
    """Replace the rows of this run's sessions or users in a module; without rows no commit.

    `dates` are the result of `touched_dates`.
    """
    rows = rows_of(run, part)
    new = f"SELECT {', '.join(map(quoted, columns_of(run, part)))} FROM {_FOUND}"
    changes, is_there = rows.sql, build.table is not None
    if is_there:
        changes, new = replacement(run, part, rows, dates), f"{new} WHERE NOT {GONE}"
    is_pruned = part in _BY_DATE and not run.package.options.is_snowplow
    found_in = _FOUND if is_pruned else _small_changes(run)
    merge = module_merge(run, part, build.target, found_in, dates, build.table)
    stage = _stage(run, _FOUND, changes)

    def decide(row: Row) -> Commit | None:
        if not is_there:
            return _create_of(run, build, new)
        return _merge_of(run, merge, row, len(dates) if is_pruned else math.inf)

    return Work((stage,), decide, rows=lambda _: new)


def _small_changes(run: SessionRun) -> str:
    """Return the changes of an unpruned table; the hint avoids sorting the table."""
    return f"(SELECT {run.hint(_FOUND)}* FROM {_FOUND})"


def stitch_work(run: SessionRun, part: SessionTable, build: Build, stitched: int) -> Work:
    """Apply the mappings that changed after the run `stitched` to rows that differ."""
    if build.table is None:
        return Work.just(None)
    changed = (
        f"SELECT user_identifier, user_id FROM {run.table(SessionTable.USER_MAPPING)} "
        f"WHERE changed_seq > {stitched}"
    )
    statement = stitched_by(run, build.target, _small_changes(run))
    stage = _stage(run, _FOUND, changed)
    new = {"stitched_user_id": "s.user_id", "run_id": run.run_id}
    columns = [f"{new.get(n, f't.{quoted(n)}')} AS {quoted(n)}" for n in build.table.names]
    # the table as it was before: afterwards no row has another one
    rows = (
        f"SELECT {', '.join(columns)} FROM {run.table(part)} t JOIN {_FOUND} s "
        "ON t.user_identifier = s.user_identifier AND NOT t.stitched_user_id <=> s.user_id"
    )
    return Work((stage,), lambda found: _merge_of(run, statement, found), rows=lambda _: rows)
