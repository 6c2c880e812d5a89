"""What ran before: runs and their steps, in bulk."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, select

from penstock.core.records import Holder, Run, StepRecord
from penstock.state.schema import models, runs, steps
from penstock.state.sql.database import Database, batched
from penstock.state.sql.rows import Found, cells_of, step_of

_RUN = ("id", "command", "arguments", "target", "run_timestamp", "started", "ended", "status")


class SqlRuns:
    """Reads runs and their steps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def latest_runs(self, limit: int) -> tuple[Run, ...]:
        """See `RunRecords.latest_runs`; their ids sort by their beginnings."""
        query = select(runs).order_by(runs.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return tuple(_run(row) for row in connection.execute(query))

    def steps_of_runs(self, names: Collection[str]) -> Mapping[str, tuple[StepRecord, ...]]:
        """See `RunRecords.steps_of_runs`."""
        return self._steps_by(steps.c.run, select(steps), sorted(names))

    def steps_of_models(self, *names: str) -> Mapping[str, tuple[StepRecord, ...]]:
        """See `RunRecords.steps_of_models`."""
        query = select(steps).join(models, models.c.id == steps.c.model_id)
        return self._steps_by(models.c.name, query, sorted(names))

    def _steps_by(
        self, column: ColumnElement[str], query: Select[Any], values: Sequence[str]
    ) -> Mapping[str, tuple[StepRecord, ...]]:
        found: dict[str, list[StepRecord]] = {}
        query = query.add_columns(column.label("of")).order_by(steps.c.step_seq)
        with self._database.read() as connection:
            for part in batched(values):
                for row in connection.execute(query.where(column.in_(part))):
                    found.setdefault(row.of, []).append(step_of(row).record)
        return {name: tuple(each) for name, each in found.items()}


def _run(row: Found) -> Run:
    holder = Holder(row.id, row.host, row.pid, row.user)
    return Run(**cells_of(row, _RUN), holder=holder)
