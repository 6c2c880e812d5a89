"""What a Python function means: its code and all code of the project that it reaches by name.

Comments, docstrings, annotations, layout and positions are left out (spec/drift.md §12, DV17), and
the decorator that declares a model: its options are settings, which have fingerprints of their own.
"""

from __future__ import annotations

import ast
import inspect
import symtable
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from linecache import getlines
from pathlib import Path
from types import CodeType, FunctionType

from penstock.project.python.declare import PythonModel

DECLARING = frozenset({"source", "model", "table", "incremental_table"})
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_CONSTANTS = (bool, int, float, str)
_FUNCTIONS = (FunctionType, PythonModel)
Place = tuple[str, str]
"""A module and a name that it binds."""


def normalised(source: str, name: str, modules: Mapping[str, str]) -> str:
    r'''Give the code of a function, and of what it reaches, one definition after another.

    `modules` are the texts of the project's modules by their dotted names; of a library only the
    import counts. Raises `SyntaxError`, or `KeyError` if the module does not bind the name.

    >>> print(normalised('def f(a: int): # one\n    """Say."""\n    return a', "f", {}))
    def f(a):
        return a
    '''
    home = next((module for module, text in modules.items() if text == source), "")
    known = _Modules({**modules, home: source})
    if not known.module(home).statements.get(name):
        raise KeyError(name)
    reached: dict[Place, None] = {}
    waiting = [(home, name)]
    while waiting:
        place = waiting.pop()
        if place not in reached:
            reached[place] = None
            waiting += known.reached_from(place)
    first, *others = reached
    return "\n".join(text for place in (first, *sorted(others)) for text in known.texts(place))


def typed_module(function: Callable[..., object]) -> str:
    """Give the text of a notebook in which a function was typed; "" where nobody kept it.

    It is the cells of all functions that are there now, as `linecache` has them, and constants:
    what another cell defined may be called, too.
    """
    own = inspect.unwrap(function)
    names = getattr(own, "__globals__", {})
    functions = [inspect.unwrap(each) for each in names.values() if isinstance(each, _FUNCTIONS)]
    codes = [getattr(each, "__code__", None) for each in (*functions, own)]
    places = dict.fromkeys(code.co_filename for code in codes if code is not None)
    cells = ["".join(getlines(place)) for place in places if not Path(place).is_file()]
    kept = "\n".join(cell for cell in cells if _is_python(cell))
    constants = (
        f"{name} = {value!r}\n"
        for name, value in sorted(names.items())
        if isinstance(value, _CONSTANTS) and name.isidentifier() and not name.startswith("_")
    )
    return kept and "\n".join([kept, *constants])


def compiled(function: Callable[..., object]) -> str:
    r"""Give the bytecode of a function as text, without file, lines and docstring.

    >>> compiled(eval("lambda n: n + 1")) == compiled(eval("(\n  lambda n: n + 1  # one\n)"))
    True
    >>> compiled(eval("lambda n: n + 1")) == compiled(eval("lambda n: n + 2"))
    False
    """
    own = inspect.unwrap(function)
    code = getattr(own, "__code__", None)
    return "" if code is None else _bare_code(code, own.__doc__)


def _bare_code(code: CodeType, doc: str | None = None) -> str:
    consts = [
        _bare_code(each)
        if isinstance(each, CodeType)
        else repr(sorted(map(repr, each)) if isinstance(each, frozenset) else each)
        for number, each in enumerate(code.co_consts)
        if not (number == 0 and each in (doc, None))
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    taken = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags)
    return repr((code.co_name, code.co_code.hex(), consts, names, taken))


def _is_python(text: str) -> bool:
    try:
        return bool(ast.parse(text).body)
    except SyntaxError:
        return False


@dataclass(slots=True)
class _Module:
    """What a module binds: statements by name, and names that it imports."""

    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, Place] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    def bind_import(self, node: ast.Import | ast.ImportFrom, package: str) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                self.imports[alias.asname or whole] = (whole, "")
            return
        origin = node.module or ""
        if node.level:
            parts = package.split(".") if package else []
            origin = ".".join(filter(None, [*parts[: len(parts) - node.level + 1], origin]))
        for alias in node.names:
            self.stars += [origin] if alias.name == "*" else []
            self.imports[alias.asname or alias.name] = (origin, alias.name)


@dataclass(slots=True)
class _Modules:
    texts_by_name: Mapping[str, str]
    read: dict[str, _Module] = field(default_factory=dict)

    def module(self, name: str) -> _Module:
        if name not in self.read:
            tree = _Bare().visit(ast.parse(self.texts_by_name[name]))
            self.read[name] = found = _Module()
            inside = any(other.startswith(f"{name}.") for other in self.texts_by_name)
            package = name if inside else name.rpartition(".")[0]
            for statement in _statements(tree.body):
                for bound in _bound(statement):
                    found.statements.setdefault(bound, []).append(statement)
            for node in ast.walk(tree):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    found.bind_import(node, package)
        return self.read[name]

    def texts(self, place: Place) -> list[str]:
        """Give the statements that bind a name, as text; of a library the import alone."""
        module, name = place
        known = self.module(module)
        if name in known.statements:
            return [ast.unparse(each) for each in known.statements[name]]
        origin = ".".join(part for part in known.imports[name] if part)
        return [f"import {origin} as {name}"]

    def reached_from(self, place: Place) -> Iterator[Place]:
        """Give every place that the statements of a place name."""
        module, name = place
        for statement in self.module(module).statements.get(name, []):
            for dotted in _dotted_names(statement):
                yield from self._found(module, dotted, set())

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
            found = list(self._imported(*known.imports[first], rest, seen))
            yield from found or [(module, first)]
        else:
            for star in known.stars:
                if star in self.texts_by_name:
                    yield from self._found(star, dotted, seen)

    def _imported(
        self, module: str, name: str, rest: Sequence[str], seen: set[Place]
    ) -> Iterator[Place]:
        path = [*module.split("."), *([name] if name else []), *rest]
        for cut in range(len(path), 0, -1):
            inner = ".".join(path[:cut])
            if inner not in self.texts_by_name:
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


def _declares(decorator: ast.expr | None = None) -> bool:
    """Whether a decorator, bare or called, is one of those that declare models."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    match called:
        case ast.Name(name) | ast.Attribute(ast.Name(), name):
            return name in DECLARING
        case _:
            return False


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Give the statements of a module, those under `if`, `try` and `with` too."""
    for statement in body:
        yield statement
        for part in ("body", "orelse", "finalbody", "handlers"):
            if not isinstance(statement, _DEFINITIONS):
                yield from _statements(getattr(statement, part, []))


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Give the names that a statement binds, but for imports."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = (each for target in targets for each in ast.walk(target))
        yield from (each.id for each in names if isinstance(each, ast.Name))


def _dotted_names(statement: ast.stmt) -> Iterator[tuple[str, ...]]:
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


def _outer_names(statement: ast.stmt) -> set[str]:
    """Give the names that a statement does not bind for itself: a parameter is no model."""
    found: set[str] = set()
    tables = [symtable.symtable(ast.unparse(statement), "", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_module = table.get_type() == "module"
        found |= {each.get_name() for each in table.get_symbols() if is_module or each.is_global()}
    return found
