"""Changes that windows have passed: upstream rows below the next window (spec/drift.md §8.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.app.sight import Sight, tables_below
from penstock.core.model import WindowSettings, window_settings
from penstock.core.partition import position
from penstock.core.pin import DeltaPin, ViewPin
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.core.window import Bound, Watermark
from penstock.plan.windows import low_bound


@dataclass(frozen=True, slots=True)
class _Reader:
    """A model that reads through windows, and what its last success left on record."""

    project: Project
    settings: WindowSettings
    record: ModelRecord
    records: Mapping[str, ModelRecord]
    sight: Sight


def changed_below(
    project: Project, names: Iterable[str], records: Mapping[str, ModelRecord], sight: Sight
) -> dict[str, frozenset[str]]:
    """Give the upstream models that changed rows which a window has passed, by reader.

    Rows that a `lookback` takes in again are not passed. Logs are read only where an upstream has
    a newer data change than was read of it. Of a table that another one replaced, and of a view
    that was made anew, every row counts as changed.
    """
    found = {}
    for name in names:
        model, record = project.models[name], records.get(name)
        settings = window_settings(model.strategy)
        if settings is None or record is None or not record.succeeded_once:
            continue
        reader = _Reader(project, settings, record, records, sight)
        stale = frozenset(mark.input for mark in record.watermarks if _is_stale(reader, mark))
        if stale:
            found[name] = stale
    return found


def _is_stale(reader: _Reader, mark: Watermark) -> bool:
    low = low_bound(reader.settings, mark.value)
    return low is not None and any(
        _changed(reader, name, mark.column, low)
        for name in tables_below(reader.project, mark.input)
    )


def _changed(reader: _Reader, name: str, column: str, low: Bound) -> bool:
    """Whether an input has changed rows below a bound since the pin of the last success."""
    above, pin = reader.records.get(name), reader.record.pins.get(name)
    match above, pin:
        case ModelRecord(), ViewPin(read):
            return above.step_seq > read
        case ModelRecord(), DeltaPin(table_id, read):
            if above.commit_version is None:
                return False
            if above.table_id != table_id:
                return True
            return above.commit_version > read and _touched(reader, name, column, low, read)
        case _:
            return False


def _touched(reader: _Reader, name: str, column: str, low: Bound, read: int) -> bool:
    project = reader.project
    model = project.models.get(name)
    table = model.table if model is not None else project.seeds[name].table
    passed = position(low.value.text, low.value.type.lower())
    if passed is None:
        return True
    first = passed if low.inclusive else passed + 1
    tail = reader.sight.tail(str(table), project.uri_of(table), read, (column,))
    if tail.gap is not None and tail.gap[1] > read:
        return True  # nobody can tell what was changed there
    return any(
        spans is None or any(begin < first for begin, _ in spans)
        for spans in (commit.spans.get(column) for commit in tail.commits)
    )
