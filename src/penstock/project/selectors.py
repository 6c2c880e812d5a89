"""Selection: which models a command applies to, with dbt's grammar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from penstock.core.entities.entity import Entity
from penstock.core.errors import SelectorError, UsageError
from penstock.core.graph import children, ordered, reach
from penstock.core.model import Model, kind_of
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project, Selection, SelectorTerm
from penstock.project.files.values import did_you_mean, some_of

_TERM = re.compile(
    r"(?P<at>@)?(?:(?P<up>\d{0,9})\+)?(?:(?P<method>[A-Za-z_][\w.]*):)?(?P<value>[^+@][^+]*?)"
    r"(?:\+(?P<down>\d{0,9}))?"
)
OF_ENTITIES: Mapping[str, Callable[[Entity], Iterable[str]]] = {
    "entity": lambda each: (each.name, "" if each.id is None else str(each.id)),
    "group": lambda each: (each.group,),
    "connection": lambda each: (each.connection,),
    "connectiongroup": lambda each: (each.connection_group,),
}
"""The values of an entity for each selector method about entities."""


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
        hint = "for example name, +name, name+1, @name, tag:daily, path:models/staging"
        raise SelectorError("bad-selector", f"{text!r} is not a selector", hint=hint)
    method, value = found["method"] or "", found["value"]
    return SelectorTerm(text, method, value, found["up"], found["down"], bool(found["at"]))


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that are not in files: drift states and last results by model name.

    `code` are the models whose code is `modified` or `new`, compared with the records of a target.
    """

    states: Mapping[str, frozenset[str]] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    code: Mapping[str, frozenset[str]] = field(default_factory=dict)
    compared_with: str = ""


_CHANGING = ("state", "result")
"""Methods whose models differ from run to run, so that a named selection may have none."""
CODE_STATES = ("modified", "new")
"""The values of `state:` that compare code with the records of a target."""


def used_terms(project: Project, values: Iterable[str]) -> Iterator[SelectorTerm]:
    """Yield the terms of some selectors, and those of the named selections that they use."""
    seen: set[str] = set()
    left = [term for value in values for terms in parse_terms(value) for term in terms]
    while left:
        term = left.pop()
        yield term
        if term.method == NAMED and term.value in project.selectors and term.value not in seen:
            seen.add(term.value)
            left += project.selectors[term.value].terms


NAMED = "selector"
"""The method that names a selection of selectors.yml."""
_WORDS: Mapping[str, Callable[[Model, Known], Iterable[str]]] = {
    "tag": lambda model, _: {*model.tags, *(t for each in model.all_checks for t in each.tags)},
    "kind": lambda model, _: (kind_of(model),),
    "strategy": lambda model, _: (model.shown_strategy,),
    "state": lambda model, known: known.states.get(model.name, ()),
    "result": lambda model, known: filter(None, [known.results.get(model.name)]),
    "access": lambda model, _: (str(model.access),),
    "resource_type": lambda model, _: ("snapshot" if model.keeps_history else "model",),
    "file": lambda model, _: _names_of_file(PurePosixPath(model.where.path)),
}
"""The values of a model for each selector method that compares words."""
_RESULTS = {"error": "failed", "fail": "failed", "pass": "success"}
"""Values of `result:` in dbt, with those of penstock."""
_INSTEAD = {
    "metric": "penstock has no metrics of a semantic layer; select models",
    "saved_query": "penstock has no saved queries; select models",
    "semantic_model": "penstock has no semantic layer; select models",
    "source_status": "penstock sync runs what has new input",
    "test_name": "penstock check --check NAME, penstock test --test NAME",
    "test_type": "penstock test runs unit tests, penstock check all other tests",
    "unit_test": "penstock test --test NAME",
}
"""Methods of dbt that penstock does not have, with what does it here."""
METHODS = ("name", "fqn", "path", "package", "source", "exposure", NAMED, *_WORDS, *OF_ENTITIES)
_ONE_AWAY = ("source", "exposure")
"""Methods whose value is one arrow away from the models that they select."""
PACKAGES = ("models", "packages")
"""Where the models of each package are."""


def _names_of_file(path: PurePosixPath) -> tuple[str, str]:
    return path.name, path.stem


def unknown_method(method: str) -> SelectorError:
    """Return the error for a method that does not exist, with what does it here."""
    hint = _INSTEAD.get(method) or did_you_mean(method, METHODS)
    hint = hint or f"methods: {some_of(METHODS)}"
    return SelectorError("bad-selector", f"{method!r} is not a selector method", hint=hint)


def disabled(entity: Entity) -> UsageError:
    """Return the error for a disabled entity."""
    sentence = f"{entity.model} is disabled"
    hint = f"set enabled of it and of its connection to true ({entity.where})"
    return UsageError("entity-disabled", sentence, hint=hint)


def _models_of_term(project: Project, model_states: Known, term: SelectorTerm) -> set[str]:
    """Return the models of a term; raise `entity-disabled` for one named exactly."""
    try:
        return _find(project, model_states, term)
    except SelectorError:
        for each in (e for e in project.entities.values() if not e.enabled):
            words = [*OF_ENTITIES["entity"](each)] if term.method == "entity" else []
            words += [each.model, str(each.table)] if term.method in ("", "name", "fqn") else []
            if term.value.lower() in map(str.lower, filter(None, words)):
                raise disabled(each) from None
        raise


def _find(project: Project, model_states: Known, term: SelectorTerm) -> set[str]:
    """Return the models of a term, without neighbours; raise `SelectorError` if none."""
    models, method = project.models, term.method
    if method in _WORDS:
        return _by_words(models, model_states, term)
    match method:
        case "" | "fqn" if "/" not in term.value:
            found = {n for n, m in models.items() if _is_named(m, term.value, project.name)}
            found |= {*project.models_of(term.value)}
            return found or _nothing(term, "model", models)
        case "name":
            return {n for n in models if _matches(n, term.value)} or _nothing(term, "model", models)
        case "" | "fqn" | "path":
            wanted = term.value.removeprefix("./").rstrip("/")
            at = {name: model.where.path for name, model in models.items()}
            folders = {str(PurePosixPath(path).parent) for path in at.values()}
            found = {
                n for n, p in at.items() if p.startswith(f"{wanted}/") or fnmatchcase(p, wanted)
            }
            return found or _nothing(term, "model file", folders)
        case "source":
            return _by_source(project, term)
        case "exposure":
            return _by_exposure(project, term)
        case "package":
            return _among(term, "package", {n: _packages(project, m) for n, m in models.items()})
    if method.startswith("config."):
        return _by_config(models, term)
    if method in OF_ENTITIES:
        return _by_entity(models, term)
    raise unknown_method(method)


def _packages(project: Project, model: Model) -> tuple[str, ...]:
    """Return the package that a model is from; the project itself is also called `this`."""
    parts = PurePosixPath(model.where.path).parts
    if parts[:2] == PACKAGES and len(parts) > len(PACKAGES) + 1:
        return (parts[len(PACKAGES)],)
    return project.name, "this"


def _by_words(models: Mapping[str, Model], facts: Known, term: SelectorTerm) -> set[str]:
    method, value = term.method, term.value
    if method == "state" and value in CODE_STATES:
        if found := facts.code[value].intersection(models):
            return set(found)
        sentence = f"no model is {value} compared with target {facts.compared_with}"
        raise SelectorError("no-match", sentence)
    if method == "result" and value in _RESULTS:
        term = replace(term, value=_RESULTS[value])
    words = {name: [*_WORDS[method](model, facts)] for name, model in models.items()}
    if (method, value) != ("state", "drifted"):
        return _among(term, method, words)
    drifted = {name for name, now in words.items() if {*now} - {"current"}}
    if not drifted:
        raise SelectorError("no-match", "no model has drifted")
    return drifted


def _by_entity(models: Mapping[str, Model], term: SelectorTerm) -> set[str]:
    entities = {name: model.entity for name, model in models.items() if model.entity}
    words_of = OF_ENTITIES[term.method]
    words = {name: [*filter(None, words_of(each))] for name, each in entities.items()}
    if term.method == "group":  # of dbt, too
        words |= {name: [model.group] for name, model in models.items() if model.group}
    if not any(words.values()):
        raise SelectorError("no-match", f"{term.text!r}: no model of this project has one")
    return _among(term, term.method, words)


def _by_source(project: Project, term: SelectorTerm) -> set[str]:
    known, value = sorted(project.sources), term.value
    wanted = {s for s in known if _matches(s, value) or _matches(s, f"{value}.*")}
    if not wanted:
        return _nothing(term, "source", known)
    inputs = {InputName(InputKind.SOURCE, name) for name in wanted}
    found = {n for n, model in project.models.items() if not inputs.isdisjoint(model.query.inputs)}
    if not found:
        raise SelectorError("no-match", f"no model reads the source {value!r}")
    return found


def _by_exposure(project: Project, term: SelectorTerm) -> set[str]:
    """Return the models that an exposure depends on."""
    wanted = {name for name in project.exposures if _matches(name, term.value)}
    if not wanted:
        return _nothing(term, "exposure", project.exposures)
    found = {name for each in wanted for name in project.exposures[each].models}
    if not found & set(project.models):
        raise SelectorError("no-match", f"the exposure {term.value!r} depends on no model")
    return found & set(project.models)


def _by_config(models: Mapping[str, Model], term: SelectorTerm) -> set[str]:
    key = term.method.removeprefix("config.")
    said = {name: model.config[key] for name, model in models.items() if key in model.config}
    if not said:
        known = {key for model in models.values() for key in model.config}
        return _nothing(term, f"model with config {key}", known)
    return _among(term, f"config {key}", {n: (text, *text.split(",")) for n, text in said.items()})


def _among(term: SelectorTerm, what: str, words: Mapping[str, Iterable[str]]) -> set[str]:
    found = {n for n, own in words.items() if any(_matches(word, term.value) for word in own)}
    if found:
        return found
    existing = {word for own in words.values() for word in own}
    existing |= {*CODE_STATES} if what == "state" else set()
    there = f"there are: {some_of(existing)}" if existing else "no model has any"
    sentence = f"no model has {what} {term.value!r}; {there}"
    hint = did_you_mean(term.value, existing) or "penstock list"
    raise SelectorError("no-match", sentence, hint=hint)


def _nothing(term: SelectorTerm, what: str, candidates: Iterable[str]) -> set[str]:
    names = set(candidates)
    hint = did_you_mean(term.value, names) or f"there are: {some_of(names)}"
    raise SelectorError("no-match", f"{term.text!r} matches no {what}", hint=hint)


def _is_named(model: Model, wanted: str, project: str) -> bool:
    path = PurePosixPath(model.where.path)
    base = model.name.rpartition(".v")[0]  # of a version as dbt has them
    names = (model.name, base, path.name.removesuffix(".sql"), str(model.table))
    if any(_matches(name, wanted) for name in names):
        return True
    full = (*path.parts[1:-1], model.name)
    return _starts(full, wanted.split(".")) or _starts((project, *full), wanted.split("."))


def _starts(full: Sequence[str], parts: Sequence[str]) -> bool:
    pairs = zip(full, parts, strict=False)
    return len(parts) <= len(full) and all(_matches(name, part) for name, part in pairs)


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name.lower(), pattern.lower())


def select(
    project: Project, include: Sequence[str], exclude: Sequence[str], model_states: Known
) -> tuple[str, ...]:
    """Return the selected models in topological order; without `include` all but the excluded.

    Several `include` intersect, several `exclude` unite. A selector without a match raises.
    """
    graph = _Graph(project, model_states)
    chosen = set(project.models)
    for position, value in enumerate(include):
        found = graph.union(value)
        if position and not chosen & found:
            sentence = "no model is in all of the given --select"
            hint = f"put the names into one --select: --select {' '.join(include)!r}"
            raise SelectorError("empty-selection", sentence, hint=hint)
        chosen &= found
    left = chosen.difference(*(graph.union(value) for value in exclude))
    if chosen and not left:
        raise SelectorError("empty-selection", "everything that was selected is excluded")
    models = project.models.items()
    before = {name: [*graph.parents[name], *model.order_after] for name, model in models}
    return tuple(name for name in ordered(before) if name in left)


def left_out(project: Project, include: Sequence[str], model_states: Known) -> int:
    """Count the models that only some of several `include` select."""
    if len(include) <= 1:
        return 0
    graph = _Graph(project, model_states)
    found = [graph.union(value) for value in include]
    common = {name for name in found[0] if all(name in each for each in found)}
    return len(set().union(*found) - common)


def exact_names(include: Sequence[str]) -> tuple[str, ...]:
    """Return the exact names in a selection: `a` or `name:a`, without `+`, `@` or `*`.

    >>> exact_names(["a +b tag:c", "name:d", "e*"])
    ('a', 'd')
    """
    terms = [term for value in include for group in parse_terms(value) for term in group]
    return tuple(
        term.value
        for term in terms
        if term.text.removeprefix("name:") == term.value and not set(term.value) & set("*?[/")
    )


class _Graph:
    """The models of one project with their edges in both directions."""

    def __init__(self, project: Project, model_states: Known) -> None:
        self._project, self._states = project, model_states
        self.parents = {name: list(m.depends_on) for name, m in project.models.items()}
        self._children = children(self.parents)

    def union(self, value: str) -> set[str]:
        """Return the models for a value with spaces and commas; never empty."""
        found: set[str] = set()
        for terms in parse_terms(value):
            both = set.intersection(*(self._with_neighbours(term) for term in terms))
            if not both:
                shown = ",".join(term.text for term in terms)
                raise SelectorError("empty-selection", f"no model matches all of {shown!r}")
            found |= both
        return found

    def _of_selection(self, selection: Selection) -> set[str]:
        """Return the models of a part of a named selection; may be empty."""
        if selection.term is not None:
            try:
                found = self._with_neighbours(selection.term)
            except SelectorError as error:
                if error.code != "no-match" or selection.term.method not in _CHANGING:
                    raise
                found = set()
        else:
            each = [self._of_selection(part) for part in selection.parts]
            found = set.intersection(*each) if selection.is_intersection else set().union(*each)
        return found.difference(*map(self._of_selection, selection.without))

    def _with_name(self, name: str) -> set[str]:
        known = self._project.selectors
        if name not in known:
            hint = did_you_mean(name, known) or f"selectors.yml has: {some_of(known) or 'none'}"
            raise SelectorError("no-match", f"no selector is called {name!r}", hint=hint)
        found = self._of_selection(known[name])
        if not found:
            sentence = f"the selector {name!r} selects no model"
            raise SelectorError("empty-selection", sentence, where=known[name].where)
        return found

    def _with_neighbours(self, term: SelectorTerm) -> set[str]:
        if term.method == NAMED:
            start = self._with_name(term.value)
        else:
            start = _models_of_term(self._project, self._states, term)
        result = set(start)
        away = 1 if term.method in _ONE_AWAY else 0
        if term.up is not None:
            depth = max(0, int(term.up) - away) if term.up else None
            result |= reach(start, self.parents, depth)
        if term.down is not None and term.method != "exposure":  # nothing reads it
            depth = max(0, int(term.down) - away) if term.down else None
            result |= reach(start, self._children, depth)
        if term.whole_build:
            result |= reach(reach(start, self._children), self.parents)
        return result & set(self.parents)
