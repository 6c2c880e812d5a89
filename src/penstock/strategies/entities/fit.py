"""How a slice fits its table: wider types widen it, narrower ones are cast, others are refused.

This is checked before anything is written, since Delta would cast silently.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import merged, parse_type
from penstock.core.entities.entity import Entity, FieldRole, ProcessType
from penstock.core.findings import Finding
from penstock.core.strategy import OnSchemaChange
from penstock.strategies.entities.rows import SliceRows, StagedColumn

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal")


def fit(rows: SliceRows, entity: Entity, table: Schema | None) -> SliceRows:
    """Cast every column to its type in the table; warn of each difference."""
    rows = _without_void(rows, entity, table)
    if table is None:
        return rows
    columns: list[StagedColumn] = []
    new: list[str] = []
    widened: list[str] = []
    notes, findings = [*rows.notes], [*rows.findings]
    ignores = entity.settings.on_schema_change is OnSchemaChange.IGNORE
    for column in rows.columns:
        known = table.find(column.final)
        if known is None and ignores and not column.is_flag:
            continue
        if known is None:
            new.append(column.final)
            notes.append(f"column-added: {column.final!r} is new in {entity.model}")
            columns.append(column)
            continue
        fitted = _fit_column(column, known, entity)
        if isinstance(fitted, Finding):
            findings.append(fitted)
            continue
        columns.append(fitted)
        words = f"{known.type.upper()} to {fitted.type.upper()}"
        if fitted.type != known.type and not _can_hold(known.type, column.want):
            notes.append(f"type-changed: {column.final!r} goes from {words}")
        elif fitted.type != known.type:
            notes.append(f"type-widened: {column.final!r} is widened from {words}")
            widened.append(column.final)
        elif fitted.type != column.want:
            kinds = f"{column.want.upper()} in the slice and {known.type.upper()} in the table"
            notes.append(f"type-differs: {column.final!r} is {kinds}")
    gone = _missing_columns(rows, table)
    notes += [f"column-removed: {each.name!r} is not in the slice" for each in gone]
    fixed = replace(rows, columns=tuple(columns), new=tuple(new), widened=tuple(widened), lost=gone)
    findings += _change_findings(fixed, entity)
    return replace(fixed, notes=tuple(notes), findings=tuple(findings))


def _without_void(rows: SliceRows, entity: Entity, table: Schema | None) -> SliceRows:
    """Leave out columns without values and type; in the table they are NULL.

    Parquet and Spark would guess a type, and the first real value might not fit it.
    """
    columns, notes, findings = list[StagedColumn](), [*rows.notes], [*rows.findings]
    for column in rows.columns:
        known = table.find(column.final) if table else None
        roles = column.declared.roles if column.declared else frozenset()
        if column.want != "void":
            # a table with column mapping may have the names that Delta refuses elsewhere
            is_same = known is not None and known.type == column.have and not _is_typed(column)
            columns.append(
                replace(column, want=column.have, type=column.have) if is_same else column
            )
        elif known is not None:
            columns.append(replace(column, want=known.type, type=known.type))
        elif roles & {FieldRole.BUSINESS_KEY, FieldRole.PARTITION}:
            sentence = (
                f"column {column.final!r} of {entity.model} is a key or partition, and holds no "
                "value that tells its type"
            )
            hint = "give it a datatype"
            findings.append(Finding(entity.where, "missing-column", sentence, hint))
        else:
            what = "holds no value and has no type; it is left out until it has one"
            notes.append(f"void-column: {column.final!r} {what}")
    return replace(rows, columns=tuple(columns), notes=tuple(notes), findings=tuple(findings))


def _is_typed(column: StagedColumn) -> bool:
    return column.declared is not None and bool(column.declared.type)


def _fit_column(column: StagedColumn, stored: Column, entity: Entity) -> StagedColumn | Finding:
    """Return the column with its type in the table."""
    is_key = column.declared is not None and FieldRole.BUSINESS_KEY in column.declared.roles
    both = merged(parse_type(stored.type), parse_type(column.want))
    if is_key and column.want != stored.type and not _is_same_number(column.want, stored.type):
        return _refusal(column, stored, entity, "key-type-changed")
    if both is not None:
        return replace(column, type=str(both))
    if _changes_type(entity):
        return column
    return _refusal(column, stored, entity, "incompatible-type")


def _can_hold(have: str, want: str) -> bool:
    return merged(parse_type(have), parse_type(want)) is not None


def _is_same_number(one: str, other: str) -> bool:
    stems = {one.partition("(")[0], other.partition("(")[0]}
    return stems.issubset(_NUMBERS) and _can_hold(one, other)


def _changes_type(entity: Entity) -> bool:
    """Return whether every row is replaced, so that a column may have any type."""
    return entity.process is ProcessType.FULL and not entity.partition_columns


def _refusal(column: StagedColumn, stored: Column, entity: Entity, code: str) -> Finding:
    kinds = f"{column.want.upper()} in the slice and {stored.type.upper()} in the table"
    where = column.declared.where if column.declared else entity.where
    if code == "key-type-changed":
        sentence = f"business key {column.final!r} of {entity.model} is {kinds}"
        hint = "the same key would get another digest; cast it, or --full-refresh"
        return Finding(where, "key-type-changed", sentence, hint)
    sentence = f"column {column.final!r} of {entity.model} is {kinds}"
    hint = "give it the table's type as datatype, or --full-refresh"
    return Finding(where, "incompatible-type", sentence, hint)


def _missing_columns(rows: SliceRows, table: Schema) -> tuple[Column, ...]:
    system = {name.lower() for name in rows.system}
    mine = {column.final.lower() for column in rows.columns}
    return tuple(c for c in table.columns if c.name.lower() not in system | mine)


def _change_findings(rows: SliceRows, entity: Entity) -> list[Finding]:
    """Return findings for `on_schema_change: fail`."""
    changes = rows.new or rows.widened or rows.lost
    if entity.settings.on_schema_change is not OnSchemaChange.FAIL or not changes:
        return []
    gone = ", ".join(each.name for each in rows.lost)
    added, wider = ", ".join(rows.new), ", ".join(rows.widened)
    sentence = f"{entity.model}: added=[{added}], removed=[{gone}], widened=[{wider}]"
    return [Finding(entity.where, "schema-changed", sentence, "allow it: on_schema_change: append")]
