"""Checks that an earlier load read, kept in the parse cache while nothing they go by changed.

A warm load of thousands of checks opens none of them: each model's stay text until somebody asks.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

from penstock.core.checks import (
    TYPES,
    Check,
    Checks,
    CheckScope,
    Condition,
    Empty,
    OnFailure,
    Phase,
    Relationships,
)
from penstock.core.findings import Finding, Location, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query
from penstock.project.files.cache import CacheEntry, ParseCache, packed, sound, unpacked
from penstock.project.files.parsed import read_findings, write_findings
from penstock.project.files.values import digest

_RULES = {word: rule for rule, word in TYPES.items()}
_WORDS = {"phase": Phase, "severity": Severity, "scope": CheckScope, "empty": Empty}
_TAGGED = {"i": InputName, "c": Condition, "q": Query, "l": Location}
_TAGS = {kind: tag for tag, kind in _TAGGED.items()}
_MICRO = dt.timedelta(microseconds=1)


def definition_of(check: Check) -> str:
    """Give the digest of everything that decides a check's result.

    Its name, severity and words, and where it stands, are not in it.
    """
    rule = check.rule
    shown = {"shown"} if isinstance(rule, Relationships) else {"shown", "source"}
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
def write_check(check: Check) -> list[Any]:
    """Give a JSON form that `read_check_json` reads back equal."""
    rule = [check.type, *_write_fields(check.rule)]
    values = zip(fields(check), _write_fields(check), strict=True)
    return [rule if each.name == "rule" else value for each, value in values]


def read_check_json(entry: Sequence[Any]) -> Check:
    """Read what `write_check` gave; raises `ValueError`, `TypeError` or `KeyError` on damage."""
    names = (each.name for each in fields(Check))
    values = dict(zip(names, map(_read, entry), strict=True))
    kind, *rule = values["rule"]
    words = {name: word(values[name]) for name, word in _WORDS.items() if values[name] is not None}
    return Check(**{**values, **words, "rule": _RULES[kind](*rule)})


def _write(value: object) -> Any:  # noqa: ANN401  JSON
    match value:
        case Decimal():
            return {"d": str(value)}
        case dt.timedelta():
            return {"t": value // _MICRO}
        case InputName() | Condition() | Query() | Location():
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

    checks: dict[int, Checks] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    needs: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


class KeptChecks(Checks):
    """Checks as text, which become values when they are first looked at."""

    __slots__ = ("_read", "_text")
    _text: str
    _read: Checks | None

    def __new__(cls, *args: Any, **fields: Any) -> Checks:  # type: ignore[misc]  # noqa: ANN401
        """Make an ordinary value: `dataclasses.replace` of a kept one gives that."""
        return Checks(*args, **fields)

    @classmethod
    def of(cls, text: str, on_failure: OnFailure | None) -> Checks:
        """Take the text of both lists, as `keep` packs it."""
        found = object.__new__(cls)
        object.__setattr__(found, "_text", text)
        object.__setattr__(found, "_read", None)
        object.__setattr__(found, "on_failure", on_failure)
        return found

    @property
    def before(self) -> tuple[Check, ...]:
        """Those that look at the rows of inputs."""
        return self._opened.before

    @property
    def after(self) -> tuple[Check, ...]:
        """Those that look at the rows of a step."""
        return self._opened.after

    @property
    def _opened(self) -> Checks:
        read = self._read
        if read is None:
            lists = json.loads(unpacked(self._text))
            before, after = (tuple(map(read_check_json, each)) for each in lists)
            read = Checks(before, after, self.on_failure)
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
        return (Checks, (self.before, self.after, self.on_failure))


# Any: JSON of our own cache; whatever does not fit is thrown away as a whole.
def keep(cache: ParseCache, name: str, context: str, result: Result) -> None:
    """Keep what was read of a model; of a result with errors nothing is kept."""
    if any(finding.is_error for finding in result.findings):
        return
    versions = []
    for number, checks in result.checks.items():
        lists = [[write_check(each) for each in listed] for listed in (checks.before, checks.after)]
        text = packed(json.dumps(lists, separators=(",", ":"), ensure_ascii=False))
        versions.append([number, checks.on_failure, text])
    edges = [[e.reads, e.check, e.where.path, e.where.line, e.where.column] for e in result.edges]
    kept = [versions, edges, write_findings(result.findings), result.needs, result.texts]
    cache.keep(name, CacheEntry(context, (), kept))


def recall(
    cache: ParseCache, name: str, context: str, model: str, now: Callable[[str], str]
) -> Result | None:
    """Give what an earlier load read of a model, if all that it needed is as it was.

    `now` gives the digest of something that it needed.
    """

    def read(entry: CacheEntry) -> Result | None:
        versions, edges, findings, needs, texts = entry.result
        if any(now(need) != digest for need, digest in needs.items()):
            return None
        entries = {text: cache.current.get(text) or cache.known.get(text) for text in texts}
        result = Result(
            {n: KeptChecks.of(sound(text), OnFailure(w) if w else None) for n, w, text in versions},
            [Edge(model, reads, check, Location(*where)) for reads, check, *where in edges],
            list(read_findings(findings)),
        )
        if None in entries.values():
            return None
        cache.current.update({text: each for text, each in entries.items() if each})
        return result

    return cache.recall(name, context, read)
