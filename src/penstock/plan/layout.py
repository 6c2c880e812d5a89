"""Layout: how a table lies against how the project says it should (spec/project.md §3)."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.facts import TableFacts
from penstock.core.model import Model


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """What differs. `told` can be set at once; `moved` needs the table to be written anew."""

    told: bool = False
    moved: str = ""


def layout_change(model: Model, facts: TableFacts) -> LayoutChange:
    """Compare properties, comments, partitioning and clustering; no answer means no difference."""
    layout = model.layout
    wrong = any(facts.properties.get(key) != value for key, value in layout.properties.items())
    wrong = wrong or bool(model.description and facts.comment != model.description)
    for column in model.columns:
        known = facts.schema.find(column.name)
        if known is not None and column.description:
            wrong = wrong or known.comment != column.description
    moved = []
    for word, is_now, wanted in (
        ("partition_by", facts.partition_by, layout.partition_by),
        ("cluster_by", facts.cluster_by, layout.cluster_by),
    ):
        if is_now != wanted:
            moved.append(f"{word} is [{', '.join(is_now)}], the code says [{', '.join(wanted)}]")
    return LayoutChange(wrong, "; ".join(moved))
