"""Which keys a check may have, by its type (spec/checks.md §1.2, §1.3)."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.checks import TYPES
from penstock.project.trees.sheet import Keys
from penstock.project.values import Plain

TYPE_NAMES = tuple(TYPES.values())
WITH_CHECKS = ("checks", "invariants")
"""The keys under which checks stand: the second is another word for the first."""
PHASES = ("before", "after")
_SHOWN = ("name", "type", "severity", "description", "tags", "meta", "enabled", "sample")
_ROWS = ("where", "input", "query", "scope", "empty")
_COLUMNS = {"column": "columns"}
_QUERY = {"source": "query"}


def _typed(
    known: tuple[str, ...], needed: tuple[str, ...] = (), aliases: Mapping[str, str] | None = None
) -> Keys:
    return Keys((*_SHOWN, *_ROWS, *known), needed, {**_QUERY, **(aliases or {})})


KEYS: Mapping[str, Keys] = {
    "sql": Keys((*_SHOWN, "sql", "empty"), ("sql",)),
    "row_count": _typed(("min", "max")),
    "column_check": _typed(("column", "check"), ("column", "check")),
    "null_percentage": _typed(("column", "max_percentage"), ("column", "max_percentage")),
    "distinct_count": _typed(("columns", "min", "max"), ("columns",), _COLUMNS),
    "value_range": _typed(("column", "min", "max", "strict"), ("column",)),
    "unique": _typed(("columns", "nulls", "versions"), ("columns",), _COLUMNS),
    "not_null": _typed(("columns",), ("columns",), _COLUMNS),
    "accepted_values": _typed(("column", "values"), ("column", "values")),
    "relationships": _typed(
        ("columns", "to", "fields"),
        ("columns", "to", "fields"),
        {**_COLUMNS, "field": "fields"},
    ),
    "freshness": _typed(("column", "max_age"), ("column", "max_age")),
    "row_count_change": _typed(
        ("max_increase_percent", "max_decrease_percent", "max_percent", "compare", "last")
    ),
}
"""The keys of every type."""


def canonical(key: str) -> str:
    """Give the one name of a key of any type.

    >>> canonical("column"), canonical("source"), canonical("min")
    ('columns', 'query', 'min')
    """
    return {**_COLUMNS, **_QUERY, "field": "fields"}.get(key, key)


def checks_schema() -> dict[str, Plain]:
    """Give the JSON Schema of what stands under `checks:`, for editors; loading checks more."""
    keys = {key for each in KEYS.values() for key in (*each.known, *each.aliases)}
    known: dict[str, Plain] = {key: {} for key in sorted(keys)}
    known["type"] = {"enum": list(TYPE_NAMES)}
    known["severity"] = {"enum": ["error", "warning", "warn"]}
    known["scope"] = {"enum": ["step", "table"]}
    known["empty"] = {"enum": ["pass", "fail"]}
    check: Plain = {"type": "object", "properties": known}
    listed: Plain = {"type": "array", "items": check}
    phases: dict[str, Plain] = dict.fromkeys(PHASES, listed)
    phases["on_failure"] = {"enum": ["flag", "block", "rollback"]}
    return {"anyOf": [listed, {"type": "object", "properties": phases}]}
