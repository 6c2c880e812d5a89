"""What merging slices into a silver table means, in plain Python: the rules of docs/entities.md.

Rows are `(seq, name, deleted)` by key; None in `deleted` is false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

Given = Mapping[int, tuple[int | None, str | None, bool | None]]


@dataclass(frozen=True)
class SilverRow:
    """One stored row and the slice that saw it last."""

    seq: int | None
    name: str | None
    deleted: bool
    seen: int


@dataclass
class SilverModel:
    """A table by key; `infers` and `on_change` are the entity's settings."""

    infers: bool = False
    on_change: bool = False
    is_first: bool = True
    watermark: int | None = None

    def __post_init__(self):
        self.rows: dict[int, SilverRow] = {}

    def run(self, at: int, given: Given) -> str:
        """Merge one slice; give what it counts, as `SilverTable.run` does."""
        gone = self._gone(given)
        inserted = sum(self._merge(at, key, row) for key, row in given.items())
        for key in gone:
            self.rows[key] = replace(self.rows[key], deleted=True, seen=at)
        high = max((seq for seq, _, _ in given.values() if seq is not None), default=None)
        self.watermark = max((v for v in (self.watermark, high) if v is not None), default=None)
        self.is_first = False
        flagged = sum(bool(row[2]) for row in given.values())
        told = f"{len(given)}/{inserted}/{len(given) - inserted - flagged}/{flagged}"
        return f"{told} x{len(gone)}" if gone else told

    def _gone(self, given: Given) -> list[int]:
        high = max((seq for seq, _, _ in given.values() if seq is not None), default=None)
        if not self.infers or self.is_first or high is None or self.watermark is None:
            return []
        return [
            key
            for key, row in self.rows.items()
            if key not in given
            and not row.deleted
            and row.seq is not None
            and self.watermark <= row.seq <= high
        ]

    def _merge(self, at: int, key: int, row: tuple[int | None, str | None, bool | None]) -> bool:
        """Say whether the row was inserted."""
        (seq, name, flag), stored = row, self.rows.get(key)
        if stored is None:
            if not flag:
                self.rows[key] = SilverRow(seq, name, deleted=False, seen=at)
            return not flag
        if flag:
            if not (self.on_change and stored.deleted):
                self.rows[key] = replace(stored, deleted=True, seen=at)
        elif stored.deleted or (stored.seq, stored.name) != (seq, name):
            self.rows[key] = SilverRow(seq, name, deleted=False, seen=at)
        elif not self.on_change:
            self.rows[key] = replace(stored, seen=at)
        return False

    def shown(self) -> list[tuple[object, ...]]:
        """Give all rows by key."""
        return [(k, r.seq, r.name, r.deleted, f"T{r.seen}") for k, r in sorted(self.rows.items())]
