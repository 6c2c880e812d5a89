"""Read the current state of targets and sources, without Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from threading import Lock
from typing import TypeVar

from penstock.app.services.services import Services, newest
from penstock.app.services.workers import in_parallel, left_open
from penstock.core.entities.slices import BronzeFolder
from penstock.core.errors import PenstockError, TableError
from penstock.core.facts import Head, Listing, LogCommit, TableFacts, Touched
from penstock.core.model import Model, Source
from penstock.core.records import ModelRecord
from penstock.core.steps.inputs import DeltaPin, NoPin, Pin
from penstock.core.steps.step import StepKind
from penstock.core.steps.token import project_of, read_intent
from penstock.plan.changes import sources_below
from penstock.plan.values import Now, Observed, Owner, SlicesNow, Versions
from penstock.plan.verdict import is_replaced


def last_writer(commits: Iterable[LogCommit]) -> Owner | None:
    """Return the store whose step wrote rows last, possibly this one; None without any.

    A property that it set on a foreign table does not count, nor does a commit without changes.
    """
    for commit in reversed([*commits]):
        if commit.step and (commit.changes_data or commit.table_id):
            with suppress(KeyError, ValueError):  # the token was cut
                if read_intent(commit.token).kind is StepKind.ALTER:
                    continue
            return Owner(project_of(commit.token), commit.store)
    return None


def rival(services: Services, writer: Owner | None) -> Owner | None:
    """Return the last writer if it is another store, otherwise None."""
    if writer is None or writer.store == services.store_id:
        return None
    return writer


def without_record(services: Services, uri: str) -> Observed:
    """Describe a table that exists but is not on record, by its last writer.

    This project may have written it, with this store or with one that was lost. Tokens without a
    project do not allow a conclusion.
    """
    writer = last_writer(services.log.commits(uri, -1, partial=True))
    owner = rival(services, writer)
    if writer and (owner is None or owner.project in ("", services.project.name)):
        return Observed(there=True, ever_ours=True)
    return Observed(there=True, owner=owner)


Commit = TypeVar("Commit", LogCommit, Touched)
Value = TypeVar("Value")


def unrecorded(services: Services, changes: Iterable[Commit]) -> tuple[Commit, ...]:
    """Return changes of rows that name this store but have no recorded step.

    The log is read before the store: a step that is running now is on record by then.
    """
    store = services.store_id
    named = {c.step: c for c in changes if c.step and c.store == store}
    versions = {step: commit.version for step, commit in named.items()}
    unknown = services.reading.records.unrecorded(versions) if named else ()
    return tuple(commit for step, commit in named.items() if step in unknown)


def unsettled(services: Services, changes: Iterable[Commit]) -> tuple[Commit, ...]:
    """Return unrecorded changes, and those that a crash left between commit and record.

    Until they are settled, the records lack these rows, and their readers do not appear stale.
    """
    made = [change for change in changes if change.step]
    if not made:
        return ()
    lost = {change.step for change in unrecorded(services, made)}
    lost |= {record.intent.step for record in left_open(services.reading, services)}
    return tuple(change for change in made if change.step in lost)


@dataclass(slots=True)
class ObservedTables:
    """The latest observations: facts for the plan, and the listings that steps will read."""

    now: Now
    listings: dict[str, Listing] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    @classmethod
    def empty(cls, run_timestamp: dt.datetime) -> ObservedTables:
        """Return an empty observation."""
        return cls(Now(run_timestamp, {}, {}))

    def renew(self, later: ObservedTables) -> None:
        """Merge a later observation.

        Listings are updated before pins: a step that pins in between then reads more than its pin
        covers, and reads it again, but never less.
        """
        with self._lock:
            self.listings.update(later.listings)
            now, then = self.now, later.now
            self.now = replace(
                now,
                targets=_renewed(now.targets, then.targets, then.unreadable),
                unreadable=_renewed(now.unreadable, then.unreadable, then.targets),
                sources=_renewed(now.sources, then.sources, then.broken),
                broken=_renewed(now.broken, then.broken, then.sources),
                slices={**now.slices, **then.slices},
            )


def _renewed(
    earlier: Mapping[str, Value], later: Mapping[str, Value], other: Mapping[str, object]
) -> Mapping[str, Value]:
    """Merge a later mapping, and remove entries that the other mapping now holds."""
    return {name: value for name, value in {**earlier, **later}.items() if name not in other}


def observe(
    services: Services,
    models: Iterable[str],
    records: dict[str, ModelRecord],
    run_timestamp: dt.datetime,
) -> ObservedTables:
    """Read the targets of the models and every source below them."""
    project = services.project
    wanted = [project.models[name] for name in models]
    # a view has no log; of partitions the log is read range by range (`ProjectState`)
    whole = [each for each in wanted if not each.is_view and each.partition is None]
    targets, unreadable = _observe_tables(services, whole, records)
    slices = _observe_slices(services, wanted, run_timestamp, unreadable)
    pins: dict[str, Pin] = {}
    broken: dict[str, PenstockError] = {}
    listings: dict[str, Listing] = {}
    below = {name: project.sources[name] for name in sources_below(project, *wanted)}
    tables = {each.path: each for each in below.values() if each.may_be_delta or each.is_delta}
    hints = _versions_read(records.values())
    facts_of = in_parallel(
        lambda uri: services.log.facts(uri, hint=hints.get(str(tables[uri].table))), tables
    )
    for name, source in below.items():
        try:
            pins[name] = pin_source(services, source, listings, facts_of)
        except PenstockError as error:
            broken[name] = error
        except OSError as error:
            broken[name] = TableError(
                "source-unreadable",
                f"source {source.table} cannot be read: {error}",
                where=source.where,
                hint="correct `path`, or make it readable",
            )
    return ObservedTables(
        Now(run_timestamp, targets, pins, broken, unreadable=unreadable, slices=slices), listings
    )


def _versions_read(records: Iterable[ModelRecord]) -> Mapping[str, int]:
    """Return the newest version of each table that any model read, by the name of the input."""
    found: dict[str, int] = {}
    for record in records:
        for name, pin in record.pins.items():
            if isinstance(pin, DeltaPin):
                found[name] = max(pin.version, found.get(name, 0))
    return found


def _observe_tables(
    services: Services, models: Sequence[Model], records: Mapping[str, ModelRecord]
) -> tuple[dict[str, Observed], dict[str, PenstockError]]:
    """Read the targets of models; the store is asked once about commits in all of them."""
    uri_of = services.project.uri_of
    hints = {uri_of(each.table): version_known(records.get(each.name)) for each in models}
    head = in_parallel(lambda uri: newest(services, uri, hints[uri]), hints)
    targets: dict[str, Observed] = {}
    unreadable: dict[str, PenstockError] = {}
    changes: dict[str, tuple[LogCommit, ...]] = {}
    for model in models:
        try:
            targets[model.name], changes[model.name] = _observe_commits(
                services, model, records.get(model.name), head
            )
        except (TableError, OSError) as error:
            unreadable[model.name] = unreadable_error(model, error)
    unknown = unsettled(services, chain.from_iterable(changes.values()))
    steps = {each.step for each in unknown}
    for name, commits in changes.items():
        lost = tuple(each for each in commits if each.step in steps) if steps else ()
        if lost:
            targets[name] = replace(targets[name], unrecorded=_touched_commits(lost))
    return targets, unreadable


def _observe_slices(
    services: Services,
    models: Iterable[Model],
    run_timestamp: dt.datetime,
    unreadable: dict[str, PenstockError],
) -> dict[str, SlicesNow]:
    """Read the slices of entities, in bronze and on record."""
    listed: dict[str, SlicesNow] = {}
    for model in models:
        if model.entity is None:
            continue
        from penstock.project.entities.places import bronze_folder  # few projects have any

        folder = bronze_folder(model.entity, run_timestamp)
        if folder is None:
            continue
        try:
            listed[model.name] = slices_now(services, folder)
        except (TableError, OSError) as error:
            unreadable[model.name] = unreadable_error(model, error)
    known = services.reading.slices.recorded_of((*listed,)) if listed else {}
    return {name: now.on_record(known.get(name, ())) for name, now in listed.items()}


def slices_now(services: Services, folder: BronzeFolder) -> SlicesNow:
    """List a bronze folder: its slices in order, and files that belong to none."""
    there = folder.ordering.of(services.log.slices(folder), folder.where)
    return SlicesNow(there, folder=folder, unmatched=services.log.unmatched(folder))


def observe_target(services: Services, model: Model, record: ModelRecord | None) -> Observed:
    """Read one target: the newest entry of its log, and more only if it changed."""
    head_of = partial(services.log.head, hint=version_known(record))
    seen, changes = _observe_commits(services, model, record, head_of)
    return replace(seen, unrecorded=_touched_commits(unsettled(services, changes)))


_Seen = tuple[Observed, tuple[LogCommit, ...]]
"""A table, and the commits that changed its rows and that may be unrecorded."""
_HeadOf = Callable[[str], Head | None]


def _observe_commits(
    services: Services, model: Model, record: ModelRecord | None, head_of: _HeadOf
) -> _Seen:
    if model.keeps_history or model.strategy.moves_forward:
        return _observe_guarded(services, model, record, head_of)
    head = head_of(services.project.uri_of(model.table))
    return (Observed(), ()) if head is None else _observe_there(services, model, record, head)


def version_known(record: ModelRecord | None) -> int | None:
    """Return a version that a table had, from which its newest one is found sooner."""
    return record.settled_version if record else None


def _observe_guarded(
    services: Services, model: Model, record: ModelRecord | None, head_of: _HeadOf
) -> _Seen:
    """Read a table that must never be mistaken for a missing one: no query can rebuild it.

    That is a history, for which more facts are read, or a table built from slices.
    """
    uri = services.project.uri_of(model.table)
    try:
        head = head_of(uri)
        if head is None:
            return Observed(clutter=services.log.is_cluttered(uri)), ()
        facts = services.log.facts(uri) if model.keeps_history else None
        seen, changes = _observe_there(services, model, record, head)
    except TableError as error:
        raise _unreadable(model, error.sentence) from error
    if not model.keeps_history:
        return seen, changes
    if facts is None:
        raise _unreadable(model, f"the log of {uri} says nothing about its table")
    return replace(seen, facts=facts), changes


def unreadable_error(model: Model, error: TableError | OSError) -> TableError:
    """Return the read error of a table as an error of its model."""
    if isinstance(error, OSError):
        return _unreadable(model, str(error))
    return TableError(error.code, error.sentence, where=error.where or model.where, hint=error.hint)


def _unreadable(model: Model, why: str) -> TableError:
    return TableError(
        "target-unreadable",
        f"{model.table} cannot be read: {why}",
        where=model.where,
        hint="restore what is missing or damaged; nothing was written",
    )


def _observe_there(
    services: Services, model: Model, record: ModelRecord | None, head: Head
) -> _Seen:
    uri = services.project.uri_of(model.table)
    if record is None or not record.succeeded_once or record.settled_version is None:
        seen = without_record(services, uri)
        is_empty = seen.ever_ours and _is_of_others(services, model, uri)
        return Observed() if is_empty else seen, ()
    relaid = record.fingerprint is None or record.fingerprint.layout != model.fingerprint.layout
    if is_as_left(head, record) and not relaid:
        return Observed(there=True), ()
    facts = services.log.facts(uri)
    table_id = facts.table_id if facts else ""
    seen = Observed(there=True, table_id=table_id, facts=facts if relaid else None)
    store = services.store_id
    if is_replaced(record.table_id, seen):
        every = services.log.commits(uri, -1, partial=True)
        commits = tuple(c for c in every if c.version > record.settled_version)
        ever_ours = any(commit.store == store for commit in every)
        seen = replace(seen, ever_ours=ever_ours, owner=rival(services, last_writer(every)))
    else:
        commits, gap = _commits_above(services, uri, record.settled_version, head)
        foreign = tuple(c for c in commits if c.changes_data and c.store != store)
        owner = rival(services, last_writer(foreign))
        seen = replace(seen, foreign=_touched_commits(foreign), owner=owner, gap=gap)
    return seen, tuple(each for each in commits if each.changes_data)


def _is_of_others(services: Services, model: Model, uri: str) -> bool:
    """Return whether a table shared by several entities holds only rows of the others."""
    if model.entity is None or model.entity.scope is None:
        return False
    commits = services.log.commits(uri, -1, partial=True)
    return not unrecorded(services, (each for each in commits if each.changes_data))


def _touched_commits(commits: Iterable[LogCommit]) -> tuple[Touched, ...]:
    return tuple(Touched(c.version, c.time, c.operation, c.step, c.store, c.user) for c in commits)


def is_as_left(head: Head, record: ModelRecord) -> bool:
    """Return whether a table is certainly as the last success left it, by its newest entry.

    An equal version is not enough: another table in its place may have reached it.
    """
    return head.version == record.settled_version and bool(head.step) and head.step == record.step


def _commits_above(
    services: Services, uri: str, version: int, head: Head
) -> tuple[tuple[LogCommit, ...], Versions | None]:
    """Return the commits above a version, and the versions missing from the log."""
    try:
        return services.log.commits(uri, version), None
    except TableError as error:
        if error.code != "log-gap":
            raise
    commits = services.log.commits(uri, version, partial=True)
    return commits, log_gap(version, head.version, commits)


def log_gap(after: int, newest: int, commits: Iterable[LogCommit]) -> Versions | None:
    """Return the first and the last version above `after` that a log has lost.

    >>> log_gap(2, 4, ())
    (3, 4)
    """
    lost = set(range(after + 1, newest + 1)) - {commit.version for commit in commits}
    return (min(lost), max(lost)) if lost else None


def pin_source(
    services: Services,
    source: Source,
    listings: dict[str, Listing],
    facts_of: Callable[[str], TableFacts | None] | None = None,
) -> Pin:
    """Return the current version of a source; for files with their listing.

    `facts_of` returns facts that were read in advance.
    """
    if not source.path:
        return NoPin()
    facts_of = facts_of or services.log.facts
    if source.may_be_delta and (facts := facts_of(source.path)) is not None:
        return facts.pin
    if not source.is_delta:
        listings[str(source.table)] = services.log.listing(source)
        return listings[str(source.table)].pin
    facts = facts_of(source.path)
    if facts is None:
        raise TableError(
            "source-missing",
            f"source {source.table} has no Delta table: {source.path}",
            where=source.where,
            hint="correct `path` or `format`, or create the table",
        )
    return facts.pin
