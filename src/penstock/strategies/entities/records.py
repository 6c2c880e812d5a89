"""Records of files as rows of a slice: typed, with what does not fit beside them.

Text formats are read as texts, which are converted here, so that a value of another type is known
with its text. Rows then look as if Parquet files had contained them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.core.columns.casts import castable
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import parse_type, sql_type
from penstock.core.entities.entity import Entity
from penstock.core.entities.reading import BadRecords, BronzeFormat, Reading
from penstock.core.history import ENGINE_PREFIX
from penstock.core.names import literal, quoted
from penstock.core.statement import EXACT_JSON, Row, Rule, Stage
from penstock.strategies.build import ANSI, listed

RAW_VIEW = "penstock_raw"
READ_VIEW = "penstock_read"
PINNED = "penstock.bronze_schema"
"""The property of a silver table with the inferred types of its slices' columns."""
CORRUPT = f"{ENGINE_PREFIX}corrupt"
BAD = f"{ENGINE_PREFIX}bad"
BAD_RECORDS, RESCUED = "bad_records", "rescued"
_SCALARS = frozenset(
    (
        *("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double"),
        *("date", "timestamp", "timestamp_ntz", "binary", "void"),
    )
)
_PATTERNS = {
    "date": "dateformat",
    "timestamp": "timestampformat",
    "timestamp_ntz": "timestampntzformat",
}


@dataclass(frozen=True, slots=True)
class RawColumn:
    """A column of the files: its type as read, and the type of its values in the slice.

    `want` is "" for a column that neither the entity nor an earlier slice knows.
    """

    name: str
    have: str
    want: str = ""

    @property
    def is_converted(self) -> bool:
        """Whether its values change their type, and may not fit."""
        return bool(self.want) and self.want != self.have


def is_scalar(kind: str) -> bool:
    """Return whether a type has one value, which a text can hold."""
    return kind in _SCALARS or kind.startswith("decimal")


def read_options(reading: Reading, columns: Schema | None = None) -> dict[str, str]:
    """Return Spark's options: without `columns` for finding the columns, with them for reading."""
    options = dict(reading.options)
    if reading.format is BronzeFormat.PARQUET:
        return {"mergeSchema": "true", **options}
    if not reading.format.is_typed:
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    if columns is None:
        return options | ({"primitivesAsString": "true"} if reading.format.names_columns else {})
    if reading.format is BronzeFormat.CSV:
        options["enforceSchema"] = "false"  # another order of columns in a file is an error
    return options


def raw_columns(
    entity: Entity, columns: Schema, inferred: Schema, pinned: Mapping[str, str] | None
) -> tuple[RawColumn, ...]:
    """Return the columns of the files in their order.

    `columns` are those as read, `inferred` those with the types that Spark infers, and `pinned`
    those that earlier slices had, None before the first slice.
    """
    reading = entity.settings.reading
    declared = {each.name.lower(): each for each in entity.columns if not each.is_calculated}
    columns = Schema(tuple(each for each in columns.columns if each.name != CORRUPT))
    if not columns.columns or (reading.format is BronzeFormat.CSV and not reading.has_header):
        names = [each.name for each in declared.values() if each.name]
        if names:
            columns = Schema(tuple(Column(name, "string") for name in names))
    if reading.format.names_columns:  # records leave out what is NULL, perhaps all of them
        absent = (each for each in declared.values() if columns.find(each.name) is None)
        named = [Column(each.name, "string") for each in absent if each.type or not reading.infer]
        columns = Schema((*columns.columns, *named))
    made = []
    for column in columns.columns:
        each, name = declared.get(column.name.lower()), column.name.lower()
        want = each.type if each else ""
        if reading.format.is_typed:
            usable = want and castable(parse_type(column.type), parse_type(want))
            known = each is not None or not reading.rescued
            made.append(
                RawColumn(column.name, column.type, want if usable else column.type * known)
            )
            continue
        if not want and reading.infer:
            guess = inferred.find(column.name)
            want = (pinned or {}).get(name, "") if pinned is not None else ""
            if pinned is None and guess is not None:
                want = "string" if guess.type == "void" else guess.type
        if not want and (each is not None or reading.format is BronzeFormat.TEXT):
            want = "string"
        have = "string" if not want or is_scalar(want) else want
        made.append(RawColumn(column.name, have, want))
    return tuple(made)


def raw_schema(reading: Reading, columns: tuple[RawColumn, ...]) -> str:
    """Return the schema to read files with, "" if they contain it."""
    if reading.format.is_typed or reading.format is BronzeFormat.TEXT:
        return ""
    names = [f"{quoted(each.name)} {sql_type(parse_type(each.have))}" for each in columns]
    return ", ".join((*names, f"{quoted(CORRUPT)} STRING"))


def pinned_types(entity: Entity, properties: Mapping[str, str], table: Schema) -> Mapping[str, str]:
    """Return the types that columns of earlier slices have, by name in lower case."""
    if written := properties.get(PINNED):
        return {str(name): str(kind) for name, kind in json.loads(written).items()}
    finals = {each.final_name.lower(): each.name.lower() for each in entity.columns if each.name}
    return {
        finals.get(column.name.lower(), column.name.lower()): column.type
        for column in table.columns
    }


def pin_of(entity: Entity, columns: tuple[RawColumn, ...]) -> dict[str, str]:
    """Return the table property that keeps the types of this slice; empty without inference."""
    if not entity.settings.reading.infer:
        return {}
    kinds = {each.name.lower(): each.want for each in columns if each.want}
    return {PINNED: json.dumps(kinds, sort_keys=True, ensure_ascii=False)}


def unknown_notes(entity: Entity, columns: tuple[RawColumn, ...]) -> Iterator[str]:
    """Return a warning about columns that are left out."""
    if entity.settings.reading.rescued:
        return
    for each in columns:
        if not each.want:
            why = "is in the slice and not under columns; it is left out"
            yield f"column-unknown: {each.name!r} {why}"


def _parsed(column: RawColumn, options: Mapping[str, str]) -> str:
    """Return SQL for a value of the wanted type, NULL if it does not fit."""
    name, kind = quoted(column.name), sql_type(parse_type(column.want))
    pattern = options.get(_PATTERNS.get(column.want, ""), "")
    if pattern and column.have == "string":
        return f"try_cast(try_to_timestamp({name}, {literal(pattern)}) AS {kind})"
    return f"try_cast({name} AS {kind})"


def _value(column: RawColumn) -> str:
    """Return the column with the converted value: it is computed once, and read three times."""
    return (
        quoted(f"{ENGINE_PREFIX}value_{column.name}")
        if column.is_converted
        else quoted(column.name)
    )


def _values(columns: tuple[RawColumn, ...], options: Mapping[str, str]) -> str:
    """Return the records with their converted values beside them."""
    made = (f"{_parsed(each, options)} AS {_value(each)}" for each in columns if each.is_converted)
    return f"(SELECT {', '.join(('*', *made))} FROM {quoted(RAW_VIEW)})"


def _misfit(column: RawColumn) -> str:
    return f"({quoted(column.name)} IS NOT NULL AND {_value(column)} IS NULL)"


def _as_text(column: RawColumn) -> str:
    name = quoted(column.name)
    return (
        f"CAST({name} AS STRING)"
        if is_scalar(column.have)
        else f"to_json(struct({name}), {EXACT_JSON})"
    )


def read_sql(entity: Entity, columns: tuple[RawColumn, ...]) -> str:
    """Return the rows with the types of the entity, and why a record is bad."""
    reading, options = entity.settings.reading, _folded(entity.settings.reading)
    chosen = [f"{_value(each)} AS {quoted(each.name)}" for each in columns if each.want]
    if reading.rescued:
        chosen.append(f"{_rescued(columns)} AS {quoted(reading.rescued)}")
    chosen.append(f"{_reason(entity, columns) or 'CAST(NULL AS STRING)'} AS {quoted(BAD)}")
    return f"SELECT {', '.join(chosen)} FROM {_values(columns, options)}"


def _folded(reading: Reading) -> dict[str, str]:
    return {key.lower(): value for key, value in reading.options.items()}


def _reason(entity: Entity, columns: tuple[RawColumn, ...]) -> str:
    """Return SQL for why a record is bad, NULL if it is not; "" if none can be."""
    reading = entity.settings.reading
    has_corrupt = bool(raw_schema(reading, columns))
    reasons = [f"WHEN {quoted(CORRUPT)} IS NOT NULL THEN 'it cannot be read'"] * has_corrupt
    for each in columns if not reading.rescued else ():
        if each.is_converted:
            said = literal(f"{each.name} is not {each.want.upper()}")
            reasons.append(f"WHEN {_misfit(each)} THEN {said}")
    return f"CASE {' '.join(reasons)} END" if reasons else ""


def bad_sql(entity: Entity, columns: tuple[RawColumn, ...], slice_name: str) -> str:
    """Return the bad records of a slice as they are kept, read from the files once more."""
    records = _values(columns, _folded(entity.settings.reading))
    whole = f"to_json(struct({listed(tuple(each.name for each in columns))}), {EXACT_JSON})"
    if raw_schema(entity.settings.reading, columns):
        whole = f"coalesce({quoted(CORRUPT)}, {whole})"
    return (
        f"SELECT {literal(slice_name)} AS source_filename, {_reason(entity, columns)} AS reason, "
        f"{whole} AS record FROM {records} WHERE {_reason(entity, columns)} IS NOT NULL"
    )


def _rescued(columns: tuple[RawColumn, ...]) -> str:
    """Return SQL for the texts that do not fit, as JSON by column; NULL if all fit."""
    pairs = []
    for each in columns:
        text = _as_text(each)
        if each.is_converted:
            text = f"CASE WHEN {_misfit(each)} THEN {text} END"
        if each.is_converted or not each.want:
            pairs.append(f"{literal(each.name)}, {text}")
    if not pairs:
        return "CAST(NULL AS STRING)"
    kept = f"map_filter(map({', '.join(pairs)}), (k, v) -> v IS NOT NULL)"
    return f"nullif(to_json({kept}), '{{}}')"


def read_stage(entity: Entity, columns: tuple[RawColumn, ...], name: str) -> Stage:
    """Return the stage that reads the records once, keeps their rows, and counts bad ones."""
    reading, view = entity.settings.reading, quoted(READ_VIEW)
    counted = [f"count_if({quoted(BAD)} IS NOT NULL) AS `{BAD_RECORDS}`"]
    if reading.rescued:
        counted.append(f"count_if({quoted(reading.rescued)} IS NOT NULL) AS `{RESCUED}`")
    rules = []
    if reading.bad_records is BadRecords.FAIL and _reason(entity, columns):
        bad = bad_sql(entity, columns, name)
        rules.append(
            Rule(
                BAD_RECORDS,
                "bad-records",
                f"{{count}} records of {name} of {entity.model} do not fit (e.g. {{samples}})",
                "correct the slice, or set bad_records: quarantine, or rescued: COLUMN",
                f"SELECT concat(reason, ': ', left(record, 200)) FROM ({bad}) ORDER BY 1 LIMIT 5",
            )
        )
    look = f"SELECT {', '.join(counted)} FROM {view}"
    return Stage(READ_VIEW, read_sql(entity, columns), look, tuple(rules), confs=ANSI)


def slice_sql(entity: Entity, columns: tuple[RawColumn, ...]) -> str:
    """Return the rows that count."""
    rescued = entity.settings.reading.rescued
    names = (*(each.name for each in columns if each.want), *((rescued,) if rescued else ()))
    return f"SELECT {listed(names)} FROM {quoted(READ_VIEW)} WHERE {quoted(BAD)} IS NULL"


def record_counts(entity: Entity, row: Row) -> dict[str, int]:
    """Return the counts of records that do not fit, for the summary of a step."""
    reading, found = entity.settings.reading, {}
    if reading.bad_records is not BadRecords.FAIL:
        found[BAD_RECORDS] = int(row[BAD_RECORDS] or 0)
    if reading.rescued:
        found[RESCUED] = int(row[RESCUED] or 0)
    return found
