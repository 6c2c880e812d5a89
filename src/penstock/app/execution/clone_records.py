"""What clones record beside rows: the slices of entities, and the manifests of packages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services, in_one_state
from penstock.app.services.workers import waiting
from penstock.core.entities.slices import UnchangedSlice
from penstock.core.model import Model
from penstock.core.ports.sessions import PassEnd, SessionPass
from penstock.core.project import Project
from penstock.core.records import SliceRecord, SliceSkip, Status
from penstock.core.sessions.manifest import ManifestRow, SessionPromise
from penstock.core.sessions.package import SessionPackage
from penstock.core.steps.inputs import Pin
from penstock.plan.kinds.manifest import tracked_models


@dataclass(frozen=True, slots=True)
class RecordedPackage:
    """The records of a package in the other target."""

    manifest: Mapping[str, ManifestRow]
    stitched: Mapping[str, int]
    passes: tuple[SessionPass, ...]
    overwrites: frozenset[str]

    @property
    def last_pass(self) -> SessionPass | None:
        """The last pass that did not only catch up, None without one."""
        return next((each for each in self.passes if each.kind.reads_new_events), None)

    def end_of(self, last: SessionPass) -> PassEnd:
        """Return the end of that pass, failed if one since then was."""
        since = [each.status for each in self.passes if each.seq >= last.seq]
        status = Status.SUCCESS if {*since} == {Status.SUCCESS} else Status.FAILED
        return PassEnd(status, last.caught_up, last.future_events)


@dataclass(frozen=True, slots=True)
class OtherTarget:
    """What one state of the other target's store holds of the models to clone."""

    state: ProjectState
    slices: Mapping[str, tuple[SliceRecord, ...]]
    packages: Mapping[str, RecordedPackage]


@in_one_state
def read_other(services: Services, names: Collection[str], context: Context) -> OtherTarget:
    """Read the state of the models, their slices and the records of their packages."""
    state, reading = survey(services, names, context.run_timestamp), services.reading
    sessions, packages = reading.sessions, services.project.packages
    return OtherTarget(
        state,
        reading.slices.recorded_of([*names]) if services.project.entities else {},
        {
            name: RecordedPackage(
                {row.model: row for row in sessions.manifest(name)},
                sessions.stitched(name),
                sessions.passes(name),
                sessions.overwrites(name),
            )
            for name in packages
        },
    )


def cloned_slices(records: Collection[SliceRecord]) -> tuple[UnchangedSlice, ...]:
    """Return the slices whose rows are in the table, as the step that clones it lists them."""
    return tuple(
        UnchangedSlice(each.id, "", 0, each.moment, each.metrics)
        for each in records
        if each.status is Status.SUCCESS and each.moment is not None
    )


def skip_like(services: Services, model: str, there: Collection[SliceRecord]) -> None:
    """Skip the slices that are skipped in the other target, and no others."""
    skipped = {each.id.name: each for each in there if each.status is Status.SKIPPED}
    own = services.reading.slices.recorded(model)
    known = {each.id.name for each in own if each.status is Status.SKIPPED}
    at = services.clock.now()
    for name in sorted(skipped.keys() ^ known):
        each = skipped.get(name)
        why, who = (each.why, each.who) if each else ("", "")
        skip = SliceSkip(model, name, skips=each is not None, why=why, who=who, at=at)
        services.writing.slices.skip(skip)


SameCode = Callable[[Model], bool]
Pins = Callable[[Mapping[str, Pin]], Mapping[str, Pin]]


@dataclass(slots=True)
class PackageClones:
    """The packages whose tables one command clones.

    Each table's step promises its row of the manifest. Before the first one, the package is marked
    for a rebuild; each step takes its own table off that list. So a run that follows a crash
    replays what was not cloned.
    """

    services: Services
    context: Context
    other: OtherTarget
    project: Project
    _begun: dict[str, SessionPass | None] = field(default_factory=dict)

    def begin(self, package: SessionPackage, overwrites: Collection[str], pins: Pins) -> None:
        """Mark a package for a rebuild, and begin the pass that stands for the other target's."""
        if package.name in self._begun:
            return
        sessions, wait = self.services.writing.sessions, self.context.wait_seconds
        rows = [row.model for row in sessions.manifest(package.name)]
        waiting(self.services, partial(sessions.forget, package.name, rows, overwrites), wait)
        last = self.other.packages[package.name].last_pass
        if last is not None:
            holder = self.context.holder
            own = replace(last, seq=0, run=holder.run, pins=pins(last.pins), events=None)
            last = waiting(self.services, partial(sessions.begin_pass, own, holder), wait)
        self._begun[package.name] = last

    def promise(self, model: Model, same_code: SameCode) -> SessionPromise | None:
        """Return what the step of a clone leaves in the manifest; None outside packages."""
        package = self.project.package_of(model.name)
        if package is None:
            return None
        known = self.other.packages[package.name]
        row, there = known.manifest.get(model.name), self.other.state.project
        if row is not None and model.name not in package.modules:
            now = tracked_models(self.project, package)[model.name]
            before = tracked_models(there, there.packages[package.name])[model.name]
            if row.fingerprint == before and same_code(model):
                row = replace(row, fingerprint=now)  # its tables have other names here
        return SessionPromise(package.name, row, stitched=known.stitched.get(model.name, 0))

    def end(self, failed: Collection[str]) -> None:
        """End the passes; those of packages with a table that was not cloned fail."""
        sessions = self.services.writing.sessions
        for name, begun in self._begun.items():
            known = self.other.packages[name]
            last = known.last_pass
            if begun is None or last is None:
                continue
            if last.events is not None:
                sessions.note_events(begun, last.events)
            end = known.end_of(last)
            if self._models_of(name) & {*failed}:
                end = replace(end, status=Status.FAILED)
            sessions.end_pass(begun, end)

    def _models_of(self, package: str) -> set[str]:
        return {*self.project.models_of(package)}

    def rebuilt_there(self) -> Iterator[str]:
        """Yield the tables that the next run of the other target replaces."""
        for each in self.other.packages.values():
            yield from each.overwrites
