"""What a run of a history table counts, and the identities between the counts (docs/history.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from penstock.core.statement import Row
from penstock.strategies.build import lost_counts
from penstock.strategies.history import terms as ps
from penstock.strategies.history.source import rehashes
from penstock.strategies.history.terms import Sides

LATE = "late_"
_STAGED = ("tombstones", "closes", "moves", "pending", "rehashed")
_OF_SOURCE = (
    *("opened_new", "opened_changed", "opened_late", "reopened"),
    *("unchanged", "ignored", "skipped"),
)


class IdentityError(Exception):
    """Counts that must agree do not: a bug of penstock, found before or after a commit."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The metrics of one run, and the operations that it stages."""

    source_rows: int = 0
    opened_new: int = 0
    opened_changed: int = 0
    opened_late: int = 0
    reopened: int = 0
    unchanged: int = 0
    ignored: int = 0
    skipped: int = 0
    closed: int = 0
    shortened: int = 0
    deleted: int = 0
    pruned: int = 0
    tombstones: int = 0
    closes: int = 0
    moves: int = 0
    pending: int = 0
    rehashed: int = 0

    @classmethod
    def of(cls, seen: Row) -> Counts:
        """Read the looks of a run's stages; what late rows came to is added."""
        names = [field.name for field in fields(cls)]
        return cls(*(int(seen.get(n) or 0) + int(seen.get(LATE + n) or 0) for n in names))

    @property
    def opens(self) -> int:
        """Versions that are inserted, tombstones included."""
        rows = self.opened_new + self.opened_changed + self.opened_late + self.reopened
        return rows + self.tombstones

    @property
    def updates(self) -> int:
        """Versions that get another end."""
        return self.closes + self.moves

    @property
    def rehashes(self) -> int:
        """Versions that stay and get another hash: only a commit that opens any widens columns."""
        return self.rehashed if self.opens else 0

    @property
    def writes(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.opens or self.updates or self.pruned)

    @property
    def metrics(self) -> dict[str, int]:
        """The metrics by name, as records and reports show them."""
        names = [field.name for field in fields(self) if field.name not in _STAGED]
        return {name: getattr(self, name) for name in names}

    def check(self, *, event_time: bool) -> None:
        """Hold the identities M1 and M2, before anything is written."""
        parts = sum(getattr(self, name) for name in _OF_SOURCE)
        if self.source_rows != parts:
            raise IdentityError(f"M1: source_rows is {self.source_rows}, its parts are {parts}")
        parts = self.opened_changed + self.deleted
        if not event_time and self.closed != parts:
            raise IdentityError(f"M2: closed is {self.closed}, opened and deleted are {parts}")


def first_metrics(rows: int) -> dict[str, int]:
    """Give the metrics of a first run whose rows were guarded as they were written."""
    return Counts(source_rows=rows, opened_new=rows).metrics


def counted(sides: Sides) -> Mapping[str, str]:
    """Give the aggregates over the rows that pass by in run-time mode."""
    gone = f"array_contains({ps.PRUNED}, {ps.AT})" if sides.terms.retention else "false"
    closed = f"{ps.CLASS} IN ('opened_changed', 'deleted')"
    pruned = f"coalesce(sum(size({ps.PRUNED})), 0)" if sides.terms.retention else "count_if(false)"
    stays = f"{ps.IN_TABLE} AND coalesce({ps.CLASS} = 'unchanged', true)"
    return _of_source(sides) | {
        "closed": f"count_if({closed})",
        "closes": f"count_if({closed} AND NOT coalesce({gone}, false))",
        "pruned": pruned,
        "rehashed": f"count_if({stays if rehashes(sides) else 'false'})",
    }


def counted_by_current(sides: Sides) -> Mapping[str, str]:
    """Give the aggregates in event-time mode, where current versions decide what they can."""
    closed = f"count_if({ps.CLASS} IN ('opened_changed', 'deleted'))"
    pending = f"count_if({ps.CLASS} = 'pending')"
    return _of_source(sides) | {"closed": closed, "closes": closed, "pending": pending}


def counted_placed(sides: Sides) -> Mapping[str, str]:
    """Give the same where rows were placed among all versions."""
    closed = f"{ps.CLASS} IN ('closed', 'deleted')"
    return _of_source(sides) | {
        "closed": f"count_if({closed})",
        "closes": f"count_if({closed} AND NOT {ps.PRUNED})",
        "shortened": f"count_if({ps.CLASS} = 'shortened')",
        "moves": f"count_if({ps.CLASS} = 'shortened' AND NOT {ps.PRUNED})",
        "pruned": f"count_if({ps.IN_TABLE} AND {ps.PRUNED})",
        "tied": f"count_if({ps.TIED})",
    }


def counted_late(sides: Sides) -> Mapping[str, str]:
    """Give the same for rows that were pending: they are counted as source rows already."""
    found = counted_placed(sides)
    return {LATE + name: sql for name, sql in found.items() if name != "source_rows"}


def _of_source(sides: Sides) -> dict[str, str]:
    empty = "count_if(false)"
    if sides.terms.closes_missing and sides.table.columns and not sides.terms.allow_empty:
        live = f"count_if({ps.IN_TABLE} AND NOT {ps.TOMB})"
        empty = f"CAST(count_if({ps.IN_SOURCE}) = 0 AND {live} > 0 AS BIGINT)"
    return {
        "source_rows": f"count_if({ps.IN_SOURCE})",
        **{name: f"count_if({ps.CLASS} = '{name}')" for name in (*_OF_SOURCE, "deleted")},
        "copied": f"count_if({ps.COPIES} > 1)",
        "null_keys": f"count_if({ps.NULL_KEY})",
        "null_times": f"count_if({ps.NULL_TIME})",
        "no_times": f"count_if({ps.NO_TIME})",
        "early": f"count_if({ps.EARLY})",
        "twice": f"count_if({ps.TWICE})",
        **lost_counts(sides.texts),
        "empty": empty,
    }
