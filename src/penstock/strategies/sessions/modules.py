"""The modules made of views and pings: `page_views` and `sessions`, for the sessions of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.core.names import literal, quoted
from penstock.core.sessions.package import CarriedColumn, SessionTable
from penstock.strategies.sessions.events import (
    SessionRun,
    as_time,
    ascending,
    event_hash,
    first_text,
    texts,
)
from penstock.strategies.sessions.this_run import carried_columns

_ID = "session_identifier"
_SCROLL = {  # the size of the page, that of the screen, and how far it was scrolled
    "horizontal": ("doc_width", "br_viewwidth", "pp_xoffset_max"),
    "vertical": ("doc_height", "br_viewheight", "pp_yoffset_max"),
}
_ORDER_V = ("_ps_d", "_ps_c", "_ps_event", "_ps_hash")
_LAST = (
    "CASE WHEN _ps_kind = 'ping' THEN _ps_d END",
    "CASE WHEN _ps_kind = 'ping' THEN _ps_c END",
    "_ps_event",
    "_ps_hash",
)
_USUAL = ("app_id", "platform")
_STITCHED = "stitched_user_id"


@dataclass(frozen=True, slots=True)
class ModuleRows:
    """The rows that a module makes of a run: SQL by column, and where they come from."""

    columns: Mapping[str, str]
    source: str

    @property
    def sql(self) -> str:
        """Give the query."""
        named = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self.columns.items())
        return f"SELECT {named} FROM {self.source}"


def module_events(run: SessionRun, carried: Sequence[CarriedColumn] = ()) -> str:
    """Give the events of the run with what modules ask of each; what is carried is `_ps_x0`, …."""
    options = run.package.options
    ts = as_time(run, options.timestamp)
    url = f"CAST(({options.page_url}) AS STRING)"
    if options.page_url == "page_url" and run.schema.find("page_url") is None:
        url = "CAST(NULL AS STRING)"
    terms = {
        "_ps_d": f"coalesce({_clock(run, options.derived_tstamp)}, {ts})",
        "_ps_c": f"coalesce({_clock(run, options.created_tstamp)}, {ts})",
        "_ps_name": first_text([options.event_name]),
        "_ps_view": first_text([options.page_view_id]),
        "_ps_event": first_text([options.event_id]),
        "_ps_url": url,
        "_ps_known": f"CAST({quoted(options.user_stitching_id)} AS STRING)",
        "_ps_hash": event_hash(carried_columns(run).columns),
        "_ps_bot": _bot(run),
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


def _clock(run: SessionRun, column: str | None) -> str:
    is_there = column is not None and run.schema.find(column) is not None
    return as_time(run, column) if column and is_there else "CAST(NULL AS TIMESTAMP)"


def _bot(run: SessionRun) -> str:
    options = run.package.options
    if options.bot_pattern is None:
        return "false"
    matches = f"lower({quoted(options.useragent)}) RLIKE {literal(options.bot_pattern)}"
    return f"coalesce({matches}, {str(options.is_snowplow).lower()})"


def _seconds(low: str, high: str) -> str:
    return f"unix_seconds({high}) - unix_seconds({low})"


def _stitched(run: SessionRun, part: SessionTable, user: str) -> tuple[str, str]:
    """Give the column of the known user, and the join that it needs."""
    if part not in run.package.options.stitched:
        return user, ""
    mapping = run.table(SessionTable.USER_MAPPING)
    return f"coalesce(m.user_id, {user})", f" LEFT JOIN {mapping} m ON m.user_identifier = {user}"


def with_usual(run: SessionRun, carried: Sequence[CarriedColumn]) -> tuple[CarriedColumn, ...]:
    """Give what is carried over, and `app_id` and `platform` where the events have them."""
    named = {each.name.lower() for each in carried}
    usual = [CarriedColumn(name, quoted(name)) for name in _USUAL if run.schema.find(name)]
    return (*(each for each in usual if each.name not in named), *carried)


def page_views(run: SessionRun) -> ModuleRows:
    """Give one row per page view of the sessions of this run; a view that only pings has none."""
    alone = run.package.options.is_snowplow  # then a page view is told by its id alone
    key = "_ps_view" if alone else f"{_ID}, _ps_view"
    carried = with_usual(run, run.package.options.passthrough.page_views)
    rank = f"row_number() OVER (PARTITION BY {key} ORDER BY {ascending(_ORDER_V)})"
    events = module_events(run, carried)
    views = f"SELECT *, {rank} AS _ps_rank FROM ({events}) WHERE _ps_kind = 'view' AND NOT _ps_bot"
    pings = "CASE WHEN _ps_kind = 'ping' THEN {} END"
    pair = (
        f"SELECT {key}, max({pings.format('_ps_d')}) AS last, "
        f"count(DISTINCT {pings.format('_ps_bucket')}) AS buckets{_scrolled(run)} "
        f"FROM ({module_events(run)}) WHERE _ps_kind = 'ping' "
        f"OR (_ps_kind = 'view' AND NOT _ps_bot) GROUP BY {key}"
    )
    on = "p._ps_view = v._ps_view" + ("" if alone else f" AND p.{_ID} = v.{_ID}")
    known, join = _stitched(run, SessionTable.PAGE_VIEWS, "v.user_identifier")
    source = f"(SELECT * FROM ({views}) WHERE _ps_rank = 1) v JOIN ({pair}) p ON {on}{join}"
    return ModuleRows(_page_view_columns(run, known, carried), source)


def _page_view_columns(
    run: SessionRun, known: str, carried: Sequence[CarriedColumn]
) -> dict[str, str]:
    options = run.package.options
    end = "coalesce(p.last, v._ps_d)" if options.is_snowplow else "greatest(v._ps_d, p.last)"
    order = ", ".join(f"v.{name} ASC NULLS LAST" for name in _ORDER_V)
    clocks = (options.timestamp, options.derived_tstamp, options.created_tstamp)
    there = [name for name in clocks if name and run.schema.find(name)]
    engaged = f"{options.heartbeat} * (p.buckets - 1) + {options.min_visit_length}"
    in_session = f"OVER (PARTITION BY v.{_ID}"
    return {
        "page_view_id": "v._ps_view",
        "event_id": "v._ps_event",
        _ID: f"v.{_ID}",
        "user_identifier": "v.user_identifier",
        "user_id": "v._ps_known",
        "page_url": "v._ps_url",
        **{name: f"v.{quoted(name)}" for name in there},
        _STITCHED: known,
        "page_view_in_session_index": f"CAST(row_number() {in_session} ORDER BY {order}) AS INT)",
        "page_views_in_session": f"CAST(count(*) {in_session}) AS INT)",
        "start_tstamp": "v._ps_d",
        "end_tstamp": end,
        "engaged_time_in_s": f"CASE WHEN p.buckets = 0 THEN 0L ELSE {engaged} END",
        "absolute_time_in_s": _seconds("v._ps_d", end),
        **({name: f"p.{name}" for name in _scroll_columns()} if has_scroll(run) else {}),
        **{each.name: f"v._ps_x{n}" for n, each in enumerate(carried)},
        "session_start_date": "v.session_start_date",
        "run_id": run.run_id,
    }


def has_scroll(run: SessionRun) -> bool:
    """Whether the events tell how far pages were scrolled."""
    return all(run.schema.find(name) for names in _SCROLL.values() for name in names)


def _scroll_columns() -> list[str]:
    return [f"{way}_{what}_scrolled" for what in ("pixels", "percentage") for way in _SCROLL]


def _scrolled(run: SessionRun) -> str:
    """Give how far a page was scrolled, of the events that know how large it is."""
    if not has_scroll(run):
        return ""
    found = []
    sized = "FILTER (WHERE doc_width > 0 AND doc_height > 0)"
    for way, (whole, screen, offset) in _SCROLL.items():
        size = f"max({whole}) {sized}"
        furthest = f"greatest(max(coalesce({offset}, 0)) {sized}, 0)"
        pixels = f"CASE WHEN {size} IS NOT NULL THEN least({furthest}, {size}) END"
        seen = f"least({pixels} + max({screen}) {sized}, {size})"
        found.append(f", {pixels} AS {way}_pixels_scrolled")
        found.append(f", round(100 * {seen} / {size}) AS {way}_percentage_scrolled")
    return "".join(found)


def sessions(run: SessionRun) -> ModuleRows:
    """Give one row per session of this run that has a view or a ping; bots have none."""
    options = run.package.options
    carried = options.passthrough
    first = with_usual(run, carried.sessions_first)
    chosen = (*first, *carried.sessions_last)
    events = f"SELECT * FROM ({module_events(run, chosen)}) WHERE NOT _ps_bot"
    paged = f"SELECT * FROM ({events}) WHERE _ps_kind <> ''"
    order = f"PARTITION BY {_ID} ORDER BY"
    # of views the latest; without one the first ping, which is the first page as well
    late = "CASE WHEN _ps_kind = 'view' THEN {} END DESC NULLS LAST"
    backward = f"{late.format('_ps_d')}, {late.format('_ps_c')}, {ascending(_LAST)}"
    ranked = (
        f"SELECT *, row_number() OVER ({order} {ascending(_ORDER_V)}) AS _ps_first, "
        f"row_number() OVER ({order} {backward}) AS _ps_last FROM ({paged})"
    )
    whole = f"SELECT {_ID} AS id, {_totals(run)} FROM ({events}) GROUP BY {_ID}"
    known, join = _stitched(run, SessionTable.SESSIONS, "f.user_identifier")
    source = (
        f"(SELECT * FROM ({ranked}) WHERE _ps_first = 1) f JOIN (SELECT * FROM ({ranked}) "
        f"WHERE _ps_last = 1) l ON l.{_ID} = f.{_ID} JOIN ({whole}) w ON w.id = f.{_ID}{join}"
    )
    return ModuleRows(_session_columns(run, known, first), source)


def _totals(run: SessionRun) -> str:
    """Give the aggregates over all events of a session."""
    options = run.package.options
    seen = "count(DISTINCT CASE WHEN _ps_kind <> '' THEN _ps_view END)"
    pinged = "FILTER (WHERE _ps_kind = 'ping')"
    buckets = f"count(DISTINCT _ps_view, _ps_bucket) {pinged}"
    pages = f"count(DISTINCT _ps_view) {pinged}"
    terms = {
        "low": "min(_ps_d)",
        "high": "max(_ps_d)",
        "pages": seen,
        "events": "count(*)",
        "engaged": (
            f"{options.heartbeat} * ({buckets} - {pages}) + {options.min_visit_length} * {pages}"
        ),
        "bought": f"coalesce(bool_or({options.engaged_when or 'false'}), false)",
        **{f"agg{n}": f"({each.sql})" for n, each in enumerate(options.passthrough.sessions_agg)},
    }
    return ", ".join(f"{sql} AS {name}" for name, sql in terms.items())


def _session_columns(run: SessionRun, known: str, first: Sequence[CarriedColumn]) -> dict[str, str]:
    options = run.package.options
    visit, is_ping = options.min_visit_length, "f._ps_kind = 'ping'"
    last, agg = options.passthrough.sessions_last, options.passthrough.sessions_agg
    extra = f"CASE WHEN {is_ping} THEN {visit} ELSE 0 END"
    start = f"w.low - make_dt_interval(0, 0, 0, {extra})"
    engaged = f"w.pages >= 2 OR w.engaged / {options.heartbeat} >= 2 OR w.bought"
    return {
        _ID: f"f.{_ID}",
        "user_identifier": "f.user_identifier",
        "user_id": "f._ps_known",
        "first_event_id": "f._ps_event",
        "start_tstamp": start,
        "end_tstamp": "w.high",
        "page_views": "w.pages",
        "total_events": "w.events",
        "engaged_time_in_s": "w.engaged",
        "absolute_time_in_s": f"{_seconds('w.low', 'w.high')} + {extra}",
        "is_engaged": engaged,
        "first_page_url": "f._ps_url",
        "last_page_url": "l._ps_url",
        **{each.name: f"f._ps_x{n}" for n, each in enumerate(first)},
        **{f"last_{each.name}": f"l._ps_x{n + len(first)}" for n, each in enumerate(last)},
        **{each.name: f"w.agg{n}" for n, each in enumerate(agg)},
        _STITCHED: known,
        "session_start_date": "f.session_start_date",
        "run_id": run.run_id,
    }
