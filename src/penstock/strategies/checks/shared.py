"""Few aggregates instead of many: what was observed is put together after the rows were written.

Spark computes every observed aggregate anew for every row, even one that it has already. So each
call is observed once, and what is made of calls, a comparison with a bound for one, is worked out
from their values in a query without rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.columns.schema import Schema
from penstock.core.names import literal, quoted
from penstock.core.statement import OBSERVED_ROWS, Row
from penstock.strategies.checks.restriction import COUNT_ALL, UNREAD

_CALL = re.compile(r"(?<![\w`.])(?:count|min|max|try_sum|avg)(?=\s*\()", re.IGNORECASE)
_UNREAD = re.compile(UNREAD, re.DOTALL)
_FUNCTION = re.compile(r"(?<![\w`.])(\w+)\s*\(")
_PLAIN = frozenset({"cast", "coalesce", "and", "or", "not", "in"})


_EXACT = re.compile(
    r"tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\)|string|date|timestamp(_ntz)?|boolean"
)
"""Types whose values come back from their text as they were."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The aggregate calls that wanted values are made of, by name, and those as SQL on the names.

    `OBSERVED_ROWS` is no call: the count of all rows is always observed.
    """

    calls: Mapping[str, str]
    wanted: Mapping[str, str]

    @property
    def counts(self) -> Mapping[str, str]:
        """What is observed: every call as text, and the count of all rows."""
        texts = {name: f"CAST({call} AS STRING)" for name, call in self.calls.items()}
        return {OBSERVED_ROWS: COUNT_ALL, **texts}

    @staticmethod
    def is_exact(types: Schema) -> bool:
        """Whether values of these types survive being written as text."""
        return all(_EXACT.fullmatch(column.type) for column in types.columns)

    def put_together(self, observed: Row, types: Schema) -> str:
        """Give a query without rows of a table that works out what is wanted."""
        values = ", ".join(
            f"CAST({_literal(observed[name])} AS {column.type})"
            for name, column in zip(self.calls, types.columns, strict=True)
        )
        wanted = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self.wanted.items())
        return f"SELECT {wanted} FROM VALUES ({values}) AS t({', '.join(self.calls)})"


def described(aggregates: Mapping[str, str], columns: Schema) -> str:
    """Give a query that runs nothing and whose columns have the types of aggregates."""
    given = ", ".join(f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in columns.columns)
    asked = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in aggregates.items())
    return f"SELECT {asked} FROM (SELECT {given})"


def shared(aggregates: Mapping[str, str]) -> Shared | None:
    """Give the calls of some aggregates, each once; None where one cannot be taken apart."""
    calls: dict[str, str] = {}
    names: dict[str, str] = {COUNT_ALL: OBSERVED_ROWS}
    wanted = {}
    for name, sql in aggregates.items():
        if name == OBSERVED_ROWS:
            continue
        text, at = "", 0
        for start, end in _calls(sql):
            call = _folded(sql[start:end])
            known = names.setdefault(call, f"_ps_a{len(names)}")
            calls[known] = call
            text += sql[at:start] + known
            at = end
        text += sql[at:]
        if at == 0 or not _is_plain(text) or OBSERVED_ROWS in text:
            return None
        wanted[name] = text
    return Shared(calls, wanted) if wanted else None


def _calls(sql: str) -> list[tuple[int, int]]:
    """Give where aggregate calls stand; what is quoted is no call."""
    found, masked = [], _UNREAD.sub(lambda each: "_" * len(each[0]), sql)
    for match in _CALL.finditer(masked):
        depth, at = 0, masked.index("(", match.end())
        for place in range(at, len(masked)):
            depth += {"(": 1, ")": -1}.get(masked[place], 0)
            if not depth:
                found.append((match.start(), place + 1))
                break
    return found


def _folded(call: str) -> str:
    """Write the name of the function in lower case, so that `MAX(x)` and `max(x)` are one."""
    name, bracket, rest = call.partition("(")
    return name.strip().lower() + bracket + rest


def _is_plain(text: str) -> bool:
    """Whether nothing is left that needs a row: no column, no other function."""
    bare = _UNREAD.sub(lambda each: "`" if each[0].startswith("`") else " ", text)
    functions = {name.lower() for name in _FUNCTION.findall(bare)}
    types = bool(re.search(r"\bdecimal\s*\(", bare, re.IGNORECASE))
    return "`" not in bare and functions - ({"decimal"} if types else set()) <= _PLAIN


def _literal(value: object) -> str:
    return "NULL" if value is None else literal(str(value))
