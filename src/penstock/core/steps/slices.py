"""Slices of bronze as they lie there (docs/entities.md)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.findings import Location


@dataclass(frozen=True, slots=True)
class SliceId:
    """One slice as it lay there: another with its name is another slice.

    `name` is its path below the bronze folder. `size` is that of all its files in bytes, `modified`
    the latest of their times in microseconds since 1970, which a copy may change; `etag` is ""
    where a store has none. `digest` tells the list of the files with their sizes and the content of
    their ends.
    """

    name: str
    size: int
    modified: int = field(compare=False)
    digest: str
    etag: str = ""


@dataclass(frozen=True, slots=True)
class ListedSlice:
    """A slice that lies in bronze, with the files to be read, relative to the bronze folder.

    `is_incomplete` is whether its folder still is being written, as far as one can see.
    """

    id: SliceId
    files: tuple[str, ...]
    is_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class UnchangedSlice:
    """A slice that changed nothing when it was run: no commit tells of its step, a later one does.

    `metrics` are the counts of that step, `moment` is its processing time.
    """

    id: SliceId
    step: str
    step_seq: int
    moment: dt.datetime
    metrics: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BronzeFolder:
    """A folder of slices: what fits `pattern` is one. `where` is the entity's place.

    With `require_success` a folder without `_SUCCESS` in it is incomplete.
    """

    path: str
    pattern: str
    where: Location
    require_success: bool = False
