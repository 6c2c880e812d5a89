"""Merge a slice into its silver table: soft deletes, and inferred deletes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.core.columns.schema import Column, Schema
from penstock.core.entities.entity import LastSeen
from penstock.core.history import ENGINE_PREFIX
from penstock.core.names import quoted
from penstock.core.statement import (
    OBSERVED_ROWS,
    QUERY_VIEW,
    TARGET_VIEW,
    Commit,
    Feed,
    Row,
    Stage,
    Work,
)
from penstock.strategies.build import HASH_JOIN, create, listed
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.entities.target import EntityStep

FED_VIEW = "penstock_fed"
STAGE_VIEW = "penstock_stage"
INFERRED = "inferred_deleted"
# What Spark can derive of so many columns that are others by another name grows without end.
_UNDERIVED = {"spark.sql.constraintPropagation.enabled": "false"}
_FEW_ROWS = 50_000
"""Up to this number, rows are broadcast, so that the table's rows do not move."""
_OP = quoted(f"{ENGINE_PREFIX}op")
_NEW = quoted(f"{ENGINE_PREFIX}new")


def merge(step: EntityStep, properties: Mapping[str, str]) -> Work:
    """Keep one row per key; a step that may change nothing checks that first."""
    build, counts = step.build, step.counts
    deleted = quoted(step.entity.system.deleted)
    if build.table is None:
        live = "" if step.keeps_tombstones else f" WHERE NOT {deleted}"
        rows = f"SELECT {listed(build.query.names)} FROM {quoted(QUERY_VIEW)}{live}"
        return Work.just(create(build, rows, properties))
    if not counts.rows and step.windows is None:
        return Work.just(None)
    if not _writes_changes_alone(step) and counts.flagged < counts.rows:
        observed = {OBSERVED_ROWS: "count(*)", INFERRED: f"count_if({_OP} = 'infer')"}
        feed = Feed(FED_VIEW, _merge_source(step), observed, HASH_JOIN) if step.windows else None
        few = not feed and counts.rows <= _FEW_ROWS
        source = quoted(FED_VIEW) if feed else f"({_merge_source(step)})"
        return Work.just(_merge_commit(step, source, feed, few=few))
    stage = Stage(STAGE_VIEW, _changing_rows(step), _count_changes(), confs=HASH_JOIN)
    return Work((stage,), lambda seen: _commit_for(step, seen), _staged_counts)


def _writes_changes_alone(step: EntityStep) -> bool:
    return step.entity.settings.last_seen is LastSeen.ON_CHANGE


def _merge_source(step: EntityStep) -> str:
    """Return the rows of the slice, and with windows the missing keys, in one shape."""
    rows = f"SELECT {listed(_columns(step))}, 'slice' AS {_OP} FROM {quoted(QUERY_VIEW)}"
    return rows if step.windows is None else f"{rows} UNION ALL {_missing_keys(step)}"


def _missing_keys(step: EntityStep, more: str = "") -> str:
    """Return the missing keys as rows of the slice, with the columns `more`."""
    columns = [each for each in step.build.query.columns if each.name in _columns(step)]
    keys = {name.lower() for name in (*step.entity.business_keys, *step.entity.partition_columns)}
    gone = ", ".join(_target_value(each, is_known=each.name.lower() in keys) for each in columns)
    return (
        f"SELECT {gone}, 'infer' AS {_OP}{more} FROM {quoted(TARGET_VIEW)} t "
        f"WHERE {step.in_scope('t.')}{_in_partition(step)} "
        f"AND NOT EXISTS (SELECT 1 FROM {quoted(QUERY_VIEW)} s WHERE {_same_key(step)})"
    )


def _columns(step: EntityStep) -> tuple[str, ...]:
    """Return the columns to send; the last-seen time is in the statement instead.

    So Spark generates the same hash code for every slice.
    """
    seen = step.entity.system.last_seen.lower()
    return tuple(name for name in step.build.query.names if name.lower() != seen)


def _target_value(column: Column, *, is_known: bool) -> str:
    name = quoted(column.name)
    return f"CAST({f't.{name}' if is_known else 'NULL'} AS {column.type}) AS {name}"


def _in_partition(step: EntityStep) -> str:
    """Return the condition for a partition among the very many of the slice."""
    if step.counts.tuples is not None or not step.counts.rows:
        return ""
    same = (f"s.{quoted(n)} <=> t.{quoted(n)}" for n in step.entity.partition_columns)
    return f" AND EXISTS (SELECT 1 FROM {quoted(QUERY_VIEW)} s WHERE {' AND '.join(same)})"


def _same_key(step: EntityStep) -> str:
    """Compare keys, which are never NULL: counting fails the step before."""
    keys = step.entity.business_keys
    return " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in keys)


def _match_condition(step: EntityStep) -> str:
    terms = [_same_key(step), *step.is_own("t."), *step.pruning("t.")]
    if step.partition_is_known:
        names = step.entity.partition_columns
        terms += [f"t.{quoted(name)} <=> s.{quoted(name)}" for name in names]
    return " AND ".join(terms)


def _merge_commit(
    step: EntityStep, source: str, feed: Feed | None = None, *, few: bool = False
) -> Commit:
    evolution = "WITH SCHEMA EVOLUTION " if step.build.evolves else ""
    if few:
        source = f"(SELECT /*+ BROADCAST(fed) */ * FROM {source} fed)"
    return Commit(
        f"MERGE {evolution}INTO {step.build.target} t USING {source} s ON {_match_condition(step)} "
        + " ".join(_clauses(step)),
        {**HASH_JOIN, **_UNDERIVED},
        feed=feed,
        partitions=len(step.counts.tuples or ()) or None if step.partition_is_known else None,
    )


def _clauses(step: EntityStep) -> Iterator[str]:
    system, moment = step.entity.system, instant_literal(step.moment)
    deleted, seen = quoted(system.deleted), quoted(system.last_seen)
    latest = f"t.{seen} = greatest(t.{seen}, {moment})"
    # Unqualified: Delta does not find a new column in the target that it is added to.
    sets = [f"{quoted(name)} = s.{quoted(name)}" for name in _columns(step)]
    sets += [f"{quoted(each.name)} = NULL" for each in step.rows.lost]
    changed = f"({_differs(step, 's', 't')} OR coalesce(t.{deleted}, false))"
    values = ", ".join((listed(_columns(step), "s."), moment))
    insert = f"THEN INSERT ({listed((*_columns(step), system.last_seen))}) VALUES ({values})"
    changes_alone = _writes_changes_alone(step)
    order = [f"t.{quoted(n)} = s.{quoted(n)}" for n in step.entity.settings.events.sequence_by]
    marked = f"THEN UPDATE SET {', '.join((f't.{deleted} = true', *order, latest))}"
    only = "" if step.windows is None else f" AND s.{_OP} = 'slice'"
    if step.windows is not None:
        yield f"WHEN MATCHED AND s.{_OP} = 'infer' {marked}"
    if not step.counts.flagged:
        # Without conditions Delta reads no more of stored rows than the clauses do.
        sets = sets if changes_alone else [*_set_columns(step, changed)]
        yield f"WHEN MATCHED THEN UPDATE SET {', '.join(sets)}, {latest}"
        yield f"WHEN NOT MATCHED{only} {insert}"
        return
    was_live = f" AND NOT coalesce(t.{deleted}, false)" if changes_alone and not order else ""
    yield f"WHEN MATCHED AND s.{deleted}{was_live} {marked}"
    update = f"THEN UPDATE SET {', '.join(sets)}, {latest}"
    yield f"WHEN MATCHED AND NOT s.{deleted} AND {changed} {update}"
    if not changes_alone:
        yield f"WHEN MATCHED THEN UPDATE SET {latest}"
    yield f"WHEN NOT MATCHED{only}{'' if order else f' AND NOT s.{deleted}'} {insert}"


def _set_columns(step: EntityStep, changed: str) -> Iterator[str]:
    """Return the columns to set: rows with the same hash have the same values.

    Columns outside the hash keep their values then.
    """
    table, system = step.build.table or Schema(), step.entity.system
    unhashed = {system.filename.lower(), system.metadata.lower(), *step.entity.volatile}
    for name in _columns(step):
        value = f"s.{quoted(name)}"
        if name.lower() in unhashed:
            kept = f" ELSE t.{quoted(name)}" if table.find(name) else ""
            value = f"CASE WHEN {changed} THEN {value}{kept} END"
        yield f"{quoted(name)} = {value}"
    for each in step.rows.lost:
        yield f"{quoted(each.name)} = CASE WHEN NOT {changed} THEN t.{quoted(each.name)} END"


def _differs(step: EntityStep, left: str, right: str) -> str:
    hashed = quoted(step.entity.system.source_hash)
    return f"NOT ({right}.{hashed} <=> {left}.{hashed})"


def _changing_rows(step: EntityStep) -> str:
    """Return only those rows of `_merge_source` that will change the table.

    An inner join first matches stored rows with the keys of the slice: Spark can broadcast those,
    so the table's rows do not move (docs/decisions/0006-merge-in-two-looks.md).
    """
    entity, system, table = step.entity, step.entity.system, step.build.table or Schema()
    deleted, keys = quoted(system.deleted), _same_key(step)
    order = tuple(n for n in entity.settings.events.sequence_by if table.find(n))
    narrow = (*entity.business_keys, system.source_hash, system.deleted, *order)
    where = " AND ".join((*step.is_own("t."), *step.pruning("t."))) or "true"
    stored = (
        f"SELECT {listed(narrow, 't.')}, true AS {_NEW} FROM {quoted(TARGET_VIEW)} t JOIN "
        f"(SELECT {listed(entity.business_keys)} FROM {quoted(QUERY_VIEW)}) s ON {keys} "
        f"WHERE {where}"
    )
    was = f"coalesce(t.{deleted}, false)"
    matched, flagged = f"coalesce(t.{_NEW}, false)", f"coalesce(s.{deleted}, false)"
    reverted = f"({_differs(step, 's', 't')} OR {was})"
    changes_alone = _writes_changes_alone(step)
    of_live = f"({matched} AND NOT {was})" if changes_alone else matched
    if step.keeps_tombstones:  # a delete also tells which events come too late
        later = " OR ".join(f"NOT (s.{quoted(n)} <=> t.{quoted(n)})" for n in order) or "true"
        of_live = f"(NOT {matched} OR NOT {was} OR {later})" if changes_alone else "true"
    of_rows = f"(NOT {matched} OR {reverted})" if changes_alone else "true"
    hint = "/*+ BROADCAST(t) */ " if step.counts.rows <= _FEW_ROWS else ""
    rows = (
        f"SELECT {hint}{listed(_columns(step), 's.')}, 'slice' AS {_OP}, NOT {matched} AS {_NEW} "
        f"FROM {quoted(QUERY_VIEW)} s LEFT JOIN ({stored}) t ON {keys} "
        f"WHERE CASE WHEN {flagged} THEN {of_live} ELSE {of_rows} END"
    )
    return rows if step.windows is None else f"{rows} UNION ALL {_missing_keys(step, ', false')}"


def _count_changes() -> str:
    return (
        f"SELECT count(*) AS `fed`, count_if({_NEW}) AS `new`, "
        f"count_if({_OP} = 'infer') AS `{INFERRED}` FROM {quoted(STAGE_VIEW)}"
    )


def _commit_for(step: EntityStep, row: Row) -> Commit | None:
    if not row["fed"]:
        return _columns_commit(step)
    rows = f"(SELECT * EXCEPT ({_NEW}) FROM {quoted(STAGE_VIEW)})"
    return _merge_commit(step, rows, few=int(row["fed"] or 0) <= _FEW_ROWS)


def _columns_commit(step: EntityStep) -> Commit | None:
    """Add a slice's new columns even if none of its rows changes anything."""
    new = {name.lower() for name in step.rows.new}
    columns = [each for each in step.build.query.columns if each.name.lower() in new]
    if not columns:
        return None
    declared = ", ".join(f"{quoted(each.name)} {each.type}" for each in columns)
    return Commit(f"ALTER TABLE {step.build.target} ADD COLUMNS ({declared})", once=False)


def _staged_counts(row: Row) -> Mapping[str, int]:
    return {INFERRED: int(row[INFERRED] or 0)} if row else {}
