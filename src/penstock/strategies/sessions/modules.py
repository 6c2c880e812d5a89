"""The modules built from views and pings: `page_views` and `sessions`, for a run's sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.core.names import literal, quoted
from penstock.core.sessions.options import CHANNEL, CarriedColumn, SessionTable
from penstock.strategies.sessions.events import SessionRun, as_time, event_hash, first_text, texts
from penstock.strategies.sessions.this_run import carried_columns

_ID = "session_identifier"
_SCROLL = {  # the size of the page, that of the screen, and how far it was scrolled
    "horizontal": ("doc_width", "br_viewwidth", "pp_xoffset_max"),
    "vertical": ("doc_height", "br_viewheight", "pp_yoffset_max"),
}
_TIES = "_ps_event IS NULL, _ps_event, _ps_hash"
_ORDER_V = f"struct(_ps_d, _ps_c, {_TIES})"
"""The sort key of the first event; NULL comes last."""
_BACKWARD = f"struct(-unix_micros(_ps_d), -unix_micros(_ps_c), {_TIES})"
"""The sort key of the latest event, with the same ties."""
_USUAL = ("app_id", "platform")
_STITCHED = "stitched_user_id"


@dataclass(frozen=True, slots=True)
class ModuleRows:
    """The rows of a module for a run: SQL by column, and their source."""

    columns: Mapping[str, str]
    source: str

    @property
    def sql(self) -> str:
        """Return the query."""
        named = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self.columns.items())
        return f"SELECT {named} FROM {self.source}"


def module_events(run: SessionRun, carried: Sequence[CarriedColumn] = ()) -> str:
    """Return the events of the run with the columns for modules; carried values are `_ps_x0`, …."""
    options = run.package.options
    ts = as_time(run, options.timestamp)
    url = f"CAST(({options.page_url}) AS STRING)"
    if options.page_url == "page_url" and run.schema.find("page_url") is None:
        url = "CAST(NULL AS STRING)"
    event, hashed = first_text([options.event_id]), event_hash(carried_columns(run).columns)
    terms = {
        "_ps_d": f"coalesce({_clock(run, options.derived_tstamp)}, {ts})",
        "_ps_c": f"coalesce({_clock(run, options.created_tstamp)}, {ts})",
        "_ps_name": first_text([options.event_name]),
        "_ps_view": first_text([options.page_view_id]),
        "_ps_event": event,
        "_ps_url": url,
        "_ps_known": f"CAST({_user_of(options.user_stitching_id)} AS STRING)",
        # two events of one id are never both there, so only those without one can tie
        "_ps_hash": f"CASE WHEN {event} IS NULL THEN {hashed} END",
        "_ps_bot": _is_bot(run),
        **{f"_ps_x{n}": f"({each.sql})" for n, each in enumerate(carried)},
    }
    named = ", ".join(f"{sql} AS {name}" for name, sql in terms.items())
    kind = (
        f"CASE WHEN _ps_view IS NULL THEN '' WHEN _ps_name IN {texts(options.view_events)} "
        f"THEN 'view' WHEN _ps_name IN {texts(options.ping_events)} THEN 'ping' ELSE '' END"
    )
    bucket = f"CAST(floor(unix_seconds(_ps_c) / {options.heartbeat}) AS BIGINT)"
    rows = f"SELECT *, {named} FROM {run.table(SessionTable.EVENTS_THIS_RUN)}"
    return f"SELECT *, {kind} AS _ps_kind, {bucket} AS _ps_bucket FROM ({rows})"


def _user_of(column: str | None) -> str:
    return "NULL" if column is None else quoted(column)


def _clock(run: SessionRun, column: str | None) -> str:
    if column is None or run.schema.find(column) is None:
        return "CAST(NULL AS TIMESTAMP)"
    return as_time(run, column)


def _is_bot(run: SessionRun) -> str:
    options = run.package.options
    if options.bot_pattern is None:
        return "false"
    matches = f"lower({quoted(options.useragent)}) RLIKE {literal(options.bot_pattern)}"
    return f"coalesce({matches}, {str(options.is_snowplow).lower()})"


def _seconds_between(low: str, high: str) -> str:
    return f"unix_seconds({high}) - unix_seconds({low})"


def _stitching(run: SessionRun, part: SessionTable, user: str) -> tuple[str, str]:
    """Return the column of the known user, and the join for it."""
    if part not in run.package.options.stitched:
        return user, ""
    mapping = run.table(SessionTable.USER_MAPPING)
    return f"coalesce(m.user_id, {user})", f" LEFT JOIN {mapping} m ON m.user_identifier = {user}"


def session_aggregates(run: SessionRun) -> dict[str, str]:
    """Return the aggregates over the events of a session that the package adds, by column."""
    options = run.package.options
    carried = options.passthrough
    found = {each.name: f"({each.sql})" for each in carried.sessions_agg}
    found |= _with_conditions(carried.sessions_first)
    last = _with_conditions(carried.sessions_last, _BACKWARD)
    found |= {f"last_{name}": sql for name, sql in last.items()}
    for each in options.conversions:
        terms = [f"count_if({each.when})", f"coalesce(bool_or({each.when}), false)"]
        terms.append(f"min(CASE WHEN {each.when} THEN _ps_d END)")
        if each.value:
            terms.append(f"coalesce(sum(CASE WHEN {each.when} THEN {each.value} END), 0)")
        found |= dict(zip(each.columns, terms, strict=True))
    return found


def _with_conditions(columns: Sequence[CarriedColumn], order: str = _ORDER_V) -> dict[str, str]:
    """Return the columns of the first events that fulfil a condition, as aggregates."""
    return {
        each.name: f"min_by({each.sql}, {order}) FILTER (WHERE NOT _ps_bot AND ({each.when}))"
        for each in columns
        if each.when
    }


def unconditional(columns: Sequence[CarriedColumn]) -> tuple[CarriedColumn, ...]:
    """Return the columns without a condition."""
    return tuple(each for each in columns if not each.when)


def _funnel_times(run: SessionRun) -> list[tuple[str, str]]:
    """Return when each step of the funnel may have been reached, as aggregates by alias."""
    return [
        (f"step{n}", f"collect_set(CASE WHEN {each.when} THEN _ps_d END)")
        for n, each in enumerate(run.package.options.funnel)
    ]


def _funnel_columns(run: SessionRun) -> dict[str, str]:
    """Return the furthest step of a session, and when it reached each; none is skipped."""
    steps, found, at = run.package.options.funnel, dict[str, str](), ""
    for n, each in enumerate(steps):
        later = f"filter(w.step{n}, t{n} -> t{n} >= {at})" if at else f"w.step{n}"
        at = found[f"funnel_{each.step}_tstamp"] = f"array_min({later})"
    furthest = "".join(
        f" WHEN {sql} IS NOT NULL THEN {literal(each.step)}"
        for each, sql in reversed([*zip(steps, found.values(), strict=True)])
    )
    return {"funnel_step": f"CASE{furthest} END", **found} if steps else {}


def channel(run: SessionRun) -> tuple[CarriedColumn, ...]:
    """Return the channel of an event, if the package has channels."""
    rules = run.package.options.channels
    whens = " ".join(f"WHEN {each.when} THEN {literal(each.channel)}" for each in rules)
    return (CarriedColumn(CHANNEL, f"CASE {whens} ELSE 'Unassigned' END"),) if rules else ()


def with_defaults(run: SessionRun, carried: Sequence[CarriedColumn]) -> tuple[CarriedColumn, ...]:
    """Return the carried columns, with `app_id` and `platform` if the events have them."""
    columns = carried_columns(run)
    usual = (CarriedColumn(name, quoted(name)) for name in _USUAL if columns.find(name))
    return (*usual, *unconditional(carried))


def page_views(run: SessionRun) -> ModuleRows:
    """Build one row per page view of the sessions of this run; a view with only pings has none.

    Views and pings are matched per session. With `compat: snowplow`, a page view is identified by
    its id alone, and the first session with the id keeps it, with its own pings.
    """
    own = run.package.options.passthrough.page_views
    carried, more = with_defaults(run, own), _with_conditions(own)
    is_view = "FILTER (WHERE _ps_kind = 'view' AND NOT _ps_bot)"
    kept = [_ID, "user_identifier", "session_start_date", *map(quoted, _clocks(run))]
    kept += ["_ps_event", "_ps_known", "_ps_url", "_ps_d", *(f"_ps_x{n}" for n in _range(carried))]
    pings = "FILTER (WHERE _ps_kind = 'ping')"
    pairs = (
        f"SELECT _ps_view, min_by(struct({', '.join(kept)}), {_ORDER_V}) {is_view} AS v, "
        f"min({_ORDER_V}) {is_view} AS place, max(_ps_d) {pings} AS last, "
        f"size(collect_set(_ps_bucket) {pings}) AS buckets{_scroll_depth(run)}"
        f"{''.join(f', {sql} AS more{n}' for n, sql in enumerate(more.values()))} FROM "
        f"({module_events(run, carried)}) WHERE _ps_kind <> '' GROUP BY {_ID}, _ps_view"
    )
    first = "row_number() OVER (PARTITION BY _ps_view ORDER BY place) = 1"
    alone = f" QUALIFY {first}" if run.package.options.is_snowplow else ""
    known, join = _stitching(run, SessionTable.PAGE_VIEWS, "p.v.user_identifier")
    source = f"(SELECT * FROM ({pairs}) WHERE v IS NOT NULL{alone}) p{join}"
    return ModuleRows(_page_view_columns(run, known, carried, more), source)


def _range(carried: Sequence[CarriedColumn]) -> range:
    return range(len(carried))


def _clocks(run: SessionRun) -> tuple[str, ...]:
    """Return the clocks of the events, without duplicates."""
    options, columns = run.package.options, carried_columns(run)
    named = (options.timestamp, options.derived_tstamp, options.created_tstamp)
    found = (columns.find(name) for name in named if name)
    return tuple(dict.fromkeys(each.name for each in found if each))


def _page_view_columns(
    run: SessionRun, user: str, carried: Sequence[CarriedColumn], more: Iterable[str]
) -> dict[str, str]:
    options = run.package.options
    end = "coalesce(p.last, p.v._ps_d)" if options.is_snowplow else "greatest(p.v._ps_d, p.last)"
    engaged = f"{options.heartbeat}L * (p.buckets - 1) + {options.min_visit_length}"
    in_session = f"OVER (PARTITION BY p.v.{_ID}"
    return {
        "page_view_id": "p._ps_view",
        "event_id": "p.v._ps_event",
        _ID: f"p.v.{_ID}",
        "user_identifier": "p.v.user_identifier",
        "user_id": "p.v._ps_known",
        "page_url": "p.v._ps_url",
        **{name: f"p.v.{quoted(name)}" for name in _clocks(run)},
        _STITCHED: user,
        "page_view_in_session_index": f"CAST(row_number() {in_session} ORDER BY p.place) AS INT)",
        "page_views_in_session": f"count(*) {in_session})",
        "start_tstamp": "p.v._ps_d",
        "end_tstamp": end,
        "engaged_time_in_s": f"CASE WHEN p.buckets = 0 THEN 0L ELSE {engaged} END",
        "absolute_time_in_s": _seconds_between("p.v._ps_d", end),
        **({name: f"p.{name}" for name in _scroll_columns()} if has_scroll(run) else {}),
        **{each.name: f"p.v._ps_x{n}" for n, each in enumerate(carried)},
        **{name: f"p.more{n}" for n, name in enumerate(more)},
        "session_start_date": "p.v.session_start_date",
        "run_id": run.run_id,
    }


def has_scroll(run: SessionRun) -> bool:
    """Return whether the events contain how far pages were scrolled."""
    columns = carried_columns(run)
    return all(columns.find(name) for names in _SCROLL.values() for name in names)


def _scroll_columns() -> list[str]:
    return [f"{way}_{what}_scrolled" for what in ("pixels", "percentage") for way in _SCROLL]


def _scroll_depth(run: SessionRun) -> str:
    """Return the scroll depth of a page, from events that contain the page's size."""
    if not has_scroll(run):
        return ""
    found = []
    sized = "FILTER (WHERE doc_width > 0 AND doc_height > 0)"
    for way, (whole, screen, offset) in _SCROLL.items():
        size = f"CAST(max({whole}) {sized} AS BIGINT)"
        furthest = f"greatest(max(coalesce({offset}, 0)) {sized}, 0)"
        pixels = f"CASE WHEN {size} IS NOT NULL THEN least({furthest}, {size}) END"
        seen = f"least({pixels} + max({screen}) {sized}, {size})"
        found.append(f", {pixels} AS {way}_pixels_scrolled")
        found.append(f", round(100 * {seen} / {size}) AS {way}_percentage_scrolled")
    return "".join(found)


def sessions(run: SessionRun) -> ModuleRows:
    """Return one row per session of this run that has a view or a ping; bots have none."""
    carried = run.package.options.passthrough
    first = (*with_defaults(run, carried.sessions_first), *channel(run))
    chosen = (*first, *unconditional(carried.sessions_last))
    events = f"SELECT * FROM ({module_events(run, chosen)}) WHERE NOT _ps_bot"
    kept = ["user_identifier", "session_start_date", "_ps_kind", "_ps_event", "_ps_known"]
    row = f"struct({', '.join([*kept, '_ps_url', *(f'_ps_x{n}' for n in _range(chosen))])})"
    whole = (
        f"SELECT {_ID}, min_by({row}, {_ORDER_V}) FILTER (WHERE _ps_kind <> '') AS f, "
        f"min_by({row}, {_BACKWARD}) FILTER (WHERE _ps_kind = 'view') AS l, {_session_totals(run)} "
        f"FROM ({events}) GROUP BY {_ID}"
    )
    known, join = _stitching(run, SessionTable.SESSIONS, "w.f.user_identifier")
    # a session without a view has its first ping as its last page, too
    rows = f"SELECT * EXCEPT (l), coalesce(l, f) AS l FROM ({whole}) WHERE f IS NOT NULL"
    return ModuleRows(_session_columns(run, known, first), f"({rows}) w{join}")


def _session_totals(run: SessionRun) -> str:
    """Return the aggregates over all events of a session."""
    options = run.package.options
    # sets, because each DISTINCT would make every row once more
    seen = "CAST(size(collect_set(CASE WHEN _ps_kind <> '' THEN _ps_view END)) AS BIGINT)"
    pinged = "FILTER (WHERE _ps_kind = 'ping')"
    buckets = f"CAST(size(collect_set(struct(_ps_view, _ps_bucket)) {pinged}) AS BIGINT)"
    pages = f"size(collect_set(_ps_view) {pinged})"
    terms = {
        "low": "min(_ps_d)",
        "high": "max(_ps_d)",
        "pages": seen,
        "events": "count(*)",
        "engaged": (
            f"{options.heartbeat} * ({buckets} - {pages}) + {options.min_visit_length} * {pages}"
        ),
        "bought": f"coalesce(bool_or({options.engaged_when or 'false'}), false)",
        **{f"agg{n}": sql for n, sql in enumerate(session_aggregates(run).values())},
        **dict(_funnel_times(run)),
    }
    return ", ".join(f"{sql} AS {name}" for name, sql in terms.items())


def _session_columns(run: SessionRun, user: str, first: Sequence[CarriedColumn]) -> dict[str, str]:
    options = run.package.options
    visit, is_ping = options.min_visit_length, "w.f._ps_kind = 'ping'"
    last, agg = unconditional(options.passthrough.sessions_last), session_aggregates(run)
    extra = f"CASE WHEN {is_ping} THEN {visit} ELSE 0 END"
    start = f"w.low - make_dt_interval(0, 0, 0, {extra})"
    engaged = f"w.pages >= 2 OR w.engaged / {options.heartbeat} >= 2 OR w.bought"
    return {
        _ID: f"w.{_ID}",
        "user_identifier": "w.f.user_identifier",
        "user_id": "w.f._ps_known",
        "first_event_id": "w.f._ps_event",
        "start_tstamp": start,
        "end_tstamp": "w.high",
        "page_views": "w.pages",
        "total_events": "w.events",
        "engaged_time_in_s": "w.engaged",
        "absolute_time_in_s": f"{_seconds_between('w.low', 'w.high')} + {extra}",
        "is_engaged": engaged,
        "first_page_url": "w.f._ps_url",
        "last_page_url": "w.l._ps_url",
        **{each.name: f"w.f._ps_x{n}" for n, each in enumerate(first)},
        **{f"last_{each.name}": f"w.l._ps_x{n + len(first)}" for n, each in enumerate(last)},
        **{name: f"w.agg{n}" for n, name in enumerate(agg)},
        **_funnel_columns(run),
        _STITCHED: user,
        "session_start_date": "w.f.session_start_date",
        "run_id": run.run_id,
    }
