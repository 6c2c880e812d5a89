"""Read selectors.yml: selections of models that have a name, as dbt writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.errors import SelectorError
from penstock.core.findings import Finding, Location
from penstock.core.graph import find_cycle
from penstock.core.project import Selection, SelectorTerm
from penstock.project.files.discovery import ignored
from penstock.project.files.parsed import YamlFile
from penstock.project.files.values import Path, Plain, did_you_mean, near_or_known, some_of, text_of
from penstock.project.selectors import METHODS, NAMED, parse_terms, unknown_method

_ENTRY = ("name", "description", "definition", "default")
_SETS = ("union", "intersection")
_TERM = (
    *("method", "value", "children", "parents", "children_depth", "parents_depth"),
    *("childrens_parents", "indirect_selection", "exclude"),
)
_EXAMPLE = "for example definition: 'tag:nightly', or {method: tag, value: nightly}"


@dataclass(slots=True)
class NamedSelectors:
    """The selections of one file; what cannot be read is a finding, and empty."""

    file: YamlFile
    findings: list[Finding] = field(default_factory=list)
    selections: dict[str, Selection] = field(default_factory=dict)

    def read(self, tree: Plain) -> Mapping[str, Selection]:
        """Return the selections by name."""
        given = self._mapping(tree, (), ("selectors", "version"))
        if "selectors" in given:
            for index, entry in enumerate(self._list(given["selectors"], ("selectors",))):
                self._entry(entry, ("selectors", index))
        self._check_uses()
        return self.selections

    def _entry(self, entry: Plain, path: Path) -> None:
        given = self._mapping(entry, path, _ENTRY)
        name = text_of(given.get("name"))
        for key in ("name", "definition"):
            if not given.get(key):
                self._note(path, "missing-key", f"{name or 'the selector'} has no {key}", _EXAMPLE)
        if not name or not given.get("definition"):
            return
        if given.get("default"):
            line = self.file.key_place(*path, "default").line
            sentence = f"default: {name!r} is used only where it is named"
            hint = f"--selector {name}"
            self.findings.append(ignored(self.file.path, sentence, hint, line))
        if name in self.selections:
            sentence = f"{name!r} is defined here and in {self.selections[name].where}"
            self._note((*path, "name"), "duplicate-key", sentence, "rename one of them")
            return
        self.selections[name] = self._selection(given["definition"], (*path, "definition"))

    def _selection(self, tree: Plain, path: Path) -> Selection:
        nothing = Selection(self.file.place(*path))
        if isinstance(tree, str):
            return self._written(tree, path)
        if not isinstance(tree, Mapping):
            self._note(path, "bad-value", f"{text_of(tree)!r} is not a selection", _EXAMPLE)
            return nothing
        kinds = [key for key in _SETS if key in tree]
        if kinds:
            self._mapping(tree, path, kinds[:1])
            return self._set(tree[kinds[0]], (*path, kinds[0]), kinds[0] == "intersection")
        if "method" in tree or "value" in tree:
            return self._term(tree, path)
        if len(tree) == 1 and "exclude" not in tree:
            [(method, value)] = tree.items()
            return self._one_term(method, text_of(value), path, Depths())
        sentence = f"{', '.join(map(str, tree))} is not a selection"
        self._note(path, "bad-value", sentence, "union, intersection, or method and value")
        return nothing

    def _set(self, tree: Plain, path: Path, is_intersection: bool) -> Selection:  # noqa: FBT001  which of both
        parts: list[Selection] = []
        without: list[Selection] = []
        for index, each in enumerate(self._list(tree, path)):
            if isinstance(each, Mapping) and [*each] == ["exclude"]:
                without += self._excluded(each["exclude"], (*path, index, "exclude"))
            else:
                parts.append(self._selection(each, (*path, index)))
        if not parts:
            self._note(path, "bad-value", "nothing is selected", _EXAMPLE)
        where = self.file.place(*path)
        return Selection(where, None, tuple(parts), is_intersection, tuple(without))

    def _excluded(self, tree: Plain, path: Path) -> Iterator[Selection]:
        for index, each in enumerate(self._list(tree, path)):
            yield self._selection(each, (*path, index))

    def _term(self, tree: Mapping[str, Plain], path: Path) -> Selection:
        given = self._mapping(tree, path, _TERM)
        if "indirect_selection" in given:
            line = self.file.key_place(*path, "indirect_selection").line
            sentence = "indirect_selection has no effect"
            hint = "leave it out; a check runs with the model that it checks"
            self.findings.append(ignored(self.file.path, sentence, hint, line))
        for key in ("method", "value"):
            if not text_of(given.get(key)):
                self._note(path, "missing-key", f"this selection has no {key}", _EXAMPLE)
                return Selection(self.file.place(*path))
        whole_build = bool(given.get("childrens_parents"))
        depths = Depths(_depth(given, "parents"), _depth(given, "children"), whole_build)
        made = self._one_term(text_of(given["method"]), text_of(given["value"]), path, depths)
        excluded = given.get("exclude") or []
        without = tuple(self._excluded(excluded, (*path, "exclude")))
        return Selection(made.where, made.term, (), is_intersection=False, without=without)

    def _one_term(self, method: str, value: str, path: Path, depths: Depths) -> Selection:
        where = self.file.place(*path)
        if method not in METHODS and not method.startswith("config."):
            error = unknown_method(method)
            self.findings.append(Finding(where, error.code, error.sentence, error.hint))
        levels = depths.up, depths.down, depths.whole_build
        return Selection(where, SelectorTerm(f"{method}:{value}", method, value, *levels))

    def _written(self, text: str, path: Path) -> Selection:
        """Read a selector as it is written after --select."""
        where = self.file.place(*path)
        try:
            groups = parse_terms(text)
        except SelectorError as error:
            self.findings.append(Finding(where, error.code, error.sentence, error.hint))
            return Selection(where)
        for term in (term for terms in groups for term in terms if term.method):
            self._one_term(term.method, term.value, path, Depths())
        both = [tuple(Selection(where, term) for term in terms) for terms in groups]
        return Selection(where, None, tuple(Selection(where, None, one, True) for one in both))  # noqa: FBT003

    def _check_uses(self) -> None:
        """Report selections that use one that does not exist, or each other."""
        uses = {
            name: [term.value for term in each.terms if term.method == NAMED]
            for name, each in self.selections.items()
        }
        for name, used in uses.items():
            for other in (each for each in used if each not in self.selections):
                hint = (
                    did_you_mean(other, self.selections) or f"there are: {some_of(self.selections)}"
                )
                sentence = f"{name!r} uses the selector {other!r}, which does not exist"
                where = self.selections[name].where
                self.findings.append(Finding(where, "bad-selector", sentence, hint))
        if cycle := find_cycle(uses):
            sentence = f"selectors use each other: {', '.join(cycle)}"
            where, hint = self.selections[cycle[0]].where, "define one of them without the others"
            self.findings.append(Finding(where, "bad-selector", sentence, hint))

    def _mapping(self, tree: Plain, path: Path, keys: Sequence[str]) -> Mapping[str, Plain]:
        if not isinstance(tree, Mapping):
            sentence = f"{text_of(tree)!r} is not a mapping with {', '.join(keys[:3])}"
            self._note(path, "bad-value", sentence, _EXAMPLE)
            return {}
        for key in tree:
            if key not in keys:
                where = self.file.key_place(*path, key)
                hint = near_or_known(key, keys)
                self.findings.append(Finding(where, "unknown-key", f"unknown key {key!r}", hint))
        return tree

    def _list(self, tree: Plain, path: Path) -> list[Plain]:
        if isinstance(tree, list):
            return tree
        self._note(path, "bad-value", f"{text_of(tree)!r} is not a list", "write - before each")
        return []

    def _note(self, path: Path, code: str, sentence: str, hint: str) -> None:
        where: Location = self.file.place(*path)
        self.findings.append(Finding(where, code, sentence, hint))


@dataclass(frozen=True, slots=True)
class Depths:
    """How many levels of parents and children a term has, as in `SelectorTerm`."""

    up: str | None = None
    down: str | None = None
    whole_build: bool = False


def _depth(section: Mapping[str, Plain], key: str) -> str | None:
    """Return "" for all levels, a number, or None for none; 0 stands for all, as in dbt."""
    if not section.get(key):
        return None
    depth = section.get(f"{key}_depth")
    return str(depth) if isinstance(depth, int) and depth > 0 else ""
