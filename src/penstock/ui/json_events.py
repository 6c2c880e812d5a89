"""The events of a run as JSON, one line each: `--log-format json`."""

from __future__ import annotations

import datetime as dt

from penstock.app.reports import Event, RunStarted, Said, StepEnded, StepStarted
from penstock.ui.json_document import Json, instant
from penstock.ui.json_run import result_document


def event_document(event: Event, at: dt.datetime) -> Json:
    """Give an event with the time it was told at."""
    time = instant(at)
    match event:
        case RunStarted(run, plan):
            return {"time": time, "event": "run_started", "run": run, "steps": len(plan.steps)}
        case StepStarted(model, reason):
            return {"time": time, "event": "step_started", "model": model, "reason": reason}
        case StepEnded(result):
            return {"time": time, "event": "step_ended", **result_document(result)}
        case Said(text):
            return {"time": time, "event": "said", "text": text}
