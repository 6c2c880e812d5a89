"""Two texts of one query, line by line (spec/drift.md §10), and what `diff` prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.app.documents import Json, changed_lines, document_of, model_diff_document
from penstock.app.reports import DiffReport, SqlDiff
from penstock.core.masking import mask
from penstock.ui.render.values import LISTED, RANGES, first_of, partitions_text, ranges_text

RULE = "─" * 39
COSMETIC = "SQL text changed, meaning unchanged."


def diff_text(old: str, new: str, context: int = 0) -> str:
    """Give the changed lines between two rules."""
    return "\n".join([RULE, *(mask(line) for line in changed_lines(old, new, context)), RULE])


def sql_diff_text(diff: SqlDiff, context: int = 0, of: str = "") -> str:
    """Give what differs between two texts, then between their schemas.

    `of` says which partitions it is for, where a model has several pairs.
    """
    which = f" ({of})" if of else ""
    lines: list[str] = []
    if diff.before != diff.after:
        lines.append(f"{COSMETIC}{which}" if diff.cosmetic else f"SQL changes detected{which}:")
        if changed_lines(diff.before, diff.after):
            lines.append(diff_text(diff.before, diff.after, context))
        lines.append("")
    elif which:
        lines += [f"SQL unchanged{which}.", ""]
    schema = ["Schema changes detected:", *diff.schema] if diff.schema else ["Schema unchanged."]
    return "\n".join([*lines, *schema])


def diffs_text(head: str, diffs: Sequence[SqlDiff], named: Callable[[SqlDiff], str]) -> str:
    """Give several pairs of texts below a head; of several each is named."""
    of = named if len(diffs) > 1 else lambda _: ""
    return "\n\n".join([head, *(sql_diff_text(diff, of=of(diff)) for diff in diffs)])


def differences_text(report: DiffReport, *, context: int = 0, verbose: bool = False) -> str:
    """Give what built the partitions of each model beside its files, one diff per pair of texts."""

    def pair(model: str, diff: SqlDiff) -> str:
        where = ranges_text(diff.partitions, None if verbose else RANGES)
        head = f"{model} {diff.version}: {partitions_text(diff.count)}, {where}"
        return f"{head}\n\n{sql_diff_text(diff, context)}"

    models = [
        "\n\n".join(pair(model.model, diff) for diff in model.diffs)
        for model in report.models
        if model.diffs
    ]
    shown = first_of(models, None if verbose else LISTED, "model")
    return "\n\n".join(shown) or "No differences."


def differences_document(report: DiffReport, *, context: int = 0) -> Json:
    """Give both texts of every pair, and the lines that differ."""
    return {
        "command": "diff",
        **document_of(report, "run_timestamp"),
        "models": [model_diff_document(model, context) for model in report.models],
    }
