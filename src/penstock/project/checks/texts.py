"""The SQL of checks: queries and conditions, kept in the parse cache (spec/checks.md §1.6, §4.1).

Thousands of checks share few parsers' seconds: a text that an earlier load understood costs one
look-up and starts no parser. What depends on other files is decided afterwards, on every load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from penstock.core.checks import Condition
from penstock.core.findings import Finding
from penstock.core.query import Query
from penstock.project.checks.scene import UNKNOWN, ConditionKind, KnownColumns, Understood
from penstock.project.files.cache import (
    CacheEntry,
    ParseCache,
    read_findings,
    read_sql,
    write_findings,
    write_sql,
)
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
)
from penstock.project.sql.bodies import parameter_findings
from penstock.project.sql.names import NameResolver, QueryOwner, link

T = TypeVar("T")
_MODELS_ARE = "a model is one query"
_OWN_TABLE = "PENSTOCK:THIS"
_HINTS = {
    "not-a-query": "a check reads the rows of a SELECT",
    "unparsed-sql": "penstock then knows only {destination} and the parameters in it",
}


# Any: results are the JSON of our own cache, as in `parsed.py`; what does not fit is thrown away.
def remembered(
    cache: ParseCache | None, key: Sequence[str], read: Callable[[Sequence[Any]], T]
) -> T | None:
    """Give what an earlier load, or this one, kept of a text; None if nothing fits."""
    if cache is None:
        return None
    return cache.recall(_name(key), "", lambda entry: read(entry.result))


def remember(cache: ParseCache | None, key: Sequence[str], result: Sequence[Any]) -> None:
    """Keep what was understood of a text; the text is a part of the key."""
    if cache is not None:
        cache.keep(_name(key), CacheEntry("", (), result))


def _name(key: Sequence[str]) -> str:
    return place_key(("", "check", *key))


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
    file = _file_of(text, cache)
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


def _file_of(text: str, cache: ParseCache | None) -> SqlFile:
    key = ("query", text)
    known = remembered(cache, key, lambda entry: read_sql("", (), entry))
    if known is not None:
        return known
    from penstock.project.sql import parameters  # costs 0.2 s that a warm load saves

    written, unknown = parameters.with_destination(text)
    from penstock.project.sql import sql_file  # costs 0.2 s that a warm load saves

    file = sql_file.parse_plain_sql("", written)
    found = (*map(_worded, file.findings), *located(unknown, ""))
    file = replace(file, findings=found)
    if not any(finding.is_error for finding in found):
        remember(cache, key, write_sql(file))
    return file


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


def _unknown(
    named: Sequence[tuple[str, int]], known: KnownColumns, column: str
) -> Iterator[Problem]:
    """Report each column that there is not, once."""
    first: dict[str, int] = {}
    for name, line in named:
        first.setdefault(name, line)
    for name, line in first.items():
        if known.lacks(name) and name.lower() != column.lower():
            sentence, hint = known.without(name)
            yield Problem("unknown-column", sentence, hint, line_offset=line)


# Any: the JSON of our own cache, as above.
def _write(found: Understood) -> list[Any]:
    condition = found.condition
    used = [[ref.names[0], ref.line] for ref in found.parameters]
    texts = [condition.text, list(condition.aggregates), condition.observable]
    return [*texts, used, write_findings(located(found.problems, "")), found.columns]


def _read(entry: Sequence[Any]) -> Understood:
    text, aggregates, observable, used, problems, named = entry
    condition = Condition(text, tuple(aggregates), observable)
    refs = tuple(TableRef(RefKind.PARAM, (name,), line, qualifies=True) for name, line in used)
    columns = tuple((name, line) for name, line in named)
    return Understood(condition, refs, tuple(problems_of(read_findings(problems))), columns)
