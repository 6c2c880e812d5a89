"""Fingerprints: what code made some rows (spec/drift.md §4)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

from penstock.core.history import (
    ChangeTest,
    ColumnsDiffer,
    HashDiffers,
    NewerThan,
    Snapshot,
)
from penstock.core.model import (
    Append,
    ColumnDoc,
    Fingerprint,
    Layout,
    Merge,
    Partition,
    Strategy,
    Table,
    WindowSettings,
    strategy_name,
)
from penstock.project.link import Linked
from penstock.project.surroundings import digest


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a table and its columns."""

    description: str = ""
    columns: tuple[ColumnDoc, ...] = ()


def fingerprint(linked: Linked, strategy: Strategy, layout: Layout, said: Said) -> Fingerprint:
    """Give the checksums of a model's code, and of how its table lies.

    `linked.shown` is `Project.shown_sql`, followed by the incremental branch where that differs.
    """
    return Fingerprint(
        sql=digest(linked.shown),
        canonical=digest(linked.query.canonical),
        settings=digest(settings_text(strategy, layout)),
        layout=digest(layout_text(layout, said)),
        parser=parser_version(),
    )


@cache
def parser_version() -> str:
    """Give the version of sqlglot, which decides what canonical SQL looks like."""
    return version("sqlglot")


def layout_text(layout: Layout, said: Said) -> str:
    """Write how a table lies and what is said of it as JSON with sorted keys."""
    parts = {
        "partition_by": layout.partition_by,
        "cluster_by": layout.cluster_by,
        "properties": dict(layout.properties),
        "description": said.description,
        "columns": [[c.name, c.description] for c in said.columns if c.description],
    }
    return json.dumps(parts, sort_keys=True, separators=(",", ":"))


def settings_text(strategy: Strategy, layout: Layout) -> str:
    """Write the settings that change rows as JSON with sorted keys.

    Descriptions, tags, clustering and properties are in none: they change no row. Partition
    columns are, where they decide which rows are replaced. Column names stand in small letters.

    >>> settings_text(Table(), Layout(cluster_by=("a",)))
    '{"strategy":"table"}'
    """
    parts: dict[str, object] = {"strategy": strategy_name(strategy)}
    match strategy:
        case Table(overwrite_partitions=True):
            parts["overwrite"] = list(layout.partition_by)
        case Append(window):
            parts["window"] = _window(window)
        case Merge(keys, window, order_by, match_null_keys):
            parts["keys"] = list(keys)
            parts["window"] = _window(window)
            parts["order_by"] = list(order_by)
            parts["match_null_keys"] = match_null_keys
        case Snapshot():
            parts |= _history(strategy)
        case Partition(field, _, grid):
            parts["field"] = field.lower()
            parts["grid"] = [str(grid.grain), grid.start, grid.end, grid.interval]
        case _:
            pass
    return json.dumps(parts, sort_keys=True, separators=(",", ":"))


def _history(strategy: Snapshot) -> dict[str, object]:
    retention = strategy.retention
    return {
        "keys": _folded(strategy.keys),
        "change": _change(strategy.change),
        "event_time": strategy.event_time,
        "hard_deletes": str(strategy.hard_deletes),
        "match_null_keys": strategy.match_null_keys,
        "ignore_null_time": strategy.ignore_null_time,
        "allow_empty": strategy.allow_empty,
        "retention": [retention.keep_last, retention.keep_days] if retention else None,
        "system_columns": list(strategy.columns.names),
    }


def _change(change: ChangeTest) -> list[object]:
    match change:
        case NewerThan(column, compare_rows):
            return ["newer", column.lower(), compare_rows]
        case ColumnsDiffer(columns):
            return ["columns", None if columns is None else _folded(columns)]
        case HashDiffers(column, hashed):
            return ["hash", column, None if hashed is None else _folded(hashed)]


def _folded(names: tuple[str, ...]) -> list[str]:
    """Give names without case and order: neither says anything."""
    return sorted(name.lower() for name in names)


def _window(window: WindowSettings | None) -> dict[str, object] | None:
    if window is None:
        return None
    return {
        "time_column": window.time_column,
        "lookback": None if window.lookback is None else str(window.lookback),
        "on": dict(window.on),
        "null_watermark": str(window.null_watermark),
        "string_watermark": window.string_watermark,
    }
