"""Bringing data and records to agreement after a crash (design: the commit protocol, step 4)."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.app.checking.staging import sweep
from penstock.app.outcomes import outcome_of, with_partitions
from penstock.app.shop import Shop
from penstock.core.errors import TableError
from penstock.core.facts import Commit
from penstock.core.records import Lease, StepRecord
from penstock.core.step import Intent, StepFailure, StepKind

_RERUN_IS_SAFE = ("table", "view", "seed", "snapshot", "partition")


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of a step that a crash left open; `version` is None if it had not committed."""

    step: str
    model: str
    version: int | None

    def __str__(self) -> str:
        """Give the sentence that reports print."""
        if self.version is None:
            return f"step {self.step} of {self.model} had not committed; marked failed (crashed)"
        return f"step {self.step} of {self.model} had committed version {self.version}; recorded"


def recover(shop: Shop) -> tuple[Recovered, ...]:
    """Settle every step that is written as RUNNING and whose run no longer lives.

    Raises `undecidable-step` for a step whose log is gone and whose rerun could double rows.
    """
    found = tuple(_settled(shop))
    sweep(shop)
    return found


def _settled(shop: Shop) -> Iterator[Recovered]:
    journal = shop.writing.journal
    running = journal.running()
    leases = {lease.target: lease for lease in journal.leases()} if running else {}
    for record in running:
        lease = leases.get(str(record.intent.table))
        if lease is None or not _lives(shop, lease, record):
            yield _settle(shop, record)


def _lives(shop: Shop, lease: Lease, record: StepRecord) -> bool:
    """Whether the run that began the step may still finish it."""
    if lease.run != record.intent.run or lease.token != record.lease_token:
        return False
    if lease.expires <= shop.clock.now():
        return False
    return lease.host != socket.gethostname() or shop.pid_alive(lease.pid)


def _settle(shop: Shop, record: StepRecord) -> Recovered:
    intent = record.intent
    commit = _commit_of(shop, intent)
    if commit is None:
        failure = StepFailure("crashed", "the process died before the step committed")
        shop.writing.journal.fail(intent.step, failure, recovered=True)
        shop.writing.journal.forget_quarantine(intent.step)
        return Recovered(intent.step, intent.model, None)
    outcome = outcome_of(commit, _table_id(shop, intent, commit), intent)
    outcome = with_partitions(shop, intent, outcome)
    shop.writing.journal.finish(intent.step, outcome, recovered=True)
    return Recovered(intent.step, intent.model, commit.version)


def _commit_of(shop: Shop, intent: Intent) -> Commit | None:
    if not intent.uri or shop.log.head(intent.uri) is None:
        return None
    after = -1 if intent.base_version is None else intent.base_version
    try:
        commits = shop.log.commits(intent.uri, after)
    except TableError as error:
        if error.code != "log-gap":
            raise
        if intent.strategy in _RERUN_IS_SAFE or intent.kind is StepKind.ALTER:
            return None
        raise _undecidable(intent) from error
    return next((commit for commit in commits if commit.step == intent.step), None)


def _table_id(shop: Shop, intent: Intent, commit: Commit) -> str:
    if commit.table_id:
        return commit.table_id
    facts = shop.log.facts(intent.uri)
    return facts.table_id if facts else ""


def _undecidable(intent: Intent) -> TableError:
    return TableError(
        "undecidable-step",
        f"step {intent.step} of {intent.model} was left open, and the log of {intent.table} no "
        f"longer tells whether its {intent.strategy} was committed",
        hint=f"look into {intent.table}: if its rows are there, 'penstock state rebuild'; "
        f"if not, 'penstock run --select {intent.model} --full-refresh' after 'penstock unlock'",
    )
