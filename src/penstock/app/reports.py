"""What use cases give back: frozen reports that `--json` prints and Python callers read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.app.drift_reports import SyncPreview
from penstock.core.check_results import InvariantReport
from penstock.core.errors import PenstockError
from penstock.core.names import TableName
from penstock.core.pin import InputPin
from penstock.core.step import RowCounts
from penstock.core.window import InputWindow, Watermark
from penstock.plan.values import Blocked, Estimate, Plan, Reason, State, Step

__all__ = ["Blocked", "Estimate", "ModelResult", "Plan", "Reason", "RunReport", "State", "Step"]


@dataclass(frozen=True, slots=True)
class ModelResult:
    """What became of one model (spec/python.md §2.1).

    `status` is success, unchanged, skipped, failed or planned. `version` is the Delta version of
    the target after the step, None without a table. A model with partitions has a result per
    step; `partitions` are then ranges of keys, `count` how many. `invariant_report` is what checks
    said, None where the model has none. `consequence` says what became of rows that failed a gate:
    `rows written and flagged`.
    """

    name: str
    table: TableName
    strategy: str
    status: str
    reason: str
    version: int | None = None
    rows: RowCounts = RowCounts()
    windows: tuple[InputWindow, ...] = ()
    watermarks: tuple[Watermark, ...] = ()
    inputs: tuple[InputPin, ...] = ()
    metrics: Mapping[str, int] = field(default_factory=dict)
    schema_changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    step: str = ""
    started: dt.datetime | None = None
    duration: float = 0.0
    error: PenstockError | None = None
    partitions: tuple[tuple[str, str], ...] = (("*", "*"),)
    count: int = 1
    trigger: str = "run"
    invariant_report: InvariantReport | None = None
    consequence: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong with it."""
        return self.status not in ("failed", "skipped")


@dataclass(frozen=True, slots=True)
class RunReport(Mapping[str, ModelResult]):
    """What a run did, by model name; in plan order.

    `not_run` are selected models that another command builds. `aborted` is whether a person did
    not confirm it; nothing was done then.
    """

    run_id: str
    run_timestamp: dt.datetime
    plan: Plan
    results: tuple[ModelResult, ...]
    command: str = "run"
    dry_run: bool = False
    recovered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    resume: str = ""
    log_path: str = ""
    interrupted: bool = False
    not_run: tuple[str, ...] = ()
    preview: SyncPreview | None = None
    aborted: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether every model is done or had nothing to do."""
        stopped = self.interrupted or self.aborted
        return all(result.ok for result in self.results) and not stopped

    def __getitem__(self, name: str) -> ModelResult:
        """Give the result of a model; `KeyError` if the run did not look at it."""
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        """Give the names in plan order."""
        return (result.name for result in self.results)

    def __len__(self) -> int:
        """Count the models."""
        return len(self.results)
