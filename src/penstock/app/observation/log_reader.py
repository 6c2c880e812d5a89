"""Read tables and inputs without Spark, only as far as they changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial

from penstock.app.observation.observe import (
    last_writer,
    log_gap,
    rival,
    unrecorded,
    unsettled,
)
from penstock.app.services.services import Services, newest
from penstock.app.services.workers import in_parallel
from penstock.core.errors import StateError, TableError
from penstock.core.facts import Head, Seen, Touched
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.partitions.partition import Grain, has_positions
from penstock.core.project import Project
from penstock.core.records import ModelRecord, PartitionsRecord
from penstock.core.steps.inputs import DeltaPin
from penstock.plan.values import Observed
from penstock.strategies.relations import query_tables


@dataclass(frozen=True, slots=True)
class Needs:
    """What the project needs from the logs, by the names of their notes.

    `floors` are the lowest versions that a record refers to, `columns` those that partitions depend
    on, and `grains` those of the partitions that a column is compared with.
    """

    floors: Mapping[str, int]
    columns: Mapping[str, AbstractSet[str]]
    grains: Mapping[tuple[str, str], AbstractSet[Grain]]


@dataclass(frozen=True, slots=True)
class Tail:
    """The data changes of a table above a version: recorded ones and those read now.

    `gap` are versions that are neither in the log nor in the store.
    """

    commits: tuple[Touched, ...]
    gap: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read of a log above `start`: where its commits changed the columns."""

    start: int
    columns: frozenset[str]
    noted: Seen
    tail: Tail


@dataclass(slots=True)
class LogReader:
    """Reads logs for one command, above what is recorded."""

    services: Services
    project: Project
    noted: Mapping[str, Seen]
    store: str
    needs: Callable[[], Needs]
    _noted_commits: dict[str, tuple[int, tuple[Touched, ...]]] = field(default_factory=dict)
    _unsettled: dict[str, bool] = field(default_factory=dict)
    _heads: dict[str, Head | None] = field(default_factory=dict)
    _early: Mapping[str, Callable[[str], Head | None]] = field(default_factory=dict)
    _read: dict[str, _Reading] = field(default_factory=dict)

    def read_ahead(self, models: Iterable[Model]) -> None:
        """Read the newest versions of recorded tables; of those in buckets, all at once."""
        project = self.services.project
        hints = {
            project.uri_of(model.table): known.version
            for model in models
            if model.partition and (known := self.noted.get(str(model.table)))
        }
        read = in_parallel(lambda uri: newest(self.services, uri, hints[uri]), hints)
        self._early = dict.fromkeys(hints, read)

    def head(self, uri: str, name: str = "", record: ModelRecord | None = None) -> Head | None:
        """Return the newest version of a table; `name` is that of its notes.

        It is found sooner from a version that the notes, or else its record, know.
        """
        if uri not in self._heads:
            settled = record.settled_version if record else None
            hint = known.version if (known := self.noted.get(name)) else settled
            read = self._early.get(uri) or partial(newest, self.services, hint=hint)
            self._heads[uri] = read(uri)
        return self._heads[uri]

    def tail(self, name: str, uri: str, after: int, columns: tuple[str, ...]) -> Tail:
        """Return what changed rows of a table above a version; `name` is that of its notes.

        The commits cover every column that the project depends on, and `columns` in addition.
        """
        known = self.noted.get(name)
        read = self._log(name, uri, after, columns)
        same = known is not None and known.table_id in ("", read.noted.table_id)
        if same:
            self.read_notes({name: after})
        noted = self._noted_commits[name][1] if same else ()
        noted = tuple(each for each in noted if each.version > after)
        commits = (*noted, *(c for c in read.tail.commits if c.version > after))
        return Tail(commits, read.tail.gap)

    def read_notes(self, after: Mapping[str, int]) -> None:
        """Read the notes of tables above a version each, unless that was done: one statement."""
        wanted = {
            name: version
            for name, version in after.items()
            if name in self.noted
            and (name not in self._noted_commits or self._noted_commits[name][0] > version)
        }
        found = self.services.reading.notes.touched(wanted) if wanted else {}
        for name, version in wanted.items():
            self._noted_commits[name] = (version, found.get(name, ()))

    def unsettled(self, commits: Iterable[Touched]) -> tuple[Touched, ...]:
        """Return which of the commits have no record yet; each is looked up once."""
        made = [each for each in commits if each.step]
        new = [each for each in made if each.step not in self._unsettled]
        lost = {each.step for each in unsettled(self.services, new)} if new else set()
        self._unsettled |= {each.step: each.step in lost for each in new}
        return tuple(each for each in made if self._unsettled[each.step])

    def is_foreign(self, commit: Touched) -> bool:
        """Return whether a commit was made outside this store."""
        return not commit.step or commit.store != self.store

    def keep(self) -> None:
        """Record what was read of logs, for the next command.

        A commit without a recorded step is recorded as foreign.
        """
        for read in self._read.values():
            unknown = {each.version for each in unrecorded(self.services, read.tail.commits)}
            commits = [
                replace(each, step="", store="") if each.version in unknown else each
                for each in read.tail.commits
            ]
            self.services.writing.notes.note(read.noted, commits)

    def _log(self, name: str, uri: str, after: int, columns: tuple[str, ...]) -> _Reading:
        """Read a log above what is recorded; without notes, from the lowest version needed.

        Notes begin there, and no later command can tell that they began too late.
        """
        read, known = self._read.get(name), self.noted.get(name)
        reaches = read is not None and (known is not None or read.start <= after)
        if read is not None and reaches and read.columns.issuperset(columns):
            return read
        needs = self.needs()
        wanted = frozenset(columns).union(needs.columns.get(name, ()), read.columns if read else ())
        start = known.version if known else min(after, needs.floors.get(name, after))
        found = self._above(name, uri, start, wanted)
        if found.noted.table_id:
            self._read[name] = found
        return found

    def _above(self, name: str, uri: str, start: int, columns: frozenset[str]) -> _Reading:
        facts = self.services.log.facts(uri)
        if facts is None:
            return _Reading(start, columns, Seen(name, "", start), Tail(()))
        known = self.noted.get(name)
        if known is not None and known.table_id not in ("", facts.table_id):
            start = -1  # another table: what was noted is not about it
        grains = self.needs().grains
        kinds = {}
        for column in sorted(columns):
            kind = known_column.type if (known_column := facts.schema.find(column)) else ""
            if kind and all(has_positions(kind, each) for each in grains.get((name, column), ())):
                kinds[column] = kind
        gap = None
        try:
            commits = self.services.places.touched(uri, start, kinds, upto=facts.version)
        except TableError as error:
            if error.code != "log-gap":
                raise
            upto = facts.version
            commits = self.services.places.touched(uri, start, kinds, upto=upto, partial=True)
            left = self.services.log.commits(uri, start, partial=True)
            gap = log_gap(start, facts.version, left)
        seen = Seen(name, facts.table_id, facts.version)
        return _Reading(start, columns, seen, Tail(commits, gap))


def open_log_reader(services: Services, project: Project | None = None) -> LogReader:
    """Return a reader with the recorded notes; no table is opened yet.

    `project` says where inputs are read, by default as the services say it.
    """
    needs = cache(lambda: _needs(services))
    noted = services.reading.notes.seen_tables()
    return LogReader(services, project or services.project, noted, services.store_id, needs)


def _needs(services: Services) -> Needs:
    """Read the records once: pins, settled versions of partitions, columns of windows."""
    records, project = services.reading.records, services.project
    tables = {name: str(model.table) for name, model in project.models.items()}
    tables |= {name: str(seed.table) for name, seed in project.seeds.items()}
    floors: dict[str, int] = {}
    columns: dict[str, set[str]] = defaultdict(set)
    grains: dict[tuple[str, str], set[Grain]] = defaultdict(set)

    def ask(name: str, version: int | None, *column_names: str) -> None:
        key = tables.get(name, name)
        columns[key].update(column_names)
        if version is not None:
            floors[key] = min(version, floors.get(key, version))

    for name, column, grain in _columns_in_use(project):
        ask(name, None, column)
        grains[tables.get(name, name), column].add(grain)
    for record in records.models().values():
        for name, pin in record.pins.items():
            ask(name, pin.version if isinstance(pin, DeltaPin) else None)
        for watermark in record.watermarks:
            for name in tables_below(project, watermark.input):
                ask(name, None, watermark.column)
    for parts in records.partitions().values():
        ask(
            parts.model,
            min((g.settled_low for g in parts.groups if g.settled_low is not None), default=None),
        )
        for name, least in parts.pins.items():
            ask(name, least.version if least.kind == "delta" else None)
    return Needs(floors, columns, grains)


def _columns_in_use(project: Project) -> Iterator[tuple[str, str, Grain]]:
    """Yield inputs, columns by which their changes are located, and the grain that needs them."""
    for model in project.models.values():
        if model.partition is not None:
            yield model.name, model.partition.field, model.grid.grain
        for mapping in (m for v in model.versions for body in v.bodies for m in body.inputs):
            if column := mapping.column:
                yield mapping.input.name, column, model.grid.grain


def tables_below(project: Project, name: str) -> Iterator[str]:
    """Yield an input, and the models and seeds below it if it is a view."""
    yield name
    model = project.models.get(name)
    if model is not None and model.is_view:
        for each in query_tables(project, model.query.inputs):
            if each.kind is InputKind.MODEL:
                yield each.name


def note_written(services: Services, names: Iterable[str]) -> None:
    """Record the logs of tables that a run has just written; on failure they are read again.

    Notes are a cache, and the only copy of what logs lose: a failure here loses no record.
    """
    with suppress(StateError, TableError):
        log_reader = open_log_reader(services)
        for name in dict.fromkeys(names):
            model = services.project.models[name]
            if model.partition is not None:
                uri = services.project.uri_of(model.table)
                log_reader.tail(str(model.table), uri, -1, (model.partition.field,))
        log_reader.keep()


def observe_changed(log_reader: LogReader, model: Model, parts: PartitionsRecord) -> Observed:
    """Read a partitioned table that was changed outside, or that another one replaced."""
    services, partition = log_reader.services, model.partition
    uri = services.project.uri_of(model.table)
    tail = changes_since(log_reader, model, parts)
    foreign = tuple(commit for commit in tail.commits if log_reader.is_foreign(commit))
    facts = services.log.facts(uri)
    table_id = facts.table_id if facts else ""
    lying, owner, same = None, None, table_id == parts.table_id
    if foreign and partition is not None and same:
        lying = services.places.lying(uri, partition.field, partition.type)
    ever_ours = same
    if not same or any(commit.step for commit in foreign):
        commits = services.log.commits(uri, -1, partial=True)
        owner = rival(services, last_writer(commits))
        ever_ours = same or any(c.step and c.store == log_reader.store for c in commits)
    return Observed(
        there=True,
        table_id=table_id,
        ever_ours=ever_ours,
        foreign=foreign,
        lying=lying,
        gap=tail.gap,
        unrecorded=log_reader.unsettled(tail.commits),
        owner=owner,
    )


def changes_since(log_reader: LogReader, model: Model, parts: PartitionsRecord) -> Tail:
    """Return what changed a partitioned table since its oldest partition was settled."""
    uri = log_reader.services.project.uri_of(model.table)
    columns = (model.partition.field if model.partition else "",)
    return log_reader.tail(str(model.table), uri, settled_low(parts), columns)


def settled_low(parts: PartitionsRecord) -> int:
    """Return the lowest version to which a group of partitions is settled; -1 without any."""
    settled = (each.settled_low for each in parts.groups if each.settled_low is not None)
    return min(settled, default=-1)
