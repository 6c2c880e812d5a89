"""Steps 1 and 2 of an entity: layers of SQL over a slice, whose columns only Spark knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.columns.schema import Column, Schema
from penstock.core.entities.entity import Entity, EntityColumn, FieldRole
from penstock.core.entities.transformations import (
    ColumnTransformation,
    Deduplicate,
    Filter,
    Keep,
    Projection,
)
from penstock.core.errors import QueryError, SchemaError
from penstock.core.history import ENGINE_PREFIX
from penstock.core.names import literal, quoted
from penstock.core.statement import EXACT_JSON
from penstock.strategies.entities.events import IGNORED_ROW, delete_condition, ignore_condition
from penstock.strategies.entities.moments import at_time, split_alias, split_projection
from penstock.strategies.entities.rows import SLICE_VIEW, SliceRead, SliceRows

_RANK, _COPY = quoted(f"{ENGINE_PREFIX}rank"), quoted(f"{ENGINE_PREFIX}copy")


def select_slice(entity: Entity, read: SliceRead) -> SliceRows:
    """Read the slice; of a whole source optionally the rows of one slice."""
    sql = f"SELECT * FROM {quoted(SLICE_VIEW)}"
    schema, name = read.describe(sql), entity.system.filename
    if not read.only:
        return SliceRows(sql, schema)
    if schema.find(name) is None:
        raise SchemaError(
            "slice-column-missing",
            f"the source of {entity.model} has no column {name!r} that tells its slices apart",
            where=entity.where,
            hint="run it without --slice, or let the source say where its rows come from",
        )
    return SliceRows(f"{sql} WHERE {quoted(name)} = {literal(read.only)}", schema)


def inject_transformations(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 1: projections, and added or replaced columns, in order."""
    for each in entity.transformations:
        match each:
            case Projection(items):
                rows = _project(rows, items, read)
            case ColumnTransformation(column, expression):
                rows = _with_column(rows, column, expression, read)
            case Filter(condition):
                made = f"SELECT * FROM ({rows.made_sql})\nWHERE ({at_time(condition, read.moment)})"
                rows = replace(rows, made_sql=made)
            case Deduplicate():
                rows = _deduplicated(rows, entity, each, read)
    return _describe(rows, read) if entity.transformations else rows


def _deduplicated(rows: SliceRows, entity: Entity, how: Deduplicate, read: SliceRead) -> SliceRows:
    """Keep one row of each business key, and all rows with a NULL key, which are refused later.

    Different rows that tie stay, so that duplicate-keys reports them.
    """
    keys = []
    for each in entity.columns:
        if FieldRole.BUSINESS_KEY in each.roles:
            value = at_time(each.expression, read.moment) or quoted(each.made_name)
            keys.append(f"try_cast({value} AS {each.type})" if each.type else f"({value})")
    names = [quoted(each.name) for each in _columns(rows)]
    by, chosen = ", ".join(keys), ", ".join(names)
    direction = "DESC" if how.keep is Keep.LAST else "ASC"
    order = ", ".join(f"({at_time(e, read.moment)}) {direction}" for e in how.order_by) or by
    made = (
        f"SELECT {chosen} FROM (SELECT *, rank() OVER (PARTITION BY {by} ORDER BY {order}) "
        f"AS {_RANK}, row_number() OVER (PARTITION BY {by}, "
        f"to_json(struct({chosen}), {EXACT_JSON}) ORDER BY {by}) AS {_COPY} "
        f"FROM ({rows.made_sql}))\n"
        f"WHERE ({_RANK} = 1 AND {_COPY} = 1) OR {' OR '.join(f'{key} IS NULL' for key in keys)}"
    )
    # rows are kept once they are counted: to write them they would be sorted again
    return replace(rows, made_sql=made, computed=frozenset(c.name.lower() for c in _columns(rows)))


def calculate(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 2: calculated columns; a later one may read an earlier one."""
    calculated = [each for each in entity.columns if each.is_calculated]
    calculated += _event_columns(rows, entity)
    layers = []
    for each in calculated:
        plain = rows.computed.isdisjoint(name.lower() for name in each.reads)
        rows = _with_column(rows, each.made_name, each.expression, read, plain=plain)
        layers.append((each, rows.made_sql))
    if not calculated:
        return rows
    try:
        return _describe(rows, read)
    except QueryError as error:
        for each, sql in layers:
            _check_calculated(each, sql, read, error)
        raise


def _event_columns(rows: SliceRows, entity: Entity) -> list[EntityColumn]:
    """Return the delete flag and the mark of ignored rows as calculated columns."""
    deletes, ignores = delete_condition(entity), ignore_condition(entity)
    where, flag, made = entity.settings.events.where, entity.system.deleted, []
    if deletes:
        own = rows.schema.find(flag)
        given = f" OR coalesce(try_cast({quoted(own.name)} AS BOOLEAN), false)" if own else ""
        made.append(
            EntityColumn(flag, expression=f"coalesce({deletes}, false){given}", where=where)
        )
    if ignores:
        hidden = f"coalesce({ignores}, false)"
        made.append(EntityColumn(IGNORED_ROW, expression=hidden, where=where))
    return made


def _check_calculated(each: EntityColumn, sql: str, read: SliceRead, error: QueryError) -> None:
    try:
        read.describe(sql)
    except QueryError as refused:
        raise QueryError(
            "calculated-column-failed",
            f"calculated column {each.made_name!r}, {each.expression}, cannot be made: "
            f"{refused.sentence}",
            where=each.where,
            hint=refused.hint,
        ) from error


def _project(rows: SliceRows, items: Sequence[str], read: SliceRead) -> SliceRows:
    computed = set()
    for name, expression in (split_alias(p) for item in items for p in split_projection(item)):
        if name and expression.strip().strip("`").lower() not in {name.lower(), "*"}:
            computed.add(name.lower())
    chosen = "\n, ".join(at_time(item, read.moment) for item in items)  # a comment ends there
    made = f"SELECT {chosen}\nFROM ({rows.made_sql})"
    return _describe(replace(rows, made_sql=made, computed=rows.computed | computed), read)


def _with_column(
    rows: SliceRows, name: str, expression: str, read: SliceRead, *, plain: bool = False
) -> SliceRows:
    """Add a column, or replace one at its position."""
    value = f"({at_time(expression, read.moment)}\n) AS {quoted(name)}"
    known, folded = rows.schema.find(name), name.lower()
    names = [value if each.name.lower() == folded else quoted(each.name) for each in _columns(rows)]
    chosen = ", ".join(names if known else (*names, value))
    kind = Column(name, "string")  # the type is asked for when all of them are there
    columns = _columns(rows) if known else (*_columns(rows), kind)
    computed = set() if plain else {folded}
    return replace(
        rows,
        made_sql=f"SELECT {chosen} FROM ({rows.made_sql})",
        schema=Schema(columns),
        computed=(rows.computed - {folded}) | computed,
    )


def _columns(rows: SliceRows) -> tuple[Column, ...]:
    return rows.schema.columns


def _describe(rows: SliceRows, read: SliceRead) -> SliceRows:
    return replace(rows, schema=read.describe(rows.made_sql))
