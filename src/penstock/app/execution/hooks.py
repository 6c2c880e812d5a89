"""Run hooks: SQL before and after a step, and before and after a run.

A hook is never part of a commit. What is to run after a step is on record before the step begins,
so that `recover` runs it if the process ends in between. A hook may run more than once.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from penstock.app.execution.recover import Recovery, recover, settle_as
from penstock.app.execution.step_state import StepState, open_session
from penstock.app.observation.recorded import last_success
from penstock.app.reports import ModelResult
from penstock.app.services.services import Services
from penstock.app.services.workers import may_write, on_worker
from penstock.core.beside.hooks import Hook, HookMoment, shown_grants
from penstock.core.errors import (
    HookError,
    InterruptedRunError,
    PenstockError,
    QueryError,
    SparkDiedError,
)
from penstock.core.findings import Location
from penstock.core.model import Model
from penstock.core.names import literal
from penstock.core.ports.engine import StepSession
from penstock.core.project import hook_sql, shown_hook
from penstock.core.records import HookRecord, Status
from penstock.core.steps.step import Intent, StepFailure
from penstock.strategies.grants import grant_changes, granted, show_grants

RESULTS_VIEW = "penstock_results"
"""What hooks after a run read of its models."""
_COLUMNS = ("model", "status", "reason", "rows", "seconds", "error")
_OF_SESSION = re.compile(
    r"(?is)(\s|--[^\n]*\n|/\*.*?\*/)*"
    r"(set|reset|use|add|declare|create\s+(or\s+replace\s+)?(global\s+)?temp(orary)?)\b"
)
"""Statements that matter to their session only."""
_HINTS = {
    HookMoment.BEFORE: "correct the hook, and run again; nothing of the step was written",
    HookMoment.AFTER: "the rows are in the table; correct the hook, then: penstock recover",
    HookMoment.START: "correct the hook, and run again; no step was run",
    HookMoment.END: "correct the hook; it runs again after the next run that has steps",
}


class _NoGrantsError(Exception):
    """The catalog does not know rights."""


@dataclass(frozen=True, slots=True)
class _Action:
    """One hook, or the grants of a model, as something to run in a session."""

    text: str
    where: Location
    run: Callable[[StepSession, HookRecord, bool], None]


def _actions(services: Services, hooks: Iterable[Hook], model: Model | None) -> list[_Action]:
    def run(hook: Hook, session: StepSession, record: HookRecord, exists: bool) -> None:  # noqa: FBT001  as `run` of actions
        text = hook.incremental if exists else hook.text
        sql = hook_sql(services.project, text, model, record.run_timestamp)
        if sql.strip():
            session.rows(sql)

    shown = partial(shown_hook, services.project)
    return [_Action(shown(each, model), each.where, partial(run, each)) for each in hooks]


def _after(services: Services, model: Model) -> list[_Action]:
    """Return what is to run after each step of a model, its grants last."""
    found = _actions(services, model.hooks.after, model)
    if model.grants is not None and services.project.target.catalog:
        run = partial(_grant, services, model)
        found.append(_Action(shown_grants(model.grants), model.where, run))
    return found


def _grant(
    services: Services, model: Model, session: StepSession, _record: HookRecord, _exists: object
) -> None:
    table = services.project.sql_of(model.table)
    try:
        has = granted(session.rows(show_grants(table)))
    except QueryError as error:
        raise _NoGrantsError(error.sentence) from error
    for statement in grant_changes(table, model.grants or (), has):
        session.rows(statement)


def _run(
    services: Services, session: StepSession, action: _Action, record: HookRecord, *, exists: bool
) -> HookRecord:
    """Run one action and record how it ended."""
    started, clock = services.clock.now(), time.monotonic()
    status, failure = Status.SUCCESS, None
    try:
        action.run(session, record, exists)
    except (SparkDiedError, InterruptedRunError):
        raise  # it stays as it is on record: nobody knows whether it ran
    except _NoGrantsError as error:
        status = Status.SKIPPED
        sentence = f"the catalog of target {services.project.target.name} knows no grants: {error}"
        hint = "delete grants, or use a catalog that knows them, such as Unity Catalog"
        failure = StepFailure("grants-not-supported", sentence, str(action.where), hint)
    except PenstockError as error:
        status = Status.FAILED
        of = f" of {record.model}" if record.model else ""
        sentence = f"the hook {record.moment}{of} failed: {action.text}: {error.sentence}"
        failure = StepFailure("hook-failed", sentence, str(action.where), _HINTS[record.moment])
    if services.fault is not None:
        services.fault("after-hook")
    took = int((time.monotonic() - clock) * 1000)
    ended = replace(record, status=status, failure=failure, started=started, duration_ms=took)
    services.writing.hooks.note([ended])
    return ended


def _run_all(
    services: Services,
    session: StepSession,
    actions: Sequence[_Action],
    blank: HookRecord,
    *,
    exists: bool = False,
) -> tuple[HookRecord, ...]:
    """Run actions in order, up to the first that fails."""
    found: list[HookRecord] = []
    for number, action in enumerate(actions):
        record = replace(blank, number=number, text=action.text)
        found.append(_run(services, session, action, record, exists=exists))
        if not found[-1].ok:
            break
    return tuple(found)


def _blank(intent: Intent, moment: HookMoment) -> HookRecord:
    stamp = intent.run_timestamp
    return HookRecord(intent.run, moment, 0, "", stamp, step=intent.step, model=intent.model)


def run_before(state: StepState) -> StepState:
    """Run the hooks before a step in its session; if one fails, the step does not begin.

    They come before the pins: the step reads what they wrote. If the step is run again, for other
    rows of its template or after another writer, only those run again that prepare its session.
    """
    run, intent, hooks = state.run, state.intent, state.run.model.hooks.before
    if not hooks:
        return state
    run.committer.await_target(intent)
    run = open_session(run)
    with run.committer.rejecting(intent):
        exists = bool(intent.uri) and run.services.log.head(intent.uri) is not None
        if run.step.key in run.context.hooked:
            texts = ((each, each.incremental if exists else each.text) for each in hooks)
            hooks = tuple(each for each, text in texts if _OF_SESSION.match(text))
        actions = _actions(run.services, hooks, run.model)
        blank = _blank(intent, HookMoment.BEFORE)
        found = _run_all(run.services, run.committer.session, actions, blank, exists=exists)
        run.context.hooks += found
        for each in found:
            if not each.ok and (failure := each.failure) is not None:
                where = actions[each.number].where
                raise HookError(failure.code, failure.message, where=where, hint=failure.hint)
        run.context.hooked.add(run.step.key)
    return replace(state, run=run)


def promise_after(state: StepState) -> None:
    """Record the hooks after a step before it begins, so that no crash can lose them."""
    actions = _after(state.run.services, state.run.model)
    blank = _blank(state.intent, HookMoment.AFTER)
    hooks = [replace(blank, number=n, text=each.text) for n, each in enumerate(actions)]
    if hooks:
        state.run.services.writing.hooks.note(hooks)


def run_after(state: StepState) -> StepState:
    """Run the hooks after a recorded step; one that fails is reported, and the rows stay.

    A step whose rows failed a check has none.
    """
    run, ended, intent = state.run, state.ended, state.intent
    actions = _after(run.services, run.model)
    if ended is None or not actions:
        return state
    blank = _blank(intent, HookMoment.AFTER)
    if ended.checked is not None and ended.checked.failure is not None:
        left = [
            replace(blank, number=n, text=each.text, status=Status.SKIPPED)
            for n, each in enumerate(actions)
        ]
        run.services.writing.hooks.note(left)
        return state
    exists = intent.base_version is not None
    found = _run_all(run.services, run.committer.session, actions, blank, exists=exists)
    run.context.hooks += found
    _postpone(run.services, actions, found[-1], blank)
    return state


def _postpone(
    services: Services, actions: Sequence[_Action], last: HookRecord, blank: HookRecord
) -> None:
    """Record hooks behind one that failed as failed, so that the target is free for others."""
    left = [
        replace(blank, number=n, text=each.text, status=Status.FAILED, failure=last.failure)
        for n, each in enumerate(actions)
        if n > last.number
    ]
    if left and not last.ok:
        services.writing.hooks.note(left)


def retry_hooks(services: Services) -> tuple[HookRecord, ...]:
    """Run hooks that are due after recorded steps, as the project has them now.

    One run of a hook settles it for all steps of its model. Hooks that the model no longer has are
    dropped; those of tables that another run may be writing are left to it.
    """
    due = services.reading.hooks.due() if services.has_state() else ()
    if not due:
        return ()
    held = _tables_in_use(services)
    by_model: dict[str, list[HookRecord]] = {}
    for each in due:
        by_model.setdefault(each.model, []).append(each)
    found: list[HookRecord] = []
    for name, records in by_model.items():
        model = services.project.models.get(name)
        actions = _after(services, model) if model is not None else []
        gone = [each for each in records if each.number >= len(actions)]
        dropped = [replace(each, status=Status.SKIPPED, failure=None) for each in gone]
        services.writing.hooks.note(dropped)
        left = [each for each in records if each.number < len(actions)]
        if model is not None and left and str(model.table) not in held:
            services.engine.require()
            found += on_worker(services, partial(_retry, services, model, actions, left))
    return tuple(found)


def _retry(
    services: Services, model: Model, actions: Sequence[_Action], due: Sequence[HookRecord]
) -> list[HookRecord]:
    found = []
    steps = services.reading.runs.steps_of((), 0, ran={each.run for each in due})
    bases = {each.intent.step: each.intent.base_version for each in steps}
    with services.engine.session(model.name, model.where) as session:
        for number in sorted({each.number for each in due}):
            *older, newest = (each for each in due if each.number == number)
            record = replace(newest, text=actions[number].text)
            exists = bases.get(record.step) is not None
            ended = _run(services, session, actions[number], record, exists=exists)
            found.append(ended)
            if not ended.ok:
                break
            settled = [replace(each, status=ended.status, failure=None) for each in older]
            services.writing.hooks.note(settled)
    return found


def grant_again(
    services: Services, names: Sequence[str], blank: HookRecord
) -> tuple[HookRecord, ...]:
    """Apply changed `grants` as if they had run after the last step of each model.

    One that fails is due like any hook after a step. Tables that another run writes are left to
    the next plan.
    """
    if not names:
        return ()
    services.engine.require()
    held, models = _tables_in_use(services), [services.project.models[name] for name in names]
    free = (each for each in models if str(each.table) not in held)
    return tuple(on_worker(services, partial(_grant_again, services, m, blank)) for m in free)


def _tables_in_use(services: Services) -> set[str]:
    """Return the tables that another run may be writing."""
    taken = services.writing.leases.taken()
    return {lease.target for lease in taken if may_write(services, lease)}


def _grant_again(services: Services, model: Model, blank: HookRecord) -> HookRecord:
    *before, action = _after(services, model)
    step, number = last_success(services, model.name), len(before)
    record = replace(blank, number=number, text=action.text, step=step, model=model.name)
    with services.engine.session(model.name, model.where) as session:
        return _run(services, session, action, record, exists=True)


def recover_by_hand(services: Services, step: str | None, *, committed: bool) -> Recovery:
    """Settle one open step as decided; without `step` all of them, and run hooks that are due."""
    if step is not None:
        return Recovery((settle_as(services, step, committed=committed),))
    return replace(recover(services), hooks=retry_hooks(services))


def retried_text(record: HookRecord) -> str:
    """Return the sentence about a hook that was run for an earlier step."""
    state = "ran" if record.ok else "failed again"
    return f"hook after step {record.step} of {record.model} {state}: {record.text}"


def project_hooks(
    services: Services, run: HookRecord, results: Sequence[ModelResult] | None = None
) -> tuple[HookRecord, ...]:
    """Run the hooks of the project before a run, or with its results those after it."""
    hooks = services.project.hooks
    chosen = hooks.before if results is None else hooks.after
    if not chosen:
        return ()
    if results is not None:
        run = replace(run, moment=HookMoment.END)
    actions = _actions(services, chosen, None)

    def work() -> tuple[HookRecord, ...]:
        with services.engine.session(services.project.name) as session:
            if results is not None:
                session.define(RESULTS_VIEW, results_sql(results))
            return _run_all(services, session, actions, run)

    try:
        return on_worker(services, work)
    except PenstockError as error:  # the results of steps must not be lost
        failure = StepFailure.of(services.cause_of(error))
        return (replace(run, status=Status.FAILED, text=actions[0].text, failure=failure),)


def results_sql(results: Sequence[ModelResult]) -> str:
    """Return a query whose rows are the results of a run, one per step."""
    names = ", ".join(_COLUMNS)
    rows = ", ".join(
        f"({literal(each.name)}, {literal(each.status)}, {literal(each.reason)}, "
        f"{each.rows.written}L, {each.duration}D, "
        f"{literal(each.error.sentence) if each.error else 'CAST(NULL AS STRING)'})"
        for each in results
    )
    if not rows:
        empty = ("''", "''", "''", "0L", "0D", "''")
        return f"SELECT * FROM VALUES ({', '.join(empty)}) AS t({names}) WHERE false"
    return f"SELECT * FROM VALUES {rows} AS t({names})"
