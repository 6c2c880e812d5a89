"""s."""

from __future__ import annotations

from penstock.app.drift_reports import Cascaded, SyncPreview
from penstock.ui.json_document import Json, instant
from penstock.ui.json_diff import model_diff_document
from penstock.ui.json_status import model_status_document


def sync_document(preview: SyncPreview) -> Json:
    """Give what drifted, what a cascade adds or would add, and what is left out."""
    return {
        "drifted": [model_status_document(model) for model in preview.drifted],
        "cascaded": [_cascaded(each) for each in preview.cascaded],
        "left": [_cascaded(each) for each in preview.left],
        "diffs": [model_diff_document(model) for model in preview.diffs],
        "remaining": preview.remaining,
        "lines": preview.lines,
    }


def _cascaded(each: Cascaded) -> Json:
    return {"model": each.model, "count": each.count, "after": each.after}

