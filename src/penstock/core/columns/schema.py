"""Columns of queries and tables, with types in Spark's own short spelling."""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Column:
    """One top-level column; `type` is Spark's simple string, for example `struct<a:int>`."""

    name: str
    type: str
    nullable: bool = True
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns in order. Names compare case-insensitively, as in Spark.

    >>> Schema((Column("Id", "int"),)).find("ID")
    Column(name='Id', type='int', nullable=True, comment='')
    """

    columns: tuple[Column, ...] = ()
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the names in order, as written."""
        object.__setattr__(self, "names", tuple(column.name for column in self.columns))

    def find(self, name: str) -> Column | None:
        """Return the column with that name, in any letter case, or None."""
        folded = name.lower()
        return next((c for c in self.columns if c.name.lower() == folded), None)


_NAMES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def schema_from_json(text: str) -> Schema:
    """Parse the schema of Spark or Delta to types in Spark's short spelling.

    >>> schema_from_json('{"type":"struct","fields":[{"name":"a","type":"long","nullable":true}]}')
    Schema(columns=(Column(name='a', type='bigint', nullable=True, comment=''),))
    """
    found = []
    for each in json.loads(text)["fields"]:
        comment = str((each.get("metadata") or {}).get("comment", ""))
        found.append(Column(each["name"], _spark_type(each["type"]), each["nullable"], comment))
    return Schema(tuple(found))


def _spark_type(kind: str | dict[str, object]) -> str:
    if isinstance(kind, str):
        return _NAMES.get(kind, kind)
    match kind:
        case {"type": "struct", "fields": list(fields)}:
            inner = ",".join(f"{f['name']}:{_spark_type(f['type'])}" for f in fields)
            return f"struct<{inner}>"
        case {"type": "array", "elementType": element}:
            return f"array<{_spark_type(element)}>"  # type: ignore[arg-type]
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_spark_type(key)},{_spark_type(value)}>"  # type: ignore[arg-type]
        case _:
            return str(kind)
