"""What incremental tables of Python must hold, in plain Python: it knows nothing of penstock.

A row of the source is an id, an hour and a user; the tables are built as `fakes.python_story` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Row = tuple[int, int, str]
Inside = Callable[[int], bool]
DAY = 24
LOWS: dict[str, Callable[[int], int]] = {
    "added": lambda mark: mark + 1,
    "ranged": lambda mark: (mark - 12) // DAY * DAY,
    "keyed": lambda mark: mark - DAY,
}
"""Where a window begins by the watermark: above it, at the start of a day, a day below it."""
TABLES = tuple(LOWS)


@dataclass
class Reference:
    """The rows of a source, of the tables above it, and how far each has read it."""

    source: list[Row] = field(default_factory=list)
    tables: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in TABLES})
    marks: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(TABLES))

    def deliver(self, rows: Iterable[Row]) -> None:
        """Append rows to the source."""
        self.source += rows

    def drop(self, ids: Iterable[int]) -> None:
        """Take rows out of the source."""
        gone = set(ids)
        self.source = [row for row in self.source if row[0] not in gone]

    def run(self, name: str) -> None:
        """Take in what lies above the watermark, or from the lookback below it."""
        mark, tops = self.marks[name], [hour for _, hour, _ in self.source]
        low = -1 if mark is None else LOWS[name](mark)
        self.marks[name] = max([*tops, *([] if mark is None else [mark])], default=None)
        self._take(name, lambda hour: hour >= low, again=lambda _: False)

    def rerun(self, name: str, low: int, high: int) -> bool:
        """Make a range again; False where it would pass over rows that were never read."""
        mark = self.marks[name]
        if mark is None or low > mark:
            return False

        def inside(hour: int) -> bool:
            return low <= hour <= high

        tops = [hour for _, hour, _ in self.source if inside(hour)]
        self.marks[name] = max([mark, *tops])
        self._take(name, inside, again=inside)
        return True

    def refresh(self, name: str) -> None:
        """Make the whole table anew."""
        self.tables[name], self.marks[name] = [], None
        self.run(name)

    def _take(self, name: str, inside: Inside, again: Inside) -> None:
        """Take in the rows of a range; of the times in `again` nothing stays as it was."""
        held, rows = self.tables[name], [row for row in self.source if inside(row[1])]
        if name != "keyed":
            gone = inside if name == "ranged" else again
            self.tables[name] = [*(row for row in held if not gone(row[1])), *rows]
            return
        newest = {user: (0, hour, user) for _, hour, user in sorted(rows, key=lambda row: row[1])}
        for row in held:
            known = newest.get(row[2])
            if not again(row[1]) and (known is None or known[1] < row[1]):
                newest[row[2]] = row
        self.tables[name] = [*newest.values()]
