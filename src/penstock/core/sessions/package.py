"""The content of one session file: its options, under their names in the file, and its tables.

The terms are those of docs/sessions.md: `ts` is the column that `timestamp` names; the cap of a
session is `max_session_days` after its start; a tracked model has a row in the manifest.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName, TableName

SNOWPLOW = "snowplow"
EVERY_COLUMN = ("*",)


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


class BackfillOrder(StrEnum):
    """Whether models that are behind block the others."""

    PACKAGE = "package"
    PER_MODEL = "per_model"


@dataclass(frozen=True, slots=True)
class CarriedColumn:
    """A column that a module copies; `sql` reads one event, or for `agg` is an aggregate."""

    name: str
    sql: str
    where: Location | None = field(default=None, compare=False)


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
    user_of_session: SessionUser = SessionUser.EARLIEST_EVENT
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


COST_KEYS = frozenset(
    {
        "backfill_limit_days",
        "lookback_window_hours",
        "session_lookback_days",
        "partition_column",
        "partition_pad_days",
        "skip_unchanged",
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


class SessionTableKind(StrEnum):
    """What happens to the rows of a table."""

    VIEW = "view"
    KEPT = "kept"
    SCRATCH = "scratch"
    MODULE = "module"


@dataclass(frozen=True, slots=True)
class SessionModel:
    """One table of a package as a model of the project.

    `reads` are its input models of the package, `after` those that only run before it. With
    `reads_events` it reads the events table itself.
    """

    name: str
    table: TableName
    part: SessionTable
    kind: SessionTableKind
    key: tuple[str, ...] = ()
    partition_by: str = ""
    reads: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    reads_events: bool = False
    tags: tuple[str, ...] = ()

    @property
    def is_tracked(self) -> bool:
        """Whether it has a row in the manifest."""
        return self.kind is SessionTableKind.MODULE


@dataclass(frozen=True, slots=True)
class SessionPackage:
    """One session file with every setting resolved; `where` is the place of its name.

    `events` is the model or source of the events. `models` are its tables in the order of their
    steps. `fingerprint` is that of its options, as `package_fingerprint` writes it. `places` are
    the places of the file's keys.
    """

    name: str
    events: InputName
    options: SessionOptions
    models: tuple[SessionModel, ...]
    manifest_schema: str
    where: Location = field(compare=False)
    fingerprint: str = ""
    places: Mapping[str, Location] = field(default_factory=dict, compare=False)

    @property
    def tag(self) -> str:
        """The tag of its tracked models."""
        return tag_of(self.name)

    @property
    def manifest_table(self) -> TableName:
        """The table to which its manifest is exported."""
        return TableName(self.manifest_schema, f"{self.name}_incremental_manifest")

    def model(self, part: SessionTable) -> SessionModel | None:
        """Return one of its tables, None if it is not built."""
        return next((each for each in self.models if each.part is part), None)

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of its modules, which are all tracked."""
        return tuple(each.name for each in self.models if each.is_tracked)


def package_fingerprint(base: str, other: str) -> str:
    """Combine the digests of the base tables' options and of all others into one text."""
    return f"{base[:16]}/{other[:16]}"


def same_base(one: str, other: str) -> bool:
    """Return whether two fingerprints have the same options of base tables.

    >>> same_base(package_fingerprint("a", "b"), package_fingerprint("a", "c"))
    True
    """
    return one.partition("/")[0] == other.partition("/")[0]


def tag_of(package: str) -> str:
    """Return the tag of the models that a package tracks."""
    return f"{package}_incremental"


@dataclass(frozen=True, slots=True)
class SessionSchemas:
    """The schemas of a package's tables: derived ones, kept ones, those of a run."""

    derived: str
    manifest: str
    scratch: str


_KINDS: Mapping[SessionTable, SessionTableKind] = {
    SessionTable.LIMITS: SessionTableKind.VIEW,
    SessionTable.LIFECYCLE: SessionTableKind.KEPT,
    SessionTable.QUARANTINE: SessionTableKind.KEPT,
    SessionTable.SESSIONS_THIS_RUN: SessionTableKind.SCRATCH,
    SessionTable.EVENTS_THIS_RUN: SessionTableKind.SCRATCH,
}
_SESSION = "session_identifier"
_KEYS: Mapping[SessionTable, tuple[str, ...]] = {
    SessionTable.LIFECYCLE: (_SESSION,),
    SessionTable.QUARANTINE: (_SESSION,),
    SessionTable.SESSIONS_THIS_RUN: (_SESSION,),
    SessionTable.PAGE_VIEWS: (_SESSION, "page_view_id"),
    SessionTable.SESSIONS: (_SESSION,),
    SessionTable.USERS: ("user_identifier",),
    SessionTable.USER_MAPPING: ("user_identifier",),
}
_PARTITIONS: Mapping[SessionTable, str] = {
    SessionTable.LIFECYCLE: "start_date",
    SessionTable.PAGE_VIEWS: "session_start_date",
    SessionTable.SESSIONS: "session_start_date",
}
_TOUCHED = (SessionTable.SESSIONS_THIS_RUN, SessionTable.EVENTS_THIS_RUN)
_READS: Mapping[SessionTable, tuple[SessionTable, ...]] = {
    SessionTable.LIFECYCLE: (SessionTable.LIMITS,),
    SessionTable.QUARANTINE: (SessionTable.LIMITS, SessionTable.LIFECYCLE),
    SessionTable.SESSIONS_THIS_RUN: (SessionTable.LIMITS, SessionTable.LIFECYCLE),
    SessionTable.EVENTS_THIS_RUN: (SessionTable.LIFECYCLE, SessionTable.SESSIONS_THIS_RUN),
    SessionTable.USER_MAPPING: (SessionTable.EVENTS_THIS_RUN,),
    SessionTable.PAGE_VIEWS: _TOUCHED,
    SessionTable.SESSIONS: _TOUCHED,
    SessionTable.USERS: (SessionTable.SESSIONS_THIS_RUN, SessionTable.SESSIONS),
}
_AFTER: Mapping[SessionTable, tuple[SessionTable, ...]] = {
    SessionTable.SESSIONS_THIS_RUN: (SessionTable.QUARANTINE,)
}
_READ_EVENTS = (SessionTable.LIFECYCLE, SessionTable.QUARANTINE, SessionTable.EVENTS_THIS_RUN)


def session_models(
    name: str, schemas: SessionSchemas, options: SessionOptions
) -> tuple[SessionModel, ...]:
    """Return the tables that a package is expanded into, in the order of their steps."""
    modules = options.built_modules
    built = [
        each
        for each in SessionTable
        if (each in modules or each in _KINDS)
        and (each is not SessionTable.QUARANTINE or options.quarantine)
    ]

    return tuple(_model(name, part, built, schemas, options) for part in built)


def _model(
    package: str,
    part: SessionTable,
    built: Collection[SessionTable],
    schemas: SessionSchemas,
    options: SessionOptions,
) -> SessionModel:
    def names_of(parts: tuple[SessionTable, ...]) -> tuple[str, ...]:
        return tuple(f"{package}_{each}" for each in parts if each in built)

    kind = _KINDS.get(part, SessionTableKind.MODULE)
    lies = {SessionTableKind.MODULE: schemas.derived, SessionTableKind.KEPT: schemas.manifest}
    after = _AFTER.get(part, ())
    if part in options.stitched:
        after = (SessionTable.USER_MAPPING,)
    is_keyed_alone = part is SessionTable.PAGE_VIEWS and options.is_snowplow
    return SessionModel(
        name=f"{package}_{part}",
        table=TableName(lies.get(kind, schemas.scratch), f"{package}_{part}"),
        part=part,
        kind=kind,
        key=("page_view_id",) if is_keyed_alone else _KEYS.get(part, ()),
        partition_by=_PARTITIONS.get(part, ""),
        reads=names_of(_READS.get(part, ())),
        after=names_of(after),
        reads_events=part in _READ_EVENTS,
        tags=(tag_of(package),) if kind is SessionTableKind.MODULE else (),
    )


def unresolved(name: str = "") -> InputName:
    """Return the name of an events table that could not be resolved."""
    return InputName(InputKind.EXTERNAL, name)
