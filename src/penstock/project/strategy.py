"""The strategy of one model: its settings read, and what has no effect on it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from penstock.core.findings import Location
from penstock.core.history import HistorySettings
from penstock.core.model import ColumnDoc
from penstock.core.strategy import (
    NullWatermark,
    PartitionSettings,
    Strategy,
    WindowSettings,
    strategies,
)
from penstock.project.config import Config
from penstock.project.durations import parse_duration
from penstock.project.partitions import partition_of
from penstock.project.snapshot import is_meant_as_snapshot, snapshot_of
from penstock.project.values import Plain, is_true, mapping_of, text_of

_OF_SNAPSHOTS = ("current", "plain")
_NEEDS_WINDOW = ("lookback", "window_on", "null_watermark", "string_watermark")


@dataclass(slots=True)
class StrategyConfig(Config):
    """The settings of a model as a strategy reads them (the port `GivenSettings`).

    `columns` are those that the project describes: they tell the type of a partition field.
    `cut` are settings of partitions that stand elsewhere, in a versioned file.
    """

    columns: Sequence[ColumnDoc] = ()
    cut: PartitionSettings | None = None

    def window(self) -> WindowSettings | None:
        """Read how new rows are found."""
        return _window(self)

    def partitioning(self) -> PartitionSettings:
        """Read how the model is cut into partitions."""
        return self.cut or partition_of(self, self.columns)

    def history(self) -> HistorySettings:
        """Read how versions of the rows are kept."""
        return snapshot_of(self)


def strategy_of(config: Config, columns: Sequence[ColumnDoc] = ()) -> Strategy:
    """Decide the strategy; what does not go together becomes findings."""
    given = StrategyConfig(
        config.settings, config.own, config.where, config.name, config.findings, columns
    )
    word = config.text("materialized") or "view"
    if word == "incremental":
        word = "merge" if config.texts("unique_key") else "append"
    known = strategies()
    strategy = known.get(word, known["view"]).read(given)
    if strategy.history is not None:
        _check_layout(config)
    elif word in known and is_meant_as_snapshot(_without_layout(config, strategy)):
        return strategy
    taken = frozenset[str]().union(*(each.settings for each in known.values()))
    for key in config.own:
        if key in taken - strategy.settings:
            sentence = f"{key} has no effect on strategy {strategy.name}"
            config.warn(key, "option-without-effect", sentence)
    return strategy


def versioned_strategy(word: str, partition: PartitionSettings | None) -> Strategy:
    """Give the strategy of a versioned file; without a partition field the table is made whole."""
    if partition is not None:
        word = "partition"
    elif word != "view":
        word = "table"
    return strategies()[word].read(StrategyConfig({}, {}, Location(""), cut=partition))


def _check_layout(config: Config) -> None:
    word = config.text("layout")
    if word and word not in _OF_SNAPSHOTS:
        sentence = f"layout {word!r} is that of partitions, and this is a snapshot"
        config.report("layout", "bad-value", sentence, f"allowed: {', '.join(_OF_SNAPSHOTS)}")


def _without_layout(config: Config, strategy: Strategy) -> Config:
    """Leave out the one key that both snapshots and partitions have."""
    if strategy.partitioning is None:
        return config
    return replace(config, own={k: at for k, at in config.own.items() if k != "layout"})


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
    lookback = _lookback(config.settings.get("lookback"))
    strings = is_true(config.settings.get("string_watermark"))
    return WindowSettings(column, lookback, on, nulls, strings)


def _lookback(value: Plain) -> dt.timedelta | int | None:
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        with suppress(ValueError):
            return parse_duration(value)
    return None
