"""What all steps of one run share."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.app.observe import View
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.plan.values import Options


@dataclass(frozen=True, slots=True)
class Context:
    """One run: its timestamp, what it saw when it planned, what it remembers of every model.

    `records` is brought up to date as steps end, so that later steps pin what earlier ones made.
    """

    run: str
    run_timestamp: dt.datetime
    project: Project
    view: View
    records: dict[str, ModelRecord]
    as_of: dt.datetime | None = None
    wait_seconds: float = 0.0
    triggered_by: str = "run"
    options: Options = Options()

    def contents(self, name: str) -> Mapping[str, str]:
        """Give the texts that a model's step stores, by checksum."""
        model = self.project.models.get(name)
        if model is None:
            return {}
        return {model.fingerprint.sql: self.project.shown_sql(model)}
