"""A package whose events are times alone, run after run, by the functions that decide."""

import datetime as dt
from dataclasses import dataclass, field, replace

from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName
from penstock.core.ports.sessions import SessionPass
from penstock.core.records import Status
from penstock.core.sessions.manifest import ManifestRow, PassEvents, executed
from penstock.core.sessions.options import LateRows, SessionOptions
from penstock.core.sessions.package import SessionPackage, SessionSchemas, session_models
from penstock.plan.kinds.manifest import (
    KnownPackage,
    ModelEnd,
    PackageInputs,
    asks_for_later_events,
    is_caught_up,
    planned_passes,
    row_after,
)

CORE = ("web_user_mapping", "web_page_views", "web_sessions", "web_users")
SCHEMAS = SessionSchemas("derived", "derived", "derived")


def at(text):
    """Read `01-02`, `01-02 10:00` or a whole time; a year that is not said is 2021."""
    written = text if text[4:5] == "-" else f"2021-{text}"
    return dt.datetime.fromisoformat(written).replace(tzinfo=dt.UTC)


def shown(time):
    """Write a time of 2021 as `at` reads it."""
    if time is None:
        return None
    text = f"{time:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".").removeprefix("2021-")
    return text.removesuffix(":00").removesuffix(" 00:00")


def options(**keys):
    usual = {"start_date": at("01-01"), "late_loaded": LateRows.COUNT}
    return SessionOptions(**{**usual, **keys})


def package(**keys):
    said = options(**keys)
    events = InputName(InputKind.SOURCE, "raw.events")
    models = session_models("web", SCHEMAS, said)
    return SessionPackage("web", events, said, models, "derived", Location("sessions/web.yml", 2))


@dataclass
class SessionWorld:
    """Runs a package; events are the times of those that are kept, none of them late."""

    package: SessionPackage
    events: list[dt.datetime] = field(default_factory=list)
    tracked: tuple[str, ...] = ()
    rows: dict[str, ManifestRow] = field(default_factory=dict)
    passes: list[SessionPass] = field(default_factory=list)
    version: int = 1
    pinned: int = 0
    read: dict[str, set[dt.datetime]] = field(default_factory=dict)
    frozen: bool = False

    def __post_init__(self):
        self.tracked = self.tracked or self.package.modules

    def add(self, *events):
        self.events += map(at, events)
        self.version += 1

    @property
    def inputs(self):
        return PackageInputs(dict.fromkeys(self.tracked, "f"), self.version != self.pinned)

    @property
    def records(self):
        return KnownPackage(tuple(self.rows.values()), tuple(self.passes))

    def plan(self, now):
        return executed(planned_passes(self.package, self.records, self.inputs, now))

    def run(self, now, *, fails=(), select=None):
        """Run once; give `state lower..upper` of each pass, and who wrote."""
        now, shown_passes = at(now) if isinstance(now, str) else now, []
        seq = self.passes[0].seq + 1 if self.passes else 1
        planned = self.plan(now)
        for each in planned:
            # who took part in the pass before takes part in the next one if it is at the head now
            head = each.status.max_position
            late = [n for n in each.conditional if n in self.rows and self.position(n) == head]
            wanted = [n for n in (*each.models, *late) if select is None or n in select]
            wrote = [name for name in wanted if name not in fails]
            self._pass(each, wrote, now, seq, failed=len(wrote) < len(wanted))
            span = f"{shown(each.limits.lower_limit)}..{shown(each.limits.upper_limit)}"
            name = "" if each.kind == "package" else f"{each.kind} "
            shown_passes.append(f"{name}{each.limits.state:d} {span}")
        if planned:
            self.pinned = self.version
        return shown_passes

    def _pass(self, planned, wrote, now, seq, *, failed):
        limits, strict = planned.limits, self.package.options.strict_seed_limits
        inside = [e for e in self.events if limits.lower_limit <= e <= limits.upper_limit]
        newest, later = max(inside, default=None), None
        if asks_for_later_events(planned, now, newest):
            later = any(limits.upper_limit < e <= now for e in self.events)
        end = ModelEnd(planned, now, newest, bool(later), "f", f"run-{seq}")
        for name in wrote:
            self.read.setdefault(name, set()).update(inside)
            row = row_after(name, self.rows.get(name), end, self.package.options)
            if row is not None:
                self.rows[name] = row
        caught_up = is_caught_up(limits, now, later)
        future = any(e > now for e in self.events) if caught_up else None
        record = SessionPass("web", seq, planned.kind, f"run-{seq}", limits, now)
        ended = replace(
            record,
            status=Status.FAILED if failed else Status.SUCCESS,
            events=PassEvents(newest, later),
            caught_up=caught_up,
            future_events=future,
        )
        self.passes.insert(0, ended)
        self.frozen = strict and bool(later)

    def position(self, name):
        return self.rows[name].position(strict=self.package.options.strict_seed_limits)

    def row(self, name):
        """Give what is on record of a model: LS, CT, AT."""
        row = self.rows.get(name)
        if row is None:
            return None
        return shown(row.last_success), shown(row.covered_to), shown(row.advanced_to)

    @property
    def all_rows(self):
        """Give the one row that all tracked models have."""
        (row,) = {self.row(name) for name in self.tracked}
        return row

    @property
    def caught_up(self):
        """Whether the last pass at the head was, whoever followed it there since."""
        return next((each.caught_up for each in self.passes if each.kind != "backfill"), False)
