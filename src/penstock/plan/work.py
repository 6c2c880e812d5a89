"""The work of a step: one value for each kind, with its own answers.

Each room adds what else it needs for a kind in its folder `kinds`, behind its port.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.core.entities.slices import ListedSlice
from penstock.core.model import Model
from penstock.core.partitions.partition import Grid, key_pairs
from penstock.core.partitions.ranges import WHOLE, Ranges
from penstock.core.project import Project
from penstock.core.sessions.manifest import PassKind, PassStep, PassStepKind, PlannedPass
from penstock.plan.resolve import Segment, body_of

PassKey = tuple[str, PassKind]
"""A package, and which of its passes."""


@dataclass(frozen=True, slots=True)
class TableWork:
    """A whole table or view, the one partition `*`, built by one run of its query."""

    partitions: ClassVar[Ranges] = WHOLE
    grid: ClassVar[Grid] = Grid()
    version: ClassVar[int] = 1
    revision: ClassVar[int] = 0
    is_range: ClassVar[bool] = False
    has_parts: ClassVar[bool] = False

    @property
    def pass_key(self) -> PassKey | None:
        """The pass of a session package that it belongs to."""
        return None

    @property
    def source(self) -> str:
        """The part of its source that it reads by name: a slice."""
        return ""

    @property
    def moment(self) -> dt.datetime | None:
        """The processing time; None for the time of the run."""
        return None

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The partitions as first and last keys of ranges; a slice counts as one."""
        return key_pairs(self.grid, self.partitions)

    def key(self, model: str) -> str:
        """Return the name of the step in its plan."""
        return model

    def of(self, partitions: Ranges) -> StepWork:
        """Return the work for some of the partitions."""
        del partitions
        return self

    def segments(self, model: Model) -> tuple[Segment, ...]:
        """Return the SQL of the partitions; empty if the model has one SQL for all."""
        del model
        return ()


@dataclass(frozen=True, slots=True)
class PartitionsWork:
    """Some partitions of a table, all of one version and revision."""

    partitions: Ranges
    grid: Grid
    version: int = 1
    revision: int = 0
    is_range: bool = False
    """Whether one run of the SQL builds all of them."""
    at_once: bool = False
    """Whether other steps may write the table at the same time."""
    has_parts: ClassVar[bool] = True
    """Whether some partitions can be left out, if their inputs failed or did not change."""
    pass_key: ClassVar[None] = None
    source: ClassVar[str] = ""
    moment: ClassVar[None] = None

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The partitions as first and last keys of ranges."""
        return key_pairs(self.grid, self.partitions)

    def key(self, model: str) -> str:
        """Return the name of the step in its plan: the model and the first partition."""
        return f"{model} {self.partitions[0][0]}"

    def of(self, partitions: Ranges) -> StepWork:
        """Return the work for some of the partitions."""
        return replace(self, partitions=partitions)

    def segments(self, model: Model) -> tuple[Segment, ...]:
        """Return the SQL of the partitions."""
        version, body = body_of(model, self.version, self.revision)
        return tuple(Segment(low, high, version, body) for low, high in self.partitions)


@dataclass(frozen=True, slots=True)
class SliceWork(TableWork):
    """One slice of an entity, or a source that is read whole."""

    moment: dt.datetime
    """The processing time."""
    slice: ListedSlice | None = None
    """The slice; None for a source that is read whole."""

    @property
    def source(self) -> str:
        """The name of the slice."""
        return self.slice.id.name if self.slice else ""

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The slice, which counts as a range."""
        return ((self.source, self.source),) if self.source else super(SliceWork, self).keys

    def key(self, model: str) -> str:
        """Return the name of the step in its plan: the model and the slice."""
        return f"{model} {self.source}".strip()


@dataclass(frozen=True, slots=True)
class PassWork(TableWork):
    """One step of a pass of a session package."""

    package: str
    planned: PlannedPass
    part: PassStep

    @property
    def pass_key(self) -> PassKey:
        """The pass among those of a run."""
        return self.package, self.planned.kind

    def key(self, model: str) -> str:
        """Return the name of the step in its plan, which begins with that of the model."""
        del model
        return self.key_of(self.part)

    def key_of(self, part: PassStep) -> str:
        """Return the name in the plan of a step of the same pass."""
        words = [part.model]
        if part.kind is PassStepKind.STITCH:
            words.append("stitch")
        if self.planned.kind is not PassKind.PACKAGE:
            words.append(str(self.planned.kind))
        return " ".join(words)


StepWork = TableWork | PartitionsWork | SliceWork | PassWork


def work_of(project: Project, model: Model) -> type[StepWork]:
    """Return the kind of work for a model."""
    if project.package_of(model.name) is not None:
        return PassWork
    if model.partition is not None:
        return PartitionsWork
    return TableWork if model.entity is None else SliceWork
