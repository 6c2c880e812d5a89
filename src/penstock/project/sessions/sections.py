"""The keys of a package's file, each declared once; options have the defaults of core."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from penstock.core.sessions.options import (
    MODULES,
    SNOWPLOW,
    BackfillOrder,
    LateRows,
    SessionOptions,
    SessionTable,
    SessionUser,
    UsersBy,
)
from penstock.project.files.kinds import DURATION, FLAG, TEXT, ValueKind, or_null, whole, word
from penstock.project.files.nodes import Section, YamlNode
from penstock.project.files.parsed import PACKAGE
from penstock.project.files.sections import (
    MAPPING,
    OBJECT,
    TEXT_LIST,
    TEXTS,
    KeyedSection,
    PartKind,
    key,
    node_as,
)
from penstock.project.sessions.carried import (
    CHANNELS,
    CONVERSIONS,
    EXPRESSION,
    EXPRESSION_OR_NULL,
    FUNNEL,
    PASSTHROUGH,
    SQL,
    as_read,
    stripped,
    text_kind,
)

_MOST = 300_000
"""Days or hours: of more the calendar has no dates."""


def _listed(what: str, least: int = 0) -> PartKind[tuple[str, ...] | None]:
    """Return the kind of lists of such texts; one alone is a list."""

    def take(section: Section, key: str) -> tuple[str, ...] | None:
        items = _items(section, key)
        clean = stripped if what == SQL else str.strip
        texts = tuple(clean(str(item.value)) for item in items or ())
        if items is not None and (not all(texts) or len(texts) < least):
            section.bad(key, f"a list of {what}")
            return None
        return None if items is None else texts

    return PartKind(f"a list of {what}", as_read, TEXT_LIST, None, take=take)


def _items(section: Section, key: str) -> tuple[YamlNode, ...] | None:
    """Return the items of a list of texts; None beside findings where they do not fit."""
    items = section.texts(key)
    return items if items or section.members[key].value == () else None


def _instant(value: object) -> dt.datetime | None:
    with suppress(ValueError):
        if isinstance(value, str):
            found = dt.datetime.fromisoformat(value.strip())
            return found.replace(tzinfo=dt.UTC) if not found.tzinfo else found.astimezone(dt.UTC)
    return None


def _timeout(value: object) -> dt.timedelta | None:
    found = DURATION.parse(value)
    return found if found is not None and found >= dt.timedelta(seconds=1) else None


def _apps(value: object) -> tuple[str | None, ...] | None:
    values = [each.value for each in value] if isinstance(value, tuple) else [value]
    fitting = [each for each in values if each is None or isinstance(each, str)]
    return tuple(fitting) if len(fitting) == len(values) else None


def _modules(section: Section, key: str) -> tuple[SessionTable, ...] | None:
    items = _items(section, key)
    alone = [Section(item, "", section.findings, {key: item}) for item in items or ()]
    words = [each.read(key, _MODULE) for each in alone]
    fits = items is not None and all(words)
    return tuple(each for each in MODULES if each in words) if fits else None


def _pattern(section: Section, key: str) -> str | None:
    text = section.read(key, text_kind("a regular expression"))
    try:
        re.compile(text or "")
    except re.error as error:
        section.bad(key, f"a regular expression ({error})")
        return None
    return text


_COLUMN = text_kind("the name of a column")
_COLUMN_OR_NULL = or_null(_COLUMN)
_EXPRESSION_OR_NULL = or_null(EXPRESSION)
_EXPRESSIONS, _CONDITIONS, _WORDS = _listed(SQL, 1), _listed(SQL), _listed("texts")
SQL_KINDS = (EXPRESSION, EXPRESSION_OR_NULL, _EXPRESSIONS, _CONDITIONS)
"""The kinds of values that are SQL of one event."""
_POSITIVE, _FROM_ZERO = whole(1, _MOST), whole(0, _MOST)
_APPS: ValueKind[tuple[str | None, ...] | None] = ValueKind(
    "a list of texts; null in it means rows without one",
    _apps,
    {"type": ["array", "string", "null"], "items": {"type": ["string", "null"]}},
    None,
)
_INSTANT: ValueKind[dt.datetime | None] = ValueKind(
    "a date or a time such as 2021-01-01", _instant, {"type": "string"}, None
)
_TIMEOUT = or_null(replace(DURATION, parse=_timeout, expected="a duration such as '30 minutes'"))
_MODULE = word(MODULES)
_MODULES: PartKind[tuple[SessionTable, ...] | None] = PartKind(
    "modules", as_read, {"type": "array", "items": _MODULE.schema}, None, take=_modules
)
_PATTERN: PartKind[str | None] = PartKind(
    "a pattern", as_read, {"type": ["string", "null"]}, None, takes_null=True, take=_pattern
)
_TABLES: ValueKind[Mapping[str, YamlNode] | None] = ValueKind(
    "a mapping of tables to checks",
    lambda value: value if isinstance(value, Mapping) else None,
    OBJECT,
    None,
)


class PackageSection(KeyedSection, filled=SessionOptions()):
    """A package's file."""

    strategy = key(word([PACKAGE]), "sessions", needed=True)
    """Says that the file is a package; `sessions` is the only word."""
    name = key(TEXT, "web", needed=True)
    """Begins the names of all its tables; small letters, digits and `_`, at most 40."""
    events = key(TEXT, "raw.events", needed=True)
    """The model or source that holds the events; `ref:x` or `source:x.y` where both exist."""
    schema = key(TEXT, "derived", "the project's name")
    """Where derived tables lie."""
    manifest_schema = key(TEXT, "manifests", "`schema`")
    """Where tables lie that say which sessions there are."""
    scratch_schema = key(TEXT, "scratch", "`schema`")
    """Where tables of one run lie."""
    timestamp = key(_COLUMN, "collector_tstamp")
    """The clock of windows, sessions and the manifest: a TIMESTAMP."""
    derived_tstamp = key(_COLUMN_OR_NULL, None)
    """The clock of the modules; null takes `timestamp`."""
    created_tstamp = key(_COLUMN_OR_NULL, None)
    """When the device made the event; null: nothing is late."""
    sent_tstamp = key(_COLUMN_OR_NULL, None)
    """When the device sent it; null: nothing is late."""
    event_id = key(EXPRESSION, "event_id")
    """SQL: what an event is known by."""
    session_id = key(_EXPRESSIONS, ["domain_sessionid"])
    """SQL: what a session is known by; of a list the first that is not null."""
    user_id = key(_EXPRESSIONS, ["account", "domain_userid"])
    """SQL: what a user is known by; of a list the first that is not null."""
    session_timeout = key(_TIMEOUT, "30 minutes")
    """After how long a silence of a user a session ends; for events without session ids."""
    event_name = key(EXPRESSION, "lower(event_name)")
    """SQL: what happened."""
    page_view_id = key(EXPRESSION, "page_view_id")
    """SQL: what a page view is known by."""
    page_url = key(EXPRESSION, "page_url")
    """SQL: the page."""
    view_events = key(_WORDS, ["page_view", "screen"])
    """Values of `event_name` that begin a page view."""
    ping_events = key(_WORDS, ["page_ping"])
    """Values of `event_name` that mean that the page is still open."""
    heartbeat = key(_POSITIVE, 5)
    """Seconds between two pings."""
    min_visit_length = key(_FROM_ZERO, 10)
    """Seconds after which the first ping comes."""
    start_date = key(_INSTANT, "2024-01-01", "`2020-01-01`")
    """Where the first run begins, UTC."""
    backfill_limit_days = key(_POSITIVE, 7)
    """How many days one run takes on at most."""
    max_session_days = key(_POSITIVE, 2)
    """Where a session is cut: its cap."""
    lookback_window_hours = key(_FROM_ZERO, 12)
    """How far a run looks back."""
    days_late_allowed = key(_FROM_ZERO, 5)
    """After how many days an event was sent too late."""
    session_lookback_days = key(or_null(_POSITIVE), 365)
    """How far back sessions are known; null knows all."""
    upsert_lookback_days = key(_FROM_ZERO, 30)
    """Read, and of no effect: upserts are exact."""
    partition_column = key(_COLUMN_OR_NULL, "collector_date")
    """A DATE column that the events are partitioned by."""
    partition_pad_days = key(_FROM_ZERO, 2)
    """How many days it may be off."""
    app_id = key(_COLUMN, "app_id")
    """The column that says of which application an event is."""
    app_ids = key(_APPS, ["shop", None], "all")
    """The applications that count; null stands for events without one."""
    filters = key(_CONDITIONS, ["geo_country = 'NL'"])
    """SQL that must be true of every event."""
    allow_null_device_timestamps = key(FLAG, example=True)
    """Whether an event without a device clock takes `timestamp`."""
    tie_break = key(_WORDS, ["etl_tstamp"])
    """Columns that say which of two equal events is kept."""
    event_columns = key(_WORDS, ["event_id", "amount"], "all")
    """The columns that modules find."""
    quarantine = key(FLAG, example=False)
    """Whether sessions that reach their cap get no more events."""
    modules = key(_MODULES, ["sessions", "users"])
    """The derived tables that are made."""
    session_stitching = key(FLAG, example=False)
    """Whether sessions take the latest known user of their visitor."""
    page_view_stitching = key(FLAG, example=True)
    """Whether page views do."""
    user_stitching_id = key(_COLUMN_OR_NULL, "account")
    """The column of the known user; null for none: no mapping, no stitching."""
    user_of_session = key(word(tuple(SessionUser)), "latest_event")
    """Whose event says who the user of a session is."""
    useragent = key(_COLUMN, "useragent")
    """The column of the browser."""
    bot_pattern = key(_PATTERN, "(?i)bot|spider")
    """A regular expression: modules leave events out whose browser matches."""
    engaged_when = key(EXPRESSION_OR_NULL, "event_name = 'purchase'")
    """SQL; one event that fulfils it makes a session engaged."""
    passthrough = key(PASSTHROUGH, {"page_views": ["page_title"]})
    """[Columns that modules take over](#passthrough)."""
    conversions = key(CONVERSIONS, [{"name": "purchase", "when": "event_name = 'purchase'"}])
    """[Events that count](#conversions) for sessions and users."""
    funnel = key(FUNNEL, [{"step": "basket", "when": "page_url like '%/basket'"}])
    """[The steps](#funnel) that lead to a conversion, in their order."""
    channels = key(CHANNELS, [{"channel": "Email", "when": "mkt_medium = 'email'"}])
    """[Rules that name the channel](#channels) of a session; the first that holds counts."""
    users_by = key(word(tuple(UsersBy)), "stitched")
    """Whether users have a row per visitor, or one per known person over all visitors."""
    late_loaded = key(word(tuple(LateRows)), "count")
    """How to treat rows that arrive after their time was processed: `take` builds their sessions
    again, `count` only counts them, `fail` stops the run."""
    backfill = key(word(tuple(BackfillOrder)), "per_model")
    """Whether the package waits for models that catch up."""
    strict_seed_limits = key(FLAG, example=True)
    """Whether limits never pass over an empty window."""
    skip_unchanged = key(FLAG, example=False)
    """Whether runs without a new commit do nothing."""
    compat = key(or_null(word([SNOWPLOW])), "snowplow")
    """`snowplow`: the rules of the packages that the format comes from."""
    allow_refresh = key(FLAG, example=True)
    """Whether `--full-refresh` may empty the package."""
    vars = key(MAPPING, {"snowplow__heartbeat": 5})
    """`snowplow__…` as other words for keys."""
    checks = key(_TABLES, {"sessions": [{"type": "row_count", "min": 1}]})
    """Checks by table."""
    description = key(TEXT, "The web shop.")
    """What it is, for people."""
    tags = key(TEXTS, ["daily"])
    """Tags for `--select tag:…`."""
    meta = key(node_as(OBJECT), {"owner": "web team"})
    """Your own metadata, copied to the artifacts."""
