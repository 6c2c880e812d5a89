"""What `status` and `diff` print: what is no longer current, and two texts of one query."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

from penstock.app.documents import (
    MODEL_STATUS,
    Json,
    changed_lines,
    document_of,
    model_diff_document,
)
from penstock.app.flags import NARROWING, command_words
from penstock.app.reports import (
    DiffReport,
    ModelStatus,
    SqlDiff,
    State,
    StateCount,
    StatusReport,
)
from penstock.app.request import StatusRequest
from penstock.core.masking import mask
from penstock.core.strategy import strategy_named
from penstock.ui.render.values import (
    CODE,
    LISTED,
    RANGES,
    by_state,
    count,
    first_of,
    label,
    moment,
    partitions_text,
    ranges_text,
)

RULE = "─" * 39
COSMETIC = "SQL text changed, meaning unchanged."
ONLY_SECRETS = "changed in values that are never shown."


def diff_text(old: str, new: str, context: int = 0) -> str:
    """Return the changed lines between two rules."""
    return "\n".join([RULE, *map(mask, changed_lines(old, new, context)), RULE])


def sql_diff_text(diff: SqlDiff, context: int = 0, of: str = "") -> str:
    """Return what differs between two texts, then between their schemas.

    `of` says which partitions it is for, where a model has several pairs.
    """
    which = f" ({of})" if of else ""
    lines: list[str] = []
    if diff.before != diff.after:
        changed = f"{CODE[diff.kind]} changes detected{which}:"
        lines.append(f"{COSMETIC}{which}" if diff.cosmetic else changed)
        if changed_lines(diff.before, diff.after):
            lines.append(diff_text(diff.before, diff.after, context))
        lines.append("")
    elif diff.only_secrets:
        lines += [f"{CODE[diff.kind]} {ONLY_SECRETS}{which}", ""]
    elif which:
        lines += [f"SQL unchanged{which}.", ""]
    schema = ["Schema changes detected:", *diff.schema] if diff.schema else ["Schema unchanged."]
    return "\n".join([*lines, *schema])


def diffs_text(diffs: Sequence[SqlDiff], named: Callable[[SqlDiff], str]) -> str:
    """Return what differs in several pairs of texts, each difference once.

    So is each pair that it is the difference of.
    """
    same: dict[str, list[SqlDiff]] = {}
    for diff in diffs:
        same.setdefault(sql_diff_text(diff), []).append(diff)
    of = named if len(same) > 1 else lambda _: ""
    return "\n\n".join(
        sql_diff_text(found[0], of="; ".join(filter(None, map(of, found))))
        for found in same.values()
    )


def once(blocks: Iterable[tuple[str, str]]) -> list[str]:
    r"""Return each text once, below all heads that it is for.

    >>> once([("a:", "x"), ("b:", "y"), ("c:", "x")])
    ['a:\nc:\n\nx', 'b:\n\ny']
    """
    found: dict[str, list[str]] = {}
    for head, text in blocks:
        found.setdefault(text, []).append(head)
    return ["\n".join([*dict.fromkeys(heads), "", text]) for text, heads in found.items()]


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
"""What of a request the command takes that comes next."""
_GAP = "   "
_LOADED = frozenset((State.NEVER_RUN, State.SOURCE_CHANGED, State.FAILED, State.MISSING))
_INPUT_STATES = (State.SOURCE_CHANGED, State.UPSTREAM_CHANGED)


def status_text(
    report: StatusReport, *, verbose: bool = False, request: StatusRequest = _EVERYTHING
) -> str:
    """Return the models that drifted, wait for one that did, or have something to say.

    With `verbose` all models and ranges. What comes next is about what was asked for, no more.
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
    counts = [
        f"{state} ({partitions_text(number)}{', pending' if pending else ''})"
        for state, number, pending in by_state(model.states)
    ]
    all_current = f"current ({partitions_text(model.partitions)})"
    yield f"{model.model}: {', '.join(counts) or all_current}"
    limit = None if verbose else RANGES
    ranges = [ranges_text(each.ranges, limit) for each in model.states]
    left = max(map(len, ranges), default=0)
    for each, text in zip(model.states, ranges, strict=True):
        cells = [f"{text:<{left}}", f"{each.state:<{width}}", *_why(model, each)]
        yield f"    {_GAP.join(cells)}".rstrip()
    for line in model.lines:
        yield f"    {mask(line)}"
    if model.cosmetic:
        yield f"    {COSMETIC} ({partitions_text(model.cosmetic)})"
    if verbose:
        yield f"    {model.table}, last run {moment(model.executed_at)}"


def _why(model: ModelStatus, each: StateCount) -> Iterator[str]:
    if each.pending or each.is_new_input:
        yield "pending" if each.pending else "new input"
    if each.because:
        are_names = not any(" " in text for text in each.because)
        if are_names and each.state in _INPUT_STATES:
            yield f"after {', '.join(each.because)}"
        else:
            yield mask("; ".join(each.because))
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
    """Return the session packages that drifted, if nothing else is to be mended before them."""
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
    """Whether a model is an entity that lacks nothing but slices."""
    strategy = strategy_named(model.strategy)
    is_entity = strategy.moves_forward and not strategy.by_passes
    return is_entity and _LOADED.issuperset(s.state for s in model.states if s.drifted)


def status_document(report: StatusReport) -> Json:
    """Return the states of every model, what is current left out."""
    names = f"run_timestamp partitions drifted pending models[{MODEL_STATUS}]"
    return {"command": "status", **document_of(report, names)}
