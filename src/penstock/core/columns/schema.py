"""Columns of queries and tables, with types in Spark's own short spelling."""

from __future__ import annotations

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
