"""Checks of built models whose text was never evaluated, and the command that does it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from penstock.app.shop import Shop
from penstock.core.checks import Checks
from penstock.core.model import Model
from penstock.core.ports import Records
from penstock.core.project import Project
from penstock.core.ranges import Ranges, intersection, merged
from penstock.plan.resolve import due, resolve


def unevaluated_lines(shop: Shop, project: Project) -> Iterator[tuple[str, str]]:
    """Count such checks of each model, of versions that its partitions are made by.

    The command names partitions where the newest one alone would leave checks out.
    """
    records, moment = shop.reading.records, shop.clock.now()
    models = [model for model in project.models.values() if any(map(_texts, _sets(model)))]
    known = shop.reading.checks.evaluated() if models else {}
    built = records.models() if models else {}
    for model in models:
        record = built.get(model.name)
        seen = known.get(model.name, frozenset())
        if record is None or not record.last_step_seq or _all_of(model) <= seen:
            continue
        missing = _missing(model, records, seen, moment)
        if missing:
            number = len({text for texts in missing.values() for text in texts})
            count = "1 check" if number == 1 else f"{number} checks"
            words = f"penstock check --query {model.name}{_range(model, tuple(missing), moment)}"
            yield model.name, f"{count} not yet evaluated (run: {words})"


def _missing(
    model: Model, records: Records, seen: frozenset[str], moment: dt.datetime
) -> dict[int, frozenset[str]]:
    """Give what was never evaluated by the newest built partition that has it."""
    if model.partition is None:
        left = _texts(model.checks_of(model.fingerprint.version)) - seen
        return {0: left} if left else {}
    built = merged((run.low, run.high) for run in records.runs(model.name) if run.step_seq)
    found: dict[int, frozenset[str]] = {}
    for segment in reversed(resolve(model, moment.date(), built)):
        left = _texts(segment.version.checks).difference(seen, *found.values())
        here: Ranges = intersection(built, (segment.range,))
        if left and here:
            found[here[-1][1]] = left
    return found


def _range(model: Model, partitions: tuple[int, ...], moment: dt.datetime) -> str:
    """Give the flags that name partitions; none where that is the newest due one."""
    there = due(model, moment) if model.partition else ()
    if model.partition is None or (there and partitions == (there[-1][1],)):
        return ""
    first, last = (model.grid.key(each) for each in (min(partitions), max(partitions)))
    return f" --partition {first}" if first == last else f" --from {first} --to {last}"


def _sets(model: Model) -> list[Checks]:
    return [version.checks for version in model.versions] or [model.checks]


def _texts(checks: Checks) -> frozenset[str]:
    return frozenset(check.definition for check in checks.all)


def _all_of(model: Model) -> frozenset[str]:
    return frozenset().union(*map(_texts, _sets(model)))
