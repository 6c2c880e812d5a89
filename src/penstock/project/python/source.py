"""What a Python function means: its code and all code of the project that it reaches by name.

Comments, layout and positions are left out, annotations and docstrings that nobody reads (spec:
drift, DV17), and the decorator that declares a model: its options are settings, which have
fingerprints of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.project.python.statements import Module, Place, Statement, dotted_names, parsed
from penstock.project.python.texts import ModuleTexts


def normalised(source: str, name: str, modules: Mapping[str, str]) -> str:
    r'''Give the code of a function, and of what it reaches, one definition after another.

    `modules` are the texts of the project's modules by their dotted names; of a library only the
    import counts. Raises `SyntaxError`, or `KeyError` if the module does not bind the name.

    >>> print(normalised('def f(a: int): # one\n    """Say."""\n    return a', "f", {}))
    def f(a):
        return a
    '''
    home = next((module for module, text in modules.items() if text == source), "")
    reach = Reach({**modules, home: source})
    if not reach.module(home).statements.get(name):
        raise KeyError(name)
    reach.add([(home, name)])
    reach.follow()
    return reach.text()


@dataclass(slots=True)
class Reach:
    """What is reached from some places; `values` are places that are not only called."""

    texts_by_name: Mapping[str, str]
    first: list[Place] = field(default_factory=list)
    reached: dict[Place, None] = field(default_factory=dict)
    values: set[Place] = field(default_factory=set)
    subclassed: set[Place] = field(default_factory=set)
    _waiting: list[Place] = field(default_factory=list)
    _read: dict[str, Module] = field(default_factory=dict)

    def module(self, name: str) -> Module:
        """Return a module of the project, read."""
        if name not in self._read:
            package = name if self._is_package(name) else name.rpartition(".")[0]
            self._read[name] = parsed(self.texts_by_name[name], package)
        return self._read[name]

    def _is_package(self, name: str) -> bool:
        known = self.texts_by_name
        if isinstance(known, ModuleTexts) and known.is_package(name):
            return True
        return any(other.startswith(f"{name}.") for other in known)

    def has(self, module: str) -> bool:
        """Whether a module is one of the project."""
        return module in self.texts_by_name

    def holds(self, place: Place) -> bool:
        """Whether a place is one of the project."""
        return self.has(place[0]) and place[1] in self.module(place[0]).statements

    def add(self, places: Sequence[Place]) -> None:
        """Let places be followed that lead the text."""
        self.first += places
        for each in places:
            self._come_to(each, as_value=False)

    def add_values(self, places: Sequence[Place]) -> None:
        """Let names of modules be followed that values are made of."""
        for module, name in places:
            for each in self._found(module, (name,), set()) if self.has(module) else ():
                self._come_to(each, as_value=True)

    def add_all_of(self, module: str) -> None:
        """Let every place be followed that a module binds or imports."""
        self.add([*dict.fromkeys(self._all_of(module))])

    def _come_to(self, place: Place, *, as_value: bool) -> None:
        if place not in self.reached or (as_value and place not in self.values):
            self._waiting.append(place)
        if as_value:
            self.values.add(place)

    def follow(self) -> list[Place]:
        """Follow what waits; return the places that were not reached before."""
        found: list[Place] = []
        while self._waiting:
            place = self._waiting.pop()
            found += [] if place in self.reached else [place]
            self.reached[place] = None
            for statement in self._of(place):
                bare = self._bare(place, statement)
                named = [*self._named(place[0], bare)]
                for next_place, as_value in named:
                    self._come_to(next_place, as_value=as_value)
                if mentions(bare, "__subclasses__"):
                    self.subclassed |= {place, *(each for each, _ in named)}
        return found

    def text(self) -> str:
        """Return the code that was reached, one definition after another."""
        first = dict.fromkeys(self.first)
        ordered = [*first, *sorted(self.reached.keys() - first.keys())]
        nodes = [(place, s) for place in ordered for s in self._of(place)]
        documented = any(mentions(self._bare(*each), "__doc__", "getdoc") for each in nodes)
        lines = [line for place in ordered for line in self._texts(place, documented=documented)]
        return "\n".join(lines)

    def statements(self) -> Iterator[tuple[str, ast.AST]]:
        """Return each statement that was reached, with its module."""
        seen: set[int] = set()
        for place in sorted(self.reached):
            for each in self._of(place):
                if id(each) not in seen:
                    seen.add(id(each))
                    yield place[0], each.node

    def _bare(self, place: Place, statement: Statement, *, documented: bool = False) -> ast.AST:
        return statement.bare(annotated=place in self.values, documented=documented)

    def _of(self, place: Place) -> list[Statement]:
        module, name = place
        known = self.module(module)
        found = [*known.statements.get(name, []), *known.deeds.get(name, [])]
        decorated = known.decorated.get(name, []) if self._is_own(module, name) else []
        return found + [each for each in decorated if each not in found]

    def _is_own(self, module: str, name: str) -> bool:
        """Whether a name is one of the project, and not what a library gives."""
        known = self.module(module)
        origins = known.imports.get(name, [])
        inner = (".".join(each).strip(".") for each in origins)
        return name in known.statements or any(
            self.has(i) or self.has(o) for i, (o, _) in zip(inner, origins, strict=True)
        )

    def _texts(self, place: Place, *, documented: bool) -> list[str]:
        """Give the statements that bind a name, as text; of a library the import alone."""
        module, name = place
        known = self.module(module)
        nodes = (self._bare(place, each, documented=documented) for each in self._of(place))
        texts = [ast.unparse(each) for each in nodes]
        if name in known.statements:
            return texts
        origins = (".".join(part for part in each if part) for each in known.imports[name])
        return [*(f"import {origin} as {name}" for origin in dict.fromkeys(origins)), *texts]

    def _named(self, module: str, statement: ast.AST) -> Iterator[tuple[Place, bool]]:
        """Give every place that a statement names, and whether it does more than call it."""
        for dotted, as_value in dotted_names(statement):
            yield from ((each, as_value) for each in self._found(module, dotted, set()))
        for node in ast.walk(statement):
            match node:
                case ast.ImportFrom():
                    for alias in node.names:
                        bound = alias.asname or alias.name
                        yield from ((p, False) for p in self._found(module, (bound,), set()))
                case ast.Import():
                    for alias in node.names:
                        yield from ((p, False) for p in self._effects(alias.name))
                case ast.Call() | ast.Subscript():
                    yield from ((p, True) for p in self._by_text(module, node))

    def _effects(self, module: str) -> Iterator[Place]:
        """Give all of a module that nobody imported yet: a function may want what it does."""
        known = self.texts_by_name
        if isinstance(known, ModuleTexts) and self.has(module) and known.namespace(module) is None:
            yield from self._all_of(module)

    def _by_text(self, module: str, node: ast.AST) -> Iterator[Place]:
        """Give what a text names: a module, or a global of this one."""
        kind, name = named_by_text(node)
        if kind == "module" and self.has(name):
            yield from self._all_of(name)
        elif kind == "global" and name:
            yield from self._found(module, (name,), set())

    def _all_of(self, module: str) -> Iterator[Place]:
        known = self.module(module)
        for name in dict.fromkeys((*known.statements, *known.imports)):
            yield from self._found(module, (name,), set())

    def _found(self, module: str, dotted: Sequence[str], seen: set[Place]) -> Iterator[Place]:
        """Give what a dotted name stands for in a module; a module by itself is all of it."""
        first, *rest = dotted
        known = self.module(module)
        if (module, first) in seen:
            return
        seen.add((module, first))
        if first in known.statements:
            yield module, first
        elif first in known.imports:
            origins = known.imports[first]
            found = [p for each in origins for p in self._imported(*each, rest, seen)]
            yield from found or [(module, first)]
            if first in known.deeds or (found and first in known.decorated):
                yield module, first
        else:
            for star in known.stars:
                if self.has(star):
                    yield from self._found(star, dotted, seen)
            if "__getattr__" in known.statements:  # what the module answers to any name
                yield module, "__getattr__"

    def _imported(
        self, module: str, name: str, rest: Sequence[str], seen: set[Place]
    ) -> Iterator[Place]:
        path = [*module.split("."), *([name] if name else []), *rest]
        for cut in range(len(path), 0, -1):
            inner = ".".join(path[:cut])
            if not self.has(inner):
                continue
            if cut < len(path):
                yield from self._found(inner, path[cut:], seen)
            else:
                yield from ((inner, each) for each in self.module(inner).statements)
            return


def mentions(statement: ast.AST, *names: str) -> bool:
    """Whether a statement has one of the names, or an attribute of it."""
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in names:
                return True
    return False


def named_by_text(node: ast.AST) -> tuple[str, str]:
    """Return what code is looked up by a text, and the text; "" where it is no constant.

    >>> [named_by_text(ast.parse(each, mode="eval").body) for each in ("globals()['A']", "exec(a)")]
    [('global', 'A'), ('code', '')]
    """
    match node:
        case ast.Call(
            func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[first, *_],
        ):
            return "module", _constant(first)
        case ast.Subscript(value=ast.Attribute(ast.Name("sys"), "modules"), slice=key):
            return "module", _constant(key)
        case ast.Subscript(value=ast.Call(func=ast.Name("globals")), slice=key):
            return "global", _constant(key)
        case ast.Call(
            func=ast.Attribute(ast.Call(func=ast.Name("globals")), "get"), args=[key, *_]
        ):
            return "global", _constant(key)
        case ast.Call(func=ast.Name("eval"), args=[first, *_]) if not _constant(first):
            return "code", ""
        case ast.Call(func=ast.Name("exec")):
            return "code", ""
        case ast.Call(func=ast.Attribute(ast.Name("runpy"), "run_path" | "run_module")):
            return "code", ""
        case ast.Call(
            func=ast.Name("spec_from_file_location") | ast.Attribute(attr="spec_from_file_location")
        ):
            return "code", ""
    return "", ""


def _constant(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def unfollowed(statement: ast.AST) -> Iterator[ast.AST]:
    """Return what looks code up by a text that only a run knows."""
    followed: set[int] = set()
    for node in ast.walk(statement):  # what is around comes first
        kind, name = named_by_text(node)
        followed |= {id(each) for each in ast.walk(node)} if kind == "global" and name else set()
        match node:
            case ast.Call(func=ast.Name("globals")) if id(node) not in followed:
                yield node
            case _ if kind and not name:
                yield node
