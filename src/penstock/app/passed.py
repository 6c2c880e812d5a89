"""Changes that windows have passed: upstream rows at or below a watermark (spec/drift.md §8.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.app.sight import Sight
from penstock.core.model import window_settings
from penstock.core.partition import position
from penstock.core.pin import DeltaPin
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.core.window import Watermark


def changed_below(
    project: Project, names: Iterable[str], records: Mapping[str, ModelRecord], sight: Sight
) -> dict[str, frozenset[str]]:
    """Give the upstream models that changed rows which a window has passed, by reader.

    Logs are read only where an upstream has a newer data change than was read of it.
    """
    found = {}
    for name in names:
        model, record = project.models[name], records.get(name)
        settings = window_settings(model.strategy)
        if settings is None or record is None or not record.succeeded_once:
            continue
        stale = frozenset(
            mark.input
            for mark in record.watermarks
            if _is_stale(project, mark, record, records, sight)
        )
        if stale:
            found[name] = stale
    return found


def _is_stale(
    project: Project,
    mark: Watermark,
    record: ModelRecord,
    records: Mapping[str, ModelRecord],
    sight: Sight,
) -> bool:
    above, upstream = records.get(mark.input), project.models.get(mark.input)
    pin = record.pins.get(mark.input)
    if above is None or upstream is None or upstream.is_view or not isinstance(pin, DeltaPin):
        return False
    moved = above.commit_version is not None and above.commit_version > pin.version
    if not moved or above.table_id != pin.table_id:
        return False
    passed = position(mark.value.text, mark.value.type.lower())
    if passed is None:
        return False
    uri = project.uri_of(upstream.table)
    tail = sight.tail(str(upstream.table), uri, pin.version, (mark.column,))
    if tail.gap is not None and tail.gap[1] > pin.version:
        return True  # nobody can tell what was changed there
    return any(
        spans is None or any(low <= passed for low, _ in spans)
        for spans in (commit.spans.get(mark.column) for commit in tail.commits)
    )
