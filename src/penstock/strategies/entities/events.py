"""Change events in a slice: which of them count, and which an earlier step has overtaken.

Rows are labelled once, in the query that is counted and kept before a step begins. Everything after
it reads only those that count (docs/decisions/0068-change-events-are-labelled-rows.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import is_watermark_type
from penstock.core.columns.types import parse_type, sql_type
from penstock.core.entities.entity import Entity, ProcessType
from penstock.core.findings import Finding
from penstock.core.history import ENGINE_PREFIX
from penstock.core.names import quoted
from penstock.core.statement import EXACT_JSON, TARGET_VIEW, Row, Rule
from penstock.core.steps.inputs import CHANGE, CHANGE_VERSION
from penstock.strategies.build import shown_key
from penstock.strategies.entities.rows import MADE_VIEW, OUT, SliceRows, StagedColumn

IGNORED_ROW = f"{ENGINE_PREFIX}ignored"
LABELS = ("superseded", "ignored", "stale")
"""The reasons why a row does not count, which are counted in the summary of a step."""
TOMBSTONES = "tombstones"
LATE = "late"
_NO_ORDER, _TIED = "no_order", "tied"
_RANK, _COPY, _SEEN = (quoted(f"{ENGINE_PREFIX}{word}") for word in ("rank", "copy", "seen"))
_KNOWN = quoted(f"{ENGINE_PREFIX}known")


def delete_condition(entity: Entity) -> str:
    """Return the condition of a row that deletes its key, "" if the slice's own flag tells."""
    events = entity.settings.events
    conditions = [f"({events.delete_when})"] if events.delete_when else []
    conditions += [f"{quoted(CHANGE)} = 'delete'"] if events.change_feed else []
    return " OR ".join(conditions)


def ignore_condition(entity: Entity) -> str:
    """Return the condition of a row that does not count, "" if all do."""
    events = entity.settings.events
    conditions = [f"({events.ignore_when})"] if events.ignore_when else []
    conditions += [f"{quoted(CHANGE)} = 'update_preimage'"] if events.change_feed else []
    return " OR ".join(conditions)


def check_events(rows: SliceRows, entity: Entity) -> SliceRows:
    """Report columns that order events and are missing, or whose values have no order."""
    events, found = entity.settings.events, []
    for name in dict.fromkeys((*events.sequence_by, *filter(None, (events.valid_from,)))):
        column = rows.find(name)
        if column is None:
            sentence = f"the slice of {entity.model} has no column {name!r}, which orders events"
            hint = "add it to the slice, or calculate it with an expression"
            found.append(Finding(events.where, "missing-column", sentence, hint))
        elif not is_watermark_type(column.type):
            sentence = (
                f"column {name!r} of {entity.model} is {column.type.upper()}, and it orders events"
            )
            hint = "DATE, TIMESTAMP, TIMESTAMP_NTZ, integers, DECIMAL and STRING can do that"
            found.append(Finding(events.where, "sequence-type", sentence, hint))
    return replace(rows, findings=(*rows.findings, *found))


def label_events(rows: SliceRows, entity: Entity, table: Schema | None) -> SliceRows:
    """Label the rows that do not count: ignored ones, earlier ones of a key, and stale ones."""
    events = entity.settings.events
    if not events.labels_rows:
        return rows
    ignored = quoted(IGNORED_ROW) if ignore_condition(entity) else "false"
    if not events.is_ordered:
        made = f"SELECT *, CASE WHEN {ignored} THEN 'ignored' END AS {OUT}, false AS {_KNOWN} "
        return replace(rows, made_sql=f"{made}FROM ({rows.made_sql})", is_labelled=True)
    keys = [value for _, value in _key_values(rows, entity)]
    by, order = ", ".join((*keys, ignored)), [*_order(rows, entity)]
    falling = ", ".join(f"{each} DESC NULLS LAST" for each in order)
    every = ", ".join(quoted(name) for name in rows.schema.names)
    ranked = (
        f"SELECT *, rank() OVER (PARTITION BY {by} ORDER BY {falling}) AS {_RANK}, "
        f"row_number() OVER (PARTITION BY {by}, to_json(struct({every}), {EXACT_JSON}) "
        f"ORDER BY {falling}) AS {_COPY} FROM ({rows.made_sql})"
    )
    joined, known, older, newer = f"({ranked}) m", "false", "false", "false"
    stored = _stored_rows(rows, entity, table)
    if stored:
        same = " AND ".join(f"{value} = t.{_target_key(n)}" for n, value in enumerate(keys))
        joined += f" LEFT JOIN ({stored}) t ON {same}"
        mine = _as_order([value for _, value in _sequence(rows, entity)])
        known = f"coalesce(t.{_KNOWN}, false)"
        older = f"{known} AND {mine} < t.{_SEEN}"
        newer = f"{known} AND {mine} > t.{_SEEN}" if events.valid_from else "false"
    no_key = " OR ".join(f"{each} IS NULL" for each in keys)
    no_order = " OR ".join(f"{value} IS NULL" for _, value in _sequence(rows, entity)) or "false"
    why = (
        f"CASE WHEN {ignored} THEN 'ignored' WHEN {no_order} THEN '{_NO_ORDER}' "
        f"WHEN {no_key} THEN NULL WHEN {_RANK} > 1 OR {_COPY} > 1 THEN 'superseded' "
        f"WHEN {older} THEN 'stale' WHEN {newer} THEN '{_TIED}' END"
    )
    made = f"SELECT m.*, {why} AS {OUT}, {known} AS {_KNOWN} FROM {joined}"
    return replace(rows, made_sql=made, is_labelled=True)


def _key_values(rows: SliceRows, entity: Entity) -> Iterator[tuple[str, str]]:
    """Return the columns that identify an event's target in the table, with SQL for its values."""
    for name in entity.business_keys:
        if column := rows.find(name):
            yield quoted(column.final), column.value(tries=True)
    valid = rows.find(entity.settings.events.valid_from)
    if valid is not None:
        yield quoted(entity.system.valid_from), as_instant(valid)


def as_instant(column: StagedColumn) -> str:
    """Return SQL for the time of an event."""
    return f"try_cast({column.value(tries=True)} AS TIMESTAMP)"


def _sequence(rows: SliceRows, entity: Entity) -> Iterator[tuple[str, str]]:
    for name in entity.settings.events.sequence_by:
        if column := rows.find(name):
            yield column.final, column.value(tries=True)


def _order(rows: SliceRows, entity: Entity) -> Iterator[str]:
    """Return what orders the events of a key in a slice; a change feed continues the sequence."""
    yield from (value for _, value in _sequence(rows, entity))
    if entity.settings.events.change_feed:
        yield quoted(CHANGE_VERSION)
        yield f"CAST({quoted(CHANGE)} <> 'delete' AS INT)"  # of one commit the delete comes first


def _stored_rows(rows: SliceRows, entity: Entity, table: Schema | None) -> str:
    """Return the stored events of the keys of a slice; "" if the table has no order of them."""
    types = {column.final.lower(): column.type for column in rows.columns}
    names = entity.settings.events.sequence_by
    if table is None or not names or entity.process is ProcessType.FULL:
        return ""
    keys = [name for name, _ in _key_values(rows, entity)]
    if any(table.find(name.strip("`")) is None for name in keys):
        return ""
    order = []
    for name in names:
        kind = sql_type(parse_type(types[name.lower()]))
        held = quoted(name) if table.find(name) else "NULL"
        order.append(f"CAST({held} AS {kind})")
    conditions = []
    if entity.process is ProcessType.HISTORIC and not entity.settings.events.valid_from:
        conditions.append(f"{quoted(entity.system.is_current)} = true")
    if entity.scope is not None:
        conditions.append(f"{quoted(entity.scope.column)} <=> {entity.scope.literal}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    chosen = [f"{key} AS {_target_key(number)}" for number, key in enumerate(keys)]
    chosen += [f"{_as_order(order)} AS {_SEEN}", f"true AS {_KNOWN}"]
    # only the keys of the slice go through the join below: the table's rows need not be shuffled
    values = [value for _, value in _key_values(rows, entity)]
    mine = ", ".join(f"{value} AS {_slice_key(number)}" for number, value in enumerate(values))
    same = " AND ".join(f"{key} = {_slice_key(number)}" for number, key in enumerate(keys))
    known = f"LEFT SEMI JOIN (SELECT {mine} FROM ({rows.made_sql})) ON {same}"
    return f"SELECT {', '.join(chosen)} FROM {quoted(TARGET_VIEW)} {known}{where}"


def _as_order(values: list[str]) -> str:
    """Return SQL for values that are compared one after the other; both sides name them alike."""
    named = ", ".join(f"'s{number}', {value}" for number, value in enumerate(values))
    return f"named_struct({named})"


def _slice_key(number: int) -> str:
    return quoted(f"{ENGINE_PREFIX}s{number}")


def _target_key(number: int) -> str:
    return quoted(f"{ENGINE_PREFIX}t{number}")


def label_counts(rows: SliceRows, entity: Entity) -> dict[str, str]:
    """Return the aggregates over all rows of a slice, with those that do not count."""
    if not rows.is_labelled:
        return {}
    words = (*LABELS, _NO_ORDER, _TIED)
    found = {word: f"count_if({OUT} = '{word}')" for word in words}
    flag = rows.find(entity.system.deleted)
    deletes = flag.value(tries=True) if flag is not None else "false"
    found[TOMBSTONES] = f"count_if({OUT} IS NULL AND {deletes} AND NOT {_KNOWN})"
    return found


def event_counts(row: Row, entity: Entity) -> dict[str, int]:
    """Return the counts of events, for the summary of a step."""
    events = entity.settings.events
    if not events.labels_rows:
        return {}
    words = ["ignored"] if ignore_condition(entity) else []
    words += ["superseded"] if events.is_ordered else []
    words += ["stale"] if events.sequence_by and entity.process is not ProcessType.FULL else []
    return {word: int(row.get(word) or 0) for word in words}


def event_rules(rows: SliceRows, entity: Entity, slice_name: str) -> Iterator[Rule]:
    """Return the rules for the order of events."""
    events = entity.settings.events
    if not rows.is_labelled or not events.sequence_by:
        return
    keys = [value for _, value in _key_values(rows, entity)][: len(entity.business_keys)]
    names = ", ".join(
        f"{v} AS {quoted(n)}" for v, n in zip(keys, entity.business_keys, strict=True)
    )
    shown, some = shown_key(entity.business_keys), "(e.g. {samples})"

    def samples(word: str) -> str:
        held = f"SELECT {names} FROM {quoted(MADE_VIEW)} WHERE {OUT} = '{word}'"
        return f"SELECT {shown} FROM ({held}) ORDER BY 1 LIMIT 5"

    by = ", ".join(events.sequence_by)
    yield Rule(
        _NO_ORDER,
        "null-sequence",
        f"{{count}} rows of slice {slice_name} of {entity.model} have NULL in {by}, which orders "
        f"events {some}",
        "fill it with an expression, or leave the rows out with ignore_when",
        samples(_NO_ORDER),
    )
    yield Rule(
        _TIED,
        "tied-versions",
        f"{{count}} events of slice {slice_name} of {entity.model} are later than a stored one and "
        f"start at the same {events.valid_from} {some}",
        "take a finer time for valid_from, or make it part of the key",
        samples(_TIED),
    )
