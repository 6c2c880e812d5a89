"""What `diff` prints."""

from __future__ import annotations

from penstock.app.drift_reports import DiffReport, SqlDiff
from penstock.ui.text_diff import sql_diff_text
from penstock.ui.text_partitions import RANGES, partitions_text, ranges_text
from penstock.ui.text_table import LISTED, first_of



def differences_text(report: DiffReport, *, context: int = 0, verbose: bool = False) -> str:
    """Give what built the partitions of each model beside its files, one diff per pair of texts."""
    models = [
        "\n\n".join(_pair(model.model, diff, context, verbose=verbose) for diff in model.diffs)
        for model in report.models
        if model.diffs
    ]
    shown = first_of(models, None if verbose else LISTED, "model")
    return "\n\n".join(shown) or "No differences."


def _pair(model: str, diff: SqlDiff, context: int, *, verbose: bool) -> str:
    where = ranges_text(diff.partitions, None if verbose else RANGES)
    head = f"{model} {diff.version}: {partitions_text(diff.count)}, {where}"
    return f"{head}\n\n{sql_diff_text(diff, context)}"
