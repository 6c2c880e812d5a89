"""The twelve steps from a slice to the rows of its silver table: one SELECT, no action.

Each step is a function from rows to rows. They run in order of dependency: hash and key use the
values and names of the table, so types and names come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from penstock.core.columns.casts import castable
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import parse_type, scalars
from penstock.core.entities.entity import (
    Entity,
    EntityColumn,
    FieldRole,
    HashKind,
    ProcessType,
    normalised,
)
from penstock.core.findings import Finding
from penstock.core.history import ENGINE_PREFIX
from penstock.core.names import literal, quoted
from penstock.core.steps.inputs import FEED_COLUMNS
from penstock.strategies.entities.events import (
    IGNORED_ROW,
    check_events,
    label_events,
)
from penstock.strategies.entities.fit import fit
from penstock.strategies.entities.layers import calculate, inject_transformations, select_slice
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.entities.rows import (
    SliceRead,
    SliceRows,
    StagedColumn,
    clean_type,
    wrong_fields,
)
from penstock.strategies.values import hash_of_values, row_text

StepOf = Callable[[SliceRows, Entity, SliceRead], SliceRows]


def cast_columns(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 7: the types of the entity; a missing column is NULL, or refused."""
    del read
    declared = {each.made_name.lower(): each for each in entity.columns}
    findings, notes, columns = [*rows.findings], [*rows.notes], []
    events = entity.settings.events
    hidden = {IGNORED_ROW, *(FEED_COLUMNS if events.change_feed else ())}
    hidden -= {*events.sequence_by, events.valid_from}
    for column in rows.schema.columns:
        each = declared.pop(column.name.lower(), None)
        if column.name in hidden and each is None:
            continue
        findings += _field_findings(entity, column)
        want = each.type if each and each.type else clean_type(column.type)
        if not castable(parse_type(column.type), parse_type(want)):
            findings.append(_cast_refusal(entity, column, want))
        columns.append(
            StagedColumn(
                name=column.name,
                have=column.type,
                final=column.name,
                want=want,
                type=want,
                declared=each,
                is_made=column.name.lower() in rows.computed,
                by_partition=each is not None and FieldRole.PARTITION in each.roles,
            )
        )
    for each in declared.values():
        if each.roles & {FieldRole.BUSINESS_KEY, FieldRole.PARTITION}:
            findings.append(_missing_column(entity, each.name, each))
            continue
        left = f"NULL of type {each.type.upper()} stands for it" if each.type else "it is left out"
        notes.append(f"column-removed: {each.name!r} is not in the slice; {left}")
        if each.type:
            columns.append(StagedColumn("", "", each.name, each.type, each.type, each))
    return replace(rows, columns=tuple(columns), findings=tuple(findings), notes=tuple(notes))


def _field_findings(entity: Entity, column: Column) -> Iterator[Finding]:
    """Return findings for struct fields whose names Delta refuses, with their paths."""
    for code, path, other in wrong_fields(parse_type(column.type), column.name):
        sentence = f"of the name of field {path!r} of {entity.model} nothing is left"
        if other:
            sentence = f"fields {path!r} and {other!r} of {entity.model} have one name in the table"
        hint = "rename it where the slice is made, or in transformations: named_struct"
        yield Finding(entity.where, code, sentence, hint)


def _cast_refusal(entity: Entity, column: Column, want: str) -> Finding:
    return Finding(
        entity.where,
        "incompatible-type",
        f"column {column.name!r} of {entity.model} is {column.type.upper()}, "
        f"which cannot be cast to {want.upper()}",
        "convert it with an expression",
    )


def _missing_column(entity: Entity, name: str, declared: EntityColumn | None = None) -> Finding:
    return Finding(
        declared.where if declared else entity.where,
        "missing-column",
        f"the slice of {entity.model} has no column {name!r}, which is a key, a partition or a "
        "watermark column",
        "add it to the slice, or calculate it with an expression",
    )


def rename(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 8: `name` becomes `newname`."""
    del entity, read
    renamed = (
        replace(each, final=each.declared.newname)
        if each.declared and each.declared.newname
        else each
        for each in rows.columns
    )
    return replace(rows, columns=tuple(renamed))


def normalise_names(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 11: drop `sys_` columns, remove characters that Delta refuses, check the names."""
    del read
    kept = [each for each in rows.columns if not each.final.lower().startswith("sys_")]
    columns = tuple(replace(each, final=normalised(each.final)) for each in kept)
    found = replace(rows, columns=columns)
    missing = [e.column for e in entity.watermark if found.find(e.column) is None]
    wrong = [_missing_column(entity, name) for name in dict.fromkeys(missing)]
    wrong += _name_findings(entity, kept, columns)
    return replace(found, findings=(*rows.findings, *wrong))


def _name_findings(
    entity: Entity, staying: Sequence[StagedColumn], columns: Sequence[StagedColumn]
) -> Iterator[Finding]:
    reserved, seen = {name.lower() for name in reserved_names(entity)}, dict[str, str]()
    for before, column in zip(staying, columns, strict=True):
        original, folded = before.name or before.final, column.final.lower()
        where = column.declared.where if column.declared else entity.where
        if folded in reserved or folded.startswith(ENGINE_PREFIX):
            sentence = f"column {original!r} of {entity.model} has the name of a column of penstock"
            yield Finding(where, "reserved-column", sentence, "rename it, or set a prefix")
        elif not folded:
            sentence = f"of the name of column {original!r} of {entity.model} nothing is left"
            yield Finding(where, "empty-column-name", sentence, "give it a newname")
        elif folded in seen:
            sentence = (
                f"columns {seen[folded]!r} and {original!r} of {entity.model} are both "
                f"{column.final!r} in the table"
            )
            yield Finding(where, "column-name-collision", sentence, "give one of them a newname")
        seen.setdefault(folded, original)


def reserved_names(entity: Entity) -> tuple[str, ...]:
    """Return the names that a slice must not use for its columns."""
    own = {entity.system.filename, entity.system.deleted}
    return tuple(name for name in system_names(entity) if name not in own)


def flag_deleted(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 9: the delete flag of a row, false if the slice has none."""
    del read
    name = entity.system.deleted
    column = rows.find(name)
    if column is None:
        flag = StagedColumn("", "", name, "boolean", "boolean", is_flag=True)
        return replace(rows, columns=(*rows.columns, flag))
    others = tuple(each for each in rows.columns if each is not column)
    if column.want == "void":
        column = replace(column, want="boolean", type="boolean")
    findings = rows.findings
    if column.want != "boolean":
        sentence = (
            f"column {column.final!r} of {entity.model} is {column.want.upper()}, and it is the "
            "delete flag"
        )
        hint = "give it the datatype boolean, or set a systemfield_prefix"
        findings = (*findings, Finding(entity.where, "deleted-not-boolean", sentence, hint))
    flag = replace(column, final=name, is_flag=True)
    return replace(rows, columns=(*others, flag), findings=findings)


def hash_source(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 3: the hash of a row's content, without when and how it arrived."""
    del read
    system, values, wrong = entity.system, [], []
    left_out = {system.filename.lower(), system.metadata.lower(), *entity.volatile}
    for each in rows.columns:
        if each.final.lower() in left_out:
            continue
        value = quoted(each.final)
        if each.is_flag:  # an explicit delete is a version of its own
            if entity.process is ProcessType.HISTORIC:
                values.append((Column(each.final, "boolean"), f"nullif({value}, false)"))
            continue
        pair = (Column(each.final, each.type), value)
        if _is_comparable(pair):
            values.append(pair)
        else:
            wrong.append(_uncomparable(entity, each))
    made = hash_of_values(values)
    if entity.settings.hash is HashKind.XXHASH64:
        made = f"lpad(lower(hex(xxhash64({row_text(values)}))), 16, '0')"
    rows = replace(rows, findings=(*rows.findings, *wrong))
    return _add_column(rows, system.source_hash, "string", made)


def _is_comparable(pair: tuple[Column, str]) -> bool:
    try:
        row_text([pair])
    except ValueError:
        return False
    return True


def _uncomparable(entity: Entity, column: StagedColumn) -> Finding:
    return Finding(
        entity.where,
        "uncomparable-column",
        f"column {column.final!r} of {entity.model} is {column.type.upper()}, of which no hash "
        "can be made",
        "turn it into text in transformations: to_json",
    )


def _add_column(rows: SliceRows, name: str, kind: str, sql: str) -> SliceRows:
    return replace(rows, added=(*rows.added, (Column(name, kind), sql)))


def add_interval(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 4: the interval of a version, only for histories."""
    if entity.process is not ProcessType.HISTORIC:
        return rows
    system = entity.system
    rows = _add_column(rows, system.valid_from, "timestamp", instant_literal(read.moment))
    rows = _add_column(rows, system.valid_to, "timestamp", "CAST(NULL AS TIMESTAMP)")
    return _add_column(rows, system.is_current, "boolean", "true")


def add_filename(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 5: the file of a row, unless the row names it."""
    name = entity.system.filename
    return rows if rows.find(name) else _add_column(rows, name, "string", literal(read.name))


def add_key(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 6: the digest of the business keys."""
    del read
    if not entity.key_column:
        return rows
    keys = [each for name in entity.business_keys if (each := rows.find(name)) is not None]
    wrong = tuple(_key_type(entity, each) for each in keys if not _is_key_type(each.type))
    if wrong or len(keys) < len(entity.business_keys):
        return replace(rows, findings=(*rows.findings, *wrong))
    made = hash_of_values([(Column(each.final, each.type), quoted(each.final)) for each in keys])
    return _add_column(rows, entity.key_column, "string", made)


def _is_key_type(kind: str) -> bool:
    return "map<" not in kind and not {"float", "double", "variant"} & {*scalars(parse_type(kind))}


def _key_type(entity: Entity, column: StagedColumn) -> Finding:
    return Finding(
        column.declared.where if column.declared else entity.where,
        "key-type",
        f"business key {column.final!r} of {entity.model} is {column.type.upper()}, whose values "
        "cannot be compared reliably",
        "give it another datatype: decimal, string",
    )


def note_seen(rows: SliceRows, entity: Entity, read: SliceRead) -> SliceRows:
    """Step 10: when penstock saw the row."""
    return _add_column(rows, entity.system.last_seen, "timestamp", instant_literal(read.moment))


BEFORE_TYPES: tuple[StepOf, ...] = (
    inject_transformations,
    calculate,
    cast_columns,
    rename,
    normalise_names,
    flag_deleted,
)
AFTER_TYPES: tuple[StepOf, ...] = (hash_source, add_interval, add_filename, add_key, note_seen)


def prepare_rows(entity: Entity, read: SliceRead, table: Schema | None) -> SliceRows:
    """Take a slice through its steps; its table restricts the types.

    Raises all errors of its columns at once, before any row is read.
    """
    rows = replace(select_slice(entity, read), system=system_names(entity), where=read.where)
    for step in BEFORE_TYPES:
        rows = step(rows, entity, read)
    rows.refuse()
    rows = check_events(fit(rows, entity, table), entity)
    for step in AFTER_TYPES:
        rows = step(rows, entity, read)
    rows.refuse()
    return label_events(rows, entity, None if read.is_anew else table)


def system_names(entity: Entity) -> tuple[str, ...]:
    """Return the names of a table's last columns, in order."""
    system, historic = entity.system, entity.process is ProcessType.HISTORIC
    interval = (system.valid_from, system.valid_to, system.is_current) if historic else ()
    key = (entity.key_column,) if entity.key_column else ()
    return (
        *(system.source_hash, *interval, system.filename),
        *(*key, system.deleted, system.last_seen),
    )


def needs_keeping(rows: SliceRows, entity: Entity) -> bool:
    """Step 12: whether rows are kept, because counting must run a transformation first.

    Expressions over one row are cheaper than keeping all its columns.
    """
    counted = {*entity.business_keys, *entity.partition_columns, entity.system.deleted}
    counted |= {each.column for each in entity.watermark}
    folded = {name.lower() for name in counted}
    return rows.is_labelled or any(
        each.is_made and (each.is_fallible or each.final.lower() in folded) for each in rows.columns
    )
