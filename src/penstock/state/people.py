"""The small readable file that `state export --models` prints (spec/python.md §9)."""

from __future__ import annotations

import datetime as dt
import json

from penstock.core.columns.typed import TypedValue
from penstock.core.ports.ports import Records
from penstock.core.records import ModelRecord
from penstock.core.steps.window import Watermark

Entry = dict[str, str | dict[str, dict[str, str]]]


def export_models(records: Records) -> str:
    """Give one JSON object per model that ever succeeded: last run (UTC), watermarks, greatest one.

    Keys are sorted. `last_max_value` is left out when the watermarks do not compare.
    """
    document = {
        name: _entry(record, record.executed_at)
        for name, record in records.models().items()
        if record.executed_at is not None
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _entry(record: ModelRecord, ran: dt.datetime) -> Entry:
    entry: Entry = {"last_run": ran.replace(tzinfo=None).isoformat(timespec="microseconds")}
    if not record.watermarks:
        return entry
    greatest = _greatest(record.watermarks)
    if greatest is not None:
        entry["last_max_value"] = _plain(greatest)
    entry["watermarks"] = {
        watermark.key: {"type": watermark.value.type, "value": watermark.value.text}
        for watermark in record.watermarks
    }
    return entry


def _greatest(watermarks: tuple[Watermark, ...]) -> TypedValue | None:
    try:
        return max(watermark.value for watermark in watermarks)
    except TypeError:
        return None


def _plain(value: TypedValue) -> str:
    """Give a time as `2025-11-05 23:00:00`, with a fraction only if there is one."""
    time = value.key
    if not isinstance(time, dt.datetime):
        return value.text
    return str(time)
