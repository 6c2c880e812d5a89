"""The strategy `snapshot`: a history of the query's rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.core.history import ChangeTest, ColumnsDiffer, HashDiffers, HistorySettings, NewerThan
from penstock.core.statement import Work
from penstock.core.strategy import STORED, Build, GivenSettings, Layout, Strategy, Writing
from penstock.strategies.history.counts import first_metrics
from penstock.strategies.history.engine import history
from penstock.strategies.history.terms import terms_of


@dataclass(frozen=True, slots=True)
class Snapshot(HistorySettings, Strategy):
    """Every version of the rows is kept, with the interval in which it was valid."""

    name = "snapshot"
    settings = STORED | {"unique_key", "null_keys"}
    writing = Writing.MERGED
    rerun_is_safe = True
    command = "snapshot run"
    dbt = ("snapshot", "")

    @classmethod
    def read(cls, given: GivenSettings) -> Self:
        """Read how it keeps versions."""
        found = given.history()
        return cls(*(getattr(found, each.name) for each in dataclasses.fields(found)))

    @property
    def history(self) -> HistorySettings:
        """Its settings."""
        return self

    def fingerprint(self, layout: Layout) -> Mapping[str, object]:
        """Give all its settings, but where its rows lie."""
        del layout
        retention = self.retention
        return {
            "keys": _folded(self.keys),
            "change": _change(self.change),
            "event_time": self.event_time,
            "hard_deletes": str(self.hard_deletes),
            "match_null_keys": self.match_null_keys,
            "ignore_null_time": self.ignore_null_time,
            "allow_empty": self.allow_empty,
            "retention": [retention.keep_last, retention.keep_days] if retention else None,
            "system_columns": list(self.columns.names),
        }

    def work(self, build: Build) -> Work:
        """Open what the source shows new, close what ended (docs/history.md)."""
        run = build.history
        if run is None:
            raise TypeError(f"{build.model.name} has no run timestamp")
        terms = terms_of(self, run.run_timestamp, run.retention, allow_empty=run.allow_empty)
        return history(build, terms, run.properties)

    @classmethod
    def counts(cls, metrics: Mapping[str, int]) -> Mapping[str, int]:
        """Count a first run that was guarded as it was written: all its rows are new."""
        if "source_rows" in metrics:
            return {}
        return first_metrics(metrics.get("numOutputRows", 0))


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
