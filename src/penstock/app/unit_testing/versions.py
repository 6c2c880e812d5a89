"""Which versions of its model a test runs, and what they read: the world and its judge agree."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from penstock.core.model import Body, Model, Version
from penstock.core.names import InputName
from penstock.core.project import Project
from penstock.core.unit_tests import UnitRun, UnitTest
from penstock.plan.resolve import resolve
from penstock.project.unit_tests.naming import inputs_of


def asked(model: Model, test: UnitTest) -> Model:
    """Give the model with the version alone that the test asks for, from its first day on."""
    if test.version is None:
        return model
    first = min((_day(model, run.first, run.as_of) for run in test.runs), default=dt.date.max)
    found = [_since(v, first) for v in model.versions if v.number == test.version]
    return replace(model, versions=tuple(found))


def used(model: Model, test: UnitTest, run: UnitRun) -> tuple[Version, ...]:
    """Give every version that is for one of the run's partitions; all where that is not known."""
    known = asked(model, test)
    if known.partition is not None and not run.first:
        return known.versions
    grid = known.grid
    within = ((grid.parse(run.first), grid.parse(run.last)) if run.first else (0, 0),)
    segments = resolve(known, run.as_of.date(), within)
    numbers = {segment.version.number for segment in segments}
    return tuple(v for v in known.versions if v.number in numbers) or known.versions


def wanted_inputs(model: Model, test: UnitTest, run: UnitRun) -> tuple[InputName, ...]:
    """Give every table but its own that a run reads."""
    if not model.versions:
        return inputs_of(model)
    numbers = [version.number for version in used(model, test, run)]
    return tuple(dict.fromkeys(name for each in numbers for name in inputs_of(model, each)))


def is_seed(project: Project, name: InputName) -> bool:
    """Whether an input is a file under seeds/, which stands for its own rows."""
    return name.name not in project.models and name.name in project.seeds


def _since(version: Version, first: dt.date) -> Version:
    body: Body = version.body
    begins = body.fingerprint.effective_from
    if begins is None or begins <= first:
        return version
    mark = replace(body.fingerprint, effective_from=first)
    return replace(version, body=replace(body, fingerprint=mark))


def _day(model: Model, key: str, as_of: dt.datetime) -> dt.date:
    """Give the date that chooses the version."""
    if key:
        try:
            return model.grid.date(model.grid.parse(key))
        except ValueError:  # numbers have no date
            pass
    return as_of.date()
