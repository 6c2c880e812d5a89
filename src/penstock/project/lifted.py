"""The settings of one layer under one name each: aliases resolved, `snapshot={…}` unpacked.

A layer is one header, one YAML entry or one mapping of defaults. What it says twice must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.core.findings import Finding, Location
from penstock.project.values import Path, Plain, is_true, mapping_of, text_of, texts_of

NESTED = "snapshot"
OF_SNAPSHOTS = (
    "strategy",
    "updated_at",
    "check_cols",
    "valid_from",
    "compare_rows",
    "hard_deletes",
    "null_updated_at",
    "allow_empty",
    "row_hash",
    "retention",
    "layout",
    "system_columns",
)
KEYS = frozenset(
    {
        "materialized",
        "unique_key",
        "schema",
        "alias",
        "tags",
        "partition_by",
        "partition_type",
        "partition_start",
        "partition_end",
        "partition_interval",
        "start",
        "ready_after",
        "batch_size",
        "cluster_by",
        "table_properties",
        "description",
        "comment",
        "time_column",
        "lookback",
        "window",
        "window_on",
        "null_watermark",
        "string_watermark",
        "overwrite",
        "on_schema_change",
        "null_keys",
        "on_duplicate",
        "order_by",
        "depends_on",
        "meta",
        "columns",
        "enabled",
        *OF_SNAPSHOTS,
    }
)
_ALIASES = {
    "primary_key": "unique_key",
    "updated_at_column": "updated_at",
    "updated_at_columns": "updated_at",
    "check_columns": "check_cols",
    "invalidate_hard_deletes": "hard_deletes",
}
_NAMES = ("unique_key", "updated_at", "check_cols")
Normal = str | frozenset[str] | tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Lifted:
    """Settings by their one name, the place of each, and what contradicts itself."""

    values: dict[str, Plain] = field(default_factory=dict)
    places: dict[str, Location] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def lift(layer: Mapping[str, Plain], place: Callable[[Path], Location]) -> Lifted:
    """Lift the settings of a layer; `place` gives where a key stands.

    `snapshot` itself stands in the places alone.
    """
    lifted = Lifted()
    for key, value in layer.items():
        if key != NESTED:
            _add(lifted, key, value, place((key,)))
            continue
        for inner, below in mapping_of(value).items():
            lifted.places[NESTED] = place((NESTED,))
            _add(lifted, inner, below, place((NESTED, inner)))
    return lifted


def _add(lifted: Lifted, written: str, value: Plain, where: Location) -> None:
    key = _ALIASES.get(written, written)
    if written == "invalidate_hard_deletes" and value is not None:
        value = "invalidate" if is_true(value) else "ignore"
    if key not in lifted.values:
        lifted.values[key] = value
        lifted.places[key] = where
        return
    first, at = lifted.values[key], lifted.places[key]
    if _normal(key, first) != _normal(key, value):
        pair = sorted([(at, _shown(first)), (where, _shown(value))], key=lambda each: each[0])
        (earlier, said), (later, here) = pair
        sentence = f"{key} is {here} here and {said} at line {earlier.line}"
        lifted.findings.append(Finding(later, "conflicting-settings", sentence, "keep one"))


def _normal(key: str, value: Plain) -> Normal:
    """Give what a value means: names without case and order, texts as they are."""
    if isinstance(value, Mapping):
        return tuple(sorted((name, text_of(item)) for name, item in value.items()))
    if key in _NAMES and not (key == "check_cols" and value == "all"):
        return frozenset(name.lower() for name in texts_of(value))
    return text_of(value) if not isinstance(value, list) else frozenset(texts_of(value))


def _shown(value: Plain) -> str:
    if isinstance(value, str):
        return repr(value)
    return str(value) if isinstance(value, list | Mapping) else text_of(value)
