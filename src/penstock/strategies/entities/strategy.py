"""Entities as strategies: what anybody but a step may ask of how a slice reaches its table.

What steps are made of is imported where it is asked for: few projects have entities.
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
    """One row per key, or what a slice holds; steps ask `work_of`, once the slice was counted."""

    entity: Entity
    is_written = False
    is_incremental = True
    rerun_is_safe = True
    moves_forward = True
    keeps_rows = True
    writing = port.Writing.MERGED

    @classmethod
    def read(cls, settings: port.GivenSettings) -> Self:
        """Refuse: documents of entities have a reader of their own."""
        del settings
        raise TypeError(f"{cls.__name__} is read from documents")

    def work(self, build: port.Build) -> NoReturn:
        """Refuse: what a step of an entity runs depends on what its slice holds."""
        raise TypeError(f"{build.model.name} is built from slices")

    @property
    def reads_slices(self) -> bool:
        """Whether it is no whole source that it reads."""
        return isinstance(self.entity.bronze, Slices)

    @property
    def keys(self) -> tuple[str, ...]:
        """Its business keys."""
        return self.entity.business_keys

    def fingerprint(self, layout: port.Layout) -> Mapping[str, object]:
        """Return what the table says of how its rows are made."""
        from penstock.strategies.entities.target import property_of

        del layout
        return {"entity": property_of(self.entity)}

    @classmethod
    def counts(cls, metrics: Mapping[str, int]) -> Mapping[str, int]:
        """Return the counts of the summary, of those in the token and of Delta's."""
        from penstock.strategies.entities.metrics import step_metrics

        return step_metrics(cls.process(), metrics)

    @classmethod
    def process(cls) -> ProcessType:
        """How its rows are written."""
        return ProcessType(cls.shown_name)


class FullEntity(EntityStrategy):
    """The partitions that a slice holds are replaced, or the whole table."""

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
    """Return the strategy of an entity, or another one that somebody asked for; versions stay."""
    kinds = {kind.process(): kind for kind in (FullEntity, MergeEntity, HistoricEntity)}
    keeps_versions = entity.process is ProcessType.HISTORIC
    return kinds[entity.process if keeps_versions else forced or entity.process](entity)
