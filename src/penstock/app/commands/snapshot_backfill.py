"""The use case `snapshot backfill`: a history made out of the versions that its sources still have.

A run for each version, oldest first, as of the time of its commit: so the result is that of runs
that were started then. A command that is killed goes on after the last version that it recorded.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from penstock.app.commands.run import run
from penstock.app.commands.verify import history_model
from penstock.app.events import Listener, silent
from penstock.app.read_requests import HistoryBackfillRequest
from penstock.app.request import SnapshotRequest
from penstock.app.run_report import RunReport
from penstock.app.services.catalog_sources import find_places
from penstock.app.services.services import Services
from penstock.core.errors import TableError, UsageError
from penstock.core.facts import LogCommit, TableFacts
from penstock.core.model import Model
from penstock.core.ports.ports import Log
from penstock.core.records import ModelRecord
from penstock.core.steps.inputs import DeltaPin
from penstock.plan.changes import sources_below, with_view_inputs

_TICK = dt.timedelta(microseconds=1)
_LAST = ("source_rows", "unchanged")
"""Counts of the last run; all others are added up."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, and the version that each source had then."""

    at: dt.datetime
    versions: Mapping[str, int]
    """By the name of the source."""

    def __str__(self) -> str:
        """Return the versions as text."""
        return ", ".join(
            f"{name} {'(replaced)' if version < 0 else f'v{version}'}"
            for name, version in self.versions.items()
        )


@dataclass(frozen=True, slots=True)
class LogAsOf:
    """A `Log` in which some tables have no later version than one that is given."""

    log: Log
    versions: Mapping[str, int]
    """By location."""

    def facts(self, uri: str, **flags: Any) -> TableFacts | None:  # noqa: ANN401  as the log's
        """See `Log.facts`."""
        return self.log.facts(uri, **{"version": self.versions.get(uri), **flags})

    def commits(self, uri: str, after: int, *, partial: bool = False) -> tuple[LogCommit, ...]:
        """See `Log.commits`."""
        found = self.log.commits(uri, after, partial=partial)
        last = self.versions.get(uri)
        return found if last is None else tuple(each for each in found if each.version <= last)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # the other methods of a log
        """Return what says nothing of the newest version of a source."""
        return getattr(self.log, name)


def snapshot_backfill(
    services: Services, request: HistoryBackfillRequest, listener: Listener = silent
) -> RunReport:
    """Build a history from the versions of its sources; return the report of the last run.

    Its counts are those of all runs together. Ends with the first run that fails; the same command
    goes on there. Raises `not-a-history-model`, `backfill-not-possible` for inputs without
    versions, and `no-versions` if there is none in the range.
    """
    model = history_model(services, request.model)
    find_places(services, sources_below(services.project, model))
    moments, notes = _moments(services, model, request)
    paths = {name: services.project.sources[name].path for name in moments[0].versions}
    real, reports = services.log, list[RunReport]()
    try:
        for moment in moments:
            as_of = LogAsOf(real, {paths[name]: v for name, v in moment.versions.items()})
            services.log, services.run_id = cast("Log", as_of), ""
            reports.append(run(services, _run_of(model, request, moment), listener))
            if not reports[-1].succeeded or reports[-1].interrupted:
                break
    finally:
        services.log = real
    done = len(reports) - (not reports[-1].succeeded or reports[-1].interrupted)
    notes = (*notes, f"{done} of {len(moments)} versions: {moments[0]} to {moments[-1]}")
    return _joined(reports, notes)


def _run_of(model: Model, request: HistoryBackfillRequest, moment: Moment) -> SnapshotRequest:
    return SnapshotRequest(
        request.project,
        select=(model.name,),
        as_of=moment.at,
        target=request.target,
        variables=request.variables,
        skip_checks=request.skip_checks,
        wait=request.wait,
    )


def _moments(
    services: Services, model: Model, request: HistoryBackfillRequest
) -> tuple[Sequence[Moment], tuple[str, ...]]:
    """Return what is to be read, oldest first, and what is to be said about it."""
    commits = {name: _commits(services, name) for name in _sources(services, model)}
    known = _moments_of(commits, [each.at for each in _changes(commits)])
    if request.every == "day":
        known = [*{each.at.date(): each for each in known}.values()]
    record = services.reading.records.models().get(model.name)
    last, notes = request.until, list[str]()
    if record is not None and record.succeeded_once:
        read = Moment(services.clock.now(), _read(services, record, commits))
        found = [each for each in known if _is_later(each, read.versions)]
        found = _from(found, record.high_time and record.high_time + _TICK)
        notes.append(f"{model.name} goes on after {read}")
    else:
        found = _from(known, request.since)
    found = [each for each in found if last is None or each.at <= last]
    if notes and not found and min(read.versions.values()) >= 0:
        return [read], (f"nothing is left to be read after {read}",)
    there = [*_readable(services, found)] if found else []
    if there and there[0] != found[0]:
        notes.append(f"begins with {there[0]}: earlier versions are gone")
    if lost := len(found) - found.index(there[0]) - len(there) if there else 0:
        are = "is left out: its" if lost == 1 else "are left out: their"
        notes.append(f"{lost} of the later versions {are} files are gone")
    if not there:
        raise UsageError(
            "no-versions",
            f"the sources of {model.name!r} have no version to be read in this range",
            hint="VACUUM removes files after 7 days by default, and logs go back 30 days; "
            "name another --from",
        )
    return there, tuple(notes)


def _from(moments: Sequence[Moment], first: dt.datetime | None) -> list[Moment]:
    """Return the moments after a time, and before them what was there at that time."""
    later = [each for each in moments if first is None or each.at > first]
    before = moments[: len(moments) - len(later)]
    return [*(replace(each, at=first or each.at) for each in before[-1:]), *later]


def _sources(services: Services, model: Model) -> list[str]:
    """Return the sources of a model; raise if any input of it has no versions to go back to."""
    project = services.project
    others = []
    for each in with_view_inputs(project, model.inputs):
        source, made = project.sources.get(each.name), project.models.get(each.name)
        is_past = made.is_view if made else bool(source and source.is_delta and source.path)
        others += [] if is_past else [each.name]
    names = sources_below(project, model)
    if others or not names:
        raise UsageError(
            "backfill-not-possible",
            f"{model.name!r} reads {', '.join(others) or 'no source'}, and only sources that are "
            "Delta tables have a past",
            hint="let the snapshot read such sources, directly or through views",
        )
    return names


def _commits(services: Services, name: str) -> Sequence[LogCommit]:
    """Return the commits of a source in order; no time is before that of an earlier version."""
    source = services.project.sources[name]
    found = list[LogCommit]()
    for each in services.log.commits(source.path, -1, partial=True):
        time = max(each.time, found[-1].time) if found else each.time
        found.append(replace(each, time=time))
    if not found:
        sentence = f"source {name} has no Delta table: {source.path}"
        hint = "correct `path`, or create the table"
        raise TableError("source-missing", sentence, where=source.where, hint=hint)
    return found


def _changes(commits: Mapping[str, Sequence[LogCommit]]) -> Iterator[Moment]:
    for name, found in commits.items():
        for number, each in enumerate(found):
            if each.changes_data or not number:
                yield Moment(each.time, {name: each.version})


def _moments_of(
    commits: Mapping[str, Sequence[LogCommit]], times: Iterable[dt.datetime]
) -> list[Moment]:
    """Return the versions of all sources at some times, without times before one of them began."""
    found = []
    for time in sorted(set(times)):
        versions = {
            name: max((each.version for each in own if each.time <= time), default=-1)
            for name, own in commits.items()
        }
        if -1 not in versions.values():
            found.append(Moment(time, versions))
    return found


def _read(services: Services, record: ModelRecord, names: Iterable[str]) -> dict[str, int]:
    """Return the versions that the last success read; -1 of a table that was replaced since."""
    pins = {name: pin for name in names if isinstance(pin := record.pins.get(name), DeltaPin)}
    if lost := [name for name in names if name not in pins]:
        raise UsageError(
            "backfill-not-possible",
            f"{record.model!r} was built without {', '.join(lost)}",
            hint="penstock snapshot run reads the newest versions",
        )
    return {
        name: pin.version if _is_same(services, name, pin) else -1 for name, pin in pins.items()
    }


def _is_same(services: Services, name: str, pin: DeltaPin) -> bool:
    """Return whether a source is the table that was read: CREATE OR REPLACE keeps its versions."""
    path = services.project.sources[name].path
    found = (services.log.facts(path, version=version) for version in (pin.version, None))
    return any(facts is not None and facts.table_id == pin.table_id for facts in found)


def _is_later(moment: Moment, read: Mapping[str, int]) -> bool:
    news = [version - read[name] for name, version in moment.versions.items()]
    return min(news) >= 0 and max(news) > 0


def _readable(services: Services, moments: Sequence[Moment]) -> Iterator[Moment]:
    """Yield the moments whose versions can still be read."""
    asked = {name: {each.versions[name] for each in moments} for name in moments[0].versions}
    readable = {
        name: services.places.readable(services.project.sources[name].path, sorted(versions))
        for name, versions in asked.items()
    }
    for each in moments:
        if all(version in readable[name] for name, version in each.versions.items()):
            yield each


def _joined(reports: Sequence[RunReport], notes: Sequence[str]) -> RunReport:
    """Return the last report, with the counts of all."""
    last = reports[-1]
    counts = Counter[str]()
    for report in reports:
        for result in report.results:
            counts.update({k: n for k, n in result.metrics.items() if k not in _LAST})
    results = tuple(
        replace(each, metrics={**each.metrics, **{k: n for k, n in counts.items() if n}})
        for each in last.results
    )
    return replace(last, results=results, notes=(*last.notes, *notes))
