"""One record per model, read in bulk: of unpartitioned models, and as a sum of the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    ScalarSelect,
    Select,
    and_,
    case,
    func,
    null,
    or_,
    select,
    union_all,
)

from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.records import (
    LeastPin,
    ModelRecord,
    PartitionCounts,
    PartitionGroup,
    PartitionsRecord,
    Status,
)
from penstock.core.steps.inputs import Pin
from penstock.core.steps.token import pin_of
from penstock.core.steps.window import Watermark
from penstock.state.schema import (
    fingerprints,
    models,
    partition_state,
    step_inputs,
    steps,
    target_state,
    watermarks,
)
from penstock.state.sql.database import batched
from penstock.state.sql.rows import FAILURE, FINGERPRINT_COLUMNS, Found, failure_of, fingerprint_of
from penstock.state.transitions.model_state import BUILDS

FAILURES = (Status.FAILED, Status.SKIPPED)
STATE = partition_state.c
WHOLE = models.c.grid == "*"
_WHOLE_MODELS = select(models.c.id).where(WHOLE)


def model_records(connection: Connection, names: Sequence[str] = ()) -> dict[str, ModelRecord]:
    """Return the record of every model that has ended a step, or of the named ones, by name."""

    def rows_of(query: Select[Any], model: ColumnElement[int]) -> Iterable[Found]:
        if names:
            query = query.where(model.in_(select(models.c.id).where(models.c.name.in_(names))))
        return connection.execute(query).all()  # one by one they take twice as long

    windows: dict[int, Windows] = defaultdict(Windows)
    for row in rows_of(_WATERMARKS, watermarks.c.model_id):
        windows[row.model_id] = windows[row.model_id].moved(row)
    pins: dict[int, dict[str, Pin]] = defaultdict(dict)
    for row in rows_of(_PINS, STATE.model_id):
        pins[row.model_id][row.input] = pin_of(row.kind, row.table_id, row.pinned_version)
    versions = {row.model_id: row for row in rows_of(_VERSIONS, STATE.model_id)}
    found = [
        _one(row, windows[row.model_id], pins.get(row.model_id, {}))
        for row in rows_of(_WHOLE_RECORDS, models.c.id)
    ]
    found += [
        _sum(row, windows[row.model_id], versions.get(row.model_id))
        for row in rows_of(_HEADS, models.c.id)
    ]
    return {each.model: each for each in sorted(found, key=lambda each: each.model)}


def settled_versions(connection: Connection) -> dict[str, int | None]:
    """Return the newest settled version of every model that has one on record."""
    newest = func.max(STATE.settled_version)
    found = select(models.c.name, newest).join(models, models.c.id == STATE.model_id)
    return dict(connection.execute(found.group_by(models.c.name)).all())


def partitions_records(connection: Connection) -> dict[str, PartitionsRecord]:
    """Return the groups of every model with partitions, never single rows."""
    heads = connection.execute(_HEADS.order_by(models.c.name)).all()
    if not heads:  # the others are asked of all partitions, also those of whole tables
        return {}
    groups, (pins, counts) = _groups(connection), _pinned(connection)
    return {
        row.name: PartitionsRecord(
            model=row.name,
            table_id=row.table_id or "",
            groups=tuple(groups[row.model_id]),
            pins=pins.get(row.model_id, {}),
            steps=counts.get(row.model_id, 0),
            last_step_seq=row.last_step_seq,
            executed_at=row.executed_at,
            grid=row.grid,
        )
        for row in heads
    }


def written_counts(
    connection: Connection, names: Collection[str]
) -> Iterator[tuple[str, PartitionCounts]]:
    """Yield the named models that have partitions, with what was written to each."""
    cells = (models.c.name, STATE.ord, STATE.rows_written, STATE.bytes_written)
    counts = select(*cells).join(models, models.c.id == STATE.model_id).where(~WHOLE)
    counts = counts.order_by(STATE.model_id, STATE.ord)
    for part in batched(sorted(names)):
        rows = connection.execute(counts.where(models.c.name.in_(part)))
        for name, of_model in groupby(rows, itemgetter(0)):
            _, *columns = zip(*of_model, strict=True)
            yield name, PartitionCounts(*columns)


def _whole() -> Select[Any]:
    done, last, tried = steps.alias("done"), steps.alias("last"), steps.alias("tried")
    latest = steps.alias("latest")  # names the table that the model writes now
    newest = (  # not always the last step: a change of properties may come after it
        select(func.max(tried.c.step_seq))
        .where(tried.c.model_id == STATE.model_id, tried.c.status.in_(FAILURES))
        .correlate(partition_state)
        .scalar_subquery()
    )
    failed = and_(STATE.status == Status.FAILED, last.c.step_seq == newest)
    return (
        select(
            partition_state,
            models.c.name,
            *FINGERPRINT_COLUMNS,
            done.c.id.label("step"),
            done.c.table_id,
            _unread(done).label("unread"),
            target_state.c.high_time,
            *(last.c[name] for name in FAILURE),
        )
        .join(models, models.c.id == STATE.model_id)
        .outerjoin(fingerprints, fingerprints.c.id == STATE.fingerprint_id)
        .outerjoin(done, done.c.step_seq == STATE.step_seq)
        .outerjoin(last, failed)
        .join(latest, latest.c.step_seq == STATE.last_step_seq)
        .outerjoin(target_state, target_state.c.target == latest.c.target)
        .where(STATE.ord == 0, STATE.model_id.in_(_WHOLE_MODELS))
    )


def _unread(builds: FromClause) -> ColumnElement[Any]:
    """Return the few intents that left pinned rows unread, or read those of another target."""
    names = ("cut_at", "passed_by", "foreign", "deferred")
    words = (builds.c.intent.contains(f'"{name}":') for name in names)
    return case((or_(*words), builds.c.intent))


def _heads() -> Select[Any]:
    """Return a query for one row per partitioned model: its last step, and its newest valid build.

    A build that was rolled back is not valid.
    """
    last, done = steps.alias("last"), steps.alias("done")
    tried, built = steps.alias("tried"), steps.alias("built")
    counts = and_(
        built.c.table_id.is_not(None),  # a step that failed by its checks made a commit too
        built.c.kind.in_(BUILDS),
        built.c.undone_by.is_(None),
        built.c.grid == models.c.grid,
    )
    return (
        select(
            models.c.id.label("model_id"),
            models.c.name,
            models.c.grid,
            last.c.status,
            last.c.step_seq.label("last_step_seq"),
            done.c.id.label("step"),
            done.c.step_seq,
            done.c.intent,
            done.c.ended.label("executed_at"),
            func.coalesce(done.c.duration_ms, 0).label("execution_time_ms"),
            func.coalesce(done.c.rows_written, 0).label("rows_written"),
            func.coalesce(done.c.bytes_written, 0).label("bytes_written"),
            target_state.c.table_id,
            target_state.c.high_time,
            *(last.c[name] for name in FAILURE),
        )
        .select_from(models)
        .join(last, last.c.step_seq == _newest(tried, tried.c.status != Status.RUNNING))
        .outerjoin(done, done.c.step_seq == _newest(built, counts))
        .outerjoin(target_state, target_state.c.target == last.c.target)
        .where(~WHOLE)
    )


def _newest(of: FromClause, condition: ColumnElement[bool]) -> ScalarSelect[int]:
    return (
        select(of.c.step_seq)
        .where(of.c.model_id == models.c.id, condition)
        .order_by(of.c.step_seq.desc())
        .limit(1)
        .correlate(models)
        .scalar_subquery()
    )


@dataclass(frozen=True, slots=True)
class Windows:
    """The watermarks of a model, and which of them were set back by hand."""

    watermarks: tuple[Watermark, ...] = ()
    rewound: tuple[str, ...] = ()

    def moved(self, row: Found) -> Windows:
        """Return them with the newest row of one watermark; `read` is an earlier step's value."""
        value = row.value and read_typed(row.value)
        is_back = not row.step and row.read and (not value or _is_less(value, read_typed(row.read)))
        return Windows(
            self.watermarks + ((Watermark(row.input, row.column, value),) if value else ()),
            self.rewound + ((row.input,) if is_back else ()),
        )


def _is_less(one: TypedValue, other: TypedValue) -> bool:
    try:
        return one < other
    except TypeError:  # of two types, as where a column changed its own
        return False


def _record(row: Found, windows: Windows, **others: Any) -> ModelRecord:  # noqa: ANN401  fields
    """Convert the columns of both queries: the last step, and when and how its rows were built."""
    return ModelRecord(
        model=row.name,
        status=row.status,
        last_step_seq=row.last_step_seq,
        step=row.step or "",
        step_seq=row.step_seq or 0,
        table_id=row.table_id or "",
        watermarks=windows.watermarks,
        rewound=windows.rewound,
        executed_at=row.executed_at,
        duration_ms=row.execution_time_ms,
        rows_written=row.rows_written,
        bytes_written=row.bytes_written,
        high_time=row.high_time,
        **others,
    )


def _one(row: Found, windows: Windows, pins: Mapping[str, Pin]) -> ModelRecord:
    unread = row.unread
    return _record(
        row,
        windows,
        fingerprint=None if row.fingerprint_id is None else fingerprint_of(row),
        commit_version=row.commit_version,
        settled_version=row.settled_version,
        pins=pins,
        failure=None if row.error_code is None else failure_of(row),
        cut_at=unread.cut_at if unread else None,
        passed_by=unread.passed_by if unread else (),
        foreign=unread.foreign if unread else (),
        deferred=unread.deferred if unread else (),
    )


def _sum(row: Found, windows: Windows, versions: Found | None) -> ModelRecord:
    built = row.intent
    return _record(
        row,
        windows,
        fingerprint=built.fingerprint if built else None,
        commit_version=versions.commit_version if versions else None,
        settled_version=versions.settled_version if versions else None,
        pins={each.input: each.pin for each in built.inputs} if built else {},
        failure=failure_of(row) if row.status in FAILURES else None,
        deferred=built.deferred if built else (),
    )


def _groups(connection: Connection) -> dict[int, list[PartitionGroup]]:
    """Count in the order of the index, so that nothing is sorted."""
    query = select(
        STATE.model_id,
        STATE.fingerprint_id,
        STATE.status,
        func.count(),
        func.min(STATE.ord),
        func.max(STATE.ord),
        func.max(STATE.commit_version),
        func.min(STATE.settled_version),
        func.count(STATE.fingerprint_id) - func.count(STATE.settled_version),
    ).group_by(STATE.model_id, STATE.fingerprint_id, STATE.status)
    groups: dict[int, list[PartitionGroup]] = defaultdict(list)
    for model, fingerprint, status, *counted in connection.execute(query).all():
        groups[model].append(PartitionGroup(fingerprint or 0, status, *counted))
    for found in groups.values():
        found.sort(key=lambda group: (group.fingerprint, group.status))
    return groups


def _pinned(connection: Connection) -> tuple[dict[int, dict[str, LeastPin]], dict[int, int]]:
    """Return the least pins and the number of steps, from one scan of the steps."""
    pin = step_inputs.c
    built = (
        select(STATE.model_id, STATE.step_seq)
        .where(STATE.step_seq.is_not(None))
        .distinct()
        .cte("built")
    )
    pins = (
        select(
            built.c.model_id,
            pin.input,
            pin.kind,
            pin.table_id,
            func.min(pin.pinned_version).label("version"),
            func.count().label("steps"),
            func.max(pin.step_seq).label("newest"),
        )
        .join(step_inputs, pin.step_seq == built.c.step_seq)
        .group_by(built.c.model_id, pin.input, pin.kind, pin.table_id)
    )
    nothing = [null()] * 4
    counts = select(built.c.model_id, *nothing, func.count(), null()).group_by(built.c.model_id)
    pinned: dict[int, dict[str, list[Found]]] = defaultdict(lambda: defaultdict(list))
    counted: dict[int, int] = {}
    for row in connection.execute(union_all(pins, counts)).all():
        if row.input is None:
            counted[row.model_id] = row.steps
        else:
            pinned[row.model_id][row.input].append(row)
    least = {
        model: {name: _least_pin(found) for name, found in sorted(inputs.items())}
        for model, inputs in pinned.items()
    }
    return least, counted


def _least_pin(pins: Iterable[Found]) -> LeastPin:
    """Return the oldest pin of an input; its kind is that of the newest step."""
    return LeastPin(
        kind=max(pins, key=lambda each: each.newest).kind,
        version=min(each.version for each in pins),
        table_ids=frozenset(each.table_id for each in pins),
        steps=sum(each.steps for each in pins),
    )


# Built once: each names many columns of many tables.
_WHOLE_RECORDS = _whole()
_HEADS = _heads()
_VERSIONS = select(  # the greatest of each model's partitions, from the index alone
    STATE.model_id,
    func.max(STATE.commit_version).label("commit_version"),
    func.max(STATE.settled_version).label("settled_version"),
).group_by(STATE.model_id)
_PINS = (
    select(STATE.model_id, step_inputs)
    .join(step_inputs, step_inputs.c.step_seq == STATE.step_seq)
    .where(STATE.ord == 0, STATE.model_id.in_(_WHOLE_MODELS))
)
_KEY = (watermarks.c.model_id, watermarks.c.input, watermarks.c.column)
_BEFORE = watermarks.alias()
_READ = (  # what the newest step left of a watermark that a person moved since
    select(_BEFORE.c.value)
    .where(*(_BEFORE.c[each.name] == each for each in _KEY), _BEFORE.c.step != "")
    .order_by(_BEFORE.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_WATERMARKS = (
    select(*_KEY, watermarks.c.value, watermarks.c.step)
    .add_columns(case((watermarks.c.step == "", _READ)).label("read"))
    .where(watermarks.c.id.in_(select(func.max(watermarks.c.id)).group_by(*_KEY)))
    .order_by(watermarks.c.input, watermarks.c.column)
)
