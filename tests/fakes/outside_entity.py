"""A second opinion on entities: slices in, rows, hashes and counts out, in plain Python.

It shares no code with penstock and imports nothing of it. It knows the rules of docs/entities.md,
and is held against cases worked out by hand. Rows are dictionaries by final name.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Values = dict[str, Any]
EPOCH = dt.date(1970, 1, 1)
COUNTS = ("recordsInSlice", "inserted", "updated", "deleted", "unchanged", "inferred_deleted")
NUMBERS = ("int", "bigint")
SIGNS = re.compile(r"[\s+,\-.;{}()=]")  # what names lose


class RefusedError(Exception):
    """A slice of which nothing is written; `codes` say why."""

    def __init__(self, *codes: str) -> None:
        super().__init__(*codes)
        self.codes = codes


@dataclass(frozen=True)
class Delivery:
    """One slice as it was delivered: rows under their names in the file, and types of columns."""

    name: str
    rows: tuple[Values, ...]
    types: dict[str, str]


@dataclass(frozen=True)
class Rules:
    """What the document says of the entity; the prefix is `p_`."""

    process: str
    keys: tuple[str, ...] = ("ID",)
    partition: str = ""
    lookback: int | None = None  # None: no watermark on Seq
    infers: bool = False
    on_change: bool = False
    renamed: dict[str, str] = field(default_factory=dict)
    dear_above: int | None = None  # a calculated column `dear`: price > that


def encoded(value: Any) -> str:
    if isinstance(value, bool):
        return f"B{int(value)}"
    if isinstance(value, int | Decimal):
        text = format(value, "f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
        text = "0" if text == "-0" else text
        return f"D{len(text)}:{text}"
    if isinstance(value, dt.date):
        return f"d{(value - EPOCH).days};"
    return f"S{len(value)}:{value}"


def digest(values: Values) -> str:
    """Hash the values that are not NULL, by the code points of their names in small letters."""
    named = sorted((name.lower(), value) for name, value in values.items() if value is not None)
    text = "".join(f"{len(name)}:{name}{encoded(value)}" for name, value in named)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class OutsideTable:
    """One silver table, and the greatest value of Seq that slices brought."""

    rules: Rules
    rows: list[Values] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    exists: bool = False
    watermark: int | None = None

    def take(self, at: int, slice_: Delivery) -> dict[str, int]:
        """Process a slice at an instant; return its counts."""
        staged = [self._staged(at, slice_, row) for row in slice_.rows]
        self._refuse(slice_, staged)
        before = self.watermark
        seqs = [row["Seq"] for row in staged if row.get("Seq") is not None]
        counts = dict.fromkeys(COUNTS, 0) | {"recordsInSlice": len(staged)}
        gone = self._gone(staged, before, max(seqs, default=None))
        counts |= getattr(self, f"_{self.rules.process}")(at, staged, gone)
        if self.rules.lookback is not None and seqs:
            self.watermark = max([*seqs, *([] if before is None else [before])])
        if staged or not self.exists:
            self._learn(slice_)
        self.exists = True
        return counts

    def _learn(self, slice_: Delivery) -> None:
        replaces = self.rules.process == "full" and not self.rules.partition
        for name, kind in slice_.types.items():
            known = self.types.get(name, kind)
            if {known, kind} <= set(NUMBERS):
                self.types[name] = max(known, kind, key=NUMBERS.index)
            elif replaces or name not in self.types:
                self.types[name] = kind

    def _refuse(self, slice_: Delivery, staged: list[Values]) -> None:
        replaces = self.rules.process == "full" and not self.rules.partition
        for name, kind in slice_.types.items():
            known = self.types.get(name, kind)
            if not replaces and known != kind and not {known, kind} <= set(NUMBERS):
                raise RefusedError("incompatible-type")
        keys = [self._key(row) for row in staged] if self.rules.keys else []
        full = [key for key in keys if None not in key]
        codes = ["duplicate-keys"] * (len(set(full)) < len(full))
        for place in range(len(self.rules.keys)):
            codes += ["null-key"] * any(key[place] is None for key in keys)
        if codes:
            raise RefusedError(*codes)

    def _staged(self, at: int, slice_: Delivery, row: Values) -> Values:
        rules, found = self.rules, dict(row)
        if rules.dear_above is not None:
            price = found["price"]
            found["dear"] = None if price is None else price > rules.dear_above
        flag = bool(found.pop("p_deleted", None))
        found = {SIGNS.sub("", rules.renamed.get(n, n)): value for n, value in found.items()}
        found = {name: v for name, v in found.items() if not name.lower().startswith("sys_")}
        if rules.partition and found[rules.partition] == "":
            found[rules.partition] = None
        hashed = found | ({"p_deleted": True} if flag and rules.process == "historic" else {})
        keys = {name: found[name] for name in rules.keys}
        made = {
            "p_SourceHash": digest(hashed),
            "p_source_filename": slice_.name,
            "p_deleted": flag,
            "p_lastSeen": at,
        }
        if keys:
            made["PK_x"] = digest(keys)
        if rules.process == "historic":
            made |= {"p_ValidFrom": at, "p_ValidTo": None, "p_IsCurrent": True}
        return found | made

    def _key(self, row: Values) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.rules.keys)

    def _gone(
        self, staged: list[Values], stored: int | None, high: int | None
    ) -> list[tuple[Any, ...]]:
        """Return keys of live rows in the window that the slice should hold, and lacks."""
        rules = self.rules
        if not (rules.infers and self.exists) or stored is None or high is None:
            return []
        low, there = stored - (rules.lookback or 0), {self._key(row) for row in staged}
        held = {row[rules.partition] for row in staged} if rules.partition else {None}
        return [
            self._key(row)
            for row in self.rows
            if not row["p_deleted"] and row.get("p_IsCurrent", True)
            if row["Seq"] is not None and low <= row["Seq"] <= high
            if (row[rules.partition] if rules.partition else None) in held
            if self._key(row) not in there
        ]

    def _full(self, _at: int, staged: list[Values], _gone: object) -> dict[str, int]:
        part = self.rules.partition
        if staged:
            held = {row[part] for row in staged} if part else set()
            self.rows = [row for row in self.rows if part and row[part] not in held] + staged
        return {"inserted": len(staged)}

    def _merge(self, at: int, staged: list[Values], gone: list[Any]) -> dict[str, int]:
        stored = {self._key(row): row for row in self.rows}
        inserted = 0
        for row in staged:
            old = stored.get(self._key(row))
            if old is None:
                if not row["p_deleted"]:
                    stored[self._key(row)] = row
                    inserted += 1
                continue
            seen = {"p_lastSeen": max(at, old["p_lastSeen"])}
            if row["p_deleted"]:
                if not (self.rules.on_change and old["p_deleted"]):
                    stored[self._key(row)] = old | {"p_deleted": True} | seen
            elif old["p_deleted"] or old["p_SourceHash"] != row["p_SourceHash"]:
                stored[self._key(row)] = row | seen
            elif not self.rules.on_change:
                stored[self._key(row)] = old | seen
        for key in gone:
            stored[key] = stored[key] | {"p_deleted": True, "p_lastSeen": at}
        self.rows = list(stored.values())
        flagged = sum(row["p_deleted"] for row in staged)
        return {
            "inserted": inserted,
            "deleted": flagged,
            "updated": len(staged) - inserted - flagged,
            "inferred_deleted": len(gone),
        }

    def _historic(self, at: int, staged: list[Values], gone: list[Any]) -> dict[str, int]:
        current = {self._key(row): row for row in self.rows if row["p_IsCurrent"]}
        closed = {"p_ValidTo": at, "p_IsCurrent": False}
        after: dict[int, Values] = {}
        counts = dict.fromkeys(("inserted", "updated", "unchanged"), 0)
        opened = []
        for row in staged:
            old = current.get(self._key(row))
            if old is not None and old["p_SourceHash"] == row["p_SourceHash"]:
                counts["unchanged"] += 1
                continue
            counts["inserted" if old is None else "updated"] += 1
            opened.append(row)
            if old is not None:
                after[id(old)] = old | closed
        for key in gone:
            old = current[key]
            after[id(old)] = old | closed | {"p_deleted": True, "p_lastSeen": at}
        self.rows = [after.get(id(row), row) for row in self.rows] + opened
        return {**counts, "deleted": len(gone), "inferred_deleted": len(gone)}
