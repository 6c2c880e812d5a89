"""The operations of a run, row by row, as its stages keep them for the MERGE."""

from __future__ import annotations

from penstock.core.names import quoted
from penstock.core.statement import FEW_ROWS, QUERY_VIEW, TARGET_VIEW, Stage
from penstock.strategies.build import listed
from penstock.strategies.history import terms as ps
from penstock.strategies.history.source import rehashes, stored_hash
from penstock.strategies.history.terms import Sides, carried_columns

_FOUND_WRONG = (ps.NULL_KEY, ps.NULL_TIME, ps.NO_TIME, ps.COPIES, ps.EARLY, ps.TWICE)


def operation_rows(sides: Sides, view: str = ps.SEEN) -> str:
    """Return one row per operation; business values only if they are needed."""
    terms = sides.terms
    columns = [f"op.op AS {ps.OP}, op.at AS {ps.AT}"]
    for column in carried_columns(sides):
        name = quoted(column.name)
        needed = f"CASE WHEN op.op IN ('open', 'pending', 'problem') THEN {name} END AS {name}"
        columns.append(name if terms.is_key(column) else needed)
    if terms.made_hash:
        columns.append(quoted(terms.made_hash.column))
    # Retention may remove the version of a missing key at once.
    gone = f"{ps.CLASS} = 'deleted' AND op.op IN ('close', 'delete') AND op.at = {ps.AT}"
    columns += [
        ps.FROM,
        f"CASE WHEN op.op = 'open' THEN {ps.OPEN_TO} ELSE {ps.CLOSE_TO} END AS {ps.TO}",
        f"coalesce({gone}, false) AS {ps.GONE}",
        ps.TIME,
        *_FOUND_WRONG,
        *((ps.TIED, ps.IN_SOURCE, ps.IGNORED) if terms.event_time else ()),
    ]
    return (
        f"SELECT {', '.join(columns)} FROM (SELECT *, explode({ps.OPS}) AS op FROM {quoted(view)})"
    )


def full_rows(sides: Sides, number: int) -> str:
    """Return `operation_rows`; further columns of opened rows are read from the query again."""
    made, known = sides.terms.made_hash, {column.name for column in carried_columns(sides)}

    def rows(other: str) -> str:
        names = ((c.name, quoted(c.name)) for c in sides.query.columns)
        columns = (f"f.{sql}" if name in known else f"{other}{sql}" for name, sql in names)
        hashes = (quoted(made.column),) if made else ()
        ours = (*hashes, ps.FROM, ps.TO, ps.GONE, ps.TIME, *_FOUND_WRONG)
        return ", ".join((f"f.{ps.OP}, f.{ps.AT}", *columns, *(f"f.{name}" for name in ours)))

    opening = f"(SELECT * FROM {ps.FOUND} WHERE {ps.OP} = 'open')"
    hint = "/*+ BROADCAST(f) */ " if number <= FEW_ROWS else ""
    return (
        f"SELECT {hint}{rows('q.')} FROM {quoted(QUERY_VIEW)} q JOIN {opening} f "
        f"ON {sides.terms.on('q', 'f', stored=False)} "
        f"UNION ALL SELECT {rows('NULL AS ')} FROM {ps.FOUND} f WHERE f.{ps.OP} <> 'open'"
    )


def tombstones(sides: Sides, hint: str = "") -> str:
    """Return a tombstone for every missing key, with the values of its version."""
    terms = sides.terms
    keys = f"SELECT * FROM {ps.STAGED} WHERE {ps.GONE}"
    columns = [f"t.{quoted(column.name)}" for column in sides.stored]
    if terms.made_hash:
        name = quoted(terms.made_hash.column)
        columns.append(f"{stored_hash(sides)} AS {name}" if rehashes(sides) else f"t.{name}")
    valid_from = f"t.{quoted(terms.columns.valid_from)}"
    current = f"t.{sides.is_current}" if sides.partitioned else terms.columns.is_open("t.")
    return (
        f"SELECT {hint}{', '.join(columns)} FROM {quoted(TARGET_VIEW)} t LEFT SEMI JOIN ({keys}) g "
        f"ON {terms.on('t', 'g')} AND {valid_from} = g.{ps.AT} WHERE {current}"
    )


def count_doubles(sides: Sides, view: str) -> Stage:
    """Count keys that are on one side only and were `found` twice."""
    keys = listed(sides.terms.keys)
    rows = f"SELECT {keys} FROM {view} GROUP BY {ps.OP}, {keys} HAVING count(*) > 1"
    look = f"SELECT count(*) AS `doubles` FROM {quoted(ps.ALONE)}"
    return Stage(ps.ALONE, rows, look, when="unmet", is_kept=False)
