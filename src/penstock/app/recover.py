"""Bringing data and records to agreement after a crash (design: the commit protocol, step 4)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from penstock.app.checking.staging import sweep
from penstock.app.leases import fence, lives
from penstock.app.outcomes import outcome_of, with_partitions
from penstock.app.owners import unrecorded_commits
from penstock.app.rebuild import steps_in_log
from penstock.app.shop import Shop
from penstock.core.errors import PenstockError, StateError, TableError, UsageError
from penstock.core.facts import Commit
from penstock.core.names import TableName
from penstock.core.ports import RebuiltStep
from penstock.core.records import ModelRecord, StepRecord
from penstock.core.step import Intent, Outcome, StepFailure, StepKind

_RERUN_IS_SAFE = ("table", "view", "seed", "snapshot", "partition")
_CRASHED = StepFailure("crashed", "the process died before the step committed")


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of a step that a crash left open; `version` is None if it had not committed.

    With `adopted` the step was not on record at all, or as failed, and its commit is in the log.
    """

    step: str
    model: str
    version: int | None
    adopted: bool = False

    def __str__(self) -> str:
        """Give the sentence that reports print."""
        if self.version is None:
            return f"step {self.step} of {self.model} had not committed; marked failed (crashed)"
        if self.adopted:
            where = f"version {self.version} of its table, and the state did not know it"
            return f"step {self.step} of {self.model} had made {where}; recorded"
        return f"step {self.step} of {self.model} had committed version {self.version}; recorded"


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was settled, and by model what keeps its open step from being settled."""

    steps: tuple[Recovered, ...] = ()
    stuck: Mapping[str, PenstockError] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say what became of each step."""
        return tuple(str(each) for each in self.steps)

    def require(self, model: str) -> None:
        """Raise what keeps a model's open step from being settled."""
        if model in self.stuck:
            raise self.stuck[model]


def recover(shop: Shop, give_up: Collection[str] = ()) -> Recovery:
    """Settle every step that is written as RUNNING and whose run no longer lives.

    Then what the logs tell of this store's steps and the store does not know is recorded. A step
    that cannot be settled is its model's trouble alone: `undecidable-step` where the log is gone
    and a rerun could double rows. Of the models in `give_up` such a step is called failed, because
    all rows will be made anew.
    """
    if not shop.has_state():
        return Recovery()
    found: list[Recovered] = []
    stuck: dict[str, PenstockError] = {}
    for record in _left_open(shop):
        intent = record.intent
        try:
            found.append(_settle(shop, intent, give_up=intent.model in give_up))
        except StateError:
            raise
        except PenstockError as error:
            stuck[intent.model] = error
        except OSError as error:
            stuck[intent.model] = _unreadable(intent, error)
    found.extend(_adopt(shop))
    sweep(shop)
    return Recovery(tuple(found), stuck)


def settle_as(shop: Shop, step: str, *, committed: bool) -> Recovered:
    """Settle an open step as somebody says who looked into its table.

    Raises `unknown-step` for one that is not open, `step-running` for one whose run still lives.
    """
    running = {record.intent.step: record for record in shop.writing.journal.running()}
    named = [each for each in running if each.startswith(step)]
    if len(named) != 1:
        why = f"{len(named)} open steps begin with it" if named else "no open step has this id"
        hint = f"open steps: {', '.join(sorted(running)) or 'none'}"
        raise UsageError("unknown-step", f"{step!r}: {why}", hint=hint)
    record = running[named[0]]
    if record not in tuple(_left_open(shop)):
        raise UsageError(
            "step-running",
            f"step {record.intent.step} of {record.intent.model} is still being run",
            hint=f"wait for it, or penstock unlock {record.intent.table}",
        )
    intent = _placed(shop, record.intent)
    if not committed:
        return _give_up(shop, intent)
    facts = shop.log.facts(intent.uri) if intent.uri else None
    version = facts.version if facts else None
    outcome = Outcome(version, facts.table_id if facts else "", version)
    shop.writing.journal.finish(intent.step, outcome, recovered=True)
    return Recovered(intent.step, intent.model, version)


def _left_open(shop: Shop) -> Iterator[StepRecord]:
    journal = shop.writing.journal
    running = journal.running()
    leases = {lease.target: lease for lease in shop.writing.leases.taken()} if running else {}
    for record in running:
        lease = leases.get(str(record.intent.table))
        if lease is None or not lives(shop, lease, record):
            yield record


def _placed(shop: Shop, intent: Intent) -> Intent:
    """Give an intent with the place that its table has now: a project may have been moved."""
    return replace(intent, uri=shop.project.uri_of(intent.table)) if intent.uri else intent


def _settle(shop: Shop, intent: Intent, *, give_up: bool) -> Recovered:
    """Record the step's commit, or make sure that there will never be one."""
    intent = _placed(shop, intent)
    commit, is_told = _commit_of(shop, intent)
    if commit is None and not is_told and not give_up:
        raise _undecidable(intent)
    if commit is None:
        return _give_up(shop, intent)
    return _record(shop, intent, commit)


def _give_up(shop: Shop, intent: Intent) -> Recovered:
    """Fence a step, look again, and only then call it failed (spec/state.md §2)."""
    fence(shop, intent)
    commit, _ = _commit_of(shop, intent)
    if commit is not None:
        return _record(shop, intent, commit)
    shop.writing.journal.fail(intent.step, _CRASHED, recovered=True)
    shop.writing.journal.forget_quarantine(intent.step)
    return Recovered(intent.step, intent.model, None)


def _record(shop: Shop, intent: Intent, commit: Commit) -> Recovered:
    outcome = outcome_of(commit, _table_id(shop, intent, commit), intent)
    outcome = with_partitions(shop, intent, outcome)
    shop.writing.journal.finish(intent.step, outcome, recovered=True)
    return Recovered(intent.step, intent.model, commit.version)


def _commit_of(shop: Shop, intent: Intent) -> tuple[Commit | None, bool]:
    """Give the step's commit, and without one whether the log tells that there is none.

    An append on a table that is not there any more may have been on it.
    """
    if not intent.uri:
        return None, True
    is_safe = intent.strategy in _RERUN_IS_SAFE or intent.kind is not StepKind.BUILD
    if shop.log.head(intent.uri) is None:
        return None, is_safe or intent.base_version is None
    after = -1 if intent.base_version is None else intent.base_version
    commits = shop.log.commits(intent.uri, after, partial=True)
    found = next((commit for commit in commits if commit.step == intent.step), None)
    if found is not None or is_safe:
        return found, True
    first = commits[0].version if commits else _head(shop, intent) + 1
    return None, first == after + 1 or _never_reached(shop, intent)


def _head(shop: Shop, intent: Intent) -> int:
    head = shop.log.head(intent.uri)
    return head.version if head else -1


def _never_reached(shop: Shop, intent: Intent) -> bool:
    """Whether the table holds an older number of the step's application: it outlives the log."""
    if not intent.epoch:
        return False
    return shop.log.transaction(intent.uri, intent.transaction) < intent.step_seq


def _table_id(shop: Shop, intent: Intent, commit: Commit) -> str:
    if commit.table_id:
        return commit.table_id
    facts = shop.log.facts(intent.uri)
    return facts.table_id if facts else ""


def _unreadable(intent: Intent, error: OSError) -> TableError:
    return TableError(
        "target-unreadable",
        f"{intent.table} cannot be read, so nobody can tell what became of step {intent.step}: "
        f"{error}",
        hint="restore what is missing or damaged; nothing was written",
    )


def _undecidable(intent: Intent) -> TableError:
    again = f"penstock run --select {intent.model} --full-refresh"
    if intent.strategy == "snapshot":
        again = f"penstock snapshot run --select {intent.model} --full-refresh (its versions go)"
    return TableError(
        "undecidable-step",
        f"step {intent.step} of {intent.model} was left open, and the log of {intent.table} no "
        f"longer tells whether its {intent.strategy} was committed",
        hint=f"look into {intent.table}: if its rows are there, penstock recover "
        f"--step {intent.step} --as committed, if not --as failed; or build it anew: {again}",
    )


def _adopt(shop: Shop) -> Iterator[Recovered]:
    """Record steps of this store whose commits are in the logs and that it does not know.

    An older copy of the store was put back, or a step landed after it had been given up.
    """
    records = shop.writing.records.models()
    project, found = shop.project, list[RebuiltStep]()
    tables = {m.name: m.table for m in project.models.values() if not m.is_view}
    tables |= {seed.name: seed.table for seed in project.seeds.values()}
    for name, table in tables.items():
        found += _unknown_steps(shop, name, table, records.get(name))
    if not found:
        return
    found.sort(key=lambda step: step.ended)
    shop.writing.archive.rebuild(found)
    for step in found:
        yield Recovered(step.intent.step, step.intent.model, step.outcome.version, adopted=True)


def _unknown_steps(
    shop: Shop, name: str, table: TableName, record: ModelRecord | None
) -> list[RebuiltStep]:
    uri = shop.project.uri_of(table)
    after = -1 if record is None or record.settled_version is None else record.settled_version
    try:
        head = shop.log.head(uri)
        if head is None or head.version <= after:
            return []
        commits = unrecorded_commits(shop, shop.log.commits(uri, after, partial=True))
    except (TableError, OSError):  # its model will say so when its turn comes
        return []
    return list(steps_in_log(shop, name, uri, commits)) if commits else []
