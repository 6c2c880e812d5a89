"""Building a target: stages, the one commit, and the checks ahead of it or after it."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.checking.watch import Watch
from penstock.app.execution.commit import Committer, Ended
from penstock.app.preparing.statements import decide
from penstock.core.engine_ports import StepSession
from penstock.core.statement import Work
from penstock.core.step import Intent


def build(  # the sides of one step
    committer: Committer,
    session: StepSession,
    intent: Intent,
    work: Work,
    late: int | None = None,
    watch: Watch | None = None,
) -> Ended:
    """Run the stages, then the one commit; then write down what that commit did.

    With a `watch` its rows are checked before the commit or after it. Rows that are held back make
    no commit, and an end that is told, not raised.
    """
    begun = committer.begin(watch.promised(intent) if watch else intent)
    committer.fault("after-begin")
    if watch is None:
        return _unwatched(committer, session, begun, work, late)
    try:
        how = _held if watch.blocks else _watched
        return how(committer, session, begun, work, late, watch)
    finally:
        watch.clean(begun)


def build_nothing(
    committer: Committer, intent: Intent, late: int | None, watch: Watch | None
) -> Ended:
    """Record a step whose windows are empty: no statement, no commit, new pins."""
    begun = committer.begin(watch.promised(intent) if watch else intent)
    checked = None
    if watch is not None:
        with committer.failing(begun):
            checked = watch.unchanged(begun)
        committer.record(begun, checked)
    return committer.finish(begun, committer.unchanged(begun, late), checked)


def _unwatched(
    committer: Committer, session: StepSession, begun: Intent, work: Work, late: int | None
) -> Ended:
    with committer.failing(begun):
        decided = decide(session, work, committer.where)
    return committer.finish(begun, committer.made(session, begun, decided, late))


def _held(  # the sides of one step
    committer: Committer,
    session: StepSession,
    begun: Intent,
    work: Work,
    late: int | None,
    watch: Watch,
) -> Ended:
    """Write, look, publish: nothing of a group that failed ever is in the table."""
    with committer.failing(begun):
        decided = decide(session, work, committer.where)
        held = watch.hold(begun, decided)
        committer.fault("after-evaluating")
    committer.record(begun, held.checked)
    committer.fault("after-checks")
    if held.statement is None and held.checked.failure is not None:
        return committer.fail(begun, late, held.checked, held.checked.failure)
    if held.statement is not None and watch.prepare is not None:
        with committer.failing(begun):
            begun = replace(begun, base_version=watch.prepare())
    published = replace(decided, statement=held.statement)
    return committer.finish(begun, committer.made(session, begun, published, late), held.checked)


def _watched(  # the sides of one step
    committer: Committer,
    session: StepSession,
    begun: Intent,
    work: Work,
    late: int | None,
    watch: Watch,
) -> Ended:
    """Commit, then look. A look that cannot end leaves the step for the next command."""
    with committer.failing(begun):
        decided, observed = watch.passing(decide(session, work, committer.where))
    outcome = committer.made(session, begun, decided, late)
    checked = watch.look(begun, outcome, decided, observed)
    committer.record(begun, checked)
    committer.fault("after-checks")
    return committer.undo(session, committer.finish(begun, outcome, checked))
