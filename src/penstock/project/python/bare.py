"""Statements without what means nothing: annotations and docstrings that nobody reads."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection

DECLARING = frozenset({"source", "model", "table", "incremental_table"})
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_BLIND = frozenset(
    """staticmethod classmethod property cached_property lru_cache cache wraps contextmanager
    asynccontextmanager abstractmethod override overload final setter getter deleter""".split()  # noqa: SIM905  as a list it fills a page
)
"""Decorators that read no annotation."""


def bare(node: ast.AST, values: Collection[str], *, documented: bool) -> ast.AST:
    """Return a copy of a statement; annotations of functions that are `values` are kept."""
    known = {*values, *values_of(node)}
    found: ast.AST = _Bare(known, documented=documented).visit(copy.deepcopy(node))
    return found


class _Bare(ast.NodeTransformer):
    """Takes out annotations and docstrings that nobody reads, and sorts imports."""

    def __init__(self, values: set[str], *, documented: bool) -> None:
        self.values = values
        self._documented = documented

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for part in ("body", "orelse", "finalbody"):
            body = getattr(node, part, None)
            if isinstance(body, list):
                setattr(node, part, self._body(body, is_needed=part == "body"))
        return node

    def _body(self, body: list[ast.stmt], *, is_needed: bool) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for at, each in enumerate(body):
            if _is_text(each) and not (self._documented and at == 0):
                continue
            place = len(kept)
            while place and _is_import(each) and _is_import(kept[place - 1]):
                if ast.unparse(kept[place - 1]) <= ast.unparse(each):
                    break
                place -= 1
            kept.insert(place, each)
        return kept or ([ast.Pass()] if is_needed else [])

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if declares(*node.decorator_list[:1]):
            del node.decorator_list[0]
        reads = node.name in self.values or any(map(_reads_hints, node.decorator_list))
        node.returns = _hint(node.returns) if reads else None
        for each in ast.walk(node.args):
            if isinstance(each, ast.arg):
                each.annotation = _hint(each.annotation) if reads else None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  the word of ast

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign):  # it may be a field
                statement.annotation = _hint(statement.annotation) or statement.annotation
                statement.is_field = True  # type: ignore[attr-defined]
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if getattr(node, "is_field", False):
            return node
        made = ast.Assign([node.target], node.value) if node.value else ast.Pass()
        return ast.copy_location(made, node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        node.kind = None  # the u of u'a'
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        node.names.sort(key=lambda each: (each.name, each.asname or ""))
        return node


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _hint(annotation: ast.expr | None) -> ast.expr | None:
    """Return an annotation; one in quotes is what stands in them."""
    match annotation:
        case ast.Constant(str(text)):
            try:
                return ast.parse(text, mode="eval").body
            except SyntaxError:
                return annotation
        case _:
            return annotation


def _reads_hints(decorator: ast.expr) -> bool:
    """Whether a decorator may read annotations; of those that declare models nobody does."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    match called:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name not in _BLIND and not declares(decorator)
        case _:
            return True


def values_of(statement: ast.AST) -> set[str]:
    """Return the names that a statement hands on, or keeps, without calling them."""
    nodes = [*ast.walk(statement)]
    called = {id(each.func) for each in nodes if isinstance(each, ast.Call)}
    found = set()
    for each in nodes:
        match each:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                found |= {name} if id(each) not in called else set()
    return found


def declares(decorator: ast.expr | None = None) -> bool:
    """Whether a decorator, bare or called, is one of those that declare models."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    match called:
        case ast.Name(name) | ast.Attribute(ast.Name(), name):
            return name in DECLARING
        case _:
            return False
