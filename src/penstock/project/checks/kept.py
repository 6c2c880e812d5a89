"""Results of earlier loads in the parse cache: the SQL of checks, and whole checks.

Thousands of checks share few distinct texts: a cached text costs one lookup and starts no parser,
and each model's checks stay text until they are used. What depends on other files is decided
afterwards, on every load.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from penstock.core.checks import check as core
from penstock.core.checks.check_type import Condition, fields_of
from penstock.core.findings import Finding, Location, Severity
from penstock.core.graph import find_cycle, reach
from penstock.core.names import InputName
from penstock.core.query import Query
from penstock.project.checks.scene import UNKNOWN, ConditionKind, KnownColumns, Understood
from penstock.project.files import cache as files
from penstock.project.files import parsed
from penstock.project.files.parsed import ReadText, SqlFile
from penstock.project.files.values import digest
from penstock.project.sql.bodies import parameter_findings
from penstock.project.sql.names import NameResolver, QueryOwner, link

T = TypeVar("T", SqlFile, Understood)
_MODELS_ARE = "a model is one query"
_OWN_TABLE = "{{ this }}"
_HINTS = {
    "not-a-query": "a check reads the rows of a SELECT",
    "unparsed-sql": "penstock then knows only {destination} and the parameters in it",
}


def _remembered(
    cache: files.ParseCache | None, key: Sequence[str], kind: type[T], make: Callable[[], T]
) -> T:
    """Return what this load or an earlier one kept for a text, which is part of the key.

    Otherwise compute it, and keep it if there is no error among its findings.
    """
    name = parsed.place_key(("", "check", *key))
    found = cache.recall(name, "", kind) if cache is not None else None
    if found is None:
        found = make()
        if cache is not None and not _has_error(found.findings):
            cache.keep(name, "", kind, found)
    return found


def query_of(
    text: str,
    reader: QueryOwner,
    resolver: NameResolver,
    allowed: frozenset[str],
    cache: files.ParseCache | None = None,
) -> ReadText[Query]:
    """Parse a query and find the tables it reads; with an error there is no value.

    `{destination}` and the own table of `reader.model` are the input of kind THIS. `allowed` are
    the parameters with a value here.
    """
    file = _remembered(cache, ("query", text), SqlFile, partial(_parsed, text))
    found = linked_query(file, reader, resolver, allowed)
    local = (replace(each, where=replace(each.where, path="")) for each in found.problems)
    return replace(found, problems=tuple(local))


def linked_query(
    file: SqlFile, reader: QueryOwner, resolver: NameResolver, allowed: frozenset[str]
) -> ReadText[Query]:
    """Link the parsed query of a check; a ref to its own table is its own table, too."""
    if not file.branches:
        return ReadText(None, file.findings)
    branches = [_with_own(branch, reader, resolver) for branch in file.branches]
    linked = link(branches, resolver, reader)
    others = not_allowed([ref for branch in branches for ref in branch.refs], allowed)
    located = [replace(each, where=replace(each.where, path=reader.path)) for each in others]
    problems = (*file.findings, *linked.findings, *located)
    return ReadText(None if _has_error(problems) else linked.query, problems)


def _with_own(branch: parsed.Branch, reader: QueryOwner, resolver: NameResolver) -> parsed.Branch:
    def own(ref: parsed.TableRef) -> parsed.TableRef:
        if ref.kind is not parsed.RefKind.REF or reader.model is None:
            return ref
        found = resolver.ref(ref.names[0])
        is_own = found is not None and found.input == reader.model.input
        return replace(ref, kind=parsed.RefKind.THIS, names=()) if is_own else ref

    return replace(branch, refs=tuple(map(own, branch.refs)))


def _has_error(problems: Iterable[Finding]) -> bool:
    return any(problem.is_error for problem in problems)


def not_allowed(refs: Iterable[parsed.TableRef], allowed: frozenset[str]) -> list[Finding]:
    """Report parameters without a value at the place of a text."""
    others = tuple(h for h in refs if h.kind is parsed.RefKind.PARAM and h.names[0] not in allowed)
    return parameter_findings([parsed.Branch("", None, others)], "", has_partition=False)


def _parsed(text: str) -> SqlFile:
    from penstock.project.sql import parameters, sql_file  # costs 0.2 s that a warm load saves

    written, unknown = parameters.with_destination(text)
    file = sql_file.parse_plain_sql("", written)
    found = []
    for each in file.findings:
        sentence = each.sentence.replace(_MODELS_ARE, "one query is expected")
        sentence = sentence.replace(_OWN_TABLE, "{destination}")
        found.append(replace(each, sentence=sentence, hint=_HINTS.get(each.code, each.hint)))
    return replace(file, findings=(*found, *unknown))


def condition_of(
    text: str,
    kind: ConditionKind,
    *,
    column: str = "",
    allowed: frozenset[str],
    columns: KnownColumns = UNKNOWN,
    cache: files.ParseCache | None = None,
) -> ReadText[Condition]:
    """Parse a condition; with an error there is no value.

    `column` is the meaning of `{column}`, "" if it has none. `allowed` are the parameters with a
    value here, `columns` the existing ones; `column` is not looked up.
    """

    def make() -> Understood:
        from penstock.project.checks import expressions  # costs 0.2 s that a warm load saves

        return expressions.understood(text, kind, column)

    found = _remembered(cache, (kind, column, text), Understood, make)
    # Columns that there are not, each once.
    first = dict(reversed(found.columns))
    unknown = [
        Finding(Location("", first[name] + 1), "unknown-column", *columns.without(name))
        for name in dict.fromkeys(name for name, _ in found.columns)
        if columns.lacks(name) and name.lower() != column.lower()
    ]
    problems = (*found.findings, *not_allowed(found.parameters, allowed), *unknown)
    return ReadText(None if _has_error(problems) else found.condition, problems)


_TAGS = {InputName: "i", Condition: "c", Query: "q"}
_MICRO = dt.timedelta(microseconds=1)


def definition_of(check: core.Check) -> str:
    """Return the digest of everything that affects a check's result: no name, severity or place."""
    rule = check.rule
    parts = {
        "type": check.type,
        "phase": check.phase,
        "rule": [
            _write(getattr(rule, each.name))
            for each in fields_of(rule)
            if each.name not in rule.for_people
        ],
        "where": _write(check.condition),
        "input": _write(check.input),
        "query": _write(check.query),
        "scope": check.scope,
        "empty": check.empty,
    }
    if check.thresholds is not None:  # so that definitions on record stay what they were
        parts["thresholds"] = [str(check.thresholds.error), str(check.thresholds.warning)]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return digest(text)


def _write(value: object) -> object:
    """Return a part in the form of the recorded digests."""
    match value:
        case Decimal():
            return {"d": str(value)}
        case dt.timedelta():
            return {"t": value // _MICRO}
        case InputName() | Condition() | Query():
            parts = [getattr(value, each.name) for each in fields(value)]
            return {_TAGS[type(value)]: [_write(each) for each in parts]}
        case tuple():
            return [_write(each) for each in value]
    return value


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """A model that a check of another reads: it is built first if possible."""

    model: str
    reads: str
    check: str
    where: Location


@dataclass(slots=True)
class Result:
    """The checks of one model by version, their inputs, and their findings.

    `needs` are digests of everything else that affects them: files and columns by name. `texts` are
    the cache entries with the parsed SQL.
    """

    checks: dict[int, core.Checks] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    needs: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


class KeptChecks(core.Checks):
    """Checks as text, which become values on first use."""

    __slots__ = ("_load", "text")
    _load: Callable[[], core.Checks]
    text: parsed.Packed

    def __new__(cls, *args: Any, **fields: Any) -> core.Checks:  # type: ignore[misc]  # noqa: ANN401
        """Create an ordinary value: the result of `dataclasses.replace` of a kept one."""
        return core.Checks(*args, **fields)

    @classmethod
    def of(cls, text: parsed.Packed, on_failure: core.OnFailure | None) -> core.Checks:
        """Return checks for the text of both lists, as `keep` compresses it."""
        found = object.__new__(cls)
        object.__setattr__(found, "_load", functools.cache(partial(_read, text)))
        object.__setattr__(found, "text", text)
        object.__setattr__(found, "on_failure", on_failure)
        return found

    @property
    def before(self) -> tuple[core.Check, ...]:
        """Those that read the rows of inputs."""
        return self._load().before

    @property
    def after(self) -> tuple[core.Check, ...]:
        """Those that read the rows of a step."""
        return self._load().after

    def __eq__(self, other: object) -> bool:
        """Return whether the content is equal, read or not."""
        return self._load() == (other._load() if isinstance(other, KeptChecks) else other)

    def __hash__(self) -> int:
        """Return the hash of the ordinary value."""
        return hash(self._load())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the ordinary value."""
        return (core.Checks, (self.before, self.after, self.on_failure))


def kept_checks(text: parsed.Packed, on_failure: core.OnFailure | None) -> core.Checks:
    """Return checks that are read on first use from what `packed_checks` returned."""
    return KeptChecks.of(text, on_failure)


def packed_checks(checks: core.Checks) -> parsed.Packed:
    """Return checks as a compressed text."""
    if isinstance(checks, KeptChecks):
        return checks.text
    written = files.codec_of(core.Checks).write(checks)
    return files.packed(json.dumps(written, separators=(",", ":"), ensure_ascii=False))


def _read(text: parsed.Packed) -> core.Checks:
    found: core.Checks = files.codec_of(core.Checks).read(json.loads(files.unpacked(text)))
    return found


_Version = tuple[int, core.OnFailure | None, parsed.Packed]


@dataclass(frozen=True, slots=True)
class _Kept:
    versions: tuple[_Version, ...]
    edges: tuple[Edge, ...]
    findings: tuple[Finding, ...]
    needs: Mapping[str, str]
    texts: tuple[str, ...]


def keep(cache: files.ParseCache, name: str, context: str, result: Result) -> None:
    """Keep the result of a model, unless it has errors."""
    if _has_error(result.findings):
        return
    versions = []
    for number, checks in result.checks.items():
        versions.append((number, checks.on_failure, packed_checks(checks)))
    edges, findings = tuple(result.edges), tuple(result.findings)
    kept = _Kept(tuple(versions), edges, findings, result.needs, tuple(result.texts))
    cache.keep(name, context, _Kept, kept)


def recall(
    cache: files.ParseCache, name: str, context: str, now: Callable[[str], str]
) -> Result | None:
    """Return the result of an earlier load, if `now` returns the digests that it needs."""
    entries: dict[str, files.Entry] = {}

    def agrees(reading: _Kept) -> bool:
        if any(now(need) != digest for need, digest in reading.needs.items()):
            return False
        pairs = ((t, cache.current.get(t) or cache.earlier.get(t)) for t in reading.texts)
        entries.update((text, entry) for text, entry in pairs if entry)
        return len(entries) == len(reading.texts)

    reading = cache.recall(name, context, _Kept, agrees)
    if reading is None:
        return None
    cache.current |= entries
    checks = {number: KeptChecks.of(text, word) for number, word, text in reading.versions}
    return Result(checks, list(reading.edges), list(reading.findings))


def order_edges(
    parents: Mapping[str, Sequence[str]], edges: Sequence[Edge], what: str = "check"
) -> tuple[dict[str, tuple[str, ...]], list[Finding]]:
    """Return the models to build before each beside `parents`, and findings for dropped edges."""
    new = [e for e in sorted(edges) if e.reads in parents and e.reads not in parents[e.model]]
    if not new or find_cycle(parents):
        return {}, []
    before, wanted = ({name: list(read) for name, read in parents.items()} for _ in range(2))
    for edge in new:
        wanted[edge.model].append(edge.reads)
    is_cyclic = bool(find_cycle(wanted))  # asked once, for it is rare and each edge costs a walk
    found: dict[str, set[str]] = {}
    findings = []
    for edge in new:
        if is_cyclic and edge.model in reach([edge.reads], before):
            late = f"{edge.reads}, which is built after {edge.model}"
            sentence = f'{what} "{edge.check}" reads {late}: it reads what is there'
            info = Severity.INFO
            findings.append(Finding(edge.where, "check-order-dropped", sentence, severity=info))
        else:
            before[edge.model].append(edge.reads)
            found.setdefault(edge.model, set()).add(edge.reads)
    return {model: tuple(sorted(reads)) for model, reads in found.items()}, findings
