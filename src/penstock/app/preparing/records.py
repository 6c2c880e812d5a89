"""Bind the records of a slice, so that its rows have the types of its entity."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from penstock.app.preparing.statements import require_rules
from penstock.core.columns.schema import Schema
from penstock.core.entities.entity import Entity
from penstock.core.errors import DataError, QueryError, TableError
from penstock.core.facts import TableFacts
from penstock.core.names import InputName, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.steps.inputs import (
    FEED_COLUMNS,
    CatalogRead,
    DeltaPin,
    DeltaRead,
    FilesRead,
    QueryRead,
    Read,
    Relation,
)
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.entities.records import (
    BAD_RECORDS,
    RAW_VIEW,
    RawColumn,
    bad_sql,
    pin_of,
    pinned_types,
    raw_columns,
    raw_schema,
    read_options,
    read_stage,
    record_counts,
    slice_sql,
    unknown_notes,
)
from penstock.strategies.entities.rows import SLICE_VIEW

_WHOLE_VIEW = "penstock_bronze"
_FOUND_VIEW, _INFERRED_VIEW = "penstock_found_columns", "penstock_inferred_columns"
Explaining = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class BoundRecords:
    """What is known of a slice's records once they were read.

    `bad_sql` returns those that are to be kept beside the table, "" if there are none; `properties`
    are what a new table says of their types.
    """

    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    bad_sql: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


def bind_records(
    session: StepSession,
    entity: Entity,
    read: tuple[InputName, Read],
    facts: TableFacts | None,
    explaining: Explaining,
) -> BoundRecords:
    """Bind the rows of a slice as `penstock_slice`; records that do not fit are left out of them.

    `facts` are those of the table that the step builds on. Raises `bad-records`, if they may not
    be there.
    """
    (name, source), reading = read, entity.settings.reading
    if reading.is_plain or isinstance(source, CatalogRead):
        with explaining():
            session.bind([Relation(name, SLICE_VIEW, source)])
        return BoundRecords()
    with explaining():
        columns = _bind_raw(session, entity, name, source, facts)
        stage = read_stage(entity, columns, name.name)
        seen = session.stage(stage)
    require_rules(session, stage, seen, entity.where)
    session.define(SLICE_VIEW, slice_sql(entity, columns))
    counts = record_counts(entity, seen)
    keeps = entity.keeps_bad_records and counts[BAD_RECORDS]
    return BoundRecords(
        tuple(unknown_notes(entity, columns)),
        counts,
        bad_sql(entity, columns, name.name) if keeps else "",
        pin_of(entity, columns),
    )


def _bind_raw(
    session: StepSession,
    entity: Entity,
    name: InputName,
    source: Read,
    facts: TableFacts | None,
) -> tuple[RawColumn, ...]:
    """Find the columns of the files, and bind their records with the types to read."""
    reading, inferred, pinned = entity.settings.reading, Schema(), None
    if not isinstance(source, FilesRead):
        found = session.bind([Relation(name, RAW_VIEW, source)])[RAW_VIEW]
        return raw_columns(entity, found, inferred, pinned)
    merges = {} if source.files[1:] else {"mergeSchema"}
    options = {k: v for k, v in read_options(reading).items() if k not in merges}
    source = replace(source, options=options)
    found = session.bind([Relation(name, _FOUND_VIEW, source)])[_FOUND_VIEW]
    if reading.infer and facts is not None:
        pinned = pinned_types(entity, facts.properties, facts.schema)
    elif reading.infer:
        types = {"inferSchema": "true", "primitivesAsString": "false"}
        typed = replace(source, options={**options, **types})
        inferred = session.bind([Relation(name, _INFERRED_VIEW, typed)])[_INFERRED_VIEW]
    columns = raw_columns(entity, found, inferred, pinned)
    if not reading.format.is_typed:
        options = read_options(reading, found)
        source = replace(source, options=options, schema=raw_schema(reading, columns))
    session.bind([Relation(name, RAW_VIEW, source)])
    return columns


def changes_read(
    session: StepSession,
    entity: Entity,
    read: tuple[InputName, Read],
    pins: tuple[DeltaPin | None, DeltaPin | None],
    time_of: Callable[[str, int], dt.datetime],
) -> Read:
    """Return how to read the changes of a table between two versions.

    Without an earlier version, every row counts as inserted by the version that is read. Raises
    `change-feed-lost` if the table was replaced, or does not keep its changes.
    """
    (name, source), (before, now) = read, pins
    if not isinstance(source, DeltaRead) or source.version is None or now is None:
        what = f"the bronze of {entity.model}, {name.name}, is not a Delta table"
        hint = "point bronze at one, or take change_feed out"
        raise TableError("change-feed-lost", what, where=entity.where, hint=hint)
    if before is None:
        session.bind([Relation(name, _WHOLE_VIEW, source)])
        at = instant_literal(time_of(source.uri, source.version))
        values = ("'insert'", f"CAST({source.version} AS BIGINT)", at)
        added = ", ".join(f"{v} AS {quoted(n)}" for v, n in zip(values, FEED_COLUMNS, strict=True))
        return QueryRead(f"SELECT *, {added} FROM {quoted(_WHOLE_VIEW)}")
    changes, cause = replace(source, changes_since=before.version), None
    why = "it is another table now" if before.table_id != now.table_id else ""
    try:
        if not why:
            session.bind([Relation(name, _WHOLE_VIEW, changes)])
            session.rows(f"SELECT 1 FROM {quoted(_WHOLE_VIEW)} LIMIT 1")  # only now they are found
    except (TableError, QueryError, DataError) as error:
        why, cause = error.sentence, error
    if why:
        raise TableError(
            "change-feed-lost",
            f"the changes of {name.name} since version {before.version} cannot be read: {why}",
            where=entity.where,
            hint="set delta.enableChangeDataFeed on it, then read it whole once: "
            f"penstock run --select {entity.model} --full-refresh",
        ) from cause
    return QueryRead(f"SELECT * FROM {quoted(_WHOLE_VIEW)}")
