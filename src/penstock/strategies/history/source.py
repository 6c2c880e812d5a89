"""The rows of the query: their hashes, and their errors, counted and with samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import parse_type
from penstock.core.history import HashDiffers, SystemColumns
from penstock.core.names import quoted
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Row, Rule, Stage
from penstock.strategies.build import any_lost, listed, lost_rules, shown_key
from penstock.strategies.history import terms as ps
from penstock.strategies.history.feed import present_rows
from penstock.strategies.history.terms import Sides, carried_columns
from penstock.strategies.values import convert, hash_of_values, hashes_alike, row_hash

_FOUND_WRONG = (ps.IN_SOURCE, ps.IGNORED, ps.NULL_KEY, ps.NULL_TIME, ps.NO_TIME)


def stored_hash(sides: Sides) -> str:
    """Return the hash of a stored version, recomputed from its values after the commit."""
    pairs = ((column, sides.table.find(column.name)) for column in _fields(sides))
    return hash_of_values([_typed(sides, column, known) for column, known in pairs if known])


def rehashes(sides: Sides) -> bool:
    """Return whether stored hashes become outdated because a column changes its type."""
    pairs = ((sides.table.find(column.name), sides.type_of(column)) for column in _fields(sides))
    types = ((parse_type(known.type), parse_type(held)) for known, held in pairs if known)
    return any(not hashes_alike(stored, held) for stored, held in types)


def _fields(sides: Sides) -> tuple[Column, ...]:
    made = sides.terms.made_hash
    names = {name.lower() for name in made.hashed or ()} if made else set()
    return tuple(column for column in sides.query.columns if column.name.lower() in names)


def _typed(sides: Sides, column: Column, have: Column) -> tuple[Column, str]:
    """Return a column with its type after the commit, and SQL for its value; parts can be named."""
    value, want = quoted(have.name), sides.type_of(column)
    held = value if have.type == want else f"({convert(value, have.type, want)})"
    return replace(column, type=want), held


def with_hash(change: HashDiffers, table: Schema, view: str) -> str:
    """Return the versions of a view in their new form, with the new hash in every row."""
    others = tuple(name for name in table.names if name.lower() != change.column.lower())
    return (
        f"SELECT {listed(others)}, {_hash_sql(change, table)} AS {quoted(change.column)} "
        f"FROM {quoted(view)}"
    )


def add_hash(change: HashDiffers, target: str) -> str:
    """Return the statement that adds the column to a table without hashes."""
    return f"ALTER TABLE {target} ADD COLUMNS ({quoted(change.column)} STRING)"


def rewrite_hash(change: HashDiffers, columns: SystemColumns, table: Schema, target: str) -> str:
    """Return the idempotent UPDATE of current versions; closed ones stay."""
    made, stored = _hash_sql(change, table), quoted(change.column)
    return (
        f"UPDATE {target} SET {stored} = {made} WHERE {quoted(columns.is_current)} = true "
        f"AND {quoted(columns.valid_to)} IS NULL AND NOT ({stored} <=> {made})"
    )


def _hash_sql(change: HashDiffers, table: Schema) -> str:
    """Return SQL for the hash of the table's columns: new columns are NULL and left out."""
    found = [table.find(name) for name in change.hashed or ()]
    return row_hash([column for column in found if column is not None])


def is_bad(sides: Sides) -> str:
    """Return the condition for an invalid row of the source."""
    lost = f" OR {any_lost(sides.texts)}" if sides.texts else ""
    return f"({ps.NULL_KEY} OR {ps.NULL_TIME} OR {ps.NO_TIME} OR {ps.COPIES} > 1{lost})"


def count_repeats(sides: Sides) -> Stage:
    """Count keys with more than one current version, and with more than one row of the query.

    It reads the keys of a query that replays again, so that rows need not be grouped by key: that
    means sorting all of them, half of the time of a run.
    """
    keys, asked = listed(sides.terms.keys), not sides.terms.ignore_null_time
    rows = f"SELECT {keys}, 't' AS side FROM {quoted(TARGET_VIEW)} WHERE {sides.is_current}"
    if asked:
        rows += f" UNION ALL SELECT {keys}, 's' AS side FROM {quoted(QUERY_VIEW)}"
    doubles = f"SELECT side, {keys} FROM ({rows}) GROUP BY side, {keys} HAVING count(*) > 1"
    copies = "count_if(side = 's')" if asked else "1"
    look = f"SELECT count_if(side = 't') AS `twins`, {copies} AS `copies` FROM {quoted(ps.ALONE)}"
    return Stage(ps.ALONE, doubles, look, is_kept=sides.terms.event_time)


def is_unique(row: Row) -> bool:
    """Return SQL for whether every key on both sides has one row on each, from counts of matches.

    Rows of a key match all of the other side's: the number of matches equals the number of rows on
    either side only if each row matched one.
    """
    source, table = int(row[ps.SOURCE_SIDE] or 0), int(row[ps.TABLE_SIDE] or 0)
    met, source_only, table_only = (
        int(row[name] or 0) for name in ("met", "source_only", "table_only")
    )
    return met == source - source_only == table - table_only


def rows_of(sides: Sides) -> str:
    """Return the query's rows with their hash, their time, and marks for errors."""
    read = quoted(QUERY_VIEW) if sides.changed is None else present_rows()
    rows = f"SELECT {', '.join(_flag_columns(sides))} FROM {read}"
    if not sides.copies:
        return _marked_alone(rows)
    if not sides.apart:
        return _marked_by_key(sides, rows)
    copied = f"(SELECT {listed(sides.terms.keys)} FROM {quoted(ps.ALONE)} WHERE side = 's') a"
    others, theirs = (
        f"SELECT /*+ BROADCAST(a) */ r.* FROM ({rows}) r LEFT {kind} JOIN {copied} "
        f"ON {sides.terms.on('r', 'a')}"
        for kind in ("ANTI", "SEMI")
    )
    return f"{_marked_alone(others)} UNION ALL {_marked_by_key(sides, theirs)}"


def _marked_alone(rows: str) -> str:
    row_of_key = f"CAST(NOT {ps.IGNORED} AS INT) AS {ps.ROWS}"
    return f"SELECT *, 1 AS {ps.COPIES}, 1 AS {ps.PLACE}, {row_of_key} FROM ({rows})"


def _marked_by_key(sides: Sides, rows: str) -> str:
    terms, keys = sides.terms, listed(sides.terms.keys)
    over = f"PARTITION BY {keys}" + (f", {ps.TIME}" if terms.event_time else "")
    # Rows without a time that are to be ignored are no copies of others.
    counted = f"count_if(NOT {ps.IGNORED})" if terms.ignore_null_time else "count(*)"
    alone = f"{ps.IGNORED} OR {ps.NULL_KEY}"
    copies = f"CASE WHEN {alone} THEN 1 ELSE {counted} OVER ({over}) END AS {ps.COPIES}"
    rows_of_key, place = "", "1"
    if terms.event_time:
        rows_of_key = f", count_if(NOT {ps.IGNORED}) OVER (PARTITION BY {keys}) AS {ps.ROWS}"
    elif terms.ignore_null_time and terms.retention:
        place = f"row_number() OVER (PARTITION BY {keys} ORDER BY {ps.IGNORED})"
    return f"SELECT *, {copies}, {place} AS {ps.PLACE}{rows_of_key} FROM ({rows})"


def _flag_columns(sides: Sides) -> Iterator[str]:
    terms, time = sides.terms, sides.time_sql(sides.query) or "NULL"
    yield listed(tuple(column.name for column in carried_columns(sides)))
    if terms.made_hash:  # of the values as the table will hold them
        made = hash_of_values([_typed(sides, column, column) for column in _fields(sides)])
        yield f"{made} AS {quoted(terms.made_hash.column)}"
    yield f"{time} AS {ps.TIME}"
    null_keys = " OR ".join(f"{quoted(key)} IS NULL" for key in terms.keys)
    yield ("false" if terms.match_null_keys else f"({null_keys})") + f" AS {ps.NULL_KEY}"
    yield f"{_has_no_time(sides)} AS {ps.NO_TIME}"
    no_time = f"{quoted(terms.time_column)} IS NULL" if terms.time_column else "false"
    wrong, ignored = ("false", no_time) if terms.ignore_null_time else (no_time, "false")
    yield f"{wrong} AS {ps.NULL_TIME}"
    yield f"{ignored} AS {ps.IGNORED}"
    yield f"true AS {ps.IN_SOURCE}"


def _has_no_time(sides: Sides) -> str:
    """Return the condition for a text that is not a time; it is not NULL, so it is not ignored."""
    name = sides.terms.time_column
    column = sides.query.find(name) if name else None
    if column is None or not column.type.startswith("string"):
        return "false"
    text = quoted(column.name)
    return f"({text} IS NOT NULL AND try_cast({text} AS TIMESTAMP) IS NULL)"


def joined_columns(sides: Sides) -> Iterator[str]:
    """Return the columns of rows joined with stored versions: keys from either side."""
    for column in carried_columns(sides):
        name = quoted(column.name)
        either = sides.table.columns and sides.terms.is_key(column)
        yield f"coalesce(s.{name}, c.{name}) AS {name}" if either else f"s.{name}"
    if sides.terms.made_hash:
        name = quoted(sides.terms.made_hash.column)
        made = f"coalesce(s.{name}, c.{ps.stored_name(0)}) AS {name}"
        yield made if rehashes(sides) else f"s.{name}"
    yield f"s.{ps.TIME}"
    yield from (f"coalesce(s.{column}, false) AS {column}" for column in _FOUND_WRONG)
    yield f"coalesce(s.{ps.COPIES}, 0) AS {ps.COPIES}"


def rules(sides: Sides, model: str, view: str, prefix: str = "") -> tuple[Rule, ...]:
    """Return the rules about rows; failing rows are kept in `view`, `prefix` is for counts."""
    kept = f"FROM {view} WHERE {ps.OP} = 'problem' AND "
    by_key, shown = listed(sides.terms.keys), shown_key(sides.terms.keys)
    found = (
        *_key_rules(sides, model, kept),
        *_row_rules(sides, model, kept),
        *lost_rules(sides.texts, model, f"{kept}true", shown, by_key),
    )
    return tuple(replace(rule, count=f"{prefix}{rule.count}") for rule in found)


def _key_rules(sides: Sides, model: str, source: str) -> Iterator[Rule]:
    terms, timed = sides.terms, sides.terms.event_time
    by_key, shown = listed(terms.keys), shown_key(terms.keys)
    yield Rule(
        "twice",
        "history-broken",
        f"{{count}} keys in the table of {model!r} have two current versions, or two "
        "that start together (e.g. {samples})",
        f"penstock snapshot verify {model} shows them; remove the versions that were "
        "written outside penstock, or restore the table",
        f"SELECT DISTINCT {shown} {source}{ps.TWICE} ORDER BY 1 LIMIT 5",
        f"SELECT count(DISTINCT struct({by_key})) AS n {source}{ps.TWICE}",
    )
    by, copy = (f"{by_key}, {ps.TIME}", f"{shown}, ' at ', {ps.TIME}") if timed else (by_key, shown)
    yield Rule(
        "copied",
        "tied-versions" if timed else "duplicate-keys",
        f"{{count}} times a key of {model!r} has two rows with the same {terms.time_column} "
        "(e.g. {samples})"
        if timed
        else f"{{count}} keys occur more than once in the source of {model!r} (e.g. {{samples}})",
        ("one row for each key and time: " if timed else "") + "aggregate or filter in the SELECT",
        f"SELECT concat({copy}, ' ×', count(*)) {source}{ps.COPIES} > 1 "
        f"GROUP BY {by} ORDER BY {by} LIMIT 5",
        f"SELECT count(DISTINCT struct({by})) AS n {source}{ps.COPIES} > 1",
    )


def _row_rules(sides: Sides, model: str, source: str) -> Iterator[Rule]:
    terms, column, shown = sides.terms, sides.terms.time_column, shown_key(sides.terms.keys)
    rows, keys = f"{{count}} rows in the source of {model!r} have", ", ".join(terms.keys)
    some = "(e.g. {samples})"

    def samples(condition: str, shows: str = shown) -> str:
        return f"SELECT {shows} {source}{condition} ORDER BY {listed(terms.keys)} LIMIT 5"

    if terms.event_time:
        said = (
            f"{{count}} rows of {model!r} start where a stored version of their key starts {some}"
        )
        hint = "a version of that instant is stored already; correct the time in the SELECT"
        instant = f"concat({shown}, ' at ', {ps.TIME})"
        yield Rule("tied", "tied-versions", said, hint, samples(ps.TIED, instant))
    said, hint = f"{rows} NULL in their key ({keys})", "filter them out, or set null_keys: match"
    yield Rule("null_keys", "null-key", f"{said} {some}", hint, samples(ps.NULL_KEY))
    hint = "fill it in the SELECT, or set null_updated_at: ignore_row"
    said = f"{rows} NULL in {column} {some}"
    yield Rule("null_times", "null-updated-at", said, hint, samples(ps.NULL_TIME))
    said, hint = f"{rows} no time in their {column}", "convert it in the SELECT to a TIMESTAMP"
    value = f"concat({shown}, ' ', {quoted(column)})" if column else shown
    looks = samples(ps.NO_TIME, value)
    yield Rule("no_times", "updated-at-not-a-time", f"{said} {some}", hint, looks)
    said = f"the source of {model!r} has no rows, and every key would be closed"
    hint = "if that is meant: --allow-empty for this run, or the setting allow_empty"
    yield Rule("empty", "empty-source", said, hint)
    said = (
        f"{{count}} versions of {model!r} start at or after the run timestamp that would close them"
    )
    hint = "run with a later --as-of"
    yield Rule("early", "run-time-not-after-version", f"{said} {some}", hint, samples(ps.EARLY))
