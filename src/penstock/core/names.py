"""Names of tables and inputs, and how SQL quotes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted(identifier: str) -> str:
    """Quote one identifier for Spark SQL, whatever characters it holds.

    >>> quoted("odd`name")
    '`odd``name`'
    """
    return "`" + identifier.replace("`", "``") + "`"


def literal(text: str) -> str:
    r"""Give a Spark SQL string literal.

    >>> literal("it's")
    "'it\\'s'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def is_plain(identifier: str) -> bool:
    """Whether a name needs no quotes: letters, digits and underscores, no digit first."""
    return _PLAIN.fullmatch(identifier) is not None


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table as users write it: `schema.table`. Spark compares the parts without case.

    >>> str(TableName("staging", "users"))
    'staging.users'
    """

    schema: str
    table: str

    def __str__(self) -> str:
        """Give the dotted form; a table without a schema is its name alone."""
        return f"{self.schema}.{self.table}" if self.schema else self.table

    @property
    def folded(self) -> str:
        """The dotted form in lower case, for comparing."""
        return str(self).lower()

    @property
    def sql(self) -> str:
        """The dotted form with both parts quoted.

        >>> TableName("a", "b").sql
        '`a`.`b`'
        """
        return f"{quoted(self.schema)}.{quoted(self.table)}"


class InputKind(StrEnum):
    """What stands behind a name that a query reads."""

    MODEL = "model"
    SOURCE = "source"
    EXTERNAL = "external"
    THIS = "this"


@dataclass(frozen=True, slots=True, order=True)
class InputName:
    """What a query reads: a model by its name, a source or an external table by `schema.table`.

    >>> str(InputName(InputKind.SOURCE, "raw.events"))
    'raw.events'
    """

    kind: InputKind
    name: str

    def __str__(self) -> str:
        """Give the name alone, as records and reports show it."""
        return self.name
