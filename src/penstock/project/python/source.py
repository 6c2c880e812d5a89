"""What a Python function means: its code and all code of the project that it reaches by name.

Comments, docstrings, annotations, layout and positions are left out (spec/drift.md §12, DV17), and
the decorator that declares a model: its options are settings, which have fingerprints of their own.
"""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from penstock.project.python.captured import ModuleTexts

DECLARING = frozenset({"source", "model", "table", "incremental_table"})
_PARTS = {"body", "orelse", "finalbody", "handlers", "cases"}
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Place = tuple[str, str]
"""A module and a name that it binds."""


def normalised(
    source: str,
    name: str,
    modules: Mapping[str, str],
    *,
    home: str | None = None,
    also: Sequence[Place] = (),
) -> str:
    r'''Give the code of a function, and of what it reaches, one definition after another.

    `modules` are the texts of the project's modules by their dotted names; of a library only the
    import counts. `home` is the module of the function, `also` are places that it reaches in
    other ways; without a name it is all that the module holds.
    Raises `SyntaxError`, or `KeyError` if the module does not bind the name.

    >>> print(normalised('def f(a: int): # one\n    """Say."""\n    return a', "f", {}))
    def f(a):
        return a
    '''
    if home is None:
        home = next((module for module, text in modules.items() if text == source), "")
    known = _Modules(modules, home, source)
    if name and not known.module(home).statements.get(name):
        raise KeyError(name)
    first = [(home, name)] if name else known.all_of(home)
    reached: dict[Place, None] = {}
    waiting = [*first, *(each for each in also if known.holds(each))]
    while waiting:
        place = waiting.pop()
        if place not in reached:
            reached[place] = None
            waiting += known.reached_from(place)
    ordered = [*first, *sorted(reached.keys() - set(first))]
    return "\n".join(text for place in ordered for text in known.texts(place))


@dataclass(slots=True)
class _Module:
    """What a module binds: statements by name, and names that it imports, wherever it does.

    `deeds` are statements that change what a name holds, or call it, without binding it.
    """

    statements: dict[str, list[ast.AST]] = field(default_factory=dict)
    deeds: dict[str, list[ast.AST]] = field(default_factory=dict)
    imports: dict[str, list[Place]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    def bind(self, statement: ast.AST, names: Sequence[str]) -> None:
        """Take a statement in; what it does to models is no part of what they mean."""
        for name in dict.fromkeys(names):  # the head of a block decides on imports too
            held = self.deeds if name in self.imports else self.statements
            held.setdefault(name, []).append(statement)
        for name in dict.fromkeys(_changed(statement)):
            known = self.statements.get(name, [])
            if name not in names and not any(_declared(each) for each in known):
                self.deeds.setdefault(name, []).append(statement)

    def bind_import(self, node: ast.Import | ast.ImportFrom, package: str) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                self.imports.setdefault(alias.asname or whole, []).append((whole, ""))
            return
        origin = node.module or ""
        if node.level:
            parts = package.split(".") if package else []
            origin = ".".join(filter(None, [*parts[: len(parts) - node.level + 1], origin]))
        for alias in node.names:
            self.stars += [origin] if alias.name == "*" else []
            self.imports.setdefault(alias.asname or alias.name, []).append((origin, alias.name))


@lru_cache(maxsize=256)
def _parsed(text: str, package: str) -> _Module:
    """Read a module; a file of many functions is read once."""
    tree = _Bare().visit(ast.parse(text))
    found = _Module()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.bind_import(node, package)
    plain = [each for each in tree.body if not _is_main(each)]
    for statement, names in _statements(plain):
        found.bind(statement, names)
    return found


@dataclass(slots=True)
class _Modules:
    texts_by_name: Mapping[str, str]
    home: str
    source: str
    read: dict[str, _Module] = field(default_factory=dict)

    def module(self, name: str) -> _Module:
        if name not in self.read:
            text = self.source if name == self.home else self.texts_by_name[name]
            package = name if self._is_package(name) else name.rpartition(".")[0]
            self.read[name] = _parsed(text, package)
        return self.read[name]

    def _is_package(self, name: str) -> bool:
        known = self.texts_by_name
        if isinstance(known, ModuleTexts) and known.is_package(name):
            return True
        return any(other.startswith(f"{name}.") for other in known)

    def _has(self, module: str) -> bool:
        return module == self.home or module in self.texts_by_name

    def holds(self, place: Place) -> bool:
        """Whether a place is one of the project."""
        return self._has(place[0]) and place[1] in self.module(place[0]).statements

    def all_of(self, module: str) -> list[Place]:
        """Give every place that a module binds or imports."""
        known = self.module(module)
        names = dict.fromkeys((*known.statements, *known.imports))
        places = (place for name in names for place in self._found(module, (name,), set()))
        return [*dict.fromkeys(places)]

    def texts(self, place: Place) -> list[str]:
        """Give the statements that bind a name, as text; of a library the import alone."""
        module, name = place
        known = self.module(module)
        deeds = [ast.unparse(each) for each in known.deeds.get(name, [])]
        if name in known.statements:
            return [*(ast.unparse(each) for each in known.statements[name]), *deeds]
        origins = (".".join(part for part in each if part) for each in known.imports[name])
        return [*(f"import {origin} as {name}" for origin in dict.fromkeys(origins)), *deeds]

    def reached_from(self, place: Place) -> Iterator[Place]:
        """Give every place that the statements of a place name."""
        module, name = place
        known = self.module(module)
        for statement in [*known.statements.get(name, []), *known.deeds.get(name, [])]:
            for dotted in _dotted_names(statement):
                yield from self._found(module, dotted, set())
            for node in ast.walk(statement):
                for bound in _imported_by(node) if isinstance(node, ast.ImportFrom) else ():
                    yield from self._found(module, (bound,), set())
            for imported in _imported_by_name(statement):
                yield from self.all_of(imported) if self._has(imported) else ()

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
            if first in known.deeds:
                yield module, first
        else:
            for star in known.stars:
                if self._has(star):
                    yield from self._found(star, dotted, seen)

    def _imported(
        self, module: str, name: str, rest: Sequence[str], seen: set[Place]
    ) -> Iterator[Place]:
        path = [*module.split("."), *([name] if name else []), *rest]
        for cut in range(len(path), 0, -1):
            inner = ".".join(path[:cut])
            if not self._has(inner):
                continue
            if cut < len(path):
                yield from self._found(inner, path[cut:], seen)
            else:
                yield from ((inner, each) for each in self.module(inner).statements)
            return


class _Bare(ast.NodeTransformer):
    """Takes annotations and docstrings out, and what declares a model."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, _DEFINITIONS):
            first, *others = node.body
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = others or [ast.Pass()]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        if _declares(*node.decorator_list[:1]):
            del node.decorator_list[0]
            node.is_declared = True  # type: ignore[union-attr]
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  the word of ast

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign):  # it may be a field, whatever its type
                statement.annotation = ast.Constant(...)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.annotation, ast.Constant) and node.annotation.value is ...:
            return node
        made = ast.Assign([node.target], node.value) if node.value else ast.Pass()
        return ast.copy_location(made, node)


def _declared(statement: ast.AST) -> bool:
    return getattr(statement, "is_declared", False)


def _is_main(statement: ast.AST) -> bool:
    """Whether a statement is what a script does when it is called."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name("__name__"))):
            return True
        case _:
            return False


def _declares(decorator: ast.expr | None = None) -> bool:
    """Whether a decorator, bare or called, is one of those that declare models."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    match called:
        case ast.Name(name) | ast.Attribute(ast.Name(), name):
            return name in DECLARING
        case _:
            return False


def _statements(body: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, list[str]]]:
    """Give the statements of a module and the names that each binds, those in blocks too.

    The head of a block is one by itself, of all that the block binds: it says whether, and how
    often, the block runs.
    """
    for statement in body:
        if isinstance(statement, _DEFINITIONS) or not (_PARTS & set(statement._fields)):
            yield statement, list(_bound(statement))
            continue
        parts = (getattr(statement, part, []) for part in statement._fields if part in _PARTS)
        inner = [each for part in parts for each in _statements(part)]
        names = [name for each, bound in inner for name in (*bound, *_imported_by(each))]
        head = _head(statement)
        if head is not None:
            yield head, [*_bound(head), *names]
        yield from inner


def _head(block: ast.AST) -> ast.AST | None:
    """Give a block without what stands in it; None where it decides nothing of its own."""
    match block:
        case ast.Match(value, cases):
            empty = [ast.match_case(each.pattern, each.guard, [ast.Pass()]) for each in cases]
            return ast.Match(value, empty)
        case ast.If() | ast.For() | ast.While() | ast.With():
            alone = copy.copy(block)
            alone.body = [ast.Pass()]
            if not isinstance(alone, ast.With):
                alone.orelse = []
            return alone
        case _:
            return None


def _bound(statement: ast.AST) -> Iterator[str]:
    """Give the names that a statement binds, but for imports."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
        inner = (each for each in ast.walk(statement) if isinstance(each, ast.Global))
        yield from (name for each in inner for name in each.names)
        return
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.MatchAs(name=str(name)):
                yield name


def _imported_by(statement: ast.AST) -> Iterator[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]


def _imported_by_name(statement: ast.AST) -> Iterator[str]:
    for node in ast.walk(statement):
        match node:
            case ast.Call(
                func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str(name)), *_],
            ):
                yield name


def _changed(statement: ast.AST) -> Iterator[str]:
    """Give the names whose values a statement changes, or may: `RULES.append(rule)`."""
    match statement:
        case ast.Expr(ast.Call(func=called, args=given)):
            yield from (each.id for each in given if isinstance(each, ast.Name))
            targets: Sequence[ast.expr] = [called]
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            targets = [each for each in targets if not isinstance(each, ast.Name)]
        case ast.AugAssign(target=ast.Subscript() | ast.Attribute() as target):
            targets = [target]
        case _:
            return
    for each in targets:
        root: ast.AST = each
        while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        if isinstance(root, ast.Name):
            yield root.id


def _dotted_names(statement: ast.AST) -> Iterator[tuple[str, ...]]:
    """Give every name of a module that is read, with the attributes that follow it."""
    inner: set[ast.AST] = set()
    outer = _outer_names(statement)
    for node in ast.walk(statement):
        chain: list[str] = []
        at: ast.AST = node
        while isinstance(at, ast.Attribute):
            chain.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at not in inner and at.id in outer:
            inner.add(at)
            yield (at.id, *reversed(chain))


def _outer_names(statement: ast.AST) -> set[str]:
    """Give the names that a statement does not bind for itself: a parameter is no model."""
    found: set[str] = set()
    tables = [symtable.symtable(ast.unparse(statement), "", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_module = table.get_type() == "module"
        found |= {
            each.get_name()
            for each in table.get_symbols()
            if is_module or each.is_global() or each.is_imported()
        }
    return found
