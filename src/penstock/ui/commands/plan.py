"""`plan`, `run`, `sync` and `backfill`: show or run a plan."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import indent
from typing import TYPE_CHECKING

from penstock.app.documents import Json, changed_lines, document_of
from penstock.app.flags import Yes
from penstock.app.reports import Keys, ModelResult, Plan, SqlDiff, Step, SyncPreview
from penstock.app.request import AnySync, BackfillRequest, RunRequest, SyncRequest
from penstock.app.run_report import run_document
from penstock.core.masking import mask
from penstock.core.strategy import strategy_named
from penstock.ui.cli.options import ask, command, open_request
from penstock.ui.cli.output import CommandOutput, confirm, overwrite_asker
from penstock.ui.render.diffs import ONLY_SECRETS, diff_text, diffs_text, once
from penstock.ui.render.run import cosmetic_lines, nothing_to_do, run_text, tail
from penstock.ui.render.tables import first_of
from penstock.ui.render.values import (
    ASKED,
    CODE,
    LISTED,
    RANGES,
    WHOLE,
    by_state,
    count,
    error_text,
    label,
    partitions_text,
    ranges_text,
    reason_text,
    seconds,
    size,
    window_text,
)

if TYPE_CHECKING:
    from penstock.app.commands.plan import Preview, SqlChange
    from penstock.app.run_report import RunReport

_STEP = (
    "state=reason.state also=reason.also pending=reason.pending initial upstream "
    "estimate[rows bytes=size_bytes seconds]"
)
_CHECKS = "before after observed scans on_failure skipped of_views"


def plan_text(preview: Preview, *, verbose: bool = False) -> str:
    """Return the numbered steps, blocked models, changes of SQL, and a total.

    At most 50 of each, unless `verbose`; that also adds the SQL of slices.
    """
    plan = preview.report.plan
    if plan.is_empty:
        said = preview.report.said
        return "\n".join([*said, *([] if said and not plan.current else nothing_to_do(plan))])
    limit = None if verbose else LISTED
    changes = once(
        (f"{change.model} will be re-run", f"{CODE[change.kind]} {_changed(change)}")
        for change in preview.changes
        if not change.cosmetic
    )
    pending = sum(step.reason.pending for step in plan.steps)
    total = [f"Total: {count(len(plan.steps), 'step')}"]
    total += [f"{pending} pending"] * bool(pending)
    total += [f"{len(plan.blocked)} cannot be run"] * bool(plan.blocked)
    total += [f"{count(len(plan.current), 'model')} up to date"] * bool(plan.current)
    same = [change.model for change in preview.changes if change.cosmetic]
    blocks = [
        "\n".join(preview.report.said),
        _steps(preview, limit),
        *first_of(changes, limit, "change"),
        blocked_text(plan, limit),
        *(_of_slices(preview) if verbose else ()),
        "\n".join(cosmetic_lines([*plan.cosmetic, *same])),
        "\n".join(mask(line) for line in preview.hooks.get("", ())),
        f"{', '.join(total)}. Nothing was run.",
    ]
    return "\n\n".join(block for block in blocks if block)


def _changed(change: SqlChange) -> str:
    if change.executed == change.resolved:
        return ONLY_SECRETS
    return f"changes detected:\n{diff_text(change.executed, change.resolved)}"


def _steps(preview: Preview, limit: int | None) -> str:
    report = preview.report
    lines = _by_line(report.plan.steps)
    if not lines:
        return ""
    groups, result_of = lines[:limit], results_by_step(report)
    steps = [group[0] for group in groups]
    results = [result_of(step) for step in steps]
    names = max(len(step.model) for step in steps)
    strategies = max(len(result.shown_strategy) for result in results)
    ranges = None if limit is None else RANGES
    keys = ["" if step.keys == WHOLE else ranges_text(step.keys, ranges) for step in steps]
    width = max(map(len, keys))
    shown = []
    for number, (group, result, text) in enumerate(zip(groups, results, keys, strict=True), 1):
        cells = [f"{number:>3}. {result.name:<{names}}", f"{result.shown_strategy:<{strategies}}"]
        cells += [f"{text:<{width}}"] * bool(width)
        notes = [str(preview.checks.get(step.key, "")) for step in group]
        notes += [mask(note) for step in group for note in step.notes]
        notes += [mask(line) for step in group for line in preview.hooks.get(step.key, ())]
        below = [f"     {line}" for line in dict.fromkeys(notes) if line]
        shown.append("\n".join(["  ".join([*cells, *_why(result, group)]), *below]))
    left = len(lines) - len(groups)
    more = [f"and {count(left, 'more step')}"] * bool(left)
    return "\n".join(["Execution plan (topological order):", *shown, *more])


def results_by_step(report: RunReport) -> Callable[[Step], ModelResult]:
    """Return a function that finds the result of a step, or the only result of its model."""
    first: dict[str, ModelResult] = {}
    exact: dict[tuple[str, Keys], ModelResult] = {}
    for result in report.results:
        first.setdefault(result.name, result)
        exact.setdefault((result.name, result.partitions), result)
    return lambda step: exact.get((step.model, step.keys)) or first[step.model]


def _by_line(steps: Iterable[Step]) -> list[list[Step]]:
    """Group the steps of a plan: all passes over a table of a session package are one line."""
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.model if step.work.pass_key else step.key, []).append(step)
    return list(groups.values())


def _why(result: ModelResult, steps: Sequence[Step]) -> Iterator[str]:
    if result.status == "skipped":
        yield f"will be skipped: {result.reason}"
        return
    step = steps[0]
    yield "; ".join(_reasons(steps))
    if step.reason.pending:
        yield "pending"
    if step.reason.also:
        yield f"also {', '.join(map(reason_text, step.reason.also))}"
    if step.work.has_parts:
        yield partitions_text(step.count)
    yield from map(window_text, result.windows)
    if step.initial and not step.work.source and strategy_named(result.strategy).is_incremental:
        yield "reads its inputs whole"
    if step.estimate is not None:
        rows, took = count(step.estimate.rows, "row"), seconds(step.estimate.seconds)
        yield f"about {rows}, {size(step.estimate.size_bytes)}, {took}"


def _reasons(steps: Iterable[Step]) -> Iterator[str]:
    """Yield the reason of each step; a pass that also stitches the table has one."""
    passes: dict[object, list[Step]] = {}
    for step in steps:
        passes.setdefault(step.work.pass_key, []).append(step)
    for first, *more in passes.values():
        why = reason_text(str(first.reason))
        yield f"{why}, then stitch" if more else why


def _of_slices(preview: Preview) -> Iterator[str]:
    for key, sql in preview.sql.items():
        yield f"SQL of {key}, of the columns that are known:\n{indent(mask(sql), '  ')}"


def blocked_text(plan: Plan, limit: int | None) -> str:
    """Return the blocked models with their errors; "" without any."""
    if not plan.blocked:
        return ""
    stopped: dict[str, list[str]] = {}
    for blocked in plan.blocked:
        stopped.setdefault(error_text(blocked.error), []).append(blocked.model)
    shown = []
    for text, models in stopped.items():
        also = f"\n  stops {', '.join(first_of(models, ASKED, 'model'))}" if models[1:] else ""
        shown.append(indent(f"{text}{also}", "  "))
    return "\n".join(["Cannot be run:", *first_of(shown, limit, "error")])


def preview_document(preview: Preview) -> Json:
    """Return the document of a planned run, each step with its plan."""
    changes = {change.model: change for change in preview.changes}
    cosmetic = preview.report.plan.cosmetic

    def planned(result: ModelResult, step: Step | None) -> Mapping[str, Json]:
        if step is None:
            return {"plan": None, "cosmetic": result.name in cosmetic}
        checks, change = preview.checks.get(step.key), changes.get(result.name)
        found = {
            **document_of(step, _STEP),
            "diff": changed_lines(change.executed, change.resolved) if change else [],
            "cosmetic": change.cosmetic if change else False,
            "checks": document_of(checks, _CHECKS) if checks and checks.total else None,
            "hooks": [mask(line) for line in preview.hooks.get(step.key, ())],
        }
        if sql := preview.sql.get(step.key):
            found["sql"] = mask(sql)
        return {"plan": found, "cosmetic": result.name in cosmetic}

    hooks: Json = [mask(line) for line in preview.hooks.get("", ())]
    return {**run_document(preview.report, planned), "run_hooks": hooks}


def sync_text(report: RunReport, *, verbose: bool = False) -> str:
    """Return what drifted, its consequences, the plan, changes of SQL, and a total.

    At most 50 models of each, unless `verbose`; that also lists every step.
    """
    plan, preview = report.plan, report.preview or SyncPreview()
    if plan.is_empty:
        return "\n".join([*nothing_to_do(plan), *tail(preview)])
    limit = None if verbose else LISTED
    drifted = []
    for model in preview.drifted:
        counts = [
            f"{partitions_text(n)} ({state}{', pending' * pending})"
            for state, n, pending in by_state(model.states)
        ]
        if counts:  # a backfill takes what is current, too
            drifted.append(f"  {model.model}: {', '.join(counts)}")
    cascaded = [
        f"  {each.model}: {partitions_text(each.count)} (upstream_changed, pending)\n"
        f"    └── depends on: {', '.join(each.after)}"
        for each in preview.cascaded
    ]
    changed = once(
        (f"{each.model}: {_partitions(each.diffs)} will be re-run", diffs_text(each.diffs, _pair))
        for each in preview.diffs
    )
    steps = list(_models(report, verbose=verbose))
    blocks = [
        "\n".join(report.said),
        _section("Drift detected:", drifted, limit),
        _section("Cascade analysis:", cascaded, limit),
        _section("Execution plan (topological order):", steps, limit),
        *first_of(changed, limit, "change"),
        blocked_text(plan, limit),
        "\n".join(cosmetic_lines(plan.cosmetic)),
        "\n".join([f"Total: {_partitions(plan.steps)}", *tail(preview)]),
    ]
    return "\n\n".join(block for block in blocks if block)


def _pair(diff: SqlDiff) -> str:
    return f"{diff.version}, {partitions_text(diff.count)}"


def _section(title: str, items: Sequence[str], limit: int | None) -> str:
    return "\n".join([title, *first_of(items, limit, "model")]) if items else ""


def _partitions(items: Iterable[Step | SqlDiff]) -> str:
    return partitions_text(sum(each.count for each in items))


def _models(report: RunReport, *, verbose: bool) -> Iterator[str]:
    by_model: dict[str, list[Step]] = {}
    for step in report.plan.steps:
        by_model.setdefault(step.model, []).append(step)
    names = max(map(len, by_model), default=0)
    result_of = results_by_step(report)
    for number, (model, its) in enumerate(by_model.items(), start=1):
        pending = sum(step.count for step in its if step.reason.pending)
        found = [_partitions(its), count(len(its), "step")]
        found += [f"{pending:,} pending"] * bool(pending)
        head = f"{number:>3}. {model:<{names}}  ({', '.join(found)})"
        results = [result_of(step) for step in its]
        if all(result.status == "skipped" for result in results):
            head += f"  will be skipped: {results[0].reason}"
        shown = []
        for step in its if verbose else ():
            parts = [ranges_text(step.keys, None), reason_text(str(step.reason.state))]
            parts += ["pending"] * step.reason.pending
            also = ", ".join(map(reason_text, step.reason.also))
            parts += [f"also {also}"] * bool(also)
            parts += [label(step.version, step.revision)]
            parts += ["one query for the range"] * (step.work.is_range and step.count > 1)
            shown.append(f"     {'  '.join(parts)}")
        notes = dict.fromkeys(f"     {mask(note)}" for step in its for note in step.notes)
        yield "\n".join([head, *shown, *notes])


@command("penstock plan --select +daily_user_stats", without=["dry_run", "catch_up", "max_windows"])
def plan_command(output: CommandOutput, request: RunRequest, *, yes: Yes = False) -> int:  # noqa: ARG001  a run takes it
    """Show what a run would do, and why.

    The same as 'penstock run --dry-run': starts no Spark and writes nothing. Exits 1 if a model
    cannot be run.
    """
    return _plan(output, request)


@command(
    "penstock run --select +daily_user_stats\npenstock run shop --target prod\n"
    "penstock run --select web --catch-up"
)
def run_command(output: CommandOutput, request: RunRequest, *, yes: Yes = False) -> int:
    """Bring tables and views up to date.

    Runs exactly the steps that 'penstock plan' shows and skips what is current. After a failure the
    last line is the command that resumes. Asks before --full-refresh rebuilds a session package.
    """
    if request.dry_run:
        return _plan(output, request)
    if request.catch_up:
        from penstock.app.commands.catch_up import catch_up as run
    else:
        from penstock.app.commands.run import run

    def ask(packages: Sequence[str]) -> bool:
        named = ", ".join(packages)
        return confirm(f"{named}: empty all tables and process all events again?", yes=yes)

    with open_request(request) as services:
        with output.progress(services) as listener:
            report = run(services, request, listener, ask)
        return output.finish(request, report, run_text)


def _plan(output: CommandOutput, request: RunRequest) -> int:
    from penstock.app.commands.plan import preview

    return _show_plan(output, ask(request, preview, request))


def _show_plan(output: CommandOutput, preview: Preview) -> int:

    for note in preview.report.notes:
        output.warn(note)
    text = functools.partial(plan_text, verbose=output.verbose)
    output.print(preview, text, preview_document)
    return preview.report.exit_code


@command("penstock sync --cascade --dry-run\npenstock sync --query daily_user_stats --days 30")
def sync_command(output: CommandOutput, request: SyncRequest, *, yes: Yes = False) -> int:
    """Run the partitions that drifted.

    Exactly those that 'penstock status' shows, upstreams first. Asks before it overwrites rows that
    an earlier run built.
    """
    return _sync(output, request, yes=yes)


@command("penstock backfill daily_user_stats --from 2024-12-02 --to 2024-12-04")
def backfill_command(output: CommandOutput, request: BackfillRequest, *, yes: Yes = False) -> int:
    """Run all partitions of a range, drifted or not.

    Asks before it overwrites rows that an earlier run built. For an incremental Python model the
    range applies to its time column, and its rows are replaced in one commit.
    """
    return _sync(output, request, yes=yes)


def _sync(output: CommandOutput, request: AnySync, *, yes: bool) -> int:
    """Show the plan, or run it; return the exit code."""
    if request.dry_run:
        from penstock.app.commands.sync import preview_sync

        found = ask(request, preview_sync, request)
        if found.report.preview is None:  # a rerun, which repairs no drift
            return _show_plan(output, found)
        text = functools.partial(sync_text, verbose=output.verbose)
        return output.finish(request, found.report, text)
    from penstock.app.commands.sync import sync

    with open_request(request) as services:
        with output.progress(services) as listener:
            report = sync(services, request, listener, overwrite_asker(services.clock.now, yes=yes))
        return output.finish(request, report, run_text)
