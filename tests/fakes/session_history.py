"""A package that penstock runs on real Delta, beside plain Python that says what each run leaves.

Of penstock it is told which runs made which passes, and their ids. Which passes there are, their
limits, who writes in them and what the manifest says then is worked out here once more.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakes.oracle_sessions import SessionOracle
from fakes.session_lake import SCHEMA
from fakes.session_place import SessionPlace, problems
from fakes.session_twin import HELD, KEPT, OF_RUN, ordered
from fakes.session_world import options
from penstock.app.kinds import passes
from penstock.core.errors import QueryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODULES = ("user_mapping", "page_views", "sessions", "users")
M5 = "m5"
TYPES = {column.name: column.type for column in SCHEMA.columns}
OWN = (*(f"web_{each}" for each in MODULES), M5)
Time = dt.datetime | None


@dataclass
class Stood:
    """What is on record of a model."""

    last: Time = None
    covered: Time = None
    advanced: Time = None

    @property
    def at(self) -> Time:
        return max((e for e in (self.last, self.advanced) if e), default=None)

    @property
    def row(self) -> tuple[Time, Time, Time]:
        return self.last, self.covered, self.advanced


@dataclass
class ToldPass:
    """A pass as the rules say it."""

    kind: str
    state: int
    low: dt.datetime
    high: dt.datetime
    models: tuple[str, ...]
    maybe: tuple[str, ...] = ()
    top: Time = None
    least: Time = None
    covered: Time = None

    @property
    def said(self) -> tuple[Any, ...]:
        return self.kind, self.state, self.low, self.high


@dataclass
class ToldManifest:
    """Which passes a run has, and what they leave: spec 3.1 to 3.6 in plain Python."""

    keys: Any
    rows: dict[str, Stood] = field(default_factory=dict)
    changed: bool = True
    pending: bool = False
    done: dict[str, Any] = field(default_factory=dict)

    def passes(self, tracked: Sequence[str], now: dt.datetime) -> list[ToldPass]:
        said = self.keys
        reach = dt.timedelta(days=said.backfill_limit_days)
        back = dt.timedelta(hours=said.lookback_window_hours)
        stood = {name: self.rows[name] for name in tracked if name in self.rows}
        places = {name: stood[name].at if name in stood else None for name in tracked}
        known = [place for place in places.values() if place]
        low, high = min(known, default=None), max(known, default=None)
        whole = len(known) == len(tracked)
        if not any(row.last for row in stood.values()):
            state, lower, upper = 1, said.start_date, min(now, said.start_date + reach)
            if known and whole:
                lower, upper = low - back, min(now, low + reach)
        elif not whole:
            state, lower, upper = 2, said.start_date, min(high, said.start_date + reach)
        elif low < high:
            state, lower, upper = 3, low - back, min(high, low + reach)
        else:
            state, lower, upper = 4, high - back, min(now, high + reach)
        lower = max(lower, said.start_date)
        covered = max(
            (stood[n].covered for n in places if places[n] == high and n in stood), default=None
        )
        least = low if whole else None

        def gain(names: Iterable[str], to: dt.datetime) -> tuple[str, ...]:
            return tuple(n for n in names if places[n] is None or places[n] < to)

        if str(said.backfill) == "package" or state not in (2, 3):
            one = ToldPass(
                "package", state, lower, upper, gain(tracked, upper), (), high, least, covered
            )
            is_idle = self._rests(tracked)
            return [one] if one.models and not is_idle else []
        ahead = [name for name in tracked if places[name] == high]
        rest = [name for name in tracked if name not in ahead]
        first = ToldPass(
            "backfill", state, lower, upper, gain(rest, upper), (), high, least, covered
        )
        top = min(now, high + reach)
        maybe = first.models if upper == high else ()
        second = ToldPass(
            "head",
            4,
            max(high - back, said.start_date),
            top,
            gain(ahead, top),
            (),
            high,
            high,
            covered,
        )
        if second.models:
            second.maybe = maybe
        found = [first] if first.models else []
        return found + ([second] if second.models and not self._rests(ahead) else [])

    def _rests(self, names: Sequence[str]) -> bool:
        if not self.keys.skip_unchanged or self.changed or self.pending or not self.done:
            return False
        if any(name not in self.rows for name in names):
            return False
        if any(self.rows[name].covered < self.done["to"] for name in names):
            return False
        places = {self.rows[name].at for name in names}
        return (
            self.done["ok"]
            and self.done["caught_up"]
            and not self.done["future"]
            and len(places) == 1
        )

    def finish(
        self, name: str, told: ToldPass, newest: Time, now: dt.datetime, later: bool
    ) -> None:
        row = self.rows.setdefault(name, Stood())
        old = row.at
        row.last = max((e for e in (row.last, newest) if e), default=None)
        row.covered = max(e for e in (row.covered, told.high) if e)
        is_stuck = row.at == old and (old is None or told.high > old)
        if is_stuck and told.high < now and (told.state in (2, 3) or later):
            row.advanced = told.high
        if told.state in (2, 3) and row.at == told.top and told.covered:
            row.covered = max(row.covered, told.covered)
        if row.last and row.advanced and row.last >= row.advanced:
            row.advanced = None


class SessionHistory:
    """Package `web` under `root`; what is asked of both goes through here."""

    def __init__(self, root: Path, spark: SparkSession, keys: Mapping[str, Any]) -> None:
        self.keys = dict(keys)
        self.options = options(**self.keys)
        self.place = SessionPlace(root, spark, written(self.keys))
        text = (root / "penstock.yml").read_text()
        self.place.write("penstock.yml", f"{text}threads: 1\n")
        self.oracle = SessionOracle(self.options, TYPES)
        self.told = ToldManifest(self.options)
        self.events: list[dict[str, Any]] = []
        self.files: list[tuple[int, dt.datetime]] = []
        self.ok = True
        self.story: list[str] = []
        self.tagged = False
        self.m5: dict[Any, Any] = {}
        self.stitched: dict[str, int] = {}
        self.anew: set[str] = set()
        self.seq = 0
        self.released: list[str] = []

    @property
    def tracked(self) -> tuple[str, ...]:
        return (*(f"web_{each}" for each in MODULES), *((M5,) if self.tagged else ()))

    def add(self, *events: dict[str, Any]) -> None:
        if events:
            told = ((e["domain_sessionid"], e["event_id"], e["collector_tstamp"]) for e in events)
            self.story.append(f"add {[(*ids, str(ts)[5:19]) for *ids, ts in told]}")
            self.place.add(*events)
            self.events += events
            self.files.append((len(events), max(e["collector_tstamp"] for e in events)))
            self.told.changed = True

    def tag(self) -> None:
        self.tagged = True
        sql = (
            "select coalesce(event_id, '') as event_id, coalesce(session_identifier, '') as s, "
            "max(collector_tstamp) as at from {{ ref('web_base_events_this_run') }} group by 1, 2"
        )
        keys = {
            "materialized": "merge",
            "unique_key": ["event_id", "s"],
            "tags": ["web_incremental"],
        }
        self.place.model(M5, sql, **keys)

    def set(self, **keys: Any) -> None:
        """Change keys that steer cost."""
        self.story.append(f"set {keys}")
        self.keys |= keys
        self.options = options(**self.keys)
        self.oracle.options = self.told.keys = self.options
        self.place.package(written(self.keys))

    def release(self) -> None:
        held = sorted(self.oracle.quarantine)
        if held:
            self.story.append(f"release {held}")
            self.place.release(*held)
            self.released, self.told.pending = held, True

    def forget(self, *names: str, truncate: bool = False) -> None:
        from penstock.app.commands.sessions import sessions_forget

        names = tuple(name for name in names if name in self.told.rows)
        if not names:
            return
        self.story.append(f"forget {names} {truncate}")
        services = self.place.services()
        try:
            sessions_forget(services, "web", names, truncate=truncate)
        finally:
            services.close()
        for name in names:
            del self.told.rows[name]
        if truncate:
            self.anew |= {*names}
            self.told.pending = True

    def refresh(self, now: dt.datetime, fails: tuple[str, ...] = ()) -> None:
        self.set(allow_refresh=True)
        self.told.rows.clear()
        self.oracle.lifecycle, self.oracle.quarantine = [], {}
        self.anew = {*self.tracked}
        self.told.pending = True
        self.run(now, fails=fails, full_refresh=True)
        self.set(allow_refresh=False)

    def run(
        self,
        now: dt.datetime,
        select: Sequence[str] = (),
        fails: Sequence[str] = (),
        **asked: Any,
    ) -> int:
        """Run both; give how many passes there were."""
        wanted = set(select) or {*self.tracked}
        if "web_users" in wanted:  # they are made of sessions
            wanted.add("web_sessions")
        words = (
            " ".join(sorted(select))
            if select
            else " ".join(("web", *((M5,) if self.tagged else ()))),
        )
        self.story.append(f"run {now} {select} {fails} {asked}")
        expected = self.told.passes(self.tracked, now)
        limits = self.limits(now) if not asked else None
        # nobody that is selected gains anything: the pass has no step
        expected = [e for e in expected if wanted & {*e.models, *e.maybe}]
        with failing(fails):
            report = self.place.at(f"{now:%Y-%m-%d %H:%M:%S.%f}", *words, **asked)
        found = [each for each in reversed(self.place.passes()) if each.seq > self.seq]
        said = [
            (str(p.kind), int(p.limits.state), p.limits.lower_limit, p.limits.upper_limit)
            for p in found
        ]
        assert said == [each.said for each in expected], (said, [each.said for each in expected])
        if limits is not None:
            assert [each for each in said if each not in limits] == []  # law 8
        if not expected:
            assert problems(report) == []
            return 0
        if not fails:
            assert problems(report) == []
        self.ok, was = True, self.seq
        self.seq = found[0].seq
        for told, real in zip(expected, found, strict=True):
            late = [n for n, newest in self.files if newest < told.low] if was else []
            assert real.events.late_loaded >= sum(late)  # a failed model has older ones to take
            self._pass(told, real, now, wanted, set(fails))
        self.told.changed, self.files = False, []
        self.told.pending = bool(self.anew)
        self.compare(found[-1])
        return len(found)

    def limits(self, now: dt.datetime) -> list[tuple[Any, ...]]:
        """Give what `sessions limits` says."""
        from penstock.app.planning.packages import plan_package

        services = self.place.services()
        try:
            plan = plan_package(services, services.project.packages["web"], now)
        finally:
            services.close()
        return [
            (str(p.kind), int(p.limits.state), p.limits.lower_limit, p.limits.upper_limit)
            for p in plan.limits
        ]

    def _pass(
        self, told: ToldPass, real: Any, now: dt.datetime, wanted: set[str], fails: set[str]
    ) -> None:
        oracle = self.oracle
        gone = [each for each in self.released if each in oracle.quarantine]
        oracle.base(self.events, told.low, told.high, now, real.run, gone)
        self.released = []
        newest, ts = oracle.newest, self.options.timestamp
        later = None
        if told.high < now and (
            newest is None or (told.least is not None and newest <= told.least)
        ):
            later = any(told.high < e[ts] <= now for e in self.events if e[ts])
        assert (real.events.greatest, real.events.later_events) == (newest, later)
        counted(real.events, oracle.counts)
        models = [
            *told.models,
            *(n for n in told.maybe if n in self.told.rows and self.told.rows[n].at == told.top),
        ]
        failed: set[str] = set()
        for name in (n for n in self.tracked if n in models and n in wanted):
            if name in fails or (name == "web_users" and "web_sessions" in failed):
                failed.add(name)
                continue
            above = self.told.rows.get("web_sessions", Stood()) if name == "web_users" else None
            if above and not any(e and e >= told.high for e in (above.covered, above.at)):
                continue  # it would pass sessions by that are still to come
            self._make(name)
            self.told.finish(name, told, newest, now, bool(later))
        for part in self.options.stitched:
            if not failed & {"web_user_mapping", f"web_{part}"}:
                oracle.stitch(str(part), self.stitched.get(part, 0))
                self.stitched[part] = self.seq - (told.kind == "backfill")
        caught = told.state in (1, 4) and (told.high == now or later is False)
        ok = not failed
        assert str(real.status) == ("SUCCESS" if ok else "FAILED"), (real.status, failed)
        assert real.caught_up == caught
        future = any(e[ts] > now for e in self.events if e[ts])
        self.ok &= ok
        if told.kind != "backfill":
            done = {"ok": self.ok, "caught_up": caught, "future": future, "to": told.high}
            self.told.done = done
        elif not ok and self.told.done:
            self.told.done["ok"] = False

    def _make(self, name: str) -> None:
        oracle, part = self.oracle, name.removeprefix("web_")
        if name in self.anew:
            self.anew.discard(name)
            if name == M5:
                self.m5.clear()
            else:
                getattr(oracle, part).clear()
        if name == M5:
            found: dict[Any, dt.datetime] = {}
            for e in oracle.events_this_run:
                key, ts = (e["event_id"] or "", e["session_identifier"]), e["collector_tstamp"]
                found[key] = max(ts, found.get(key, ts))
            self.m5 |= found
        else:
            oracle.make(part, self.seq)

    # Looking

    def compare(self, last: Any = None) -> None:
        """Hold that tables and manifest are what plain Python says."""
        oracle = self.oracle
        self.same("base_sessions_lifecycle_manifest", KEPT, oracle.lifecycle)
        high = oracle.high
        touched = (
            {**r, "end_tstamp": min(r["end_tstamp"], high)} for r in oracle.sessions_this_run
        )
        self.same("base_sessions_this_run", OF_RUN, [*touched])
        if self.options.quarantine:
            self.same("base_quarantined_sessions", HELD, oracle.quarantine.values())
        names = ("session_identifier", "user_identifier", "session_start_date", *SCHEMA.names)
        self.same("base_events_this_run", names, oracle.events_this_run)
        for part in MODULES:
            if (self.place.folder(part) / "_delta_log").exists():
                skip = {"mapped_event_id"}
                names = tuple(n for n in self.columns(part) if n not in skip)
                found = getattr(oracle, part)
                self.same(part, names, [*(found.values() if isinstance(found, dict) else found)])
        if (self.place.root / "warehouse/m/m5").exists():
            rows = self.place.sql(f"SELECT event_id, s, at FROM {self.place.table(M5)}")
            assert {(a, b): t.replace(tzinfo=dt.UTC) for a, b, t in rows} == self.m5  # type: ignore[attr-defined]
            assert len(rows) == len(self.m5)
        services = self.place.services()
        try:
            rows = services.reading.sessions.manifest("web")
        finally:
            services.close()
        real = {
            r.model: (r.last_success, r.covered_to, r.advanced_to)
            for r in rows
            if r.model in self.tracked
        }
        assert real == {n: r.row for n, r in self.told.rows.items() if n in self.tracked}

    def columns(self, part: str) -> list[str]:
        assert self.place.spark is not None
        return self.place.spark.read.format("delta").load(str(self.place.folder(part))).columns

    def same(self, part: str, names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
        same(self.place, part, names, rows)


def same(
    place: SessionPlace, part: str, names: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Hold that columns of a table are what plain Python says."""
    listed = ", ".join(f"`{name}`" for name in names)
    found = place.sql(f"SELECT {listed} FROM delta.`{place.folder(part)}`")
    real = [dict(zip(names, map(aware, row), strict=True)) for row in found]
    said = [{name: row[name] for name in names} for row in rows]
    assert ordered(real) == ordered(said), part


def aware(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=dt.UTC)
    return list(value) if isinstance(value, (list, tuple)) else value


def counted(events: Any, counts: Mapping[str, int]) -> None:
    for scope in ("window", "history"):
        for word in getattr(events, scope).__dataclass_fields__:
            real, said = getattr(getattr(events, scope), word), counts.get(f"{scope}_{word}", 0)
            assert real == said, (scope, word, real, said)


def written(keys: Mapping[str, Any]) -> str:
    """Write keys as a file does."""
    lines = []
    for name, value in keys.items():
        if name == "passthrough":
            continue
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else value
        if isinstance(value, tuple):
            text = "[" + ", ".join("null" if e is None else f'"{e}"' for e in value) + "]"
        elif isinstance(value, str) and value is text:
            text = f'"{value}"'
        lines.append(f"{name}: {text}\n")
    if keys.get("passthrough"):
        lines.append(
            "passthrough:\n  sessions: {first: [{x: useragent}], last: [{url: page_url}], "
            "agg: {buys: \"count_if(event_name = 'buy')\"}}\n"
        )
    return "".join(lines)


def failing(names: Sequence[str]) -> Any:
    """Let the steps of some modules fail before they write."""
    patch = pytest.MonkeyPatch()
    made = passes.module_work

    def work(run: Any, part: Any, *more: Any) -> Any:
        if f"web_{part}" in names:
            raise QueryError("spark-divide-by-zero", "divided by zero")
        return made(run, part, *more)

    patch.setattr(passes, "module_work", work)
    return Undone(patch)


@dataclass
class Undone:
    patch: pytest.MonkeyPatch

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.patch.undo()


OF_RUNS = {"run_id", "first_run_id", "last_run_id", "stitched_user_id"}


def at_once(
    events: Sequence[Mapping[str, Any]], keys: Mapping[str, Any], now: dt.datetime
) -> SessionOracle:
    """Let plain Python read everything in one run."""
    said = options(**keys)
    oracle = SessionOracle(said, TYPES)
    oracle.base(events, said.start_date, now, now, "once")
    for part in MODULES:
        oracle.make(part, 1)
    for part in said.stitched:
        oracle.stitch(str(part), 0)
    return oracle


def left_alike(place: SessionPlace, oracle: SessionOracle) -> None:
    """Hold that tables are those that one run would leave, but for what says which run it was."""
    kept = (*OF_RUN, "past_start_dates")
    pairs: dict[str, tuple[Sequence[str], Any]] = {
        "base_sessions_lifecycle_manifest": (kept, oracle.lifecycle),
        "user_mapping": (
            ("user_identifier", "user_id", "mapped_tstamp"),
            oracle.user_mapping.values(),
        ),
    }
    if oracle.options.quarantine:
        pairs["base_quarantined_sessions"] = ("session_identifier",), oracle.quarantine.values()
    for part in ("page_views", "sessions", "users"):
        rows = getattr(oracle, part)
        rows = [*rows.values()] if isinstance(rows, dict) else rows
        names = [*rows[0]] if rows else ["run_id"]
        skip = (
            OF_RUNS
            if str(oracle.options.user_of_session) != "earliest_event"
            else OF_RUNS - {"stitched_user_id"}
        )
        pairs[part] = [n for n in names if n not in skip] or ["run_id"], rows
    for part, (names, rows) in pairs.items():
        if part == "user_mapping" and str(oracle.options.user_of_session) != "earliest_event":
            continue
        same(place, part, names, rows)
