"""Schema changes: how the columns of a query fit its table."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    Field,
    MapType,
    ScalarType,
    StructType,
    has_map,
    merged,
    parse_type,
    scalars,
)
from penstock.core.errors import ColumnChange, PythonModelError, SchemaChangeError, SchemaError
from penstock.core.facts import TableFacts
from penstock.core.findings import Finding, some
from penstock.core.history import (
    ENGINE_PREFIX,
    ColumnsDiffer,
    HashDiffers,
    HistorySettings,
    NewerThan,
)
from penstock.core.model import Model
from penstock.core.names import NAMES_HINT, maps_columns, refused_by_delta
from penstock.core.strategy import OnSchemaChange, Writing
from penstock.plan.table_columns import contract_findings, differing_parts, keeps_types

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal")
_TIMES = ("date", "timestamp", "timestamp_ntz", "string")
_COMPARABLE = (*_NUMBERS, *_TIMES, "boolean", "float", "double", "binary", "varchar", "char")
_SHOWN = 5


def check_history(model: Model, query: Schema) -> tuple[Finding, ...]:
    """Return everything that prevents a history of a query; () for other models."""
    history = model.history
    if history is None:
        return ()
    found = (
        *_unselected_columns(history, query),
        *_reserved_names(history, query),
        *_uncomparable_columns(history, query),
        *_bad_keys(history, query),
        *_bad_time(history, query),
    )
    return tuple(Finding(model.where, *each) for each in found)


_Found = Iterator[tuple[str, str, str]]


def _unselected_columns(history: HistorySettings, query: Schema) -> _Found:
    named = [("unique_key", name) for name in history.keys]
    match history.change:
        case NewerThan(column):
            named.append(("updated_at", column))
        case ColumnsDiffer(columns) | HashDiffers(_, columns):
            named += (("check_cols", name) for name in columns or ())
    for setting, name in named:
        if query.find(name) is None:
            yield ("column-not-selected", f"{setting} {name!r} is not selected", _hint(name, query))


def _hint(name: str, query: Schema) -> str:
    folded = {known.lower(): known for known in query.names}
    near = difflib.get_close_matches(name.lower(), folded, n=1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    return f"the query gives {some(query.names, _SHOWN)}"


def _reserved_names(history: HistorySettings, query: Schema) -> _Found:
    system = {name.lower() for name in history.columns.names}
    for name in query.names:
        sentence = f"column {name!r} is reserved"
        if name.lower() in system:
            yield "reserved-column", sentence, "rename it, or set system_columns.prefix"
        elif name.lower().startswith(ENGINE_PREFIX):
            yield "reserved-column", sentence, "rename it"


def _uncomparable_columns(history: HistorySettings, query: Schema) -> _Found:
    for column in compared_columns(history, query):
        kinds = scalars(parse_type(column.type))
        name, shown = column.name, column.type.upper()
        if any(_kind(kind) not in (*_COMPARABLE, "void") for kind in kinds):  # void-column tells
            sentence = f"column {name!r} is {shown}, which cannot be compared"
            hint = f"compare to_json({name})" if "variant" in kinds else "cast it in the SELECT"
            yield "uncomparable-column", sentence, hint
        elif isinstance(history.change, HashDiffers) and any(" collate " in k for k in kinds):
            sentence = f"column {name!r} is {shown}, which has no row hash"
            yield "uncomparable-column", sentence, "compare columns without row_hash"


def compared_columns(history: HistorySettings, query: Schema) -> tuple[Column, ...]:
    """Return the columns of the query whose values determine whether a row changed."""
    names: tuple[str, ...] | None
    match history.change:
        case NewerThan(_, compare_rows):
            names = None if compare_rows else ()
        case ColumnsDiffer(columns):
            names = columns
        case HashDiffers(_, columns):
            names = columns or ()
    if names is not None:
        return tuple(c for name in names if (c := query.find(name)) is not None)
    apart = {name.lower() for name in history.keys}
    if isinstance(history.change, NewerThan):
        apart.add(history.change.column.lower())
    return tuple(column for column in query.columns if column.name.lower() not in apart)


def _bad_keys(history: HistorySettings, query: Schema) -> _Found:
    for name in history.keys:
        column = query.find(name)
        if column is None:
            continue
        kind = parse_type(column.type)
        if has_map(kind) or any(_kind(each) not in _COMPARABLE for each in scalars(kind)):
            sentence = f"key column {column.name!r} is {column.type.upper()}"
            yield "key-type", sentence, "a key can be compared: no MAP and no VARIANT in it"


def _bad_time(history: HistorySettings, query: Schema) -> _Found:
    if not isinstance(history.change, NewerThan):
        return
    column = query.find(history.change.column)
    allowed = _TIMES if history.event_time else (*_TIMES, *_NUMBERS)
    if column is None or _kind(column.type) in allowed:
        return
    sentence = f"updated_at {column.name!r} is {column.type.upper()}"
    numbers = "" if history.event_time else ", an integer or DECIMAL"
    hint = f"it may be DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING{numbers}"
    yield "updated-at-type", sentence, hint


def _kind(kind: str) -> str:
    """Return a scalar type's name without length, scale or collation."""
    return kind.partition("(")[0].partition(" collate ")[0]


@dataclass(frozen=True, slots=True)
class Evolution:
    """How a query fits its table; names are column names.

    `written` are the columns of the query that are written, in order; `added` are new to the table,
    `widened` have a wider type than the table, `removed` are only in the table. In `added` and
    `widened`, a part of a column has its path: `address.zip`, `tags.element`.
    """

    written: tuple[str, ...]
    added: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def changes_table(self) -> bool:
        """Whether the table's schema changes with the commit."""
        return bool(self.added or self.widened)


def evolve(
    model: Model,
    query: Schema,
    table: Schema | None,
    properties: Mapping[str, str] | None = None,
    *,
    may_change: bool = False,
) -> Evolution:
    """Compare a query with its table before writing, because Delta would cast silently.

    Fields inside ARRAY, MAP and STRUCT are compared like columns; only a snapshot may lack a field
    of its table. `properties` are the table's. `may_change` lets a function return other columns.
    Raises `incompatible-type`, `schema-changed` (with `on_schema_change: fail`, or for a function),
    `duplicate-column`, `column-name`, `void-column` and, for a snapshot, the findings of
    `check_history`; one error names every difference.
    """
    stays = properties if table is not None and model.writing is not Writing.WHOLE else None
    wrong = [*check_query(model, query, stays), *contract_findings(model, query)]
    if model.keeps_history:
        wrong += check_history(model, query)
    if table is None:
        raise_all(wrong, model)
        return Evolution(query.names)
    system = {name.lower() for name in model.history.columns.names} if model.history else ()
    stored = Schema(tuple(c for c in table.columns if c.name.lower() not in system))
    if model.on_schema_change is OnSchemaChange.EXACT:
        raise_all(wrong, model)
        _refuse_change(model, query, stored, may_change=may_change)
    there = {column.name.lower(): column for column in stored.columns}
    added: list[str] = []
    widened: list[str] = []
    misfits: list[tuple[Column, Column]] = []
    for column in query.columns:
        known = there.get(column.name.lower())
        if known is None:
            added.append(column.name)
        elif (grown := _column_growth(model, column, known, properties or {})) is None:
            misfits.append((column, known))
        else:
            added += grown[0]
            widened += grown[1]
    if misfits and model.on_schema_change is not OnSchemaChange.EXACT:
        wrong.append(incompatible_finding(model, *misfits[0], more=len(misfits) - 1))
    raise_all(wrong, model)
    given = {name.lower() for name in query.names}
    gone = tuple(column.name for name, column in there.items() if name not in given)
    found = Evolution(query.names, tuple(added), tuple(widened), gone)
    return _require_allowed(model, found, stored)


def _require_allowed(model: Model, evolution: Evolution, stored: Schema) -> Evolution:
    """Apply `on_schema_change` to the differences; a history keeps removed columns."""
    changed = evolution.changes_table or (evolution.removed and not model.keeps_history)
    if model.on_schema_change is OnSchemaChange.FAIL and changed:
        replace = "" if model.keeps_history else ", or --full-refresh"
        raise SchemaError(
            "schema-changed",
            f"{model.name}: added=[{', '.join(evolution.added)}], "
            f"removed=[{', '.join(evolution.removed)}], widened=[{', '.join(evolution.widened)}]",
            where=model.where,
            hint=f"allow it with on_schema_change='append'{replace}",
        )
    if model.on_schema_change is OnSchemaChange.IGNORE:
        written = tuple(name for name in evolution.written if stored.find(name) is not None)
        return Evolution(written, (), evolution.widened, evolution.removed)
    return evolution


def _refuse_change(model: Model, query: Schema, stored: Schema, *, may_change: bool) -> None:
    """Raise `schema-changed` unless the columns equal those of the table, ignoring letter case.

    With `may_change`, a table that is replaced accepts all changes; one that keeps rows accepts new
    and missing columns, and values that fit its types.
    """
    changes: list[ColumnChange] = []
    replaces, passes = model.writing is Writing.WHOLE, True
    for column in query.columns:
        known, new = stored.find(column.name), column.type.upper()
        if known is None or known.type != column.type:
            changes.append(ColumnChange(column.name, known.type.upper() if known else None, new))
            grown = _column_growth(model, column, known, {}) if known else ([], [])
            passes = passes and (replaces or bool(grown and not grown[1]))
    gone = (each for each in stored.columns if query.find(each.name) is None)
    changes += [ColumnChange(each.name, each.type.upper(), None) for each in gone]
    if not changes or (may_change and passes):
        return
    ways = ["safe=False (--allow-schema-change) to add columns"] * passes
    ways += ["full_refresh=True (--full-refresh) to replace the table"]
    hint = f"run with {', or '.join(ways)}"
    raise SchemaChangeError(model.name, changes, where=model.where, hint=hint, passes=passes)


def raise_all(findings: Sequence[Finding], model: Model | None = None) -> None:
    """Raise one error for all findings: code and hint of the first, every sentence."""
    kind = SchemaError if model is None or model.function is None else PythonModelError
    if findings:
        raise kind(
            findings[0].code,
            "; ".join(dict.fromkeys(finding.sentence for finding in findings)),
            where=findings[0].where,
            hint=findings[0].hint,
        )


def check_query(
    model: Model, query: Schema, properties: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Return columns that no table can have: the findings of `check_names`, or without a type."""
    made_of = [scalars(parse_type(column.type)) for column in query.columns]
    yield from check_names(model, query, properties)
    for column, kinds in zip(query.columns, made_of, strict=True):
        if column.type == "void":
            yield Finding(
                model.where,
                "void-column",
                f"column {column.name!r} of {model.name!r} is NULL without a type",
                f"write CAST(NULL AS STRING) AS {column.name}, or its real type; "
                "in Python F.lit(None).cast('string')",
            )
        elif "void" in kinds:
            yield Finding(
                model.where,
                "void-column",
                f"column {column.name!r} of {model.name!r} is {column.type.upper()}: "
                "a part of it has no type",
                "cast it in the SELECT",
            )


def check_names(
    model: Model, query: Schema, properties: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Return invalid names, including fields of structs: duplicates, or names with a blank."""
    whole = StructType(tuple(Field(c.name, parse_type(c.type)) for c in query.columns))
    names = [*_field_names(whole, "")]
    takes_all = model.is_view or maps_columns({**(properties or {}), **model.layout.properties})
    for path, name, twice in names:
        refused = "" if takes_all else refused_by_delta(name)
        if twice and not (model.is_view and "." in path):
            yield Finding(
                model.where,
                "duplicate-column",
                f"the query of {model.name!r} gives the column {path!r} twice",
                "names differ only by case, or a join keeps both sides; rename one",
            )
        elif refused:
            yield Finding(
                model.where,
                "column-name",
                f"Delta refuses the name of column {path!r} of {model.name!r}: it has {refused}",
                NAMES_HINT,
            )


def _field_names(kind: ColumnType, above: str) -> Iterator[tuple[str, str, bool]]:
    """Return path and name of every field, and whether its name occurred before."""
    match kind:
        case ScalarType():
            return
        case ArrayType(element):
            yield from _field_names(element, above)
        case MapType(key, value):
            yield from _field_names(key, above)
            yield from _field_names(value, above)
        case StructType(fields):
            seen: set[str] = set()
            for field in fields:
                yield f"{above}{field.name}", field.name, field.name.lower() in seen
                seen.add(field.name.lower())
                yield from _field_names(field.type, f"{above}{field.name}.")


def incompatible_finding(model: Model, query: Column, table: Column, more: int) -> Finding:
    """Return the finding that names both types."""
    others = f" (and {more} more columns)" if more else ""
    replace = "" if model.keeps_history else ", or --full-refresh to replace the table"
    return Finding(
        model.where,
        "incompatible-type",
        f"column {query.name!r} is {query.type.upper()} in the query and {table.type.upper()} in "
        f"{model.table}{others}",
        f"cast it in the SELECT{replace}",
    )


def _column_growth(
    model: Model, query: Column, table: Column, properties: Mapping[str, str]
) -> tuple[list[str], list[str]] | None:
    """Return what is new and what is widened in a column; None if no type holds both."""
    have, asked = parse_type(table.type), parse_type(query.type)
    if have == asked:
        return [], []
    both = merged(have, asked)
    if both is None:
        return None
    changed = [*differing_parts(have, both, query.name)]
    added = [path for path, was, _ in changed if was is None]
    widened = [path for path, was, _ in changed if was is not None]
    lacks = any(was is None for _, was, _ in differing_parts(asked, both, query.name))
    fits = not (widened and keeps_types(model, properties))
    if not model.keeps_history:  # Delta's INSERT refuses lacking fields, its MERGE keeps old values
        fits = fits and not lacks
        fits = fits and not (added and model.on_schema_change is OnSchemaChange.IGNORE)
    return (added, widened) if fits else None


def has_other_description(model: Model, facts: TableFacts) -> bool:
    """Return whether properties or comments differ, which can be set at once."""
    wanted = model.layout.properties
    wrong = any(facts.properties.get(key) != value for key, value in wanted.items())
    wrong = wrong or bool(model.description and facts.comment != model.description)
    for column in model.columns:
        known = facts.schema.find(column.name)
        if known is not None and column.description:
            wrong = wrong or known.comment != column.description
    return wrong


def layout_changes(model: Model, facts: TableFacts) -> str:
    """Return differences in partitioning and clustering, which need a rewrite of the table."""
    layout, moved = model.layout, []
    for word, is_now, wanted in (
        ("partition_by", facts.partition_by, layout.partition_by),
        ("cluster_by", facts.cluster_by, layout.cluster_by),
    ):
        if is_now != wanted:
            moved.append(f"{word} is [{', '.join(is_now)}], the code says [{', '.join(wanted)}]")
    return "; ".join(moved)
