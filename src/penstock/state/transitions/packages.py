"""The records of a session package, and how passes, steps and users change them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import assert_never

from penstock.core.ports.sessions import PassEnd, Release, SessionPass
from penstock.core.records import Status
from penstock.core.sessions.manifest import (
    ManifestRow,
    PassEvents,
    PassKind,
    SessionPromise,
    greatest,
)

PassKey = tuple[int, PassKind]
"""A pass: the number of its run, and its kind."""


@dataclass(frozen=True, slots=True)
class PackageTable:
    """Pending requests for a table of a package, and the last run whose mapping it has."""

    overwrites: bool = False
    stitched: int = 0


@dataclass(frozen=True, slots=True)
class PackageState:
    """The records of one package; a store may leave out passes that an event does not touch."""

    package: str
    manifest: Mapping[str, ManifestRow] = field(default_factory=dict)
    passes: Mapping[PassKey, SessionPass] = field(default_factory=dict)
    releases: Mapping[str, Release] = field(default_factory=dict)
    tables: Mapping[str, PackageTable] = field(default_factory=dict)

    def with_pass(self, changed: SessionPass) -> PackageState:
        """Return the records with a pass in its current state."""
        return replace(self, passes={**self.passes, (changed.seq, changed.kind): changed})

    def table(self, model: str) -> PackageTable:
        """Return the record of a table."""
        return self.tables.get(model, PackageTable())

    def number_of(self, run: str) -> int:
        """Return the number of a run, or the next one.

        Numbers from logs count after a rebuild, because rows contain the numbers of runs.
        """
        known = (each.seq for each in self.passes.values() if each.run == run)
        given = (seq for seq, _ in self.passes), (each.stitched for each in self.tables.values())
        return next(known, max(chain(*given), default=0) + 1)


@dataclass(frozen=True, slots=True)
class PassBegan:
    """A run began a pass; its number is assigned now."""

    begun: SessionPass
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class EventsBuilt:
    """The events of a pass are built."""

    key: PassKey
    events: PassEvents


@dataclass(frozen=True, slots=True)
class PassEnded:
    """A pass ended."""

    key: PassKey
    end: PassEnd
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class PromiseKept:
    """A step of the package succeeded: its promise applies."""

    model: str
    promise: SessionPromise
    run: str
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class ReleasesAsked:
    """A user requested to release sessions from quarantine."""

    sessions: tuple[str, ...]
    who: str
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class RowsForgotten:
    """A user requested to remove models from the manifest; `overwrites` lose their rows too."""

    models: tuple[str, ...]
    overwrites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepsUndone:
    """Steps of a model were undone: promises of the others apply, `stitched` is 0 without any.

    Without a `row` the model processes everything again. Removed models stay removed, and no model
    advances.
    """

    model: str
    row: ManifestRow | None
    stitched: int
    at: dt.datetime


PackageEvent = (
    PassBegan | EventsBuilt | PassEnded | PromiseKept | ReleasesAsked | RowsForgotten | StepsUndone
)


def apply_to_package(records: PackageState, event: PackageEvent) -> PackageState:
    """Return the records after an event; the store decides whether the event is allowed."""
    match event:
        case PassBegan():
            return _begin(records, event)
        case EventsBuilt() | PassEnded():
            return _update_pass(records, event)
        case PromiseKept():
            return _keep_promise(records, event)
        case ReleasesAsked():
            asked = {
                each: Release(records.package, each, event.at, event.who)
                for each in event.sessions
                if each not in records.releases
            }
            return replace(records, releases={**records.releases, **asked})
        case RowsForgotten():
            left = {name: row for name, row in records.manifest.items() if name not in event.models}
            new = {name: replace(records.table(name), overwrites=True) for name in event.overwrites}
            return replace(records, manifest=left, tables={**records.tables, **new})
        case StepsUndone():
            left, row = dict(records.manifest), event.row
            now = left.pop(event.model, None)
            if now is not None and row is not None:
                ahead = greatest(now.position(), row.position()) != now.position()
                left[event.model] = now if ahead else replace(row, updated_at=event.at)
            table = replace(records.table(event.model), stitched=event.stitched)
            return replace(records, manifest=left, tables={**records.tables, event.model: table})
        case _ as never:
            assert_never(never)


def _begin(records: PackageState, event: PassBegan) -> PackageState:
    """Write a pass; open passes of other runs end, because the package is leased."""
    begun = event.begun
    number = records.number_of(begun.run)
    for each in records.passes.values():
        if each.status is Status.RUNNING and each.run != begun.run:
            records = records.with_pass(replace(each, status=Status.FAILED, ended=event.at))
    running = replace(begun, seq=number, status=Status.RUNNING, started=event.at)
    return records.with_pass(running)


def _update_pass(records: PackageState, event: EventsBuilt | PassEnded) -> PackageState:
    """Write the end of a pass; a pass whose package another run took has already ended."""
    found = records.passes.get(event.key)
    if found is None or found.status is not Status.RUNNING:
        return records
    if isinstance(event, EventsBuilt):
        return records.with_pass(replace(found, events=event.events))
    end = event.end
    ended = replace(
        found,
        status=end.status,
        caught_up=end.caught_up,
        future_events=end.future_events,
        ended=event.at,
    )
    return records.with_pass(ended)


def _keep_promise(records: PackageState, event: PromiseKept) -> PackageState:
    promise, table = event.promise, records.table(event.model)
    manifest, releases = records.manifest, records.releases
    if promise.row is not None:
        row = replace(promise.row, run=event.run, updated_at=event.at)
        manifest = {**manifest, row.model: row}
    if promise.released:
        releases = {key: each for key, each in releases.items() if key not in promise.released}
    is_stitch = promise.row is None and promise.stitched > 0  # it makes no row anew
    new = PackageTable(table.overwrites and is_stitch, max(table.stitched, promise.stitched))
    tables = records.tables if new == table else {**records.tables, event.model: new}
    return replace(records, manifest=manifest, releases=releases, tables=tables)
