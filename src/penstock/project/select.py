"""Selection: which models a command is about. dbt's grammar (spec/project.md §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.errors import SelectorError
from penstock.core.graph import children, ordered, reach
from penstock.core.project import Project
from penstock.project.select_methods import Asked, find
from penstock.project.select_terms import Term, parse_terms


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
        self._asked = Asked(project, known.states, known.results)
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

    def _term(self, term: Term) -> set[str]:
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
