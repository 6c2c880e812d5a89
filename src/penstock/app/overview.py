"""The graph of a project with the state of each model, as notebooks and `print(app)` show it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from penstock.core.names import TableName
from penstock.core.shown.notebooks import ShownInNotebooks


@dataclass(frozen=True, slots=True)
class ModelOverview:
    """One model of the graph: what it reads, and whether it is what the code makes."""

    model: str
    strategy: str
    reads: tuple[str, ...]
    state: str
    table: TableName
    executed_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Overview(ShownInNotebooks):
    """All models of a project in the order in which they are built, or some."""

    _rows = "models"
    _columns = "model strategy reads state table last_run=executed_at"

    models: tuple[ModelOverview, ...] = ()

    def __str__(self) -> str:
        """Return a line for each model.

        >>> print(Overview((ModelOverview("b", "table", ("a",), "current", TableName("m", "b")),)))
        b  table  <- a  current
        """
        lines = [
            (
                each.model,
                each.strategy,
                f"<- {', '.join(each.reads)}" if each.reads else "",
                each.state,
            )
            for each in self.models
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ((c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines)
        return "\n".join("  ".join(line).rstrip() for line in padded) or "no models"
