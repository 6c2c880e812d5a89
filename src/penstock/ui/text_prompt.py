"""What a person reads before partitions are overwritten (spec/drift.md §9.1)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from penstock.app.drift_reports import Overwrite
from penstock.core.errors import UsageError
from penstock.core.masking import mask
from penstock.ui.text_partitions import partitions_text, ranges_text
from penstock.ui.text_table import first_of
from penstock.ui.text_values import ago

ASKED = 5


def prompt_text(overwrites: Sequence[Overwrite], now: dt.datetime) -> str:
    """Give one block per model, at most 5."""
    blocks = ["\n".join(_block(each, now)) for each in overwrites]
    return "\n\n".join(first_of(blocks, ASKED, "model"))


def _block(each: Overwrite, now: dt.datetime) -> Iterator[str]:
    yield f"WARNING: This will overwrite {partitions_text(each.count)}"
    yield f"  Query: {each.model}"
    yield f"  Range: {ranges_text(each.partitions)}"
    if each.last_success is not None:
        yield f"  Last successful run: {ago(each.last_success, now)}"
    if each.foreign_count:
        changed = f"{partitions_text(each.foreign_count)} ({ranges_text(each.foreign)})"
        yield f"  Changed by others since: {changed}"
    if each.breaking:
        yield f"  Breaking: {mask(', '.join(each.breaking))}, rewrites the table"
    if each.full_refresh:
        yield "  Full refresh: makes the whole table anew"


def nobody_to_ask(overwrites: Sequence[Overwrite]) -> UsageError:
    """Give the error where there is no terminal to ask at."""
    total = partitions_text(sum(each.count for each in overwrites))
    models = ", ".join(first_of([each.model for each in overwrites], ASKED, "model"))
    return UsageError(
        "needs-confirmation",
        f"this overwrites {total} ({models}), and there is no terminal to ask at",
        hint="--yes",
    )
