"""The work of an entity's step after its slice was counted: full, merge or historic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from types import MappingProxyType

from penstock.core.columns.schema import Schema
from penstock.core.entities.entity import Entity, ProcessType
from penstock.core.history import (
    ENGINE_PREFIX,
    HardDeletes,
    HashDiffers,
    HistorySettings,
    NewerThan,
    SystemColumns,
)
from penstock.core.names import quoted
from penstock.core.statement import QUERY_VIEW, Commit, Row, Work
from penstock.strategies.build import create, listed, properties_sql
from penstock.strategies.entities.merging import merge
from penstock.strategies.entities.metrics import counts_before, mismatches, step_metrics
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.entities.rows import SliceRows
from penstock.strategies.entities.target import PROPERTY, EntityStep, property_of
from penstock.strategies.history.snapshot import history
from penstock.strategies.history.terms import Terms

# The hash of many columns is a method that the JVM is too slow with, or does not compile at all.
_INTERPRETED = {"spark.sql.codegen.hugeMethodLimit": "8000"}
_DYNAMIC = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}


def query_of(entity: Entity, rows: SliceRows) -> str:
    """Return the query behind `penstock_query`; an engine adds its interval."""
    return rows.sql(but=_interval_columns(entity))


def _interval_columns(entity: Entity) -> tuple[str, ...]:
    if entity.process is not ProcessType.HISTORIC:
        return ()
    return (entity.system.valid_from, entity.system.valid_to, entity.system.is_current)


def work_of(step: EntityStep) -> Work:
    """Return the statements of a step, which depend on the counts of its slice."""
    history = step.build.history
    properties = {PROPERTY: property_of(step.entity), **step.properties}
    properties |= history.properties if history else {}
    match step.process:
        case _ if step.anew:
            work = replace_own(step)
        case ProcessType.FULL:
            work = full(step, properties)
        case ProcessType.MERGE:
            work = merge(step, properties)
        case ProcessType.HISTORIC:
            return _count(step, _compile(_commit(step, historic(step, properties))))
    names = listed(step.build.query.names)
    rows = f"SELECT {names} FROM {quoted(QUERY_VIEW)}"
    is_first = step.build.table is None and not step.keeps_tombstones
    if step.process is ProcessType.MERGE and is_first:
        rows += f" WHERE NOT {quoted(step.entity.system.deleted)}"  # these are never inserted
    work = _count(step, _compile(_commit(step, work)))
    return replace(work, rows=lambda _: rows, fed_by=QUERY_VIEW)


def _commit(step: EntityStep, work: Work) -> Work:
    """Make a commit without changes, if a step without one would not be recorded."""
    if not step.commits:
        return work
    said = properties_sql({PROPERTY: property_of(step.entity)})
    alone = Commit(f"ALTER TABLE {step.build.target} SET TBLPROPERTIES ({said})", once=False)
    return replace(work, decide=lambda seen: work.decide(seen) or alone)


def _count(step: EntityStep, work: Work) -> Work:
    """Add the counts to the token, or to the result of a step without a commit."""
    known = counts_before(step)

    def decide(row: Row) -> Commit | None:
        found = work.decide(row)
        metrics = {**known, **work.counts(row), **(found.metrics if found else {})}
        return found and replace(found, metrics=metrics, breaches=partial(mismatches, step))

    def counts(row: Row) -> Mapping[str, int]:
        metrics = {**known, **work.counts(row)}
        if work.decide(row) is None:
            metrics |= step_metrics(step.process, metrics)
        return metrics

    again = _count(step, work.again) if work.again else None
    return replace(work, decide=decide, counts=counts, again=again)


def _compile(work: Work) -> Work:
    """Limit the compilation of statements with hashes to what is fast."""

    def decide(row: Row) -> Commit | None:
        found = work.decide(row)
        return found and replace(found, confs={**found.confs, **_INTERPRETED})

    stages = tuple(replace(each, confs={**each.confs, **_INTERPRETED}) for each in work.stages)
    again = _compile(work.again) if work.again else None
    return replace(work, stages=stages, decide=decide, again=again)


def full(step: EntityStep, properties: Mapping[str, str]) -> Work:
    """Replace the partitions of the slice; without partitions the whole table."""
    build, table = step.build, step.build.table
    by_partition = bool(step.entity.partition_columns)
    empties = step.entity.settings.allow_empty and not by_partition
    if table is not None and not step.counts.rows and not empties:
        return Work.just(None)
    rows = f"SELECT {_all_columns(step)} FROM {quoted(QUERY_VIEW)}"
    if table is None or not by_partition:
        return Work.just(create(build, rows, properties))
    evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
    sql = f"INSERT {evolution}OVERWRITE {build.target} BY NAME {rows}"
    return Work.just(Commit(sql, _DYNAMIC))


def replace_own(step: EntityStep) -> Work:
    """Replace an entity's rows by those of its slice, in a shared table."""
    system, live, made = step.entity.system, "", {}
    if step.process is ProcessType.MERGE and not step.keeps_tombstones:
        live = f" WHERE NOT {quoted(system.deleted)}"
    if step.process is ProcessType.HISTORIC:
        ends = _interval_of(step)
        made = dict(zip(_interval_columns(step.entity), ends, strict=True))
    evolution = "WITH SCHEMA EVOLUTION " if step.build.evolves else ""
    return Work.just(
        Commit(
            f"INSERT {evolution}INTO {step.build.target} BY NAME REPLACE WHERE {step.is_own()[0]} "
            f"SELECT {_all_columns(step, made)} FROM {quoted(QUERY_VIEW)}{live}"
        )
    )


def _interval_of(step: EntityStep) -> tuple[str, str, str]:
    """Return SQL for the interval of a row, if the table holds no other version of it."""
    valid_from = step.entity.settings.events.valid_from
    if not valid_from:
        return instant_literal(step.moment), "CAST(NULL AS TIMESTAMP)", "true"
    start, keys = f"CAST({quoted(valid_from)} AS TIMESTAMP)", listed(step.entity.business_keys)
    after = f"lead({start}) OVER (PARTITION BY {keys} ORDER BY {start})"
    return start, after, f"{after} IS NULL"


def _all_columns(step: EntityStep, computed: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the columns in the table's order, missing ones as NULL, new ones last.

    Columns in `made` have their SQL there.
    """
    gone, known = ({column.name: column for column in step.rows.lost}, step.build.table or Schema())
    new = (name for name in step.build.query.names if known.find(name) is None)
    return ", ".join(
        f"CAST(NULL AS {gone[name].type}) AS {quoted(name)}"
        if name in gone
        else f"{computed[name]} AS {quoted(name)}"
        if name in computed
        else quoted(name)
        for name in (*known.names, *new)
    )


def historic(step: EntityStep, properties: Mapping[str, str]) -> Work:
    """Keep every version, with the code of history tables."""
    if not step.counts.rows and step.build.table is not None and step.windows is None:
        return Work.just(None)
    return history(step.build, terms_of(step), properties)


def settings_of(entity: Entity, *, infers: bool) -> HistorySettings:
    """Return the history settings of an entity; in a shared table, keys include the scope."""
    keys, scope, system = entity.business_keys, entity.scope, entity.system
    valid_from = entity.settings.events.valid_from
    if scope is not None and scope.column.lower() not in {key.lower() for key in keys}:
        keys = (*keys, scope.column)
    nowhere = (f"{ENGINE_PREFIX}is_deleted", f"{ENGINE_PREFIX}row_hash")  # the entity has its own
    return HistorySettings(
        keys=keys,
        change=NewerThan(valid_from) if valid_from else HashDiffers(system.source_hash),
        event_time=bool(valid_from),
        hard_deletes=HardDeletes.INVALIDATE if infers else HardDeletes.IGNORE,
        allow_empty=True,
        retention=entity.settings.retention,
        columns=SystemColumns(system.valid_from, system.valid_to, system.is_current, *nowhere),
        by_current=entity.settings.layout == "current",
    )


def terms_of(step: EntityStep) -> Terms:
    """Return the terms of one run; a closed version is marked like a row of a merge."""
    entity, windows = step.entity, step.windows
    settings = settings_of(entity, infers=windows is not None)
    given = {each.name: getattr(settings, each.name) for each in fields(HistorySettings)}
    sets = (entity.system.deleted, "true"), (entity.system.last_seen, instant_literal(step.moment))
    return Terms(
        **given,
        moment=step.moment,
        scope=_scope_condition(step) if windows is not None else "",
        missing_sets=sets if windows is not None else (),
        order=step.rows.stored.names,
    )


def _scope_condition(step: EntityStep) -> str:
    """Return the condition for rows that may count as deleted, without EXISTS."""
    if step.counts.tuples is not None or not step.counts.rows:
        return step.in_scope()
    names = ", ".join(quoted(name) for name in step.entity.partition_columns)
    held = f"(SELECT collect_set(struct({names})) FROM {quoted(QUERY_VIEW)})"
    return f"{step.in_scope()} AND array_contains({held}, struct({names}))"
