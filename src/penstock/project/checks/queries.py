"""The SQL of `sql:` and `query:`: a query whose tables are known (spec/checks.md §1.6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.core.findings import Finding
from penstock.core.query import Query
from penstock.project.bodies import parameter_findings
from penstock.project.book import Book
from penstock.project.cache import ParseCache
from penstock.project.checks.cached_sql import remember, remembered
from penstock.project.link import Reader, link
from penstock.project.parsed import Branch, Hole, HoleKind, SqlFile, read_sql, write_sql
from penstock.project.problems import Problem, ReadText, has_error, located, problems_of

_MODELS_ARE = "a model is one query"
_OWN_TABLE = "PENSTOCK:THIS"
_HINTS = {
    "not-a-query": "a check reads the rows of a SELECT",
    "unparsed-sql": "penstock then knows only {destination} and the parameters in it",
}


def query_of(
    text: str,
    reader: Reader,
    book: Book,
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
    linked = link(file.branches, book, reader)
    holes = [hole for branch in file.branches for hole in branch.holes]
    problems += [*problems_of(linked.findings), *not_allowed(holes, allowed)]
    return ReadText(None if has_error(problems) else linked.query, tuple(problems))


def not_allowed(holes: Iterable[Hole], allowed: frozenset[str]) -> list[Problem]:
    """Report parameters that have no value where a text stands."""
    others = tuple(h for h in holes if h.kind is HoleKind.PARAM and h.names[0] not in allowed)
    if not others:
        return []
    found = parameter_findings([Branch("", None, others)], "", has_partition=False)
    return list(problems_of(found))


def _file_of(text: str, cache: ParseCache | None) -> SqlFile:
    key = ("query", text)
    known = remembered(cache, key, lambda entry: read_sql("", (), entry))
    if known is not None:
        return known
    from penstock.project.checks import placeholders  # costs 0.2 s that a warm load saves

    written, unknown = placeholders.with_destination(text)
    from penstock.project import sql_file  # costs 0.2 s that a warm load saves

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
