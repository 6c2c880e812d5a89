"""The invariants of history tables (docs/history.md), checked in one pass, with samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.core.columns.schema import Schema
from penstock.core.history import HashDiffers, HistorySettings, NewerThan, SystemColumns
from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW, Passing, Row, Stage
from penstock.strategies.build import listed, shown_key
from penstock.strategies.history import terms as ps
from penstock.strategies.history.terms import as_instant

SAMPLES = 5
BROKEN = "penstock_broken"
HIGH = "high"
_PASSED = "penstock_versions"
_CURRENT = "`__penstock_current`"
_CURRENTS = "`__penstock_currents`"
_BEFORE = "`__penstock_before`"
_GAP = "`__penstock_gap`"


@dataclass(frozen=True, slots=True)
class Claims:
    """The requirements for a history table of any kind.

    `closes_keys` is whether keys may be missing, so that gaps and keys without a current version
    are allowed. `time_column` contains the starts of versions; None if they are run timestamps.
    """

    keys: tuple[str, ...]
    columns: SystemColumns
    closes_keys: bool = False
    match_null_keys: bool = False
    time_column: str | None = None
    hash_column: str | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken invariant: how often, counted in `of`, and at most five samples."""

    law: str
    title: str
    count: int
    of: str
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Law:
    """One invariant as SQL over a version and its neighbours: `broken` is true for violations."""

    law: str
    title: str
    of: str
    broken: str
    sample: str

    @property
    def condition(self) -> str:
        """The column that is true for a violation."""
        return f"`__penstock_{self.law.lower()}`"

    def samples(self, claims: Claims) -> str:
        """Return the query of at most five texts, by key, of violations."""
        return (
            f"SELECT concat({shown_key(claims.keys)}, '  ', {self.sample}) FROM {BROKEN} "
            f"WHERE {self.condition} ORDER BY {listed(claims.keys)}, {ps.FROM} LIMIT {SAMPLES}"
        )


def claims_of(
    snapshot: HistorySettings, *, closes_keys: bool, always_event_time: bool = True
) -> Claims:
    """Return the requirements for a snapshot's table."""
    claims = Claims(snapshot.keys, snapshot.columns, closes_keys, snapshot.match_null_keys)
    match snapshot.change:
        case NewerThan(column) if snapshot.event_time and always_event_time:
            return replace(claims, time_column=column)
        case HashDiffers(column, tuple()):
            return replace(claims, hash_column=column)
        case _:
            return claims


def column_violations(claims: Claims, table: Schema) -> tuple[Violation, ...]:
    """Return errors in a table's columns; its rows can be read only if there are none."""
    found = (
        ("V1", "system columns", tuple(_wrong_columns(claims, table))),
        ("V7", "null key", tuple(_missing_columns(claims.keys, table))),
        ("V8", "start", tuple(_missing_columns((claims.time_column or "",), table))),
    )
    return tuple(
        Violation(law, title, len(texts), "column", texts[:SAMPLES])
        for law, title, texts in found
        if texts
    )


def _wrong_columns(claims: Claims, table: Schema) -> Iterator[str]:
    columns = claims.columns
    must = {columns.valid_from: "timestamp", columns.valid_to: "timestamp"}
    if columns.scd_id:
        must |= {columns.scd_id: "string", columns.updated_at: "timestamp"}
        may = {columns.is_deleted: "string or boolean"}  # on Databricks it is no text
    else:
        must |= {columns.is_current: "boolean"}
        may = {columns.is_deleted: "boolean", columns.row_hash: "string"}
    if claims.hash_column:
        must |= {claims.hash_column: may.pop(claims.hash_column)}
    for name, wanted in {**must, **may}.items():
        column = table.find(name)
        if column is None and name in must:
            yield f"{name} is missing"
        elif column is not None and column.type not in wanted.split(" or "):
            yield f"{name} is {column.type.upper()}, not {wanted.upper().replace(' OR ', ' or ')}"


def _missing_columns(names: tuple[str, ...], table: Schema) -> Iterator[str]:
    return (f"{name} is missing" for name in names if name and table.find(name) is None)


def laws(claims: Claims) -> tuple[Law, ...]:
    """Return the invariants V1 to V8 that apply to the table's rows."""
    interval = _interval_text(ps.FROM, ps.TO)
    before = _interval_text(f"{_BEFORE}.at", f"{_BEFORE}.until")
    pair = f"concat({before}, ' and ', {interval})"
    too_few = "" if claims.closes_keys else f" OR {_CURRENTS} = 0"
    many = f"concat({_CURRENTS}, ' current versions')"
    found = [
        Law(
            "V1", "system columns", "version", f"{ps.FROM} IS NULL OR {_CURRENT} IS NULL", interval
        ),
        Law("V2", "interval", "version", f"{ps.TO} <= {ps.FROM}", interval),
        Law("V3", "is_current", "version", f"{_CURRENT} <> ({ps.TO} IS NULL)", interval),
        Law("V4", "current", "key", f"{ps.PLACE} = 1 AND ({_CURRENTS} > 1{too_few})", many),
        Law("V5", "overlap", "key", f"{_BEFORE}.open OR {_BEFORE}.until > {ps.FROM}", pair),
    ]
    if not claims.closes_keys:
        found.append(Law("V6", "gap", "key", _GAP, pair))
    if not claims.match_null_keys:
        null = " OR ".join(f"{quoted(key)} IS NULL" for key in claims.keys)
        found.append(Law("V7", "null key", "version", null, interval))
    if claims.time_column:
        early = f"NOT {ps.TOMB} AND ({ps.TIME} IS NULL OR {ps.FROM} < {ps.TIME})"
        since = f"concat({interval}, ' {claims.time_column} ', {_instant_text(ps.TIME)})"
        found.append(Law("V8", "start", "version", early, since))
    return tuple(found)


def check_stage(claims: Claims, table: Schema) -> Stage:
    """Return the one pass over `penstock_target`: count all versions, keep violations."""
    held = laws(claims)
    key = f"OVER (PARTITION BY {listed(claims.keys)})"
    gap = f"coalesce(NOT {_BEFORE}.open AND {_BEFORE}.until < {ps.FROM}, false) AS {_GAP}"
    rows = f"SELECT *, {gap} FROM ({_versions(claims, table)})"
    conditions = [f"coalesce({law.broken}, false) AS {law.condition}" for law in held]
    rows = f"SELECT *, {', '.join(conditions)} FROM ({rows})"
    pairs = {law.law: law.condition[:-1] + "_of_key`" for law in held if law.law in {"V5", "V6"}}
    anywhere = [
        f"bool_or({law.condition}) {key} AS {pairs[law.law]}" for law in held if law.law in pairs
    ]
    counts = {
        "versions": "count(1)",
        "keys": f"count_if({ps.PLACE} = 1)",
        "current": f"count_if({_CURRENT})",
        "gaps": f"count_if({_GAP})",
        HIGH: f"max(unix_micros(greatest({ps.FROM}, {ps.TO})))",
    }
    counts |= {law.law: f"count_if({law.condition})" for law in held}
    counts |= {law: f"count_if({ps.PLACE} = 1 AND {of_key})" for law, of_key in pairs.items()}
    return Stage(
        BROKEN,
        f"SELECT * FROM {_PASSED} WHERE {' OR '.join(law.condition for law in held)}",
        passing=Passing(_PASSED, f"SELECT *, {', '.join(anywhere)} FROM ({rows})", counts),
    )


def broken_laws(claims: Claims, row: Row) -> tuple[tuple[Law, int], ...]:
    """Return the broken invariants with their counts."""
    return tuple((law, int(row[law.law] or 0)) for law in laws(claims) if row[law.law])


def _versions(claims: Claims, table: Schema) -> str:
    """Return each version with the latest-ending earlier version of its key."""
    names, keys = claims.columns, listed(claims.keys)
    tomb = ps.tomb_sql(names, table)
    current = quoted(names.is_current) if names.is_current else names.is_open()
    column = table.find(claims.time_column or "")
    time = as_instant(column) if column else ps.NO_INSTANT
    bare = (
        f"SELECT {keys}, {quoted(names.valid_from)} AS {ps.FROM}, "
        f"{names.end(quoted(names.valid_to))} AS {ps.TO}, {current} AS {_CURRENT}, "
        f"{tomb} AS {ps.TOMB}, {time} AS {ps.TIME} FROM {quoted(TARGET_VIEW)}"
    )
    window = f"PARTITION BY {keys} ORDER BY {ps.FROM}, {ps.TO} NULLS LAST"
    end = f"struct({ps.TO} IS NULL AS open, {ps.TO} AS until, {ps.FROM} AS at)"
    return (
        f"SELECT *, row_number() OVER ({window}) AS {ps.PLACE}, "
        f"count_if({_CURRENT}) OVER (PARTITION BY {keys}) AS {_CURRENTS}, "
        f"max(CASE WHEN {ps.FROM} IS NOT NULL THEN {end} END) OVER "
        f"({window} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS {_BEFORE} FROM ({bare})"
    )


def _interval_text(start: str, end: str) -> str:
    open_end = f"CASE WHEN {end} IS NULL THEN '' ELSE {_instant_text(end)} END"
    return f"concat('[', {_instant_text(start)}, ', ', {open_end}, ')')"


def _instant_text(at: str) -> str:
    """Return SQL that formats a time for display: midnight as a date."""
    day = f"CAST(CAST({at} AS DATE) AS STRING)"
    shown = f"CASE WHEN {at} = CAST({at} AS DATE) THEN {day} ELSE CAST({at} AS STRING) END"
    return f"coalesce({shown}, 'NULL')"
