"""Tables of a few rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.core.ports.sessions import FewRows


class FakeRows:
    """The `KeptRows` over rows that tests put there, by the folder of their table."""

    def __init__(self) -> None:
        self.tables: dict[str, list[dict[str, Any]]] = {}

    def newest(self, uri: str, columns: Sequence[str], by: str, limit: int) -> FewRows:
        rows = sorted(self.tables.get(uri, []), key=lambda row: row[columns[0]])
        rows.sort(key=lambda row: row[by], reverse=True)
        return FewRows(tuple(tuple(row[c] for c in columns) for row in rows[:limit]), len(rows))

    def present(self, uri: str, column: str, values: Sequence[str]) -> frozenset[str]:
        there = {row[column] for row in self.tables.get(uri, [])}
        return frozenset(each for each in values if each in there)
