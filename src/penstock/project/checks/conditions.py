"""Conditions of checks: `check:` of a column_check, and `where:` (spec/checks.md §1.6, §4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.core.checks import Condition
from penstock.project.cache import ParseCache
from penstock.project.checks.cached_sql import (
    read_problems,
    remember,
    remembered,
    write_problems,
)
from penstock.project.checks.queries import not_allowed
from penstock.project.checks.scene import UNKNOWN, Columns
from penstock.project.checks.understood import ConditionKind, Understood
from penstock.project.parsed import Hole, HoleKind
from penstock.project.problems import Problem, ReadText, has_error


def condition_of(
    text: str,
    kind: ConditionKind,
    *,
    column: str = "",
    allowed: frozenset[str],
    known: Columns = UNKNOWN,
    cache: ParseCache | None = None,
) -> ReadText[Condition]:
    """Read a condition; beside an error there is no value.

    `column` is what `{column}` means, "" where it means nothing. `allowed` names the parameters
    that have a value here, `known` the columns that there are; `column` is not looked up.
    """
    key = (kind, column, text)
    found = remembered(cache, key, _read)
    if found is None:
        from penstock.project.checks import expressions  # costs 0.2 s that a warm load saves

        found = expressions.understood(text, kind, column)
        if not has_error(found.problems):
            remember(cache, key, _write(found))
    unknown = _unknown(found.columns, known, column)
    problems = (*found.problems, *not_allowed(found.parameters, allowed), *unknown)
    return ReadText(None if has_error(problems) else found.condition, problems)


def _unknown(named: Sequence[tuple[str, int]], known: Columns, column: str) -> Iterator[Problem]:
    """Report each column that there is not, once."""
    first: dict[str, int] = {}
    for name, line in named:
        first.setdefault(name, line)
    for name, line in first.items():
        if known.lacks(name) and name.lower() != column.lower():
            sentence, hint = known.without(name)
            yield Problem("unknown-column", sentence, hint, line_offset=line)


# Any: the JSON of our own cache, as in `cached_sql.py`.
def _write(found: Understood) -> list[Any]:
    condition = found.condition
    used = [[hole.names[0], hole.line] for hole in found.parameters]
    texts = [condition.text, list(condition.aggregates), condition.observable]
    return [*texts, used, write_problems(found.problems), found.columns]


def _read(entry: Sequence[Any]) -> Understood:
    text, aggregates, observable, used, problems, named = entry
    condition = Condition(text, tuple(aggregates), observable)
    holes = tuple(Hole(HoleKind.PARAM, (name,), line, qualifies=True) for name, line in used)
    columns = tuple((name, line) for name, line in named)
    return Understood(condition, holes, read_problems(problems), columns)
