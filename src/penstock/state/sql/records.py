"""Records and notes in a database: reading is in bulk, for any number of models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    delete,
    exists,
    func,
    or_,
    select,
)

from penstock.core.facts import Seen, Touched
from penstock.core.model import Fingerprint
from penstock.core.query import TemplateRows
from penstock.core.records import (
    Execution,
    ModelRecord,
    PartitionRun,
    PartitionsRecord,
    Status,
    StepRecord,
    WatermarkChange,
)
from penstock.core.steps.inputs import Pin
from penstock.core.steps.token import pin_of
from penstock.state.schema import (
    contents,
    execution_history,
    fingerprints,
    models,
    partition_state,
    project,
    seen_tables,
    step_inputs,
    steps,
    table_commits,
    watermarks,
)
from penstock.state.sql.database import Database, batched, put
from penstock.state.sql.load import islands
from penstock.state.sql.model_records import WHOLE, model_records, partitions_records
from penstock.state.sql.rows import (
    FINGERPRINT_COLUMNS,
    STATE_COLUMNS,
    Found,
    cells_of,
    failure_of,
    fingerprint_of,
    insert_watermark,
    step_of,
    template_rows,
    watermark_of,
)

STATE = partition_state.c
_WRITTEN = ("partition", "step_seq", "executed_at", "rows_written", "bytes_written")
_BY = ("triggered_by", "executed_by")
_TABLES = 400  # in one condition
_TOUCHED = ("version", "time", "operation", "step", "store", "user")


class SqlRecords:
    """Reads records, and sets watermarks by hand."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def models(self, *names: str) -> Mapping[str, ModelRecord]:
        """Return the record of every model that has ended a step; with partitions a summary."""
        with self._database.read() as connection:
            return model_records(connection, names)

    def partitions(self) -> Mapping[str, PartitionsRecord]:
        """Return the groups of every model with partitions, never single rows."""
        with self._database.read() as connection:
            return partitions_records(connection)

    def fingerprints(self) -> Mapping[int, Fingerprint]:
        """Return the fingerprints that groups and runs refer to by number."""
        with self._database.read() as connection:
            return {row.id: fingerprint_of(row) for row in connection.execute(select(fingerprints))}

    def runs(self, *models: str) -> Mapping[str, tuple[PartitionRun, ...]]:
        """Return the partitions of each model as runs; none for unpartitioned models."""
        found: dict[str, list[PartitionRun]] = {name: [] for name in models}
        with self._database.read() as connection:
            for names in _partitioned(connection, models):
                rows = connection.execute(_BY_STEP, {"models": [*names]}).all()
                mixed = {row.model_id for row in rows if row.is_mixed}
                for row in rows:
                    if row.model_id not in mixed:
                        found[names[row.model_id]].append(_run(row))
                for row in connection.execute(_RUNS, {"models": [*mixed]}) if mixed else ():
                    found[names[row.model_id]].append(_run(row))
        return {name: tuple(runs) for name, runs in found.items()}

    def step_pins(self, *models: str) -> Mapping[str, Mapping[int, Mapping[str, Pin]]]:
        """Return pins of the steps that built each model's partitions; none for whole tables."""
        found: dict[str, dict[int, dict[str, Pin]]] = {name: {} for name in models}
        pin = cache(pin_of)  # many steps read the same versions
        with self._database.read() as connection:
            for names in _partitioned(connection, models):
                for row in connection.execute(_STEP_PINS, {"models": [*names]}):
                    model, step, name, kind, text, number = row
                    pins = found[names[model]].setdefault(step, {})
                    if name is not None:
                        pins[name] = pin(kind, text, number)
        return found

    def texts(self, checksums: Collection[str]) -> Mapping[str, str]:
        """Return stored SQL texts by checksum, without unknown ones."""
        found: dict[str, str] = {}
        query = select(contents.c.hash, contents.c.text)
        with self._database.read() as connection:
            for part in batched(sorted({*checksums})):
                rows = connection.execute(query.where(contents.c.hash.in_(part)))
                found |= {row.hash: row.text for row in rows}
        return found

    def history(
        self, model: str, limit: int | None, partition: str | None = None
    ) -> tuple[Execution, ...]:
        """Return executions of a model; `partition` is a key as written, also in older grids."""
        which = [] if partition is None else [execution_history.c.partition == partition]
        query = (
            select(
                execution_history,
                models.c.name,
                steps.c.id.label("step_id"),
                steps.c.error_where,
                steps.c.error_hint,
                steps.c.reason,
                *FINGERPRINT_COLUMNS,
            )
            .join(models, models.c.id == execution_history.c.model_id)
            .join(steps, steps.c.step_seq == execution_history.c.step_seq)
            .join(fingerprints, fingerprints.c.id == execution_history.c.fingerprint_id)
            .where(models.c.name == model, *which)
            # by their ends: what makes a table ready may begin inside of the step that needs it
            .order_by(
                execution_history.c.executed_at.desc(),
                execution_history.c.step_seq.desc(),
                execution_history.c.ord,
            )
            .limit(limit)
        )
        with self._database.read() as connection:
            return tuple(_execution(row) for row in connection.execute(query))

    def steps_of(self, model: str) -> tuple[StepRecord, ...]:
        """Return all finished steps of a model, oldest first, without counts per partition."""
        query = (
            _of_model(select(steps), steps.c.model_id, model)
            .where(steps.c.status != Status.RUNNING)
            .order_by(steps.c.step_seq)
        )
        with self._database.read() as connection:
            return tuple(step_of(row).record for row in connection.execute(query))

    def unrecorded(self, commits: Mapping[str, int]) -> frozenset[str]:
        """Return which of the steps currently have no record of making their version."""
        known: set[str] = set()
        query = select(steps.c.id, steps.c.status, steps.c.commit_version)
        with self._database.read_now() as connection:
            for part in batched(sorted(commits)):
                for row in connection.execute(query.where(steps.c.id.in_(part))):
                    made = row.commit_version == commits[row.id]
                    known |= {row.id} if made or row.status == Status.RUNNING else set()
        return frozenset(commits) - known

    def last_results(self) -> Mapping[str, Status]:
        """Return the result of each model in the last run with steps."""
        last = select(steps.c.run).order_by(steps.c.step_seq.desc()).limit(1).scalar_subquery()
        query = (
            select(models.c.name, steps.c.status)
            .join(models, models.c.id == steps.c.model_id)
            .where(steps.c.run == last)
            .order_by(steps.c.step_seq)
        )
        with self._database.read() as connection:
            return {row.name: row.status for row in connection.execute(query)}

    def watermark_history(self, model: str) -> tuple[WatermarkChange, ...]:
        """Return every change of a model's watermarks, newest first."""
        query = _of_model(select(watermarks, models.c.name), watermarks.c.model_id, model)
        query = query.order_by(watermarks.c.id.desc())
        with self._database.read() as connection:
            return tuple(watermark_of(row) for row in connection.execute(query))

    def change_watermark(self, change: WatermarkChange) -> None:
        """Append a manual change of a watermark; the value may decrease.

        A recorded change is not appended again: the answer to it was lost, and since then a run may
        have moved the watermark.
        """
        query = _of_model(select(watermarks, models.c.name), watermarks.c.model_id, change.model)
        query = query.where(watermarks.c.set_at == change.set_at)
        with self._database.write() as connection:
            if change not in map(watermark_of, connection.execute(query)):
                insert_watermark(connection, change)


class SqlNotes:
    """Stores commits that changed rows, and how far logs were read, so that none is read twice."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seen_tables(self) -> Mapping[str, Seen]:
        """Return the recorded tables; a commit without a recorded step is foreign."""
        commit = table_commits.c
        ours = exists().where(steps.c.id == commit.step)
        foreign = (
            select(commit.name, func.max(commit.version).label("version"))
            .where(~ours, commit.store != select(project.c.store_id).scalar_subquery())
            .group_by(commit.name)
            .subquery()
        )
        query = (
            select(seen_tables, foreign.c.version)
            .outerjoin(foreign, foreign.c.name == seen_tables.c.name)
            .order_by(seen_tables.c.name)
        )
        with self._database.read() as connection:
            return {row.name: Seen(*row) for row in connection.execute(query)}

    def touched(self, after: Mapping[str, int]) -> Mapping[str, tuple[Touched, ...]]:
        """See `Notes.touched`: one query for hundreds of tables."""
        commit, found = table_commits.c, dict[str, list[Touched]]()
        with self._database.read() as connection:
            for part in batched([*after], _TABLES):
                each = ((commit.name == name) & (commit.version > after[name]) for name in part)
                query = select(table_commits).where(or_(*each)).order_by(commit.version)
                for row in connection.execute(query):
                    cells = cells_of(row, (*_TOUCHED, "spans"))
                    found.setdefault(row.name, []).append(Touched(**cells))
        return {name: tuple(commits) for name, commits in found.items()}

    def note(self, table: Seen, commits: Sequence[Touched]) -> None:
        """Record commits of a table, replacing earlier notes; the greater version counts."""
        cells: dict[str, object] = {"name": table.name, "table_id": table.table_id}
        rows = [
            {
                **cells,
                **cells_of(commit, _TOUCHED),
                "spans": dict(sorted(commit.spans.items())),
            }
            for commit in commits
        ]
        with self._database.write() as connection:
            query = select(seen_tables).where(seen_tables.c.name == table.name)
            known = connection.execute(query).first()
            version = table.version
            if known is not None and known.table_id == table.table_id:
                version = max(version, known.seen_version)
            else:
                noted = table_commits.c.name == table.name
                connection.execute(delete(table_commits).where(noted))
            put(connection, seen_tables, [{**cells, "seen_version": version}])
            put(connection, table_commits, rows)

    def template_rows(self) -> Mapping[str, TemplateRows]:
        """See `Notes.template_rows`."""
        with self._database.read() as connection:
            query = select(template_rows.c.key, template_rows.c.rows)
            return {row.key: row.rows for row in connection.execute(query)}

    def keep_rows(self, rows: Mapping[str, TemplateRows]) -> None:
        """See `Notes.keep_rows`."""
        cells = [{"key": key, "rows": each} for key, each in rows.items()]
        with self._database.write() as connection:
            put(connection, template_rows, cells)


def _of_model(query: Select[Any], model_id: ColumnElement[int], name: str) -> Select[Any]:
    return query.join(models, models.c.id == model_id).where(models.c.name == name)


def _execution(row: Found) -> Execution:
    return Execution(
        **cells_of(row, _WRITTEN + _BY),
        model=row.name,
        step=row.step_id,
        fingerprint=fingerprint_of(row),
        duration_ms=row.execution_time_ms,
        status=row.status,
        failure=failure_of(row) if row.status == Status.FAILED else None,
        reason=row.reason,
    )


def _partitioned(connection: Connection, names: Sequence[str]) -> Iterator[dict[int, str]]:
    """Return the names of partitioned models by their numbers, in parts."""
    query = select(models.c.id, models.c.name).where(~WHOLE)
    for part in batched(names):
        yield {row.id: row.name for row in connection.execute(query.where(models.c.name.in_(part)))}


# Built once: a look at a project asks them again and again.
_ASKED = STATE.model_id.in_(bindparam("models", expanding=True))
_SAME = (
    *(STATE[name] for name in STATE_COLUMNS),
    case((STATE.rows_written > 0, 1), else_=0).label("holds_rows"),
)
_RUNS = islands(partition_state, _ASKED, STATE.model_id, *_SAME)


def _by_step() -> Select[Any]:
    """Return a query for what each step left, in index order; `is_mixed` if it is not one run.

    Neighbours are usually adjacent and alike, and this takes a fifth of the time of a search for
    runs.
    """
    keys = ("fingerprint_id", "status", "step_seq")
    low, high, size = func.min(STATE.ord), func.max(STATE.ord), func.count()
    left = [each for each in _SAME if each.name not in keys]
    mixed = [func.min(each).is_distinct_from(func.max(each)) for each in left]
    unsure = [each for each in STATE if each.name in STATE_COLUMNS and each.nullable]
    mixed += [func.count(each).not_in((0, size)) for each in unsure if each.name not in keys]
    return (
        select(
            low.label("low"),
            high.label("high"),
            STATE.model_id,
            *(func.max(e).label(e.name) if e.name not in keys else e for e in _SAME),
            or_(high - low >= size, *mixed).label("is_mixed"),
        )
        .where(_ASKED)
        .group_by(STATE.model_id, *(STATE[name] for name in keys))
        .order_by(low)
    )


_BY_STEP = _by_step()
_BUILT = (
    select(STATE.model_id, STATE.step_seq)
    .where(_ASKED, STATE.step_seq.is_not(None))
    .distinct()
    .subquery()
)
_STEP_PINS = (
    select(
        _BUILT,
        *(step_inputs.c[name] for name in ("input", "kind", "table_id", "pinned_version")),
    )
    .outerjoin(step_inputs, step_inputs.c.step_seq == _BUILT.c.step_seq)
    .order_by(_BUILT.c.step_seq, step_inputs.c.input)
)


def _run(row: Found) -> PartitionRun:
    """Convert the common columns of both queries by position: there may be many rows."""
    low, high, _, status, fingerprint, step_seq, last, commit, settled, at, holds_rows, *_ = tuple(
        row
    )
    return PartitionRun(
        low,
        high,
        status,
        fingerprint or 0,
        step_seq or 0,
        last,
        commit,
        settled,
        holds_rows=bool(holds_rows),
        executed_at=at,
    )
