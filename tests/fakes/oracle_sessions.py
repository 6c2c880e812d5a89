"""Session packages in plain Python, event by event: an oracle that shares no code with `src`.

It keeps every table as a list of rows and says what a pass with given limits leaves in them. Of an
expression of the package it knows names of columns, and the few texts in `SQL`.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fakes.row_text import hash_of

Event = Mapping[str, Any]
Row = dict[str, Any]
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
SQL: Mapping[str, Callable[[Event], bool | None]] = {
    "user_id <> 'zz'": lambda e: None if e["user_id"] is None else e["user_id"] != "zz",
    "event_name = 'buy'": lambda e: None if e["event_name"] is None else e["event_name"] == "buy",
}
AGG: Mapping[str, Callable[[Iterable[Event]], Any]] = {
    "count_if(event_name = 'buy')": lambda es: sum(e["event_name"] == "buy" for e in es)
}


def nulls_last(*values: Any) -> tuple[Any, ...]:
    return tuple((value is None, value) for value in values)


def seconds(low: dt.datetime, high: dt.datetime) -> int:
    return (high - EPOCH) // SECOND - (low - EPOCH) // SECOND


@dataclass
class SessionOracle:
    """`options` are read as they are; `types` are those of the columns of events."""

    options: Any
    types: Mapping[str, str]
    lifecycle: list[Row] = field(default_factory=list)
    quarantine: dict[str, Row] = field(default_factory=dict)
    sessions_this_run: list[Row] = field(default_factory=list)
    events_this_run: list[Row] = field(default_factory=list)
    page_views: list[Row] = field(default_factory=list)
    sessions: list[Row] = field(default_factory=list)
    users: dict[str, Row] = field(default_factory=dict)
    user_mapping: dict[str, Row] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    # Events

    @property
    def length(self) -> dt.timedelta:
        return dt.timedelta(days=self.options.max_session_days)

    def clock(self, event: Event, name: str) -> dt.datetime | None:
        column = getattr(self.options, name)
        found = event[column] if column else None
        if found is None and self.options.allow_null_device_timestamps and column:
            return event[self.options.timestamp]
        return found

    def first(self, event: Event, columns: Iterable[str]) -> str | None:
        return next((event[name] for name in columns if event[name] is not None), None)

    def session_of(self, event: Event) -> str | None:
        return self.first(event, self.options.session_id)

    def user_of(self, event: Event) -> str | None:
        return self.first(event, self.options.user_id)

    def class_of(self, event: Event) -> str:
        said = self.options
        if said.app_ids and event[said.app_id] not in said.app_ids:
            return "filtered"
        if not all(SQL[each](event) is True for each in said.filters):
            return "filtered"
        created, sent = self.clock(event, "created_tstamp"), self.clock(event, "sent_tstamp")
        if said.created_tstamp and said.sent_tstamp:
            if created is None or sent is None:
                return "null_device"
            if sent > created + dt.timedelta(days=said.days_late_allowed):
                return "late"
        return "null_session" if self.session_of(event) is None else "pass"

    # A pass

    def base(self, events: Iterable[Event], low, high, now, run: str, released=()) -> None:
        """Make the base tables of a pass; `released` are ids out of quarantine."""
        self.events = [e for e in events if e[self.options.timestamp] is not None]
        self.low, self.high, self.run = low, high, run
        held = {each for each in self.quarantine if each not in released}
        starts = {each: self.quarantine[each]["start_tstamp"] for each in released}
        groups = defaultdict(list)
        for event in self.events:
            ts, name = event[self.options.timestamp], self.session_of(event)
            again = name in starts and starts[name] <= ts <= high
            if (low <= ts <= high or again) and self.class_of(event) == "pass":
                groups[name].append(event)
        new = {name: group for name, group in groups.items() if name not in held}
        if not self.options.quarantine:
            held = set()
        self.took_in = {name: self._take(name, es, name in released) for name, es in new.items()}
        self._touch(released)
        if self.options.quarantine:
            self._quarantine(groups, new, now, released)
        self._keep(held)

    def within(self, name: str, released: bool = False) -> Row | None:
        """Give the row of a session that is not beyond the horizon."""
        back = self.options.session_lookback_days
        found = [
            row
            for row in self.lifecycle
            if row["session_identifier"] == name
            and row["start_tstamp"] <= self.high + self.length
            and (
                back is None
                or released
                or row["start_tstamp"] >= self.low - dt.timedelta(days=back)
            )
        ]
        return max(found, key=lambda row: row["start_tstamp"], default=None)

    def _take(self, name: str, events: list[Event], released: bool) -> None:
        row, ts = self.within(name, released), self.options.timestamp
        if row and row["end_tstamp"] >= row["start_tstamp"] + self.length and not released:
            return
        times = [e[ts] for e in events]
        if row is None:
            row = {
                "session_identifier": name,
                "user_identifier": None,
                "start_tstamp": min(times),
                "end_tstamp": max(times),
                "winner": None,
                "past_user_identifiers": [],
                "past_start_dates": [],
                "first_run_id": self.run,
            }
            self.lifecycle.append(row)
            old_date = None
        else:
            old_date = row["start_tstamp"].date()
        start = min(*times, row["start_tstamp"])
        row |= {
            "start_tstamp": start,
            "end_tstamp": min(start + self.length, max(*times, row["end_tstamp"])),
            "last_run_id": self.run,
        }
        if old_date not in (None, start.date(), *row["past_start_dates"]):
            row["past_start_dates"].append(old_date)
        self._name(row, events)

    def _name(self, row: Row, events: list[Event]) -> None:
        """Say whose a session is."""
        rule, old = str(self.options.user_of_session), row["user_identifier"]
        ts, event_id = self.options.timestamp, self.options.event_id
        said = [(e[ts], e[event_id] or "", self.user_of(e)) for e in events]
        said = [each for each in said if each[2] is not None]
        if rule == "first_run":
            user = max((each[2] for each in said), default=None) if old is None else old
            row["winner"], row["user_identifier"] = None, user
        else:
            said += [row["winner"]] if row["winner"] else []
            said = [each for each in said if each[0] <= row["start_tstamp"] + self.length]
            if rule == "max":
                best = max(said, key=lambda each: (each[2], EPOCH - each[0]), default=None)
            else:
                best = {"earliest_event": min, "latest_event": max}[rule](said, default=None)
            row["winner"], row["user_identifier"] = best, best and best[2]
        past = row["past_user_identifiers"]
        if old is not None and old != row["user_identifier"] and old not in past:
            past.append(old)

    def _touch(self, released: Collection[str]) -> None:
        self.sessions_this_run = []
        for row in self.lifecycle:
            start, name = row["start_tstamp"], row["session_identifier"]
            inside = self.low - self.length <= start <= self.high
            inside = inside and row["end_tstamp"] >= self.low
            if inside or (name in released and row is self.within(name, released=True)):
                self.sessions_this_run.append(row)

    def _quarantine(self, groups, new, now, released) -> None:
        found = self._at_cap(new, released)
        for name in released:
            if name not in found:
                del self.quarantine[name]
        for name, (row, reason) in found.items():
            if name in self.quarantine and name not in released:
                continue
            was = self.quarantine.get(name, {"events_dropped": 0, "dropped_to": None})
            self.quarantine[name] = {
                **was,
                "session_identifier": name,
                "since": now,
                "reason": reason,
                "run_id": self.run,
                "start_tstamp": row["start_tstamp"],
            }
        for name, row in self.quarantine.items():
            mark = max(row["start_tstamp"] + self.length, row["dropped_to"] or EPOCH)
            times = [e[self.options.timestamp] for e in groups.get(name, ())]
            late = [ts for ts in times if ts > mark and self.low <= ts <= self.high]
            if late:
                row["events_dropped"] += len(late)
                row["dropped_to"] = max(late)

    def _at_cap(self, new, released) -> dict[str, tuple[Row, str]]:
        """Give the sessions that may go into quarantine, and why."""
        said, found = self.options, {}
        for name in {*new, *(row["session_identifier"] for row in self.sessions_this_run)}:
            row = self.within(name, name in released)
            if row is None:
                continue
            cap, in_run = row["start_tstamp"] + self.length, row in self.sessions_this_run
            if said.compat == "snowplow":
                if in_run and min(row["end_tstamp"], self.high) == cap:
                    found[name] = (row, "too_long")
            elif row["end_tstamp"] >= cap:
                found[name] = (row, "too_long" if in_run else "id_reused")
        return found

    def _keep(self, held: Collection[str]) -> None:
        """Choose the events of this run, and count what is read."""
        said, self.counts = self.options, Counter()
        touched = {row["session_identifier"]: row for row in self.sessions_this_run}
        begin = min([self.low, *(row["start_tstamp"] for row in self.sessions_this_run)])
        alike: dict[Any, list[Event]] = defaultdict(list)
        scopes = {}
        for number, event in enumerate(self.events):
            ts, name = event[said.timestamp], self.session_of(event)
            scope = "window" if self.low <= ts <= self.high else "history"
            if not begin <= ts <= self.high or (scope == "history" and name not in touched):
                continue
            self.counts[f"{scope}_read"] += 1
            verdict = self.class_of(event)
            if verdict == "pass":
                row = touched.get(name) or self.within(name)
                start = row and row["start_tstamp"]
                outside = start is None or ts < start or ts > start + self.length
                if start is None or (outside and name in held):
                    verdict = "quarantined"
                elif outside:
                    verdict = "before_start" if ts < start else "beyond_cap"
                else:
                    event_id = event[said.event_id]
                    key = (name, event_id) if event_id is not None else (name, None, number)
                    alike[event_id if said.compat else key].append(event)
                    scopes[id(event)] = scope
                    continue
            self.counts[f"{scope}_{verdict}"] += 1
        self.events_this_run = []
        for group in alike.values():
            kept, *others = sorted(group, key=self._order)
            row = touched[self.session_of(kept)]
            ids = {"session_identifier": row["session_identifier"]}
            ids |= {"user_identifier": row["user_identifier"]}
            ids |= {"session_start_date": row["start_tstamp"].date()}
            self.events_this_run.append({**kept, **ids})
            self.counts[f"{scopes[id(kept)]}_kept"] += 1
            self.counts.update(f"{scopes[id(other)]}_duplicate" for other in others)

    def _order(self, event: Event) -> Any:
        said = self.options
        created, sent = self.clock(event, "created_tstamp"), self.clock(event, "sent_tstamp")
        ties = [event[name] for name in said.tie_break]
        keys = nulls_last(event[said.timestamp], created, *ties, sent)
        return *keys, hash_of(event, self.types)

    @property
    def newest(self) -> dt.datetime | None:
        return max((e[self.options.timestamp] for e in self.events_this_run), default=None)

    # Modules

    def looked_at(self) -> list[Row]:
        """Give the events of this run with what modules ask of each."""
        said, found = self.options, []
        columns = dict(self.types)
        for e in self.events_this_run:
            ts = e[said.timestamp]
            created = e[said.created_tstamp] if said.created_tstamp else None
            derived = e[said.derived_tstamp] if said.derived_tstamp else None
            name, page = e[said.event_name], e[said.page_view_id]
            kind = (
                "view" if name in said.view_events else "ping" if name in said.ping_events else ""
            )
            agent = e[said.useragent]
            bot = said.bot_pattern is not None and (
                said.compat == "snowplow" if agent is None else said.bot_pattern in agent.lower()
            )
            d, c = derived or ts, created or ts
            own = {key: e[key] for key in columns}
            found.append(
                {
                    **e,
                    "d": d,
                    "c": c,
                    "bucket": (c - EPOCH) // SECOND // said.heartbeat,
                    "kind": kind if page is not None else "",
                    "bot": bot,
                    "page": page,
                    "v": (*nulls_last(d, c, e[said.event_id]), hash_of(own, columns)),
                }
            )
        return found

    def make(self, module: str, seq: int) -> None:
        """Bring one module up to date."""
        made = getattr(self, f"make_{module}")
        made(seq) if module == "user_mapping" else made()

    def known(self, user: str | None, is_on: bool) -> str | None:
        row = self.user_mapping.get(user) if is_on and user is not None else None
        return row["user_id"] if row else user

    def _replace(self, name: str, key: Callable[[Row], Any], rows: list[Row]) -> None:
        """Let rows take the place of those of the sessions of this run; by compat, by key alone."""
        if self.options.compat:
            gone = {key(row) for row in rows}
            kept = [row for row in getattr(self, name) if key(row) not in gone]
        else:
            there = {id(row): row for row in self.sessions_this_run}.values()
            dates = {
                (row["session_identifier"], day)
                for row in there
                for day in (row["start_tstamp"].date(), *row["past_start_dates"])
            }
            kept = [
                row
                for row in getattr(self, name)
                if (row["session_identifier"], row["session_start_date"]) not in dates
            ]
        setattr(self, name, kept + rows)

    def make_page_views(self) -> None:
        said, events, rows = self.options, self.looked_at(), []
        pairs, pings = defaultdict(list), defaultdict(list)
        for e in events:
            pair = e["session_identifier"], e["page"]
            if e["kind"] == "view" and not e["bot"]:
                pairs[pair].append(e)
            if e["kind"] == "ping":
                pings[pair].append(e)
        kept = {pair: min(group, key=lambda e: e["v"]) for pair, group in pairs.items()}
        if said.compat:  # the first of all sessions that share an id keeps it
            best = {e["page"]: e for e in sorted(kept.values(), key=lambda e: e["v"])[::-1]}
            kept = {pair: e for pair, e in kept.items() if best[e["page"]] is e}
        for pair, e in kept.items():
            pinged = pings[pair]
            last = max((ping["d"] for ping in pinged), default=e["d"])
            end = last if said.compat else max(last, e["d"])
            buckets = len({ping["bucket"] for ping in pinged})
            engaged = said.heartbeat * (buckets - 1) + said.min_visit_length if buckets else 0
            rows.append(
                {
                    "page_view_id": e["page"],
                    "event_id": e[said.event_id],
                    "session_identifier": e["session_identifier"],
                    "user_identifier": e["user_identifier"],
                    "user_id": e[said.user_stitching_id],
                    "page_url": e["page_url"],
                    said.timestamp: e[said.timestamp],
                    "derived_tstamp": e["derived_tstamp"],
                    "dvce_created_tstamp": e["dvce_created_tstamp"],
                    "app_id": e["app_id"],
                    "stitched_user_id": self.known(e["user_identifier"], said.page_view_stitching),
                    "start_tstamp": e["d"],
                    "end_tstamp": end,
                    "engaged_time_in_s": engaged,
                    "absolute_time_in_s": seconds(e["d"], end),
                    "session_start_date": e["session_start_date"],
                    "run_id": self.run,
                    "order": e["v"],
                }
            )
        of_session = defaultdict(list)
        for row in sorted(rows, key=lambda row: row["order"]):
            of_session[row["session_identifier"]].append(row)
        for group in of_session.values():
            for index, row in enumerate(group, 1):
                row["page_view_in_session_index"] = index
                row["page_views_in_session"] = len(group)
                del row["order"]
        key = (lambda row: row["page_view_id"]) if said.compat else None
        self._replace("page_views", key, rows)

    def make_sessions(self) -> None:
        of_session, rows = defaultdict(list), []
        for e in self.looked_at():
            if not e["bot"]:
                of_session[e["session_identifier"]].append(e)
        for name, events in of_session.items():
            paged = [e for e in events if e["kind"]]
            if paged:
                rows.append(self._session(name, events, paged))
        self._replace("sessions", lambda row: row["session_identifier"], rows)

    def _session(self, name: str, events: list[Row], paged: list[Row]) -> Row:
        said = self.options
        first = min(paged, key=lambda e: e["v"])
        last, views = first, [e for e in paged if e["kind"] == "view"]
        if views:
            newest = max((e["d"], e["c"]) for e in views)
            last = min((e for e in views if (e["d"], e["c"]) == newest), key=lambda e: e["v"])
        low, high = min(e["d"] for e in events), max(e["d"] for e in events)
        extra = said.min_visit_length if first["kind"] == "ping" else 0
        pings = [e for e in paged if e["kind"] == "ping"]
        pages, pinged = len({e["page"] for e in paged}), len({e["page"] for e in pings})
        buckets = len({(e["page"], e["bucket"]) for e in pings})
        engaged = said.heartbeat * (buckets - pinged) + said.min_visit_length * pinged
        bought = said.engaged_when and any(SQL[said.engaged_when](e) for e in events)
        carried = said.passthrough
        return {
            "session_identifier": name,
            "user_identifier": first["user_identifier"],
            "user_id": first[said.user_stitching_id],
            "first_event_id": first[said.event_id],
            "start_tstamp": low - extra * SECOND,
            "end_tstamp": high,
            "page_views": pages,
            "total_events": len(events),
            "engaged_time_in_s": engaged,
            "absolute_time_in_s": seconds(low, high) + extra,
            "is_engaged": bool(pages >= 2 or engaged >= 2 * said.heartbeat or bought),
            "first_page_url": first["page_url"],
            "last_page_url": last["page_url"],
            "app_id": first["app_id"],
            **{each.name: first[each.sql] for each in carried.sessions_first},
            **{f"last_{each.name}": last[each.sql] for each in carried.sessions_last},
            **{each.name: AGG[each.sql](events) for each in carried.sessions_agg},
            "stitched_user_id": self.known(first["user_identifier"], said.session_stitching),
            "session_start_date": first["session_start_date"],
            "run_id": self.run,
        }

    def make_users(self) -> None:
        touched = set()
        for row in self.sessions_this_run:
            touched |= {row["user_identifier"], *row["past_user_identifiers"]}
        for user in touched - {None}:
            rows = [row for row in self.sessions if row["user_identifier"] == user]
            if not rows:
                if not self.options.compat:
                    self.users.pop(user, None)
                continue
            low, high = min(r["start_tstamp"] for r in rows), max(r["end_tstamp"] for r in rows)
            name = "session_identifier"
            first = max((r for r in rows if r["start_tstamp"] == low), key=lambda r: r[name])
            last = max((r for r in rows if r["end_tstamp"] == high), key=lambda r: r[name])
            self.users[user] = {
                "user_identifier": user,
                "user_id": first["user_id"],
                "start_tstamp": low,
                "end_tstamp": high,
                "sessions": len(rows),
                "page_views": sum(row["page_views"] for row in rows),
                "engaged_time_in_s": sum(row["engaged_time_in_s"] for row in rows),
                "first_session_identifier": first[name],
                "last_session_identifier": last[name],
                "first_page_url": first["first_page_url"],
                "last_page_url": last["last_page_url"],
                "run_id": self.run,
            }

    def make_user_mapping(self, seq: int) -> None:
        said, best = self.options, {}
        for e in self.events_this_run:
            user, known = e["user_identifier"], e[said.user_stitching_id]
            if user is not None and known is not None:
                told = (e[said.timestamp], e[said.event_id] or "", known)
                best[user] = max(told, best.get(user, told))
        for user, told in best.items():
            row = self.user_mapping.get(user)
            if row and not said.compat and told <= row["told"]:
                continue
            if row and told == row["told"]:
                continue
            changed = row["changed_seq"] if row and row["user_id"] == told[2] else seq
            self.user_mapping[user] = {
                "user_identifier": user,
                "user_id": told[2],
                "mapped_tstamp": told[0],
                "changed_seq": changed,
                "run_id": self.run,
                "told": told,
            }

    def stitch(self, module: str, stitched: int) -> None:
        """Take over the mappings that changed after a run."""
        for row in getattr(self, module):
            found = self.user_mapping.get(row["user_identifier"])
            is_new = found and found["changed_seq"] > stitched
            if is_new and row["stitched_user_id"] != found["user_id"]:
                row |= {"stitched_user_id": found["user_id"], "run_id": self.run}
