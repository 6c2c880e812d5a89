"""Looking at tables and inputs without Spark, no deeper than something happened there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Generic, TypeVar

from penstock.app.observe import gap_of
from penstock.app.shop import Shop
from penstock.core.errors import TableError
from penstock.core.facts import Head, Seen, Touched
from penstock.core.names import InputKind
from penstock.core.partition import Grain, has_positions
from penstock.core.pin import DeltaPin, Pin
from penstock.core.project import Project
from penstock.core.records import LeastPin, ModelRecord, PartitionsRecord
from penstock.core.schema import Schema
from penstock.plan.changes import column_of
from penstock.strategies.relations import leaves_of

Value = TypeVar("Value")


class Lazy(Mapping[str, Value], Generic[Value]):
    """Answers that are worked out when they are asked for, each once."""

    def __init__(self, names: Iterable[str], answer: Callable[[str], Value]) -> None:
        """Take the names that have an answer."""
        self._names = dict.fromkeys(names)
        self._answer = answer
        self._known: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        """Work an answer out."""
        if name not in self._names:
            raise KeyError(name)
        if name not in self._known:
            self._known[name] = self._answer(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        """Give the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Count the names."""
        return len(self._names)


@dataclass(frozen=True, slots=True)
class Needs:
    """What anybody asks of the logs, by the names of their notes.

    `floors` are the least versions above which a record may ask, `columns` those asked by, and
    `grains` those of the partitions that a column is compared with.
    """

    floors: Mapping[str, int]
    columns: Mapping[str, frozenset[str]]
    grains: Mapping[tuple[str, str], frozenset[Grain]]


@dataclass(frozen=True, slots=True)
class Tail:
    """The data changes of a table above a version: those noted before and those read now.

    `gap` are versions that the log no longer holds and that nobody noted.
    """

    commits: tuple[Touched, ...]
    gap: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read of a log above `start`: where its commits changed the columns."""

    start: int
    columns: frozenset[str]
    seen: Seen
    tail: Tail


@dataclass(slots=True)
class Sight:
    """One look at the world, for one command. Logs are read above what was noted before."""

    shop: Shop
    seen: Mapping[str, Seen]
    store: str
    needs: Callable[[], Needs]
    _heads: dict[str, Head | None] = field(default_factory=dict)
    _read: dict[str, _Reading] = field(default_factory=dict)

    def head(self, uri: str, name: str = "") -> Head | None:
        """Give the newest version of a table; `name` is that of its notes."""
        if uri not in self._heads:
            known = self.seen.get(name)
            self._heads[uri] = self.shop.log.head(uri, known.version if known else None)
        return self._heads[uri]

    def tail(self, name: str, uri: str, after: int, columns: tuple[str, ...]) -> Tail:
        """Give what changed rows of a table above a version; `name` is that of its notes.

        The commits tell of every column that the project asks by, and of `columns` beside those.
        """
        known = self.seen.get(name)
        read = self._log(name, uri, after, columns)
        same = known is not None and known.table_id in ("", read.seen.table_id)
        noted = self.shop.reading.notes.touched(name, after) if same else ()
        commits = (*noted, *(c for c in read.tail.commits if c.version > after))
        return Tail(commits, read.tail.gap)

    def foreign(self, commit: Touched) -> bool:
        """Whether somebody else made a commit."""
        return not commit.step or commit.store != self.store

    def unrecorded(self, commits: Sequence[Touched]) -> tuple[Touched, ...]:
        """Give those that name this store and that no step is on record as having made."""
        named = {c.step: c for c in commits if c.step and c.store == self.store}
        versions = {step: commit.version for step, commit in named.items()}
        unknown = self.shop.reading.records.unrecorded(versions) if versions else ()
        return tuple(commit for step, commit in named.items() if step in unknown)

    def keep(self) -> None:
        """Note what was read of logs, for the next command.

        A commit that nobody is on record as having made is noted as somebody else's.
        """
        for read in self._read.values():
            unknown = {each.version for each in self.unrecorded(read.tail.commits)}
            commits = [
                replace(each, step="", store="") if each.version in unknown else each
                for each in read.tail.commits
            ]
            self.shop.writing.notes.note(read.seen, commits)

    def _log(self, name: str, uri: str, after: int, columns: tuple[str, ...]) -> _Reading:
        """Read a log above what is noted; without notes from where anybody may ask, and for all.

        Notes begin there, and nobody can see that they began too late.
        """
        read, known = self._read.get(name), self.seen.get(name)
        reaches = read is not None and (known is not None or read.start <= after)
        if read is not None and reaches and read.columns.issuperset(columns):
            return read
        needs = self.needs()
        wanted = needs.columns.get(name, frozenset()).union(columns)
        wanted = wanted | (read.columns if read is not None else frozenset())
        start = known.version if known else min(after, needs.floors.get(name, after))
        found = self._above(name, uri, start, wanted)
        if found.seen.table_id:
            self._read[name] = found
        return found

    def _above(self, name: str, uri: str, start: int, columns: frozenset[str]) -> _Reading:
        facts, head = self.shop.log.facts(uri), self.head(uri)
        if facts is None or head is None:
            return _Reading(start, columns, Seen(name, "", start), Tail(()))
        known = self.seen.get(name)
        if known is not None and known.table_id not in ("", facts.table_id):
            start = -1  # another table: what was noted is not about it
        grains = self.needs().grains
        kinds = {
            column: kind
            for column, kind in _kinds(facts.schema, columns).items()
            if all(has_positions(kind, grain) for grain in grains.get((name, column), ()))
        }
        gap = None
        try:
            commits = self.shop.places.touched(uri, start, kinds)
        except TableError as error:
            if error.code != "log-gap":
                raise
            commits = self.shop.places.touched(uri, start, kinds, partial=True)
            left = self.shop.log.commits(uri, start, partial=True)
            gap = gap_of(start, head.version, left)
        seen = Seen(name, facts.table_id, head.version)
        return _Reading(start, columns, seen, Tail(commits, gap))


def _kinds(schema: Schema, columns: Iterable[str]) -> dict[str, str]:
    found = {name: schema.find(name) for name in sorted(columns)}
    return {name: column.type for name, column in found.items() if column is not None}


def open_sight(shop: Shop) -> Sight:
    """Begin a look: with what was noted of tables, and no table opened yet."""
    records = shop.reading
    needs = cache(lambda: _needs(shop))
    return Sight(shop, records.notes.seen(), records.archive.store_id(), needs)


def _needs(shop: Shop) -> Needs:
    """Ask the records once: pins, where partitions were settled, columns that windows go by."""
    records, project = shop.reading.records, shop.project
    tables = {name: str(model.table) for name, model in project.models.items()}
    tables |= {name: str(seed.table) for name, seed in project.seeds.items()}
    floors: dict[str, int] = {}
    columns: dict[str, set[str]] = {}
    grains: dict[tuple[str, str], set[Grain]] = {}

    def ask(name: str, version: int | None, *asked: str) -> None:
        key = tables.get(name, name)
        columns.setdefault(key, set()).update(asked)
        if version is not None:
            floors[key] = min(version, floors.get(key, version))

    for name, column, grain in columns_in_use(shop):
        ask(name, None, column)
        grains.setdefault((tables.get(name, name), column), set()).add(grain)
    for record in records.models().values():
        for name, pin in record.pins.items():
            ask(name, pin.version if isinstance(pin, DeltaPin) else None)
        for mark in record.watermarks:
            for name in tables_below(project, mark.input):
                ask(name, None, mark.column)
    for parts in records.partitions().values():
        ask(
            parts.model,
            min((g.settled_low for g in parts.groups if g.settled_low is not None), default=None),
        )
        for name, least in parts.pins.items():
            ask(name, least.version if least.kind == "delta" else None)
    return Needs(
        floors,
        {key: frozenset(asked) for key, asked in columns.items()},
        {key: frozenset(asked) for key, asked in grains.items()},
    )


def tables_below(project: Project, name: str) -> Iterator[str]:
    """Give an input, and the models and seeds that it reads if it is a view."""
    yield name
    model = project.models.get(name)
    if model is not None and model.is_view:
        for each in leaves_of(project, model.query.inputs):
            if each.kind is InputKind.MODEL:
                yield each.name


def columns_in_use(shop: Shop) -> Iterator[tuple[str, str, Grain]]:
    """Give inputs, a column by which somebody asks where each changed, and whose grain asks."""
    for model in shop.project.models.values():
        if model.partition is not None:
            yield model.name, model.partition.field, model.grid.grain
        for version in model.versions:
            for body in version.bodies:
                for mapping in body.inputs:
                    column = column_of(mapping)
                    if column:
                        yield mapping.input.name, column, model.grid.grain


def is_newer(pin: LeastPin | None, steps: int, table_id: str, changed: int | None) -> bool:
    """Whether an input changed after some step read it; None has never changed."""
    if pin is None or pin.steps != steps:
        return True
    if pin.kind == "delta" and pin.table_ids - {table_id}:
        return True
    return changed is not None and changed > pin.version


def record_pin(record: ModelRecord) -> Pin | None:
    """Give the pin of a model's newest data change."""
    if record.commit_version is None:
        return None
    return DeltaPin(record.table_id, record.commit_version)


def newest_change(parts: PartitionsRecord) -> int | None:
    """Give the version of the newest data change of any partition of a model."""
    found = [group.commit_high for group in parts.groups if group.commit_high is not None]
    return max(found, default=None)
