"""The settings of one model: layers merged by precedence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from penstock.core.findings import Finding, Location, Severity
from penstock.core.history import SystemColumns
from penstock.core.strategy import Layout, OnSchemaChange, Strategy
from penstock.project.values import Plain, mapping_of, pairs_of, text_of, texts_of

_MAPPINGS = ("table_properties", "meta", "window_on", "system_columns")


@dataclass(slots=True)
class Config:
    """Merged settings of a model; `own` are the keys that its own files set, and where."""

    settings: dict[str, Plain]
    own: Mapping[str, Location]
    where: Location
    name: str = ""
    findings: list[Finding] = field(default_factory=list)

    def text(self, key: str) -> str:
        """Give a setting as text, "" if it is not set."""
        return text_of(self.settings.get(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """Give a setting as a tuple of texts."""
        return texts_of(self.settings.get(key))

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Note an error where the key was set."""
        self.findings.append(Finding(self.own.get(key, self.where), code, sentence, hint))

    def warn(self, key: str, code: str, sentence: str) -> None:
        """Note a warning where the key was set."""
        where = self.own.get(key, self.where)
        self.findings.append(Finding(where, code, sentence, severity=Severity.WARNING))


def merged(layers: Sequence[Mapping[str, Plain]]) -> dict[str, Plain]:
    """Merge layers, the most specific last. Mappings merge key by key, all else is replaced.

    `retention` counts as one setting: a rule of the layer above would keep more than is asked.
    """
    result: dict[str, Plain] = {}
    for layer in layers:
        for key, value in layer.items():
            if key in _MAPPINGS:
                value = {**mapping_of(result.get(key)), **mapping_of(value)}  # noqa: PLW2901
            result[key] = value
    return result


def layout_of(config: Config, strategy: Strategy) -> Layout:
    """Give how the table lies on disk; a history table is split into current and closed rows."""
    if strategy.is_view:
        return Layout()
    layout = Layout(
        config.texts("partition_by"),
        config.texts("cluster_by"),
        pairs_of(config.settings.get("table_properties")),
    )
    if layout.partition_by and layout.cluster_by:
        sentence = "partition_by and cluster_by exclude each other: Delta clusters or partitions"
        config.report("cluster_by", "option-conflict", sentence, "keep one of them")
    if strategy.history is not None and strategy.history.by_current:
        return _by_current(layout, strategy.history.columns)
    return layout


def _by_current(layout: Layout, columns: SystemColumns) -> Layout:
    """Put `is_current` before the partition columns, or `valid_to` before the clustering ones."""
    if layout.cluster_by:
        return replace(layout, cluster_by=_first(columns.valid_to, layout.cluster_by))
    return replace(layout, partition_by=_first(columns.is_current, layout.partition_by))


def _first(column: str, others: Sequence[str]) -> tuple[str, ...]:
    return (column, *(name for name in others if name.lower() != column.lower()))


def on_schema_change_of(config: Config) -> OnSchemaChange:
    """Give what happens when columns change; the default is to append them."""
    with suppress(ValueError):
        return OnSchemaChange(config.text("on_schema_change") or "append")
    return OnSchemaChange.APPEND


def shown_config(settings: Mapping[str, Plain], above: str = "") -> dict[str, str]:
    """Give the settings flat, lists joined by commas: what `config.KEY:` selects by.

    >>> shown_config({"tags": ["a", "b"], "meta": {"owner": "x"}})
    {'tags': 'a,b', 'meta.owner': 'x'}
    """
    flat: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat |= shown_config(value, f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = ",".join(texts_of(value))
    return flat
