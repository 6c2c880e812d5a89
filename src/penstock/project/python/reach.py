"""The code of the project that a function uses by name, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from penstock.project.python.modules import Module, parsed, unparsed
from penstock.project.python.statement import Reads, Statement
from penstock.project.python.texts import ModuleTexts, Place


@dataclass(slots=True)
class Reach:
    """Follows code from name to name; `values` are names that are used, not only called."""

    texts: ModuleTexts
    first: list[Place] = field(default_factory=list)
    reached: dict[Place, None] = field(default_factory=dict)
    values: set[Place] = field(default_factory=set)
    subclassed: set[Place] = field(default_factory=set)
    _waiting: list[Place] = field(default_factory=list)
    _read: dict[str, Module] = field(default_factory=dict)
    _moving: set[Place] = field(default_factory=set)
    _still: set[Place] = field(default_factory=set)

    def module(self, name: str) -> Module:
        """Return the bindings of a project module."""
        if name not in self._read:
            package = name if self.texts.is_package(name) else name.rpartition(".")[0]
            try:
                self._read[name] = parsed(self.texts[name], package)
            except (SyntaxError, ValueError, RecursionError):
                self._read[name] = unparsed(self.texts[name])
        return self._read[name]

    def has(self, module: str) -> bool:
        """Return whether a module is part of the project."""
        return module in self.texts

    def holds(self, place: Place) -> bool:
        """Return whether the project binds the name of a place."""
        return self.has(place[0]) and place[1] in self.module(place[0]).statements

    def add(self, places: Sequence[Place]) -> None:
        """Follow these places; the text begins with them."""
        self.first += places
        for each in places:
            self._come_to(each, as_value=False)

    def add_values(self, places: Sequence[Place]) -> None:
        """Follow names whose code is in a value."""
        for module, name in places:
            for each in self._find(module, (name,), set()) if self.has(module) else ():
                self._come_to(each, as_value=True)

    def add_all_of(self, module: str) -> None:
        """Follow every name that a module binds or imports."""
        self.add([*dict.fromkeys(self._all_of(module))])

    def _come_to(self, place: Place, *, as_value: bool) -> None:
        if place not in self.reached or (as_value and place not in self.values):
            self._waiting.append(place)
        if as_value:
            self.values.add(place)

    def follow(self) -> list[Place]:
        """Follow what was added; return the places that were not reached before."""
        found: list[Place] = []
        while self._waiting:
            place = self._waiting.pop()
            found += [] if place in self.reached else [place]
            self.reached[place] = None
            for statement in self._of(place):
                reads = statement.reads(annotated=place in self.values)
                named = [*self._references(place[0], reads)]
                for next_place, as_value in named:
                    self._come_to(next_place, as_value=as_value)
                if reads.subclasses:
                    self.subclassed |= {place, *(each for each, _ in named)}
        return found

    def text(self) -> str:
        """Return the code that was found, one definition after another."""
        first = dict.fromkeys(self.first)
        ordered = [*first, *sorted(self.reached.keys() - first.keys())]
        documented = any(
            each.reads(annotated=place in self.values).documented
            for place in ordered
            for each in self._of(place)
        )
        lines = [line for place in ordered for line in self._texts(place, documented=documented)]
        return "\n".join(lines)

    def moves(self, place: Place) -> bool:
        """Return whether the value of a name comes from a clock, also through other names."""
        seen, waiting = {place}, [place]
        while waiting:
            module, name = at = waiting.pop()
            if at in self._still:
                continue
            statements = self.module(module).statements.get(name, ())
            made = [each.reads(annotated=False) for each in statements]
            if at in self._moving or any(each.asks_clock for each in made):
                self._moving.add(place)
                return True
            names = (dotted for each in made for dotted in each.made_of)
            more = {p for dotted in names for p in self._find(module, dotted, set())} - seen
            seen |= more
            waiting += more
        self._still |= seen
        return False

    def unfollowed(self) -> Iterator[tuple[str, int, str]]:
        """Yield module, line and text of calls that look up code by an unknown text."""
        for place in sorted(self.reached):
            for each in self._of(place):
                for line, text in each.reads(annotated=place in self.values).unfollowed:
                    yield place[0], line, text

    def _of(self, place: Place) -> list[Statement]:
        module, name = place
        known = self.module(module)
        found = [*known.statements.get(name, []), *known.deeds.get(name, [])]
        decorated = known.decorated.get(name, []) if self._is_own(module, name) else []
        return found + [each for each in decorated if each not in found]

    def _is_own(self, module: str, name: str) -> bool:
        """Return whether a name comes from the project, not from a library."""
        known = self.module(module)
        origins = known.imports.get(name, [])
        inner = (".".join(each).strip(".") for each in origins)
        return name in known.statements or any(
            self.has(i) or self.has(o) for i, (o, _) in zip(inner, origins, strict=True)
        )

    def _texts(self, place: Place, *, documented: bool) -> list[str]:
        """Return the text of the statements that bind a name; for a library, the import."""
        module, name = place
        known = self.module(module)
        annotated = place in self.values
        found = self._of(place)
        texts = [each.text(annotated=annotated, documented=documented) for each in found]
        if name in known.statements:
            return texts
        imports = known.imports.get(name, [])
        origins = (".".join(part for part in each if part) for each in imports)
        return [*(f"import {origin} as {name}" for origin in dict.fromkeys(origins)), *texts]

    def _references(self, module: str, reads: Reads) -> Iterator[tuple[Place, bool]]:
        """Yield every place that a statement names, and whether it is used as a value."""
        for dotted, as_value in reads.names:
            yield from ((each, as_value) for each in self._find(module, dotted, set()))
        for bound in reads.imported:
            yield from ((each, False) for each in self._find(module, (bound,), set()))
        for other in reads.modules:  # nobody imported it yet: a function may want what it does
            if self.has(other) and self.texts.namespace(other) is None:
                yield from ((each, False) for each in self._all_of(other))
        for kind, name in reads.found_by_text:
            if kind == "global":
                yield from ((each, True) for each in self._find(module, (name,), set()))
            elif self.has(name):
                yield from ((each, True) for each in self._all_of(name))

    def _all_of(self, module: str) -> Iterator[Place]:
        known = self.module(module)
        for name in dict.fromkeys((*known.statements, *known.imports)):
            yield from self._find(module, (name,), set())

    def _find(self, module: str, dotted: Sequence[str], visited: set[Place]) -> Iterator[Place]:
        """Yield the places of a dotted name in a module; a module alone is all its places."""
        first, *rest = dotted
        source = self.module(module)
        if (module, first) in visited:
            return
        visited.add((module, first))
        if first in source.statements:
            yield module, first
        elif first in source.imports:
            origins = source.imports[first]
            found = [p for each in origins for p in self._imported(*each, rest, visited)]
            yield from found or [(module, first)]
            if first in source.deeds or (found and first in source.decorated):
                yield module, first
        else:
            stars = (self._find(each, dotted, visited) for each in source.stars if self.has(each))
            found = [place for each in stars for place in each]
            if not found and first[:2] != "__" and first in (self.texts.namespace(module) or {}):
                found = [(module, first)]  # `globals()` put it there, or a library's star import
            if "__getattr__" in source.statements:  # what the module answers to any name
                found.append((module, "__getattr__"))
            yield from found

    def _imported(
        self, module: str, name: str, rest: Sequence[str], visited: set[Place]
    ) -> Iterator[Place]:
        path = [*module.split("."), *([name] if name else []), *rest]
        for cut in range(len(path), 0, -1):
            inner = ".".join(path[:cut])
            if not self.has(inner):
                continue
            if cut < len(path):
                yield from self._find(inner, path[cut:], visited)
            else:
                yield from ((inner, each) for each in self.module(inner).statements)
            return
