"""Which passes a manifest asks for, and what they write to it.

All arithmetic uses exact times: a day has 24 hours, and calendar days do not matter.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.core.errors import SessionLimitsError, UnknownModelError
from penstock.core.ports.sessions import SessionPass
from penstock.core.project import Project
from penstock.core.records import Status
from penstock.core.sessions.manifest import (
    INSTANT,
    Limits,
    LogVersion,
    ManifestRow,
    ManifestStatus,
    PassKind,
    PlannedPass,
    RebuildRequest,
    RunState,
    greatest,
    instant_text,
)
from penstock.core.sessions.options import BackfillOrder, SessionOptions
from penstock.core.sessions.package import SessionPackage


def manifest_status(
    rows: Iterable[ManifestRow], tracked: Collection[str], *, strict: bool = False
) -> ManifestStatus:
    """Return the state of tracked models; with `strict` a position is only the last success."""
    known = {each.model: each for each in rows if each.model in tracked}
    placed = [
        (position, each.model)
        for each in known.values()
        if (position := each.position(strict=strict)) is not None
    ]
    low, high = min(placed, default=None), max(placed, default=None)
    return ManifestStatus(
        min_position=low[0] if low else None,
        max_position=high[0] if high else None,
        matched=len(placed),
        all_matched=len(placed) == len({*tracked}),
        has_events=any(each.last_success is not None for each in known.values()),
        least=low[1] if low else "",
    )


def run_limits(status: ManifestStatus, options: SessionOptions, now: dt.datetime) -> Limits:
    """Return the state of a run and the events that it may read, without reading any.

    `late_start` checks whether the start is too late.

    >>> now = dt.datetime(2021, 1, 1, 6, tzinfo=dt.UTC)
    >>> options = SessionOptions(start_date=dt.datetime(2021, 1, 1, tzinfo=dt.UTC))
    >>> run_limits(ManifestStatus(), options, now).upper_limit == now
    True
    """
    state, lower, upper = _next_window(status, options, now)
    if not options.strict_seed_limits:
        # An event just before the start would be counted by some cuttings into runs alone.
        lower = max(lower, options.start_date)
    return Limits(state, lower, upper)


def _next_window(
    status: ManifestStatus, options: SessionOptions, now: dt.datetime
) -> tuple[RunState, dt.datetime, dt.datetime]:
    low, high = status.min_position, status.max_position
    start, reach, lookback = options.start_date, options.backfill_limit, options.lookback
    if not status.has_events or low is None or high is None:
        if low is not None and status.all_matched:
            return RunState.FIRST_RUN, low - lookback, min(now, low + reach)
        return RunState.FIRST_RUN, start, min(now, start + reach)
    if not status.all_matched:
        return RunState.NEW_MODEL, start, min(high, start + reach)
    if low < high:
        return RunState.OUT_OF_SYNC, low - lookback, min(high, low + reach)
    return RunState.STANDARD, high - lookback, min(now, high + reach)


def late_start(status: ManifestStatus, options: SessionOptions) -> str:
    """Return a message if the start is after the processed events, otherwise ""."""
    low = status.min_position
    if not status.has_events or low is None or options.start_date <= low:
        return ""
    start = shown_time(options.start_date)
    return f"start_date {start} is after what {status.least} has processed, {shown_time(low)}"


def shown_time(at: dt.datetime) -> str:
    """Format a time for display: without a zero fraction, and midnight as the date alone.

    >>> (
    ...     shown_time(dt.datetime(2021, 1, 5, 17, 59, 32, 500_000)),
    ...     shown_time(dt.datetime(2021, 1, 5)),
    ... )
    ('2021-01-05 17:59:32.5', '2021-01-05')
    """
    text = f"{at:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")
    return text.removesuffix(" 00:00:00") or text


_BEHIND = (RunState.NEW_MODEL, RunState.OUT_OF_SYNC)


def tracked_models(project: Project, package: SessionPackage) -> dict[str, str]:
    """Return the fingerprints of all tracked models: modules, and models with the tag."""
    own = package.fingerprint
    tagged = {
        name: f"{own.partition('/')[0]}/{model.fingerprint.canonical}"
        for name, model in project.models.items()
        if package.tag in model.tags
    }
    return {**dict.fromkeys(package.modules, own), **tagged}


@dataclass(frozen=True, slots=True)
class KnownPackage:
    """The records of a package: its manifest, its passes newest first, pending requests.

    `pending` are sessions to be released, and tables to be overwritten.
    """

    rows: tuple[ManifestRow, ...] = ()
    passes: tuple[SessionPass, ...] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class PackageInputs:
    """The current inputs of a package: fingerprints of tracked models, and whether inputs changed.

    `changed` is whether some input has a commit of rows since the last run, or may have one.
    `unchanged` is the message for unchanged inputs.
    """

    fingerprints: Mapping[str, str]
    changed: bool = True
    unchanged: str = "no input has a new commit"

    @property
    def tracked(self) -> Collection[str]:
        """The tracked models."""
        return self.fingerprints.keys()


def planned_passes(
    package: SessionPackage, records: KnownPackage, inputs: PackageInputs, now: dt.datetime
) -> tuple[PlannedPass, ...]:
    """Return the passes that the manifest asks for; omitted ones carry the reason.

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
    """Return the passes that the manifest asks for, including those without gain."""
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
        return PlannedPass(kind, at, status, _gainers(places, models, at), max_covered=covered)

    if options.backfill is BackfillOrder.PACKAGE or limits.state not in _BEHIND:
        return (planned(PassKind.PACKAGE, limits, tracked),)
    behind = [name for name in places if name not in head]
    first = planned(PassKind.BACKFILL, limits, behind)
    if status.max_position is None:
        raise ValueError("a package without a position is in its first run")
    at_head = ManifestStatus(
        status.max_position, status.max_position, len(head), all_matched=True, has_events=True
    )
    second = planned(PassKind.HEAD, run_limits(at_head, options, now), head)
    reaches = limits.upper_limit == status.max_position
    conditional = first.models if second.models and reaches else ()
    return (
        first,
        PlannedPass(PassKind.HEAD, second.limits, at_head, second.models, conditional, covered),
    )


def rebuild_pass(
    package: SessionPackage,
    rows: Sequence[ManifestRow],
    tracked: Collection[str],
    request: RebuildRequest,
) -> PlannedPass:
    """Return the pass that builds old sessions again: it has no window, and no model advances.

    Raises `SessionLimitsError` `nothing-processed` for a package without events.
    """
    status = manifest_status(rows, tracked, strict=package.options.strict_seed_limits)
    head = status.max_position
    if head is None:
        sentence = f"{package.name} has processed no events: it has no sessions to build again"
        hint = f"penstock run --select {package.name}"
        raise SessionLimitsError("nothing-processed", sentence, where=package.where, hint=hint)
    limits = Limits(RunState.STANDARD, head + INSTANT, head)
    return PlannedPass(PassKind.REBUILD, limits, status, tuple(tracked), rebuild=request)


def pending_rebuild(passes: Iterable[SessionPass]) -> RebuildRequest | None:
    """Return the rebuild that began and did not succeed; `passes` are newest first."""
    last = next((each for each in passes if each.kind is PassKind.REBUILD), None)
    return last.rebuild if last and last.status is not Status.SUCCESS else None


def _position(row: ManifestRow | None, *, strict: bool) -> dt.datetime | None:
    return None if row is None else row.position(strict=strict)


def _gainers(
    places: Mapping[str, dt.datetime | None], models: Collection[str], limits: Limits
) -> tuple[str, ...]:
    """Return the models that a pass advances; a model at its end does not gain."""
    named = ((name, places[name]) for name in places if name in models)
    return tuple(name for name, at in named if at is None or at < limits.upper_limit)


def has_nothing_to_do(
    options: SessionOptions, records: KnownPackage, inputs: PackageInputs
) -> bool:
    """Return whether nothing changed since the last run: no commit, no code, no request.

    Catch-up passes since then do not count: their events were processed before. Models that were
    not selected in the last run still have events to process.
    """
    ran = next((each for each in records.passes if each.kind.reads_new_events), None)
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
    """Return whether no current event is left for the next run."""
    is_current = limits.state in (RunState.FIRST_RUN, RunState.STANDARD)
    return is_current and (limits.upper_limit == now or later_events is False)


_ADVANCING = (RunState.NEW_MODEL, RunState.OUT_OF_SYNC)


@dataclass(frozen=True, slots=True)
class ModelEnd:
    """The facts when a tracked model succeeds.

    `events` is the greatest `ts` of the events of this run, None without any. `later_events` is
    whether some event waits after the window. `now` is the run timestamp, `at` the time of writing.
    `late_to` are the versions up to which the model has late rows now.
    """

    planned: PlannedPass
    now: dt.datetime
    events: dt.datetime | None
    later_events: bool = False
    fingerprint: str = ""
    run: str = ""
    at: dt.datetime | None = None
    late_to: Mapping[str, LogVersion] | None = None


def row_after(
    model: str, row: ManifestRow | None, end: ModelEnd, options: SessionOptions
) -> ManifestRow | None:
    """Return the row of a model that succeeded; the step promises it before its commit.

    With `strict_seed_limits`, a window without events leaves the row unchanged, and creates none.
    """
    strict, limits = options.strict_seed_limits, end.planned.limits
    if strict and end.events is None:
        return row and replace(row, late_to=end.late_to)
    was = row or ManifestRow(model)
    old, upper = was.position(strict=strict), limits.upper_limit
    new = replace(
        was,
        last_success=greatest(was.last_success, end.events),
        covered_to=greatest(was.covered_to, upper),
        fingerprint=end.fingerprint,
        run=end.run,
        updated_at=end.at,
        late_to=end.late_to,
    )
    if not strict:
        is_stuck = new.position() == old and (old is None or upper > old)
        if is_stuck and upper < end.now and (limits.state in _ADVANCING or end.later_events):
            new = replace(new, advanced_to=upper)
        if limits.state in _ADVANCING and new.position() == end.planned.status.max_position:
            new = replace(new, covered_to=greatest(new.covered_to, end.planned.max_covered))
    is_past = new.last_success and new.advanced_to and new.last_success >= new.advanced_to
    return replace(new, advanced_to=None) if is_past else new


def asks_for_later_events(
    planned: PlannedPass, now: dt.datetime, events: dt.datetime | None
) -> bool:
    """Return whether it matters if events wait after an empty window.

    If there are some, the same window would repeat forever with `strict_seed_limits`.
    """
    if planned.limits.upper_limit >= now:
        return False
    if events is None:
        return True
    least = planned.status.min_position
    return planned.status.all_matched and least is not None and events <= least


def late_since(
    rows: Iterable[ManifestRow], now: Mapping[str, LogVersion], last: Mapping[str, LogVersion]
) -> dict[str, LogVersion]:
    """Return the versions, by table, up to which all of some models have late rows.

    `now` are the current versions: a table that was replaced is left out, as is one without a
    record. `last` are the versions of the last pass, for rows of older releases of penstock.
    """
    found: dict[str, LogVersion] = {}
    known = [last if row.late_to is None else row.late_to for row in rows]
    for name, current in now.items():
        given = [each[name] for each in known if name in each]
        if given and all(each.table_id == current.table_id for each in given):
            found[name] = min(given, key=lambda each: each.version)
    return found


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The rows to remove from the manifest, and names without a row."""

    models: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def forget(
    rows: Iterable[ManifestRow], package: str, models: Sequence[str], *, every: bool = False
) -> Forgotten:
    """Choose the rows to remove; raise `UnknownModelError` `unknown-model` if no name has a row."""
    known = {each.model for each in rows}
    if every:
        return Forgotten(tuple(sorted(known)))
    chosen = tuple(dict.fromkeys(each for each in models if each in known))
    unknown = tuple(dict.fromkeys(each for each in models if each not in known))
    if not chosen:
        named = ", ".join(repr(each) for each in unknown)
        sentence = f"the manifest of {package!r} has no row of {named}"
        hint = f"penstock sessions manifest {package}"
        raise UnknownModelError("unknown-model", sentence, hint=hint)
    return Forgotten(chosen, unknown)
