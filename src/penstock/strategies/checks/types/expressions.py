"""Types for which users write SQL, or that read another table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.core.checks.check_type import (
    ROWS,
    CheckType,
    Condition,
    CountedRows,
    GivenKeys,
    GroupMeasures,
    GroupValue,
    KeyKind,
    Lookup,
    Measure,
    key,
)
from penstock.core.columns.schema import Schema
from penstock.core.columns.types import is_text, parse_type, scalars
from penstock.core.names import InputName, quoted
from penstock.core.query import Query
from penstock.strategies.checks import literals, measure


@dataclass(frozen=True, slots=True)
class SqlCheck(CheckType):
    """Passes if the query returns no row. `source` is its file, "" for inline SQL.

    Its own table is the input of kind THIS: `{destination}`.
    """

    query: Query = key(
        "sql",
        KeyKind.QUERY,
        "Of `sql`: a query that must give no row, or a `.sql` file.",
        "select * from {destination} where amount < 0",
        text_field="source",
    )
    source: str = ""

    name = "sql"
    has_failing = True
    takes_rows = False
    is_observable = False
    is_alone = True
    without_empty = "the query says what no rows mean"


_PLAIN = re.compile(r"`([A-Za-z_]\w*)`")
_FIGURES = re.compile(rf"({measure.FIGURES})\s*\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ColumnCheck(CheckType):
    """Passes if a condition is true for the group, or for each row; NULL counts as false."""

    column: str = measure.COLUMN()
    condition: Condition = key(
        "check",
        KeyKind.CONDITION,
        "Of `column_check`: a condition on `{column}`; of the group with an aggregate, else of "
        "every row.",
        "MIN({column}) >= 0",
    )

    name = "column_check"
    has_failing = True

    def measure(self, rows: CountedRows) -> Measure:
        """Count the failing rows, or measure the condition and the aggregates in it.

        Without `sample`, only numeric aggregates are measured: others may contain values of rows.
        """
        condition = self.condition
        if not condition.aggregates:
            return measure.counting(
                rows,
                f"NOT coalesce({measure.bracketed(condition.text)}, false)",
                "every row meets the condition",
                lambda group: (
                    f"{literals.amount(group.failures, 'row')} "
                    f"{'breaks' if group.failures == 1 else 'break'} the condition"
                ),
            )
        shown = {
            _PLAIN.sub(r"\1", each): measure.text(rows.call(each))
            for each in condition.aggregates
            if rows.sample or _FIGURES.match(each)
        }

        def judge(group: GroupMeasures) -> GroupValue:
            met = group.values.get("condition")
            if met == "true":
                return measure.passed("condition is true")
            values = {each: group.values.get(each) for each in shown}
            written = ", ".join(f"{k} = {'NULL' if v is None else v}" for k, v in values.items())
            message = "condition is NULL (no rows?)" if met is None else "condition is false"
            return measure.failed(message, literals.shortened(written, literals.DETAILS) or None)

        whole = measure.bracketed(rows.condition(condition.text, condition.aggregates))
        return Measure({ROWS: rows.count_all, "condition": measure.text(whole), **shown}, judge)


_FOUND = "__penstock_found"
_OWN, _OTHERS = "__penstock_own", "__penstock_others"


@dataclass(frozen=True, slots=True)
class Relationships(CheckType):
    """Passes if every row without NULL in the columns has a match in another table."""

    columns: tuple[str, ...] = measure.COLUMNS()
    to: InputName = key(
        "to",
        KeyKind.TABLE,
        "Of `relationships`: the other table.",
        "ref('countries')",
        text_field="shown",
    )
    fields: tuple[str, ...] = key(
        "fields",
        KeyKind.FIELDS,
        "Of `relationships`: its columns; `field` is the same.",
        ("code",),
        alias="field",
    )
    shown: str = ""
    """The other table in messages: `staging.users`."""

    name = "relationships"
    has_failing = True
    for_people = frozenset({"shown"})
    is_observable = False
    is_alone = True

    @classmethod
    def settle(cls, keys: GivenKeys, values: dict[str, Any]) -> dict[str, Any]:
        """Refuse different numbers of columns and fields."""
        columns, fields = values.get("columns", ()), values.get("fields", ())
        if columns and fields and len(columns) != len(fields):
            keys.bad("fields", f"as many columns as columns, which are {len(columns)}")
        return values

    def measure(self, rows: CountedRows) -> Measure:
        """Count the rows without a match; NULL matches nothing.

        The rows are those of the `lookup`.
        """
        has_all = "".join(f"{quoted(each)} IS NOT NULL AND " for each in self.columns)
        there = f"{self.shown} ({', '.join(self.fields)})"
        return measure.counting(
            rows,
            f"{has_all}NOT {_FOUND}",
            "every row has a partner",
            lambda group: f"{literals.amount(group.failures, 'row')} without a partner in {there}",
        )

    def lookup(self, views: Mapping[InputName, str]) -> Lookup | None:
        """Return how matches are looked up."""
        view = quoted(views[self.to])
        names = f"SELECT {', '.join(quoted(each) for each in self.fields)} FROM {view}"
        return Lookup(names, partial(self._with_partners, view), self._misfit)

    def _with_partners(self, view: str, rows: str) -> str:
        """Return rows with an extra column: whether the other table has a match.

        A name before a dot could also be a column, so both sides have reserved names.
        """
        same = " AND ".join(
            f"{_OTHERS}.{quoted(field)} = {_OWN}.{quoted(column)}"
            for column, field in zip(self.columns, self.fields, strict=True)
        )
        partner = f"EXISTS (SELECT 1 FROM {view} AS {_OTHERS} WHERE {same})"
        return f"SELECT {_OWN}.*, {partner} AS {_FOUND} FROM (\n{rows}\n) AS {_OWN}"

    def _misfit(self, columns: Schema, fields: Schema) -> str:
        """Return which columns cannot be compared: Spark would cast texts, and fail or miss."""
        for name, other in zip(self.columns, fields.columns, strict=True):
            own = columns.find(name)
            kinds = [own.type if own else other.type, other.type]
            texts = [[is_text(each) for each in scalars(parse_type(k))] for k in kinds]
            if texts[0] != texts[1]:
                types = " with ".join(kind.upper() for kind in kinds)
                return f'column "{name}": {types} is not compared'
        return ""
