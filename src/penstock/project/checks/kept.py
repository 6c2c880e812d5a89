"""What an earlier load read, kept in the parse cache: the SQL of checks, and whole checks.

Thousands of checks share few parsers' seconds: a text that an earlier load understood costs one
look-up and starts no parser, and each model's checks stay text until somebody asks. What depends on
other files is decided afterwards, on every load.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from penstock.core import checks as core
from penstock.core.findings import Finding, Location, Severity
from penstock.core.names import InputKind, InputName
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
_OWN_TABLE = "PENSTOCK:THIS"
_HINTS = {
    "not-a-query": "a check reads the rows of a SELECT",
    "unparsed-sql": "penstock then knows only {destination} and the parameters in it",
}


# Any: results are the JSON of our own cache, as in `parsed.py`; what does not fit is thrown away.
def _remembered(
    cache: files.ParseCache | None,
    key: Sequence[str],
    read: Callable[[Sequence[Any]], T],
    make: Callable[[], T],
    write: Callable[[T], Sequence[Any]],
) -> T:
    """Give what this load or an earlier one kept of a text, which is a part of the key.

    Else make it, and keep it if no error is among its findings.
    """
    name = parsed.place_key(("", "check", *key))
    found = cache.recall(name, "", lambda entry: read(entry.result)) if cache is not None else None
    if found is not None:
        return found
    found = make()
    if cache is not None and not _has_error(found.findings):
        cache.keep(name, files.CacheEntry("", (), write(found)))
    return found


def query_of(
    text: str,
    reader: QueryOwner,
    resolver: NameResolver,
    allowed: frozenset[str],
    cache: files.ParseCache | None = None,
) -> ReadText[Query]:
    """Read a query and say which tables it reads; beside an error there is no value.

    `{destination}` and the own table of `reader.model` are the input of kind THIS. `allowed` names
    the parameters that have a value here.
    """
    read, make = partial(files.read_sql, "", ()), partial(_parsed, text)
    file = _remembered(cache, ("query", text), read, make, files.write_sql)
    if not file.branches:
        return ReadText(None, file.findings)
    linked = link(file.branches, resolver, reader)
    refs = [ref for branch in file.branches for ref in branch.refs]
    named = parsed.located(linked.findings, "")
    problems = (*file.findings, *named, *not_allowed(refs, allowed))
    return ReadText(None if _has_error(problems) else linked.query, problems)


def _has_error(problems: Iterable[Finding]) -> bool:
    return any(problem.is_error for problem in problems)


def not_allowed(refs: Iterable[parsed.TableRef], allowed: frozenset[str]) -> list[Finding]:
    """Report parameters that have no value where a text stands."""
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
    known: KnownColumns = UNKNOWN,
    cache: files.ParseCache | None = None,
) -> ReadText[core.Condition]:
    """Read a condition; beside an error there is no value.

    `column` is what `{column}` means, "" where it means nothing. `allowed` names the parameters
    that have a value here, `known` the columns that there are; `column` is not looked up.
    """

    def make() -> Understood:
        from penstock.project.checks import expressions  # costs 0.2 s that a warm load saves

        return expressions.understood(text, kind, column)

    key = (kind, column, text)
    found = _remembered(cache, key, _read_understood, make, _write_understood)
    # Columns that there are not, each once.
    first = dict(reversed(found.columns))
    unknown = [
        Finding(Location("", first[name] + 1), "unknown-column", *known.without(name))
        for name in dict.fromkeys(name for name, _ in found.columns)
        if known.lacks(name) and name.lower() != column.lower()
    ]
    problems = (*found.findings, *not_allowed(found.parameters, allowed), *unknown)
    return ReadText(None if _has_error(problems) else found.condition, problems)


def _write_understood(found: Understood) -> Sequence[Any]:
    used = [[ref.names[0], ref.line] for ref in found.parameters]
    said = files.write_findings(found.findings)
    return [astuple(found.condition), used, said, found.columns]


def _read_understood(entry: Sequence[Any]) -> Understood:
    (text, aggregates, observable), used, problems, named = entry
    condition = core.Condition(text, tuple(aggregates), observable)
    refs = tuple(
        parsed.TableRef(parsed.RefKind.PARAM, (name,), line, qualifies=True) for name, line in used
    )
    columns = tuple((name, line) for name, line in named)
    return Understood(condition, refs, files.read_findings(problems), columns)


_RULES = {word: rule for rule, word in core.TYPES.items()}
_WORDS = {"phase": core.Phase, "severity": Severity, "scope": core.CheckScope, "empty": core.Empty}
_TAGGED = {"i": InputName, "c": core.Condition, "q": Query, "l": Location}
_TAGS = {kind: tag for tag, kind in _TAGGED.items()}
_MICRO = dt.timedelta(microseconds=1)


def definition_of(check: core.Check) -> str:
    """Give the digest of what decides a check's result: not its name, severity, words or place."""
    rule = check.rule
    shown = {"shown"} if isinstance(rule, core.Relationships) else {"shown", "source"}
    parts = {
        "type": check.type,
        "phase": check.phase,
        "rule": [
            _write(getattr(rule, each.name)) for each in fields(rule) if each.name not in shown
        ],
        "where": _write(check.condition),
        "input": _write(check.input),
        "query": _write(check.query),
        "scope": check.scope,
        "empty": check.empty,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return digest(text)


# Any: JSON of our own cache; whatever does not fit is thrown away as a whole.
def write_check(check: core.Check) -> list[Any]:
    """Give a JSON form that `read_check_json` reads back equal."""
    rule = [check.type, *_write_fields(check.rule)]
    values = zip(fields(check), _write_fields(check), strict=True)
    return [rule if each.name == "rule" else value for each, value in values]


def read_check_json(entry: Sequence[Any]) -> core.Check:
    """Read what `write_check` gave; raises `ValueError`, `TypeError` or `KeyError` on damage."""
    names = (each.name for each in fields(core.Check))
    values = dict(zip(names, map(_read, entry), strict=True))
    kind, *rule = values["rule"]
    words = {name: word(values[name]) for name, word in _WORDS.items() if values[name] is not None}
    return core.Check(**{**values, **words, "rule": _RULES[kind](*rule)})


def _write(value: object) -> Any:  # noqa: ANN401  JSON
    match value:
        case Decimal():
            return {"d": str(value)}
        case dt.timedelta():
            return {"t": value // _MICRO}
        case InputName() | core.Condition() | Query() | Location():
            return {_TAGS[type(value)]: _write_fields(value)}
        case Mapping():
            return {"m": dict(value)}
        case tuple():
            return [_write(each) for each in value]
    return value


def _write_fields(value: Any) -> list[Any]:  # noqa: ANN401  any frozen value of ours
    return [_write(getattr(value, each.name)) for each in fields(value)]


def _read(value: Any) -> Any:  # noqa: ANN401  JSON
    if isinstance(value, list):
        return tuple(map(_read, value))
    if not isinstance(value, Mapping):
        return value
    ((tag, inner),) = value.items()
    match tag:
        case "d":
            return Decimal(inner)
        case "t":
            return dt.timedelta(microseconds=inner)
        case "i":
            return InputName(InputKind(inner[0]), inner[1])
        case "m":
            return dict(inner)
    return _TAGGED[tag](*map(_read, inner))


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """A model that a check of another reads: it is built first where that is possible."""

    model: str
    reads: str
    check: str
    where: Location


@dataclass(slots=True)
class Result:
    """The checks of one model by version, what they read, and what is wrong with them.

    `needs` are digests of everything else that decided: files and columns by a name each. `texts`
    are the entries of the cache that hold what SQL says.
    """

    checks: dict[int, core.Checks] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    needs: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


class KeptChecks(core.Checks):
    """Checks as text, which become values when they are first looked at."""

    __slots__ = ("_read", "_text")
    _text: str
    _read: core.Checks | None

    def __new__(cls, *args: Any, **fields: Any) -> core.Checks:  # type: ignore[misc]  # noqa: ANN401
        """Make an ordinary value: `dataclasses.replace` of a kept one gives that."""
        return core.Checks(*args, **fields)

    @classmethod
    def of(cls, text: str, on_failure: core.OnFailure | None) -> core.Checks:
        """Take the text of both lists, as `keep` packs it."""
        found = object.__new__(cls)
        object.__setattr__(found, "_text", text)
        object.__setattr__(found, "_read", None)
        object.__setattr__(found, "on_failure", on_failure)
        return found

    @property
    def before(self) -> tuple[core.Check, ...]:
        """Those that look at the rows of inputs."""
        return self._opened.before

    @property
    def after(self) -> tuple[core.Check, ...]:
        """Those that look at the rows of a step."""
        return self._opened.after

    @property
    def _opened(self) -> core.Checks:
        read = self._read
        if read is None:
            lists = json.loads(files.unpacked(self._text))
            before, after = (tuple(map(read_check_json, each)) for each in lists)
            read = core.Checks(before, after, self.on_failure)
            object.__setattr__(self, "_read", read)
        return read

    def __eq__(self, other: object) -> bool:
        """Equal what says the same, read or not."""
        return self._opened == (other._opened if isinstance(other, KeptChecks) else other)

    def __hash__(self) -> int:
        """Hash as the ordinary value does."""
        return hash(self._opened)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the ordinary value."""
        return (core.Checks, (self.before, self.after, self.on_failure))


# Any: JSON of our own cache; whatever does not fit is thrown away as a whole.
def keep(cache: files.ParseCache, name: str, context: str, result: Result) -> None:
    """Keep what was read of a model; of a result with errors nothing is kept."""
    if any(finding.is_error for finding in result.findings):
        return
    versions = []
    for number, checks in result.checks.items():
        lists = [[write_check(each) for each in listed] for listed in (checks.before, checks.after)]
        text = files.packed(json.dumps(lists, separators=(",", ":"), ensure_ascii=False))
        versions.append([number, checks.on_failure, text])
    edges, found = [astuple(e) for e in result.edges], files.write_findings(result.findings)
    kept = [versions, edges, found, result.needs, result.texts]
    cache.keep(name, files.CacheEntry(context, (), kept))


def recall(
    cache: files.ParseCache, name: str, context: str, now: Callable[[str], str]
) -> Result | None:
    """Give what an earlier load read of a model, if `now` gives the digests that it needed."""

    def read(entry: files.CacheEntry) -> Result | None:
        versions, edges, findings, needs, texts = entry.result
        if any(now(need) != digest for need, digest in needs.items()):
            return None
        entries = {text: cache.current.get(text) or cache.known.get(text) for text in texts}
        result = Result(
            {
                n: KeptChecks.of(files.sound(text), core.OnFailure(w) if w else None)
                for n, w, text in versions
            },
            [Edge(of, reads, check, Location(*where)) for of, reads, check, where in edges],
            list(files.read_findings(findings)),
        )
        if None in entries.values():
            return None
        cache.current.update({text: each for text, each in entries.items() if each})
        return result

    return cache.recall(name, context, read)
