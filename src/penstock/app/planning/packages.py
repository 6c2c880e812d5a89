"""Session packages before a run: tracked models, changed inputs, passes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock.app.request import AnyRun
from penstock.app.services.services import Services
from penstock.core.errors import (
    SchemaError,
    SelectorError,
    SessionLimitsError,
    TableError,
    UsageError,
)
from penstock.core.findings import Finding, Severity
from penstock.core.graph import ordered, reach
from penstock.core.names import InputKind, InputName
from penstock.core.ports.sessions import SessionPass
from penstock.core.project import Project, read_uri
from penstock.core.sessions.manifest import PlannedPass, RebuildRequest, limit_lines
from penstock.core.sessions.package import SessionPackage, SessionTableKind, same_base
from penstock.core.steps.inputs import DeltaPin
from penstock.plan.cascade import upstream_models
from penstock.plan.kinds.manifest import (
    KnownPackage,
    PackageInputs,
    late_start,
    pending_rebuild,
    planned_passes,
    rebuild_pass,
    tracked_models,
)
from penstock.plan.values import PassesNow
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.selectors import exact_names


@dataclass(frozen=True, slots=True)
class PackagePlan:
    """What a run of a package would do now; `limits` are the passes that the manifest asks for."""

    package: SessionPackage
    tracked: tuple[str, ...]
    limits: tuple[PlannedPass, ...]
    warnings: tuple[Finding, ...] = ()


def named_package(project: Project, name: str) -> SessionPackage:
    """Return the package of that name; raise `SelectorError` `no-match`."""
    found = project.packages.get(name)
    if found is not None:
        return found
    near = did_you_mean(name, project.packages)
    known = f"there are: {some_of(project.packages)}" if project.packages else "there are none"
    sentence = f"no session package is called {name!r}"
    raise SelectorError("no-match", sentence, hint=near or known)


def plan_package(
    services: Services,
    package: SessionPackage,
    now: dt.datetime,
    *,
    pending: bool = False,
    anew: bool = False,
    rebuild: RebuildRequest | None = None,
) -> PackagePlan:
    """Plan a run from the records and the logs of the inputs; write nothing.

    With `pending`, the same run rebuilds the events; with `anew`, it refreshes the package. With
    `rebuild`, it only builds these sessions again. A rebuild that did not end comes first.
    """
    project, sessions = services.project, services.reading.sessions
    fingerprints = tracked_models(project, package)
    known = KnownPackage(
        () if anew else sessions.manifest(package.name),
        sessions.passes(package.name),
        anew or bool(sessions.releases(package.name) or sessions.overwrites(package.name)),
    )
    asked = rebuild or (None if anew else pending_rebuild(known.passes))
    again: tuple[PlannedPass, ...] = ()
    if asked is not None:
        again = (rebuild_pass(package, known.rows, fingerprints, asked),)
    if rebuild is not None:
        return PackagePlan(package, tuple(fingerprints), again)
    last = next((each for each in known.passes if each.kind.reads_new_events), None)
    unchanged = "" if pending else _unchanged(services, package, last)
    inputs = PackageInputs(fingerprints, changed=not unchanged, unchanged=unchanged)
    limits = planned_passes(package, known, inputs, now)
    warnings = tuple(_warnings(package, known, fingerprints, limits[0]))
    return PackagePlan(package, tuple(fingerprints), (*again, *limits), warnings)


def refreshed(project: Project, request: AnyRun) -> tuple[SessionPackage, ...]:
    """Return the packages to rebuild: those that `--full-refresh` names.

    Raises `refresh-not-allowed`, and `option-conflict` for a part of a package.
    """
    if not request.full_refresh:
        return ()
    named = exact_names(request.select)
    found = tuple(each for name, each in project.packages.items() if name in named)
    for package in found:
        if not package.options.allow_refresh:
            raise UsageError(
                "refresh-not-allowed",
                f"--full-refresh empties the manifests of {package.name!r}",
                where=package.where,
                hint="set allow_refresh: true",
            )
    for name in named:
        own = project.package_of(name)
        if own is not None and own not in found:
            raise UsageError(
                "option-conflict",
                f"--full-refresh rebuilds packages as a whole; {name} belongs to {own.name!r}",
                hint=f"penstock sessions forget {own.name} {name} --truncate",
            )
    return found


def not_refreshed(
    project: Project, names: Iterable[str], request: AnyRun, anew: Collection[SessionPackage]
) -> Iterator[str]:
    """Return a note on packages that a full refresh leaves out because they were not named."""
    found = {own.name: own for name in names if (own := project.package_of(name)) is not None}
    for package in found.values():
        if request.full_refresh and package not in anew:
            command = f"penstock run --select {package.name} --full-refresh"
            yield f"{package.name} is not rebuilt: a full refresh has to name it; {command}"


def refresh(services: Services, packages: Iterable[SessionPackage]) -> None:
    """Mark packages for a rebuild by the next run; an interrupted rebuild is continued."""
    for package in packages:
        rows = services.writing.sessions.manifest(package.name)
        overwrites = overwritten(services.project, package)
        services.writing.sessions.forget(package.name, [row.model for row in rows], overwrites)


def overwritten(project: Project, package: SessionPackage) -> frozenset[str]:
    """Return the tables that a refresh rebuilds: all except those with rows of one run."""
    kept = {each.name for each in package.models if each.kind is SessionTableKind.KEPT}
    return frozenset(kept.union(tracked_models(project, package)))


def selecting(project: Project, names: Collection[str]) -> dict[str, str]:
    """Return selectors for models of session packages: the package if it was complete.

    Base tables are included by any of the others.
    """
    found: dict[str, str] = {}
    for package in project.packages.values():
        tracked = [*tracked_models(project, package)]
        asked = [name for name in tracked if name in names]
        again = package.name if asked == tracked else " ".join(asked)
        own = {each.name for each in package.models}.union(tracked)
        found |= dict.fromkeys(own.difference(asked if asked != tracked else ()), again)
    return found


def with_base_tables(project: Project, names: Sequence[str]) -> tuple[str, ...]:
    """Add what tracked models depend on: base tables, and other tracked models.

    They are built for any of their readers. The order stays topological.
    """
    wanted = {*names}
    for package in project.packages.values():
        tagged = {name for name, each in project.models.items() if package.tag in each.tags}
        if asked := tagged.intersection(names):
            inside = {name: upstream_models(project.models[name]) for name in tagged}
            wanted |= tagged & reach(asked, inside)
            wanted.update(each.name for each in package.models if not each.is_tracked)
    if wanted == {*names}:
        return tuple(names)
    parents = _parents(project)
    return tuple(name for name in ordered(parents) if name in wanted)


def passes_now(
    services: Services,
    names: Iterable[str],
    now: dt.datetime,
    changing: Collection[str] = (),
    anew: Collection[SessionPackage] = (),
    rebuild: RebuildRequest | None = None,
) -> dict[str, PassesNow]:
    """Return what a run would do for every package of the models.

    `changing` are models that the same run rebuilds, `anew` packages. With `rebuild`, it only
    builds these sessions again.
    """
    project, found = services.project, {}
    packages = {p.name: p for name in names if (p := project.package_of(name)) is not None}
    for package in packages.values():
        above = {name for name, _ in _inputs(project, package.events)}
        reads = reach([package.events.name], _parents(project))
        pending = bool(reads & {*changing}) or bool(above & {*changing})
        try:
            if not pending:
                _check_events(services, package)
            is_new = package in anew
            planned = plan_package(
                services, package, now, pending=pending, anew=is_new, rebuild=rebuild
            )
        except (SchemaError, SessionLimitsError) as error:
            found[package.name] = PassesNow(package, error=error)
            continue
        found[package.name] = PassesNow(
            package,
            planned.limits,
            {
                name: upstream_models(project.models[name])
                for name in planned.tracked
                if name not in package.modules
            },
            overwritten(project, package)
            if package in anew
            else services.reading.sessions.overwrites(package.name),
            frozenset(row.model for row in services.reading.sessions.manifest(package.name)),
            planned.warnings,
        )
    return found


def _check_events(services: Services, package: SessionPackage) -> None:
    """Raise if the events lack a column that the package needs, according to a Delta log.

    A run checks the same on what it opens. Unreadable events are reported with the source.
    """
    from penstock.project.sessions.columns import events_findings  # few projects have packages

    project, events = services.project, package.events
    model = project.models.get(events.name) if events.kind is InputKind.MODEL else None
    if model is not None and model.is_view:
        return
    for _, uri in _inputs(project, events):
        try:
            facts = services.log.facts(uri) if uri else None
        except (TableError, OSError):
            return
        for each in events_findings(package, facts.schema) if facts else ():
            raise SchemaError(each.code, each.sentence, where=each.where, hint=each.hint)


def _parents(project: Project) -> dict[str, tuple[str, ...]]:
    return {name: upstream_models(model) for name, model in project.models.items()}


def limits_said(now: PassesNow) -> Iterator[str]:
    """Return what the passes of a package read, and which of them have nothing to do."""
    name = "Snowplow" if now.package.options.is_snowplow else now.package.name
    for planned in now.limits:
        yield from limit_lines(name, planned)


def _unchanged(services: Services, package: SessionPackage, last: SessionPass | None) -> str:
    """Return a message if no input has a new commit of rows; otherwise ""."""
    if last is None:
        return ""
    said = []
    for name, uri in _inputs(services.project, package.events):
        pin = last.pins.get(name)
        if not isinstance(pin, DeltaPin) or not uri or _changed(services, uri, pin):
            return ""
        said.append(f"{name} has no new commit since version {pin.version}")
    return "; ".join(said)


def _changed(services: Services, uri: str, pin: DeltaPin) -> bool:
    """Return whether a table has rows of later commits, or may have been replaced."""
    try:
        facts = services.log.facts(uri)
        if facts is None or facts.table_id != pin.table_id:
            return True
        commits = services.log.commits(uri, pin.version)
    except (TableError, OSError):  # what the log has lost nobody can tell
        return True
    return any(commit.changes_data for commit in commits)


def _inputs(project: Project, events: InputName) -> Iterator[tuple[str, str]]:
    """Yield the tables below the events, also through views, with their folders.

    The folder is "" for inputs without versions.
    """
    if events.kind is InputKind.SOURCE:
        source = project.sources[events.name]
        yield events.name, source.path if source.is_delta else ""
        return
    model = project.models.get(events.name)
    if model is not None and model.is_view:
        for below in model.inputs:
            yield from _inputs(project, below)
    elif events.kind is InputKind.EXTERNAL:
        yield events.name, ""
    else:
        yield events.name, read_uri(project, events)


def _warnings(
    package: SessionPackage, records: KnownPackage, fingerprints: dict[str, str], first: PlannedPass
) -> Iterator[Finding]:
    warning, options = Severity.WARNING, package.options
    late = late_start(first.status, options)
    if late:
        where = package.places.get("start_date", package.where)
        yield Finding(where, "start-date-after-progress", late, severity=warning)
    rows = {row.model: row.fingerprint for row in records.rows}
    other = [
        name
        for name, now in fingerprints.items()
        if rows.get(name) and not same_base(rows[name], now)
    ]
    if other:
        sentence = f"options of the base tables changed since {some_of(other)} was built"
        hint = f"penstock run --select {package.name} --full-refresh rebuilds all rows"
        yield Finding(package.where, "options-changed", sentence, hint, warning)
