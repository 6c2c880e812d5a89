"""The first page: every model, source and run in a row each, and what needs a person."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from penstock.app.commands.status import status_of_models
from penstock.app.reports import ModelStatus, StateCount
from penstock.app.services.wire import version
from penstock.app.site.documents import (
    FORMAT,
    Attention,
    ModelRow,
    Notice,
    PlannedCommand,
    PlannedStep,
    ProjectDocument,
    RunDocument,
    RunRow,
    StateShare,
    StepRow,
)
from penstock.app.site.markup import grouped
from penstock.app.site.models import Shapes
from penstock.app.site.partitions import STATES
from penstock.app.site.reading import NO_STATE, SiteInputs, utc
from penstock.app.site.sources import late_sources, reads, source_rows
from penstock.core.findings import Finding
from penstock.core.masking import mask
from penstock.core.model import Model, kind_of
from penstock.core.partitions.partition import write_ranges
from penstock.core.partitions.ranges import count, difference, intersection
from penstock.core.records import Run, Status, StepRecord
from penstock.plan.values import Plan, State

RUNS_IN_A_FILE = 100
_SHOWN_STEPS = 50
_URGENT = (
    *("failed", "blocked", "quarantined", "tampered", "flagged", "late", "unreadable"),
    *("unrecorded", "foreign_table", "missing", "version_upgraded", "sql_changed"),
    *("schema_changed", "source_changed", "upstream_changed"),
)
_NO_STATE = Attention(str(State.UNREADABLE), "", NO_STATE, "")
_BLOCKING = ("before-check-failed", "after-check-failed")


def project_document(
    inputs: SiteInputs,
    shapes: Shapes,
    plans: Mapping[str, Plan],
    runs: tuple[RunDocument, ...],
    notices: tuple[Notice, ...] = (),
) -> ProjectDocument:
    """Return what the first page, the lists and the graph show; `notices` come first."""
    statuses = {name: _status(inputs, name) for name in inputs.names}
    services, project = inputs.services, inputs.project
    sources = source_rows(inputs)
    attention = _attention(inputs, statuses) if inputs.has_state else (_NO_STATE,)
    return ProjectDocument(
        format=FORMAT,
        penstock=version(),
        project=project.name,
        target=project.target.name,
        flags=mask(shlex.join(inputs.flags(dated=True))),
        made_at=utc(services.clock.now()),
        as_of=utc(inputs.state.run_timestamp),
        notices=tuple(dict.fromkeys((*notices, *map(notice_of, project.findings)))),
        states=tuple(str(each) for each in STATES),
        models=tuple(
            _model_row(inputs, number, statuses[name], shapes)
            for number, name in enumerate(inputs.names)
        ),
        sources=sources,
        attention=_by_urgency((*attention, *late_sources(inputs, sources))),
        plans=tuple(_planned(inputs, *each) for each in plans.items()),
        runs=tuple(_run_row(each, number) for number, each in enumerate(runs)),
    )


def notice_of(finding: Finding) -> Notice:
    """Return a finding as the site shows it."""
    is_error = str(finding.severity) == "error"
    return Notice(finding.code, str(finding.where), finding.sentence, finding.hint, is_error)


def _status(inputs: SiteInputs, name: str) -> ModelStatus:
    return status_of_models(inputs.drift, name, inputs.drift.verdicts[name].partitions)


def _model_row(inputs: SiteInputs, number: int, status: ModelStatus, shapes: Shapes) -> ModelRow:
    model, found = inputs.model(status.model), shapes.get(status.model)
    verdict = inputs.drift.verdicts[status.model]
    wrong = [piece.range for piece in verdict.pieces]
    good = 0 if verdict.whole else count(difference(verdict.effective, tuple(sorted(wrong))))
    good -= count(intersection(inputs.drift.pending.get(status.model, ()), verdict.effective))
    states = [
        StateShare(STATES.index(each.state), each.count, each.pending, each.drifted, each.because)
        for each in status.states
    ]
    if good > 0:
        current = StateShare(STATES.index(State.CURRENT), good, False, False, ())  # noqa: FBT003
        states.append(current)
    last = next((s for s in reversed(inputs.steps.get(model.name, ())) if s.outcome), None)
    return ModelRow(
        number=number,
        name=model.name,
        kind="versioned" if model.versions and kind_of(model) == "sql" else kind_of(model),
        strategy=status.shown_strategy,
        grain=status.grain,
        schema=model.table.schema,
        table=str(model.table),
        file=model.where.path,
        line=model.where.line,
        tags=model.tags,
        owner=model.config.get("meta.owner", ""),
        package=status.package,
        reads=tuple(dict.fromkeys(reads(inputs, model))),
        states=tuple(states),
        partitions=status.partitions,
        current=max(good, 0),
        rows=found.rows if found else None,
        bytes=found.bytes if found else None,
        built_at=utc(status.executed_at),
        seconds=last.outcome.duration_ms / 1000 if last and last.outcome else None,
        lines=tuple(map(mask, status.lines)),
    )


def _by_urgency(lines: Iterable[Attention]) -> tuple[Attention, ...]:
    """Sort failures first, then checks and sources, then drift."""
    place = {kind: number for number, kind in enumerate(_URGENT)}
    return tuple(sorted(lines, key=lambda each: (place.get(each.kind, len(place)), each.node)))


def _attention(inputs: SiteInputs, statuses: Mapping[str, ModelStatus]) -> Iterator[Attention]:
    """Yield what needs a person: drift and failures, then flags, then rows that are held back."""
    for name, status in statuses.items():
        model = inputs.model(name)
        wrong: dict[State, list[StateCount]] = {}
        for each in status.states:
            if each.drifted or each.state in (State.UNRECORDED, State.UNREADABLE):
                wrong.setdefault(each.state, []).append(each)
        mends = shlex.split(status.mends or _mends(model, status)) if wrong else []
        for state, found in wrong.items():
            whole = inputs.drift.verdicts[name].whole
            number = sum(each.count for each in found)
            because = ", ".join(dict.fromkeys(why for each in found for why in each.because))
            plural = "" if number == 1 else "s"
            parts = f"{grouped(number)} partition{plural}"
            what = "the table" if model.partition is None or whole else parts
            sentence = f"{what}: {because}" if because else what
            blocked = _blocked(inputs, name) if state is State.FAILED else None
            yield blocked or Attention(str(state), name, sentence, inputs.command(*mends))
    checks = inputs.services.reading.checks
    flagged = Counter(flag.model for flag in checks.flags())
    for name, number in flagged.items():
        sentence = f"{grouped(number)} flagged: rows are in the table that failed a check"
        yield Attention("flagged", name, sentence, inputs.command("history", name, "--checks"))
    for kept in checks.quarantines():
        sentence = f"{grouped(kept.rows)} rows in quarantine until {kept.expires:%Y-%m-%d}"
        command = inputs.command("history", kept.model)
        yield Attention("quarantined", kept.model, sentence, command)


def _blocked(inputs: SiteInputs, name: str) -> Attention | None:
    """Return what blocks a model whose last step a check stopped."""
    steps = inputs.steps.get(name, ())
    failure = steps[-1].failure if steps else None
    if failure is None or failure.code not in _BLOCKING:
        return None
    command = inputs.command("history", name, "--checks")
    return Attention("blocked", name, failure.message, command)


def _mends(model: Model, status: ModelStatus) -> str:
    states = {each.state for each in status.states}
    if State.UNRECORDED in states:
        return "recover" if status.executed_at else "state rebuild"
    if State.UNREADABLE in states:
        return f"plan --select {shlex.quote(model.name)}"  # it says what would mend it
    if status.package:
        return shlex.join(["run", "--select", model.name])
    word = "sync" if model.partition is not None else model.strategy.command
    return shlex.join([*word.split(), "--select", model.name])


def _planned(inputs: SiteInputs, command: str, plan: Plan) -> PlannedCommand:
    shown = tuple(
        PlannedStep(
            model=each.model,
            partitions=", ".join(write_ranges(inputs.model(each.model).grid, each.partitions)),
            reason=str(each.reason),
        )
        for each in plan.steps[:_SHOWN_STEPS]
    )
    return PlannedCommand(command, len(plan.steps), shown)


def run_document(inputs: SiteInputs, run: Run) -> RunDocument:
    """Return a run with its steps."""
    return RunDocument(
        id=run.id,
        command=run.command,
        arguments=run.arguments,
        user=run.holder.user,
        host=run.holder.host,
        started=utc(run.started),
        ended=utc(run.ended),
        status=str(run.status).lower(),
        steps=tuple(_step_row(inputs, each) for each in inputs.steps.get(run.id, ())),
    )


def _step_row(inputs: SiteInputs, step: StepRecord) -> StepRow:
    intent, outcome, failure = step.intent, step.outcome, step.failure
    return StepRow(
        step=intent.step,
        model=intent.model,
        partitions=", ".join(intent.partitions),
        status=str(step.status).lower(),
        started=utc(step.started),
        ended=utc(step.ended),
        rows=outcome.rows.written if outcome else None,
        bytes=outcome.bytes_written if outcome else None,
        table_version=outcome.version if outcome else None,
        reason=intent.reason,
        inputs=inputs.input_versions(intent.inputs),
        error=f"{failure.code}: {failure.message}" if failure else "",
        hint=failure.hint if failure else "",
    )


def _run_row(run: RunDocument, number: int) -> RunRow:
    failed = sum(each.status == str(Status.FAILED).lower() for each in run.steps)
    models = len({each.model for each in run.steps})
    place = number // RUNS_IN_A_FILE
    return RunRow(run.id, run.command, run.started, run.ended, run.status, models, failed, place)
