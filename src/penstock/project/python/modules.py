"""The names that the statements of a module bind and change."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

from penstock.project.python.statement import FUNCTIONS, Statement, declares, run_at_import
from penstock.project.python.texts import Place

_PARTS = {"body", "orelse", "finalbody", "handlers", "cases"}
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(slots=True)
class Module:
    """The bindings of a module: statements by name, and imported names at any level.

    `deeds` are statements that change what a name holds, or call it, without binding it, and
    `decorated` are definitions that a decorator receives.
    """

    statements: dict[str, list[Statement]] = field(default_factory=dict)
    deeds: dict[str, list[Statement]] = field(default_factory=dict)
    decorated: dict[str, list[Statement]] = field(default_factory=dict)
    imports: dict[str, list[Place]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    def bind(self, statement: Statement, names: Sequence[str]) -> None:
        """Add a statement under the names that it binds or changes, without models."""
        for name in dict.fromkeys(names):  # the head of a block decides on imports too
            held = self.deeds if name in self.imports else self.statements
            held.setdefault(name, []).append(statement)
        for name in dict.fromkeys(_changed(statement.node)):
            known = self.statements.get(name, [])
            if name not in names and not any(each.is_declared for each in known):
                self.deeds.setdefault(name, []).append(statement)
        for name in dict.fromkeys(_marking(statement.node)):
            if name not in names:
                self.decorated.setdefault(name, []).append(statement)

    def bind_calls(self) -> None:
        """Add statements that call a function at import to the names that the function changes."""
        every = {s: n for n, each in [*self.statements.items(), *self.deeds.items()] for s in each}
        every |= {s: n for n, each in self.decorated.items() for s in each}
        writes = {n: w for s, n in every.items() if (w := _written_by(s.node, self.statements))}
        for statement, own in every.items() if writes else ():
            for called in _called_at_import(statement.node):
                for name in writes.get(called, ()):
                    held = self.deeds.setdefault(name, [])
                    if name != own and statement not in held:
                        held.append(statement)

    def bind_import(self, node: ast.Import | ast.ImportFrom, package: str) -> None:
        """Add an import; relative ones begin at `package`."""
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
def parsed(text: str, package: str) -> Module:
    """Return the bindings of a module; a file of many functions is parsed once."""
    tree = ast.parse(text)
    found = Module()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.bind_import(node, package)
    body = [each for each in tree.body if not _is_main(each)]
    if ast.get_docstring(tree) is not None:
        found.statements["__doc__"] = [Statement(body.pop(0))]
    for node, names in _statements(body):
        found.bind(_statement(node), names)
    found.bind_calls()
    return found


def unparsed(text: str) -> Module:
    """Return a module that Python cannot parse: each of its names stands for the whole text."""
    whole = Statement(ast.Expr(ast.Constant(sha256(text.encode()).hexdigest())))
    return Module({"__getattr__": [whole]})


def _statement(node: ast.AST) -> Statement:
    """Return a statement without the decorator that declares a model."""
    if isinstance(node, FUNCTIONS) and declares(*node.decorator_list[:1]):
        del node.decorator_list[0]
        return Statement(node, is_declared=True)
    return Statement(node)


def _is_main(statement: ast.AST) -> bool:
    """Return whether a statement is `if __name__ == "__main__"`."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name("__name__"))):
            return True
        case _:
            return False


def _statements(body: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, list[str]]]:
    """Yield the statements of a module, including nested ones, and the names that each binds.

    The head of a block is a separate statement for everything that the block binds: it decides
    whether, and how often, the block runs.
    """
    for statement in body:
        if isinstance(statement, DEFINITIONS) or not (_PARTS & set(statement._fields)):
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
    """Return a block without its body; None if it decides nothing."""
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
        case ast.Try(handlers=handlers) if handlers:
            caught = [ast.ExceptHandler(each.type, each.name, [ast.Pass()]) for each in handlers]
            return ast.Try([ast.Pass()], caught, [], [])
        case _:
            return None


def _bound(statement: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds, except imports."""
    if isinstance(statement, DEFINITIONS):
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


def _changed(statement: ast.AST) -> Iterator[str]:
    """Yield the names whose values a statement may change: `RULES.append(rule)`."""
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
    yield from (name for each in targets if (name := _root(each)))


def _root(chain: ast.AST) -> str:
    """Return the name at the start of a chain of attributes, items and calls."""
    while isinstance(chain, ast.Attribute | ast.Subscript | ast.Call):
        chain = chain.func if isinstance(chain, ast.Call) else chain.value
    return chain.id if isinstance(chain, ast.Name) else ""


def _marking(statement: ast.AST) -> Iterator[str]:
    """Yield the objects whose methods decorate a definition: `clean` of `@clean.register`."""
    for each in getattr(statement, "decorator_list", ()):
        called = each.func if isinstance(each, ast.Call) else each
        if isinstance(called, ast.Attribute) and not declares(each):
            yield _root(called)


def _written_by(definition: ast.AST, statements: dict[str, list[Statement]]) -> set[str]:
    """Return the names of a module that a function changes when it is called."""
    if not isinstance(definition, DEFINITIONS):
        return set()
    nodes = [*ast.walk(definition)]
    found = {name for each in nodes if isinstance(each, ast.Global) for name in each.names}
    return found | {name for each in nodes for name in _changed(each) if name in statements}


def _called_at_import(statement: ast.AST) -> set[str]:
    """Return the names that are called when a module is imported: bases and decorators too."""
    heads = [*getattr(statement, "decorator_list", ()), *getattr(statement, "bases", ())]
    nodes = run_at_import(statement)
    calls = (each.func for node in nodes for each in ast.walk(node) if isinstance(each, ast.Call))
    return {name for each in (*heads, *calls) if (name := _root(each))}
