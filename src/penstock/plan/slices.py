"""Which slices of an entity a run takes, in which order, and which it leaves."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from penstock.core.entity import Entity
from penstock.core.errors import PenstockError, TableError, UsageError
from penstock.core.records import Status
from penstock.core.slices import ListedSlice
from penstock.plan.values import SlicesNow

_ENDING = ".parquet"
_NEAREST, _SHOWN = 3, 8


class Extent(StrEnum):
    """How much of bronze is asked for.

    `MISSING` is everything again because the table is gone, so that no processed slice may lack;
    `REFRESH` is everything that is there, because somebody wants it.
    """

    WAITING = "waiting"
    MISSING = "missing"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True)
class SlicesToRun:
    """The slices that are there, each in one of `run`, `done`, `skipped` and `waiting`, in order.

    Those that wait come after one that is not complete, or nobody has asked for them. `changed` are
    those that are done and are others by now: they run by name alone. `gone` were processed and are
    not there. An `error` keeps everything from running; `warnings` and `notes` do not.
    """

    run: tuple[ListedSlice, ...] = ()
    done: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: PenstockError | None = field(default=None, compare=False)

    @property
    def detail(self) -> str:
        """Say what differs from the record, for a reason; "" where nothing does.

        >>> SlicesToRun(changed=("a.parquet",)).detail
        'slice_changed a.parquet'
        """
        new = f"slices {_some(each.id.name for each in self.run)}" if self.run else ""
        changed = f"slice_changed {_some(self.changed)}" if self.changed else ""
        return "; ".join(filter(None, (new, changed)))


def slices_to_run(
    entity: Entity, now: SlicesNow, extent: Extent = Extent.WAITING, name: str = ""
) -> SlicesToRun:
    """Decide what a run takes: all that wait, or the one that is named, processed before or not.

    One that was skipped runs by its name alone, whatever the extent.
    """
    named = _completed(now, name) if name else ""
    found = _divided(now, extent, named or name)
    if name and not named:
        return _refused(found, _not_found(entity, now, name))
    if found.gone and extent is Extent.MISSING and not named:
        return _refused(found, _missing(entity, found.gone))
    return found


def _refused(found: SlicesToRun, error: PenstockError) -> SlicesToRun:
    waiting = sorted((*found.waiting, *(each.id.name for each in found.run)))
    return replace(found, run=(), waiting=tuple(waiting), warnings=(), notes=(), error=error)


def _completed(now: SlicesNow, name: str) -> str:
    there = {each.id.name for each in now.there}
    return next((each for each in (name, f"{name}{_ENDING}") if each in there), "")


def _not_found(entity: Entity, now: SlicesNow, name: str) -> UsageError:
    there = [each.id.name for each in now.there]
    near = difflib.get_close_matches(name, there, n=_NEAREST, cutoff=0.4)
    return UsageError(
        "slice-not-found",
        f"{entity.model} has no slice {name!r} in bronze",
        where=entity.where,
        hint=f"did you mean {' or '.join(map(repr, near))}?" if near else "deliver it first",
    )


def _missing(entity: Entity, gone: tuple[str, ...]) -> TableError:
    return TableError(
        "missing-slices",
        f"the table is missing, and bronze lacks {_many(gone)} of {entity.model}: {_some(gone)}",
        where=entity.where,
        hint="deliver them again, or take what is there with --full-refresh",
    )


def _divided(now: SlicesNow, extent: Extent, named: str) -> SlicesToRun:
    """Put every slice where it belongs."""
    known = {each.id.name: each for each in now.recorded}
    processed = {name for name, each in known.items() if each.status is Status.SUCCESS}
    there = {each.id.name: each for each in now.there}
    left = {name for name, each in known.items() if each.status is Status.SKIPPED} - {named}
    done = processed - {named} if named or extent is Extent.WAITING else set()
    todo = [each for name, each in there.items() if name not in left and name not in done]
    asked = [each for each in todo if named in ("", each.id.name)]
    stop = next((n for n, each in enumerate(asked) if each.is_incomplete), len(asked))
    run, held = tuple(asked[:stop]), asked[stop:]
    taken = {each.id.name for each in run}
    found = SlicesToRun(
        run=run,
        done=tuple(name for name in there if name in done),
        skipped=tuple(name for name in there if name in left),
        waiting=tuple(each.id.name for each in todo if each.id.name not in taken),
        changed=tuple(n for n, each in there.items() if n in done and each.id != known[n].id),
        gone=tuple(sorted(processed - there.keys())),
    )
    early = _early(run, done) if not named else ()
    warnings = [_out_of_order(early, max(done))] if early else []
    warnings += [_incomplete(held)] if held else []
    notes = (_gone(found.gone, extent),) if found.gone and not named else ()
    return replace(found, warnings=tuple(warnings), notes=notes)


def _early(run: Iterable[ListedSlice], done: Iterable[str]) -> tuple[str, ...]:
    """Give the slices that sort before one that was processed."""
    last = max(done, default="")
    return tuple(each.id.name for each in run if each.id.name < last)


def _out_of_order(early: tuple[str, ...], last: str) -> str:
    what = "sorts" if len(early) == 1 else "sort"
    return f"slice-out-of-order: {_some(early)} {what} before {last}, which is processed already"


def _incomplete(held: list[ListedSlice]) -> str:
    behind = len(held) - 1
    later = f", so {behind} later one{'' if behind == 1 else 's'} wait too" if behind else ""
    return f"slice-incomplete: {held[0].id.name} is still being written{later}"


def _gone(gone: tuple[str, ...], extent: Extent) -> str:
    without = ": their rows will not be in the table" if extent is Extent.REFRESH else ""
    return f"bronze lacks {_many(gone)}{without} ({_some(gone)})"


def _many(names: tuple[str, ...]) -> str:
    return f"{len(names):,} processed slice{'' if len(names) == 1 else 's'}"


def _some(names: Iterable[str]) -> str:
    """List names, bounded.

    >>> _some("abcdefghij")
    'a, b, c, d, e, f, g, h and 2 more'
    """
    listed = [*names]
    more = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
