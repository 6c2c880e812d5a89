"""`status` and `diff`: what is no longer current, and what changed in its code."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import MODEL_STATUS, Json, document_of, model_diff_document
from penstock.app.flags import NARROWING, FlagSpec, command_words
from penstock.app.read_requests import DataDiffRequest, DiffRequest, Key, Source
from penstock.app.reports import DiffReport, ModelStatus, SqlDiff, State, StateCount, StatusReport
from penstock.app.request import StatusRequest
from penstock.core.errors import UsageError
from penstock.core.masking import mask
from penstock.core.strategy import strategy_named
from penstock.ui.cli.options import ask, command
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.diffs import COSMETIC, once, sql_diff_text
from penstock.ui.render.tables import aligned, first_of
from penstock.ui.render.values import (
    LISTED,
    RANGES,
    WHOLE,
    by_state,
    count,
    in_words,
    label,
    moment,
    partitions_text,
    ranges_text,
)

if TYPE_CHECKING:
    from penstock.app.commands.data_diff import ChangedValue, DataDiff


def differences_text(report: DiffReport, *, context: int = 0, verbose: bool = False) -> str:
    """Return the recorded SQL of each model against its files, one diff per pair of texts."""

    def head(model: str, diff: SqlDiff) -> str:
        where = ranges_text(diff.partitions, None if verbose else RANGES)
        return f"{model} {diff.version}: {partitions_text(diff.count)}, {where}"

    pairs = once(
        (head(model.model, diff), sql_diff_text(diff, context))
        for model in report.models
        for diff in model.diffs
    )
    shown = first_of(pairs, None if verbose else LISTED, "difference")
    return "\n\n".join(shown) or "No differences."


def differences_document(report: DiffReport, *, context: int = 0) -> Json:
    """Return both texts of every pair, and the lines that differ."""
    return {
        "command": "diff",
        **document_of(report, "run_timestamp"),
        "models": [model_diff_document(model, context) for model in report.models],
    }


ALL_CURRENT = "All current ✓"
_EVERYTHING = StatusRequest()
_PLACE = ("project", "target", "variables")
_TAKEN = {
    "sync": (*NARROWING, "as_of"),
    **dict.fromkeys(("plan", "run"), ("from_", "to", "select", "exclude", "as_of")),
    "snapshot": ("select", "exclude", "as_of"),
}
"""The flags of a request that the suggested next command accepts."""
_GAP = "   "
_LOADED = frozenset((State.NEVER_RUN, State.SOURCE_CHANGED, State.FAILED, State.MISSING))
_INPUT_STATES = (State.SOURCE_CHANGED, State.UPSTREAM_CHANGED)


def status_text(
    report: StatusReport, *, verbose: bool = False, request: StatusRequest = _EVERYTHING
) -> str:
    """Return the models that drifted, wait for one that did, or have a message.

    With `verbose`, all models and ranges. The suggested next command covers only the selection.
    """
    states = request.states
    waiting = State.NOT_EFFECTIVE
    shown = [
        model
        for model in report.models
        if verbose
        or model.drifted
        or model.pending
        or model.new_input
        or model.lines
        or (states and model.states)
        or any(each.state is waiting and each.also for each in model.states)
    ]
    if states and not shown:
        return f"No partition is {' or '.join(states)}."
    limit = None if verbose else LISTED
    width = max((len(each.state) for m in shown[:limit] for each in m.states), default=0)
    blocks = ["\n".join(_model(model, width, verbose=verbose)) for model in shown]
    lines = first_of(blocks, limit, "model")
    total = _total(report, request)
    return "\n".join([*lines, "", total] if lines else [total])


def _model(model: ModelStatus, width: int, *, verbose: bool) -> Iterator[str]:
    # of a table whose log cannot be read its days are not known
    is_whole = model.grain == "*" or {WHOLE} == {each.ranges for each in model.states}
    yield f"{model.model}: {', '.join(_of_whole(model) if is_whole else _by_partition(model))}"
    limit = None if verbose else RANGES
    ranges = [ranges_text(each.ranges, limit) for each in model.states]
    left = max(map(len, ranges), default=0)
    for each, text in zip(model.states, ranges, strict=True):
        cells = [*_why(model, each)]
        if not is_whole:
            cells = [f"{text:<{left}}", f"{each.state:<{width}}", *_waits(each), *cells]
        yield from [f"    {_GAP.join(cells)}".rstrip()] * bool(cells)
    for line in model.lines:
        yield f"    {mask(line)}"
    if model.cosmetic:
        of = "" if is_whole else f" ({partitions_text(model.cosmetic)})"
        yield f"    {COSMETIC}{of}"
    if verbose:
        yield f"    {model.table}, last run {moment(model.executed_at)}"


def _of_whole(model: ModelStatus) -> Iterator[str]:
    """Yield the state of a table without partitions."""
    if not model.states:
        yield "current"
    for each in model.states:
        yield str(each.state)
        yield from _waits(each)


def _by_partition(model: ModelStatus) -> Iterator[str]:
    """Yield how many partitions are in each state."""
    if not model.states:
        yield f"current ({partitions_text(model.partitions)})"
    for state, number, pending in by_state(model.states):
        yield f"{state} ({partitions_text(number)}{', pending' if pending else ''})"


def _waits(each: StateCount) -> list[str]:
    return ["pending" if each.pending else "new input"] * (each.pending or each.is_new_input)


def _why(model: ModelStatus, each: StateCount) -> Iterator[str]:
    if each.because:
        are_names = not any(" " in text for text in each.because)
        if are_names and each.state in _INPUT_STATES:
            yield f"after {', '.join(each.because)}"
        else:
            yield in_words("; ".join(each.because))
    elif each.version is not None and (model.grain != "*" or each.version > 1 or each.revision):
        yield label(each.version, each.revision)
    if each.also:
        yield f"also {mask(', '.join(each.also))}"


def _total(report: StatusReport, request: StatusRequest) -> str:
    if not (report.drifted or report.pending or report.new_input):
        return ALL_CURRENT
    total = f"{report.drifted:,} of {count(report.partitions, 'partition')} drifted"
    if report.pending:
        total += f", {report.pending:,} pending"
    if report.new_input:
        total += f", {report.new_input:,} with new input"
    packages = _packages_alone(report)
    command = ["run", "--select", " ".join(packages)] if packages else _next(report).split()
    taken = () if "--select" in command else _TAKEN.get(command[0], ())
    words = command_words(request, (*taken, *(("as_of",) if packages else ()), *_PLACE))
    return mask(f"{total}. Next: penstock {shlex.join([*command, *words])}")


def _packages_alone(report: StatusReport) -> tuple[str, ...]:
    """Return the session packages that drifted, if nothing else must be fixed before them."""
    drifted = [model for model in report.models if model.drifted]
    states = {each.state for model in drifted for each in model.states if each.drifted}
    if not all(model.package and not model.mends for model in drifted):
        return ()
    if State.UNRECORDED in states or states == {State.UNREADABLE}:
        return ()
    return tuple(dict.fromkeys(model.package for model in drifted))


def _next(report: StatusReport) -> str:
    drifted = [model for model in report.models if model.drifted]
    unknown = [m for m in drifted if any(s.state is State.UNRECORDED for s in m.states)]
    if unknown:  # of a table with a record only steps are, and those any command can settle
        return "recover" if all(model.executed_at for model in unknown) else "state rebuild"
    if drifted and all(
        each.state is State.UNREADABLE for m in drifted for each in m.states if each.drifted
    ):
        return "plan"  # it says of each what would mend it
    if mends := [model.mends for model in drifted if model.mends]:  # no other command mends those
        return mends[0] if len(drifted) == 1 else "plan"
    if not drifted and report.new_input:
        drifted = [model for model in report.models if model.new_input]
        commands = {strategy_named(model.strategy).command for model in drifted}
        return commands.pop() if len(commands) == 1 else "run"
    if drifted and all(map(_is_loaded_by_run, drifted)):
        return "run"
    commands = {strategy_named(model.strategy).command for model in drifted}
    if len(commands) == 1 and commands != {"run"}:
        return commands.pop()  # `sync` repairs what `run` builds
    return "sync --cascade" if report.pending else "sync"


def _is_loaded_by_run(model: ModelStatus) -> bool:
    """Return whether a model is an entity that lacks only slices."""
    strategy = strategy_named(model.strategy)
    is_entity = strategy.moves_forward and not strategy.by_passes
    return is_entity and _LOADED.issuperset(s.state for s in model.states if s.drifted)


_STATUS = f"command='status' run_timestamp partitions drifted pending models[{MODEL_STATUS}]"
status_document = functools.partial(document_of, names=_STATUS)


FailOnDrift = Annotated[bool, FlagSpec("Exit 1 if a partition drifted.")]
Context = Annotated[
    int | None, FlagSpec("Unchanged lines to show around each change.", metavar="N", least=0)
]


@command("penstock status --days 30\npenstock status --state sql_changed,tampered --fail-on-drift")
def status_command(
    output: CommandOutput, request: StatusRequest, *, fail_on_drift: FailOnDrift = False
) -> int:
    """Show which partitions are no longer current.

    Compares records, code, inputs and tables; starts no Spark and writes nothing. A table without
    partitions counts as one.
    """
    from penstock.app.commands.status import status

    report = ask(request, status, request)
    text = functools.partial(status_text, verbose=output.verbose, request=request)
    output.print(report, text, status_document)
    return 1 if fail_on_drift and report.drifted else 0


Data = Annotated[
    bool, FlagSpec("Compare the rows of one model's table, not its code.", ("--data",))
]


@command(
    "penstock diff daily_user_stats --context 3\n"
    "penstock diff --data users --from prod\n"
    "penstock diff --data events --key event_id --from 12"
)
def diff_command(
    output: CommandOutput,
    request: DiffRequest,
    context: Context = None,
    *,
    data: Data = False,
    source: Source = "",
    key: Key = (),
) -> None:
    """Show what changed since the partitions were built.

    One diff per pair of SQL texts: the recorded one and the one in the files. With --data, compare
    the rows of a table with those before its last step, or with those that --from names.
    """
    from penstock.app.commands.diff import diff

    if data:
        output.print(_rows_of(request, source, key), data_diff_text, data_diff_document)
        return
    for flag, value in (("--from", source), ("--key", key)):
        if value:
            raise UsageError("option-conflict", f"{flag} needs --data", hint="add --data")
    text = functools.partial(differences_text, context=context or 0, verbose=output.verbose)
    document = functools.partial(differences_document, context=context or 0)
    output.print(ask(request, diff, request), text, document, is_code=True)


def _rows_of(request: DiffRequest, source: str, key: Sequence[str]) -> DataDiff:
    from penstock.app.commands.data_diff import data_diff

    for flag, value in (("--partition", request.partition), ("--as-of", request.as_of)):
        if value:
            sentence = f"{flag} and --data exclude each other"
            raise UsageError("option-conflict", sentence, hint=f"leave {flag} out")
    if not request.model:
        sentence, hint = "--data needs a model", "penstock diff --data MODEL"
        raise UsageError("option-conflict", sentence, hint=hint)
    asked = DataDiffRequest(
        request.project,
        request.model,
        target=request.target,
        variables=request.variables,
        from_=source,
        key=key,
    )
    return ask(asked, data_diff, asked)


def data_diff_text(diff: DataDiff) -> str:
    """Return the counts of rows, then examples by key, then what else differs."""
    by = f" by {', '.join(diff.key)}" if diff.key else ""
    counts = [(diff.added, "added"), (diff.removed, "removed"), (diff.changed, "changed")]
    changes = ", ".join(f"{number:,} {word}" for number, word in counts if number)
    head = f"{diff.model}: {diff.before} -> {diff.after}"
    rows = f"rows: {diff.rows_before:,} -> {diff.rows_after:,}; {changes or 'no row differs'}"
    blocks = [f"{head}\n{rows}, compared{by or ' as a whole'}"]
    if diff.repeated:
        blocks.append(f"{count(diff.repeated, 'row')} with the key of another one")
    cells = [
        [*([column.column, f"{column.rows:,}"] if not n else ["", ""]), *_values_of(value)]
        for column in diff.columns
        for n, value in enumerate(column.samples)
    ]
    if cells:
        titles = ["COLUMN", "ROWS", "KEY", "BEFORE", "AFTER"]
        blocks.append(aligned([titles, *cells], [False, True, False, False, False]))
    for keys, word in ((diff.added_keys, "added"), (diff.removed_keys, "removed")):
        if keys:
            blocks.append("\n".join([f"{word}, for example:", *(f"  {each}" for each in keys)]))
    if diff.schema:
        blocks.append("\n".join(["Schema changes detected:", *diff.schema]))
    if diff.not_compared:
        blocks.append(f"not compared: {', '.join(diff.not_compared)}")
    return "\n\n".join(blocks)


def _values_of(value: ChangedValue) -> list[str]:
    return [value.key, *("NULL" if v is None else v for v in (value.before, value.after))]


data_diff_document = functools.partial(
    document_of,
    names="command='diff' model before after key rows_before rows_after same changed added removed "
    "repeated columns[column rows samples[key before after]] added_keys removed_keys schema "
    "not_compared",
)
