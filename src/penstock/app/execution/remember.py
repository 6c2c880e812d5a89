"""The run's own records: what a step that ended leaves is said by the one transition."""

from __future__ import annotations

import datetime as dt

from penstock.app.execution.commit import Ended
from penstock.core.records import ModelRecord
from penstock.state.transitions.transition import record_after


def remembered(before: ModelRecord | None, ended: Ended, at: dt.datetime) -> ModelRecord:
    """Give the record that the store now holds of a model whose step has just ended well."""
    return record_after(before, ended.intent, ended.outcome, ended.checked, at)
