"""The rules of packages as plain SQL over whole tables, in SQLite.

The oracle in plain Python goes event by event and was written from the same page as the code. This
is a second reading: sets, joins and window functions, and it shares nothing with either.
With `compat: snowplow` each pass upserts; the usual rules are read as one recomputation of all
events, which runs in any cutting have to add up to.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SECOND, DAY = 1_000_000, 86_400_000_000
TABLES = """
CREATE TABLE life (id PRIMARY KEY, user, low, high);
CREATE TABLE held (id PRIMARY KEY);
CREATE TABLE page_views (page PRIMARY KEY, session, user, known, event, url, low, high, engaged,
    lasted, place, places);
CREATE TABLE sessions (id PRIMARY KEY, user, known, low, high, pages, events, engaged, lasted,
    is_engaged, first_url, last_url, stitched);
CREATE TABLE users (user PRIMARY KEY, low, high, sessions, pages, engaged, first_id, last_id,
    first_url, last_url);
CREATE TABLE mapping (user PRIMARY KEY, known);
"""
PASSES = "sent <= created + :late AND session IS NOT NULL AND (:apps = '' OR app = :apps)"
BASE = f"""
DROP TABLE IF EXISTS fresh;
CREATE TEMP TABLE fresh AS SELECT session AS id, max(user) AS user, min(ts) AS low, max(ts) AS high
FROM ev WHERE {PASSES} AND ts BETWEEN :low AND :high AND session NOT IN (SELECT id FROM held)
GROUP BY session;
INSERT OR REPLACE INTO life
SELECT id, user, low, min(low + :cap, high) FROM (
    SELECT n.id, coalesce(p.user, n.user) AS user, min(n.low, coalesce(p.low, n.low)) AS low,
        max(n.high, coalesce(p.high, n.high)) AS high
    FROM fresh n LEFT JOIN life p ON p.id = n.id WHERE p.id IS NULL OR p.high < p.low + :cap);
DROP TABLE IF EXISTS touched;
CREATE TEMP TABLE touched AS SELECT id, user, low, min(high, :high) AS high FROM life
WHERE low BETWEEN :low - :cap AND :high AND high >= :low;
INSERT OR IGNORE INTO held SELECT id FROM touched WHERE high = low + :cap;
DROP TABLE IF EXISTS kept;
CREATE TEMP TABLE kept AS SELECT * FROM (
    SELECT e.*, t.user AS owner, row_number() OVER (PARTITION BY e.id ORDER BY ts, created, etl,
        sent) AS n
    FROM ev e JOIN touched t ON t.id = e.session
    WHERE {PASSES} AND ts <= t.low + :cap AND ts BETWEEN (SELECT min(low) FROM touched)
        AND (SELECT max(high) FROM touched)) WHERE n = 1;
DROP TABLE IF EXISTS seen;
CREATE TEMP TABLE seen AS SELECT *, page IS NOT NULL AND name = 'page_view' AS is_view,
    page IS NOT NULL AND name = 'page_ping' AS is_ping, c / {SECOND} / 10 AS bucket,
    :bots = '' OR coalesce(instr(lower(agent), :bots) = 0, false) AS is_human FROM kept;
"""
WHOLE = f"""
DROP TABLE IF EXISTS life;
CREATE TABLE life AS SELECT id, CAST(NULL AS TEXT) AS user, low, min(high, low + :cap) AS high
FROM (SELECT session AS id, min(ts) AS low, max(ts) AS high FROM ev WHERE {PASSES}
    AND ts BETWEEN :low AND :high GROUP BY session);
UPDATE life SET user = (SELECT e.user FROM ev e WHERE e.session = life.id AND e.user IS NOT NULL
    AND {PASSES} AND ts BETWEEN life.low AND life.low + :cap
    ORDER BY ts, coalesce(e.id, ''), e.user LIMIT 1);
INSERT OR IGNORE INTO held SELECT id FROM life WHERE high = low + :cap;
DROP TABLE IF EXISTS touched;
CREATE TEMP TABLE touched AS SELECT * FROM life;
DROP TABLE IF EXISTS kept;
CREATE TEMP TABLE kept AS SELECT * FROM (
    SELECT e.*, t.user AS owner, row_number() OVER (PARTITION BY e.session, coalesce(e.id,
        'no id ' || e.rowid) ORDER BY ts) AS n
    FROM ev e JOIN touched t ON t.id = e.session
    WHERE {PASSES} AND ts BETWEEN t.low AND t.low + :cap AND ts <= :high) WHERE n = 1;
DROP TABLE IF EXISTS seen;
CREATE TEMP TABLE seen AS SELECT *, page IS NOT NULL AND name = 'page_view' AS is_view,
    page IS NOT NULL AND name = 'page_ping' AS is_ping, c / {SECOND} / 10 AS bucket,
    :bots = '' OR coalesce(instr(lower(agent), :bots) = 0, true) AS is_human FROM kept;
"""
MAPPING = """
INSERT OR REPLACE INTO mapping SELECT owner, known FROM (
    SELECT owner, known, row_number() OVER (PARTITION BY owner
        ORDER BY ts DESC, coalesce(id, '') DESC, known DESC) AS n
    FROM seen WHERE known IS NOT NULL AND owner IS NOT NULL) WHERE n = 1;
"""
PAGE_VIEWS = f"""
INSERT OR REPLACE INTO page_views
SELECT v.page, v.session, v.owner, v.known, v.id, v.url, v.d, coalesce(p.high, v.d),
    coalesce(p.engaged, 0), coalesce(p.high, v.d) / {SECOND} - v.d / {SECOND},
    row_number() OVER (PARTITION BY v.session ORDER BY v.d, v.c, v.id NULLS LAST),
    count(*) OVER (PARTITION BY v.session)
FROM (SELECT *, row_number() OVER (PARTITION BY page ORDER BY d, c, id NULLS LAST) AS place
      FROM seen WHERE is_view AND is_human) v
LEFT JOIN (SELECT page, session, max(d) AS high, 10 * (count(DISTINCT bucket) - 1) + 5 AS engaged
           FROM seen WHERE is_ping GROUP BY page, session) p
ON p.page = v.page AND p.session = v.session
WHERE v.place = 1;
"""
SESSIONS = f"""
INSERT OR REPLACE INTO sessions
SELECT w.session, f.owner, f.known, w.low - {5 * SECOND} * f.is_ping, w.high, w.pages, w.events,
    w.engaged, w.high / {SECOND} - w.low / {SECOND} + 5 * f.is_ping,
    w.pages >= 2 OR w.engaged / 10.0 >= 2, f.url, CASE WHEN l.n IS NULL THEN f.url ELSE l.url END,
    coalesce((SELECT known FROM mapping m WHERE m.user = f.owner), f.owner)
FROM (SELECT session, min(d) AS low, max(d) AS high, count(*) AS events,
        count(DISTINCT CASE WHEN is_view OR is_ping THEN page END) AS pages,
        10 * (count(DISTINCT CASE WHEN is_ping THEN page || ' ' || bucket END)
            - count(DISTINCT CASE WHEN is_ping THEN page END))
        + 5 * count(DISTINCT CASE WHEN is_ping THEN page END) AS engaged
      FROM seen WHERE is_human GROUP BY session) w
JOIN (SELECT *, row_number() OVER (PARTITION BY session ORDER BY d, c, id NULLS LAST) AS place
      FROM seen WHERE is_human AND (is_view OR is_ping)) f
ON f.session = w.session AND f.place = 1
LEFT JOIN (SELECT *, row_number() OVER (PARTITION BY session
        ORDER BY d DESC, c DESC, id NULLS LAST) AS place
      FROM seen WHERE is_human AND is_view) l
ON l.session = w.session AND l.place = 1;
UPDATE sessions SET stitched = (SELECT known FROM mapping m WHERE m.user = sessions.user)
WHERE user IN (SELECT user FROM mapping);
"""
USERS = """
INSERT OR REPLACE INTO users
SELECT a.user, a.low, a.high, a.sessions, a.pages, a.engaged, a.first_id, a.last_id, f.first_url,
    l.last_url
FROM (SELECT user, low, high, count(*) AS sessions, sum(pages) AS pages, sum(engaged) AS engaged,
        max(CASE WHEN begins = low THEN id END) AS first_id,
        max(CASE WHEN ends = high THEN id END) AS last_id
      FROM (SELECT user, id, pages, engaged, s.low AS begins, s.high AS ends,
                min(s.low) OVER (PARTITION BY user) AS low,
                max(s.high) OVER (PARTITION BY user) AS high
            FROM sessions s WHERE user IN (SELECT user FROM touched)) GROUP BY user) a
JOIN sessions f ON f.id = a.first_id JOIN sessions l ON l.id = a.last_id;
"""


def micros(value: Any) -> Any:
    return (
        (value - EPOCH) // dt.timedelta(microseconds=1) if isinstance(value, dt.datetime) else value
    )


@dataclass
class SqliteSessions:
    """All modules of a package; `app` and `bots` are "" for no test of them."""

    max_session_days: int
    app: str = ""
    bots: str = ""
    compat: bool = True

    def __post_init__(self) -> None:
        self.db = sqlite3.connect(":memory:")
        tables, self.page_views, self.base = TABLES, PAGE_VIEWS, BASE
        if not self.compat:
            tables = TABLES.replace("page PRIMARY KEY, session,", "page, session,")
            once = PAGE_VIEWS.replace("PARTITION BY page ORDER", "PARTITION BY session, page ORDER")
            self.page_views = once.replace(
                "coalesce(p.high, v.d)", "max(coalesce(p.high, v.d), v.d)"
            )
            self.base = WHOLE
        self.db.executescript(tables)
        days = {"cap": self.max_session_days * DAY, "late": 3 * DAY}
        self.keys = {**days, "apps": self.app, "bots": self.bots}

    def run(self, events: Iterable[Mapping[str, Any]], low: dt.datetime, high: dt.datetime) -> None:
        """Make one pass over the events that are there."""
        self.db.execute("DROP TABLE IF EXISTS ev")
        self.db.execute(
            "CREATE TABLE ev (id, session, user, known, ts, created, sent, etl, d, c, name, page, "
            "url, app, agent)"
        )
        self.db.executemany(
            "INSERT INTO ev VALUES (:event_id, :domain_sessionid, :domain_userid, :user_id, "
            ":collector_tstamp, :dvce_created_tstamp, :dvce_sent_tstamp, :etl_tstamp, "
            "coalesce(:derived_tstamp, :collector_tstamp), "
            "coalesce(:dvce_created_tstamp, :collector_tstamp), :event_name, :page_view_id, "
            ":page_url, :app_id, :useragent)",
            [{name: micros(value) for name, value in each.items()} for each in events],
        )
        said = {**self.keys, "low": micros(low), "high": micros(high)}
        for script in (self.base, MAPPING, self.page_views, SESSIONS, USERS):
            for statement in script.split(";")[:-1]:
                self.db.execute(statement, said)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Read a table in an order of its own."""
        return sorted(self.db.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
