"""SQL over events: their clocks, their session and user, and the class of each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import ScalarType, parse_type
from penstock.core.names import literal, quoted
from penstock.core.sessions.manifest import Limits
from penstock.core.sessions.options import SessionTable
from penstock.core.sessions.package import SessionPackage
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.values import hash_of_values

EVENTS = "penstock_events"
"""The view of the events at their pinned version."""
PASS = "pass"  # noqa: S105  a class of events
TS, SESSION, USER, EVENT = "_ps_ts", "_ps_session", "_ps_user", "_ps_event"
CREATED, SENT, CLASS = "_ps_created", "_ps_sent", "_ps_class"
CLASSES = ("filtered", "null_device", "late", "null_session", PASS)
REREAD = "penstock_reread_sessions"
"""The view of sessions to build again, with the first and the last time of their events.

With a timeout these are all sessions of a pass.
"""
MOST_ROWS, ROWS_OF_A_PARTITION = 1_000_000, 100_000
"""Up to this number of events a pass is small; and the rows in one partition of a small pass."""


@dataclass(frozen=True, slots=True)
class ReleasedSession:
    """A session released from quarantine: its events are read from its start on."""

    session: str
    start: dt.datetime


Spans = tuple[tuple[dt.datetime, dt.datetime], ...]
"""Ranges of time, ascending; both ends are inclusive."""


@dataclass(frozen=True, slots=True)
class Reread:
    """The sessions that a pass builds again beside those of its window.

    `spans` contain their events. `rebuilds` ignores earlier rows, because events may be missing.
    With `maps`, some users are mapped again from their events alone.
    """

    spans: Spans
    rebuilds: bool = False
    maps: bool = False


@dataclass(frozen=True, slots=True)
class SessionRun:
    """Everything that the SQL of one pass depends on; `schema` is that of the events.

    `seq` is the number of the run, `now` its timestamp. At most `rows` events are read at once;
    None if unknown. `head` is up to where some model has events, at least the upper limit.
    """

    package: SessionPackage
    schema: Schema
    limits: Limits
    run: str
    seq: int
    now: dt.datetime
    released: tuple[ReleasedSession, ...] = ()
    rows: int | None = None
    reread: Reread | None = None
    head: dt.datetime | None = None

    @property
    def is_small(self) -> bool:
        """Whether it reads few events."""
        return self.rows is not None and self.rows <= MOST_ROWS

    @property
    def confs(self) -> Mapping[str, str]:
        """The session settings of a small pass: fixed plans with few partitions.

        An adaptive plan runs a job for every exchange, and gains little if hints mark the small
        side of a join.
        """
        if self.rows is None or not self.is_small:
            return {}
        return {
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.shuffle.partitions": str(1 + self.rows // ROWS_OF_A_PARTITION),
        }

    def hint(self, alias: str) -> str:
        """Return the hint for the small side of a join; "" in a large pass."""
        return f"/*+ BROADCAST({alias}) */ " if self.is_small else ""

    @property
    def low(self) -> str:
        """The lower limit as a literal."""
        return instant_literal(self.limits.lower_limit)

    @property
    def high(self) -> str:
        """The upper limit as a literal."""
        return instant_literal(self.limits.upper_limit)

    @property
    def known_to(self) -> str:
        """The time up to which some model has events, as a literal."""
        return instant_literal(max(self.limits.upper_limit, self.head or self.limits.upper_limit))

    @property
    def rebuilds(self) -> bool:
        """Whether it builds sessions again as if nothing was known of them."""
        return self.reread is not None and self.reread.rebuilds

    @property
    def spans(self) -> Spans:
        """The ranges of events that are read beside those of the window."""
        return self.reread.spans if self.reread else ()

    @property
    def max_span(self) -> str:
        """The greatest length of a session."""
        return days(self.package.options.max_session_days)

    @property
    def run_id(self) -> str:
        """The id of the run as a literal."""
        return literal(self.run)

    def table(self, part: SessionTable) -> str:
        """Return the view of a table of the package."""
        return f"penstock_{part}"

    @property
    def released_ids(self) -> str:
        """The released sessions as a list of literals; without any, a list that matches nothing."""
        return texts(each.session for each in self.released)


def days(number: int) -> str:
    """Return a number of 24-hour days as an interval.

    >>> days(3)
    "INTERVAL '3' DAY"
    """
    return f"INTERVAL '{number}' DAY"


def texts(values: Iterable[str]) -> str:
    """Return a list of literals for IN; NULL alone matches nothing.

    >>> texts(["a"]), texts([])
    ("('a')", '(NULL)')
    """
    return f"({', '.join(map(literal, values)) or 'NULL'})"


def as_time(run: SessionRun, column: str) -> str:
    """Return a column of the events as a timestamp; without an offset it is UTC."""
    found = run.schema.find(column)
    is_plain = found is not None and found.type == "timestamp_ntz"
    return f"CAST({quoted(column)} AS TIMESTAMP)" if is_plain else quoted(column)


def in_range(run: SessionRun, low: str, high: str) -> str:
    """Return the condition for events between two times, which also skips files."""
    name = run.package.options.timestamp
    if as_time(run, name) != quoted(name):
        low, high = (f"CAST({each} AS TIMESTAMP_NTZ)" for each in (low, high))
    return f"{quoted(name)} BETWEEN {low} AND {high}"


def first_text(expressions: Iterable[str]) -> str:
    """Return the first non-NULL of some expressions, as text."""
    cast = [f"CAST(({each}) AS STRING)" for each in expressions]
    return cast[0] if len(cast) == 1 else f"coalesce({', '.join(cast)})"


def event_hash(columns: Iterable[Column]) -> str:
    """Return the hash of all columns of an event: rows with equal hashes are equal."""
    values = []
    for column in columns:
        name = quoted(column.name)
        if parse_type(column.type) == ScalarType("variant"):
            values.append((Column(column.name, "string"), f"to_json({name})"))
        else:
            values.append((column, name))
    return hash_of_values(values)


def classify(
    run: SessionRun,
    low: str,
    high: str,
    *,
    with_released: bool = False,
    spans: Spans = (),
    source: str = EVENTS,
) -> str:
    """Return the events from `low` to `high`, and in `spans`, with their clocks, ids and classes.

    With `with_released`, those of released sessions start at their session's start. NULL in `ts` is
    in no range.
    """
    if not run.package.options.finds_sessions:
        released = run.released if with_released else ()
        return _with_class(run, _events_in(run, (low, high), spans, source, released))
    rows = _events_in(run, (low, high), spans, source)
    return _with_class(
        run,
        f"SELECT e.* EXCEPT ({SESSION}), r.session_identifier AS {SESSION} FROM ({rows}) e "
        f"LEFT JOIN {REREAD} r ON r.user_identifier = e.{USER} "
        f"AND e.{TS} BETWEEN r.first_tstamp AND r.last_tstamp",
    )


def user_events(
    run: SessionRun, low: str, high: str, *, spans: Spans = (), source: str = EVENTS
) -> str:
    """Return events as `classify` does if their sessions are still to be found."""
    return _with_class(run, _events_in(run, (low, high), spans, source))


def _events_in(
    run: SessionRun,
    ends: tuple[str, str],
    spans: Spans,
    source: str,
    released: tuple[ReleasedSession, ...] = (),
) -> str:
    """Return the events in ranges of time, with their clocks and ids."""
    options, (low, high) = run.package.options, ends
    ts = as_time(run, options.timestamp)
    clocks = {CREATED: options.created_tstamp, SENT: options.sent_tstamp}
    has_ids = not options.finds_sessions
    terms = {
        TS: ts,
        SESSION: first_text(options.session_id) if has_ids else "CAST(NULL AS STRING)",
        USER: first_text(options.user_id),
        EVENT: first_text([options.event_id]),
        **{name: _clock(run, column, ts) for name, column in clocks.items()},
    }
    named = ", ".join(f"{sql} AS {name}" for name, sql in terms.items())
    kept, first = in_range(run, low, high), low
    if released:
        starts = {each.session: instant_literal(each.start) for each in released}
        again = [
            f"{terms[SESSION]} = {literal(name)} AND {in_range(run, start, high)}"
            for name, start in starts.items()
        ]
        kept = f"({' OR '.join((kept, *again))})"
        first = f"least({', '.join((low, *starts.values()))})"
    days = [(first, high), *((instant_literal(a), instant_literal(b)) for a, b in spans)]
    if spans:
        kept = f"({' OR '.join((kept, *(in_range(run, a, b) for a, b in days[1:])))})"
    return f"SELECT *, {named} FROM {source} WHERE {kept}{_pruning(run, days)}"


def _with_class(run: SessionRun, rows: str) -> str:
    return f"SELECT *, {_class(run)} AS {CLASS} FROM ({rows})"


def _clock(run: SessionRun, column: str | None, ts: str) -> str:
    """Return a device clock; the arrival time replaces NULL."""
    if column is None or run.schema.find(column) is None:
        return "CAST(NULL AS TIMESTAMP)"
    time = as_time(run, column)
    return f"coalesce({time}, {ts})" if run.package.options.allow_null_device_timestamps else time


def _pruning(run: SessionRun, ranges: Sequence[tuple[str, str]]) -> str:
    """Return conditions on partitions for events of ranges; arrival and partition may differ."""
    options = run.package.options
    if options.partition_column is None:
        return ""
    pad, column = options.partition_pad_days, quoted(options.partition_column)
    days = [
        f"{column} BETWEEN date_sub(DATE({low}), {pad}) AND date_add(DATE({high}), {pad})"
        for low, high in ranges
    ]
    return f" AND {days[0]}" if len(days) == 1 else f" AND ({' OR '.join(days)})"


def _class(run: SessionRun) -> str:
    options = run.package.options
    cases = []
    refused = [f"NOT coalesce({each}, false)" for each in _filter_conditions(run)]
    if refused:
        cases.append((" OR ".join(refused), "filtered"))
    if options.tests_lateness:
        cases.append((f"{CREATED} IS NULL OR {SENT} IS NULL", "null_device"))
        cases.append((f"NOT {SENT} <= {CREATED} + {days(options.days_late_allowed)}", "late"))
    cases.append(
        (f"{USER if run.package.options.finds_sessions else SESSION} IS NULL", "null_session")
    )
    return (
        f"CASE {' '.join(f'WHEN {when} THEN {literal(to)}' for when, to in cases)} ELSE 'pass' END"
    )


def _filter_conditions(run: SessionRun) -> list[str]:
    options, found = run.package.options, [f"({each})" for each in run.package.options.filters]
    if options.app_ids:
        column = quoted(options.app_id)
        named = texts(each for each in options.app_ids if each is not None)
        missing = f" OR {column} IS NULL" if None in options.app_ids else ""
        found.insert(0, f"({column} IN {named}{missing})")
    return found


def order_of(run: SessionRun) -> list[str]:
    """Return the order that decides which of equal events is kept, without the hash."""
    options = run.package.options
    known = [each for each in options.tie_break if run.schema.find(each) is not None]
    return [TS, CREATED, *map(quoted, known), SENT]


def ascending(terms: Iterable[str]) -> str:
    """Return an ascending order with NULL last."""
    return ", ".join(f"{each} ASC NULLS LAST" for each in terms)
