"""What slices make of a silver table, in plain Python: the rules of docs/entities.md.

Rows of a slice are `(seq, name, deleted)` by key; None in `deleted` is false. Times are anything
that can be compared. A table by partition has them by `name`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Given = Mapping[int, tuple[int | None, str | None, bool | None]]


class TimeTakenError(Exception):
    """A version would end before it began."""


@dataclass(frozen=True)
class SilverRow:
    """One stored row, the slice that saw it last, and of a version when it was valid."""

    key: int
    seq: int | None
    name: str | None
    deleted: bool
    seen: Any
    start: Any = None
    end: Any = None

    def says(self, other: SilverRow, *, versions: bool) -> bool:
        """Whether another row has the same values; only of versions is the flag one."""
        own, others = (self.seq, self.name), (other.seq, other.name)
        return own == others and (not versions or self.deleted == other.deleted)


@dataclass
class SilverModel:
    """One table; `process` is full, merge or historic, the others are the entity's settings."""

    infers: bool = False
    on_change: bool = False
    process: str = "merge"
    by_name: bool = False
    allow_empty: bool = False
    is_first: bool = True
    watermark: int | None = None
    commits: int = 0
    rows: list[SilverRow] = field(default_factory=list)

    def run(self, at: Any, given: Given) -> str:
        """Take one slice; give what it counts, as `SilverTable.run` does."""
        before = list(self.rows)
        told = getattr(self, f"_{self.process}")(at, self._staged(at, given))
        high = max((seq for seq, _, _ in given.values() if seq is not None), default=None)
        self.watermark = max((v for v in (self.watermark, high) if v is not None), default=None)
        writes = self.process == "full" and (given or self._empties())
        self.commits += bool(self.is_first or self.rows != before or writes)
        self.is_first = False
        return told

    def _staged(self, at: Any, given: Given) -> dict[int, SilverRow]:
        def name_of(name: str | None) -> str | None:
            return None if self.by_name and name == "" else name  # as Delta does

        return {
            key: SilverRow(key, seq, name_of(name), bool(flag), at)
            for key, (seq, name, flag) in given.items()
        }

    def _full(self, at: Any, staged: Mapping[int, SilverRow]) -> str:
        del at
        if staged or self._empties():
            held = {row.name for row in staged.values()}
            others = [row for row in self.rows if self.by_name and row.name not in held]
            self.rows = [*others, *staged.values()]
        return f"{len(staged)}/{len(staged)}/0/0"

    def _empties(self) -> bool:
        return self.allow_empty and not self.by_name

    def _gone(self, staged: Mapping[int, SilverRow]) -> list[SilverRow]:
        """Give the live rows of the window that the slice should hold, and does not."""
        high = max((row.seq for row in staged.values() if row.seq is not None), default=None)
        if not self.infers or self.is_first or high is None or self.watermark is None:
            return []
        held, low = {row.name for row in staged.values()}, self.watermark
        return [
            row
            for row in self.rows
            if row.end is None and not row.deleted and row.key not in staged
            if row.seq is not None and low <= row.seq <= high
            if not self.by_name or row.name in held
        ]

    def _merge(self, at: Any, staged: Mapping[int, SilverRow]) -> str:
        gone = {row.key for row in self._gone(staged)}
        stored, flagged = {row.key: row for row in self.rows}, 0
        inserted = 0
        for key, row in staged.items():
            flagged += row.deleted
            after = self._merged(stored.get(key), row)
            inserted += key not in stored and after is not None
            if after is not None:
                stored[key] = after
        for key in gone:
            stored[key] = replace(stored[key], deleted=True, seen=max(stored[key].seen, at))
        self.rows = list(stored.values())
        told = f"{len(staged)}/{inserted}/{len(staged) - inserted - flagged}/{flagged}"
        return f"{told} x{len(gone)}" if gone else told

    def _merged(self, stored: SilverRow | None, row: SilverRow) -> SilverRow | None:
        if stored is None:
            return None if row.deleted else row
        seen = max(stored.seen, row.seen)
        if row.deleted:
            stays = self.on_change and stored.deleted
            return stored if stays else replace(stored, deleted=True, seen=seen)
        if stored.deleted or not stored.says(row, versions=False):
            return replace(row, seen=seen)
        return stored if self.on_change else replace(stored, seen=seen)

    def _historic(self, at: Any, staged: Mapping[int, SilverRow]) -> str:
        current = {row.key: row for row in self.rows if row.end is None}
        gone = {row.key for row in self._gone(staged)}
        new = [row for key, row in staged.items() if key not in current]
        changed = {
            key
            for key, row in staged.items()
            if key in current and not current[key].says(row, versions=True)
        }
        if any(current[key].start >= at for key in changed | gone):
            raise TimeTakenError
        self.rows = list(self._closed(at, changed, gone))
        self.rows += [replace(row, start=at) for row in (*new, *(staged[k] for k in changed))]
        same = len(staged) - len(new) - len(changed)
        told = f"{len(staged)}/{len(new)}/{len(changed)}/{len(gone)}"
        told += f" ={same}"
        return f"{told} x{len(gone)}" if gone else told

    def _closed(self, at: Any, changed: set[int], gone: set[int]) -> Iterator[SilverRow]:
        for row in self.rows:
            if row.end is None and row.key in gone:
                yield replace(row, end=at, deleted=True, seen=at)
            elif row.end is None and row.key in changed:
                yield replace(row, end=at)
            else:
                yield row

    def shown(self) -> list[tuple[object, ...]]:
        """Give all rows by key: of a merge with the slice that saw them last."""
        ordered = sorted(self.rows, key=lambda row: row.key)
        return [(r.key, r.seq, r.name, r.deleted, f"T{r.seen}") for r in ordered]
