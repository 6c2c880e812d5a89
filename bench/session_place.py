"""Visits of a web shop for the session benchmark, and the same tables made anew by plain SQL."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from place import Place

FIRST = dt.datetime(2021, 1, 1, tzinfo=dt.UTC)
PER_SESSION = 12
DELAY = 7
"""Rows that arrive late come so many days after the others."""
START = "timestamp'2021-01-01 00:00:00Z'"
# A session begins on one day; a third of them so late that most of these cross midnight. One in a
# thousand has the id of the one ten days before.
VISITS = """\
SELECT s, if(s % 1000 = 7 AND s % {days} >= 10, s - 10, s) AS id,
  pmod(xxhash64(s, 1), {users}) AS user, 1 + pmod(xxhash64(s, 2), 23) AS events,
  {start} + make_dt_interval(CAST(s % {days} AS INT), 0, 0,
    if(pmod(xxhash64(s, 3), 100) < 36, 86100 + pmod(xxhash64(s, 4), 300),
       pmod(xxhash64(s, 4), 80000))) AS begin
FROM (SELECT id AS s FROM range({sessions}))"""
EVENTS = """\
SELECT s, id, user, k, copy,
  begin + make_dt_interval(0, 0, 0, 100 * k + pmod(xxhash64(s, k), 50) + copy) AS ts,
  k % 4 AS step, k DIV 4 AS page, pmod(xxhash64(s, k, 5), 100) AS luck
FROM (SELECT *, explode(sequence(0L, events - 1)) AS k FROM ({visits}))
LATERAL VIEW explode(if(pmod(xxhash64(s, k, 6), 50) = 0, array(0, 1), array(0))) c AS copy"""
COLUMNS = """\
concat('e', s, '-', k) AS event_id, concat('s', id) AS domain_sessionid,
ts AS collector_tstamp, ts - make_dt_interval(0, 0, 0, 2) AS derived_tstamp,
ts - make_dt_interval(if(luck = 0, 4, 0), 0, 0, 3) AS dvce_created_tstamp,
ts - make_dt_interval(0, 0, 0, 1) AS dvce_sent_tstamp,
ts + make_dt_interval(0, 0, 0, 30 + copy) AS etl_tstamp, concat('u', user) AS domain_userid,
if(user % 10 = 0 AND step = 3, concat('known', user), NULL) AS user_id, 'shop' AS app_id,
'web' AS platform, CASE step WHEN 0 THEN 'page_view' WHEN 3 THEN 'link_click' ELSE 'page_ping' END
AS event_name, if(step = 3, NULL, concat('p', s, '-', page)) AS page_view_id,
concat('https://shop.example.org/', page, '/', s % 1009) AS page_url,
concat('Page ', s % 1009) AS page_title, concat('Mozilla/5.0 (', s % 97, ')') AS useragent,
element_at(array('ad', 'mail', 'search'), CAST(1 + s % 3 AS INT)) AS mkt_source,
concat('C', s % 53) AS geo_country, DATE(ts) AS collector_date"""
PACKAGE = """\
strategy: sessions
name: web
schema: derived
events: raw.events
start_date: 2021-01-01
"""
SOURCE = """\
sources:
  - name: raw
    tables: [{name: events, path: ../landing/events}]
"""
PASSING = "dvce_sent_tstamp <= dvce_created_tstamp + INTERVAL '3' DAY"
ORDER = "collector_tstamp, dvce_created_tstamp, etl_tstamp, dvce_sent_tstamp"
V = "derived_tstamp, dvce_created_tstamp, event_id"
SECONDS = "unix_seconds({1}) - unix_seconds({0})"
# What one would write without any manifest: all tables anew, of all events there are.
LIFECYCLE = f"""\
SELECT id AS session_identifier, u.user AS user_identifier, start_tstamp,
  least(cap, last) AS end_tstamp, DATE(start_tstamp) AS start_date
FROM (SELECT domain_sessionid AS id, min(collector_tstamp) AS start_tstamp,
  min(collector_tstamp) + INTERVAL '3' DAY AS cap, max(collector_tstamp) AS last,
  min(struct(collector_tstamp AS ts, event_id, domain_userid AS user)) AS u
  FROM events WHERE {PASSING} GROUP BY domain_sessionid)"""
KEPT = f"""\
SELECT * FROM (SELECT l.session_identifier, l.user_identifier, l.start_date AS session_start_date,
  e.*, row_number() OVER (PARTITION BY domain_sessionid, event_id ORDER BY {ORDER}) AS n
  FROM events e JOIN lifecycle l ON l.session_identifier = e.domain_sessionid
  WHERE {PASSING} AND collector_tstamp <= l.start_tstamp + INTERVAL '3' DAY) WHERE n = 1"""
PAGE_VIEWS = f"""\
SELECT page_view_id, event_id, session_identifier, user_identifier, user_id, page_url,
  page_view_in_session_index, page_views_in_session, start_tstamp, end_tstamp, engaged_time_in_s,
  unix_seconds(end_tstamp) - unix_seconds(start_tstamp) AS absolute_time_in_s, session_start_date
FROM (SELECT v.*, derived_tstamp AS start_tstamp, greatest(derived_tstamp, last) AS end_tstamp,
  if(coalesce(buckets, 0) = 0, 0, 10 * (buckets - 1) + 5) AS engaged_time_in_s,
  row_number() OVER (PARTITION BY session_identifier ORDER BY {V}) AS page_view_in_session_index,
  count(*) OVER (PARTITION BY session_identifier) AS page_views_in_session
  FROM (SELECT *, row_number() OVER (PARTITION BY session_identifier, page_view_id ORDER BY {V})
    AS first FROM kept WHERE event_name = 'page_view') v
  LEFT JOIN (SELECT session_identifier AS id, page_view_id AS page, max(derived_tstamp) AS last,
    count(DISTINCT floor(unix_seconds(dvce_created_tstamp) / 10)) AS buckets FROM kept
    WHERE event_name = 'page_ping' GROUP BY 1, 2) p
  ON p.id = session_identifier AND p.page = page_view_id WHERE first = 1)"""
IS_PAGE = "event_name IN ('page_view', 'page_ping') AND page_view_id IS NOT NULL"
SESSIONS = f"""\
SELECT session_identifier, user_identifier, f.user_id, f.event_id AS first_event_id,
  low - if(f.event_name = 'page_ping', INTERVAL '5' SECOND, INTERVAL '0' SECOND) AS start_tstamp,
  high AS end_tstamp, pages AS page_views, total_events,
  10 * (buckets - pinged) + 5 * pinged AS engaged_time_in_s,
  unix_seconds(high) - unix_seconds(low) + if(f.event_name = 'page_ping', 5, 0)
  AS absolute_time_in_s, pages >= 2 OR (10 * (buckets - pinged) + 5 * pinged) / 10 >= 2
  AS is_engaged, f.page_url AS first_page_url, coalesce(l, f).page_url AS last_page_url,
  session_start_date
FROM (SELECT session_identifier, first(user_identifier) AS user_identifier,
  first(session_start_date) AS session_start_date, min(derived_tstamp) AS low,
  max(derived_tstamp) AS high, count(*) AS total_events,
  count(DISTINCT if({IS_PAGE}, page_view_id, NULL)) AS pages,
  count(DISTINCT page_view_id, floor(unix_seconds(dvce_created_tstamp) / 10))
    FILTER (WHERE event_name = 'page_ping') AS buckets,
  count(DISTINCT page_view_id) FILTER (WHERE event_name = 'page_ping') AS pinged,
  min_by(struct(event_id, user_id, event_name, page_url), struct({V})) FILTER (WHERE {IS_PAGE}) f,
  max_by(struct(event_id, user_id, event_name, page_url), struct({V}))
    FILTER (WHERE event_name = 'page_view') AS l
  FROM kept GROUP BY session_identifier) WHERE f IS NOT NULL"""
USERS = """\
SELECT user_identifier, min_by(user_id, struct(start_tstamp, -i)) AS user_id,
  min(start_tstamp) AS start_tstamp, max(end_tstamp) AS end_tstamp, count(*) AS sessions,
  sum(page_views) AS page_views, sum(engaged_time_in_s) AS engaged_time_in_s,
  min_by(session_identifier, struct(start_tstamp, -i)) AS first_session_identifier,
  max_by(session_identifier, struct(end_tstamp, i)) AS last_session_identifier,
  min_by(first_page_url, struct(start_tstamp, -i)) AS first_page_url,
  max_by(last_page_url, struct(end_tstamp, i)) AS last_page_url
FROM (SELECT *, rank() OVER (PARTITION BY user_identifier ORDER BY session_identifier) AS i
  FROM sessions) GROUP BY user_identifier"""
BY_HAND = {
    "lifecycle": (LIFECYCLE, "base_sessions_lifecycle_manifest", "start_date"),
    "kept": (KEPT, "", ""),
    "page_views": (PAGE_VIEWS, "page_views", "session_start_date"),
    "sessions": (SESSIONS, "sessions", "session_start_date"),
    "users": (USERS, "users", ""),
}


class SessionBench:
    """A package over events that come day by day, and statements by hand beside it."""

    def __init__(self, place: Place, rows: int, days: int, late: int = 0) -> None:
        self.place, self.days, self.late = place, days, late
        place.write("models/raw.yml", SOURCE)
        place.write("sessions/web.yml", PACKAGE)
        if not (self.place.root / "made" / "_SUCCESS").exists():
            self._make(rows)

    def _make(self, rows: int) -> None:
        numbers = {"days": self.days, "users": max(1, rows // 10), "start": START}
        visits = VISITS.format(sessions=rows // PER_SESSION, **numbers)
        made = f"SELECT {COLUMNS} FROM ({EVENTS.format(visits=visits)})"
        assert self.place.spark is not None
        frame = self.place.spark.newSession().sql(made).repartition("collector_date")
        frame.write.mode("overwrite").partitionBy("collector_date").parquet(
            str(self.place.root / "made")
        )

    def deliver(self, first: int, last: int) -> None:
        """Append the events of some days, in one commit; of a thousand some come late."""
        low, high = ((FIRST + dt.timedelta(days=day)).date() for day in (first, last))
        if (self.place.root / "landing" / "events" / f"collector_date={high}").exists():
            return  # before a process that was stopped
        waits = f"pmod(xxhash64(event_id, 9), 1000) < {self.late}"
        late = " AND ".join(
            f"collector_date {sign} DATE '{day}' - {DELAY}"
            for sign, day in ((">=", low), ("<=", high))
        )
        days = f"(collector_date BETWEEN '{low}' AND '{high}' AND NOT {waits})"
        days += f" OR ({late} AND {waits})"
        rows = f"SELECT * FROM parquet.`{self.place.root}/made` WHERE {days}"
        table = self.place.delta("landing/events")
        if first:
            self.place.sql(f"INSERT INTO {table} {rows}")
        else:
            self.place.sql(
                f"CREATE TABLE {table} USING delta PARTITIONED BY (collector_date) AS {rows}"
            )

    def run(self, day: int) -> bool:
        """Let penstock take in what came, the day being over; say whether anything was left."""
        now = FIRST + dt.timedelta(days=day + 1)
        return not self.place.run(select=("web",), as_of=now).plan.is_empty

    def catch_up(self, day: int) -> None:
        """Run until nothing is left."""
        while self.run(day):
            pass

    def events_size(self, days: range) -> int:
        """Add up the files of the events of some days."""
        dates = [(FIRST + dt.timedelta(days=day)).date() for day in days]
        folder = self.place.root / "landing" / "events"
        found = [folder.glob(f"collector_date={date}/*.parquet") for date in dates]
        return sum(path.stat().st_size for paths in found for path in paths)

    def by_hand(self) -> None:
        """Make every table anew of all events there are."""
        assert self.place.spark is not None
        session = self.place.spark.newSession()
        session.read.format("delta").load(
            str(self.place.root / "landing" / "events")
        ).createOrReplaceTempView("events")
        for name, (sql, _, part) in BY_HAND.items():
            table = self.place.delta(f"hand/{name}")
            parted = f"PARTITIONED BY ({part})" if part else ""
            session.sql(f"CREATE OR REPLACE TABLE {table} USING delta {parted} AS {sql}")
            session.sql(f"SELECT * FROM {table}").createOrReplaceTempView(name)

    def differing(self) -> dict[str, int]:
        """Count the rows that are in one of both tables alone."""
        assert self.place.spark is not None
        session, found = self.place.spark.newSession(), {}
        for name, (_, part, _) in BY_HAND.items():
            if not part:
                continue
            hand, ours = f"hand/{name}", f"warehouse/derived/web_{part}"
            columns = session.sql(f"SELECT * FROM {self.place.delta(hand)}").columns
            rows = [
                f"(SELECT {', '.join(columns)} FROM {self.place.delta(each)})"
                for each in (hand, ours)
            ]
            both = (f"({one} EXCEPT ALL {other})" for one, other in (rows, rows[::-1]))
            (count,) = session.sql(f"SELECT count(*) FROM ({' UNION ALL '.join(both)})").collect()[
                0
            ]
            found[name] = int(count)
        return found
