"""Which models have other code than what built the tables of a target."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

from penstock.app.observation.deferral import target_records
from penstock.app.observation.log_reader import open_log_reader
from penstock.app.observation.observe import ObservedTables
from penstock.app.observation.project_state import ProjectState
from penstock.app.services.services import Services, dated_project
from penstock.core.errors import UsageError
from penstock.core.model import Fingerprint, Model
from penstock.core.partitions.ranges import intersection
from penstock.plan.changes import code_drift
from penstock.plan.resolve import due_partitions, resolve
from penstock.plan.values import State


def code_changes(services: Services, run_timestamp: dt.datetime) -> Mapping[str, frozenset[str]]:
    """Return the models that are `new` in a target, and those that are `modified`.

    As in dbt, new models are modified too. The code is that of the files with the settings of that
    target, so that templates that use `target` or its variables do not differ.
    """
    target = services.compared_with
    if not target:
        raise UsageError(
            "option-conflict",
            "state:modified and state:new need a target to compare with",
            hint="add --state TARGET; status and sync compare with --defer-to TARGET",
        )
    state = _recorded_state(target_records(services, target, "--state"), run_timestamp)
    models = services.project.models
    new = {name for name in models if _is_new(state, name)}
    modified = {name for name in models if name not in new and _is_modified(state, name)}
    return {"new": frozenset(new), "modified": frozenset(new | modified)}


def _recorded_state(other: Services, run_timestamp: dt.datetime) -> ProjectState:
    """Return the records of a target beside its project; opens no table."""
    project, records = dated_project(other, run_timestamp), other.reading.records
    return ProjectState(
        other,
        project,
        (),
        ObservedTables.empty(run_timestamp),
        dict(records.models()),
        open_log_reader(other),
        run_timestamp,
        records.partitions(),
        records.fingerprints(),
    )


def _is_new(state: ProjectState, name: str) -> bool:
    """Return whether a target has never built a model; frames of functions are never built."""
    model, record = state.project.models.get(name), state.records.get(name)
    if model is not None and model.is_view and not model.strategy.is_written:
        return False
    return model is None or record is None or not record.succeeded_once


def _is_modified(state: ProjectState, name: str) -> bool:
    model = state.project.models[name]
    return any(_differs(state, *pair) for pair in _compared(state, model))


def _compared(state: ProjectState, model: Model) -> Iterator[tuple[Fingerprint, Fingerprint]]:
    """Yield what built the rows of a model, each with the current code for the same rows."""
    record, parts = state.records.get(model.name), state.parts.get(model.name)
    if model.partition is None or parts is None:
        if record is not None and record.fingerprint is not None:
            yield record.fingerprint, model.fingerprint
        return
    segments = resolve(
        model, state.run_timestamp.date(), due_partitions(model, state.run_timestamp)
    )
    for run in state.services.reading.records.runs(model.name)[model.name]:
        made = state.fingerprints.get(run.fingerprint)
        for segment in segments if made is not None else ():
            if made is not None and intersection(((run.low, run.high),), (segment.range,)):
                yield made, segment.body.fingerprint


def _differs(state: ProjectState, recorded: Fingerprint, now: Fingerprint) -> bool:
    states = (each for each, _ in code_drift(recorded, now, state.meaning))
    return recorded.layout != now.layout or any(each is not State.CURRENT for each in states)
