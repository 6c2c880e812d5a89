"""The strategy of one model: its settings' rules together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from penstock.core.model import (
    Append,
    ColumnDoc,
    Merge,
    NullWatermark,
    Strategy,
    Table,
    View,
    WindowSettings,
    strategy_name,
)
from penstock.project.files.values import duration_of, is_true, mapping_of, text_of
from penstock.project.settings.config import Config
from penstock.project.settings.partitions import partition_of
from penstock.project.settings.snapshot import is_meant_as_snapshot, snapshot_of

_INCREMENTAL = ("append", "merge")
_STORED = ("table", "append", "merge", "partition", "snapshot")
_PARTITION = ("partition",)
_OF_SNAPSHOTS = ("current", "plain")
_EFFECTS: Mapping[str, tuple[str, ...]] = {
    "unique_key": ("merge", "snapshot"),
    "time_column": (*_INCREMENTAL, "partition"),
    "lookback": _INCREMENTAL,
    "window": ("append",),
    "window_on": _INCREMENTAL,
    "null_watermark": _INCREMENTAL,
    "string_watermark": _INCREMENTAL,
    "overwrite": ("table",),
    "null_keys": ("merge", "snapshot"),
    "on_duplicate": ("merge",),
    "order_by": ("merge",),
    "on_schema_change": _STORED,
    "partition_by": _STORED,
    "cluster_by": _STORED,
    "table_properties": _STORED,
    "partition_type": _PARTITION,
    "partition_start": _PARTITION,
    "partition_end": _PARTITION,
    "partition_interval": _PARTITION,
    "start": _PARTITION,
    "ready_after": _PARTITION,
    "batch_size": _PARTITION,
}
_NEEDS_WINDOW = ("lookback", "window_on", "null_watermark", "string_watermark")


def strategy_of(config: Config, columns: Sequence[ColumnDoc] = ()) -> Strategy:
    """Decide the strategy; what does not go together becomes findings.

    `columns` are those that the project describes: they tell the type of a partition field.
    """
    word = config.text("materialized") or "view"
    keys = config.texts("unique_key")
    if word == "incremental":
        word = "merge" if keys else "append"
    if word == "partition":
        strategy: Strategy = partition_of(config, columns)
    else:
        strategy = _BUILDERS.get(word, _view)(config)
    if word == "snapshot":
        _check_layout(config)
    elif word in (*_BUILDERS, "partition") and is_meant_as_snapshot(_without_layout(config, word)):
        return strategy
    name = strategy_name(strategy)
    for key in config.own:
        if key in _EFFECTS and name not in _EFFECTS[key]:
            config.warn(key, "option-without-effect", f"{key} has no effect on strategy {name}")
    return strategy


def _check_layout(config: Config) -> None:
    word = config.text("layout")
    if word and word not in _OF_SNAPSHOTS:
        sentence = f"layout {word!r} is that of partitions, and this is a snapshot"
        config.report("layout", "bad-value", sentence, f"allowed: {', '.join(_OF_SNAPSHOTS)}")


def _without_layout(config: Config, word: str) -> Config:
    """Leave out the one key that both snapshots and partitions have."""
    if word != "partition":
        return config
    return replace(config, own={k: at for k, at in config.own.items() if k != "layout"})


def _view(config: Config) -> Strategy:
    del config
    return View()


def _table(config: Config) -> Strategy:
    by_partition = config.text("overwrite") == "partitions"
    if by_partition and not config.texts("partition_by"):
        sentence = "overwrite: partitions needs partition_by"
        config.report("overwrite", "missing-key", sentence, "name the partition columns")
    return Table(overwrite_partitions=by_partition)


def _append(config: Config) -> Strategy:
    window = _window(config)
    if window is None and config.text("window") != "none":
        config.report(
            "materialized",
            "append-without-window",
            "append without time_column would add the same rows again on every run",
            "set time_column, or window='none' if the query itself selects only new rows",
        )
    if config.settings.get("lookback") is not None:
        config.report(
            "lookback",
            "option-conflict",
            "append with lookback would add rows twice",
            "use merge with a key, or partition with time_column",
        )
    return Append(window)


def _merge(config: Config) -> Strategy:
    keys = config.texts("unique_key")
    if not keys:
        config.report("materialized", "missing-key", "merge needs unique_key", "unique_key=['id']")
    latest = config.text("on_duplicate") == "latest"
    order = config.texts("order_by")
    if latest and not order:
        sentence = "on_duplicate: latest needs order_by"
        config.report("on_duplicate", "missing-key", sentence, "order_by='updated_at'")
    if order and not latest:
        sentence = "order_by has no effect without on_duplicate: latest"
        config.warn("order_by", "option-without-effect", sentence)
    return Merge(
        keys,
        _window(config),
        order if latest else (),
        match_null_keys=config.text("null_keys") == "match",
    )


_BUILDERS: Mapping[str, Callable[[Config], Strategy]] = {
    "view": _view,
    "table": _table,
    "append": _append,
    "merge": _merge,
    "snapshot": snapshot_of,
}


def _window(config: Config) -> WindowSettings | None:
    column = config.text("time_column")
    if not column:
        for key in _NEEDS_WINDOW:
            if key in config.own:
                sentence = f"{key} has no effect without time_column"
                config.warn(key, "option-without-effect", sentence)
        return None
    if config.text("window") == "none":
        sentence = "window='none' and time_column exclude each other"
        config.report("window", "option-conflict", sentence, "keep one of them")
    on = {
        name: None if value is None else text_of(value)
        for name, value in mapping_of(config.settings.get("window_on")).items()
    }
    nulls = NullWatermark.ERROR
    with suppress(ValueError):
        nulls = NullWatermark(config.text("null_watermark") or "error")
    written = config.settings.get("lookback")
    lookback = written if isinstance(written, int) else duration_of(written)
    strings = is_true(config.settings.get("string_watermark"))
    return WindowSettings(column, lookback, on, nulls, strings)
