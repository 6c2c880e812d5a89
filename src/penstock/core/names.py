"""Names of tables and inputs, and how SQL quotes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

COLUMN_MAPPING = "delta.columnMapping.mode"
NAMES_HINT = f"rename it, or set table_properties: {{'{COLUMN_MAPPING}': 'name'}}"
_REFUSED = re.compile(r"[ ,;{}()\n\t=]")
_SHOWN = {" ": "a space", "\n": "a line break", "\t": "a tab"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    """
    all and anti any as authorization between both by case cast check collate column constraint
    create cross current_date current_time current_timestamp current_user distinct else end escape
    except exists false fetch filter for foreign from full grant group having ilike in inner
    intersect interval into is join lateral leading left like limit minus natural not null offset
    on only or order outer overlaps primary qualify references regexp right rlike select semi
    session_user some table tablesample then time to trailing true union unique unknown user using
    values when where with within
    """.split()  # noqa: SIM905  as a list it fills a page
)
"""Words that Spark, or a parser of its SQL, takes for something else than a column."""


def quoted(identifier: str) -> str:
    """Quote one identifier for Spark SQL, with any characters.

    >>> quoted("odd`name")
    '`odd``name`'
    """
    return "`" + identifier.replace("`", "``") + "`"


def literal(text: str) -> str:
    r"""Return a Spark SQL string literal.

    >>> literal("it's")
    "'it\\'s'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def refused_by_delta(column: str) -> str:
    """Return what Delta refuses in a column's name, "" if it accepts the name.

    >>> refused_by_delta("unit price"), refused_by_delta("a;b"), refused_by_delta("a.b")
    ('a space', "';'", '')
    """
    found = _REFUSED.search(column)
    return _SHOWN.get(found[0], f"'{found[0]}'") if found else ""


def maps_columns(properties: Mapping[str, str]) -> bool:
    """Return whether a table with these properties accepts every column name."""
    return properties.get(COLUMN_MAPPING, "none").lower() in {"name", "id"}


def is_plain(identifier: str) -> bool:
    """Return whether a name needs no quotes: letters, digits, underscores; no leading digit."""
    return _PLAIN.fullmatch(identifier) is not None


def column_sql(name: str) -> str:
    """Return a column for a query, quoted only if it must be.

    >>> column_sql("id"), column_sql("unit price"), column_sql("Order")
    ('id', '`unit price`', '`Order`')
    """
    return name if is_plain(name) and name.lower() not in _RESERVED else quoted(name)


def shown_name(dotted: str) -> str:
    """Quote the parts of a dotted name that need it, for display.

    >>> shown_name("raw.odd name")
    'raw.`odd name`'
    """
    return ".".join(part if is_plain(part) else quoted(part) for part in dotted.split("."))


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table as users write it: `schema.table`. Spark ignores letter case in both parts.

    >>> str(TableName("staging", "users"))
    'staging.users'
    """

    schema: str
    table: str

    def __str__(self) -> str:
        """Return the dotted form; for a table without a schema only its name."""
        return f"{self.schema}.{self.table}" if self.schema else self.table

    @property
    def folded(self) -> str:
        """The dotted form in lower case, for comparisons."""
        return str(self).lower()

    @property
    def sql(self) -> str:
        """The dotted form with both parts quoted.

        >>> TableName("a", "b").sql
        '`a`.`b`'
        """
        return f"{quoted(self.schema)}.{quoted(self.table)}"


class InputKind(StrEnum):
    """What a name in a query refers to."""

    MODEL = "model"
    SOURCE = "source"
    EXTERNAL = "external"
    THIS = "this"


@dataclass(frozen=True, slots=True, order=True)
class InputName:
    """An input of a query: a model by its name, a source or an external table by `schema.table`.

    >>> str(InputName(InputKind.SOURCE, "raw.events"))
    'raw.events'
    """

    kind: InputKind
    name: str

    def __str__(self) -> str:
        """Return the name alone, as in records and reports."""
        return self.name
