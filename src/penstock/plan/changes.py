"""What changed in the inputs since they were read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from penstock.core.facts import Touched
from penstock.core.model import Fingerprint, InputMapping, Model
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import Computed, RangeMapping, downstream, joined, reading
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid, Span
from penstock.core.partitions.ranges import Ranges, intersection, merged
from penstock.core.project import Project
from penstock.core.records import ModelRecord, PartitionRun, upstream_records
from penstock.core.steps.inputs import DeltaPin, FilesPin, NoPin, Pin, ViewPin
from penstock.plan.resolve import Segment
from penstock.plan.values import Explain, Meaning, Now, State, settings_changed
from penstock.plan.verdict import Difference

EVERYTHING: tuple[Span, ...] = ((FIRST, LAST),)
Hull = Callable[[Ranges], Span | None]


@dataclass(frozen=True, slots=True)
class PartitionsNow:
    """An upstream with partitions: the last data change of each partition."""

    table_id: str
    grid: Grid
    runs: tuple[PartitionRun, ...]


@dataclass(frozen=True, slots=True)
class TableNow:
    """A source, or an upstream without partitions: its newest data changes.

    `pin` is its current version; `commits` are those above the oldest recorded pin.
    """

    pin: Pin
    commits: tuple[Touched, ...] = ()


class _Newest:
    """The newest data change in any range of an upstream's partitions."""

    def __init__(self, upstream: PartitionsNow) -> None:
        self._grid = upstream.grid
        first, last = upstream.grid.domain
        self._least, self._most = upstream.grid.lower(first), upstream.grid.upper(last)
        self._low_bounds = [run.low for run in upstream.runs]
        self._highs = [run.high for run in upstream.runs]
        self._versions = [-1 if (v := run.commit_version) is None else v for run in upstream.runs]

    def newest_in(self, span: Span) -> int:
        """Return the greatest version that changed rows there, -1 if there is none."""
        low, high = max(span[0], self._least), min(span[1], self._most)
        if low >= high:
            return -1
        begin = bisect_left(self._highs, self._grid.at(low))
        end = bisect_right(self._low_bounds, self._grid.at(high - 1))
        return max(self._versions[begin:end], default=-1)


@dataclass(slots=True)
class Changes:
    """Changes of all inputs of all models; each answer is computed once."""

    partitions: Callable[[str], PartitionsNow | None]
    tables: Callable[[str], TableNow | None]
    _spans: dict[tuple[str, Pin | None, str], tuple[Span, ...]] = field(default_factory=dict)
    _newest: dict[str, _Newest] = field(default_factory=dict)

    def changed_spans(self, mapping: InputMapping, pin: Pin | None) -> tuple[Span, ...]:
        """Return where an input changed after the version of a pin, ascending and disjoint.

        Without a pin it changed everywhere: the step did not know the input.
        """
        name, column = mapping.input.name, mapping.column
        key = name, pin, column
        if key not in self._spans:
            self._spans[key] = self._changed_spans(name, pin, column)
        return self._spans[key]

    def is_old(self, name: str, pin: Pin | None, span: Span) -> bool:
        """Return whether a partitioned upstream certainly has no change after a pin in a span."""
        upstream = self.partitions(name)
        if upstream is None or not isinstance(pin, DeltaPin) or pin.table_id != upstream.table_id:
            return False
        if name not in self._newest:
            self._newest[name] = _Newest(upstream)
        return self._newest[name].newest_in(span) <= pin.version

    def grid(self, name: str) -> Grid:
        """Return the grid of an input; `*` for one without partitions."""
        found = self.partitions(name)
        return found.grid if found else Grid()

    def _changed_spans(self, name: str, pin: Pin | None, column: str) -> tuple[Span, ...]:
        upstream = self.partitions(name)
        if upstream is not None:
            return _spans_of_partitions(upstream, pin)
        table = self.tables(name)
        if table is None:
            return ()
        match pin, table.pin:
            case (NoPin() | FilesPin(), _) | (_, NoPin() | FilesPin()):
                return ()  # nobody can say which partitions
            case ViewPin(read), ViewPin(made):
                return EVERYTHING if made > read else ()
            case DeltaPin(old, read), DeltaPin(new, _):
                return EVERYTHING if old != new else touched_since(table.commits, read, column)
            case _:
                return EVERYTHING


def _spans_of_partitions(upstream: PartitionsNow, pin: Pin | None) -> tuple[Span, ...]:
    grid = upstream.grid
    if not upstream.table_id:  # nothing was ever built
        return ()
    same = isinstance(pin, DeltaPin) and pin.table_id == upstream.table_id
    read = pin.version if same and isinstance(pin, DeltaPin) else -1
    changed = [
        (grid.lower(run.low), grid.upper(run.high))
        for run in upstream.runs
        if run.commit_version is not None and run.commit_version > read
    ]
    return joined(changed)


def touched_since(commits: Sequence[Touched], read: int, column: str) -> tuple[Span, ...]:
    """Return where commits above a version changed rows, by a column; else everywhere."""
    found: list[Span] = []
    for commit in commits:
        if commit.version <= read:
            continue
        spans = commit.spans.get(column) if column else None
        if spans is None:
            return EVERYTHING
        found.extend(spans)
    return joined(found)


def spans_of(grid: Grid, ranges: Ranges) -> tuple[Span, ...]:
    """Return partitions as positions."""
    return joined([(grid.lower(low), grid.upper(high)) for low, high in ranges])


def code_drift(
    recorded: Fingerprint, now: Fingerprint, meaning: Meaning, explain: Explain = settings_changed
) -> Iterator[tuple[State, str]]:
    """Return what differs between the code of some rows and the current code.

    CURRENT means that only the text differs. A difference of versions hides the others, because an
    upgrade naturally changes both.
    """
    if recorded.version != now.version:
        yield State.VERSION_UPGRADED, f"{recorded.label} -> {now.label}"
        return
    if not is_same(recorded, now, meaning):
        yield State.SQL_CHANGED, ""
    elif recorded.settings != now.settings:
        yield State.SQL_CHANGED, explain(recorded, now)
    elif recorded.sql != now.sql:
        yield State.CURRENT, ""
    if recorded.schema and now.schema and recorded.schema != now.schema:
        yield State.SCHEMA_CHANGED, ""


def is_same(recorded: Fingerprint, now: Fingerprint, meaning: Meaning) -> bool:
    """Return whether two statements are equal in canonical form, computed by the current parser."""
    if recorded.canonical == now.canonical:
        return True
    return recorded.parser != now.parser and meaning(recorded) == now.canonical


def with_view_inputs(
    project: Project, names: Iterable[InputName], *, dated: bool = False
) -> list[InputName]:
    """Return some inputs, followed by the inputs of the views among them.

    Those are the inputs of any version of a view, or only of the current `dated` one.
    """
    found = [*dict.fromkeys(names)]
    seen = set(found)
    for name in found:  # it grows on the way
        inner = project.models.get(name.name) if name.kind is InputKind.MODEL else None
        if inner is not None and inner.is_view:
            read = inner.query.inputs if dated else inner.inputs
            more = [each for each in read if each not in seen]
            seen.update(more)
            found += more
    return found


def sources_below(project: Project, *models: Model) -> list[str]:
    """Return the sources below some models, also through views, sorted."""
    read = with_view_inputs(project, (name for model in models for name in model.inputs))
    return sorted({name.name for name in read if name.kind is InputKind.SOURCE})


def table_input_differences(
    project: Project,
    model: Model,
    record: ModelRecord,
    records: Mapping[str, ModelRecord],
    now: Now,
) -> Iterator[Difference]:
    """Compare the inputs of an unpartitioned table with those of its last success."""
    if model.is_unpinned and not model.is_view:
        yield Difference(State.SOURCE_CHANGED, f"input-unpinned: {model.name} itself")
    pins = current_pins(project, model, records, now)
    upstreams = upstream_records(records, now.deferred)
    yield from _set_back(record, pins)
    for name, pin in pins.items():
        if name in project.models and project.models[name].is_unpinned:
            yield Difference(State.SOURCE_CHANGED, f"input-unpinned: {name}")
        recorded = record.pins.get(name)
        if recorded == pin:
            continue
        if name in project.models or name in project.seeds:
            if not _was_read(recorded if name in upstreams else None, pin):
                yield Difference(State.UPSTREAM_CHANGED, name)
        elif recorded is None:
            yield Difference(State.SOURCE_CHANGED, f"{name} is new")
        else:
            yield Difference(State.SOURCE_CHANGED, f"{name} {recorded} -> {pin}")
    yield from _no_longer_deferred(record, pins, now)
    if record.cut_at is not None and record.cut_at < now.run_timestamp:
        yield Difference(State.SOURCE_CHANGED, f"read up to {record.cut_at:%Y-%m-%d %H:%M:%S} only")


def _was_read(recorded: Pin | None, pin: Pin) -> bool:
    """Return whether the last data change of a model came before the version that was read."""
    match recorded, pin:
        case DeltaPin(old, read), DeltaPin(new, changed):
            return old == new and changed <= read
        case ViewPin(read), ViewPin(made):
            return made <= read
        case _:
            return False


def _no_longer_deferred(
    record: ModelRecord, pins: Mapping[str, Pin], now: Now
) -> Iterator[Difference]:
    """Yield the inputs that were read from another target, which no longer has them."""
    for each in record.deferred:
        if each.input not in pins and each.input not in now.deferred:
            lost = f"{each.input}, which target {each.target} had"
            yield Difference(State.UPSTREAM_CHANGED, lost)


def _set_back(record: ModelRecord, pins: Mapping[str, Pin]) -> Iterator[Difference]:
    """Yield the inputs whose watermark was set back by hand."""
    for name in record.rewound:
        if name in pins:
            yield Difference(State.SOURCE_CHANGED, f"the watermark of {name} was set back")


def current_pins(
    project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now
) -> dict[str, Pin]:
    """Return the current version of each input of the model, including views and their inputs.

    A model counts with the version of its last data change; sources with their newest version.
    """
    direct = (each for each in model.query.inputs if each.kind is not InputKind.THIS)
    names = [each.name for each in with_view_inputs(project, direct, dated=True)]
    found = ((name, current_pin(project, records, now, name)) for name in names)
    return {name: pin for name, pin in found if pin is not None}


def current_pin(
    project: Project, records: Mapping[str, ModelRecord], now: Now, name: str
) -> Pin | None:
    """Return the current version of an input; None if it was never built or has no versions.

    A model that is read from another target has the version of its table there; a view is built
    here or not at all.
    """
    model, record = project.models.get(name), records.get(name)
    if name in now.deferred and (model is None or not model.is_view):
        record = now.deferred[name].record
    if model is not None and model.is_view:
        return ViewPin(record.step_seq if record else 0)
    if model is None and name not in project.seeds:
        return now.sources.get(name)
    if record is None or record.commit_version is None:
        return None
    return DeltaPin(record.table_id, record.commit_version)


def input_differences(
    model: Model,
    runs: tuple[PartitionRun, ...],
    segments: tuple[Segment, ...],
    all_pins: Mapping[int, Mapping[str, Pin]],
    changes: Changes,
) -> Iterator[Difference]:
    """Return the partitions that read rows changed after their steps pinned them."""
    by_step = sorted(runs, key=lambda run: run.step_seq)
    steps = [
        (all_pins.get(step_seq, {}), merged((run.low, run.high) for run in runs))
        for step_seq, runs in groupby(by_step, key=lambda run: run.step_seq)
    ]
    for segment in segments if steps else ():
        inputs = [(each, changes.grid(each.input.name)) for each in segment.body.inputs]
        alike = list(dict.fromkeys((each.mapping, grid) for each, grid in inputs))
        hulls = [hull_of(mapping, model.grid, grid) for mapping, grid in alike]
        places = [alike.index((each.mapping, grid)) for each, grid in inputs]
        for pins, here in steps:
            candidates = intersection(here, (segment.range,))
            if not candidates:
                continue
            read = [hull(candidates) for hull in hulls]
            for (mapping, grid), place in zip(inputs, places, strict=True):
                name, kind = mapping.input.name, mapping.input.kind
                pin, span = pins.get(name), read[place]
                if span is not None and changes.is_old(name, pin, span):
                    continue
                changed = changes.changed_spans(mapping, pin)
                hit = downstream(mapping.mapping, model.grid, candidates, changed, grid)
                if hit:
                    is_ours = name and kind in (InputKind.MODEL, InputKind.THIS)
                    state = State.UPSTREAM_CHANGED if is_ours else State.SOURCE_CHANGED
                    yield Difference(state, name, hit)


def lookback_differences(
    model: Model,
    partitions: Ranges,
    runs: tuple[PartitionRun, ...],
    all_pins: Mapping[int, Mapping[str, Pin]],
    changes: Changes,
) -> Iterator[Difference]:
    """Return the newest partitions, if an input changed without versions that say in which."""
    settings = model.partition
    if settings is None or settings.lookback is None or not partitions:
        return
    last = partitions[-1][1]
    newest = intersection(partitions, ((last - settings.lookback, last),))
    for run in runs:
        here = intersection(((run.low, run.high),), newest)
        if not here:
            continue
        for name, pin in all_pins.get(run.step_seq, {}).items():
            table = None if changes.partitions(name) else changes.tables(name)
            now = table.pin if table else pin
            is_unknown = isinstance(pin, NoPin | FilesPin) or isinstance(now, NoPin | FilesPin)
            if is_unknown and table and (pin != now or isinstance(now, NoPin)):
                yield Difference(State.SOURCE_CHANGED, f"{name}, looked back", here)


def hull_of(mapping: RangeMapping, grid: Grid, grid_input: Grid) -> Hull:
    """Return what all candidates read together, from the first and the last; None if uncertain.

    Bounds ascend with the partitions. Only adding months to a time of day may change the order of
    two hours; and of several ranges, one may be empty where another begins.
    """
    simple = not isinstance(mapping, Computed) or len(mapping.ranges) == 1
    if grid.grain is Grain.HOUR or not simple:
        return lambda _: None
    read = reading(mapping, grid_input)

    def hull(candidates: Ranges) -> Span | None:
        begin, end = read(grid.span(candidates[0][0])), read(grid.span(candidates[-1][1]))
        return (begin[0][0], end[-1][1]) if begin and end else None

    return hull
