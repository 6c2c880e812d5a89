"""The SQL of checks: queries and conditions, kept in the parse cache (spec/checks.md §1.6, §4.1).

Thousands of checks share few parsers' seconds: a text that an earlier load understood costs one
look-up and starts no parser. What depends on other files is decided afterwards, on every load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from penstock.core.checks import Condition
from penstock.core.findings import Finding
from penstock.core.query import Query
from penstock.project.checks.scene import UNKNOWN, ConditionKind, KnownColumns, Understood
from penstock.project.files.cache import CacheEntry, ParseCache
from penstock.project.files.parsed import (
    Branch,
    Problem,
    ReadText,
    RefKind,
    SqlFile,
    TableRef,
    has_error,
    located,
    place_key,
    problems_of,
    read_findings,
    read_sql,
    write_findings,
    write_sql,
)
from penstock.project.sql.bodies import parameter_findings
from penstock.project.sql.link import QueryOwner, link
from penstock.project.sql.names import NameResolver

T = TypeVar("T")
_MODELS_ARE = "a model is one query"
_OWN_TABLE = "PENSTOCK:THIS"
_HINTS = {
    "not-a-query": "a check reads the rows of a SELECT",
    "unparsed-sql": "penstock then knows only {destination} and the parameters in it",
}


# Any: results are the JSON of our own cache, as in `parsed.py`; what does not fit is thrown away.
def _remembered(
    cache: ParseCache | None,
    key: Sequence[str],
    read: Callable[[Sequence[Any]], T],
    make: Callable[[], tuple[T, Sequence[Any] | None]],
) -> T:
    """Give what this load or an earlier one kept of a text, which is a part of the key.

    Else make it, and keep the form that `make` gives beside it, None for what is not kept.
    """
    name = place_key(("", "check", *key))
    found = cache.recall(name, "", lambda entry: read(entry.result)) if cache is not None else None
    if found is not None:
        return found
    found, form = make()
    if cache is not None and form is not None:
        cache.keep(name, CacheEntry("", (), form))
    return found


def query_of(
    text: str,
    reader: QueryOwner,
    resolver: NameResolver,
    allowed: frozenset[str],
    cache: ParseCache | None = None,
) -> ReadText[Query]:
    """Read a query and say which tables it reads; beside an error there is no value.

    `{destination}` and the own table of `reader.model` are the input of kind THIS. `allowed` names
    the parameters that have a value here.
    """
    file = _remembered(
        cache, ("query", text), lambda entry: read_sql("", (), entry), partial(_parsed, text)
    )
    problems = list(problems_of(file.findings))
    if not file.branches:
        return ReadText(None, tuple(problems))
    linked = link(file.branches, resolver, reader)
    refs = [ref for branch in file.branches for ref in branch.refs]
    problems += [*problems_of(linked.findings), *not_allowed(refs, allowed)]
    return ReadText(None if has_error(problems) else linked.query, tuple(problems))


def not_allowed(refs: Iterable[TableRef], allowed: frozenset[str]) -> list[Problem]:
    """Report parameters that have no value where a text stands."""
    others = tuple(h for h in refs if h.kind is RefKind.PARAM and h.names[0] not in allowed)
    if not others:
        return []
    found = parameter_findings([Branch("", None, others)], "", has_partition=False)
    return list(problems_of(found))


def _parsed(text: str) -> tuple[SqlFile, Sequence[Any] | None]:
    from penstock.project.sql import parameters, sql_file  # costs 0.2 s that a warm load saves

    written, unknown = parameters.with_destination(text)
    file = sql_file.parse_plain_sql("", written)
    found = (*map(_worded, file.findings), *located(unknown, ""))
    file = replace(file, findings=found)
    return file, None if any(finding.is_error for finding in found) else write_sql(file)


def _worded(finding: Finding) -> Finding:
    sentence = finding.sentence.replace(_MODELS_ARE, "one query is expected")
    sentence = sentence.replace(_OWN_TABLE, "{destination}")
    return replace(finding, sentence=sentence, hint=_HINTS.get(finding.code, finding.hint))


def condition_of(
    text: str,
    kind: ConditionKind,
    *,
    column: str = "",
    allowed: frozenset[str],
    known: KnownColumns = UNKNOWN,
    cache: ParseCache | None = None,
) -> ReadText[Condition]:
    """Read a condition; beside an error there is no value.

    `column` is what `{column}` means, "" where it means nothing. `allowed` names the parameters
    that have a value here, `known` the columns that there are; `column` is not looked up.
    """
    make = partial(_understood, text, kind, column)
    found = _remembered(cache, (kind, column, text), _read, make)
    # Columns that there are not, each once.
    first = dict(reversed(found.columns))
    unknown = [
        Problem("unknown-column", *known.without(name), line_offset=first[name])
        for name in dict.fromkeys(name for name, _ in found.columns)
        if known.lacks(name) and name.lower() != column.lower()
    ]
    problems = (*found.problems, *not_allowed(found.parameters, allowed), *unknown)
    return ReadText(None if has_error(problems) else found.condition, problems)


def _understood(
    text: str, kind: ConditionKind, column: str
) -> tuple[Understood, Sequence[Any] | None]:
    from penstock.project.checks import expressions  # costs 0.2 s that a warm load saves

    found = expressions.understood(text, kind, column)
    condition, used = found.condition, [[ref.names[0], ref.line] for ref in found.parameters]
    said = write_findings(located(found.problems, ""))
    texts = [condition.text, list(condition.aggregates), condition.observable]
    is_kept = not has_error(found.problems)
    return found, [*texts, used, said, found.columns] if is_kept else None


def _read(entry: Sequence[Any]) -> Understood:
    text, aggregates, observable, used, problems, named = entry
    condition = Condition(text, tuple(aggregates), observable)
    refs = tuple(TableRef(RefKind.PARAM, (name,), line, qualifies=True) for name, line in used)
    columns = tuple((name, line) for name, line in named)
    return Understood(condition, refs, tuple(problems_of(read_findings(problems))), columns)
