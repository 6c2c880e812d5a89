"""The options of a session file, each under its name in the file, and what each may be.

The terms are those of docs/sessions.md: `ts` is the column that `timestamp` names; the cap of a
session is `max_session_days` after its start.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.findings import Location

SNOWPLOW = "snowplow"
EVERY_COLUMN = ("*",)
CHANNEL = "channel"
"""The column of the channel by which a session came."""


class SessionTable(StrEnum):
    """The tables of a package, in the order of their steps; the word is their suffix."""

    LIMITS = "base_new_event_limits"
    LIFECYCLE = "base_sessions_lifecycle_manifest"
    QUARANTINE = "base_quarantined_sessions"
    SESSIONS_THIS_RUN = "base_sessions_this_run"
    EVENTS_THIS_RUN = "base_events_this_run"
    USER_MAPPING = "user_mapping"
    PAGE_VIEWS = "page_views"
    SESSIONS = "sessions"
    USERS = "users"


MODULES = (
    SessionTable.PAGE_VIEWS,
    SessionTable.SESSIONS,
    SessionTable.USERS,
    SessionTable.USER_MAPPING,
)
"""The tables built from the events of a run, by their names in files."""


class SessionUser(StrEnum):
    """Which event determines the user of a session."""

    EARLIEST_EVENT = "earliest_event"
    LATEST_EVENT = "latest_event"
    MAX = "max"
    FIRST_RUN = "first_run"


class LateRows(StrEnum):
    """What a run does with rows that arrived since the last one, dated before its window."""

    COUNT = "count"
    TAKE = "take"
    FAIL = "fail"


class UsersBy(StrEnum):
    """What one row of users is."""

    VISITOR = "visitor"
    STITCHED = "stitched"


class BackfillOrder(StrEnum):
    """Whether models that are behind block the others."""

    PACKAGE = "package"
    PER_MODEL = "per_model"


@dataclass(frozen=True, slots=True)
class CarriedColumn:
    """A column that a module copies; `sql` reads one event, or for `agg` is an aggregate.

    With `when`, SQL, it is that of the first or last event that fulfils it.
    """

    name: str
    sql: str
    where: Location | None = field(default=None, compare=False)
    when: str = ""


def prefixed_name(word: str, name: str) -> str:
    """Return the name of a column of users; a name with that prefix stays."""
    return name if name.startswith(f"{word}_") else f"{word}_{name}"


@dataclass(frozen=True, slots=True)
class Passthrough:
    """The columns that modules copy."""

    page_views: tuple[CarriedColumn, ...] = ()
    sessions_first: tuple[CarriedColumn, ...] = ()
    sessions_last: tuple[CarriedColumn, ...] = ()
    sessions_agg: tuple[CarriedColumn, ...] = ()
    users_first: tuple[CarriedColumn, ...] = ()
    users_last: tuple[CarriedColumn, ...] = ()
    users_agg: tuple[CarriedColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversion:
    """A kind of event that counts; `value` is SQL, "" for none."""

    name: str
    when: str
    value: str = ""
    where: Location | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Its columns in sessions and users: the number, whether, when first, and the sum."""
        words = ("volume", "converted", "first_conversion", *(["total"] if self.value else []))
        return tuple(f"cv_{self.name}_{word}" for word in words)


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A step that leads to a conversion; its event comes not before that of the step above."""

    step: str
    when: str
    where: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Channel:
    """A rule: sessions whose first event fulfils `when` came by this channel."""

    channel: str
    when: str
    where: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The options of a session file, each under its own name; null is None.

    Columns are names. All other texts are SQL over one event, except `bot_pattern`, the lists of
    `event_name`s, and `app_ids`, where None stands for rows without one.
    """

    timestamp: str = "collector_tstamp"
    derived_tstamp: str | None = "derived_tstamp"
    event_id: str = "event_id"
    session_id: tuple[str, ...] = ("domain_sessionid",)
    user_id: tuple[str, ...] = ("domain_userid",)
    session_timeout: dt.timedelta | None = None
    """After which silence of a user a session ends; None: events have the ids of sessions."""
    created_tstamp: str | None = "dvce_created_tstamp"
    sent_tstamp: str | None = "dvce_sent_tstamp"
    start_date: dt.datetime = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    backfill_limit_days: int = 30
    max_session_days: int = 3
    lookback_window_hours: int = 6
    days_late_allowed: int = 3
    session_lookback_days: int | None = 730
    app_ids: tuple[str | None, ...] = ()
    app_id: str = "app_id"
    allow_null_device_timestamps: bool = False
    filters: tuple[str, ...] = ()
    partition_column: str | None = None
    partition_pad_days: int = 1
    tie_break: tuple[str, ...] = ("etl_tstamp",)
    event_columns: tuple[str, ...] = EVERY_COLUMN
    quarantine: bool = True
    modules: tuple[SessionTable, ...] = MODULES[:3]
    session_stitching: bool = True
    page_view_stitching: bool = False
    user_stitching_id: str | None = "user_id"
    event_name: str = "event_name"
    page_view_id: str = "page_view_id"
    page_url: str = "page_url"
    view_events: tuple[str, ...] = ("page_view",)
    ping_events: tuple[str, ...] = ("page_ping",)
    heartbeat: int = 10
    min_visit_length: int = 5
    useragent: str = "useragent"
    bot_pattern: str | None = None
    engaged_when: str | None = None
    passthrough: Passthrough = Passthrough()
    conversions: tuple[Conversion, ...] = ()
    """Events that count for sessions and users."""
    funnel: tuple[FunnelStep, ...] = ()
    """Steps of a session, in their order."""
    channels: tuple[Channel, ...] = ()
    """How sessions came; the first rule that holds counts."""
    users_by: UsersBy = UsersBy.VISITOR
    """Whether users are visitors or known persons."""
    user_of_session: SessionUser = SessionUser.EARLIEST_EVENT
    late_loaded: LateRows = LateRows.TAKE
    """How to treat rows that arrive after their time was processed."""
    backfill: BackfillOrder = BackfillOrder.PACKAGE
    strict_seed_limits: bool = False
    skip_unchanged: bool = True
    compat: str | None = None
    allow_refresh: bool = False

    @property
    def backfill_limit(self) -> dt.timedelta:
        """How far behind a position one run may end."""
        return dt.timedelta(days=self.backfill_limit_days)

    @property
    def lookback(self) -> dt.timedelta:
        """How far before a position a run begins."""
        return dt.timedelta(hours=self.lookback_window_hours)

    @property
    def finds_sessions(self) -> bool:
        """Whether sessions are found among the events of a user, because they have no ids."""
        return self.session_timeout is not None

    @property
    def by_person(self) -> bool:
        """Whether users are known persons, over all their visitors."""
        return self.users_by is UsersBy.STITCHED

    @property
    def takes_late_rows(self) -> bool:
        """Whether sessions of late rows are built again."""
        return self.late_loaded is LateRows.TAKE

    @property
    def goal_columns(self) -> tuple[str, ...]:
        """The columns of sessions from conversions, the funnel, and channels."""
        found = [name for each in self.conversions for name in each.columns]
        if self.funnel:
            found += ["funnel_step", *(f"funnel_{each.step}_tstamp" for each in self.funnel)]
        return (*found, *([CHANNEL] if self.channels else []))

    @property
    def is_snowplow(self) -> bool:
        """Whether the rules are those of the Snowplow packages."""
        return self.compat == SNOWPLOW

    @property
    def tests_lateness(self) -> bool:
        """Whether device clocks are compared."""
        return self.created_tstamp is not None and self.sent_tstamp is not None

    @property
    def stitched(self) -> tuple[SessionTable, ...]:
        """The modules whose rows get the current mapping of users; empty without known users."""
        if self.user_stitching_id is None:
            return ()
        said = {
            SessionTable.PAGE_VIEWS: self.page_view_stitching,
            SessionTable.SESSIONS: self.session_stitching,
        }
        return tuple(each for each, is_on in said.items() if is_on and each in self.modules)

    @property
    def built_modules(self) -> tuple[SessionTable, ...]:
        """The modules that are built, in the order of their steps."""
        built = {*self.modules, *([SessionTable.USER_MAPPING] if self.stitched else [])}
        return tuple(each for each in SessionTable if each in built)


LATER_KEYS = frozenset({"session_timeout", "conversions", "funnel", "channels", "users_by"})
"""The options that older releases did not have: their defaults are in no fingerprint."""
COST_KEYS = frozenset(
    {
        "backfill_limit_days",
        "lookback_window_hours",
        "session_lookback_days",
        "partition_column",
        "partition_pad_days",
        "skip_unchanged",
        "late_loaded",
        "backfill",
        "allow_refresh",
    }
)
"""The options that affect only cost or requests: changing them changes no row."""
BASE_KEYS = frozenset(
    {
        "timestamp",
        "event_id",
        "session_id",
        "user_id",
        "session_timeout",
        "created_tstamp",
        "sent_tstamp",
        "max_session_days",
        "days_late_allowed",
        "app_ids",
        "app_id",
        "allow_null_device_timestamps",
        "filters",
        "tie_break",
        "quarantine",
        "user_of_session",
        "compat",
    }
)
"""The options of the base tables: after a change, only a refresh makes them consistent."""
