"""Compare slices in bronze with recorded ones, and build the messages."""

from __future__ import annotations

import difflib
import operator
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from penstock.core.entities.slices import ListedSlice, natural_key
from penstock.core.errors import UsageError
from penstock.core.findings import some
from penstock.core.records import SliceRecord, Status
from penstock.plan.values import Now, SlicesNow

NEAR = 3
_SUFFIX = ".parquet"
_ENDS = re.compile(r"(\.[A-Za-z]\w*)?\.(gz|bz2|zst|zip)$|\.\w+$", re.IGNORECASE)
_DATA = re.compile(
    r"\.(parquet|parq|pq|csv|tsv|txt|json|jsonl|ndjson|avro|orc|xml)(\.(gz|bz2|zst|zip))?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DividedSlices:
    """Slices in bronze compared with recorded ones, each in the order of bronze.

    `waiting` will be processed, and `blocked` come after one that is still being written. Of the
    processed ones, `changed` have other files now. `removed` are recorded but no longer exist.
    `early` are waiting ones that sort before a processed one.
    """

    waiting: tuple[ListedSlice, ...] = ()
    blocked: tuple[ListedSlice, ...] = ()
    done: tuple[ListedSlice, ...] = ()
    changed: tuple[ListedSlice, ...] = ()
    removed: tuple[SliceRecord, ...] = ()
    early: tuple[ListedSlice, ...] = ()
    now: SlicesNow = SlicesNow()

    @classmethod
    def of(cls, now: SlicesNow) -> DividedSlices:
        """Divide the slices; every slice is waiting, blocked, or processed."""
        known = {each.id.name: each for each in now.recorded}
        ordering = now.folder.ordering
        waiting: list[ListedSlice] = []
        held: list[ListedSlice] = []
        done: list[ListedSlice] = []
        for each in now.there:
            record = known.get(each.id.name)
            if record is not None and record.is_done:
                done.append(each)
            elif held or each.is_incomplete:
                held.append(each)
            else:
                waiting.append(each)
        there = {each.id.name for each in now.there}
        ran = (ordering.key(each.id) for each in now.recorded if each.status is Status.SUCCESS)
        newest = max((key for key in ran if key is not None), default=None)
        new = (each for each in waiting if newest is not None and each.id.name not in known)
        return cls(
            waiting=tuple(waiting),
            blocked=tuple(held),
            done=tuple(done),
            changed=tuple(
                each
                for each in done
                if known[each.id.name].status is Status.SUCCESS
                and known[each.id.name].id != each.id
            ),
            removed=tuple(
                each
                for each in now.recorded
                if each.status is Status.SUCCESS and each.id.name not in there
            ),
            early=tuple(
                each
                for each in new
                if newest is not None and (ordering.key(each.id) or newest) < newest
            ),
            now=now,
        )

    @property
    def warnings(self) -> Iterator[str]:
        """Return warnings about possible mistakes; a strict run stops."""
        if self.waiting and (orders := _order_note(self.now)):
            yield f"slice-order-in-doubt: {orders}"
        if self.early:
            named, sort = some([each.id.name for each in self.early], NEAR), "sort"
            sort += "s" if len(self.early) == 1 else ""
            yield f"slice-out-of-order: {named} {sort} before slices that were run"

    @property
    def notes(self) -> Iterator[str]:
        """Return notes for a run."""
        yield from self.warnings
        if self.blocked:
            first, *others = self.blocked
            more = f"; {len(others)} after it wait" if others else ""
            yield f"slice-incomplete: {first.id.name} is still being written{more}"
        yield from self.change_messages

    @property
    def change_messages(self) -> Iterator[str]:
        """Return which slices changed since they were processed, or no longer exist."""
        if self.changed:
            named = some([each.id.name for each in self.changed], NEAR)
            yield f"slice_changed: {named}; it runs only by name: --slice NAME"
        if self.removed:
            named = some([each.id.name for each in self.removed], NEAR)
            yield f"slice-gone: {named} was processed and is no longer there"


def _order_note(now: SlicesNow) -> str:
    """Return how the order by name differs from the order by number, if `order` is not set."""
    if now.folder.ordering.is_chosen:
        return ""
    by_name = [each.id.name for each in now.there]
    keys = [natural_key(name) for name in by_name]
    if all(map(operator.le, keys, keys[1:])):
        return ""
    by_number = sorted(by_name, key=natural_key)
    first = next(n for n, name in enumerate(by_name) if name != by_number[n])
    one, other = (some(names[max(first - 1, 0) :], NEAR) for names in (by_name, by_number))
    choose = "set order: natural, or order: name to keep it"
    return f"by name the order is {one}; by the numbers in the names {other}; {choose}"


def unmatched_note(now: SlicesNow) -> str:
    """Return which files of a bronze folder match no pattern and are never read; "" if none.

    Beside slices, only files that look like data are reported.
    """
    folder, files = now.folder, now.unmatched
    if now.there:
        files = tuple(each for each in files if _DATA.search(each))
        named = some(files, NEAR)
        fits = "does not fit" if len(files) == 1 else "do not fit"
        return f"bronze-fits-nothing: {named} in {folder.path} {fits} {folder.pattern}" * bool(
            files
        )
    if not files:
        return ""
    last = folder.pattern.rpartition("/")[2]
    deeper = any(fnmatchcase(each.rpartition("/")[2], last) for each in files)
    ends = Counter(_suffix(each) for each in files)
    near = f"**/{last}" if deeper else f"*{ends.most_common(1)[0][0]}"
    if not deeper and all("/" in each for each in files):
        near = f"**/{near}"
    number = f"{len(files):,} file{'s' * (len(files) != 1)}"
    return (
        f"bronze-fits-nothing: {number} in {folder.path}, none fits {folder.pattern} "
        f"(did you mean {near}?)"
    )


def unmatched_notes(now: Now, names: Iterable[str]) -> Iterator[str]:
    """Return for each model which files of its bronze folder are never read."""
    for name in names:
        if note := unmatched_note(now.slices.get(name, SlicesNow())):
            yield f"{name}: {note}"


def _suffix(name: str) -> str:
    """Return a file's suffix, including that of a compressed file.

    >>> _suffix("x/a.csv.gz"), _suffix("2025.07.csv"), _suffix("README")
    ('.csv.gz', '.csv', '')
    """
    found = _ENDS.search(name.rpartition("/")[2])
    return found[0] if found else ""


def slice_differences(now: SlicesNow) -> Iterator[str]:
    """Return the drift of an entity: waiting slices, and changed ones."""
    found = DividedSlices.of(now)
    if found.waiting:
        first, *others = found.waiting
        name = first.id.name
        total = f"{len(found.waiting):,} slices wait, first {name}"
        yield total if others else f"slice {name} waits"
    for each in found.changed:
        yield f"slice_changed {each.id.name}"


def no_slice_note(now: SlicesNow | None) -> str:
    """Return a note if an entity has no table because no slice waits; otherwise ""."""
    if now is None or DividedSlices.of(now).waiting:
        return ""
    if now.there:
        return "no slice waits to make its table: nothing is owed"
    return "no slice was delivered yet: nothing is owed"


def full_slice_name(model: str, names: Collection[str], name: str) -> str:
    """Return the full name of a slice, whose suffix may be omitted; raise `slice-not-found`."""
    longer = [each for each in names if each.startswith(f"{name}.")]
    wanted = (name, f"{name}{_SUFFIX}", *(longer if len(longer) == 1 else ()))
    found = next((each for each in wanted if each in names), "")
    if not found:
        near = difflib.get_close_matches(name, names, n=NEAR, cutoff=0.0)
        hint = f"near it: {', '.join(near)}" if near else "there are none"
        raise UsageError("slice-not-found", f"{model} has no slice {name!r}", hint=hint)
    return found
