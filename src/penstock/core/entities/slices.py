"""Slices of bronze (docs/entities.md)."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from operator import itemgetter

from penstock.core.errors import TableError
from penstock.core.findings import Location

DATE_PARTS = ("year", "month", "day", "hour", "minute", "second")
_DIGITS = re.compile(r"([0-9]+)")
OrderKey = tuple[tuple[int | str, ...], str]
"""The sort key from a name, a time or a number, then the name itself."""


class SliceOrder(StrEnum):
    """What determines which of two slices is processed first."""

    NAME = "name"
    NATURAL = "natural"
    MODIFIED = "modified"
    FROM_NAME = "from_name"


@dataclass(frozen=True, slots=True)
class SliceId:
    """One slice at one point in time: other content under its name is another slice.

    `name` is its path below the bronze folder. `size` is the total of all its files in bytes,
    `modified` their latest time in microseconds since 1970, which a copy may change; `etag` is ""
    if a store has none. `digest` identifies the list of files, their sizes and the content of their
    ends.
    """

    name: str
    size: int
    modified: int = field(compare=False)
    digest: str
    etag: str = ""


@dataclass(frozen=True, slots=True)
class ListedSlice:
    """A slice in bronze, with its files, relative to the bronze folder.

    `is_incomplete` is whether its folder appears to be still in writing.
    """

    id: SliceId
    files: tuple[str, ...]
    is_incomplete: bool = False


def natural_key(name: str) -> OrderKey:
    """Return a key that orders names by the numbers in them.

    >>> sorted(["s_10", "s_2", "s_1"], key=natural_key)
    ['s_1', 's_2', 's_10']
    """
    parts = enumerate(_DIGITS.split(name))
    return tuple(int(text) if place % 2 else text for place, text in parts), name


@dataclass(frozen=True, slots=True)
class Ordering:
    """The order of the slices of an entity.

    `pattern` belongs to `from_name`: a regular expression whose groups are a number, or the parts
    of a date, largest first. Groups named year, month, day, hour, minute and second may be in any
    order. `is_chosen` is whether the user set the order.
    """

    by: SliceOrder = SliceOrder.NAME
    pattern: str = ""
    is_chosen: bool = False

    def __str__(self) -> str:
        """Return its word in files."""
        return f"{self.by} {self.pattern}".rstrip()

    def key(self, slice_id: SliceId) -> OrderKey | None:
        """Return the sort key of a slice; None if its name does not match."""
        match self.by:
            case SliceOrder.NAME:
                return (), slice_id.name
            case SliceOrder.NATURAL:
                return natural_key(slice_id.name)
            case SliceOrder.MODIFIED:
                return (slice_id.modified,), slice_id.name
            case SliceOrder.FROM_NAME:
                return self._from_name(slice_id.name)

    def _from_name(self, name: str) -> OrderKey | None:
        """Return the sort key that the pattern finds in a name.

        >>> dates = Ordering(SliceOrder.FROM_NAME, r"(?P<day>..)-(?P<month>..)-(?P<year>....)")
        >>> dates._from_name("31-12-2024.parquet"), dates._from_name("latest.parquet")
        (((2024, 12, 31), '31-12-2024.parquet'), None)
        """
        found = re.search(self.pattern, name)
        if found is None:
            return None
        dated = found.groupdict()
        texts = [dated[each] for each in DATE_PARTS if each in dated] or [*found.groups()]
        if not all(text and _DIGITS.fullmatch(text) for text in texts):
            return None
        return tuple(map(int, texts)), name

    def of(self, slices: Iterable[ListedSlice], where: Location) -> tuple[ListedSlice, ...]:
        """Return slices in this order; raise `slice-order-unknown` if a name does not match."""
        keyed: list[tuple[OrderKey, ListedSlice]] = []
        for each in slices:
            key = self.key(each.id)
            if key is None:
                raise TableError(
                    "slice-order-unknown",
                    f"order_pattern {self.pattern} finds no date or number in {each.id.name!r}",
                    where=where,
                    hint="correct order_pattern, or leave the file out with slice_pattern",
                )
            keyed.append((key, each))
        return tuple(each for _, each in sorted(keyed, key=itemgetter(0)))


@dataclass(frozen=True, slots=True)
class UnchangedSlice:
    """A processed slice without changes: its step made no commit, a later commit lists it.

    `metrics` are the counts of that step, `moment` is its processing time.
    """

    id: SliceId
    step: str
    step_seq: int
    moment: dt.datetime
    metrics: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BronzeFolder:
    """A folder of slices: each match of `pattern` is one. `where` is the entity's place.

    With `require_success`, a folder without `_SUCCESS` is incomplete. `ordering` is for processing;
    a listing is sorted by name. Of a folder with files that have one of the `endings`, only these
    are read.
    """

    path: str
    pattern: str
    where: Location
    require_success: bool = False
    ordering: Ordering = Ordering()
    endings: tuple[str, ...] = (".parquet",)
