"""What `sync --dry-run` and `backfill --dry-run` print, and what is read before rows go."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence

from penstock.app.reports import Overwrite, SqlDiff, Step, SyncPreview
from penstock.app.run_report import RunReport
from penstock.core.errors import UsageError
from penstock.core.masking import mask
from penstock.ui.render.diff import diffs_text
from penstock.ui.render.plan import blocked_text
from penstock.ui.render.run import cosmetic_lines, nothing_to_do, tail
from penstock.ui.render.values import (
    LISTED,
    ago,
    by_state,
    count,
    first_of,
    label,
    partitions_text,
    ranges_text,
)

_ASKED = 5  # models that a question names


def sync_text(report: RunReport, *, verbose: bool = False) -> str:
    """Give what drifted, what comes with it, the plan, changes of SQL, and a total.

    At most 50 models of each, unless `verbose`; that lists every step, too.
    """
    plan, preview = report.plan, report.preview or SyncPreview()
    if plan.is_empty:
        return "\n".join([*nothing_to_do(plan), *tail(preview)])
    limit = None if verbose else LISTED
    drifted = []
    for model in preview.drifted:
        counts = [f"{partitions_text(n)} ({state})" for state, n, _ in by_state(model.states)]
        if counts:  # a backfill takes what is current, too
            drifted.append(f"  {model.model}: {', '.join(counts)}")
    cascaded = [
        f"  {each.model}: {partitions_text(each.count)} (upstream_changed)\n"
        f"    └── depends on: {', '.join(each.after)}"
        for each in preview.cascaded
    ]
    changed = [
        diffs_text(
            f"{each.model}: {_partitions(each.diffs)} will be re-run",
            each.diffs,
            lambda diff: f"{diff.version}, {partitions_text(diff.count)}",
        )
        for each in preview.diffs
    ]
    steps = list(_models(plan.steps, verbose=verbose))
    blocks = [
        _section("Drift detected:", drifted, limit),
        _section("Cascade analysis:", cascaded, limit),
        _section("Execution plan (topological order):", steps, limit),
        *first_of(changed, limit, "changed model"),
        blocked_text(plan, limit),
        "\n".join(cosmetic_lines(plan.cosmetic)),
        "\n".join([f"Total: {_partitions(plan.steps)}", *tail(preview)]),
    ]
    return "\n\n".join(block for block in blocks if block)


def _section(title: str, items: Sequence[str], limit: int | None) -> str:
    return "\n".join([title, *first_of(items, limit, "model")]) if items else ""


def _partitions(counted: Iterable[Step | SqlDiff]) -> str:
    return partitions_text(sum(each.count for each in counted))


def _models(steps: Sequence[Step], *, verbose: bool) -> Iterator[str]:
    by_model: dict[str, list[Step]] = {}
    for step in steps:
        by_model.setdefault(step.model, []).append(step)
    names = max(map(len, by_model), default=0)
    for number, (model, its) in enumerate(by_model.items(), start=1):
        head = f"{number:>3}. {model:<{names}}  ({_partitions(its)}, {count(len(its), 'step')})"
        shown = []
        for step in its if verbose else ():
            parts = [ranges_text(step.keys, None), str(step.reason.state)]
            parts += [f"also {', '.join(step.reason.also)}"] * bool(step.reason.also)
            parts += [label(step.version, step.revision)]
            parts += ["one query for the range"] * (step.is_range and step.count > 1)
            shown.append(f"     {'  '.join(parts)}")
        notes = dict.fromkeys(f"     {mask(note)}" for step in its for note in step.notes)
        yield "\n".join([head, *shown, *notes])


def prompt_text(overwrites: Sequence[Overwrite], now: dt.datetime) -> str:
    """Give one block per model, at most 5."""
    blocks = []
    for each in overwrites:
        lines = [f"WARNING: This will overwrite {partitions_text(each.count)}"]
        lines += [f"  Query: {each.model}", f"  Range: {ranges_text(each.partitions)}"]
        if each.last_success is not None:
            lines.append(f"  Last successful run: {ago(each.last_success, now)}")
        if each.foreign_count:
            changed = f"{partitions_text(each.foreign_count)} ({ranges_text(each.foreign)})"
            lines.append(f"  Changed by others since: {changed}")
        if each.breaking:
            lines.append(f"  Breaking: {mask(', '.join(each.breaking))}, rewrites the table")
        if each.full_refresh:
            lines.append("  Full refresh: makes the whole table anew")
        blocks.append("\n".join(lines))
    return "\n\n".join(first_of(blocks, _ASKED, "model"))


def nobody_to_ask(overwrites: Sequence[Overwrite]) -> UsageError:
    """Give the error where there is no terminal to ask at."""
    total = partitions_text(sum(each.count for each in overwrites))
    models = ", ".join(first_of([each.model for each in overwrites], _ASKED, "model"))
    return UsageError(
        "needs-confirmation",
        f"this overwrites {total} ({models}), and there is no terminal to ask at",
        hint="--yes",
    )
