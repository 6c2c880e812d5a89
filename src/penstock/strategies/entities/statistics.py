"""The counts of a slice before a step begins, and what the slice must not contain."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from penstock.core.columns.schema import Column
from penstock.core.columns.typed import TypedValue, is_watermark_type
from penstock.core.columns.types import parse_type, sql_type
from penstock.core.entities.entity import Entity
from penstock.core.errors import IncrementalConfigError, UsageError
from penstock.core.names import literal, quoted
from penstock.core.statement import Row, Rule, Stage
from penstock.strategies.build import ANSI, listed, shown_key
from penstock.strategies.entities.events import (
    TOMBSTONES,
    event_counts,
    event_rules,
    label_counts,
)
from penstock.strategies.entities.rows import MADE_VIEW, SliceRows, StagedColumn
from penstock.strategies.entities.steps import needs_keeping

MOST_TUPLES = 1000
_FEW_BYTES = 32 * 1024 * 1024
_COPIES = "`__penstock_n`"


@dataclass(frozen=True, slots=True)
class SliceCounts:
    """The counts of a slice: rows, deleted rows, and the bounds of some columns.

    `highs` are the greatest values of watermark columns, as the entity spells them, `nulls` how
    many rows have none. `bounds` are the bounds of key columns, if the type has literals. `tuples`
    are the partitions of the slice, as SQL; None if there are too many, then `ranges` has the
    bounds of each column. Of the deletes, `tombstones` are those of keys that the table lacks, and
    `events` are the counts of rows that do not count, by reason; `records` those of records that
    do not fit.
    """

    rows: int
    flagged: int = 0
    highs: Mapping[str, TypedValue] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)
    bounds: Mapping[str, tuple[TypedValue, TypedValue]] = field(default_factory=dict)
    tuples: tuple[tuple[str, ...], ...] | None = ()
    ranges: tuple[tuple[str, str], ...] = ()
    tombstones: int = 0
    events: Mapping[str, int] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return warnings about rows without a watermark value."""
        return tuple(
            f"null-watermark: {count} rows have NULL in watermark column {column!r}"
            for column, count in self.nulls.items()
            if count
        )


def count_stage(entity: Entity, rows: SliceRows, slice_name: str, size: int | None = None) -> Stage:
    """Return the one action before `begin`, which counts the rows of steps 1 and 2, and its rules.

    The rows are kept only if counting must compute them, so that they are not computed twice. A
    small slice is counted by one task, without a shuffle.
    """
    rules = (*_key_rules(entity, rows, slice_name), *_cast_rules(entity, rows))
    rules += (*event_rules(rows, entity, slice_name),)
    look = _aggregates_sql(entity, rows, at_once=size is not None and size <= _FEW_BYTES)
    kept = needs_keeping(rows, entity)
    return Stage(MADE_VIEW, rows.made_sql, look, rules, confs=ANSI, is_kept=kept)


def _key_columns(entity: Entity, rows: SliceRows) -> list[StagedColumn]:
    return [each for name in entity.business_keys if (each := rows.find(name)) is not None]


def _partition_columns(entity: Entity, rows: SliceRows) -> list[StagedColumn]:
    return [each for name in entity.partition_columns if (each := rows.find(name)) is not None]


def _watermark_columns(entity: Entity, rows: SliceRows) -> list[StagedColumn]:
    names = dict.fromkeys(each.column.lower() for each in entity.watermark)
    return [each for name in names if (each := rows.find(name)) is not None]


def _fallible_casts(rows: SliceRows) -> list[StagedColumn]:
    return [each for each in rows.columns if each.is_fallible]


def _cast_fails(column: StagedColumn) -> str:
    return f"({quoted(column.name)} IS NOT NULL AND {column.as_wanted} IS NULL)"


def _aggregates_sql(entity: Entity, rows: SliceRows, *, at_once: bool) -> str:
    """Return SQL with two levels of aggregates: per key, then over keys; without keys over rows."""
    keys, by_key = _key_columns(entity, rows), []
    over = {"rows": f"coalesce(sum({_COPIES}), 0)", "flagged": "coalesce(sum(`flagged`), 0)"}
    inner = {
        _COPIES: "count(*)" if keys else "1",
        "`flagged`": _count_sql(quoted(entity.system.deleted), many=bool(keys)),
    }
    if keys:
        no_null = " AND ".join(f"{quoted(each.final)} IS NOT NULL" for each in keys)
        over["copied"] = f"count_if({_COPIES} > 1 AND {no_null})"
        by_key += _version_time(entity, rows)
    for number, each in enumerate(keys):
        name = quoted(each.final)
        by_key.append(name)
        over[f"null_{number}"] = f"coalesce(sum(CASE WHEN {name} IS NULL THEN {_COPIES} END), 0)"
        if is_watermark_type(each.type):
            over[f"low_{number}"] = f"CAST(min({name}) AS STRING)"
            over[f"high_{number}"] = f"CAST(max({name}) AS STRING)"
    over |= _watermark_counts(entity, rows, inner)
    more = []
    for number, each in enumerate(_fallible_casts(rows)):
        more.append(f"{_cast_fails(each)} AS `f_{number}`")
        inner[f"`f_{number}`"] = _count_sql(f"`f_{number}`", many=bool(keys))
        over[f"failed_{number}"] = f"coalesce(sum(`f_{number}`), 0)"
    over |= _partition_counts(entity, rows, inner)
    where = f" WHERE {rows.where}" if rows.where else ""
    chosen = ", ".join((*by_key, *(f"{sql} AS {name}" for name, sql in inner.items())))
    grouped = f" GROUP BY {', '.join(by_key)}" if by_key else ""
    asked = ", ".join(f"{sql} AS `{name}`" for name, sql in over.items())
    source = f"({rows.typed(tries=True, more=more)})"
    source = f"(SELECT /*+ COALESCE(1) */ * FROM {source})" if at_once else source
    sql = f"SELECT {asked} FROM (SELECT {chosen} FROM {source}{where}{grouped})"
    labels = ", ".join(f"{one} AS `{name}`" for name, one in label_counts(rows, entity).items())
    if not labels:
        return sql
    return f"SELECT * FROM ({sql}) CROSS JOIN (SELECT {labels} FROM {quoted(MADE_VIEW)})"


def _watermark_counts(entity: Entity, rows: SliceRows, inner: dict[str, str]) -> dict[str, str]:
    """Return SQL for the greatest values of watermark columns, and the rows without one."""
    asked, many = {}, bool(_key_columns(entity, rows))
    for number, each in enumerate(_watermark_columns(entity, rows)):
        name = quoted(each.final)
        inner[f"`w_{number}`"] = f"max({name})" if many else name
        inner[f"`v_{number}`"] = _count_sql(f"{name} IS NULL", many=many)
        asked[f"top_{number}"] = f"CAST(max(`w_{number}`) AS STRING)"
        asked[f"empty_{number}"] = f"coalesce(sum(`v_{number}`), 0)"
    return asked


def _version_time(entity: Entity, rows: SliceRows) -> list[str]:
    """Return the column that tells events of a key apart, in a history that places them in time."""
    column = rows.find(entity.settings.events.valid_from)
    return [quoted(column.final)] if column is not None else []


def _count_sql(condition: str, *, many: bool) -> str:
    return f"count_if({condition})" if many else f"CAST({condition} AS INT)"


def _partition_counts(entity: Entity, rows: SliceRows, inner: dict[str, str]) -> dict[str, str]:
    """Return SQL for the partitions; for a unique key, any of its rows has the partition."""
    partitions = _partition_columns(entity, rows)
    keys = {k.final.lower() for k in _key_columns(entity, rows)}
    if not partitions:
        return {}
    names = []
    for number, each in enumerate(partitions):
        name = quoted(each.final)
        if each.final.lower() not in keys:
            inner[f"`p_{number}`"] = f"any_value({name})" if keys else name
            name = f"`p_{number}`"
        names.append(name)
    texts = ", ".join(f"CAST({name} AS STRING)" for name in names)
    found = f"collect_set(array({texts}))"
    asked = {"tuples": f"CASE WHEN size({found}) <= {MOST_TUPLES} THEN to_json({found}) END"}
    for number, name in enumerate(names):
        asked[f"from_{number}"] = f"CAST(min({name}) AS STRING)"
        asked[f"to_{number}"] = f"CAST(max({name}) AS STRING)"
    return asked


def _key_rules(entity: Entity, rows: SliceRows, slice_name: str) -> Iterator[Rule]:
    keys = _key_columns(entity, rows)
    if not keys:
        return
    names = tuple(each.final for each in keys)
    where = f" WHERE {rows.where}" if rows.where else ""
    source = f"FROM ({rows.typed(tries=True)}){where}"
    by = ", ".join((listed(names), *_version_time(entity, rows)))
    no_null = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in names)
    yield Rule(
        "copied",
        "duplicate-keys",
        f"{{count}} business keys occur more than once in slice {slice_name} of {entity.model} "
        "(e.g. {samples})",
        "deduplicate in transformations or add a key column",
        f"SELECT concat({shown_key(names)}, ' ×', count(*)) {source} GROUP BY {by} "
        f"HAVING count(*) > 1 AND {no_null} ORDER BY {by} LIMIT 5",
    )
    for number, name in enumerate(names):
        yield Rule(
            f"null_{number}",
            "null-key",
            f'{{count}} rows have NULL in business key "{name}"',
            "make it a calculated column with coalesce",
        )


def _cast_rules(entity: Entity, rows: SliceRows) -> Iterator[Rule]:
    del entity
    for number, each in enumerate(_fallible_casts(rows)):
        shown = f"concat('\\'', CAST({quoted(each.name)} AS STRING), '\\'')"
        yield Rule(
            f"failed_{number}",
            "cast-failed",
            f'{{count}} values of "{each.name}" cannot be cast to {each.want.upper()} '
            "(e.g. {samples})",
            "convert them with an expression",
            f"SELECT {shown} FROM {quoted(MADE_VIEW)} WHERE {_cast_fails(each)} ORDER BY 1 LIMIT 5",
        )


def read_counts(entity: Entity, rows: SliceRows, row: Row) -> SliceCounts:
    """Return the counts in a row of measured values; raise `watermark-type`."""
    highs, nulls, bounds = {}, {}, {}
    spelled = {each.column.lower(): each.column for each in reversed(entity.watermark)}
    for number, each in enumerate(_watermark_columns(entity, rows)):
        name = spelled[each.final.lower()]
        nulls[name] = int(row[f"empty_{number}"] or 0)
        if (top := row[f"top_{number}"]) is not None:
            highs[name] = TypedValue.parse(each.type, str(top))
    for number, each in enumerate(_key_columns(entity, rows)):
        ends = [_typed_bound(each.type, row.get(f"{end}_{number}")) for end in ("low", "high")]
        if ends[0] is not None and ends[1] is not None:
            bounds[each.final] = (ends[0], ends[1])
    found = SliceCounts(int(row["rows"] or 0), int(row["flagged"] or 0), highs, nulls, bounds)
    lost, events = int(row.get(TOMBSTONES) or 0), event_counts(row, entity)
    found = replace(found, tombstones=lost, events=events)
    return _with_partitions(entity, rows, row, found)


def _typed_bound(kind: str, text: object) -> TypedValue | None:
    try:
        return None if text is None else TypedValue.parse(kind, str(text))
    except UsageError:  # a year that Python does not know
        return None


def _with_partitions(entity: Entity, rows: SliceRows, row: Row, counts: SliceCounts) -> SliceCounts:
    partitions = _partition_columns(entity, rows)
    if not partitions or not counts.rows:
        return counts
    ranges = tuple(
        (_partition_literal(each, row[f"from_{n}"]), _partition_literal(each, row[f"to_{n}"]))
        for n, each in enumerate(partitions)
    )
    held = row["tuples"]
    if held is None:
        return replace(counts, tuples=None, ranges=ranges)
    values = sorted(json.loads(str(held)), key=lambda each: [(t is None, t or "") for t in each])
    tuples = (
        tuple(_partition_literal(each, text) for each, text in zip(partitions, texts, strict=True))
        for texts in values
    )
    return replace(counts, tuples=tuple(tuples), ranges=ranges)


def _partition_literal(column: StagedColumn, text: object) -> str:
    """Return a value of a partition column as typed SQL."""
    if text is None:
        return f"CAST(NULL AS {sql_type(parse_type(column.type))})"
    if is_watermark_type(column.type) and (value := _typed_bound(column.type, text)) is not None:
        return value.sql
    return f"CAST({literal(str(text))} AS {sql_type(parse_type(column.type))})"


def check_watermarks(entity: Entity, rows: SliceRows) -> None:
    """Raise `watermark-type` for a column whose values cannot be a watermark."""
    for each in _watermark_columns(entity, rows):
        if not is_watermark_type(each.type):
            raise IncrementalConfigError(
                "watermark-type",
                f"watermark column {each.final!r} of {entity.model} is {each.type.upper()}",
                where=entity.where,
                hint="DATE, TIMESTAMP, TIMESTAMP_NTZ, integers, DECIMAL and STRING can be one",
            )


def columns_of(entity: Entity, rows: SliceRows) -> tuple[Column, ...]:
    """Return the key and partition columns, each once."""
    both = [*_key_columns(entity, rows), *_partition_columns(entity, rows)]
    return tuple({each.final.lower(): Column(each.final, each.type) for each in both}.values())
