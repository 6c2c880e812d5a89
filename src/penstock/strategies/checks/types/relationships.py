"""The check `relationships`: every row finds its partner in another table."""

from __future__ import annotations

from penstock.core.checks import Relationships
from penstock.core.columns.schema import Schema
from penstock.core.columns.types import parse_type, scalars
from penstock.core.names import quoted
from penstock.strategies.checks.literals import counted, is_text
from penstock.strategies.checks.measure import Measure, Restriction, counting

_FOUND = "__penstock_found"
_OWN, _OTHERS = "__penstock_own", "__penstock_others"


def relationships(rule: Relationships, kept: Restriction) -> Measure:
    """Hold when every row without NULL in the columns has a partner; NULL is nobody's partner.

    The rows are those that `with_partners` gives.
    """
    has_all = "".join(f"{quoted(each)} IS NOT NULL AND " for each in rule.columns)
    where = f"{rule.shown} ({', '.join(rule.fields)})"
    return counting(
        kept,
        f"{has_all}NOT {_FOUND}",
        "every row has a partner",
        lambda found: f"{counted(found.failures, 'row')} without a partner in {where}",
    )


def with_partners(rows: str, rule: Relationships, view: str) -> str:
    """Give rows with a column more: whether the other table has a partner of the row.

    A name before a dot could be a column as well, so the two sides have names of our own.
    """
    same = " AND ".join(
        f"{_OTHERS}.{quoted(field)} = {_OWN}.{quoted(column)}"
        for column, field in zip(rule.columns, rule.fields, strict=True)
    )
    partner = f"EXISTS (SELECT 1 FROM {quoted(view)} AS {_OTHERS} WHERE {same})"
    return f"SELECT {_OWN}.*, {partner} AS {_FOUND} FROM (\n{rows}\n) AS {_OWN}"


def fields_of(rule: Relationships, view: str) -> str:
    """Give the query of the columns that partners are looked up by."""
    return f"SELECT {', '.join(quoted(each) for each in rule.fields)} FROM {quoted(view)}"


def unlike(rule: Relationships, columns: Schema, fields: Schema) -> str:
    """Say which columns cannot be compared: Spark would cast texts, and fail or find nothing."""
    for name, other in zip(rule.columns, fields.columns, strict=True):
        own = columns.find(name)
        kinds = [own.type if own else other.type, other.type]
        texts = [[is_text(each) for each in scalars(parse_type(kind))] for kind in kinds]
        if texts[0] != texts[1]:
            types = " with ".join(kind.upper() for kind in kinds)
            return f'column "{name}": {types} is not compared'
    return ""
