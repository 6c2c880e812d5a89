"""Checks that the rows of a table meet, to be read and kept by people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, islice

from penstock.core.checks.check import LONGEST, Check, plain_name
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import is_text
from penstock.core.names import quoted
from penstock.core.statement import Row
from penstock.strategies.checks import literals
from penstock.strategies.checks.literals import amount

WIDEST = 200
"""How many columns are profiled."""
_KEYS, _PAIRS = 8, 6
"""How many columns, and pairs of them, are counted exactly."""
_FEW, _REPEATED = 20, 5
"""How many values an enumeration may have, and how often each must occur on average."""
_NEAR = 0.85
"""An estimate of distinct values may be so much too low."""
_LONG = 60
_SHARES = (1, 2, 5, 10, 20, 50)
_SLACK = Decimal("1.5")
_SAFE_DIGITS, _LONGEST = 15, 40

Scalar = int | float | str
Keys = Mapping[str, Scalar | tuple[Scalar, ...]]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A proposed check: its keys in the order of files, and what it is based on."""

    keys: Keys
    why: str


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What the rows show of one column; `distinct` is an estimate, bounds are texts."""

    column: Column
    nulls: int
    distinct: int | None = None
    least: str | None = None
    greatest: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What the rows of a table show."""

    rows: int
    columns: tuple[ColumnProfile, ...]

    def whole(self) -> Iterator[ColumnProfile]:
        """Yield the columns without NULL that can be part of a key."""
        for each in self.columns:
            if not each.nulls and each.distinct is not None and _is_key(each.column.type):
                yield each


def _is_number(kind: str) -> bool:
    return literals.is_exact(kind) or kind in literals.FLOATS


def _is_scalar(kind: str) -> bool:
    return _is_number(kind) or kind in literals.TIMES or kind == "boolean" or is_text(kind)


def _is_key(kind: str) -> bool:
    return kind in literals.INTEGERS or kind == "date" or is_text(kind)


def profile_query(rows: str, columns: Schema, *, sample: bool) -> str:
    """Return the query of the first look; without `sample` it returns only counts."""
    asked = ["count(*) AS n"]
    for place, column in enumerate(columns.columns[:WIDEST]):
        name = quoted(column.name)
        asked.append(f"count({name}) AS v{place}")
        if _is_scalar(column.type):
            asked.append(f"approx_count_distinct({name}) AS d{place}")
        if sample and _is_number(column.type):
            asked += (f"CAST({end}({name}) AS STRING) AS {end}{place}" for end in ("min", "max"))
    return f"SELECT {', '.join(asked)} FROM (\n{rows}\n)"


def profile_of(row: Row, columns: Schema) -> Profile:
    """Return the answer to `profile_query`."""
    rows = int(row["n"] or 0)
    found = []
    for place, column in enumerate(columns.columns[:WIDEST]):
        distinct, least, most = (row.get(f"{name}{place}") for name in ("d", "min", "max"))
        found.append(
            ColumnProfile(
                column,
                rows - int(row[f"v{place}"] or 0),
                None if distinct is None else int(distinct),
                None if least is None else str(least),
                None if most is None else str(most),
            )
        )
    return Profile(rows, tuple(found))


@dataclass(frozen=True, slots=True)
class Details:
    """What the second look counts: keys, and columns whose values are listed."""

    keys: tuple[tuple[str, ...], ...]
    listed: tuple[str, ...]

    def query(self, rows: str) -> str:
        """Return the query of the second look."""
        asked = [
            f"count(DISTINCT {', '.join(map(quoted, key))}) AS k{place}"
            for place, key in enumerate(self.keys)
        ]
        asked += [
            f"to_json(sort_array(collect_set({quoted(name)}))) AS e{place}"
            for place, name in enumerate(self.listed)
        ]
        return f"SELECT {', '.join(asked)} FROM (\n{rows}\n)"


def details_of(profile: Profile, declared: Sequence[str], *, sample: bool) -> Details:
    """Choose what to count exactly: declared keys, columns that look like keys, or else pairs."""
    whole, rows = list(profile.whole()), profile.rows
    near = [each.column.name for each in whole if (each.distinct or 0) >= _NEAR * rows]
    keys: list[tuple[str, ...]] = [(name,) for name in near[:_KEYS]]
    names = {each.column.name.lower() for each in profile.columns}
    known = tuple(declared) if {each.lower() for each in declared} <= names else ()
    if known and known not in keys:
        keys.insert(0, known)
    if not keys:
        parts = [each for each in whole if (each.distinct or 0) > 1]
        pairs = (
            (one.column.name, other.column.name)
            for one, other in combinations(parts, 2)
            if (one.distinct or 0) * (other.distinct or 0) >= _NEAR * rows
        )
        keys += islice(pairs, _PAIRS)
    listed = tuple(
        each.column.name
        for each in profile.columns
        if sample and is_text(each.column.type) and 0 < (each.distinct or 0) <= _FEW
        if rows - each.nulls >= _REPEATED * (each.distinct or 0)
    )
    return Details(tuple(keys) if rows > 1 else (), listed if rows > 1 else ())


def suggestions(
    profile: Profile, details: Details, row: Row, existing: Sequence[Check]
) -> tuple[Suggestion, ...]:
    """Return the checks that all rows meet, without those that the model has."""
    if not profile.rows:
        return ()
    unique = [
        key for place, key in enumerate(details.keys) if int(row[f"k{place}"] or 0) == profile.rows
    ]
    if unique and len(unique[0]) > 1:
        unique = unique[:1]
    found = [
        Suggestion({"type": "row_count", "min": 1}, amount(profile.rows, "row")),
        *_of_nulls(profile, existing),
        *(_unique(key) for key in unique),
        *_of_ranges(profile, {key[0].lower() for key in unique if len(key) == 1}),
        *_of_values(details, row),
    ]
    new = (each for each in found if not _is_there(each.keys, existing))
    return tuple(_with_names(new, {each.name for each in existing}))


def _columns_of(keys: Keys) -> tuple[str, ...]:
    one, many = keys.get("column"), keys.get("columns")
    return tuple(map(str, many if isinstance(many, tuple) else () if one is None else (one,)))


def _name_of(keys: Keys) -> str:
    usual = plain_name("_".join((str(keys["type"]), *_columns_of(keys))))
    return str(keys.get("name", usual))


def _is_there(keys: Keys, existing: Sequence[Check]) -> bool:
    """Return whether the model has a check of the same type and columns."""
    same = [each.lower() for each in _columns_of(keys)]
    return any(
        each.type == keys["type"] and [*map(str.lower, each.rule.columns_named)] == same
        for each in existing
    )


def _with_names(proposed: Iterable[Suggestion], taken: set[str]) -> Iterator[Suggestion]:
    """Name checks whose usual name another one has: `a b` and `a_b` are columns, and one name."""
    for each in proposed:
        usual, number = _name_of(each.keys), 1
        name = usual
        while name in taken:
            number += 1
            name = f"{usual[: LONGEST - len(f'_{number}')]}_{number}"
        taken.add(name)
        yield each if name == usual else replace(each, keys={**each.keys, "name": name})


def _of_nulls(profile: Profile, existing: Sequence[Check]) -> Iterator[Suggestion]:
    checked = {
        name.lower()
        for each in existing
        if each.type == "not_null"
        for name in each.rule.columns_named
    }
    never = [each.column.name for each in profile.columns if not each.nulls]
    if missing := tuple(name for name in never if name.lower() not in checked):
        keys: Keys = {"name": "never_null", "type": "not_null", "columns": missing}
        yield Suggestion(keys, "no NULL in any of them")
    for each in profile.columns:
        share = Decimal(100 * each.nulls) / profile.rows
        most = next((limit for limit in _SHARES if share * _SLACK <= limit), None)
        if each.nulls and most is not None:
            column = each.column.name
            limits: Keys = {"type": "null_percentage", "column": column, "max_percentage": most}
            yield Suggestion(limits, f"{amount(each.nulls, 'NULL')}, {share:.2f} %")


def _unique(key: tuple[str, ...]) -> Suggestion:
    return Suggestion({"type": "unique", "columns": key}, "no value occurs twice")


def _of_ranges(profile: Profile, keys: set[str]) -> Iterator[Suggestion]:
    """Propose ranges of numbers; what was never negative has 0 as its bound, not its least."""
    for each in profile.columns:
        name, kind = each.column.name, each.column.type
        if each.least is None or each.greatest is None or name.lower() in keys:
            continue
        least, most = Decimal(each.least), Decimal(each.greatest)
        if not (least.is_finite() and most.is_finite()):
            continue
        bounds: dict[str, Scalar] = {"min": _bound(least), "max": _bound(most)}
        if least >= 0:
            is_share = most <= 1 and kind not in literals.INTEGERS and least != most
            bounds = {"min": 0, "max": 1} if is_share else {"min": 0}
        seen = f"{_short(least)} to {_short(most)}"
        yield Suggestion({"type": "value_range", "column": name, **bounds}, seen)


def _bound(value: Decimal) -> Scalar:
    """Return a bound as YAML reads it exactly: long fractions are texts."""
    text = _short(value)
    if text.lstrip("-").isdigit():
        return int(text)
    is_short = len(value.as_tuple().digits) <= _SAFE_DIGITS
    return float(text) if is_short and "e" not in str(float(text)) else text


def _short(value: Decimal) -> str:
    """Return a number as text, with an exponent where a decimal of Spark would be too short."""
    text = literals.plain(value)
    return text if len(text) <= _LONGEST else str(value)


def _of_values(details: Details, row: Row) -> Iterator[Suggestion]:
    for place, name in enumerate(details.listed):
        values = json.loads(str(row[f"e{place}"] or "[]"))
        if values and all(len(each) <= _LONG for each in values):
            keys: Keys = {"type": "accepted_values", "column": name, "values": tuple(values)}
            yield Suggestion(keys, amount(len(values), "value"))
