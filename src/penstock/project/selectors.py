"""Selection: which models a command is about. dbt's grammar (spec/project.md §5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from penstock.core.errors import SelectorError
from penstock.core.graph import children, ordered, reach
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.project import Project
from penstock.project.files.values import did_you_mean, some_of

_TERM = re.compile(
    r"(?P<at>@)?(?:(?P<up>\d*)\+)?(?:(?P<method>[A-Za-z_][\w.]*):)?(?P<value>[^+@]+?)"
    r"(?P<down>\+(?P<depth>\d*))?"
)
_ABSENT = ("entity", "group", "connection", "connectiongroup")
_KIND = "sql"


@dataclass(frozen=True, slots=True)
class SelectorTerm:
    """One selector: a method with a value, and which neighbours come along.

    A depth of None has no limit. `whole_build` is `@`: children and all that those need.
    """

    text: str
    method: str
    value: str
    with_parents: bool = False
    parent_depth: int | None = None
    with_children: bool = False
    child_depth: int | None = None
    whole_build: bool = False


def parse_terms(value: str) -> list[list[SelectorTerm]]:
    """Split a value into unions of intersections; raise `SelectorError` on anything unreadable.

    >>> [[term.value for term in terms] for terms in parse_terms("a,tag:b c")]
    [['a', 'b'], ['c']]
    """
    groups = [[_term(text) for text in group.split(",")] for group in value.split()]
    if not groups:
        raise SelectorError("bad-selector", "the selector is empty", hint="--select NAME")
    return groups


def _term(text: str) -> SelectorTerm:
    found = _TERM.fullmatch(text)
    if found is None or (found["at"] and found["up"] is not None):
        raise SelectorError(
            "bad-selector",
            f"{text!r} is no selector",
            hint="for example name, +name, name+1, @name, tag:daily, path:models/staging",
        )
    return SelectorTerm(
        text=text,
        method=found["method"] or "",
        value=found["value"],
        with_parents=found["up"] is not None,
        parent_depth=int(found["up"]) if found["up"] else None,
        with_children=found["down"] is not None,
        child_depth=int(found["depth"]) if found["depth"] else None,
        whole_build=bool(found["at"]),
    )


@dataclass(frozen=True, slots=True)
class Candidates:
    """What selectors may ask about."""

    project: Project
    states: Mapping[str, frozenset[str]]
    results: Mapping[str, str]


def find(asked: Candidates, term: SelectorTerm) -> set[str]:
    """Give the models that a term names, before neighbours; raise `SelectorError` if none."""
    if term.method.startswith("config."):
        return _config(asked, term)
    if term.method in _ABSENT:
        raise SelectorError("no-match", f"{term.text!r}: no model of this project has one")
    method = _METHODS.get(term.method)
    if method is None:
        known = [name for name in _METHODS if name]
        raise SelectorError(
            "bad-selector",
            f"{term.method!r} is no selector method",
            hint=did_you_mean(term.method, known) or f"methods: {some_of(known)}",
        )
    return method(asked, term)


def _any(asked: Candidates, term: SelectorTerm) -> set[str]:
    if "/" in term.value:
        return _path(asked, term)
    found = {n for n, m in asked.project.models.items() if _is_named(m, term.value, asked)}
    return found or _nothing(term, "model", asked.project.models)


def _name(asked: Candidates, term: SelectorTerm) -> set[str]:
    found = {name for name in asked.project.models if _matches(name, term.value)}
    return found or _nothing(term, "model", asked.project.models)


def _path(asked: Candidates, term: SelectorTerm) -> set[str]:
    wanted = term.value.removeprefix("./").rstrip("/")
    found = {
        name
        for name, model in asked.project.models.items()
        if model.where.path.startswith(f"{wanted}/") or fnmatchcase(model.where.path, wanted)
    }
    folders = {str(PurePosixPath(m.where.path).parent) for m in asked.project.models.values()}
    return found or _nothing(term, "model file", folders)


def _tag(asked: Candidates, term: SelectorTerm) -> set[str]:
    return _among(term, "tag", {n: _tags(m) for n, m in asked.project.models.items()})


def _tags(model: Model) -> set[str]:
    """Give the tags of a model and of its checks."""
    return {*model.tags, *(tag for each in model.all_checks for tag in each.tags)}


def _kind(asked: Candidates, term: SelectorTerm) -> set[str]:
    return _among(term, "kind", dict.fromkeys(asked.project.models, (_KIND,)))


def _strategy(asked: Candidates, term: SelectorTerm) -> set[str]:
    words = {n: (m.strategy_name,) for n, m in asked.project.models.items()}
    return _among(term, "strategy", words)


def _source(asked: Candidates, term: SelectorTerm) -> set[str]:
    read = {n: _sources(m) for n, m in asked.project.models.items()}
    known = sorted(asked.project.sources)
    wanted = {s for s in known if _matches(s, term.value) or _matches(s, f"{term.value}.*")}
    if not wanted:
        return _nothing(term, "source", known)
    found = {name for name, sources in read.items() if wanted & set(sources)}
    if not found:
        raise SelectorError("no-match", f"no model reads the source {term.value!r}")
    return found


def _state(asked: Candidates, term: SelectorTerm) -> set[str]:
    states = {n: asked.states.get(n, frozenset()) for n in asked.project.models}
    if term.value == "drifted":
        found = {name for name, now in states.items() if now - {"current"}}
        if not found:
            raise SelectorError("no-match", "no model has drifted")
        return found
    return _among(term, "state", states)


def _result(asked: Candidates, term: SelectorTerm) -> set[str]:
    results = {n: (r,) for n, r in asked.results.items() if n in asked.project.models}
    return _among(term, "result", results)


def _config(asked: Candidates, term: SelectorTerm) -> set[str]:
    key = term.method.removeprefix("config.")
    values = {
        name: (model.config[key], *model.config[key].split(","))
        for name, model in asked.project.models.items()
        if key in model.config
    }
    if not values:
        known = {key for model in asked.project.models.values() for key in model.config}
        return _nothing(term, f"model with config {key}", known)
    return _among(term, f"config {key}", values)


_METHODS: Mapping[str, Callable[[Candidates, SelectorTerm], set[str]]] = {
    "": _any,
    "name": _name,
    "fqn": _any,
    "path": _path,
    "tag": _tag,
    "kind": _kind,
    "strategy": _strategy,
    "source": _source,
    "state": _state,
    "result": _result,
}


def _among(term: SelectorTerm, what: str, words: Mapping[str, Iterable[str]]) -> set[str]:
    found = {n for n, own in words.items() if any(_matches(word, term.value) for word in own)}
    if found:
        return found
    existing = {word for own in words.values() for word in own}
    near = did_you_mean(term.value, existing)
    there = f"there are: {some_of(existing)}" if existing else "no model has any"
    raise SelectorError(
        "no-match", f"no model has {what} {term.value!r}; {there}", hint=near or "penstock list"
    )


def _nothing(term: SelectorTerm, what: str, known: Iterable[str]) -> set[str]:
    names = set(known)
    raise SelectorError(
        "no-match",
        f"{term.text!r} matches no {what}",
        hint=did_you_mean(term.value, names) or f"there are: {some_of(names)}",
    )


def _is_named(model: Model, wanted: str, asked: Candidates) -> bool:
    stem = PurePosixPath(model.where.path).name.removesuffix(".sql")
    if any(_matches(name, wanted) for name in (model.name, stem, str(model.table))):
        return True
    folders = PurePosixPath(model.where.path).parts[1:-1]
    parts = wanted.split(".")
    full = (*folders, model.name)
    return _starts(full, parts) or _starts((asked.project.name, *full), parts)


def _starts(full: Sequence[str], parts: Sequence[str]) -> bool:
    pairs = zip(full, parts, strict=False)
    return len(parts) <= len(full) and all(_matches(name, part) for name, part in pairs)


def _sources(model: Model) -> tuple[str, ...]:
    return tuple(i.name for i in model.query.inputs if i.kind is InputKind.SOURCE)


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name.lower(), pattern.lower())


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the files: drift states and last results by model name."""

    states: Mapping[str, frozenset[str]] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)


def select(
    project: Project, include: Sequence[str], exclude: Sequence[str], known: Known
) -> tuple[str, ...]:
    """Give the selected models in topological order; without `include` all but the excluded.

    A space in one value unites, a comma intersects; several `include` intersect, several `exclude`
    unite. Raises `SelectorError` for whatever matches nothing (law 10).
    """
    graph = _Graph(project, known)
    chosen = set(project.models)
    for position, value in enumerate(include):
        found = graph.union(value)
        if position and not chosen & found:
            names = " ".join(include)
            raise SelectorError(
                "empty-selection",
                "no model is in all of the given --select",
                hint=f"put the names into one --select: --select {names!r}",
            )
        chosen &= found
    left = chosen.difference(*(graph.union(value) for value in exclude))
    if chosen and not left:
        raise SelectorError("empty-selection", "everything that was selected is excluded")
    return tuple(name for name in ordered(graph.before) if name in left)


def exact_names(include: Sequence[str]) -> tuple[str, ...]:
    """Give the names that stand alone in a selection: `a` or `name:a`, without `+`, `@` or `*`.

    >>> exact_names(["a +b tag:c", "name:d", "e*"])
    ('a', 'd')
    """
    terms = [term for value in include for group in parse_terms(value) for term in group]
    return tuple(
        term.value
        for term in terms
        if term.method in ("", "name")
        and not (term.with_parents or term.with_children or term.whole_build)
        and not set(term.value) & set("*?[/")
    )


class _Graph:
    """The models of one project with their arrows both ways."""

    def __init__(self, project: Project, known: Known) -> None:
        self._asked = Candidates(project, known.states, known.results)
        self.parents = {name: list(m.depends_on) for name, m in project.models.items()}
        self.before = {
            name: [*parents, *project.models[name].order_after]
            for name, parents in self.parents.items()
        }
        self._children = children(self.parents)

    def union(self, value: str) -> set[str]:
        """Give what a value with its spaces and commas selects; never empty."""
        found: set[str] = set()
        for terms in parse_terms(value):
            parts = [self._term(term) for term in terms]
            both = set.intersection(*parts)
            if not both:
                shown = ",".join(term.text for term in terms)
                raise SelectorError("empty-selection", f"no model matches all of {shown!r}")
            found |= both
        return found

    def _term(self, term: SelectorTerm) -> set[str]:
        start = find(self._asked, term)
        result = set(start)
        if term.with_parents:
            result |= reach(start, self.parents, term.parent_depth)
        if term.with_children:
            # a source is one arrow above the models that read it
            above = 1 if term.method == "source" else 0
            depth = None if term.child_depth is None else max(0, term.child_depth - above)
            result |= reach(start, self._children, depth)
        if term.whole_build:
            result |= reach(reach(start, self._children), self.parents)
        return result & set(self.parents)
