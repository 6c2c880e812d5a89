"""Going back: which steps are as if they never ran, and what the ones before them left."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Exists, exists, literal, or_, select, update

from penstock.core.partition import write_grid
from penstock.core.ranges import Ranges, holds, of_numbers, union
from penstock.core.records import Status, WatermarkChange
from penstock.core.step import StepKind
from penstock.core.typed import TypedValue
from penstock.state.check_rules import undoes_failure
from penstock.state.partition_rules import BUILDS
from penstock.state.sql_ending import Cells, Ending
from penstock.state.tables import execution_history, flags, partition_state, steps, watermarks
from penstock.state.watermarks import returns

REMAKES = (StepKind.CREATE, StepKind.REWRITE)
RECORD = (
    "fingerprint_id",
    "step_seq",
    "executed_at",
    "execution_time_ms",
    "rows_written",
    "bytes_written",
)


def undo(ending: Ending) -> None:
    """Mark the steps from `restores` on as undone; what those of them had undone counts again."""
    first, seq = ending.intent.restores, ending.seq
    of_model, number, undone = steps.c.model_id == ending.model, steps.c.step_seq, steps.c.undone_by
    ending.connection.execute(
        update(steps)
        .where(of_model, number < first, undone >= first, undone < seq)
        .values(undone_by=None)
    )
    ending.connection.execute(
        update(steps)
        .where(of_model, number >= first, number < seq, or_(undone.is_(None), undone < seq))
        .values(undone_by=seq)
    )


def restored(ending: Ending) -> dict[int, Cells]:
    """Give the record of what was written last to each partition before `restores`, by its number.

    A partition is FAILED if its rows are flagged, or if a gate is the reason to go back.
    """
    history = execution_history.c
    by_a_gate = undoes_failure(ending.intent)
    query = (
        select(
            history.ord,
            _flags_of().where(flags.c.closed.is_(None)).label("flagged"),
            *(history[name] for name in RECORD),
        )
        .join(steps, steps.c.step_seq == history.step_seq)
        .where(
            history.model_id == ending.model,
            history.step_seq < ending.intent.restores,
            or_(history.status == str(Status.SUCCESS), _flags_of()),
            steps.c.undone_by.is_(None),
            steps.c.kind.in_([str(kind) for kind in BUILDS]),
            steps.c.grid == write_grid(ending.intent.grid),
        )
        .order_by(history.step_seq)
    )
    found: dict[int, Cells] = {}
    for row in ending.connection.execute(query):
        failed = row.flagged or (by_a_gate and holds(ending.intent.ords, row.ord))
        status: Cells = {"status": str(Status.FAILED if failed else Status.SUCCESS)}
        found[row.ord] = {**status, **{name: getattr(row, name) for name in RECORD}}
    return found


def counts_as_success() -> tuple[ColumnElement[bool], ...]:
    """Say which rows of the history are of successes that no check took back later."""
    return execution_history.c.status == str(Status.SUCCESS), ~_flags_of()


def _flags_of() -> Exists:
    """Say that the rows of an execution were flagged, be it that the flag is closed."""
    history = execution_history.c
    return exists().where(flags.c.step_seq == history.step_seq, flags.c.ord == history.ord)


def number_in(cells: Cells, name: str) -> int | None:
    """Give a number of a record, None where there is none."""
    found = cells.get(name)
    return found if isinstance(found, int) else None


def written_since(ending: Ending, *, is_ours: bool) -> Ranges:
    """Give the partitions that steps from `restores` on have written, those it names included.

    A step that made or rewrote the table has written all, those on record too if the records are
    of the rollback's grid.
    """
    state, history = partition_state.c, execution_history.c
    undone = (
        steps.c.model_id == ending.model,
        steps.c.step_seq >= ending.intent.restores,
        steps.c.step_seq < ending.seq,
        steps.c.table_id.is_not(None),
    )
    remakes = steps.c.kind.in_([str(kind) for kind in REMAKES])
    remade = ending.connection.scalar(select(exists().where(*undone, remakes)))
    query = (
        select(state.ord).where(state.model_id == ending.model, literal(is_ours))
        if remade
        else select(history.ord)
        .join(steps, steps.c.step_seq == history.step_seq)
        .where(history.model_id == ending.model, *undone)
        .where(steps.c.grid == write_grid(ending.intent.grid))
    )
    found = of_numbers(ending.connection.scalars(query))
    if remade:
        found = union(found, of_numbers(restored(ending)))
    return union(found, ending.intent.ords)


def watermarks_before(
    ending: Ending, current: dict[tuple[str, str], TypedValue]
) -> tuple[WatermarkChange, ...]:
    """Give the changes that take the watermarks back to what they were before `restores` began.

    What a person set counts as long as it was set before.
    """
    first = ending.intent.restores
    began = select(steps.c.started).where(steps.c.step_seq == first).scalar_subquery()
    counts = (steps.c.step_seq < first) & steps.c.undone_by.is_(None)
    by_hand = (watermarks.c.step == "") & (watermarks.c.set_at <= began)
    query = (
        select(watermarks.c.input, watermarks.c.column, watermarks.c.value)
        .outerjoin(steps, (steps.c.id == watermarks.c.step) & (steps.c.model_id == ending.model))
        .where(watermarks.c.model_id == ending.model, or_(counts, by_hand))
        .order_by(watermarks.c.id)
    )
    rows = ending.connection.execute(query)
    wanted = {(row.input, row.column): row.value for row in rows}
    return returns(ending.intent, current, wanted, ending.end.at)
