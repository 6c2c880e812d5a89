"""Texts that Delta stores as NULL where they partition a table; they are refused, never written.

A row whose text turned into NULL would differ from its source for ever after.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.names import literal, quoted
from penstock.core.schema import Schema
from penstock.core.statement import Rule

CODE = "empty-partition-value"
_LOST = ("", "__HIVE_DEFAULT_PARTITION__")
_TEXTS = ("string", "varchar", "char", "binary")


def partition_texts(partition_by: Iterable[str], query: Schema) -> tuple[str, ...]:
    """Give the columns of a query that hold texts and partition the table it is written to."""
    found = (query.find(name) for name in partition_by)
    return tuple(c.name for c in found if c is not None and c.type.startswith(_TEXTS))


def is_lost(value: str) -> str:
    """Give the condition of a value being a text that would become NULL.

    >>> is_lost("`city`")
    "coalesce(CAST(`city` AS STRING) IN ('', '__HIVE_DEFAULT_PARTITION__'), false)"
    """
    lost = ", ".join(map(literal, _LOST))
    return f"coalesce(CAST({value} AS STRING) IN ({lost}), false)"


def any_lost(names: Iterable[str]) -> str:
    """Give the condition of a row holding such a text in any of some columns."""
    return " OR ".join(is_lost(quoted(name)) for name in names) or "false"


def lost_counts(names: Iterable[str]) -> dict[str, str]:
    """Give the aggregates, by name, that count the rows of `lost_rules`."""
    return {
        _count(number): f"count_if({is_lost(quoted(name))})" for number, name in enumerate(names)
    }


def lost_rules(
    names: Iterable[str], model: str, kept: str, shown_key: str = "", by: str = ""
) -> tuple[Rule, ...]:
    """Give a rule for each column; `kept` is the FROM clause, WHERE included, of rows to show.

    Without `shown_key`, SQL that shows a row's key, nothing is shown.
    """
    return tuple(
        Rule(
            _count(number),
            CODE,
            told(name, model, "{count} rows") + (" (e.g. {samples})" if shown_key else ""),
            hint(name),
            f"SELECT concat({shown_key}, {_value(name)}) {kept} AND {is_lost(quoted(name))} "
            f"ORDER BY {by} LIMIT 5"
            if shown_key
            else "",
        )
        for number, name in enumerate(names)
    )


def told(name: str, model: str, rows: str) -> str:
    """Give the sentence about rows that cannot be written."""
    return (
        f"{rows} of {model!r} hold a text in {name!r} that Delta would store as NULL, "
        "because the column partitions the table"
    )


def hint(name: str) -> str:
    """Give a way out for the text that is mostly meant, the empty one."""
    return f"select NULL or another text in its place: coalesce(nullif({name}, ''), 'none')"


def _count(number: int) -> str:
    return f"lost_{number}"


def _value(name: str) -> str:
    """Give SQL that shows the value: ` city=''`."""
    return f"{literal(f' {name}=')}, '\\'', CAST({quoted(name)} AS STRING), '\\''"
