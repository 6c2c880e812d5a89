"""Schema changes: what a query's columns mean for the table they go to (spec/project.md §3)."""

from __future__ import annotations

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
    merged,
    parse_type,
    scalars,
)
from penstock.core.errors import SchemaError
from penstock.core.facts import TableFacts
from penstock.core.findings import Finding
from penstock.core.model import Model
from penstock.core.names import NAMES_HINT, maps_columns, refused_by_delta
from penstock.core.strategy import OnSchemaChange, Writing
from penstock.plan.history_columns import check_history
from penstock.plan.table_columns import keeps_types


@dataclass(frozen=True, slots=True)
class Evolution:
    """How a query fits its table; names are column names.

    `written` are the columns of the query that are written, in its order; `added` are new to the
    table, `widened` hold a wider type than it, `gone` are the table's and not the query's. In
    `added` and `widened` a part of a column has its path: `address.zip`, `tags.element`.
    """

    written: tuple[str, ...]
    added: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def changes_table(self) -> bool:
        """Whether the table's schema changes with the commit."""
        return bool(self.added or self.widened)


@dataclass(frozen=True, slots=True)
class _Growth:
    """What one column of a table becomes; `fits` is whether there is a type that holds both."""

    fits: bool = True
    added: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()


def evolve(
    model: Model, query: Schema, table: Schema | None, properties: Mapping[str, str] | None = None
) -> Evolution:
    """Compare before anything is written: Delta would cast silently, so penstock looks first.

    Fields inside ARRAY, MAP and STRUCT are compared like columns; only a snapshot can lack one
    that its table has. `properties` are the table's.
    Raises `incompatible-type`, `schema-changed` (with `on_schema_change: fail`),
    `duplicate-column`, `column-name`, `void-column` and, of a snapshot, what `check_history`
    finds; every difference is named in one error.
    """
    stays = properties if table is not None and model.writing is not Writing.WHOLE else None
    wrong = list(check_query(model, query, stays))
    if model.keeps_history:
        wrong += check_history(model, query)
    if table is None:
        refuse(wrong)
        return Evolution(query.names)
    system = {name.lower() for name in model.history.columns.names} if model.history else ()
    stored = Schema(tuple(c for c in table.columns if c.name.lower() not in system))
    shared = [(column, stored.find(column.name)) for column in query.columns]
    grown = [_grown(model, column, known, properties or {}) for column, known in shared]
    misfits = [
        (column, known)
        for (column, known), growth in zip(shared, grown, strict=True)
        if known is not None and not growth.fits
    ]
    if misfits:
        wrong.append(incompatible(model, *misfits[0], more=len(misfits) - 1))
    refuse(wrong)
    found = Evolution(
        query.names,
        tuple(path for growth in grown for path in growth.added),
        tuple(path for growth in grown for path in growth.widened),
        tuple(name for name in stored.names if query.find(name) is None),
    )
    return _allowed(model, found, stored)


def _allowed(model: Model, found: Evolution, stored: Schema) -> Evolution:
    """Hold `on_schema_change` against what was found; history is kept, so nothing is removed."""
    changed = found.changes_table or (found.gone and not model.keeps_history)
    if model.on_schema_change is OnSchemaChange.FAIL and changed:
        replace = "" if model.keeps_history else ", or --full-refresh"
        raise SchemaError(
            "schema-changed",
            f"{model.name}: added=[{', '.join(found.added)}], removed=[{', '.join(found.gone)}], "
            f"widened=[{', '.join(found.widened)}]",
            where=model.where,
            hint=f"allow it with on_schema_change='append'{replace}",
        )
    if model.on_schema_change is OnSchemaChange.IGNORE:
        written = tuple(name for name in found.written if stored.find(name) is not None)
        return Evolution(written, (), found.widened, found.gone)
    return found


def refuse(findings: Sequence[Finding]) -> None:
    """Raise one error of all findings: code and hint of the first, every sentence."""
    if findings:
        raise SchemaError(
            findings[0].code,
            "; ".join(dict.fromkeys(finding.sentence for finding in findings)),
            where=findings[0].where,
            hint=findings[0].hint,
        )


def check_query(
    model: Model, query: Schema, properties: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Find columns that no table can have: what `check_names` finds, or no type."""
    yield from check_names(model, query, properties)
    for column in query.columns:
        if column.type == "void":
            yield Finding(
                model.where,
                "void-column",
                f"column {column.name!r} of {model.name!r} is NULL without a type",
                f"write CAST(NULL AS STRING) AS {column.name}, or its real type",
            )
        elif "void" in scalars(parse_type(column.type)):
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
    """Find names that no table can have, fields of structs included: one twice, or with a blank.

    `properties` are those that the table has and keeps.
    """
    takes_all = model.is_view or maps_columns({**(properties or {}), **model.layout.properties})
    whole = StructType(tuple(Field(c.name, parse_type(c.type)) for c in query.columns))
    for path, name, twice in _names(whole, ""):
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


def _names(kind: ColumnType, above: str) -> Iterator[tuple[str, str, bool]]:
    """Give path and name of every field, and whether one of its name stands before it."""
    match kind:
        case ScalarType():
            return
        case ArrayType(element):
            yield from _names(element, above)
        case MapType(key, value):
            yield from _names(key, above)
            yield from _names(value, above)
        case StructType(fields):
            seen: set[str] = set()
            for field in fields:
                yield f"{above}{field.name}", field.name, field.name.lower() in seen
                seen.add(field.name.lower())
                yield from _names(field.type, f"{above}{field.name}.")


def incompatible(model: Model, query: Column, table: Column, more: int) -> Finding:
    """Give the finding that names both types (case J16)."""
    others = f" (and {more} more columns)" if more else ""
    replace = "" if model.keeps_history else ", or --full-refresh to replace the table"
    return Finding(
        model.where,
        "incompatible-type",
        f"column {query.name!r} is {query.type.upper()} in the query and {table.type.upper()} in "
        f"{model.table}{others}",
        f"cast it in the SELECT{replace}",
    )


def _grown(
    model: Model, query: Column, table: Column | None, properties: Mapping[str, str]
) -> _Growth:
    if table is None:
        return _Growth(added=(query.name,))
    have, asked = parse_type(table.type), parse_type(query.type)
    both = merged(have, asked)
    if both is None:
        return _Growth(fits=False)
    parts = tuple(_parts(have, both, query.name))
    added = tuple(path for path, is_new in parts if is_new)
    widened = tuple(path for path, is_new in parts if not is_new)
    lacks = any(is_new for _, is_new in _parts(asked, both, query.name))
    fits = not (widened and keeps_types(model, properties))
    if not model.keeps_history:  # Delta's INSERT refuses lacking fields, its MERGE keeps old values
        fits = fits and not lacks
        fits = fits and not (added and model.on_schema_change is OnSchemaChange.IGNORE)
    return _Growth(fits, added, widened)


def _parts(have: ColumnType, grown: ColumnType, path: str) -> Iterator[tuple[str, bool]]:
    """Walk a type and what it becomes: give the path of each part that differs, and if it is new.

    >>> have, grown = parse_type("struct<zip:int>"), parse_type("struct<zip:bigint,city:string>")
    >>> list(_parts(have, grown, "address"))
    [('address.zip', False), ('address.city', True)]
    """
    match have, grown:
        case ScalarType(), ScalarType():
            if have != grown:
                yield path, False
        case ArrayType(of), ArrayType(to):
            yield from _parts(of, to, f"{path}.element")
        case MapType(), MapType():
            yield from _parts(have.key, grown.key, f"{path}.key")
            yield from _parts(have.value, grown.value, f"{path}.value")
        case StructType(), StructType():
            for field in grown.fields:
                known = have.find(field.name)
                inner = f"{path}.{field.name}"
                if known is None:
                    yield inner, True
                else:
                    yield from _parts(known.type, field.type, inner)


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """What differs. `is_said` can be set at once; `moved` needs the table to be written anew."""

    is_said: bool = False
    moved: str = ""


def layout_change(model: Model, facts: TableFacts) -> LayoutChange:
    """Compare properties, comments, partitioning and clustering; no answer means no difference."""
    layout = model.layout
    wrong = any(facts.properties.get(key) != value for key, value in layout.properties.items())
    wrong = wrong or bool(model.description and facts.comment != model.description)
    for column in model.columns:
        known = facts.schema.find(column.name)
        if known is not None and column.description:
            wrong = wrong or known.comment != column.description
    moved = []
    for word, is_now, wanted in (
        ("partition_by", facts.partition_by, layout.partition_by),
        ("cluster_by", facts.cluster_by, layout.cluster_by),
    ):
        if is_now != wanted:
            moved.append(f"{word} is [{', '.join(is_now)}], the code says [{', '.join(wanted)}]")
    return LayoutChange(wrong, "; ".join(moved))
