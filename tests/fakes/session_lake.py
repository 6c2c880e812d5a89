"""A package on real Delta without a project around it: the statements of its passes, in order."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fakes.session_world import at, package, shown
from penstock.core.columns.schema import Column, Schema
from penstock.core.ports.sessions import SessionPass
from penstock.core.records import Status
from penstock.core.sessions.manifest import ManifestRow, PassEvents, PlannedPass, executed
from penstock.core.sessions.options import SessionTable
from penstock.core.sessions.package import SessionPackage
from penstock.plan.kinds.manifest import (
    KnownPackage,
    ModelEnd,
    PackageInputs,
    asks_for_later_events,
    is_caught_up,
    planned_passes,
    row_after,
)
from penstock.strategies.sessions import events, tables, this_run, users, window
from penstock.strategies.sessions.events import ReleasedSession, SessionRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = Schema(
    tuple(
        Column(name, kind)
        for name, kind in {
            "event_id": "string",
            "domain_sessionid": "string",
            "collector_tstamp": "timestamp",
            "derived_tstamp": "timestamp",
            "dvce_created_tstamp": "timestamp",
            "dvce_sent_tstamp": "timestamp",
            "etl_tstamp": "timestamp",
            "domain_userid": "string",
            "user_id": "string",
            "app_id": "string",
            "event_name": "string",
            "page_view_id": "string",
            "page_url": "string",
            "useragent": "string",
        }.items()
    )
)
SCROLLS = ("doc_width", "doc_height", "br_viewwidth", "br_viewheight")
OFFSETS = ("pp_xoffset_max", "pp_yoffset_max")
SCROLLED = Schema((*SCHEMA.columns, *(Column(name, "int") for name in (*SCROLLS, *OFFSETS))))
CLOCKS = ("derived_tstamp", "dvce_created_tstamp", "dvce_sent_tstamp")
SCRATCH = (SessionTable.SESSIONS_THIS_RUN, SessionTable.EVENTS_THIS_RUN)


def an_event(name: str, session: str | None, time: str, **other: Any) -> dict[str, Any]:
    """Give an event of the notation of the cases: `e1 s1 01-01 10:00`."""
    when = at(time)
    row = {
        **dict.fromkeys(SCHEMA.names),
        "event_id": name,
        "domain_sessionid": session,
        "collector_tstamp": when,
        **dict.fromkeys(CLOCKS, when),
        "domain_userid": "u",
        "app_id": "a",
        "event_name": "page_view",
        "page_view_id": f"p{name}",
        **other,
    }
    return {
        key: at(v) if key.endswith("tstamp") and isinstance(v, str) else v for key, v in row.items()
    }


@dataclass
class SessionLake:
    """Runs a package over events that are given; every pass leaves its tables in `folder`."""

    spark: SparkSession
    folder: Path
    keys: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, ManifestRow] = field(default_factory=dict)
    passes: list[SessionPass] = field(default_factory=list)
    stitched: dict[str, int] = field(default_factory=dict)
    released: list[str] = field(default_factory=list)
    tagged: tuple[str, ...] = ()
    pinned: int = -1
    counts: dict[str, int] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)
    schema: Schema = SCHEMA

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.package = self._package()

    def _package(self) -> SessionPackage:
        return package(**{"skip_unchanged": False, **self.keys})

    def add(self, *events: dict[str, Any]) -> None:
        self.events += events

    def run(
        self, now: str | dt.datetime, fails: tuple[str, ...] = (), select: tuple[str, ...] = ()
    ) -> list[str]:
        """Run once; give `state lower..upper` of each pass. What is selected brings its reads."""
        time = at(now) if isinstance(now, str) else now
        seq = self.passes[0].seq + 1 if self.passes else 1
        tracked = (*self.package.modules, *self.tagged)
        inputs = PackageInputs(dict.fromkeys(tracked, "f"), len(self.events) != self.pinned)
        known = KnownPackage(tuple(self.rows.values()), tuple(self.passes))
        found = []
        reads = {each.name: each.reads for each in self.package.models}
        self.wanted = {*(select or tracked)}.union(*(reads.get(name, ()) for name in select))
        for planned in executed(planned_passes(self.package, known, inputs, time)):
            if self.wanted.isdisjoint(planned.models):
                continue
            self.pinned = len(self.events)
            self._pass(planned, time, seq, fails)
            limits = planned.limits
            found.append(
                f"{limits.state:d} {shown(limits.lower_limit)}..{shown(limits.upper_limit)}"
            )
        return found

    def _pass(
        self, planned: PlannedPass, now: dt.datetime, seq: int, fails: tuple[str, ...]
    ) -> None:
        limits = planned.limits
        made = SessionRun(self.package, self.schema, limits, f"run-{seq}", seq, now)
        run = replace(made, released=self._open())
        self._base(run)
        newest = self.counts["greatest"]
        later = None
        if asks_for_later_events(planned, now, newest):
            later = any(limits.upper_limit < e["collector_tstamp"] <= now for e in self.events)
        end = ModelEnd(planned, now, newest, bool(later), "f", run.run)
        self._modules(run, planned, end, fails)
        ended = SessionPass(
            "web",
            seq,
            planned.kind,
            run.run,
            limits,
            now,
            status=Status.FAILED if fails else Status.SUCCESS,
            events=PassEvents(newest, later),
            caught_up=is_caught_up(limits, now, later),
            future_events=any(e["collector_tstamp"] > now for e in self.events),
        )
        self.passes.insert(0, ended)

    def _open(self) -> tuple[ReleasedSession, ...]:
        """Make the events and the kept tables readable; give what is to be released."""
        schema = ", ".join(f"{column.name} {column.type}" for column in self.schema.columns)
        rows = [tuple(each.get(name) for name in self.schema.names) for each in self.events]
        self.hold(events.EVENTS, self.spark.createDataFrame(rows, schema))
        self._kept_tables()
        if not self.released:
            return ()
        return tuple(
            ReleasedSession(row["session_identifier"], row["start_tstamp"].replace(tzinfo=dt.UTC))
            for row in self.table(SessionTable.QUARANTINE).collect()
            if row["session_identifier"] in self.released
        )

    def _kept_tables(self) -> None:
        columns = {
            SessionTable.LIFECYCLE: tables.LIFECYCLE_COLUMNS,
            SessionTable.QUARANTINE: tables.QUARANTINE_COLUMNS,
            SessionTable.USER_MAPPING: tables.MAPPING_COLUMNS,
        }
        for part, kinds in columns.items():
            if not (self.folder / part).exists():
                schema = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
                self.write(part, self.spark.createDataFrame([], schema))
            self.view(part)

    def _base(self, run: SessionRun) -> None:
        spark = self.spark
        held = self.table(SessionTable.QUARANTINE)
        self.hold(window.BEFORE, held)
        self.hold(window.WINDOW, spark.sql(window.window_groups(run)))
        self.hold(window.KNOWN, spark.sql(window.known_sessions(run)))
        changes = self.hold(window.CHANGES, spark.sql(window.lifecycle_changes(run)))
        dates = [str(r[0]) for r in changes.select("old_start_date").distinct().collect() if r[0]]
        spark.sql(window.lifecycle_merge(run, self.sql(SessionTable.LIFECYCLE), dates))
        self.hold(window.TOUCHED, spark.sql(window.touched_sessions(run)))
        if self.package.options.quarantine:
            self.hold(this_run.ROWS_HELD, spark.sql(this_run.quarantine_rows(run)))
            found = self.hold("penstock_q", spark.sql(this_run.quarantine_changes(run)))
            if found.count():
                target = self.sql(SessionTable.QUARANTINE)
                spark.sql(this_run.quarantine_merge(target, "penstock_q"))
        self.released.clear()
        touched = spark.sql(this_run.sessions_this_run(run))
        self.write(SessionTable.SESSIONS_THIS_RUN, touched)
        self.view(SessionTable.SESSIONS_THIS_RUN)
        first = self.table(SessionTable.SESSIONS_THIS_RUN).selectExpr("min(start_tstamp)")
        start = first.collect()[0][0]
        start = start.replace(tzinfo=dt.UTC) if start else None
        found = self.hold(this_run.CANDIDATES, spark.sql(this_run.event_candidates(run, start)))
        self.counts = counted(found, this_run.event_counts())
        self.counts |= counted(spark.table(window.WINDOW), this_run.window_counts())
        newest = self.counts["greatest"]
        micros = dt.timedelta(microseconds=newest or 0)
        self.counts["greatest"] = None if newest is None else at("1970-01-01") + micros
        self.write(SessionTable.EVENTS_THIS_RUN, spark.sql(this_run.events_this_run(run)))
        self.view(SessionTable.EVENTS_THIS_RUN)

    def _modules(
        self, run: SessionRun, planned: PlannedPass, end: ModelEnd, fails: tuple[str, ...]
    ) -> None:
        failed = set(fails)
        parts = {each.name: each for each in self.package.models if each.is_tracked}
        for name in (*parts, *self.tagged):
            model = parts.get(name)
            if name in failed or (model and failed.intersection(model.reads)):
                failed.add(name)
                continue
            above = [n for n in model.reads if n in parts] if model else []
            ahead = [self.rows[n].covered_to for n in above if n in self.rows]
            waits = any(not at or at < planned.limits.upper_limit for at in ahead)
            if name not in planned.models or name not in self.wanted or waits:
                continue
            if model:
                self._module(run, model.part)
            else:
                self._tagged(name)
            row = row_after(name, self.rows.get(name), end, self.package.options)
            if row is not None:
                self.rows[name] = row
        for part in self.package.options.stitched:
            if not failed.intersection((f"web_{part}", "web_user_mapping")):
                self._stitch(run, part)
                self.stitched[part] = run.seq - (planned.kind == "backfill")

    def _module(self, run: SessionRun, part: SessionTable) -> None:
        made = self.table(SessionTable.SESSIONS_THIS_RUN)
        dates = made.selectExpr(
            "explode(array_union(past_start_dates, array(session_start_date)))"
        ).distinct()
        touched = [str(row[0]) for row in dates.collect()]
        rows = users.rows_of(run, part)
        if not (self.folder / part).exists():
            self.write(part, self.spark.sql(rows.sql).limit(0))
        stored = Schema(tuple(Column(name, "") for name in self.table(part).columns))
        self.view(part)
        self.hold("penstock_changes", self.spark.sql(users.replacement(run, part, rows, touched)))
        merge = users.module_merge(run, part, self.sql(part), "penstock_changes", touched, stored)
        self.spark.sql(merge)

    def _tagged(self, name: str) -> None:
        """Run a model of the user."""

    def _stitch(self, run: SessionRun, part: SessionTable) -> None:
        changed = f"changed_seq > {self.stitched.get(part, 0)}"
        mapping = f"SELECT * FROM {run.table(SessionTable.USER_MAPPING)} WHERE {changed}"
        self.spark.sql(users.stitch(run, self.sql(part), f"({mapping})"))

    def sql(self, part: SessionTable) -> str:
        return f"delta.`{self.folder / part}`"

    def table(self, part: SessionTable) -> DataFrame:
        return self.spark.read.format("delta").load(str(self.folder / part))

    def view(self, part: SessionTable) -> None:
        self.spark.sql(
            f"CREATE OR REPLACE TEMP VIEW penstock_{part} AS SELECT * FROM {self.sql(part)}"
        )

    def write(self, part: SessionTable, frame: DataFrame) -> None:
        writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer.option("delta.enableDeletionVectors", "true").save(str(self.folder / part))

    def hold(self, view: str, frame: DataFrame) -> DataFrame:
        """Compute rows once, and keep them under a view; rows of Python would be made each time."""
        held = frame.localCheckpoint()
        held.createOrReplaceTempView(view)
        return held

    def read(self, part: str, *names: str) -> list[Any]:
        """Give columns of a table, sorted; times as `shown` writes them."""
        found = self.table(SessionTable(part)).select(*names).collect()
        rows = [tuple(_plain(value) for value in row) for row in found]
        rows.sort(key=lambda row: tuple((value is not None, str(value)) for value in row))
        return [row[0] if len(names) == 1 else row for row in rows]

    def sums(self) -> bool:
        """Whether both scopes add up, and the events of this run are those that were kept."""
        words = (*this_run.VERDICTS, "filtered", "null_device", "late", "null_session")
        for scope in ("window", "history"):
            if self.counts[f"{scope}_read"] != sum(self.counts[f"{scope}_{w}"] for w in words):
                return False
        kept = self.counts["window_kept"] + self.counts["history_kept"]
        return self.table(SessionTable.EVENTS_THIS_RUN).count() == kept


def counted(frame: DataFrame, counts: dict[str, str]) -> dict[str, int]:
    """Give aggregates over all rows."""
    asked = [f"{sql} AS {name}" for name, sql in counts.items()]
    return frame.selectExpr(*asked).collect()[0].asDict()


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return shown(value.replace(tzinfo=dt.UTC))
    return str(value) if isinstance(value, dt.date) else value
