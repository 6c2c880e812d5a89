"""A package in plain Python, with or without the same one on real Delta; both are compared."""

from __future__ import annotations

import datetime as dt
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from fakes.oracle_sessions import SessionOracle
from fakes.session_lake import SessionLake
from penstock.core.sessions.options import SessionTable
from penstock.strategies.sessions.events import ReleasedSession, SessionRun

KEPT = (
    *("session_identifier", "user_identifier", "start_tstamp", "end_tstamp"),
    *("past_user_identifiers", "past_start_dates", "first_run_id", "last_run_id"),
)
OF_RUN = KEPT[:4]
HELD = (
    *("session_identifier", "since", "reason", "run_id"),
    *("start_tstamp", "events_dropped", "dropped_to"),
)
RUNS = ("run_id", "first_run_id", "last_run_id")


@dataclass
class SessionTwin(SessionLake):
    """Without `spark` it is the oracle alone, which decides nothing: the limits are of `plan`."""

    oracle: SessionOracle = field(init=False)

    def __post_init__(self) -> None:
        if self.spark is not None:
            super().__post_init__()
        else:
            self.package = self._package()
        types = {column.name: column.type for column in self.schema.columns}
        self.oracle = SessionOracle(self.package.options, types)
        self.merged: dict[str, dict[Any, Any]] = {}

    def _open(self) -> tuple[ReleasedSession, ...]:
        if self.spark is not None:
            return super()._open()
        held = self.oracle.quarantine
        return tuple(ReleasedSession(each, held[each]["start_tstamp"]) for each in self.released)

    def _base(self, run: SessionRun) -> None:
        limits, released = run.limits, [each.session for each in run.released]
        self.oracle.base(
            self.events, limits.lower_limit, limits.upper_limit, run.now, run.run, released
        )
        newest = self.oracle.newest
        if self.spark is None:
            self.counts = {**self.oracle.counts, "greatest": newest}
            self.released.clear()
            return
        super()._base(run)
        counts = {name: number for name, number in self.counts.items() if number}
        assert counts == {**self.oracle.counts, **({"greatest": newest} if newest else {})}
        assert self.sums()
        self._same("base_sessions_lifecycle_manifest", KEPT, self.oracle.lifecycle)
        self._same("base_sessions_this_run", OF_RUN, [*self._of_run(limits.upper_limit)])
        if self.package.options.quarantine:
            self._same("base_quarantined_sessions", HELD, self.oracle.quarantine.values())
        names = ("session_identifier", "user_identifier", "session_start_date", *self.schema.names)
        self._same("base_events_this_run", names, self.oracle.events_this_run)

    def _of_run(self, high: dt.datetime) -> Any:
        for row in self.oracle.sessions_this_run:
            yield {**row, "end_tstamp": min(row["end_tstamp"], high)}

    def _modules(self, *asked: Any) -> None:
        super()._modules(*asked)
        self._is_sound()

    def _is_sound(self) -> None:
        """Hold that each event was counted once, and that every key is there once."""
        told, counts = self.oracle, self.oracle.counts
        for scope in ("window", "history"):
            named = {name: n for name, n in counts.items() if name.startswith(scope)}
            assert named.pop(f"{scope}_read", 0) == sum(named.values()), counts
        kept = counts["window_kept"] + counts["history_kept"]
        assert kept == len(told.events_this_run)
        session = "session_identifier"
        page = ("page_view_id",) if self.package.options.compat else (session, "page_view_id")
        keys = {"sessions": (session,), "page_views": page}
        generations = () if self.package.options.compat else ("session_start_date",)
        for part, key in keys.items():
            found = [
                tuple(row[name] for name in (*key, *generations)) for row in self.rows_of(part)
            ]
            assert len(found) == len({*found}), part
        lives = [(row[session], row["start_tstamp"].date()) for row in told.lifecycle]
        assert len(lives) == len({*lives})

    def _module(self, run: SessionRun, part: SessionTable) -> None:
        self.oracle.make(str(part), run.seq)
        if self.spark is not None:
            super()._module(run, part)
            self._compare(part)

    def _tagged(self, name: str) -> None:
        rows = self.merged.setdefault(name, {})
        for e in self.oracle.events_this_run:
            rows[e["session_identifier"], e["event_id"]] = e["collector_tstamp"]

    def _stitch(self, run: SessionRun, part: SessionTable) -> None:
        self.oracle.stitch(str(part), self.stitched.get(part, 0))
        if self.spark is not None:
            super()._stitch(run, part)
            self._compare(part)

    def _compare(self, part: SessionTable) -> None:
        rows = self.rows_of(part)
        names = tuple(self.table(part).columns)
        self._same(part, tuple(name for name in names if name != "mapped_event_id"), rows)

    def rows_of(self, part: str) -> list[dict[str, Any]]:
        """Give the rows of a module as plain Python says them."""
        found = getattr(self.oracle, part)
        return list(found.values()) if isinstance(found, dict) else found

    def _same(self, part: str, names: tuple[str, ...], rows: Any) -> None:
        found = [dict(zip(names, row, strict=True)) for row in self._stored(part, names)]
        said = [{name: row[name] for name in names} for row in rows]
        assert ordered(found) == ordered(said), part

    def _stored(self, part: str, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
        rows = self.table(SessionTable(part)).select(*names).collect()
        return [tuple(map(_aware, row)) for row in rows]

    def state(self) -> dict[str, Any]:
        """Give what any cutting into runs leaves alike (spec §8)."""
        told = self.oracle
        lifecycle = [
            {name: row[name] for name in (*OF_RUN, "past_start_dates")} for row in told.lifecycle
        ]
        found: dict[str, Any] = {"lifecycle": lifecycle, "held": sorted(told.quarantine)}
        skipped = {*RUNS, "stitched_user_id"}
        for part in ("page_views", "sessions", "users"):
            rows = deepcopy(self.rows_of(part))
            found[part] = [{k: v for k, v in row.items() if k not in skipped} for row in rows]
        if str(self.package.options.user_of_session) == "earliest_event":
            skipped = {"told", "changed_seq", "run_id"}
            rows = [*told.user_mapping.values()]
            found["mapping"] = [{k: v for k, v in r.items() if k not in skipped} for r in rows]
            stitched = [row["stitched_user_id"] for row in told.sessions]
            found["stitched"] = sorted(map(str, stitched))
        return {name: ordered(rows) for name, rows in found.items()}


def ordered(rows: Any) -> list[Any]:
    """Give rows in an order that does not depend on how they came."""
    return sorted(rows, key=lambda row: repr(sorted(row.items())) if isinstance(row, dict) else row)


def _aware(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=dt.UTC)
    return list(value) if isinstance(value, (list, tuple)) else value
