"""Change records by hand: `accept`, `watermark`, `recover`, `state`, `unlock`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import Json, document_of, error_document
from penstock.app.flags import FlagSpec, Name, Yes
from penstock.app.read_requests import WatermarkRequest
from penstock.app.request import AcceptRequest, CommandRequest
from penstock.core.errors import UsageError
from penstock.core.masking import mask
from penstock.core.records import Lease, WatermarkChange
from penstock.ui.cli.options import ask, command, group, open_request
from penstock.ui.cli.output import CommandOutput, confirm, print_rows
from penstock.ui.render.tables import table
from penstock.ui.render.values import count, hook_text, moment

if TYPE_CHECKING:
    from penstock.app.commands.accept import AcceptedCommits
    from penstock.app.commands.state import StateMove, WatermarkReport
    from penstock.app.execution.recover import RebuildReport, Recovery


def watermarks_text(report: WatermarkReport) -> str:
    """Return one row per watermark, or per change of one, newest first."""
    changes = report.current if report.history is None else report.history
    of = report.slices.get
    if not changes:
        return "no watermarks" if report.history is None else "no watermark was ever set"
    low = ["next low"] if report.lows else []
    rows = [
        [
            change.model,
            f"{change.input}.{change.column}",
            change.value or "(reset)",
            *(report.lows.get(change, "-") for _ in low),
            moment(change.set_at),
            change.who or ", ".join(filter(None, (f"step {change.step}", of(change.step, "")))),
            mask(change.why),
        ]
        for change in changes
    ]
    header = ["model", "column", "value", *low, "set_at", "by", "why"]
    return table(header, rows, first=("model", "column", "value", "set_at"))


def changed_text(changes: Sequence[WatermarkChange]) -> str:
    """Return one line for each manual change."""
    return "\n".join(
        f"{one.model}: {one.input}.{one.column} "
        + ("reset" if one.value is None else f"set to {one.value}")
        for one in changes
    )


def accept_text(report: AcceptedCommits) -> str:
    """Return which commits are accepted from now on."""
    where = "" if report.partitions == ("*",) else f" in {', '.join(report.partitions)}"
    lines = (f"  {mask(line)}" for line in report.lines)
    return "\n".join((f"accepted: {report.model}{where}", *lines))


def accept_document(report: AcceptedCommits) -> Json:
    """Return the model, the accepting step, and the commits."""
    names = "model step partitions commits[version time operation user]"
    return {"command": "accept", "reason": mask(report.reason), **document_of(report, names)}


def recovered_text(recovery: Recovery) -> str:
    """Return a line per step that a crash left open, then what could not be settled."""
    lines = [*recovery.messages_by_step, *(error.render() for error in recovery.stuck.values())]
    lines += [hook_text(each) for each in recovery.hooks]
    return "\n".join(lines) or "nothing to recover"


def rebuild_text(report: RebuildReport) -> str:
    """Return how many steps the logs hold, which tables have none, and what logs cannot contain."""
    lines = [f"{count(report.steps, 'step')} of {count(len(report.models), 'model')} recorded"]
    lines += [f"{name}: its log has no step of this project" for name in report.untold]
    skip = "no log tells which slices were skipped; before the next run: penstock entities slices"
    lines += [f"{name}: {skip} {name} --skip NAME --reason TEXT" for name in report.unskipped]
    return "\n".join(lines)


def lease_text(lease: Lease) -> str:
    """Return who holds a lease, as the start of a question."""
    return (
        f"{lease.target} is held by run {lease.run} (host {lease.host}, pid {lease.pid}) "
        f"since {moment(lease.acquired)} UTC. This takes it away."
    )


def moved_text(report: StateMove) -> str:
    """Return what both databases hold, and what to write into penstock.yml."""
    moved = report.moved
    rows = [
        [name, str(number), str(moved.after.rows[name])]
        for name, number in moved.before.rows.items()
        if number
    ]
    rows.append(["digest", moved.before.digest, moved.after.digest])
    place = f"moved {mask(moved.source)} to {mask(moved.target)}"
    lines = [place, table(["", "from", "to"], rows, first=("", "from", "to"))]
    if report.state:
        lines.append(
            f"penstock.yml, target {report.target}: state: {json.dumps(mask(report.state))}"
        )
    return "\n".join(lines)


moved_document = partial(
    document_of,
    names="target state? source=moved.source to=moved.target "
    "before=moved.before[digest rows] after=moved.after[digest rows]",
)
rebuild_document = partial(document_of, names="steps models untold unskipped")


def watermarks_document(report: WatermarkReport) -> Json:
    """Return the watermarks; with their history if requested."""
    document = {
        "watermarks": [
            {**_change(change), "next_low": report.lows.get(change)} for change in report.current
        ]
    }
    if report.history is not None:
        document["history"] = [_change(change) for change in report.history]
    return document


def changes_document(changes: Sequence[WatermarkChange]) -> Json:
    """Return the manual changes."""
    return {"changed": [_change(change) for change in changes]}


def recovered_document(recovery: Recovery) -> Json:
    """Return the result of each step that a crash left open, and what could not be settled."""
    stuck = [{"model": name, "error": error_document(e)} for name, e in recovery.stuck.items()]
    names = "recovered=steps[step model version] hooks[model step status error=failure.message?]"
    return {**document_of(recovery, names), "stuck": stuck}


def _change(change: WatermarkChange) -> dict[str, Json]:
    type_, _, value = (change.value or "").partition(" ")
    typed = {"type": type_ or None, "value": None if change.value is None else value}
    head = document_of(change, "model input column")
    return {**head, **typed, **document_of(change, "set_at step? who? why?")}


History = Annotated[bool, FlagSpec("Show every change, newest first.")]
Reason = Annotated[str, FlagSpec("Why; kept in the history.", metavar="TEXT")]
Only = Annotated[str, FlagSpec("Only this watermark.", metavar="INPUT.COLUMN")]
Step = Annotated[str | None, FlagSpec("The open step to settle; needs --as.", metavar="STEP")]
Became = Annotated[
    str | None,
    FlagSpec(
        "Settle --step by hand, after you checked its table.",
        ("--as",),
        choices=("committed", "failed"),
    ),
]
Models = Annotated[bool, FlagSpec("Only the short, readable summary of models.")]
Source = Annotated[str, FlagSpec(names=("FROM",))]
Goal = Annotated[str, FlagSpec(names=("TO",))]
File = Annotated[Path, FlagSpec(names=("FILE",))]
Table = Annotated[str, FlagSpec(names=("TABLE",))]


@command("penstock accept daily_user_stats --reason 'a correction by hand, ticket 4711'")
def accept_command(output: CommandOutput, request: AcceptRequest) -> None:
    """Accept rows that were changed outside penstock.

    The model is current again, and models that read it see a change. Writes records only: no row
    changes, and no Spark starts.
    """
    from penstock.app.commands.accept import accept

    report = ask(request, accept, request.model, request.reason, request.arguments)
    output.print(report, accept_text, accept_document, unless_quiet=True)


watermark_command = group(
    "penstock watermark show events_clean --history",
    """Show, set or reset watermarks.

    A watermark is the greatest value of a column that a model has processed.
    """,
)


@command("penstock watermark show events_clean --history", of=watermark_command)
def watermark_show(
    output: CommandOutput, request: CommandRequest, model: Name = "", *, history: History = False
) -> None:
    """Show the watermarks of one model, or of all."""
    from penstock.app.commands.state import show_watermarks

    report = ask(request, show_watermarks, model, history=history)
    output.print(report, watermarks_text, watermarks_document)


@command(
    "penstock watermark set events_clean 2024-03-01T00:00:00 --reason replay", of=watermark_command
)
def watermark_set(output: CommandOutput, request: WatermarkRequest) -> None:
    """Set a watermark, lower or higher than it is.

    The next run reads the rows above it. The history keeps who set it, and why.
    """
    from penstock.app.commands.state import set_watermark

    more = {"column": request.column, "type_": request.type_, "reason": request.reason}
    changes = (ask(request, set_watermark, request.model, request.value, **more),)
    output.print(changes, changed_text, changes_document, unless_quiet=True)


@command("penstock watermark reset events_clean --yes", of=watermark_command)
def watermark_reset(
    output: CommandOutput,
    request: CommandRequest,
    model: Name,
    column: Only = "",
    reason: Reason = "",
    *,
    yes: Yes = False,
) -> int:
    """Remove a model's watermarks.

    The next run reads its inputs from the start, so 'append' adds the same rows again.
    """
    from penstock.app.commands.state import reset_watermarks, watermarks_to_reset

    with open_request(request) as services:
        watermarks = watermarks_to_reset(services, model, column)
        named = ", ".join(f"{watermark.key} ({watermark.value})" for watermark in watermarks)
        if not confirm(f"This resets {named} of {model}.", yes=yes):
            return 1
        changes = reset_watermarks(services, model, watermarks, reason)
    output.print(changes, changed_text, changes_document, unless_quiet=True)
    return 0


@command("penstock recover\npenstock recover --step 0190a3c4 --as committed")
def recover_command(
    output: CommandOutput, request: CommandRequest, step: Step = None, became: Became = None
) -> int:
    """Settle steps that a crash left open.

    Records steps that had committed, marks the others as failed, and runs hooks that are due. Every
    run does this first. A step that cannot be settled is reported with the ways out, and blocks
    only its own model.
    """
    from penstock.app.execution.hooks import recover_by_hand

    if (step is None) != (became is None):
        hint = "penstock recover --step STEP --as committed"
        raise UsageError("option-conflict", "--step and --as go together", hint=hint)
    with open_request(request) as services:
        found = recover_by_hand(services, step, committed=became == "committed")
    output.print(found, recovered_text, recovered_document, unless_quiet=True)
    return 1 if found.stuck or not all(each.ok for each in found.hooks) else 0


state_command = group(
    "penstock state export > state.json",
    """Export, import, move, restore or rebuild the state.

    The state is what penstock knows about runs, tables and watermarks.
    """,
)


@command("penstock state export > state.json", of=state_command)
def state_export(_: CommandOutput, request: CommandRequest, *, models: Models = False) -> None:
    """Print the state as one JSON document."""
    from penstock.app.commands.state import export_state

    print_rows(ask(request, export_state, models=models), nl=False)


@command("penstock state import state.json", of=state_command)
def state_import(
    output: CommandOutput, request: CommandRequest, file: File, *, yes: Yes = False
) -> int:
    """Replace the state with an exported document."""
    from penstock.app.commands.state import import_state

    with open_request(request) as services:
        target = services.project.target.name
        if not confirm(f"This replaces the state of target {target} with {file}.", yes=yes):
            return 1
        import_state(services, file)
    output.print_done(f"imported {file}")
    return 0


@command(
    "penstock state move sqlite postgresql+psycopg://me@db/penstock\n"
    "penstock state move sqlite \"postgresql+psycopg://{{ env_var('DB_USER') }}@db/penstock\"",
    of=state_command,
)
def state_move(
    output: CommandOutput, request: CommandRequest, source: Source, to: Goal, *, yes: Yes = False
) -> int:
    """Move the state to another database.

    FROM and TO are written like `state` in penstock.yml. No run may hold a lease. FROM keeps its
    rows, and nothing can use it any more; a move that was killed is completed by the same command.
    """
    from penstock.app.commands.state import move_state

    with open_request(request) as services:
        target = services.project.target.name
        if not confirm(f"This moves the state of target {target} to another database.", yes=yes):
            return 1
        report = move_state(services, source, to)
    output.print(report, moved_text, moved_document)
    return 0


@command("penstock state restore --yes", of=state_command)
def state_restore(output: CommandOutput, request: CommandRequest, *, yes: Yes = False) -> int:
    """Replace a damaged state with its last good copy."""
    from penstock.app.commands.state import restore_state

    with open_request(request) as services:
        target = services.project.target.name
        if not confirm(f"This replaces the state of target {target} with its last copy.", yes=yes):
            return 1
        aside = restore_state(services)
    output.print_done(f"restored the state of the last run; what was there is now {aside}")
    return 0


@command("penstock state rebuild --yes", of=state_command)
def state_rebuild(output: CommandOutput, request: CommandRequest, *, yes: Yes = False) -> int:
    """Rebuild the state from the logs of the tables."""
    from penstock.app.execution.recover import rebuild

    with open_request(request) as services:
        target = services.project.target.name
        if not confirm(f"This adds what the logs of target {target} hold to its state.", yes=yes):
            return 1
        report = rebuild(services)
    output.print(report, rebuild_text, rebuild_document, unless_quiet=True)
    return 0


@command("penstock unlock staging.users_clean")
def unlock_command(
    output: CommandOutput, request: CommandRequest, table: Table, *, yes: Yes = False
) -> int:
    """Release the lease of a run that is gone.

    Leases of dead processes on this machine lapse at once, others after a while. The step is
    settled as after a crash; a run that is still alive can no longer commit it.
    """
    from penstock.app.commands.state import lease_of, unlock

    with open_request(request) as services:
        lease = lease_of(services, table)
        if lease is None:
            output.print_done(f"{table} is not locked")
            return 0
        if not confirm(lease_text(lease), yes=yes):
            return 1
        found = unlock(services, lease)
    output.print_done("\n".join((f"unlocked {lease.target}", *found)))
    return 0
