"""Make data and records agree after a crash (docs/ARCHITECTURE.md, the commit protocol)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from penstock.app.checking.bad_records import settle_all_bad_records
from penstock.app.checking.flags import sweep
from penstock.app.observation.observe import unrecorded
from penstock.app.preparing.outcomes import base_of, outcome_of
from penstock.app.preparing.statements import enter_catalog
from penstock.app.services.services import Services
from penstock.app.services.workers import fence, in_parallel, left_open
from penstock.core.entities.slices import UnchangedSlice
from penstock.core.errors import PenstockError, StateError, TableError, UsageError
from penstock.core.facts import Head, LogCommit
from penstock.core.names import TableName
from penstock.core.ports.ports import RebuiltStep
from penstock.core.records import HookRecord, Status
from penstock.core.steps.step import Intent, Outcome, StepFailure, StepKind
from penstock.core.steps.token import project_of, read_intent, read_metrics
from penstock.core.strategy import strategy_named


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """The steps found in the logs, by model; the tables of `untold` have no step.

    Slices of `unskipped` may have been skipped: only the lost state recorded that.
    """

    steps: int
    models: tuple[str, ...]
    untold: tuple[str, ...] = ()
    unskipped: tuple[str, ...] = ()


def rebuild(services: Services) -> RebuildReport:
    """Add to the store every step of ours that is in the logs but not in the store.

    Restores versions, partitions, fingerprints and watermarks as far back as the logs go. Views
    have no log: their next run records them again.
    """
    recover(services)  # a step that a crash left open is on record, and would stay so
    found: list[list[RebuiltStep]] = []
    untold = []
    for name, table in _logged_tables(services):
        uri, steps = services.project.uri_of(table), list[RebuiltStep]()
        with suppress(TableError):  # one log that cannot be read hides no other
            if services.log.head(uri) is None:
                continue
            steps = list(
                steps_in_log(services, name, uri, services.log.commits(uri, -1, partial=True))
            )
        found.append(steps)
        if not steps:
            untold.append(name)
    rebuilt = _merge_by_number(found)
    services.writing.archive.rebuild(rebuilt)
    models = tuple(dict.fromkeys(step.intent.model for step in rebuilt))
    unskipped = tuple(name for name in models if _may_lack_skips(services, name))
    return RebuildReport(len(rebuilt), models, tuple(untold), unskipped)


def _merge_by_number(tables: Iterable[Sequence[RebuiltStep]]) -> list[RebuiltStep]:
    """Merge the steps of several tables by their numbers.

    Steps of one table keep the order of its log, because only that order is certain.
    """
    return [*heapq.merge(*tables, key=lambda step: step.intent.step_seq)]


def _may_lack_skips(services: Services, name: str) -> bool:
    """Return whether slices of a model may have been skipped without a record."""
    if not _reads_slices(services, name):
        return False
    known = services.reading.slices.recorded(name)
    return all(each.status is not Status.SKIPPED for each in known)


def _reads_slices(services: Services, name: str) -> bool:
    model = services.project.models.get(name)
    return model is not None and model.strategy.reads_slices


def _logged_tables(services: Services) -> Iterator[tuple[str, TableName]]:
    """Yield the models and seeds whose tables have logs."""
    yield from ((m.name, m.table) for m in services.project.models.values() if not m.is_view)
    yield from ((seed.name, seed.table) for seed in services.project.seeds.values())


def steps_in_log(
    services: Services, name: str, uri: str, commits: Iterable[LogCommit], since: int | None = None
) -> Iterator[RebuiltStep]:
    """Yield the steps of a model from the commits of its table after a version."""
    facts = services.log.facts(uri)
    table_id = ""
    for commit in commits:
        before, table_id = table_id or commit.table_id, commit.table_id or table_id
        if not commit.step:
            continue
        try:
            intent = replace(read_intent(commit.token), uri=uri)
        except (KeyError, ValueError):  # the token was cut
            continue
        if intent.model != name:
            continue
        if project_of(commit.token) not in ("", services.project.name):
            continue  # another project's, of a model of the same name
        if commit.cloned and _reads_slices(services, name):  # a token has no room for all of them
            intent = replace(intent, unchanged=_cloned_slices(services, name, commit.cloned))
        known = table_id or (facts.table_id if facts else "")
        yield from _idle_steps(intent, before or known, commit)
        since = base_of(intent) if since is None else since
        outcome = outcome_of(services, intent, commit, known, since)
        since = commit.version
        yield RebuiltStep(intent, outcome, commit.time)


def _idle_steps(intent: Intent, table_id: str, commit: LogCommit) -> Iterator[RebuiltStep]:
    """Yield earlier steps without a commit that a commit lists; slices of a clone have none."""
    for each in intent.unchanged:
        if not each.step:
            continue
        own = replace(
            intent,
            step=each.step,
            step_seq=each.step_seq,
            run_timestamp=each.moment,
            slice=each.id,
            unchanged=(),
            windows=(),
            watermarks=(),
            lowers_watermarks=False,
        )
        outcome = Outcome(None, table_id, intent.base_version, metrics=each.metrics)
        yield RebuiltStep(own, outcome, commit.time)


def _cloned_slices(
    services: Services, name: str, cloned: tuple[str, int]
) -> tuple[UnchangedSlice, ...]:
    """Return the slices in the rows of a clone, from the log of the table that it copied."""
    uri, upto = cloned
    found: dict[str, UnchangedSlice] = {}
    for commit in services.log.commits(uri, -1, partial=True):
        try:
            intent = read_intent(commit.token) if commit.step else None
        except (KeyError, ValueError):  # the token was cut
            continue
        if intent is None or intent.model != name or commit.version > upto:
            continue
        number, at = intent.step_seq, intent.run_timestamp
        if intent.kind is StepKind.ROLLBACK:
            found = {n: each for n, each in found.items() if each.step_seq < intent.restores}
        if intent.lowers_watermarks:
            found.clear()
        read = _cloned_slices(services, name, commit.cloned) if commit.cloned else intent.unchanged
        found |= {each.id.name: replace(each, step="", step_seq=number) for each in read}
        if intent.slice and intent.kind is StepKind.BUILD:
            own = UnchangedSlice(intent.slice, "", number, at, read_metrics(commit.token))
            found[intent.slice.name] = own
    return tuple(replace(each, step_seq=0) for each in found.values())


_SLICE = '"slice":'  # as tokens say it
_CRASHED = StepFailure("crashed", "the process died before the step committed")


@dataclass(frozen=True, slots=True)
class Recovered:
    """The result of a step that a crash left open; `version` is None if it did not commit.

    With `is_adopted` the step was not on record, or was recorded as failed, and its commit is in
    the log.
    """

    step: str
    model: str
    version: int | None
    is_adopted: bool = False

    def __str__(self) -> str:
        """Return the sentence for reports."""
        if self.version is None:
            return f"step {self.step} of {self.model} had not committed; marked failed (crashed)"
        if self.is_adopted:
            where = f"version {self.version} of its table, and the state did not know it"
            return f"step {self.step} of {self.model} had made {where}; recorded"
        return f"step {self.step} of {self.model} had committed version {self.version}; recorded"


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was settled, and by model the reason why a step could not be."""

    steps: tuple[Recovered, ...] = ()
    stuck: Mapping[str, PenstockError] = field(default_factory=dict)
    hooks: tuple[HookRecord, ...] = ()
    """Hooks of earlier steps that ran now."""
    heads: Mapping[str, Head | None] = field(default_factory=dict)
    """The newest commits of tables, by location, read just now."""

    @property
    def messages_by_step(self) -> tuple[str, ...]:
        """Return the result of each step."""
        return tuple(str(each) for each in self.steps)

    def require_settled(self, model: str) -> None:
        """Raise the reason why a model's open step could not be settled."""
        if model in self.stuck:
            raise self.stuck[model]


def recover(services: Services, give_up: Collection[str] = ()) -> Recovery:
    """Settle every step recorded as RUNNING whose run has ended.

    Then record steps of this store that only the logs contain. A step that cannot be settled
    affects only its model: `undecidable-step` if the log is gone and a rerun could duplicate rows.
    For models in `give_up`, such a step counts as failed, because all rows will be rebuilt.
    """
    if not services.patience.repeat(services.has_state):
        return Recovery()
    found: list[Recovered] = []
    stuck: dict[str, PenstockError] = {}
    for record in left_open(services.writing, services):
        intent = record.intent
        try:
            found.append(_settle(services, intent, give_up=intent.model in give_up))
        except StateError:  # no model's trouble: without the store nothing can be settled
            raise
        except PenstockError as error:
            stuck[intent.model] = error
        except OSError as error:
            stuck[intent.model] = TableError(
                "target-unreadable",
                f"{intent.table} cannot be read, so it is unknown whether step "
                f"{intent.step} was committed: {error}",
                hint="restore what is missing or damaged; nothing was written",
            )
    # after the open steps: one of them may be what the log tells of
    heads = dict[str, Head | None]()
    found.extend(_adopt(services, heads))
    # last, because a step that is settled may still need its staged rows for its checks
    settle_all_bad_records(services)
    sweep(services)
    return Recovery(tuple(found), stuck, heads=heads)


def settle_as(services: Services, step: str, *, committed: bool) -> Recovered:
    """Settle an open step as decided by a user who checked its table.

    Raises `unknown-step` if it is not open, `step-running` if its run is alive.
    """
    running = {record.intent.step: record for record in services.writing.journal.running()}
    named = [each for each in running if each.startswith(step)]
    if len(named) != 1:
        why = f"{len(named)} open steps begin with it" if named else "no open step has this id"
        hint = f"open steps: {', '.join(sorted(running)) or 'none'}"
        raise UsageError("unknown-step", f"{step!r}: {why}", hint=hint)
    record = running[named[0]]
    if record not in tuple(left_open(services.writing, services)):
        raise UsageError(
            "step-running",
            f"step {record.intent.step} of {record.intent.model} is still being run",
            hint=f"wait for it, or penstock unlock {record.intent.table}",
        )
    intent = _relocated(services, record.intent)
    if not committed:
        return _give_up(services, intent)
    facts = services.log.facts(intent.uri) if intent.uri else None
    version = facts.version if facts else None
    return _finish(services, intent, Outcome(version, facts.table_id if facts else "", version))


def _relocated(services: Services, intent: Intent) -> Intent:
    """Return an intent with the table's current location: a project may have been moved."""
    return replace(intent, uri=services.project.uri_of(intent.table)) if intent.uri else intent


def _settle(services: Services, intent: Intent, *, give_up: bool) -> Recovered:
    """Record the step's commit, or prevent that it ever commits."""
    intent = _relocated(services, intent)
    commit, is_readable = _commit_of(services, intent)
    if commit is None and not is_readable and not give_up:
        command = strategy_named(intent.strategy).command
        again = f"penstock {command} --select {intent.model} --full-refresh"
        raise TableError(
            "undecidable-step",
            f"step {intent.step} of {intent.model} was left open, and the log of {intent.table} no "
            f"longer tells whether its {intent.strategy} was committed",
            hint=f"check {intent.table}: if its rows are there, penstock recover "
            f"--step {intent.step} --as committed, if not --as failed; or rebuild it: {again}",
        )
    if commit is None:
        return _give_up(services, intent)
    return _finish(services, intent, outcome_of(services, intent, commit))


def _finish(services: Services, intent: Intent, outcome: Outcome) -> Recovered:
    """Record that a step committed; its table may be unknown to the catalog."""
    if services.project.target.catalog and intent.uri and intent.base_version is None:
        services.engine.require()
        with services.engine.session(intent.model) as session:
            enter_catalog(services.project, session, intent, is_new=True)
    services.writing.journal.finish(intent.step, outcome, recovered=True)
    return Recovered(intent.step, intent.model, outcome.settled_version)


def _give_up(services: Services, intent: Intent) -> Recovered:
    """Fence a step, search the log again, and only then mark it as failed."""
    fence(services, intent)
    # the statement may have landed between the first look and the fence; after it none can
    commit, _ = _commit_of(services, intent)
    if commit is not None:
        return _finish(services, intent, outcome_of(services, intent, commit))
    services.writing.journal.fail(intent.step, _CRASHED, recovered=True)
    services.writing.journal.keep_quarantine(intent.step, None)
    return Recovered(intent.step, intent.model, None)


def _commit_of(services: Services, intent: Intent) -> tuple[LogCommit | None, bool]:
    """Return the step's commit; without one, whether the log proves that there is none.

    If the table no longer exists, an append may have been in it.
    """
    if not intent.uri:
        return None, True
    is_build = intent.kind is StepKind.BUILD
    is_safe = strategy_named(intent.strategy).rerun_is_safe or not is_build
    head, after = services.log.head(intent.uri), base_of(intent)
    if head is None:
        return None, is_safe or intent.base_version is None
    commits = services.log.commits(intent.uri, after, partial=True)
    found = next((commit for commit in commits if commit.step == intent.step), None)
    if found is not None or is_safe:
        return found, True
    first = commits[0].version if commits else head.version + 1
    # the table holds a number of the step's application: it outlives the log
    reached = not intent.epoch or (
        services.log.transaction(intent.uri, intent.transaction) >= intent.step_seq
    )
    return None, first == after + 1 or not reached


def _adopt(services: Services, heads: dict[str, Head | None]) -> Iterator[Recovered]:
    """Record steps of this store that are missing in it although their commits are in the logs.

    Either an older copy of the store was restored, or a step committed after it was given up.
    The newest commits of the tables are added to `heads`.
    """
    settled, uri_of = services.writing.runs.settled(), services.project.uri_of
    uris = {name: uri_of(table) for name, table in _logged_tables(services)}
    hints = {uri: settled.get(name) for name, uri in uris.items()}
    read = in_parallel(lambda uri: services.log.head(uri, hints[uri]), hints)

    def head_of(uri: str) -> Head | None:
        heads[uri] = read(uri)
        return heads[uri]

    found = _merge_by_number(
        [_unknown_steps(services, name, uri, head_of, hints[uri]) for name, uri in uris.items()]
    )
    if not found:
        return
    services.writing.archive.rebuild(found)
    for step in (each for each in found if each.outcome.version is not None):
        yield Recovered(step.intent.step, step.intent.model, step.outcome.version, is_adopted=True)


def _unknown_steps(
    services: Services,
    name: str,
    uri: str,
    head_of: Callable[[str], Head | None],
    settled: int | None,
) -> list[RebuiltStep]:
    after = -1 if settled is None else settled
    try:
        head = head_of(uri)
        if head is None or head.version <= after:
            return []
        facts, record = services.log.facts(uri), services.writing.records.models(name).get(name)
        known = record.table_id if record is not None else None
        is_new = known is not None and facts is not None and known != facts.table_id
        if is_new:
            after = -1  # of a table in its place, its making too: rows on record lie in the old one
        since = services.log.commits(uri, after, partial=True)
        # of a table not on record all counts: it may have been made, and hold no row yet
        # and a slice that brought a column and no row has changed none, but was run all the same
        counted = (c for c in since if c.changes_data or after < 0 or _SLICE in c.token)
        commits = unrecorded(services, counted)
        steps = [*steps_in_log(services, name, uri, commits, after)] if commits else []
    except (TableError, OSError):  # its model will say so when its turn comes
        return []
    return [replace(step, new_table=is_new) for step in steps]
