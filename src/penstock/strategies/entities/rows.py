"""A slice in progress: columns and SQL, as values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    Field,
    MapType,
    StructType,
    parse_type,
    sql_type,
    widens,
)
from penstock.core.entities.entity import EntityColumn
from penstock.core.errors import SchemaError
from penstock.core.findings import Finding
from penstock.core.names import quoted
from penstock.strategies.build import is_lost
from penstock.strategies.values import convert

SLICE_VIEW = "penstock_slice"
MADE_VIEW = "penstock_made"
"""The rows after steps 1 and 2, which statistics and statements read."""

OUT = "`__penstock_out`"
"""The column of labelled rows with the reason why a row does not count, NULL if it does."""

_REFUSED = re.compile(r"[\s,;{}()=]")
"""Characters that Delta refuses in names at any depth."""


@cache
def clean_type(kind: str) -> str:
    """Return a type without the characters that Delta refuses in field names.

    A cast of structs goes by position, so it renames fields.

    >>> clean_type("array<struct<a b:int,c-d:int>>")
    'array<struct<ab:int,c-d:int>>'
    """
    return str(_clean(parse_type(kind)))


def _clean(kind: ColumnType) -> ColumnType:
    match kind:
        case ArrayType(element):
            return ArrayType(_clean(element))
        case MapType(key, value):
            return MapType(_clean(key), _clean(value))
        case StructType(fields):
            names = [_REFUSED.sub("", each.name) for each in fields]
            types = [_clean(each.type) for each in fields]
            return StructType(tuple(map(Field, names, types)))
        case _:
            return kind


def wrong_fields(kind: ColumnType, path: str) -> Iterator[tuple[str, str, str]]:
    """Return struct fields with an empty or ambiguous cleaned name: a code, then their paths.

    >>> [*wrong_fields(parse_type("struct<a b:int,ab:int,=:int>"), "s")]
    [('column-name-collision', 's.a b', 's.ab'), ('empty-column-name', 's.=', '')]
    """
    match kind:
        case ArrayType(element):
            yield from wrong_fields(element, f"{path}.element")
        case MapType(key, value):
            yield from wrong_fields(key, f"{path}.key")
            yield from wrong_fields(value, f"{path}.value")
        case StructType(fields):
            seen: dict[str, str] = {}
            for each in fields:
                here, name = f"{path}.{each.name}", _REFUSED.sub("", each.name).lower()
                first = seen.setdefault(name, here) if name else ""
                if not name:
                    yield "empty-column-name", here, ""
                elif first != here:
                    yield "column-name-collision", first, here
                yield from wrong_fields(each.type, here)
        case _:
            pass


Describe = Callable[[str], Schema]


@dataclass(frozen=True, slots=True)
class SliceRead:
    """The input of the steps for one slice; its rows are those of `penstock_slice`.

    `name` marks its rows. With `only`, just the rows of a whole source with that mark are read,
    with `where` those that meet a condition on final columns. `describe` returns the columns of a
    query without running it. With `is_anew` the rows replace those of the table.
    """

    name: str
    moment: dt.datetime
    describe: Describe
    only: str = ""
    where: str = ""
    is_anew: bool = False


@dataclass(frozen=True, slots=True)
class StagedColumn:
    """One column in progress: `name` and `have` in `penstock_made`, `final` and `type` at the end.

    `want` is the type in the entity, `type` that in the table. A column without `name` is missing
    and NULL.
    """

    name: str
    have: str
    final: str
    want: str = ""
    type: str = ""
    declared: EntityColumn | None = None
    is_made: bool = False
    is_flag: bool = False
    by_partition: bool = False

    @property
    def is_fallible(self) -> bool:
        """Whether its cast may fail for some value."""
        if not self.name or self.want == clean_type(self.have):
            return False
        have, want = self.have.partition("(")[0], self.want.partition("(")[0]
        moments = {"date", "timestamp", "timestamp_ntz"}
        sure = want == "string" or widens(self.have, self.want) or {have, want} <= moments
        return not sure and have not in {"void", "boolean"}

    @property
    def as_wanted(self) -> str:
        """SQL for the cast value, NULL if the cast fails."""
        return f"try_cast({quoted(self.name)} AS {sql_type(parse_type(self.want))})"

    def value(self, *, tries: bool = False) -> str:
        """Return SQL for the value in the table; a failing cast gives NULL or an error."""
        sql = quoted(self.name)
        if not self.name:
            sql = f"CAST(NULL AS {self.want})"
        elif self.want != self.have:
            kind = sql_type(parse_type(self.want))
            sql = self.as_wanted if tries else f"CAST({sql} AS {kind})"
        if self.by_partition and self.want.startswith("string"):
            sql = f"CASE WHEN NOT {is_lost(sql)} THEN {sql} END"  # Delta stores it so
        if self.is_flag:
            sql = f"coalesce({sql}, false)"
        return sql if self.type in ("", self.want) else convert(sql, self.want, self.type)


@dataclass(frozen=True, slots=True)
class SliceRows:
    """Rows in progress between the steps.

    `made_sql` is the SQL of steps 1 and 2 and `schema` its columns, of which `computed` are defined
    by SQL. `added` are penstock's columns, as SQL over the others; `system` are their names,
    including those provided by the slice. `where` is the condition, on final columns, for a whole
    source. `lost` are table columns that the slice lacks, `new` and `widened` the names of those
    that it adds or widens. `notes` are warnings, `findings` errors. With `is_labelled`, rows of
    `penstock_made` that have a reason in `OUT` do not count.
    """

    made_sql: str
    schema: Schema = Schema()
    system: tuple[str, ...] = ()
    computed: frozenset[str] = frozenset()
    columns: tuple[StagedColumn, ...] = ()
    added: tuple[tuple[Column, str], ...] = ()
    where: str = ""
    lost: tuple[Column, ...] = ()
    new: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    is_labelled: bool = False

    def find(self, final: str) -> StagedColumn | None:
        """Return the column with that final name, in any letter case."""
        return next((c for c in self.columns if c.final.lower() == final.lower()), None)

    @property
    def stored(self) -> Schema:
        """The columns of the result, in the order of a new table."""
        given = (Column(each.final, each.type) for each in self.columns)
        every = (*given, *(column for column, _ in self.added))
        places = {name.lower(): place for place, name in enumerate(self.system, 1)}
        return Schema(tuple(sorted(every, key=lambda c: places.get(c.name.lower(), 0))))

    def sql(self, but: Sequence[str] = ()) -> str:
        """Return the one SELECT over `penstock_made`, without some columns."""
        added = {column.name: f"{sql} AS {quoted(column.name)}" for column, sql in self.added}
        names = (name for name in self.stored.names if name not in but)
        chosen = ", ".join(added.get(name, quoted(name)) for name in names)
        where = f" WHERE {self.where}" if self.where else ""
        return f"SELECT {chosen} FROM ({self.typed()}){where}"

    def typed(self, *, tries: bool = False, more: Sequence[str] = ()) -> str:
        """Return the rows after steps 7 to 9 and 11, with the columns `more`."""
        values = [f"{c.value(tries=tries)} AS {quoted(c.final)}" for c in self.columns]
        counts = f" WHERE {OUT} IS NULL" if self.is_labelled else ""
        return f"SELECT {', '.join((*values, *more))} FROM {quoted(MADE_VIEW)}{counts}"

    def refuse(self) -> None:
        """Raise one error for all findings."""
        if not self.findings:
            return
        first, *others = self.findings
        texts = [first.sentence, *(f"{f.code}: {f.sentence} ({f.hint})" for f in others)]
        raise SchemaError(first.code, "; ".join(texts), where=first.where, hint=first.hint)
