"""The use case `accept`: accept rows that others changed, and record why."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.app.execution.commit import Committer
from penstock.app.execution.recover import recover
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.make_plan import run_timestamp_of
from penstock.app.preparing.outcomes import foreign_between, settled_before
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services, in_one_state, named_model
from penstock.app.services.workers import on_record
from penstock.core.errors import UsageError
from penstock.core.masking import mask
from penstock.core.model import Model
from penstock.core.partitions.partition import write_ranges
from penstock.core.partitions.ranges import Ranges, merged
from penstock.core.records import ModelRecord
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.steps.step import ForeignCommit, Intent, Outcome, StepKind
from penstock.plan.obstacles import table_of_another_store
from penstock.plan.values import State
from penstock.plan.verdict import Verdict, has_other_table, message


@dataclass(frozen=True, slots=True)
class AcceptedCommits(ShownInNotebooks):
    """The accepted commits of others, oldest first, and the step that records them."""

    _rows = "commits"
    _columns = "version time operation user"

    model: str
    step: str
    reason: str
    partitions: tuple[str, ...]
    commits: tuple[ForeignCommit, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The commits as text."""
        return tuple(message(commit) for commit in self.commits)


def accept(services: Services, name: str, reason: str, arguments: str = "") -> AcceptedCommits:
    """Accept the rows of a model that others changed; write only records.

    Models that read them see a change. Raises `nothing-to-accept` if there are no foreign changes,
    and the error of `run` if another store writes the table.
    """
    if not reason.strip():
        hint = "--reason 'why the rows are right'"
        raise UsageError("bad-value", "--reason: the reason is empty", hint=hint)
    model = named_model(services, name)
    recover(services).require_settled(model.name)
    project_state, verdict = _survey_model(services, model)
    record, head = project_state.records.get(model.name), None
    partitions = _tampered(project_state, model, verdict)
    if partitions and record is not None:
        head = services.log.head(services.project.uri_of(model.table))
    if record is None or head is None:
        sentence = f"no rows were changed outside penstock in {model.table} since they were made"
        hint = f"penstock status --select {model.name} says what is not current"
        raise UsageError("nothing-to-accept", sentence, hint=hint)
    intent = _intent(services, project_state, model, record)
    keys = write_ranges(model.grid, partitions)
    why = mask(reason.strip())
    intent = replace(intent, partitions=keys, reason=f"accepted: {why}")
    intent = replace(intent, triggered_by=f"accept: {why}")  # as the history shows it
    after = settled_before(services, intent, record.table_id)
    since = foreign_between(services, intent.uri, after, head.version)
    outcome = Outcome(None, record.table_id, head.version, foreign=(*record.foreign, *since))
    run = services.run_record(intent.run, "accept", intent.run_timestamp, arguments)
    with on_record(services, run) as succeeded:
        committer = _committer(services, project_state, intent, model, record)
        committer.finish(committer.begin(intent), outcome)
        succeeded()
    return AcceptedCommits(model.name, intent.step, reason.strip(), keys, outcome.foreign)


@in_one_state
def _survey_model(services: Services, model: Model) -> tuple[ProjectState, Verdict]:
    project_state = survey(services, (model.name,), run_timestamp_of(services, None))
    return project_state, project_state.verdict(model.name)


def _tampered(project_state: ProjectState, model: Model, verdict: Verdict) -> Ranges:
    """Return the partitions that others changed; empty if the table itself was replaced."""
    if verdict.owner is not None:
        raise table_of_another_store(model, verdict.owner, project_state.project.name)
    if verdict.whole is not None or has_other_table(verdict):
        return ()
    return merged(p.range for p in verdict.pieces if State.TAMPERED in p.states)


def _intent(
    services: Services, project_state: ProjectState, model: Model, record: ModelRecord
) -> Intent:
    return Intent(
        step=services.clock.new_id(),
        run=services.run_id or services.clock.new_id(),
        model=model.name,
        table=model.table,
        uri=services.project.uri_of(model.table),
        kind=StepKind.ACCEPT,
        strategy=model.strategy_name,
        reason="",
        triggered_by="accept",
        run_timestamp=project_state.run_timestamp,
        fingerprint=record.fingerprint or model.fingerprint,
        grid=model.grid,
    )


def _committer(
    services: Services,
    project_state: ProjectState,
    intent: Intent,
    model: Model,
    record: ModelRecord,
) -> Committer:
    context = Context(
        holder=services.holder(intent.run),
        run_timestamp=intent.run_timestamp,
        project=project_state.project,
        view=project_state.view,
        records=project_state.records,
        triggered_by=intent.triggered_by,
    )
    return Committer(services, context, model.where, record.last_step_seq)
