"""What `status` says of checks: flags, what is kept, what was never looked at."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.app.reports import ModelStatus
from penstock.app.services.services import Services
from penstock.core.check_results import Flag
from penstock.core.checks import Checks
from penstock.core.findings import some
from penstock.core.model import Model
from penstock.core.partitions.partition import shown_ranges
from penstock.core.partitions.ranges import Ranges, intersection, merged
from penstock.core.ports.ports import Records
from penstock.core.project import Project
from penstock.plan.resolve import due, resolve


def unevaluated_lines(services: Services, project: Project) -> Iterator[tuple[str, str]]:
    """Count such checks of each model, of versions that its partitions are made by.

    The command names partitions where the newest one alone would leave checks out.
    """
    records, run_timestamp = services.reading.records, services.clock.now()
    models = [model for model in project.models.values() if any(map(_texts, _sets(model)))]
    known = services.reading.checks.evaluated() if models else {}
    built = records.models() if models else {}
    for model in models:
        record = built.get(model.name)
        seen = known.get(model.name, frozenset())
        if record is None or not record.last_step_seq or _all_of(model) <= seen:
            continue
        missing = _missing(model, records, seen, run_timestamp)
        if missing:
            number = len({text for texts in missing.values() for text in texts})
            count = "1 check" if number == 1 else f"{number} checks"
            words = (
                f"penstock check --query {model.name}{_range(model, tuple(missing), run_timestamp)}"
            )
            yield model.name, f"{count} not yet evaluated (run: {words})"


def _missing(
    model: Model, records: Records, seen: frozenset[str], run_timestamp: dt.datetime
) -> dict[int, frozenset[str]]:
    """Give what was never evaluated by the newest built partition that has it."""
    if model.partition is None:
        left = _texts(model.checks_of(model.fingerprint.version)) - seen
        return {0: left} if left else {}
    built = merged((run.low, run.high) for run in records.runs(model.name) if run.step_seq)
    found: dict[int, frozenset[str]] = {}
    for segment in reversed(resolve(model, run_timestamp.date(), built)):
        left = _texts(segment.version.checks).difference(seen, *found.values())
        here: Ranges = intersection(built, (segment.range,))
        if left and here:
            found[here[-1][1]] = left
    return found


def _range(model: Model, partitions: tuple[int, ...], run_timestamp: dt.datetime) -> str:
    """Give the flags that name partitions; none where that is the newest due one."""
    there = due(model, run_timestamp) if model.partition else ()
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


_SHOWN = 3

Lines = Mapping[str, tuple[str, ...]]


def check_lines(services: Services, project: Project) -> Lines:
    """Give what is to be said of each model; models of which nothing is are left out."""
    checks = services.reading.checks
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
        failed = _failed_gates(services, model) if model.is_view and model.all_checks else ""
        if failed:
            found.setdefault(model.name, []).append(failed)
    for name, line in unevaluated_lines(services, project):
        found.setdefault(name, []).append(line)
    return {name: tuple(lines) for name, lines in found.items()}


def with_lines(status: ModelStatus, lines: Lines) -> ModelStatus:
    """Add the lines of a model to its status."""
    more = lines.get(status.model, ())
    return replace(status, lines=(*status.lines, *more)) if more else status


def _failed_gates(services: Services, view: Model) -> str:
    """Say which gates of a view failed when somebody other than its own step looked last."""
    records = services.reading.checks.checks_of(view.name, None, len(view.all_checks))
    newest = [each for each in records if (each.run, each.step) == (records[0].run, "")]
    gates = [each.result for each in newest if each.result.failed_gate]
    if not gates:
        return ""
    when = f"{newest[0].started:%Y-%m-%d %H:%M:%S} UTC"
    first = some([f"{gate.name}: {gate.message}" for gate in gates], _SHOWN, "; ")
    return f"gate failed at {when}: {first}; what reads {view.name} is not built"


def _flagged(flags: list[Flag]) -> str:
    steps = list(dict.fromkeys(flag.step for flag in flags))
    names = list(dict.fromkeys(name for flag in flags for name in flag.checks))
    keys = list(dict.fromkeys(flag.partition for flag in flags if flag.partition != "*"))
    where = f", {some(keys, _SHOWN)}" if keys else ""
    count = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    return f"flagged: {count} ({steps[0]}{where}): {', '.join(names)}"
