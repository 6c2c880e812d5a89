"""What `status` says of checks: flags, what is kept, what was never looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.app.checking.verdicts import shown
from penstock.app.drift_reports import ModelStatus
from penstock.app.shop import Shop
from penstock.core.check_results import Flag
from penstock.core.model import Model
from penstock.core.ports import Records
from penstock.core.project import Project

_SHOWN = 3

Lines = Mapping[str, tuple[str, ...]]


def check_lines(shop: Shop, project: Project) -> Lines:
    """Give what is to be said of each model; models of which nothing is are left out."""
    records = shop.reading.records
    found: dict[str, list[str]] = {}
    for each in records.unsettled():
        what = "a rollback is due" if each.checked is not None else "checks pending"
        found.setdefault(each.step.intent.model, []).append(f"{what}: step {each.step.intent.step}")
    flags: dict[str, list[Flag]] = {}
    for flag in records.flags():
        flags.setdefault(flag.model, []).append(flag)
    for name, open_flags in flags.items():
        found.setdefault(name, []).append(_flagged(open_flags))
    for kept in records.quarantines():
        model = project.models.get(kept.model)
        keys = shown(model.grid, kept.failed) if model else ""
        rows = "1 row" if kept.rows == 1 else f"{kept.rows:,} rows"
        found.setdefault(kept.model, []).append(
            f"quarantine: {kept.table}{f' {keys}' if keys else ''} "
            f"({rows}, until {kept.expires.date().isoformat()})"
        )
    _unevaluated(records, project, found)
    return {name: tuple(lines) for name, lines in found.items()}


def with_lines(told: ModelStatus, lines: Lines) -> ModelStatus:
    """Add the lines of a model to its status."""
    more = lines.get(told.model, ())
    return replace(told, lines=(*told.lines, *more)) if more else told


def _flagged(flags: list[Flag]) -> str:
    steps = list(dict.fromkeys(flag.step for flag in flags))
    names = list(dict.fromkeys(name for flag in flags for name in flag.checks))
    keys = list(dict.fromkeys(flag.partition for flag in flags if flag.partition != "*"))
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    where = f", {', '.join(keys[:_SHOWN])}{more}" if keys else ""
    count = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    return f"flagged: {count} ({steps[0]}{where}): {', '.join(names)}"


def _unevaluated(records: Records, project: Project, found: dict[str, list[str]]) -> None:
    """Count checks of built models whose text was never evaluated."""
    written = {name: _definitions(model) for name, model in project.models.items()}
    if not any(written.values()):
        return
    known = records.evaluated()
    built = {name for name, record in records.models().items() if record.last_step_seq}
    for name, definitions in written.items():
        missing = len(definitions - known.get(name, frozenset()))
        if missing and name in built:
            count = "1 check" if missing == 1 else f"{missing} checks"
            line = f"{count} not yet evaluated (run: penstock check --query {name})"
            found.setdefault(name, []).append(line)


def _definitions(model: Model) -> set[str]:
    sets = [version.checks for version in model.versions] or [model.checks]
    return {check.definition for checks in sets for check in checks.all}
