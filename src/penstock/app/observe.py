"""Looking at targets and sources as they are now, without Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from penstock.app.ownership import unrecorded_commits
from penstock.app.shop import Shop
from penstock.core.errors import PenstockError, TableError
from penstock.core.facts import Commit, Head, Listing
from penstock.core.model import Model, Source
from penstock.core.names import InputKind
from penstock.core.pin import NoPin, Pin
from penstock.core.records import ModelRecord
from penstock.core.step import StepKind
from penstock.core.token import read_intent
from penstock.plan.values import Now, Observed


@dataclass(frozen=True, slots=True)
class View:
    """What was seen: the plan's side of it, and the listings that steps will read."""

    now: Now
    listings: dict[str, Listing] = field(default_factory=dict)

    @classmethod
    def empty(cls, moment: dt.datetime) -> View:
        """Give a look at nothing."""
        return cls(Now(moment, {}, {}))

    def renew(self, later: View) -> None:
        """Take over what was seen later.

        Listings go before pins: a step that pins in between then reads more than its pin says,
        and reads it again, but never less.
        """
        self.listings.update(later.listings)
        self.now.targets.update(later.now.targets)  # type: ignore[attr-defined]
        self.now.sources.update(later.now.sources)  # type: ignore[attr-defined]
        self.now.broken.update(later.now.broken)  # type: ignore[attr-defined]


def observe(
    shop: Shop, models: Iterable[str], records: dict[str, ModelRecord], moment: dt.datetime
) -> View:
    """Look at the targets of the models and at every source below them."""
    project = shop.project
    wanted = [project.models[name] for name in models]
    targets = {
        model.name: observe_target(shop, model, records.get(model.name))
        for model in wanted
        if not model.is_view and model.partition is None  # those are judged by partition
    }
    pins: dict[str, Pin] = {}
    broken: dict[str, PenstockError] = {}
    listings: dict[str, Listing] = {}
    for name in source_names(shop, wanted):
        source = project.sources[name]
        try:
            pins[name] = pin_source(shop, source, listings)
        except PenstockError as error:
            broken[name] = error
    return View(Now(moment, targets, pins, broken), listings)


def source_names(shop: Shop, models: Iterable[Model]) -> list[str]:
    """Give the sources that the models read, themselves or through views, sorted."""
    found: set[str] = set()
    waiting = [name for model in models for name in model.inputs]
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        if name.kind is InputKind.SOURCE:
            found.add(name.name)
        inner = shop.project.models.get(name.name) if name.kind is InputKind.MODEL else None
        if inner is not None and inner.is_view:
            more = [each for each in inner.inputs if each not in seen]
            seen.update(more)
            waiting.extend(more)
    return sorted(found)


def observe_target(shop: Shop, model: Model, record: ModelRecord | None) -> Observed:
    """Look at one target: the newest entry of its log, and more only if something happened."""
    if model.is_snapshot:
        return _observe_history(shop, model, record)
    head = shop.log.head(shop.project.uri_of(model.table))
    return Observed() if head is None else _observe_there(shop, model, record, head)


def _observe_history(shop: Shop, model: Model, record: ModelRecord | None) -> Observed:
    """Look at a history table; one that cannot be read must not be taken for one that is not there.

    Its history could not be made again.
    """
    uri = shop.project.uri_of(model.table)
    try:
        head = shop.log.head(uri)
        if head is None:
            return Observed(clutter=shop.log.is_cluttered(uri))
        facts = shop.log.facts(uri)
        seen = _observe_there(shop, model, record, head)
    except TableError as error:
        raise _unreadable(model, error.sentence) from error
    except OSError as error:
        raise _unreadable(model, str(error)) from error
    if facts is None:
        raise _unreadable(model, f"the log of {uri} tells nothing of its table")
    return replace(seen, facts=facts)


def _unreadable(model: Model, why: str) -> TableError:
    return TableError(
        "target-unreadable",
        f"{model.table} cannot be read: {why}",
        where=model.where,
        hint="restore what is missing or damaged; nothing was written",
    )


def _observe_there(shop: Shop, model: Model, record: ModelRecord | None, head: Head) -> Observed:
    uri = shop.project.uri_of(model.table)
    if record is None or not record.succeeded_once or record.settled_version is None:
        ever_ours = any(map(_is_build, shop.log.commits(uri, -1, partial=True)))
        return Observed(head, ever_ours=ever_ours)
    relaid = record.fingerprint is None or record.fingerprint.layout != model.fingerprint.layout
    if head.version == record.settled_version and head.step and not relaid:
        return Observed(head)
    facts = shop.log.facts(uri)
    store = shop.reading.archive.store_id()
    commits = shop.log.commits(uri, record.settled_version)
    foreign = tuple(each for each in commits if each.changes_data and each.store != store)
    return Observed(
        head,
        facts.table_id if facts else "",
        foreign,
        facts=facts if relaid else None,
        unrecorded=unrecorded_commits(shop, commits),
    )


def _is_build(commit: Commit) -> bool:
    """Whether penstock wrote the rows; a property that it set on a foreign table does not count."""
    if not commit.step:
        return False
    try:
        return read_intent(commit.token).kind is not StepKind.ALTER
    except (KeyError, ValueError):  # the token was cut
        return True


def pin_source(shop: Shop, source: Source, listings: dict[str, Listing]) -> Pin:
    """Give the version of a source as it is now; of files their listing too."""
    if not source.path:
        return NoPin()
    if not source.is_delta:
        listings[str(source.table)] = shop.log.listing(source)
        return listings[str(source.table)].pin
    facts = shop.log.facts(source.path)
    if facts is None:
        raise no_source_table(source)
    return facts.pin


def no_source_table(source: Source) -> PenstockError:
    """Give the error of a Delta source that is not there (case J17)."""
    return TableError(
        "source-missing",
        f"source {source.table} has no Delta table: {source.path}",
        where=source.where,
        hint="correct `path` or `format`, or create the table",
    )
