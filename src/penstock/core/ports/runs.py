"""The port to what ran: commands and their steps, for pictures of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from penstock.core.records import Run, StepRecord


class RunRecords(Protocol):
    """Reads runs and steps in bulk; steps still RUNNING are among them."""

    def latest_runs(self, limit: int) -> tuple[Run, ...]:
        """Return the latest runs, newest first."""

    def steps_of_runs(self, runs: Collection[str]) -> Mapping[str, tuple[StepRecord, ...]]:
        """Return the steps of runs in the order of their numbers; runs without steps are absent."""

    def steps_of_models(self, *models: str) -> Mapping[str, tuple[StepRecord, ...]]:
        """Return all steps of models, oldest first; models without steps are absent."""
