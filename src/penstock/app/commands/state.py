"""The use cases `state export`, `import` and `restore`: the store as a document, or its copy."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path

from penstock.app.services.services import Services
from penstock.core.errors import StateError, UsageError
from penstock.core.model import Model
from penstock.core.ports.ports import Records
from penstock.core.records import ModelRecord

Entry = dict[str, str | dict[str, dict[str, str]]]


def export_state(services: Services, *, models: bool = False) -> str:
    """Give the whole store as one JSON document, or the small readable one of its models."""
    if not services.has_state():
        raise StateError(
            "no-state",
            f"target {services.project.target.name!r} has no state yet",
            hint="the first penstock run makes it",
        )
    if models:
        tables = {each.name: _shown(each) for each in services.project.models.values()}
        return export_models(services.reading.records, tables)
    return services.reading.archive.export()


def import_state(services: Services, file: Path) -> None:
    """Replace the whole store by an exported document."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError("unreadable-file", f"{file} cannot be read: {reason}") from error
    services.writing.archive.load(text)


def restore_state(services: Services) -> Path:
    """Put the last good copy of a damaged SQLite file in its place; give where the old one is."""
    from penstock.state.sql.sqlite import restore

    return restore(services.project.target.state, services.clock.now())


def export_models(records: Records, tables: Mapping[str, str]) -> str:
    """Give the small readable file (spec/python.md §9): an object per model that ever succeeded.

    It stands under the name of its table, or its own if the project has it no more; one whose
    table is "" is left out. It says the last run (UTC), the watermarks and the greatest of them,
    which is left out when they do not compare. Keys are sorted.
    """
    document = {
        tables.get(name, name): _entry(record, record.executed_at)
        for name, record in records.models().items()
        if record.executed_at is not None and tables.get(name, name)
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _shown(model: Model) -> str:
    """Give the table of a model; "" for a frame of a function, which is never there by itself."""
    return "" if model.is_view and not model.strategy.is_written else str(model.table)


def _entry(record: ModelRecord, ran: dt.datetime) -> Entry:
    entry: Entry = {"last_run": ran.replace(tzinfo=None).isoformat(timespec="microseconds")}
    if not record.watermarks:
        return entry
    with contextlib.suppress(TypeError):  # they do not compare
        greatest = max(watermark.value for watermark in record.watermarks)
        # A time as `2025-11-05 23:00:00`, with a fraction only if there is one.
        is_time = isinstance(greatest.key, dt.datetime)
        entry["last_max_value"] = str(greatest.key) if is_time else greatest.text
    entry["watermarks"] = {
        watermark.key: {"type": watermark.value.type, "value": watermark.value.text}
        for watermark in record.watermarks
    }
    return entry
