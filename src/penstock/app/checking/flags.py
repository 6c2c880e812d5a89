"""What failed gates leave: staged rows, flags, quarantines; and their lines in `status`."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from penstock.app.checking.results import AcceptReport, is_of_the_job, reason_of
from penstock.app.reports import ModelStatus
from penstock.app.services.services import Services, user_name
from penstock.core.check_results import Flag, InvariantReport, Quarantine
from penstock.core.checks.check import Check, Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.core.errors import DataError, QueryError, UsageError
from penstock.core.findings import some
from penstock.core.model import Model
from penstock.core.names import TableName
from penstock.core.partitions.partition import shown_ranges
from penstock.core.partitions.ranges import Ranges, difference, holds, intersection, merged
from penstock.core.ports.engine import StepSession
from penstock.core.project import Project
from penstock.core.records import ModelRecord, PartitionRun
from penstock.core.steps.step import Intent
from penstock.plan.resolve import due_partitions, resolve
from penstock.state.transitions.model_state import RECOVER
from penstock.strategies.checks.literals import amount

_PLAIN = re.compile(r"[^A-Za-z0-9_]")
_LONGEST = 180
_STEP = re.compile("[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def staging_root(services: Services) -> str:
    """Return the folder of everything that is staged or in quarantine."""
    warehouse = services.project.target.warehouse.rstrip("/")
    return f"{warehouse}/{services.project.checks.staging_schema}"


def staging_folder(services: Services, table: TableName, step: str) -> str:
    """Return the folder of one step's staged rows; it is removed when the step ends."""
    return f"{staging_root(services)}/{table.schema}__{table.table}__{step}"


def quarantine_of(services: Services, intent: Intent, failed: Ranges) -> Quarantine:
    """Return where the rows of groups that failed a gate are kept, and until when."""
    settings, table = services.project.checks, intent.table
    name = f"{table.schema}__{table.table}__{intent.step.replace('-', '')}"
    return Quarantine(
        step=intent.step,
        model=intent.model,
        uri=f"{staging_root(services)}/{name}",
        table=f"{settings.staging_schema}.{name}",
        failed=failed,
        rows=0,
        expires=services.clock.now() + dt.timedelta(days=settings.quarantine_days),
    )


def keeps_rows(services: Services, model: Model) -> bool:
    """Return whether failed rows are kept; a view has none."""
    return services.project.checks.quarantine_days > 0 and not model.is_view


def keep_failures(
    services: Services, session: StepSession, model: Model, check: Check, sql: str
) -> str:
    """Recreate the table of a check's failing rows, or with "" drop it; return its location.

    The table is optional: if it cannot be written, the result stays and includes the reason.
    """
    table, phase = model.table, "before__" if check.phase is Phase.BEFORE else ""
    name = _PLAIN.sub("_", f"failures__{table.schema}__{table.table}__{phase}{check.name}")
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}_{check.definition[:8]}"
    uri = f"{staging_root(services)}/{name}"
    services.folders.drop(uri)
    if not sql:
        return ""
    try:
        rows = session.side_tables.write_table(sql, uri)
    except (QueryError, DataError) as error:
        if is_of_the_job(error):
            raise
        return f"rows not kept: {reason_of(error, check, ran=True)}"
    return f"{amount(rows, 'row')} kept in {services.project.checks.staging_schema}.{name}"


def drop_staged(services: Services, table: TableName, step: str) -> None:
    """Remove the staged rows of a step."""
    services.folders.drop(staging_folder(services, table, step))


def sweep(services: Services) -> None:
    """Remove files of dead steps, and expired quarantines.

    A warehouse may hold tables of other projects or stores: files of a step that this store never
    began belong to them.
    """
    root = staging_root(services)
    ends = {name: name.rpartition("__")[2] for name in services.folders.names(root)}
    staged = {name: str(uuid.UUID(end)) for name, end in ends.items() if _STEP.fullmatch(end)}
    if not staged:
        return
    journal, now = services.writing.journal, services.clock.now()
    quarantines = services.writing.checks.quarantines()
    running = {record.intent.step for record in journal.running()}
    kept = {each.step for each in quarantines if each.expires > now}
    ours = services.writing.checks.known_steps(set(staged.values()))
    for name, step in staged.items():
        is_quarantine = name.endswith(step.replace("-", ""))
        if step in ours and step not in running and not (step in kept and is_quarantine):
            services.folders.drop(f"{root}/{name}")
    for each in quarantines:
        if each.expires <= now:
            journal.keep_quarantine(each.step, None)


def drop_repeated(services: Services, model: Model, newest: Quarantine) -> None:
    """Remove quarantines whose rows are held back again, of steps whose run died.

    Those were never reported. What a run promised to keep stays until it expires.
    """
    for each in services.writing.checks.quarantines():
        is_older = each.model == model.name and each.step != newest.step
        if not (is_older and each.failed) or difference(each.failed, newest.failed):
            continue
        key = model.grid.key(each.failed[0][0])
        found = services.writing.records.history(model.name, None, key)
        if any((past.step, past.triggered_by) == (each.step, RECOVER) for past in found):
            _remove(services, each)


def _remove(services: Services, each: Quarantine) -> None:
    services.folders.drop(each.uri)
    services.writing.journal.keep_quarantine(each.step, None)


def accept(services: Services, step: str, reason: str) -> AcceptReport:
    """Close the open flags of a step, given by any unique prefix of its id.

    Raises `unknown-step`; a reason is required because the history keeps it.
    """
    if not reason.strip():
        raise UsageError("missing-key", "--accept needs --reason", hint="--reason 'why it is good'")
    flags = services.reading.checks.flags()
    known = sorted({flag.step for flag in flags if flag.step.startswith(step)}) if step else []
    if len(known) != 1:
        why = f"{len(known)} steps begin so" if known else "no step with an open flag begins so"
        raise UsageError("unknown-step", f"{step!r}: {why}", hint="penstock status shows the flags")
    chosen = tuple(flag for flag in flags if flag.step == known[0])
    services.writing.journal.close_flags(chosen, reason, user_name())
    return AcceptReport(flags=chosen)


def drop_quarantine(services: Services, step: str) -> AcceptReport:
    """Remove the quarantined rows of a step, or of `all` steps; raise `unknown-step`."""
    kept = services.reading.checks.quarantines()
    chosen = kept if step == "all" else tuple(q for q in kept if step and q.step.startswith(step))
    if step != "all" and len({each.step for each in chosen}) != 1:
        raise UsageError(
            "unknown-step",
            f"{step!r} names no quarantine",
            hint="penstock status lists them; --drop-quarantine all drops every one",
        )
    for each in chosen:
        _remove(services, each)
    return AcceptReport(quarantines=chosen)


def close_passed(
    services: Services, model: Model, report: InvariantReport, partitions: Ranges
) -> None:
    """Close the flags of partitions that were checked again and pass every check that failed."""
    by_name = {each.name: each for each in report.after if each.status is not CheckStatus.SKIPPED}

    def passes(flag: Flag) -> bool:
        found = [by_name.get(name) for name in flag.checks]
        here = ((flag.ord, flag.ord),)
        return all(
            each and not (each.failed_gate and each.failed_ords(model.grid, here)) for each in found
        )

    flags = [
        flag
        for flag in services.writing.checks.flags()
        if flag.model == model.name and holds(partitions, flag.ord) and passes(flag)
    ]
    if flags:
        services.writing.journal.close_flags(flags, "penstock check", user_name())


_SHOWN = 3

Lines = Mapping[str, tuple[str, ...]]


def check_lines(services: Services, project: Project, built: Mapping[str, ModelRecord]) -> Lines:
    """Return the lines about checks of each model, without models that have none."""
    checks = services.reading.checks
    found: dict[str, list[str]] = defaultdict(list)
    for each in checks.unsettled():
        found[each.step.intent.model].append(each.sentence)
    flags: dict[str, list[Flag]] = defaultdict(list)
    for flag in checks.flags():
        flags[flag.model].append(flag)
    for name, open_flags in flags.items():
        found[name].append(_flagged(open_flags))
    for kept in checks.quarantines():
        model = project.models.get(kept.model)
        keys = shown_ranges(model.grid, kept.failed) if model else ""
        rows = "1 row" if kept.rows == 1 else f"{kept.rows:,} rows"
        found[kept.model].append(
            f"quarantine: {kept.table}{f' {keys}' if keys else ''} "
            f"({rows}, until {kept.expires.date().isoformat()})"
        )
    for name, line in _failed_gates(services, project):
        found[name].append(line)
    for name, line in _unevaluated(services, project, built):
        found[name].append(line)
    return {name: tuple(lines) for name, lines in found.items()}


def with_lines(status: ModelStatus, lines: Lines) -> ModelStatus:
    """Add the lines of a model to its status."""
    return replace(status, lines=(*status.lines, *lines.get(status.model, ())))


def _failed_gates(services: Services, project: Project) -> Iterator[tuple[str, str]]:
    views = {each.name: len(each.all_checks) for each in project.models.values() if each.is_view}
    checked = {name: number for name, number in views.items() if number}
    known = services.reading.checks.newest_of(checked) if checked else {}
    for name, records in known.items():
        newest = [each for each in records if (each.run, each.step) == (records[0].run, "")]
        gates = [each.result for each in newest if each.result.failed_gate]
        if gates:
            when = f"{newest[0].started:%Y-%m-%d %H:%M:%S} UTC"
            first = some([f"{gate.name}: {gate.message}" for gate in gates], _SHOWN, "; ")
            yield name, f"gate failed at {when}: {first}; models that read {name} are not built"


def _flagged(flags: list[Flag]) -> str:
    steps = list(dict.fromkeys(flag.step for flag in flags))
    names = dict.fromkeys(name for flag in flags for name in flag.checks)
    keys = list(dict.fromkeys(flag.partition for flag in flags if flag.partition != "*"))
    where = f", {some(keys, _SHOWN)}" if keys else ""
    return f"flagged: {amount(len(steps), 'step')} ({steps[0]}{where}): {', '.join(names)}"


def _unevaluated(
    services: Services, project: Project, built: Mapping[str, ModelRecord]
) -> Iterator[tuple[str, str]]:
    """Count the checks that were never evaluated, by model, with the command to do so."""
    records, run_timestamp = services.reading.records, services.clock.now()
    models = project.models
    wanted = {name: _definitions(model.all_checks) for name, model in models.items()}
    known = services.reading.checks.evaluated() if any(wanted.values()) else {}
    open_checks = {
        name: known.get(name, frozenset())
        for name, all_of in wanted.items()
        if name in built and built[name].last_step_seq and not all_of <= known.get(name, set())
    }
    runs = records.runs(*(name for name in open_checks if models[name].partition is not None))
    for name, seen in open_checks.items():
        missing = _missing(models[name], runs.get(name, ()), seen, run_timestamp)
        if missing:
            number = len(frozenset().union(*missing.values()))
            words = f"{name}{_range(models[name], tuple(missing), run_timestamp)}"
            said = f"not yet evaluated (run: penstock check --query {words})"
            yield name, f"{amount(number, 'check')} {said}"


def _missing(
    model: Model,
    runs: Iterable[PartitionRun],
    evaluated: frozenset[str],
    run_timestamp: dt.datetime,
) -> dict[int, frozenset[str]]:
    """Return the checks without a result for the newest built partition that has them."""
    if model.partition is None:
        left = _definitions(model.checks_of(model.fingerprint.version).all) - evaluated
        return {0: left} if left else {}
    built = merged((run.low, run.high) for run in runs if run.step_seq)
    found: dict[int, frozenset[str]] = {}
    for segment in reversed(resolve(model, run_timestamp.date(), built)):
        left = _definitions(segment.version.checks.all).difference(evaluated, *found.values())
        here = intersection(built, (segment.range,))
        if left and here:
            found[here[-1][1]] = left
    return found


def _range(model: Model, partitions: tuple[int, ...], run_timestamp: dt.datetime) -> str:
    there = due_partitions(model, run_timestamp) if model.partition else ()
    if model.partition is None or (there and partitions == (there[-1][1],)):
        return ""
    first, last = (model.grid.key(each) for each in (min(partitions), max(partitions)))
    return f" --partition {first}" if first == last else f" --from {first} --to {last}"


def _definitions(checks: Iterable[Check]) -> frozenset[str]:
    return frozenset(check.definition for check in checks)
