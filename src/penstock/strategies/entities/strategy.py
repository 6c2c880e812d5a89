"""Entities as strategies: answers for all rooms; steps use `work_of`.

The code of steps is imported on demand: few projects have entities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, Self

from penstock.core import strategy as port
from penstock.core.entities.entity import Entity, ProcessType, Slices
from penstock.core.history import HistorySettings


@dataclass(frozen=True, slots=True)
class EntityStrategy(port.Strategy):
    """One row per key, or the content of a slice; steps use `work_of` after counting."""

    entity: Entity
    is_written = False
    is_incremental = True
    rerun_is_safe = True
    moves_forward = True
    keeps_rows = True
    writing = port.Writing.MERGED

    @classmethod
    def read(cls, settings: port.GivenSettings) -> Self:
        """Raise: entity documents have a separate reader."""
        del settings
        raise TypeError(f"{cls.__name__} is read from documents")

    def work(self, build: port.Build) -> NoReturn:
        """Raise: the work of an entity's step depends on its slice."""
        raise TypeError(f"{build.model.name} is built from slices")

    @property
    def reads_slices(self) -> bool:
        """Whether it reads slices, not a whole source."""
        return isinstance(self.entity.bronze, Slices)

    @property
    def keys(self) -> tuple[str, ...]:
        """Its business keys."""
        return self.entity.business_keys

    def fingerprint(self, layout: port.Layout) -> Mapping[str, object]:
        """Return the table's property about how its rows are built."""
        from penstock.strategies.entities.target import property_of

        del layout
        return {"entity": property_of(self.entity)}

    @classmethod
    def counts(cls, metrics: Mapping[str, int]) -> Mapping[str, int]:
        """Return the counts of the summary, from the token and from Delta's metrics."""
        from penstock.strategies.entities.metrics import step_metrics

        return step_metrics(cls.process(), metrics)

    @classmethod
    def process(cls) -> ProcessType:
        """How its rows are written."""
        return ProcessType(cls.shown_name)


class FullEntity(EntityStrategy):
    """The partitions of a slice are replaced, or the whole table."""

    __slots__ = ()
    name, shown_name = "entity_full", "full"
    dbt = ("incremental", "insert_overwrite")


class MergeEntity(EntityStrategy):
    """One row per key, with soft deletes."""

    __slots__ = ()
    name, shown_name = "entity_merge", "merge"
    hides_rows = True
    dbt = ("incremental", "merge")


class HistoricEntity(EntityStrategy):
    """One row per version."""

    __slots__ = ()
    name, shown_name = "entity_historic", "historic"
    hides_rows = True
    dbt = ("snapshot", "")

    @property
    def history(self) -> HistorySettings:
        """How versions of its rows are kept."""
        from penstock.strategies.entities.work import settings_of

        return settings_of(self.entity, infers=self.entity.infers_deletes)


def strategy_of_entity(entity: Entity, forced: ProcessType | None = None) -> EntityStrategy:
    """Return the strategy of an entity, or another requested one; versions stay."""
    kinds = {kind.process(): kind for kind in (FullEntity, MergeEntity, HistoricEntity)}
    keeps_versions = entity.process is ProcessType.HISTORIC
    return kinds[entity.process if keeps_versions else forced or entity.process](entity)
