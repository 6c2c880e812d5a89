"""What `list` prints."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.app.commands.show import ModelInfo
from penstock.ui.text_table import table


def list_text(models: Sequence[ModelInfo]) -> str:
    """Give one row per model, in topological order."""
    if not models:
        return "no models"
    rows = [[m.name, str(m.table), m.strategy, ",".join(m.tags) or "-", m.path] for m in models]
    return table(["name", "table", "strategy", "tags", "file"], rows)
