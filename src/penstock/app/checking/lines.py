"""What `status` says of checks: flags, what is kept, what was never looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.app.checking.unevaluated import unevaluated_lines
from penstock.app.drift_reports import ModelStatus
from penstock.app.shop import Shop
from penstock.core.check_results import Flag
from penstock.core.model import Model
from penstock.core.partition import shown_ranges
from penstock.core.project import Project
from penstock.core.words import some

_SHOWN = 3

Lines = Mapping[str, tuple[str, ...]]


def check_lines(shop: Shop, project: Project) -> Lines:
    """Give what is to be said of each model; models of which nothing is are left out."""
    checks = shop.reading.checks
    found: dict[str, list[str]] = {}
    for each in checks.unsettled():
        found.setdefault(each.step.intent.model, []).append(each.sentence)
    flags: dict[str, list[Flag]] = {}
    for flag in checks.flags():
        flags.setdefault(flag.model, []).append(flag)
    for name, open_flags in flags.items():
        found.setdefault(name, []).append(_flagged(open_flags))
    for kept in checks.quarantines():
        model = project.models.get(kept.model)
        keys = shown_ranges(model.grid, kept.failed) if model else ""
        rows = "1 row" if kept.rows == 1 else f"{kept.rows:,} rows"
        found.setdefault(kept.model, []).append(
            f"quarantine: {kept.table}{f' {keys}' if keys else ''} "
            f"({rows}, until {kept.expires.date().isoformat()})"
        )
    for model in project.models.values():
        failed = _failed_gates(shop, model) if model.is_view and model.all_checks else ""
        if failed:
            found.setdefault(model.name, []).append(failed)
    for name, line in unevaluated_lines(shop, project):
        found.setdefault(name, []).append(line)
    return {name: tuple(lines) for name, lines in found.items()}


def with_lines(told: ModelStatus, lines: Lines) -> ModelStatus:
    """Add the lines of a model to its status."""
    more = lines.get(told.model, ())
    return replace(told, lines=(*told.lines, *more)) if more else told


def _failed_gates(shop: Shop, view: Model) -> str:
    """Say which gates of a view failed when somebody other than its own step looked last."""
    records = shop.reading.checks.checks_of(view.name, None, len(view.all_checks))
    newest = [each for each in records if (each.run, each.step) == (records[0].run, "")]
    gates = [each.result for each in newest if each.result.failed_gate]
    if not gates:
        return ""
    when = f"{newest[0].started:%Y-%m-%d %H:%M:%S} UTC"
    told = some([f"{gate.name}: {gate.message}" for gate in gates], _SHOWN, "; ")
    return f"gate failed at {when}: {told}; what reads {view.name} is not built"


def _flagged(flags: list[Flag]) -> str:
    steps = list(dict.fromkeys(flag.step for flag in flags))
    names = list(dict.fromkeys(name for flag in flags for name in flag.checks))
    keys = list(dict.fromkeys(flag.partition for flag in flags if flag.partition != "*"))
    where = f", {some(keys, _SHOWN)}" if keys else ""
    count = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    return f"flagged: {count} ({steps[0]}{where}): {', '.join(names)}"
