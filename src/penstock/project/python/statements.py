"""What the statements of a module bind and change, and which parts of them mean nothing."""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from penstock.project.python.bare import FUNCTIONS, bare, declares

_PARTS = {"body", "orelse", "finalbody", "handlers", "cases"}
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_CLOCKS = frozenset(
    """now utcnow today time time_ns monotonic perf_counter localtime gmtime uuid1 uuid4 random
    randint randrange uniform choice choices sample shuffle getrandbits getpid getcwd cwd home
    gethostname node mkdtemp mkstemp token_hex token_bytes token_urlsafe urandom""".split()  # noqa: SIM905  as a list it fills a page
)
"""Calls whose value is another one each time: their code counts, and their value does not."""
Place = tuple[str, str]
"""A module and a name that it binds."""


@dataclass(slots=True, eq=False)
class Statement:
    """A statement of a module: as it is written, and without what means nothing."""

    node: ast.AST
    is_declared: bool = False
    _bare: dict[tuple[bool, bool], ast.AST] = field(default_factory=dict)

    def bare(self, *, annotated: bool = False, documented: bool = False) -> ast.AST:
        """Return it without annotations, or docstrings, that nobody reads."""
        key = annotated, documented
        if key not in self._bare:
            more = {getattr(self.node, "name", "")} if annotated else set()
            self._bare[key] = bare(self.node, more, documented=documented)
        return self._bare[key]


@dataclass(slots=True)
class Module:
    """What a module binds: statements by name, and names that it imports, wherever it does.

    `deeds` are statements that change what a name holds, or call it, without binding it, and
    `decorated` definitions that a decorator takes in. `moving` are names whose value a clock makes.
    """

    statements: dict[str, list[Statement]] = field(default_factory=dict)
    deeds: dict[str, list[Statement]] = field(default_factory=dict)
    decorated: dict[str, list[Statement]] = field(default_factory=dict)
    imports: dict[str, list[Place]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    moving: set[str] = field(default_factory=set)

    def bind(self, statement: Statement, names: Sequence[str]) -> None:
        """Take a statement in; what it does to models is no part of what they mean."""
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
        """Let statements that call a function at import count where the function writes to."""
        every = {s: n for n, each in [*self.statements.items(), *self.deeds.items()] for s in each}
        every |= {s: n for n, each in self.decorated.items() for s in each}
        writes = {n: w for s, n in every.items() if (w := written_by(s.node, self.statements))}
        for statement, own in every.items() if writes else ():
            for called in called_at_import(statement.node):
                for name in writes.get(called, ()):
                    held = self.deeds.setdefault(name, [])
                    if name != own and statement not in held:
                        held.append(statement)

    def bind_import(self, node: ast.Import | ast.ImportFrom, package: str) -> None:
        """Take an import in; `package` is where relative ones begin."""
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

    def find_moving(self) -> None:
        """Note the names whose values come from clocks, or from such names."""
        plain = {n: [_run_at_import(s.node) for s in each] for n, each in self.statements.items()}
        while more := {n for n, each in plain.items() if any(map(self._moves, each))} - self.moving:
            self.moving |= more

    def _moves(self, nodes: Sequence[ast.AST]) -> bool:
        for each in (inner for node in nodes for inner in ast.walk(node)):
            match each:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                    if name in _CLOCKS:
                        return True
                case ast.Name(id=name) if name in self.moving:
                    return True
        return False


@lru_cache(maxsize=256)
def parsed(text: str, package: str) -> Module:
    """Read a module; a file of many functions is read once."""
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
    found.find_moving()
    return found


def _statement(node: ast.AST) -> Statement:
    """Return a statement without the decorator that declares a model."""
    if isinstance(node, FUNCTIONS) and declares(*node.decorator_list[:1]):
        del node.decorator_list[0]
        return Statement(node, is_declared=True)
    return Statement(node)


def _is_main(statement: ast.AST) -> bool:
    """Whether a statement is what a script does when it is called."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name("__name__"))):
            return True
        case _:
            return False


def _statements(body: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, list[str]]]:
    """Give the statements of a module and the names that each binds, those in blocks too.

    The head of a block is one by itself, of all that the block binds: it says whether, and how
    often, the block runs.
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
        case ast.Try(handlers=handlers) if handlers:
            caught = [ast.ExceptHandler(each.type, each.name, [ast.Pass()]) for each in handlers]
            return ast.Try([ast.Pass()], caught, [], [])
        case _:
            return None


def _bound(statement: ast.AST) -> Iterator[str]:
    """Give the names that a statement binds, but for imports."""
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
    yield from (name for each in targets if (name := _root(each)))


def _root(chain: ast.AST) -> str:
    """Return the name with which attributes, items and calls begin."""
    while isinstance(chain, ast.Attribute | ast.Subscript | ast.Call):
        chain = chain.func if isinstance(chain, ast.Call) else chain.value
    return chain.id if isinstance(chain, ast.Name) else ""


def _marking(statement: ast.AST) -> Iterator[str]:
    """Return whose method decorates a definition: `clean` of `@clean.register`."""
    for each in getattr(statement, "decorator_list", ()):
        called = each.func if isinstance(each, ast.Call) else each
        if isinstance(called, ast.Attribute) and not declares(each):
            yield _root(called)


def written_by(definition: ast.AST, known: dict[str, list[Statement]]) -> set[str]:
    """Return the names of a module that a function changes when it is called."""
    if not isinstance(definition, DEFINITIONS):
        return set()
    nodes = [*ast.walk(definition)]
    found = {name for each in nodes if isinstance(each, ast.Global) for name in each.names}
    return found | {name for each in nodes for name in _changed(each) if name in known}


def called_at_import(statement: ast.AST) -> set[str]:
    """Return the names that are called when a module is imported: bases and decorators too."""
    heads = [*getattr(statement, "decorator_list", ()), *getattr(statement, "bases", ())]
    nodes = _run_at_import(statement)
    calls = (each.func for node in nodes for each in ast.walk(node) if isinstance(each, ast.Call))
    return {name for each in (*heads, *calls) if (name := _root(each))}


def _run_at_import(statement: ast.AST) -> list[ast.AST]:
    """Return the parts of a statement that run when its module is imported."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            given = (*statement.args.defaults, *statement.args.kw_defaults)
            return [*statement.decorator_list, *(each for each in given if each is not None)]
        case ast.ClassDef(body=body):
            inner = (part for each in body for part in _run_at_import(each))
            return [*statement.decorator_list, *statement.bases, *inner]
        case _:
            return [statement]


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
