"""The strategy of one model: read its settings, and report those without effect."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import UsageError
from penstock.core.findings import Location
from penstock.core.history import HistorySettings
from penstock.core.masking import mask_value
from penstock.core.model import ColumnDoc
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.sessions.package import SessionModel, SessionPackage
from penstock.core.strategy import (
    DELETION_VECTORS,
    EVERY,
    Layout,
    NullWatermark,
    PartitionSettings,
    Strategy,
    WindowSettings,
    strategies,
)
from penstock.project.files.values import (
    SCALARS,
    duration_of,
    mapping_of,
    number_of,
    pairs_of,
    text_of,
)
from penstock.project.settings.config import Config
from penstock.project.settings.snapshot import is_meant_as_snapshot, snapshot_of
from penstock.project.settings.validation import ALL_PARTITIONS

CLUSTERED = 4
"""The greatest number of clustering columns in Delta."""
LAYOUTS = ("auto", "partitioned", "clustered")
VERSIONED = ("partition", "table", "view")
"""The strategies of versioned models."""
_FITTING = {
    Grain.RANGE: ("bigint", "int", "smallint", "tinyint"),
    Grain.HOUR: ("timestamp", "timestamp_ntz"),
}
"""The types of a partition field, the usual one first; date grains also allow dates."""
_UNDECLARED = ("json", "variant", "dec")
"""Types that are not allowed in the schema of an unversioned model: adding one would be drift."""
_OF_RANGE = ("partition_start", "partition_end", "partition_interval")
_OF_SNAPSHOTS = ("current", "plain", "dbt")
_NEEDS_WINDOW = ("lookback", "window_on", "null_watermark", "string_watermark")


@dataclass(slots=True)
class StrategyConfig(Config):
    """The settings of a model for its strategy (the port `GivenSettings`).

    `columns` are described ones; `cut` are partition settings from a versioned file.
    """

    columns: tuple[ColumnDoc, ...] = ()
    cut: PartitionSettings | None = None

    def window(self) -> WindowSettings | None:
        """Read how new rows are found."""
        column = self.text("time_column")
        if not column:
            for key in _NEEDS_WINDOW:
                if key in self.own:
                    sentence = f"{key} has no effect without time_column"
                    self.warn(key, "option-without-effect", sentence)
            return None
        if self.text("window") == "none":
            sentence = "window='none' and time_column exclude each other"
            self.report("window", "option-conflict", sentence, "keep one of them")
        columns = mapping_of(self.settings.get("window_on")).items()
        written = self.settings.get("lookback")
        return WindowSettings(
            column,
            written if isinstance(written, int) else duration_of(written),
            {name: None if value is None else text_of(value) for name, value in columns},
            self.word("null_watermark", NullWatermark.ERROR),
            self.flag("string_watermark"),
        )

    def session(self) -> tuple[SessionPackage, SessionModel]:
        """Raise: a model is not a table of a session package."""
        raise TypeError(f"{self.name} is of no package")

    def partitioning(self) -> PartitionSettings:
        """Read how the model is partitioned."""
        if self.cut is not None:
            return self.cut
        if self.text("time_column"):
            sentence = "a model of partitions has no window of its input: time_column has no effect"
            hint = "take time_column out, or use merge with a key"
            self.report("time_column", "option-conflict", sentence, hint)
        grid, name = _grid(self), _field(self)
        return PartitionSettings(
            field=name,
            type=_type(self, name, grid.grain),
            grid=grid,
            start=_start(self, grid),
            ready_after=duration_of(self.settings.get("ready_after")),
            batch_size=number_of(self.settings.get("batch_size")),
            lookback=_partitions_back(self, grid),
        )

    def history(self) -> HistorySettings:
        """Read how versions of the rows are kept."""
        return snapshot_of(self)


def strategy_of(config: StrategyConfig) -> Strategy:
    """Choose the strategy; contradictions become findings."""
    word = config.text("materialized") or "view"
    if word == "incremental":
        word = "merge" if config.texts("unique_key") else "append"
    known = strategies()
    strategy = known.get(word, known["view"]).read(config)
    layout, partitioned = config.text("layout"), strategy.partitioning is not None
    if strategy.history is None:
        asked = config
        if partitioned and "layout" in config.own:  # of partitions, and no sign of a snapshot
            asked = replace(config, own={k: at for k, at in config.own.items() if k != "layout"})
        if word in known and is_meant_as_snapshot(asked):
            return strategy
    elif layout and layout not in _OF_SNAPSHOTS:
        sentence = f"layout {layout!r} is that of partitions, and this is a snapshot"
        config.report("layout", "bad-value", sentence, f"allowed: {', '.join(_OF_SNAPSHOTS)}")
    for key in config.own:
        if key not in strategy.settings and any(key in each.settings for each in known.values()):
            sentence = f"{key} has no effect on strategy {strategy.name}"
            config.warn(key, "option-without-effect", sentence)
    return strategy


def versioned_strategy(word: str, partition: PartitionSettings | None) -> Strategy:
    """Return the strategy of a versioned file; without a partition field it replaces the table."""
    if partition is not None:
        word = "partition"
    elif word != "view":
        word = "table"
    return strategies()[word].read(StrategyConfig({}, {}, Location(""), cut=partition))


def layout_of(config: Config, strategy: Strategy) -> Layout:
    """Return the layout on disk; a history table separates current and closed rows."""
    parts, cluster = config.texts("partition_by"), config.texts("cluster_by")
    if strategy.is_view:
        return Layout()
    properties = _properties(config)
    if strategy.partitioning is not None:
        if len(cluster) > CLUSTERED:
            most = f"Delta clusters by {CLUSTERED} at most"
            sentence = f"cluster_by names {len(cluster)} columns; {most}"
            hint = "keep those that filters name"
            config.report("cluster_by", "cluster-too-many", sentence, hint)
        word = config.text("layout") or "auto"
        if word not in LAYOUTS:
            sentence = f"layout {word!r} is not known"
            config.report("layout", "bad-value", sentence, f"allowed: {', '.join(LAYOUTS)}")
        return laid_out(strategy.partitioning, cluster, word, properties)
    if parts and cluster:
        sentence = "partition_by and cluster_by exclude each other: Delta clusters or partitions"
        config.report("cluster_by", "option-conflict", sentence, "keep one of them")
    history = strategy.history
    if history is not None and history.by_current and cluster:
        cluster = _first(history.columns.valid_to, cluster)
    elif history is not None and history.by_current:
        parts = _first(history.columns.is_current, parts)
    return Layout(parts, cluster, properties)


def _properties(config: Config) -> dict[str, str]:
    """Return the properties of a table; one that contains a secret is a finding."""
    properties = pairs_of(config.settings.get("table_properties"))
    for key in (key for key, value in properties.items() if mask_value(key, value) != value):
        sentence = (
            f"table property {key!r} holds a secret, which everybody reads who reads the table"
        )
        hint = "take it out; Spark reads credentials from settings of the target"
        config.report("table_properties", "secret-in-table", sentence, hint)
    if config.settings.get("deletion_vectors") is not None:
        chosen = str(config.flag("deletion_vectors")).lower()
        if properties.setdefault(DELETION_VECTORS, chosen).lower() != chosen:
            sentence = f"deletion_vectors is {chosen} and table_properties say the opposite"
            config.report("deletion_vectors", "option-conflict", sentence, "keep one of them")
    return properties


def _first(column: str, others: Sequence[str]) -> tuple[str, ...]:
    return (column, *(name for name in others if name.lower() != column.lower()))


def laid_out(
    partition: PartitionSettings, cluster: Sequence[str], word: str, properties: dict[str, str]
) -> Layout:
    """Choose between a folder per value and clustering."""
    by_day = partition.grid.grain is Grain.DAY and partition.type == "date"
    if word == "partitioned" or (word != "clustered" and by_day):
        return Layout(partition_by=(partition.field,), properties=properties)
    return Layout(cluster_by=_first(partition.field, cluster)[:CLUSTERED], properties=properties)


def declared_schema(columns: Sequence[ColumnDoc]) -> tuple[Schema, str]:
    """Return the schema of described columns, and its JSON; empty without plain types.

    For a struct the description is not complete.
    """
    pairs = [(column.name, _scalar(column.type)) for column in columns]
    if not all(kind for _, kind in pairs):
        return Schema(), ""
    made = Schema(tuple(Column(name, kind) for name, kind in pairs))
    parts = [{"name": name, "type": kind, "mode": "NULLABLE"} for name, kind in sorted(pairs)]
    return made, json.dumps(parts, separators=(",", ":")) if parts else ""


def _scalar(written: str) -> str:
    word = re.sub(r"\s", "", written.lower())
    if word in SCALARS and word not in _UNDECLARED:
        return SCALARS[word]
    return word if re.fullmatch(r"decimal\(\d+,\d+\)", word) else ""


def _field(config: Config) -> str:
    names = config.texts("partition_by")
    if not names:
        sentence = "partition needs partition_by"
        config.report("materialized", "missing-key", sentence, "name the column: partition_by='d'")
    elif len(names) > 1:
        sentence = f"partition_by names {len(names)} columns; a partition has one field"
        config.report("partition_by", "bad-value", sentence, "keep one, or use cluster_by")
    return names[0] if names else ""


def _type(config: StrategyConfig, name: str, grain: Grain) -> str:
    fitting = _FITTING.get(grain, ("date", *_FITTING[Grain.HOUR]))
    declared = next(
        (c.type for c in config.columns if c.type and c.name.lower() == name.lower()),
        config.text("partition_data_type"),
    )
    kind = _scalar(declared) if declared else fitting[0]
    if kind in fitting:
        return kind
    *others, last = (each.upper() for each in fitting)
    needed = f"{', '.join(others)} or {last}"
    sentence = f'{grain} needs {needed}; "{name}" is {declared.strip().upper()}'
    config.report("partition_by", "partition-type-mismatch", sentence)
    return fitting[0]


def _grid(config: Config) -> Grid:
    grain = config.word("partition_type", Grain.DAY)
    if grain is not Grain.RANGE:
        for key in _OF_RANGE:
            if config.settings.get(key) is not None:
                sentence = f"{key} is for partition_type RANGE, and this is {grain}"
                config.report(key, "bad-value", sentence, "take it out")
        return Grid(grain)
    start, end, interval = (number_of(config.settings.get(key)) for key in _OF_RANGE)
    for key, value in zip(_OF_RANGE, (start, end, interval), strict=True):
        if value is None:
            config.report("partition_type", "missing-key", f"RANGE needs {key}", f"{key}=…")
    if start is None or end is None or interval is None or interval < 1:
        return Grid(grain, 0, 1, 1)
    if end <= start:
        sentence = f"partition_end is {end}; it must be greater than partition_start, {start}"
        config.report("partition_end", "bad-value", sentence)
        return Grid(grain, start, start + 1, 1)
    return Grid(grain, start, end, interval)


def _partitions_back(config: Config, grid: Grid) -> int | None:
    value = config.settings.get("lookback")
    if value is None:
        return None
    number = value if isinstance(value, int) else number_of(value)
    number = EVERY if value == ALL_PARTITIONS else number
    if number is None or number < 0:
        sentence = f"lookback is {value!r}; of partitions it is a number of them, or all"
        config.report("lookback", "bad-value", sentence, "lookback: 2")
    elif grid.grain is Grain.RANGE:
        sentence = "lookback has no effect on RANGE, whose partitions have no time"
        config.warn("lookback", "option-without-effect", sentence)
        return None
    return number


def _start(config: Config, grid: Grid) -> dt.date | None:
    text = config.text("start").strip()
    if grid.grain is Grain.RANGE:
        if text:
            sentence = "start has no effect on RANGE, whose first partition is partition_start"
            config.warn("start", "option-without-effect", sentence)
        return None
    if not text:
        sentence = "a partition model without versions needs start, its first date"
        config.report("materialized", "missing-start", sentence, "start='2024-01-01'")
        return None
    with suppress(ValueError):
        return dt.date.fromisoformat(text)
    try:
        return grid.date(grid.parse(text))
    except UsageError as error:
        config.report("start", "bad-value", f"start: {error}", "a date, or a key of the grain")
    return None
