"""A warehouse of nothing but versions: steps of a plan are done on the records of partitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from fakes.builders import a_project, a_source
from fakes.versioned_models import RUN_TIMESTAMP, a_commit, partition_code
from penstock.core.facts import Touched
from penstock.core.model import Fingerprint, Model
from penstock.core.partitions.partition import Span
from penstock.core.partitions.ranges import numbers
from penstock.core.project import Project
from penstock.core.records import ModelRecord, PartitionRun, Status
from penstock.core.steps.inputs import DeltaPin, Pin
from penstock.plan.changes import Changes, PartitionsNow, TableNow
from penstock.plan.kinds.partitions import Evidence, detect_drift
from penstock.plan.planner import plan
from penstock.plan.resolve import body_of
from penstock.plan.steps import Scope
from penstock.plan.values import Now, Observed, Options, Plan, Step
from penstock.plan.verdict import Verdict

SOURCE = "raw.events"


@dataclass(slots=True)
class Table:
    """What a target holds and what is on record of it."""

    version: int = -1
    rows: dict[int, PartitionRun] = field(default_factory=dict)
    record: ModelRecord | None = None
    foreign: list[Touched] = field(default_factory=list)


class World:
    """Models over the source `raw.events`, and all that a plan looks at; no rows."""

    def __init__(self, *models: Model) -> None:
        """Build nothing yet."""
        self.project: Project = a_project(*models, a_source("events"))
        self.tables = {model.name: Table() for model in models}
        self.delivered: list[Touched] = []
        self.marks: list[Fingerprint] = []
        self.pins: dict[int, dict[str, Pin]] = {}
        self.step = 0

    def deliver(self, *spans: Span) -> None:
        """Let the source change in its column `at`; without spans anywhere."""
        self.delivered.append(a_commit(len(self.delivered) + 1, *spans, column="at"))

    def edit(self, model: Model) -> None:
        """Replace a model's code."""
        models = {**self.project.models, model.name: model}
        self.project = replace(self.project, models=models)

    def tamper(self, name: str, *spans: Span) -> None:
        """Let somebody else change a table that is there."""
        table = self.tables[name]
        if table.version >= 0:
            table.version += 1
            table.foreign.append(a_commit(table.version, *spans))

    def fail(self, name: str, number: int) -> None:
        """Let the last execution of a partition, or of a whole table, have failed."""
        table = self.tables[name]
        if number in table.rows:
            table.rows[number] = replace(table.rows[number], status=Status.FAILED)
        elif table.record and not table.rows:
            table.record = replace(table.record, status=Status.FAILED)

    def plan(self, selected: Iterable[str] = (), most: int | None = None) -> Plan:
        """Plan a sync with a cascade of some models, or of all."""
        names = tuple(selected) or tuple(self.project.models)
        verdicts = self.verdicts()
        within = {name: verdicts[name].partitions for name in names if name in verdicts}
        scope = Scope("sync", verdicts, within, syncs=True, cascade=True, most=most)
        records = {name: t.record for name, t in self.tables.items() if t.record is not None}
        targets = {name: self._observed(name) for name in self.tables}
        now = Now(RUN_TIMESTAMP, targets, {SOURCE: self._pin(SOURCE)})
        return plan(self.project, names, records, now, Options(), scope)

    def verdicts(self) -> dict[str, Verdict]:
        """Judge every model of partitions."""
        return {
            name: detect_drift(model, *partition_code(model), self._evidence(name), self._changes())
            for name, model in self.project.models.items()
            if model.partition is not None
        }

    def do(self, step: Step, *, changes_data: bool) -> None:
        """Make what a step names; whether its commit changes any row is for the caller to say."""
        self.step += 1
        model, table = self.project.models[step.model], self.tables[step.model]
        self.pins[self.step] = {name: self._pin(name) for name in _read(model, step)}
        table.version += changes_data or table.version < 0
        changed = table.version if changes_data else None
        for number in () if not step.work.has_parts else numbers(step.partitions):
            table.rows[number] = self._row(model, step, number, changed)
        before = table.record.commit_version if table.record else None
        table.record = ModelRecord(
            step.model,
            Status.SUCCESS,
            self.step,
            step_seq=self.step,
            fingerprint=model.fingerprint,
            table_id=step.model,
            commit_version=before if changed is None else changed,
            settled_version=table.version,
            pins=self.pins[self.step],
        )

    def _row(self, model: Model, step: Step, number: int, changed: int | None) -> PartitionRun:
        _, body = body_of(model, step.version, step.revision)
        if body.fingerprint not in self.marks:
            self.marks.append(body.fingerprint)
        table = self.tables[model.name]
        before = table.rows[number].commit_version if number in table.rows else None
        commit = before if changed is None else changed
        mark = self.marks.index(body.fingerprint) + 1
        return PartitionRun(
            number, number, Status.SUCCESS, mark, self.step, self.step, commit, table.version, True
        )

    def _pin(self, name: str) -> DeltaPin:
        """Give the version of a table that a step would read now."""
        newest = len(self.delivered) if name == SOURCE else self.tables[name].version
        return DeltaPin(name, newest)

    def _runs(self, name: str) -> tuple[PartitionRun, ...]:
        return tuple(run for _, run in sorted(self.tables[name].rows.items()))

    def _evidence(self, name: str) -> Evidence:
        table = self.tables[name]
        target = Observed(table.version >= 0, name, ever_ours=True, foreign=tuple(table.foreign))
        marks = dict(enumerate(self.marks, 1))
        return Evidence(self._runs(name), self.pins, marks, name, target)

    def _changes(self) -> Changes:
        partitions, tables = {}, {SOURCE: TableNow(self._pin(SOURCE), tuple(self.delivered))}
        for name, model in self.project.models.items():
            table = self.tables[name]
            if model.partition is not None:
                there = name if table.rows else ""
                partitions[name] = PartitionsNow(there, model.grid, self._runs(name))
            elif table.record is not None and table.record.commit_version is not None:
                made = a_commit(table.record.commit_version)
                tables[name] = TableNow(DeltaPin(name, made.version), (made,))
        return Changes(partitions.get, tables.get)

    def _observed(self, name: str) -> Observed:
        table = self.tables[name]
        if table.version < 0 or table.record is None:
            return Observed()
        settled = table.record.settled_version or 0
        foreign = tuple(
            Touched(each.version, each.time, each.operation)
            for each in table.foreign
            if each.version > settled
        )
        return Observed(True, name, foreign, ever_ours=True)


def _read(model: Model, step: Step) -> list[str]:
    """Name what a step reads: its own table too, where the SQL says so."""
    if not step.work.has_parts:
        return [each.name for each in model.inputs]
    _, body = body_of(model, step.version, step.revision)
    return [each.input.name for each in body.inputs]
