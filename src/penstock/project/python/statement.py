"""One statement: its text without what changes no row, and the names that it reads.

The text leaves out comments, layout, the order of imports, unused annotations and docstrings, and
the decorator that declares a model: its options are settings with their own fingerprint.
"""

from __future__ import annotations

import ast
import copy
import symtable
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

DECLARING = frozenset({"source", "model", "table", "incremental_table"})
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_BLIND = frozenset(
    """staticmethod classmethod property cached_property lru_cache cache wraps contextmanager
    asynccontextmanager abstractmethod override overload final setter getter deleter""".split()  # noqa: SIM905  as a list it fills a page
)
"""Decorators that read no annotation."""
_CLOCKS = frozenset(
    """now utcnow today time time_ns monotonic perf_counter localtime gmtime uuid1 uuid4 random
    randint randrange uniform choice choices sample shuffle getrandbits getpid getcwd cwd home
    gethostname node mkdtemp mkstemp TemporaryDirectory NamedTemporaryFile token_hex token_bytes
    token_urlsafe urandom""".split()  # noqa: SIM905  as a list it fills a page
)
"""Calls whose value changes each time: their code counts, and their value does not."""
_LEVELS = 50_000
_ROOM = Lock()
T = TypeVar("T")
Read = tuple[tuple[str, ...], bool]
"""A name with its attributes, and whether it is used as a value, not only called."""


@dataclass(slots=True, eq=False)
class Statement:
    """A statement of a module; its properties are computed once, for all functions."""

    node: ast.AST
    is_declared: bool = False
    _texts: dict[tuple[bool, bool], str] = field(default_factory=dict)
    _reads: dict[bool, Reads] = field(default_factory=dict)

    def text(self, *, annotated: bool, documented: bool) -> str:
        """Return its text; with annotations, or with docstrings, if they are used."""
        key = annotated, documented
        if key not in self._texts:
            self._texts[key] = _with_room(lambda: ast.unparse(self._bare(*key)))
        return self._texts[key]

    def reads(self, *, annotated: bool) -> Reads:
        """Return what it reads, with its annotations or without."""
        if annotated not in self._reads:
            bared = _with_room(lambda: self._bare(annotated, documented=False))
            self._reads[annotated] = reads_of(bared)
        return self._reads[annotated]

    def _bare(self, annotated: bool, documented: bool) -> ast.AST:  # noqa: FBT001  a key of texts
        more = {getattr(self.node, "name", "")} if annotated else set()
        return bare(self.node, more, documented=documented)


def _with_room(work: Callable[[], T]) -> T:
    """Return the result of work on a tree with a large stack, for long chains of calls.

    Python's own compiler accepted the tree, so it ends; no user code runs meanwhile.
    """
    try:
        return work()
    except RecursionError:
        with _ROOM:
            limit = sys.getrecursionlimit()
            sys.setrecursionlimit(_LEVELS)
            try:
                return work()
            finally:
                sys.setrecursionlimit(limit)


@dataclass(frozen=True, slots=True)
class Reads:
    """What a statement reads of its module and of others."""

    names: tuple[Read, ...]
    imported: tuple[str, ...]
    """Names that it imports from a module, as it calls them."""
    modules: tuple[str, ...]
    """Modules that it imports whole."""
    found_by_text: tuple[tuple[str, str], ...]
    """Code that it looks up by a text: `module` or `global`, and the text."""
    documented: bool
    """Whether it reads docstrings."""
    subclasses: bool
    """Whether it asks classes for their subclasses."""
    made_of: frozenset[tuple[str, ...]]
    """Names that it reads when its module is imported."""
    asks_clock: bool
    """Whether it then calls a clock, or a random generator."""
    unfollowed: tuple[tuple[int, str], ...]
    """Lines and texts that look up code by a text known only at run time."""


def reads_of(node: ast.AST) -> Reads:
    """Return what a statement reads."""
    nodes = [*ast.walk(node)]
    imports = [each for each in nodes if isinstance(each, ast.ImportFrom)]
    parts = run_at_import(node)
    words = {each.id for each in nodes if isinstance(each, ast.Name)}
    words |= {each.attr for each in nodes if isinstance(each, ast.Attribute)}
    return Reads(
        tuple(dict.fromkeys(dotted_names(node))),
        tuple(alias.asname or alias.name for each in imports for alias in each.names),
        tuple(a.name for each in nodes if isinstance(each, ast.Import) for a in each.names),
        tuple(found for each in nodes if (found := found_by_text(each))[1]),
        not words.isdisjoint(("__doc__", "getdoc")),
        "__subclasses__" in words,
        frozenset(name for part in parts for name, _ in dotted_names(part)),
        any(map(_asks_clock, parts)),
        tuple((getattr(each, "lineno", 1), ast.unparse(each)) for each in unfollowed(node)),
    )


def bare(node: ast.AST, values: Collection[str], *, documented: bool) -> ast.AST:
    """Return a copy of a statement; annotations of functions in `values` are kept."""
    known = {*values, *values_of(node)}
    found: ast.AST = _Bare(known, documented=documented).visit(copy.deepcopy(node))
    return found


class _Bare(ast.NodeTransformer):
    """Removes unused annotations and docstrings, and sorts imports."""

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
    """Return an annotation; a quoted one without its quotes."""
    match annotation:
        case ast.Constant(str(text)):
            try:
                return ast.parse(text, mode="eval").body
            except SyntaxError:
                return annotation
        case _:
            return annotation


def _reads_hints(decorator: ast.expr) -> bool:
    """Return whether a decorator may read annotations; those that declare models do not."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    match called:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name not in _BLIND and not declares(decorator)
        case _:
            return True


def values_of(statement: ast.AST) -> set[str]:
    """Return the names that a statement passes on, or stores, without calling them."""
    nodes = [*ast.walk(statement)]
    called = {id(each.func) for each in nodes if isinstance(each, ast.Call)}
    found = set()
    for each in nodes:
        match each:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                found |= {name} if id(each) not in called else set()
    return found


def declares(decorator: ast.expr | None = None) -> bool:
    """Return whether a decorator, bare or called, is one of those that declare models."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    match called:
        case ast.Attribute(inner, "over") if isinstance(decorator, ast.Call):
            return declares(inner)
        case ast.Name(name) | ast.Attribute(ast.Name(), name):
            return name in DECLARING
        case _:
            return False


def dotted_names(statement: ast.AST) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Return every name of a module that is read, with its attributes, and whether as a value."""
    inner: set[ast.AST] = set()
    outer = _outer_names(statement)
    called = {id(each.func) for each in ast.walk(statement) if isinstance(each, ast.Call)}
    for node in ast.walk(statement):
        chain: list[str] = []
        at: ast.AST = node
        while isinstance(at, ast.Attribute):
            chain.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at not in inner and at.id in outer:
            inner.add(at)
            yield (at.id, *reversed(chain)), id(node) not in called


def _outer_names(statement: ast.AST) -> set[str]:
    """Return the names that a statement does not bind itself: a parameter is not a model."""
    found: set[str] = set()
    tables = [symtable.symtable(_with_room(lambda: ast.unparse(statement)), "", "exec")]
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


def found_by_text(node: ast.AST) -> tuple[str, str]:
    """Return the kind of code lookup by text, and the text; "" if it is not constant.

    >>> [found_by_text(ast.parse(each, mode="eval").body) for each in ("globals()['A']", "exec(a)")]
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
        kind, name = found_by_text(node)
        followed |= {id(each) for each in ast.walk(node)} if kind == "global" and name else set()
        match node:
            case ast.Call(func=ast.Name("globals")) if id(node) not in followed:
                yield node
            case _ if kind and not name:
                yield node


def _asks_clock(part: ast.AST) -> bool:
    calls = (each.func for each in ast.walk(part) if isinstance(each, ast.Call))
    names = (getattr(each, "id", getattr(each, "attr", "")) for each in calls)
    return not _CLOCKS.isdisjoint(names)


def run_at_import(statement: ast.AST) -> list[ast.AST]:
    """Return the parts of a statement that run when its module is imported."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            given = (*statement.args.defaults, *statement.args.kw_defaults)
            return [*statement.decorator_list, *(each for each in given if each is not None)]
        case ast.ClassDef(body=body):
            inner = (part for each in body for part in run_at_import(each))
            return [*statement.decorator_list, *statement.bases, *inner]
        case _:
            return [statement]
