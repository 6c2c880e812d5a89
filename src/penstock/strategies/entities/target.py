"""The silver table of a step: rows that may match, and rows that may be deleted."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.entities.entity import Entity, EntityColumn, FieldRole, ProcessType
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.names import quoted
from penstock.core.strategy import Build
from penstock.strategies.entities.rows import SliceRows
from penstock.strategies.entities.statistics import SliceCounts
from penstock.strategies.entities.watermarks import EntityWindow

PROPERTY = "penstock.entity"
"""The property of a silver table that records how its rows were built."""


@dataclass(frozen=True, slots=True)
class EntityStep:
    """Everything that a step's statement depends on; its slice was counted.

    A key counts as deleted if it is missing and inside all `windows`; None infers no deletes.
    `forced` is the requested process type, if any. A step that `commits` makes a commit even
    without changes. With `anew`, all rows of the entity are replaced in a shared table.
    `properties` are those of a new table, beside the entity's own.
    """

    entity: Entity
    build: Build
    rows: SliceRows
    counts: SliceCounts
    moment: dt.datetime
    windows: tuple[EntityWindow, ...] | None = None
    forced: ProcessType | None = None
    commits: bool = False
    anew: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def keeps_tombstones(self) -> bool:
        """Whether a delete of an unknown key is stored, so that an older event comes too late."""
        return self.process is ProcessType.MERGE and bool(self.entity.settings.events.sequence_by)

    @property
    def process(self) -> ProcessType:
        """How the rows are written."""
        return self.forced or self.entity.process

    @property
    def evolves(self) -> bool:
        """Whether the slice adds or widens columns of the table."""
        return bool(self.rows.new or self.rows.widened)

    def is_own(self, alias: str = "") -> list[str]:
        """Return the conditions for stored rows of the entity; empty if it owns the table."""
        scope = self.entity.scope
        return [f"{alias}{quoted(scope.column)} <=> {scope.literal}"] if scope else []

    def pruning(self, alias: str) -> list[str]:
        """Return conditions that exclude stored rows without a match (docs/entities.md)."""
        bounds = [
            f"{alias}{quoted(name)} BETWEEN {low.sql} AND {high.sql}"
            for name, (low, high) in self.counts.bounds.items()
        ]
        if bounds and self.windows is not None:
            inside = " AND ".join(each.condition(alias) for each in self.windows)
            bounds = [f"(({' AND '.join(bounds)}) OR ({inside}))"]
        wholly_empty = not self.counts.rows  # then every partition may hold what is gone
        if not self.partition_is_known or wholly_empty:
            return bounds
        return [*bounds, *self.in_partitions(alias)]

    @property
    def partition_is_known(self) -> bool:
        """Return whether a key determines the partition of its row, for every row ever written."""
        columns = self.entity.columns
        known = {
            each.made_name.lower()
            for each in columns
            if FieldRole.BUSINESS_KEY in each.roles and self._is_stored_as_read(each)
        }
        for each in columns:
            if each.is_calculated and not each.volatile and {*_lower(each.reads)} <= known:
                known.add(each.made_name.lower())
        keys = {*_lower(self.entity.business_keys)}
        return bool(self.entity.partition_columns) and all(
            each.final_name.lower() in keys or (each.made_name.lower() in known)
            for each in columns
            if FieldRole.PARTITION in each.roles
        )

    def _is_stored_as_read(self, column: EntityColumn) -> bool:
        """Return whether equal stored keys were also equal for expressions in every slice.

        Expressions read a slice before casts: the text '01' and the number 1 are one key but two
        partitions. What earlier slices contained is unknown.
        """
        found = self.rows.find(column.final_name)
        return found is not None and not column.type and not found.type.startswith("decimal")

    def in_partitions(self, alias: str = "") -> list[str]:
        """Return the conditions for stored rows in a partition of the slice."""
        names = [f"{alias}{quoted(name)}" for name in self.entity.partition_columns]
        if not names or not self.counts.rows:
            return []
        tuples = self.counts.tuples
        if tuples is None:
            return [
                _in_bounds(name, ends) for name, ends in zip(names, self.counts.ranges, strict=True)
            ]
        if len(names) == 1:
            return [_in_list(names[0], [texts[0] for texts in tuples])]
        each = (
            " AND ".join(f"{name} <=> {text}" for name, text in zip(names, texts, strict=True))
            for texts in tuples
        )
        return ["(" + " OR ".join(f"({text})" for text in each) + ")"]

    def in_scope(self, alias: str = "") -> str:
        """Return the condition for stored rows that count as deleted if their key is missing.

        For very many partitions it is only their range; callers check which ones.
        """
        flag = f"{alias}{quoted(self.entity.system.deleted)}"
        conditions = [each.condition(alias) for each in self.windows or ()]
        live = f"NOT coalesce({flag}, false)"
        return " AND ".join((*conditions, live, *self.is_own(alias), *self.in_partitions(alias)))


def _lower(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def _in_bounds(name: str, ends: tuple[str, str]) -> str:
    return f"({name} BETWEEN {ends[0]} AND {ends[1]} OR {name} IS NULL)"


def _in_list(name: str, values: Sequence[str]) -> str:
    some = [text for text in values if not text.startswith("CAST(NULL ")]
    found = f"{name} IN ({', '.join(some)})" if some else ""
    if len(some) == len(values):
        return found
    return f"({found} OR {name} IS NULL)" if found else f"{name} IS NULL"


def property_of(entity: Entity) -> str:
    """Return the table property of an entity; a later entity must have the same."""
    partitions = [each for each in entity.columns if FieldRole.PARTITION in each.roles]
    made = {each.final_name: each.expression for each in partitions}
    if entity.scope is not None:  # its literal is what tells the entities of one table apart
        made.pop(entity.scope.column, None)
    document = {
        "strategy": str(entity.process),
        "business_keys": list(entity.business_keys),
        "partition_by": list(entity.partition_columns),
        "expressions": made,
        "hash": str(entity.settings.hash),
        "prefix": entity.prefix,
    }
    return json.dumps(document, sort_keys=True, ensure_ascii=False)


def check_table(entity: Entity, facts: TableFacts, *, adopts: bool) -> None:
    """Raise if the table's rows were built differently, or not by an entity."""
    written = facts.properties.get(PROPERTY)
    if written is None:
        _check_adopted(entity, facts, adopts=adopts)
        return
    before, now = json.loads(written), json.loads(property_of(entity))
    wrong = [
        f"{word} is {before.get(word)!r} in the table and {now[word]!r} in the entity"
        for word in now
        if before.get(word) != now[word]
    ]
    if wrong:
        raise TableError(
            "entity-settings-changed",
            f"{entity.model}: {'; '.join(wrong)}",
            where=entity.where,
            hint=f"penstock run --select {entity.model} --full-refresh rebuilds it",
        )


def _check_adopted(entity: Entity, facts: TableFacts, *, adopts: bool) -> None:
    """Accept a table with an entity's columns, if adoption was requested."""
    system, schema = entity.system, facts.schema
    interval = (system.valid_from, system.valid_to, system.is_current)
    names = (system.source_hash, system.deleted, system.last_seen, *entity.business_keys)
    names += interval if entity.process is ProcessType.HISTORIC else ()
    names += (entity.key_column,) if entity.key_column else ()
    missing = [name for name in names if schema.find(name) is None]
    if missing or not adopts:
        lacks = f"has no column {', '.join(missing)}" if missing else "was made by no entity"
        raise TableError(
            "not-an-entity-table",
            f"{entity.table} {lacks}",
            where=entity.where,
            hint="give the entity another silver table"
            + ("" if missing else f", or: penstock run --select {entity.model} --adopt"),
        )
