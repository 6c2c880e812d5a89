"""Taking back what failed a gate: one RESTORE as a step of its own (spec/checks.md §5.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.app.shop import Shop
from penstock.core.check_results import Checked
from penstock.core.checks import OnFailure
from penstock.core.facts import Touched
from penstock.core.statement import Commit
from penstock.core.step import Intent, StepKind
from penstock.strategies.reshape import restore


@dataclass(frozen=True, slots=True)
class Undoing:
    """The step that undoes another: what it intends and what it runs."""

    intent: Intent
    statement: Commit


def refused_by_others(shop: Shop, intent: Intent, checked: Checked) -> Checked:
    """Give a failure that must be undone as a flag where others have written since."""
    if checked.mode is not OnFailure.ROLLBACK or checked.failure is None or not intent.uri:
        return checked
    if checked.version is None or foreign_after(shop, intent, checked.version) is None:
        return checked
    return replace(checked, mode=OnFailure.FLAG)


def kept_by_others(shop: Shop, intent: Intent, checked: Checked) -> Checked:
    """Settle a failure that was to be undone as a flag; nothing is written where it is one."""
    if checked.mode is OnFailure.FLAG:
        return checked
    flagged = replace(checked, mode=OnFailure.FLAG)
    shop.writing.journal.settle_checks(intent.step, flagged)
    return flagged


def foreign_after(shop: Shop, intent: Intent, version: int) -> Touched | None:
    """Give the first change of rows by anybody after a version of the target."""
    commits = shop.places.touched(intent.uri, version, {}, partial=True)
    return next((each for each in commits if each.step != intent.step), None)


def undoing(shop: Shop, intent: Intent, version: int, step_seq: int) -> Undoing:
    """Give the step that brings the target back to what it was before a version.

    Nobody may write in between: their rows would be undone too.
    """
    head = shop.log.head(intent.uri)
    made = replace(
        intent,
        step=shop.clock.new_id(),
        kind=StepKind.ROLLBACK,
        reason=f"rollback: {intent.step} failed its checks",
        triggered_by="rollback",
        inputs=(),
        windows=(),
        watermarks=(),
        lowers_watermarks=False,
        base_version=head.version if head else None,
        restores=step_seq,
        step_seq=0,
        on_failure=str(OnFailure.ROLLBACK),
    )
    statement = restore(shop.project.sql_of(intent.table), version - 1)
    return Undoing(made, replace(statement, exclusive=True))


def refused_words(model: str, version: int, foreign: Touched) -> str:
    """Say that rows stay because others wrote after them."""
    told = f"version {foreign.version} ({foreign.operation}, not ours)"
    return (
        f"rollback-refused: {model}: {told} lies after version {version}; rows stay and are flagged"
    )
