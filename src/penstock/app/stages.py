"""Running the stages of a step, holding their rules, and deciding on its statement."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.engine_ports import StepSession
from penstock.core.errors import DataError
from penstock.core.findings import Location
from penstock.core.statement import Commit, Row, Scalar, Stage, Work


@dataclass(frozen=True, slots=True)
class Decided:
    """The statement that a step's work came to, None for nothing to write, and what it has seen."""

    work: Work
    statement: Commit | None
    seen: Row


def decide(session: StepSession, work: Work, where: Location | None) -> Decided:
    """Run the stages of a step and decide what it writes."""
    seen = staged(session, work, where)
    return Decided(work, work.decide(seen), seen)


def staged(session: StepSession, work: Work, where: Location | None) -> Row:
    """Run the stages of a step and hold their rules; give their looks as one row."""
    seen: dict[str, Scalar] = {}
    for stage in work.stages:
        if stage.when and not seen.get(stage.when):
            continue
        look = session.stage(stage)
        hold(session, stage, look, where)
        seen |= look
    return seen


def hold(session: StepSession, stage: Stage, look: Row, where: Location | None) -> None:
    """Hold a stage's rules against its look; every broken one is in the error, with samples."""
    broken = []
    for rule in stage.rules:
        count = int(look.get(rule.count) or 0)
        if count:
            samples = ", ".join(session.sample(rule.samples)) if rule.samples else ""
            count = int(session.look(rule.tally)["n"] or 0) if rule.tally else count
            told = rule.sentence.replace("{count}", str(count))  # names may hold braces
            broken.append((rule, told.replace("{samples}", samples)))
    if broken:
        first, sentence = broken[0]
        others = [f"{rule.code}: {text} ({rule.hint})" for rule, text in broken[1:]]
        raise DataError(first.code, "; ".join([sentence, *others]), where=where, hint=first.hint)
