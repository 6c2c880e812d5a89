"""The passes of one run over a package: their limits, who writes in them, when there is none."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.core.errors import SessionLimitsError
from penstock.core.ports.sessions import SessionPass
from penstock.core.project import Project
from penstock.core.records import Status
from penstock.core.sessions.manifest import (
    Limits,
    ManifestRow,
    ManifestStatus,
    PassKind,
    PlannedPass,
    RunState,
    greatest,
    instant_text,
)
from penstock.core.sessions.package import BackfillOrder, SessionOptions, SessionPackage
from penstock.plan.sessions.limits import late_start, manifest_status, run_limits

_BEHIND = (RunState.NEW_MODEL, RunState.OUT_OF_SYNC)


def tracked_models(project: Project, package: SessionPackage) -> dict[str, str]:
    """Return the fingerprints of all tracked models: modules, and models that carry the tag."""
    own = package.fingerprint
    tagged = {
        name: f"{own.partition('/')[0]}/{model.fingerprint.canonical}"
        for name, model in project.models.items()
        if package.tag in model.tags
    }
    return {**dict.fromkeys(package.modules, own), **tagged}


@dataclass(frozen=True, slots=True)
class KnownPackage:
    """What is on record of a package: its manifest, its passes newest first, what is pending.

    `pending` are sessions to be released, and tables to be overwritten.
    """

    rows: tuple[ManifestRow, ...] = ()
    passes: tuple[SessionPass, ...] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class PackageInputs:
    """What a package meets now: the fingerprints of its tracked models, and whether inputs changed.

    `changed` says that some input has a commit of rows since the last run, or that nobody can tell.
    `unchanged` is the sentence for inputs that did not change.
    """

    fingerprints: Mapping[str, str]
    changed: bool = True
    unchanged: str = "no input has a new commit"

    @property
    def tracked(self) -> Collection[str]:
        """The tracked models."""
        return self.fingerprints.keys()


def marked_passes(
    package: SessionPackage, records: KnownPackage, inputs: PackageInputs, now: dt.datetime
) -> tuple[PlannedPass, ...]:
    """Return the passes that the manifest asks for; those that a run leaves out say why.

    Raises `SessionLimitsError` `start-date-after-progress`.
    """
    passes = manifest_passes(package, records.rows, inputs.tracked, now)
    return tuple(replace(each, idle=_idle(package, records, inputs, each)) for each in passes)


def _idle(
    package: SessionPackage, records: KnownPackage, inputs: PackageInputs, planned: PlannedPass
) -> str:
    if not planned.models:
        return f"all models are at {instant_text(planned.limits.upper_limit)} or later"
    if planned.kind is PassKind.BACKFILL:
        return ""
    if planned.kind is PassKind.HEAD:  # models that are behind do not hold it up
        own = {name: inputs.fingerprints[name] for name in planned.models}
        inputs = replace(inputs, fingerprints=own)
    return inputs.unchanged if has_nothing_to_do(package.options, records, inputs) else ""


def manifest_passes(
    package: SessionPackage, rows: Sequence[ManifestRow], tracked: Collection[str], now: dt.datetime
) -> tuple[PlannedPass, ...]:
    """Return the passes that the manifest asks for, those that nobody gains from too."""
    options, strict = package.options, package.options.strict_seed_limits
    status = manifest_status(rows, tracked, strict=strict)
    late = late_start(status, options)
    if late and not strict:
        where = package.places.get("start_date", package.where)
        hint = f"set it back, or 'penstock sessions forget {package.name} --all'"
        raise SessionLimitsError("start-date-after-progress", late, where=where, hint=hint)
    limits = run_limits(status, options, now)
    known = {each.model: each for each in rows}
    places = {name: _position(known.get(name), strict=strict) for name in tracked}
    head = [name for name, place in places.items() if place == status.max_position]
    covered = greatest(*(known[name].covered_to for name in head if name in known))

    def planned(kind: PassKind, at: Limits, models: Collection[str]) -> PlannedPass:
        return PlannedPass(kind, at, status, _gaining(places, models, at), max_covered=covered)

    if options.backfill is BackfillOrder.PACKAGE or limits.state not in _BEHIND:
        return (planned(PassKind.PACKAGE, limits, tracked),)
    behind = [name for name in places if name not in head]
    first = planned(PassKind.BACKFILL, limits, behind)
    if status.max_position is None:
        raise ValueError("a package without a position is in its first run")
    at_head = ManifestStatus(
        status.max_position, status.max_position, len(head), all_matched=True, seen=True
    )
    second = planned(PassKind.HEAD, run_limits(at_head, options, now), head)
    reaches = limits.upper_limit == status.max_position
    conditional = first.models if second.models and reaches else ()
    return (
        first,
        PlannedPass(PassKind.HEAD, second.limits, at_head, second.models, conditional, covered),
    )


def _position(row: ManifestRow | None, *, strict: bool) -> dt.datetime | None:
    return None if row is None else row.position(strict=strict)


def _gaining(
    places: Mapping[str, dt.datetime | None], models: Collection[str], limits: Limits
) -> tuple[str, ...]:
    """Return the models that a pass brings further; at its end already is far enough."""
    named = ((name, places[name]) for name in places if name in models)
    return tuple(name for name, at in named if at is None or at < limits.upper_limit)


def has_nothing_to_do(
    options: SessionOptions, records: KnownPackage, inputs: PackageInputs
) -> bool:
    """Whether a run would find what the last one left: no new commit, no code, nothing asked for.

    Passes that filled models up since then do not count: their events were processed before. Who
    was not selected in the last one has events to process still.
    """
    ran = next((each for each in records.passes if each.kind is not PassKind.BACKFILL), None)
    if not options.skip_unchanged or inputs.changed or records.pending or ran is None:
        return False
    since = [each for each in records.passes if each.seq >= ran.seq]
    if any(each.status is not Status.SUCCESS for each in since):
        return False
    if not ran.caught_up or ran.future_events is not False:
        return False
    known = {each.model: each for each in records.rows}
    rows = [known.get(name) for name in inputs.tracked]
    if not all(row and row.fingerprint == inputs.fingerprints[row.model] for row in rows):
        return False
    reached = [row.covered_to for row in rows if row]
    if any(at is None or at < ran.limits.upper_limit for at in reached):
        return False
    strict = options.strict_seed_limits
    return len({_position(row, strict=strict) for row in rows}) == 1


def is_caught_up(limits: Limits, now: dt.datetime, later_events: bool | None) -> bool:  # noqa: FBT001
    """Whether nothing that there is now is left for the next run."""
    is_current = limits.state in (RunState.FIRST_RUN, RunState.STANDARD)
    return is_current and (limits.upper_limit == now or later_events is False)
