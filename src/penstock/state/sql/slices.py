"""The state of slices, derived from the steps that read them and still count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Select, Subquery, Text, bindparam, case, func, insert, select, type_coerce

from penstock.core.entities.slices import SliceId
from penstock.core.records import SliceRecord, SliceSkip, Status
from penstock.core.steps.token import read_intent, read_slice
from penstock.state.schema import models, slice_skips, steps
from penstock.state.sql.database import Database, batched
from penstock.state.sql.rows import Found, cells_of, model_id, next_number
from penstock.state.transitions.model_state import BUILDS

_STEP = steps.c
_SKIP = ("name", "skips", "why", "who", "at")
_MODELS = select(models.c.id).where(models.c.name.in_(bindparam("models", expanding=True)))
_FLAGGED = "after-check-failed"
_REMADE, _CLONED = '"lowers_watermarks":true', '"triggered_by":"clone"'  # as intents are written


class SqlSlices:
    """Reads the state of slices, and appends manual decisions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recorded(self, model: str) -> tuple[SliceRecord, ...]:
        """See `SliceRecords.recorded`."""
        return self.recorded_of((model,)).get(model, ())

    def recorded_of(self, models: Sequence[str]) -> dict[str, tuple[SliceRecord, ...]]:
        """See `SliceRecords.recorded_of`: three queries for hundreds of models."""
        found: dict[str, dict[str, SliceRecord]] = {}
        with self._database.read() as connection:
            for part in batched(models):
                asked = {"models": [*part]}
                for row in connection.execute(_LAST_CLONES, asked):
                    cloned = _cloned_records(row)
                    found.setdefault(row.model, {}).update({each.id.name: each for each in cloned})
                for row in connection.execute(_LAST_STEPS, asked):
                    found.setdefault(row.model, {})[row.slice] = _record(row)
                for row in connection.execute(_NEWEST_SKIPS, asked):
                    of_model = found.setdefault(row.model, {})
                    known = of_model.get(row.name) or SliceRecord(_nothing(row.name), Status.FAILED)
                    if row.skips and _may_skip(known, row.last_step_seq):
                        skipped = {"status": Status.SKIPPED, "why": row.why, "who": row.who}
                        of_model[row.name] = replace(known, **skipped)
        return {
            model: tuple(slices[name] for name in sorted(slices)) for model, slices in found.items()
        }

    def skip(self, skip: SliceSkip) -> None:
        """Append a manual decision about a slice, and the last step at that time."""
        with self._database.write() as connection:
            cells = {
                "id": next_number(connection, slice_skips.c.id),
                "model_id": model_id(connection, skip.model),
                "last_step_seq": next_number(connection, _STEP.step_seq) - 1,
                **cells_of(skip, _SKIP),
            }
            connection.execute(insert(slice_skips).values(cells))


def _may_skip(record: SliceRecord, last_step_seq: int) -> bool:
    """Return whether a skip counts: rows in the table stay, and a later attempt revokes it."""
    is_open = record.status not in (Status.SUCCESS, Status.RUNNING)
    return is_open and record.step_seq <= last_step_seq


def _nothing(name: str) -> SliceId:
    """Return a record of a slice without steps."""
    return SliceId(name, 0, 0, "")


# steps that only make the table ready for a slice are none of those
_COUNTS = (_STEP.model_id.in_(_MODELS), _STEP.kind.in_(BUILDS), _STEP.undone_by.is_(None))
_IS_CLONE = (_STEP.status == Status.SUCCESS) & _STEP.intent.contains(_CLONED)
_CALLED = models.c.name.label("model")
_INTENT = type_coerce(_STEP.intent, Text).label("intent")  # most of it is not read


def _remade() -> Subquery:
    """Return a query for the last step of each model before which no slice counts."""
    made = _STEP.commit_version.is_not(None) | _IS_CLONE
    return (
        select(_STEP.model_id, func.max(_STEP.step_seq).label("step_seq"))
        .where(*_COUNTS, made, _STEP.intent.contains(_REMADE))
        .group_by(_STEP.model_id)
        .subquery()
    )


def _last_steps() -> Select[tuple[object, ...]]:
    """Return a query for the step that determines each slice's state; built once."""
    remade = _remade()
    flagged = (_STEP.error_code == _FLAGGED) & _STEP.commit_version.is_not(None)
    is_done = (_STEP.status == Status.SUCCESS) | flagged
    done = func.max(case((is_done, _STEP.step_seq)))
    since = _STEP.step_seq >= func.coalesce(remade.c.step_seq, 0)
    telling = (
        select(func.coalesce(done, func.max(_STEP.step_seq)))
        .select_from(steps.outerjoin(remade, remade.c.model_id == _STEP.model_id))
        .where(*_COUNTS, _STEP.slice.is_not(None), since)
        .group_by(_STEP.model_id, _STEP.slice)
    )
    names = ("step_seq", "id", "slice", "status", "commit_version", "metrics")
    asked = (*(_STEP[name] for name in names), _STEP.error_code, _STEP.error_message)
    found = select(_CALLED, _INTENT, *asked).join_from(steps, models)
    return found.where(_STEP.step_seq.in_(telling))


def _last_clones() -> Select[tuple[object, ...]]:
    """Return a query for the steps that cloned the current tables, with the slices in them."""
    asked = (_STEP.id, _STEP.step_seq, _STEP.settled_version)
    found = select(_CALLED, _INTENT, *asked).join_from(steps, models)
    return found.where(_IS_CLONE, _STEP.step_seq.in_(select(_remade().c.step_seq)))


def _newest_skips() -> Select[tuple[object, ...]]:
    skip = slice_skips.c
    newest = select(func.max(skip.id)).group_by(skip.model_id, skip.name)
    asked = select(_CALLED, slice_skips).join_from(slice_skips, models)
    return asked.where(skip.id.in_(newest.where(skip.model_id.in_(_MODELS))))


_LAST_STEPS, _LAST_CLONES, _NEWEST_SKIPS = _last_steps(), _last_clones(), _newest_skips()


def _cloned_records(row: Found) -> Iterator[SliceRecord]:
    """Yield the records of slices that another target has processed, from the clone's step."""
    for each in read_intent(row.intent).unchanged:
        yield SliceRecord(
            id=each.id,
            status=Status.SUCCESS,
            step=row.id,
            step_seq=row.step_seq,
            moment=each.moment,
            metrics=each.metrics,
            version=row.settled_version,
        )


def _record(row: Found) -> SliceRecord:
    """Return the record of a slice from its step; a step stopped by a check counts as failed.

    Rows that failed a check while in the table are flagged there, so their slice is done.
    """
    slice_id, moment = read_slice(row.intent)
    is_over = row.status in (Status.SUCCESS, Status.RUNNING)
    stays = row.error_code == _FLAGGED and row.commit_version is not None
    return SliceRecord(
        id=slice_id,
        status=Status.SUCCESS if stays else row.status if is_over else Status.FAILED,
        step=row.id,
        step_seq=row.step_seq,
        moment=moment,
        metrics=row.metrics,
        version=row.commit_version,
        why="" if is_over else f"{row.error_code}: {row.error_message}",
    )
