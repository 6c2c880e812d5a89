"""The columns that a versioned model's table needs, and how to add them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from penstock.core.columns.casts import castable
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
    widens,
)
from penstock.core.facts import TableFacts
from penstock.core.findings import Finding
from penstock.core.model import Model
from penstock.core.strategy import OnSchemaChange

WIDENING = "delta.enableTypeWidening"
_CONTRACT = "query", "contract", "cast it in the SELECT, or change the columns of the contract"
_DECLARED = "frame", "schema", "select and cast what schema= declares, or change it"


def keeps_types(model: Model, properties: Mapping[str, str]) -> bool:
    """Return whether type widening was switched off, for the sake of other readers."""
    wanted = {**properties, **model.layout.properties}.get(WIDENING, "true")
    return wanted.lower() == "false"


def contract_findings(model: Model, query: Schema) -> Iterator[Finding]:
    """Return every difference between a query and the enforced contract of its model."""
    wanted, texts = model.contract.columns, []
    query_word, contract_word, hint = _CONTRACT if model.function is None else _DECLARED
    for column in wanted:
        found = query.find(column.name)
        if found is None:
            texts.append(f"{column.name} is not in the {query_word}")
        elif found.type != column.type:
            types = found.type.upper(), column.type.upper()
            both = f"{types[0]} in the {query_word} and {types[1]} in the {contract_word}"
            texts.append(f"{column.name} is {both}")
    more = (c for c in query.columns if wanted and model.contract.find(c.name) is None)
    texts += (f"{each.name} is not in the {contract_word}" for each in more)
    for text in texts:
        yield Finding(model.where, "contract-broken", f"{model.name}: {text}", hint)


class Turn(StrEnum):
    """The change of one part of a type."""

    ADDITIVE = "additive"
    WIDENING = "widening"
    BREAKING = "breaking"


@dataclass(frozen=True, slots=True)
class Migration:
    """The changes that a table needs before a model's rows; texts are lines for display.

    `schema` is the table's afterwards. `added` and `widened` come with the next build; with
    `needs_widening_property` a table property must allow it first. `nullable` are columns that lose
    NOT NULL; `guarded` are required by the code and nullable in the table, which stays so.
    `kept_columns` are in no version; `droppable` are those that a rewrite may omit. `breaking`
    needs a rewrite of all rows, and `uncastable` among them have no cast; `moved` needs a rewrite
    for the layout.
    """

    schema: Schema
    added: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    needs_widening_property: bool = False
    nullable: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    kept_columns: tuple[str, ...] = ()
    droppable: tuple[str, ...] = ()
    breaking: tuple[str, ...] = ()
    uncastable: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the table can stay as it is."""
        changes = self.added or self.widened or self.nullable or self.breaking or self.moved
        return not changes

    @property
    def reduced_schema(self) -> Schema:
        """The table's columns after a rewrite without droppable ones."""
        stay = (column for column in self.schema.columns if column.name not in self.droppable)
        return Schema(tuple(stay))

    @property
    def lines(self) -> tuple[str, ...]:
        """All changes of the table, for the plan."""
        nullable = (f"{name} becomes nullable" for name in self.nullable)
        breaking = (f"{line} (breaking)" for line in self.breaking)
        widened = (f"{line} (widening)" for line in self.widened)
        return (*self.added, *widened, *nullable, *breaking, *self.moved)


def target_schema(model: Model) -> Schema | None:
    """Return the columns of all versions; None if no version declares any.

    They are in the order of their first appearance, versions by date. A type is that of the latest
    version with the column; a column is NOT NULL only if every version requires it.
    """
    versions = sorted(model.versions, key=lambda each: each.effective_from or dt.date.min)
    found: dict[str, Column] = {}
    for version in versions:
        for column in version.schema.columns:
            first = found.get(column.name.lower(), column)
            asked = [each.schema.find(column.name) for each in versions]
            always = all(each is not None and not each.nullable for each in asked)
            messages = column.comment or first.comment
            found[column.name.lower()] = Column(first.name, column.type, not always, messages)
    return Schema(tuple(found.values())) if found else None


def with_described(wanted: Schema | None, described: Schema) -> Schema:
    """Add the further columns in the query of a version without declared columns."""
    known = wanted or Schema()
    new = (column for column in described.columns if known.find(column.name) is None)
    return Schema((*known.columns, *(Column(c.name, c.type) for c in new)))


def migration(model: Model, wanted: Schema, facts: TableFacts) -> Migration:
    """Compare a table with the columns and the layout of the code; decide nothing.

    If a version declares no columns, nothing is dropped, and a type that fits into the table's is
    not a change.
    """
    loose = any(not version.schema.columns for version in model.versions)
    changes = [_Change.compare(facts.schema.find(c.name), c, loose=loose) for c in wanted.columns]
    kept = tuple(c for c in facts.schema.columns if wanted.find(c.name) is None)
    drops = model.on_schema_change is OnSchemaChange.SYNC and not loose
    widened = tuple(line for change in changes for line in change.lines_of(Turn.WIDENING))
    breaking = tuple(line for change in changes for line in change.lines_of(Turn.BREAKING))
    if keeps_types(model, facts.properties):
        widened, breaking = (), (*widened, *breaking)
    allows = facts.properties.get(WIDENING, "").lower() == "true"
    names = tuple(column.name for column in kept)
    return Migration(
        schema=_columns_after(facts.schema, changes, kept),
        added=tuple(line for change in changes for line in change.lines_of(Turn.ADDITIVE)),
        widened=widened,
        needs_widening_property=bool(widened) and not allows,
        nullable=tuple(
            c.name
            for c in facts.schema.columns  # also those that no version has
            if not c.nullable and ((asked := wanted.find(c.name)) is None or asked.nullable)
        ),
        guarded=tuple(
            c.name
            for c in wanted.columns
            if not c.nullable and (known := facts.schema.find(c.name)) and known.nullable
        ),
        kept_columns=names,
        droppable=names if drops else (),
        breaking=breaking,
        uncastable=tuple(change.line for change in changes if not change.has_cast),
        moved=tuple(_layout_changes(model, facts)),
    )


def version_schema_diff(before: Schema, after: Schema) -> tuple[str, ...]:
    """Return the lines of two declared schemas that differ; empty if one declares nothing.

    >>> columns = Schema((Column("id", "int"),)), Schema((Column("id", "bigint"),))
    >>> version_schema_diff(*columns)
    ('~ id INT -> BIGINT (widening)',)
    """
    if not before.columns or not after.columns:
        return ()
    gone = (f"- {_typed_column(c)}" for c in before.columns if after.find(c.name) is None)
    changed = (_changed_line(known, c) for c in after.columns if (known := before.find(c.name)))
    new = (f"+ {_typed_column(c)}" for c in after.columns if before.find(c.name) is None)
    return (*gone, *(line for line in changed if line), *new)


def _changed_line(before: Column, after: Column) -> str:
    """Return the line of a column in both schemas, "" if it is unchanged."""
    have, want = parse_type(before.type), parse_type(after.type)
    if have == want and before.nullable == after.nullable:
        return ""
    turns = {turn for turn, _ in _turns_of(have, want, "")}
    worst = next((turn for turn in reversed(Turn) if turn in turns), None)
    if have == want and after.nullable:
        worst = Turn.WIDENING
    return f"~ {_typed_column(before)} -> {_shown_type(after)}" + (f" ({worst})" if worst else "")


def _typed_column(column: Column) -> str:
    return f"{column.name} {_shown_type(column)}"


def _shown_type(column: Column) -> str:
    return column.type.upper() + ("" if column.nullable else " REQUIRED")


@dataclass(frozen=True, slots=True)
class _Change:
    """One wanted column compared with the table's; `after` is the table's after the change."""

    after: Column
    line: str = ""
    turns: tuple[tuple[Turn, str], ...] = ()
    has_cast: bool = True

    @classmethod
    def compare(cls, column: Column | None, wanted: Column, *, loose: bool) -> _Change:
        """Compare; `loose` treats every type that fits into the table's as equal."""
        if column is None:
            line = f"+ {wanted.name} {wanted.type.upper()}"
            after = Column(wanted.name, wanted.type, comment=wanted.comment)
            return cls(after, line, ((Turn.ADDITIVE, line),))
        have, want = parse_type(column.type), parse_type(wanted.type)
        if loose:
            want = merged(have, want) or want
        line = f"{column.name} {column.type.upper()} -> {wanted.type.upper()}"
        turns = tuple(_turns_of(have, want, column.name))
        nullable = column.nullable or wanted.nullable
        after = Column(column.name, str(_union(have, want)), nullable, column.comment)
        return cls(after, line, turns, castable(have, want))

    def lines_of(self, turn: Turn) -> Iterator[str]:
        """Return the lines of one kind."""
        return (line for each, line in self.turns if each is turn)


def differing_parts(
    have: ColumnType, want: ColumnType, path: str
) -> Iterator[tuple[str, ColumnType | None, ColumnType]]:
    """Walk two types: yield the path of each part that differs, and both; None for a new field.

    A field only in the old type stays and is not a change.

    >>> have, want = parse_type("struct<zip:int>"), parse_type("struct<zip:bigint,city:string>")
    >>> [(path, str(was), str(now)) for path, was, now in differing_parts(have, want, "address")]
    [('address.zip', 'int', 'bigint'), ('address.city', 'None', 'string')]
    """
    match have, want:
        case ArrayType(of), ArrayType(to):
            yield from differing_parts(of, to, f"{path}.element")
        case MapType(), MapType():
            yield from differing_parts(have.key, want.key, f"{path}.key")
            yield from differing_parts(have.value, want.value, f"{path}.value")
        case StructType(), StructType():
            for field in want.fields:
                known, inner = have.find(field.name), f"{path}.{field.name}"
                if known is None:
                    yield inner, None, field.type
                else:
                    yield from differing_parts(known.type, field.type, inner)
        case _ if have != want:
            yield path, have, want


def _turns_of(have: ColumnType, want: ColumnType, path: str) -> Iterator[tuple[Turn, str]]:
    for at, was, now in differing_parts(have, want, path):
        if was is None:
            yield Turn.ADDITIVE, f"+ {at} {str(now).upper()}"
            continue
        both = isinstance(was, ScalarType) and isinstance(now, ScalarType)
        wider = both and widens(str(was), str(now))
        line = f"{at} {str(was).upper()} -> {str(now).upper()}"
        yield (Turn.WIDENING if wider else Turn.BREAKING), line


def _union(have: ColumnType, want: ColumnType) -> ColumnType:
    """Return the wanted type with the names and extra fields of the table."""
    match have, want:
        case ArrayType(of), ArrayType(to):
            return ArrayType(_union(of, to))
        case MapType(), MapType():
            return MapType(_union(have.key, want.key), _union(have.value, want.value))
        case StructType(), StructType():
            old = []
            for field in have.fields:
                found = want.find(field.name)
                old.append(Field(field.name, _union(field.type, found.type)) if found else field)
            new = (field for field in want.fields if have.find(field.name) is None)
            return StructType((*old, *new))
        case _:
            return want


def _columns_after(table: Schema, changes: list[_Change], stored: tuple[Column, ...]) -> Schema:
    """Return the table's columns in their order, then the new ones."""
    by_name = {change.after.name.lower(): change.after for change in changes}
    by_name |= {
        column.name.lower(): Column(column.name, column.type, comment=column.comment)
        for column in stored
    }
    old = [by_name[name.lower()] for name in table.names if name.lower() in by_name]
    new = [each for name, each in by_name.items() if table.find(name) is None]
    return Schema((*old, *new))


def _layout_changes(model: Model, facts: TableFacts) -> Iterator[str]:
    """Return the differences in layout; a partitioned table has no clustering."""
    layout = model.layout
    wanted = layout.partition_by, () if layout.partition_by else layout.cluster_by
    now = facts.partition_by, () if facts.partition_by else facts.cluster_by
    for word, is_now, asked in zip(("partition_by", "cluster_by"), now, wanted, strict=True):
        if [name.lower() for name in is_now] != [name.lower() for name in asked]:
            yield f"{word} is [{', '.join(is_now)}], the code says [{', '.join(asked)}]"
