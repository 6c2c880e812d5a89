"""The counts of a run of a history table, the statements that commit it, and their input rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from penstock.core.columns.schema import Column, Schema
from penstock.core.history import HardDeletes
from penstock.core.names import literal, quoted
from penstock.core.statement import ROW_CHANGE, Commit, Row
from penstock.core.strategy import Build
from penstock.strategies.build import OF_STAGED, create, lost_counts, merged_rows, sent_rows
from penstock.strategies.history import terms as ps
from penstock.strategies.history.feed import counts_of_changes
from penstock.strategies.history.source import is_bad, rehashes, rows_of
from penstock.strategies.history.terms import Sides
from penstock.strategies.values import convert

LATE = "late_"
_STAGED = ("tombstones", "closes", "moves", "pending", "rehashed")
_OF_SOURCE = (
    *("opened_new", "opened_changed", "opened_late", "reopened"),
    *("unchanged", "ignored", "skipped"),
)


_OF_SIDES = {
    "met": f"count_if({ps.IN_SOURCE} AND {ps.IN_TABLE})",
    "source_only": f"count_if({ps.IN_SOURCE} AND NOT {ps.IN_TABLE})",
    "table_only": f"count_if(NOT {ps.IN_SOURCE})",
    "unmet": f"count_if({ps.CLASS} IN ('opened_new', 'deleted'))",
}


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
    def of(cls, row: Row) -> Counts:
        """Return the counts from a run's stages, with those of late rows added."""
        names = [field.name for field in fields(cls)]
        return cls(*(int(row.get(n) or 0) + int(row.get(LATE + n) or 0) for n in names))

    @property
    def opens(self) -> int:
        """Versions that are inserted, including tombstones."""
        rows = self.opened_new + self.opened_changed + self.opened_late + self.reopened
        return rows + self.tombstones

    @property
    def updates(self) -> int:
        """Versions whose end changes."""
        return self.closes + self.moves

    @property
    def rehashes(self) -> int:
        """Versions that stay but get a new hash: only commits that open versions widen columns."""
        return self.rehashed if self.opens else 0

    @property
    def writes(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.opens or self.updates or self.pruned)

    @property
    def metrics(self) -> dict[str, int]:
        """The metrics by name, for records and reports."""
        names = [field.name for field in fields(self) if field.name not in _STAGED]
        return {name: getattr(self, name) for name in names}

    def check(self, *, event_time: bool) -> None:
        """Check the identities M1 and M2 before anything is written."""
        parts = sum(getattr(self, name) for name in _OF_SOURCE)
        if self.source_rows != parts:
            raise IdentityError(f"M1: source_rows is {self.source_rows}, its parts are {parts}")
        parts = self.opened_changed + self.deleted
        if not event_time and self.closed != parts:
            raise IdentityError(f"M2: closed is {self.closed}, opened and deleted are {parts}")


def counts(sides: Sides) -> Mapping[str, str]:
    """Return the aggregates over the classified rows in run-time mode."""
    gone = f"array_contains({ps.PRUNED}, {ps.AT})" if sides.terms.retention else "false"
    closed = f"{ps.CLASS} IN ('opened_changed', 'deleted')"
    pruned = f"coalesce(sum(size({ps.PRUNED})), 0)" if sides.terms.retention else "count_if(false)"
    stays = f"{ps.IN_TABLE} AND coalesce({ps.CLASS} = 'unchanged', true)"
    of_sides = _OF_SIDES if sides.counts else {}
    of_sides = {**of_sides, **counts_of_changes(sides)}
    return _source_counts(sides) | {
        **of_sides,
        "closed": f"count_if({closed})",
        "closes": f"count_if({closed} AND NOT coalesce({gone}, false))",
        "pruned": pruned,
        "rehashed": f"count_if({stays if rehashes(sides) else 'false'})",
        "found": f"coalesce(sum(size({ps.OPS})), 0)" if sides.narrow else "count_if(false)",
    }


def counts_by_current(sides: Sides) -> Mapping[str, str]:
    """Return the aggregates in event-time mode for rows that current versions decide."""
    closed = f"count_if({ps.CLASS} IN ('opened_changed', 'deleted'))"
    pending = f"count_if({ps.CLASS} = 'pending')"
    return _source_counts(sides) | {"closed": closed, "closes": closed, "pending": pending}


def counts_placed(sides: Sides) -> Mapping[str, str]:
    """Return the same for rows that were placed among all versions."""
    closed = f"{ps.CLASS} IN ('closed', 'deleted')"
    return _source_counts(sides) | {
        "closed": f"count_if({closed})",
        "closes": f"count_if({closed} AND NOT {ps.PRUNED})",
        "shortened": f"count_if({ps.CLASS} = 'shortened')",
        "moves": f"count_if({ps.CLASS} = 'shortened' AND NOT {ps.PRUNED})",
        "pruned": f"count_if({ps.IN_TABLE} AND {ps.PRUNED})",
        "tied": f"count_if({ps.TIED})",
    }


def counts_late(sides: Sides) -> Mapping[str, str]:
    """Return the same for pending rows, which are already counted as source rows."""
    found = counts_placed(sides)
    return {LATE + name: sql for name, sql in found.items() if name != "source_rows"}


def _source_counts(sides: Sides) -> dict[str, str]:
    empty = "count_if(false)"
    closes = sides.terms.closes_missing and not sides.terms.allow_empty
    if closes and sides.table.columns and sides.changed is None:
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


_UNDERNEATH = (
    "penstock:history-changed-underneath: a version that was classified is no longer there"
)


def from_query(build: Build, sides: Sides, properties: Mapping[str, str]) -> Commit:
    """Create the table from the query in one action; an invalid row fails it."""
    refused = literal("penstock:history-guard: the source has rows that may not be there")
    guard = f"CASE WHEN {is_bad(sides)} THEN CAST(raise_error({refused}) AS BOOLEAN) ELSE true END"
    rows = _new_versions(sides, sides.terms.at, ps.NO_INSTANT, "true")
    made = create(build, f"SELECT {rows} FROM ({rows_of(sides)}) WHERE {guard}", properties)
    return Commit(made.sql, exclusive=True)


def from_staged(
    build: Build, sides: Sides, properties: Mapping[str, str], counts: Counts
) -> Commit:
    """Create the table from classified rows."""
    made = create(build, first_rows(sides), properties)
    expected = {"numOutputRows": ("M3", counts.opens)}
    return Commit(made.sql, metrics=counts.metrics, expected=expected, exclusive=True)


def first_rows(sides: Sides) -> str:
    """Return the classified rows of a first run in stored form."""
    rows = _new_versions(sides, ps.FROM, ps.TO, f"{ps.TO} IS NULL")
    return f"SELECT {rows} FROM {ps.STAGED} WHERE {ps.OP} = 'open'"


def _new_versions(sides: Sides, valid_from: str, valid_to: str, is_current: str) -> str:
    terms, columns = sides.terms, sides.terms.columns
    rows = {name: quoted(name) for name in sides.query.names}
    system = _system_values(sides, valid_from, valid_to, is_current)
    if terms.hard_deletes is HardDeletes.NEW_RECORD:
        system[columns.is_deleted] = ps.flag_sql(sides, is_deleted=False)
    rows |= {name: f"{sql} AS {quoted(name)}" for name, sql in system.items()}
    if terms.made_hash:
        rows[terms.made_hash.column] = quoted(terms.made_hash.column)
    return ", ".join(rows[name] for name in terms.order or rows)


def _system_values(
    sides: Sides, start: str, end: str, is_current: str, prefix: str = ""
) -> dict[str, str]:
    """Return the columns of a new version's interval and their values.

    The id of dbt is a checksum of key and start, as dbt computes it.
    """
    columns = sides.terms.columns
    values = {columns.valid_from: start, columns.valid_to: columns.stored_end(end)}
    if not columns.scd_id:
        return values | {columns.is_current: is_current}
    parts = (*(f"{prefix}{quoted(key)}" for key in sides.terms.keys), start)
    texts = " || '|' || ".join(f"coalesce(CAST({part} AS STRING), '')" for part in parts)
    return {columns.scd_id: f"md5({texts})", columns.updated_at: start} | values


def merge(build: Build, sides: Sides, counts: Counts) -> Commit:
    """Return the MERGE of staged rows; it fails if a classified version no longer exists."""
    return Commit(
        f"MERGE WITH SCHEMA EVOLUTION INTO {build.target} t USING {_sent_rows(sides, counts)} s "
        f"ON {_match(sides, counts)} " + " ".join(_clauses(sides, counts)),
        OF_STAGED,
        metrics=counts.metrics,
        expected={
            "numTargetRowsInserted": ("M3", counts.opens),
            "numTargetRowsUpdated": ("M4", counts.updates + counts.rehashes),
            "numTargetRowsDeleted": ("M4", counts.pruned),
            ROW_CHANGE: ("M5", counts.opens - counts.pruned),
        },
        exclusive=True,
    )


def _match(sides: Sides, counts: Counts) -> str:
    """Return the condition that matches a staged row with its stored version."""
    terms, columns = sides.terms, sides.terms.columns
    same = f"{terms.on('t', 's')} AND t.{quoted(columns.valid_from)} = s.{ps.AT}"
    if counts.pruned or counts.moves:
        return same
    current = f" AND t.{quoted(columns.is_current)} = true" if columns.is_current else ""
    return f"{same}{current} AND {columns.is_open('t.')}"


def _ends(sides: Sides) -> dict[str, str]:
    """Return the new values of a version whose end changes, by column."""
    terms = sides.terms
    ends = {terms.columns.valid_to: f"s.{ps.TO}"}
    if terms.columns.is_current:
        ends[terms.columns.is_current] = "false"
    for name, value in terms.missing_sets:
        ends[name] = f"CASE WHEN s.{ps.GONE} THEN {value} ELSE t.{quoted(name)} END"
    return ends


def table_after(sides: Sides, counts: Counts) -> str:
    """Return the table after the MERGE, if no column changes its type."""
    made = sides.terms.made_hash
    opened = opened_rows(sides, counts)
    columns = Schema(tuple(Column(name.strip("`"), "") for name in _open_values(sides, counts)))
    closes = f"s.{ps.OP} IN ('close', 'move')"
    updates = {
        name: f"CASE WHEN {closes} THEN {value} ELSE t.{quoted(name)} END"
        for name, value in _ends(sides).items()
    }
    if counts.rehashes and made:
        name = quoted(made.column)
        updates[made.column] = f"CASE WHEN {closes} THEN t.{name} ELSE s.{name} END"
    return merged_rows(
        sides.table,
        _sent_rows(sides, counts),
        _match(sides, counts),
        updates,
        (opened, columns),
        f"s.{ps.OP} = 'delete'",
    )


def _clauses(sides: Sides, counts: Counts) -> Iterator[str]:
    """Return the clauses for each kind of staged row; absent kinds have none."""
    terms = sides.terms
    if counts.pruned:
        yield f"WHEN MATCHED AND s.{ps.OP} = 'delete' THEN DELETE"
    if counts.updates:
        sets = ", ".join(f"t.{quoted(name)} = {value}" for name, value in _ends(sides).items())
        yield f"WHEN MATCHED AND s.{ps.OP} IN ('close', 'move') THEN UPDATE SET {sets}"
    if counts.rehashes and terms.made_hash:
        name = quoted(terms.made_hash.column)
        yield f"WHEN MATCHED AND s.{ps.OP} = 'rehash' THEN UPDATE SET t.{name} = s.{name}"
    if counts.opens:
        row = _open_values(sides, counts)
        yield (
            f"WHEN NOT MATCHED AND s.{ps.OP} = 'open' THEN INSERT ({', '.join(row)}) "
            f"VALUES ({', '.join(row.values())})"
        )
    key = quoted(terms.keys[0])
    yield f"WHEN NOT MATCHED THEN INSERT ({key}) VALUES (raise_error({literal(_UNDERNEATH)}))"


def opened_rows(sides: Sides, counts: Counts) -> str:
    """Return the versions that the MERGE opens, in stored form."""
    pairs = ", ".join(f"{value} AS {name}" for name, value in _open_values(sides, counts).items())
    return f"SELECT {pairs} FROM ({_merge_rows(sides, counts)}) s WHERE s.{ps.OP} = 'open'"


def _open_values(sides: Sides, counts: Counts) -> dict[str, str]:
    """Return the columns of a new version and their values."""
    terms, columns = sides.terms, sides.terms.columns
    row = {name: f"s.{name}" for name in (quoted(c.name) for c in _business_columns(sides, counts))}
    system = _system_values(sides, f"s.{ps.FROM}", f"s.{ps.TO}", f"s.{ps.TO} IS NULL", "s.")
    row |= {quoted(name): value for name, value in system.items()}
    if sides.has_deleted or counts.tombstones:
        row[quoted(columns.is_deleted)] = f"s.{quoted(columns.is_deleted)}"
    if terms.made_hash:
        row[quoted(terms.made_hash.column)] = f"s.{quoted(terms.made_hash.column)}"
    return row


def _business_columns(sides: Sides, counts: Counts) -> tuple[Column, ...]:
    """Return the columns of a new version: those of the query, for a tombstone also lost ones."""
    return (*sides.query.columns, *(sides.lost_columns if counts.tombstones else ()))


def _sent_rows(sides: Sides, counts: Counts) -> str:
    number = counts.opens + counts.updates + counts.pruned + counts.rehashed
    return sent_rows(_merge_rows(sides, counts), number)


def _merge_rows(sides: Sides, counts: Counts) -> str:
    """Return the staged rows of every executed stage, in one shape."""
    only = f" AND {ps.OP} <> 'rehash'" if counts.rehashed and not counts.rehashes else ""
    columns = ", ".join(_merge_columns(sides, counts))
    parts = [f"SELECT {columns} FROM {ps.STAGED} WHERE {ps.OP} <> 'pending'{only}"]
    if counts.pending:
        parts.append(f"SELECT {columns} FROM {ps.LATE_STAGED}")
    if counts.tombstones:
        tombs = ", ".join(_merge_columns(sides, counts, are_tombstones=True))
        parts.append(f"SELECT {tombs} FROM {ps.TOMBSTONES}")
    return " UNION ALL ".join(parts)


def _merge_columns(sides: Sides, counts: Counts, *, are_tombstones: bool = False) -> Iterator[str]:
    """Return the MERGE's columns, from the query's rows or from the table's."""
    if are_tombstones:
        yield f"'open' AS {ps.OP}, {ps.NO_INSTANT} AS {ps.AT}, {sides.terms.at} AS {ps.FROM}"
        yield f"{ps.NO_INSTANT} AS {ps.TO}, true AS {ps.GONE}"
    else:
        yield f"{ps.OP}, {ps.AT}, {ps.FROM}, {ps.TO}, {ps.GONE}"
    for column in _business_columns(sides, counts):
        name = quoted(column.name)
        wanted, known = sides.query.find(column.name), sides.table.find(column.name)
        given = known if are_tombstones else wanted
        if given is None:
            yield f"CAST(NULL AS {column.type}) AS {name}"
        elif wanted is None or known is None or (known.type == wanted.type and not are_tombstones):
            yield name
        else:
            yield f"{convert(name, given.type, sides.type_of(wanted))} AS {name}"
    if sides.terms.made_hash:
        yield quoted(sides.terms.made_hash.column)
    if are_tombstones or sides.has_deleted or counts.tombstones:
        is_deleted = quoted(sides.terms.columns.is_deleted)
        yield f"{ps.flag_sql(sides, is_deleted=are_tombstones)} AS {is_deleted}"
