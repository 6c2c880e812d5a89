"""Rows that changed below the watermarks of models: steps that read only new rows miss them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from penstock.app.observation.log_reader import LogReader, tables_below
from penstock.app.observation.observe import unreadable_error
from penstock.core.errors import PenstockError, TableError
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import position
from penstock.core.project import Project, read_uri
from penstock.core.records import ModelRecord
from penstock.core.steps.inputs import DeltaPin, Pin, ViewPin
from penstock.core.steps.window import Bound
from penstock.plan.windows import low_bound


def changes_below(
    log_reader: LogReader, names: Collection[str], records: Mapping[str, ModelRecord]
) -> tuple[dict[str, frozenset[str]], dict[str, PenstockError]]:
    """Return the result of `changed_below` for some models, and the errors of the others."""
    log_reader.read_notes(_notes_below(log_reader.project, names, records))
    below: dict[str, frozenset[str]] = {}
    unreadable: dict[str, PenstockError] = {}
    for name in names:
        try:
            below[name] = changed_below(log_reader, name, records)
        except (TableError, OSError) as error:
            unreadable[name] = unreadable_error(log_reader.project.models[name], error)
    return below, unreadable


def changed_below(
    log_reader: LogReader, name: str, records: Mapping[str, ModelRecord]
) -> frozenset[str]:
    """Return the upstreams of a model that changed rows below the model's watermarks.

    Rows within `lookback` do not count. Logs are read only if an upstream has a newer data change
    than the one that was read. If a table was replaced, or a view rebuilt, every row counts as
    changed.
    """
    project = log_reader.project
    settings, record = project.models[name].strategy.window, records.get(name)
    if settings is None or record is None or not record.succeeded_once:
        return frozenset()
    return frozenset(
        each.input
        for each in record.watermarks
        for up in tables_below(project, each.input)
        for low in [low_bound(settings, each.value)]
        if low is not None
        and _has_changed(log_reader, records.get(up), record.pins.get(up), low, (up, each.column))
    )


def _has_changed(
    log_reader: LogReader,
    above: ModelRecord | None,
    pin: Pin | None,
    low: Bound,
    where: tuple[str, str],
) -> bool:
    """Return whether an input has changed rows below a bound of a column since its pin."""
    match above, pin:
        case ModelRecord(), ViewPin(read):
            return above.step_seq > read
        case ModelRecord(commit_version=int()), DeltaPin(table_id, _) if above.table_id != table_id:
            return True
        case _:
            since = _version_read(above, pin)
            return since is not None and _has_touched(log_reader, where, low, since)


def _version_read(above: ModelRecord | None, pin: Pin | None) -> int | None:
    """Return the version that was read of an input if it has changed since; None if not."""
    match above, pin:
        case ModelRecord(commit_version=int() as changed), DeltaPin(table_id, read):
            return read if above.table_id == table_id and changed > read else None
        case _:
            return None


def _notes_below(
    project: Project, names: Iterable[str], records: Mapping[str, ModelRecord]
) -> Mapping[str, int]:
    """Return the tables whose notes `changed_below` reads for these models, and from where."""
    after: dict[str, int] = {}
    for name in names:
        record = records.get(name)
        windowed = project.models[name].strategy.window is not None
        for each in record.watermarks if record is not None and windowed else ():
            for up in tables_below(project, each.input):
                read = _version_read(records.get(up), record.pins.get(up) if record else None)
                if read is not None:
                    table = str(project.table_of(InputName(InputKind.MODEL, up)))
                    after[table] = min(read, after.get(table, read))
    return after


def _has_touched(log_reader: LogReader, where: tuple[str, str], low: Bound, read: int) -> bool:
    (name, column), project = where, log_reader.project
    source = InputName(InputKind.MODEL, name)
    table = project.table_of(source)
    passed = position(low.value.text, low.value.type.lower())
    if passed is None:
        return True
    first = passed if low.inclusive else passed + 1
    tail = log_reader.tail(str(table), read_uri(project, source), read, (column,))
    if tail.gap is not None and tail.gap[1] > read:
        return True  # nobody can tell what was changed there
    return any(
        spans is None or any(begin < first for begin, _ in spans)
        for spans in (commit.spans.get(column) for commit in tail.commits)
    )
