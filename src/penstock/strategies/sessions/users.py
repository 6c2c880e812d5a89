"""The modules built from other modules, and how new rows of a module replace old ones."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.columns.schema import Column, Schema
from penstock.core.names import quoted
from penstock.core.sessions.options import CarriedColumn, SessionTable, prefixed_name
from penstock.strategies.sessions.events import SessionRun, as_time
from penstock.strategies.sessions.modules import (
    ModuleRows,
    channel,
    module_events,
    page_views,
    sessions,
    unconditional,
)
from penstock.strategies.sessions.reread import REPLACED, RESET_USERS
from penstock.strategies.sessions.tables import MEMBERS, PAST_IDS
from penstock.strategies.sessions.window import in_dates

GONE, LIES = "_ps_gone", "_ps_lies"
"""The columns of changes that mark deleted rows, and the date of their partition."""
_ID, _USER = "session_identifier", "user_identifier"
_FIRST = f"struct(-unix_micros(s.start_tstamp), s.{_ID})"
_LAST = f"struct(s.end_tstamp, s.{_ID})"


def touched_users(run: SessionRun) -> str:
    """Return the users whose rows may change: those of the sessions of this run, now and before.

    Persons are those of these visitors, those that had them, and those whose visitors moved.
    """
    every = f"array_union(past_user_identifiers, array({_USER}))"
    rows = f"SELECT explode({every}) AS {_USER} FROM {_touched(run)}"
    found = f"SELECT DISTINCT {_USER} FROM ({rows}) WHERE {_USER} IS NOT NULL"
    if not run.package.options.by_person:
        return found
    stored = (
        f"SELECT {_USER} AS person, explode({MEMBERS}) AS visitor "
        f"FROM {run.table(SessionTable.USERS)}"
    )
    pairs = (
        f"SELECT p.person, coalesce(p.visitor, u.{_USER}) AS visitor, "
        f"u.{_USER} IS NOT NULL AS is_touched FROM ({stored}) p "
        f"FULL OUTER JOIN ({found}) u ON u.{_USER} = p.visitor"
    )
    both = (
        f"SELECT v.person, coalesce(m.user_id, v.visitor) AS now, v.is_touched FROM ({pairs}) v "
        f"LEFT JOIN {run.table(SessionTable.USER_MAPPING)} m ON m.{_USER} = v.visitor"
    )
    return (
        f"SELECT DISTINCT {_USER} FROM (SELECT explode(array(person, now)) AS {_USER} "
        f"FROM ({both}) WHERE is_touched OR NOT person <=> now) WHERE {_USER} IS NOT NULL"
    )


def _touched(run: SessionRun) -> str:
    """Return the sessions of this run, and what those were that are built as if new."""
    this_run = run.table(SessionTable.SESSIONS_THIS_RUN)
    if not run.rebuilds:
        return this_run
    names = f"{_ID}, {_USER}, session_start_date, past_user_identifiers, past_start_dates"
    return f"(SELECT {names} FROM {this_run} UNION ALL SELECT {names} FROM {REPLACED})"


def replaced_days(run: SessionRun) -> str:
    """Return the sessions to replace, with the partitions in which their rows may lie."""
    days = "array_union(past_start_dates, array(session_start_date))"
    if not run.rebuilds and not run.package.options.finds_sessions:
        return f"(SELECT {_ID}, {days} AS days FROM {_touched(run)})"
    rows = f"SELECT {_ID}, {days} AS days FROM {_touched(run)}"
    if run.package.options.finds_sessions:  # rows of sessions that were joined to others
        this_run = run.table(SessionTable.SESSIONS_THIS_RUN)
        rows += f" UNION ALL SELECT explode({PAST_IDS}), {days} FROM {this_run}"
    return (
        f"(SELECT {_ID}, array_distinct(flatten(collect_list(days))) AS days "
        f"FROM ({rows}) GROUP BY {_ID})"
    )


def users(run: SessionRun) -> ModuleRows:
    """Return one row per affected user, or known person, from all of their sessions."""
    carried = run.package.options.passthrough
    came = tuple(CarriedColumn(each.name, each.name) for each in channel(run))
    first = (*unconditional(carried.users_first), *came)
    last = (*unconditional(carried.users_last), *came)
    own = [_ID, "user_id", "first_page_url", "last_page_url"]
    own += [quoted(each.sql) for each in (*first, *last)]
    row = f"struct({', '.join(f's.{name}' for name in dict.fromkeys(own))})"
    rows, person = _sessions_of_persons(run)
    added = _user_aggregates(run)
    more = "".join(f", {sql} AS agg{n}" for n, sql in enumerate(added.values()))
    whole = (
        f"SELECT {run.hint('u')}{person} AS {_USER}, min(start_tstamp) AS low, "
        "max(end_tstamp) AS high, "
        "count(*) AS sessions, sum(page_views) AS pages, sum(engaged_time_in_s) AS engaged, "
        f"max_by({row}, {_FIRST}) AS f, max_by({row}, {_LAST}) AS l{more} "
        f"FROM {rows} s LEFT SEMI JOIN ({touched_users(run)}) u "
        f"ON u.{_USER} = {person} GROUP BY {person}"
    )
    columns = {
        _USER: f"w.{_USER}",
        "user_id": "w.f.user_id",
        "start_tstamp": "w.low",
        "end_tstamp": "w.high",
        "sessions": "w.sessions",
        "page_views": "w.pages",
        "engaged_time_in_s": "w.engaged",
        "first_session_identifier": f"w.f.{_ID}",
        "last_session_identifier": f"w.l.{_ID}",
        "first_page_url": "w.f.first_page_url",
        "last_page_url": "w.l.last_page_url",
        **_with_prefix("first", "w.f", first),
        **_with_prefix("last", "w.l", last),
        **{name: f"w.agg{n}" for n, name in enumerate(added)},
        "run_id": run.run_id,
    }
    return ModuleRows(columns, f"({whole}) w")


def _sessions_of_persons(run: SessionRun) -> tuple[str, str]:
    """Return all sessions, and the column of the user, or of the person, that they belong to."""
    rows = run.table(SessionTable.SESSIONS)
    if not run.package.options.by_person:
        return rows, f"s.{_USER}"
    known = f"LEFT JOIN {run.table(SessionTable.USER_MAPPING)} m ON m.{_USER} = t.{_USER}"
    person = f"coalesce(m.user_id, t.{_USER}) AS _ps_person"
    return f"(SELECT t.*, {person} FROM {rows} t {known})", "s._ps_person"


def _user_aggregates(run: SessionRun) -> dict[str, str]:
    """Return the aggregates over the sessions of a user that the package adds, by column."""
    options = run.package.options
    carried = options.passthrough
    found = {each.name: f"({each.sql})" for each in carried.users_agg}
    ends = (("first", carried.users_first, _FIRST), ("last", carried.users_last, _LAST))
    for word, columns, order in ends:
        for column in columns:
            if column.when:
                value = f"max_by(s.{quoted(column.sql)}, {order}) FILTER (WHERE {column.when})"
                found[prefixed_name(word, column.name)] = value
    for each in options.conversions:
        volume, converted, first, *total = (f"s.{quoted(name)}" for name in each.columns)
        terms = [f"coalesce(sum({volume}), 0)", f"coalesce(bool_or({converted}), false)"]
        terms += [f"min({first})", *(f"coalesce(sum({of_all}), 0)" for of_all in total)]
        found |= dict(zip(each.columns, terms, strict=True))
    if options.by_person:
        found[MEMBERS] = f"array_sort(collect_set(s.{_USER}))"
    return found


def _with_prefix(word: str, alias: str, carried: Sequence[CarriedColumn]) -> dict[str, str]:
    """Return columns of sessions under their names in the users table."""
    return {prefixed_name(word, each.name): f"{alias}.{quoted(each.sql)}" for each in carried}


def user_mapping(run: SessionRun) -> ModuleRows:
    """Return the known users of this run that are newer than the recorded ones."""
    options = run.package.options
    ts, time = "_ps_t", as_time(run, options.timestamp)
    rows = (
        f"SELECT {_USER}, max(named_struct('ts', {ts}, 'event', coalesce(_ps_event, ''), "
        f"'known', _ps_known)) AS best FROM (SELECT *, {time} AS {ts} "
        f"FROM ({module_events(run)})) WHERE {_USER} IS NOT NULL AND _ps_known IS NOT NULL "
        f"GROUP BY {_USER}"
    )
    stored = (
        "named_struct('ts', t.mapped_tstamp, 'event', coalesce(t.mapped_event_id, ''), "
        "'known', t.user_id)"
    )
    newer = "NOT best <=> " if options.is_snowplow else "best > "
    is_other = "t.user_id IS NULL OR t.user_id <> best.known"
    columns = {
        _USER: f"b.{_USER}",
        "user_id": "best.known",
        "mapped_tstamp": "best.ts",
        "mapped_event_id": "nullif(best.event, '')",
        "changed_seq": f"CASE WHEN {is_other} THEN {run.seq}L ELSE t.changed_seq END",
        "run_id": run.run_id,
    }
    mapping = run.table(SessionTable.USER_MAPPING)
    source = (
        f"({rows}) b LEFT JOIN {mapping} t ON t.{_USER} = b.{_USER} "
        f"WHERE t.{_USER} IS NULL OR {newer}{stored}"
    )
    if _maps_again(run):  # what is stored of these users counts no more
        columns[_USER] = f"coalesce(b.{_USER}, r.{_USER})"
        source = (
            f"({rows}) b FULL OUTER JOIN {RESET_USERS} r ON r.{_USER} = b.{_USER} "
            f"LEFT JOIN {mapping} t ON t.{_USER} = coalesce(b.{_USER}, r.{_USER}) "
            f"WHERE CASE WHEN r.{_USER} IS NULL THEN t.{_USER} IS NULL OR {newer}{stored} "
            f"WHEN b.{_USER} IS NULL THEN t.{_USER} IS NOT NULL ELSE NOT best <=> {stored} END"
        )
    return ModuleRows(columns, source)


def _maps_again(run: SessionRun) -> bool:
    """Return whether some users are mapped again from their events alone."""
    return run.reread is not None and run.reread.maps


def replacement(run: SessionRun, part: SessionTable, rows: ModuleRows, dates: Sequence[str]) -> str:
    """Return rows of a module, and rows to delete: the other ones of affected sessions or users.

    `dates` are those of the affected sessions, before and now: only these partitions are read.
    Stored rows determine their partition, so an older session with the same id is not affected.
    """
    model = run.package.model(part)
    if part is SessionTable.USER_MAPPING and _maps_again(run):
        return f"SELECT *, user_id IS NULL AS {GONE} FROM ({rows.sql})"
    replaces = run.rebuilds or not run.package.options.is_snowplow
    if model is None or not replaces or part is SessionTable.USER_MAPPING:
        return f"SELECT *, false AS {GONE} FROM ({rows.sql})"
    key = [quoted(name) for name in model.key]
    if part is SessionTable.USERS:
        there = f"SELECT {run.hint('u')}t.{_USER} "
        there += f"FROM {run.table(part)} t JOIN ({touched_users(run)}) u "
        there += f"ON u.{_USER} = t.{_USER}"
        lies = ""
    else:
        there = (
            f"SELECT {run.hint('r')}{', '.join(f't.{name}' for name in key)}, "
            f"t.session_start_date AS {LIES} "
            f"FROM {run.table(part)} t JOIN {replaced_days(run)} r "
            f"ON r.{_ID} = t.{_ID} AND array_contains(r.days, t.session_start_date) "
            f"WHERE {in_dates('t.session_start_date', dates)}"
        )
        lies = f", t.{LIES}"
    names = [quoted(name) for name in rows.columns]
    chosen = (f"coalesce(n.{name}, t.{name}) AS {name}" if name in key else name for name in names)
    same = " AND ".join(f"n.{name} = t.{name}" for name in key)
    return (
        f"SELECT {', '.join(chosen)}, n.{key[0]} IS NULL AS {GONE}{lies} "
        f"FROM ({rows.sql}) n FULL OUTER JOIN ({there}) t ON {same}"
    )


def module_merge(
    run: SessionRun,
    part: SessionTable,
    target: str,
    changes: str,
    dates: Sequence[str],
    stored: Schema | None = None,
) -> str:
    """Return the statement that replaces the affected rows by the view `changes`.

    Columns that are no longer `stored` are NULL in new rows.
    """
    model = run.package.model(part)
    if model is None:
        raise ValueError(f"{run.package.name} has no {part}")
    on = [f"t.{quoted(name)} = s.{quoted(name)}" for name in model.key]
    if model.partition_by and not run.package.options.is_snowplow:
        where = f"t.{quoted(model.partition_by)}"
        on += [f"{where} = s.{LIES}", in_dates(where, dates)]
    columns = Schema(tuple(Column(name, "") for name in columns_of(run, part)))
    gone = [c.name for c in stored.columns if columns.find(c.name) is None] if stored else []
    is_new = stored and any(stored.find(name) is None for name in columns.names)
    evolution = "WITH SCHEMA EVOLUTION " if is_new else ""
    names = [quoted(name) for name in columns.names]
    changed = [*(f"{name} = s.{name}" for name in names), *(f"{quoted(c)} = NULL" for c in gone)]
    values = ", ".join(f"s.{name}" for name in names)
    return (
        f"MERGE {evolution}INTO {target} t USING {changes} s ON {' AND '.join(on)} "
        f"WHEN MATCHED AND s.{GONE} THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(changed)} "
        f"WHEN NOT MATCHED AND NOT s.{GONE} THEN INSERT ({', '.join(names)}) VALUES ({values})"
    )


def columns_of(run: SessionRun, part: SessionTable) -> tuple[str, ...]:
    """Return the columns of a module."""
    return tuple(rows_of(run, part).columns)


def rows_of(run: SessionRun, part: SessionTable) -> ModuleRows:
    """Return the rows of a module for a run."""
    made = {
        SessionTable.PAGE_VIEWS: page_views,
        SessionTable.SESSIONS: sessions,
        SessionTable.USERS: users,
        SessionTable.USER_MAPPING: user_mapping,
    }
    return made[part](run)


def stitch(run: SessionRun, target: str, changed: str) -> str:
    """Return the statement that applies changed mappings."""
    return (
        f"MERGE INTO {target} t USING {changed} s ON t.{_USER} = s.{_USER} "
        "AND NOT t.stitched_user_id <=> s.user_id "
        f"WHEN MATCHED THEN UPDATE SET t.stitched_user_id = s.user_id, t.run_id = {run.run_id}"
    )
