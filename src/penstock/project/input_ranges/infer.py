"""Which range of each input one partition reads, from the SQL of a body (spec/drift.md §6.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import Computed, Everything
from penstock.core.partitions.partition import Grid
from penstock.core.query import mentioned
from penstock.project.input_ranges.bounds import has_parameter
from penstock.project.input_ranges.inputs import Found, Inferred, InputShape, as_input
from penstock.project.input_ranges.limits import ConditionReader, Limits
from penstock.project.input_ranges.scopes import FromItem, settle
from penstock.project.input_ranges.terms import Kind
from penstock.project.input_ranges.tree import OpenedTable, TooBigError, Tree
from penstock.project.sql.canonical import (
    PARSER_BUGS,
    NotAQueryError,
    has_pipes,
    parse_query,
    tokens_of,
)

_KINDS = {
    "date": Kind.DATE,
    "timestamp": Kind.TIME,
    "timestamp_ntz": Kind.TIME,
    "tinyint": Kind.NUMBER,
    "smallint": Kind.NUMBER,
    "int": Kind.NUMBER,
    "bigint": Kind.NUMBER,
}
_WHOLE = Inferred(Everything(), Found.WHOLE)
_UNCLEAR = Inferred(Everything(), Found.UNCLEAR)
_UNREAD = Inferred(Everything(), Found.UNREAD)


@dataclass(slots=True)
class _Shapes:
    """Answers what stands behind tokens, and remembers what could not be read."""

    inputs: Mapping[InputName, InputShape]
    unread: set[InputName] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    _opened: dict[str, OpenedTable] = field(default_factory=dict)

    def of(self, token: str) -> InputShape:
        return self.inputs.get(name_of(token), InputShape())

    def opened(self, token: str) -> OpenedTable:
        if token not in self._opened:
            self._opened[token] = self._open(self.of(token))
        return self._opened[token]

    def _open(self, shape: InputShape) -> OpenedTable:
        trees = tuple(_parsed(text) for text in shape.view)
        for text, tree in zip(shape.view, trees, strict=True):
            if tree is None:
                self.unread |= {as_input(name) for name in mentioned(text)}
            else:
                self.counts.update(_tokens(tree))
        columns = None
        if shape.columns is not None:
            columns = tuple(column.lower() for column in shape.columns)
        certain = frozenset({shape.field.lower()} - {""})
        return OpenedTable(columns, certain, tuple(tree for tree in trees if tree is not None))

    def kind_of(self, relation: FromItem | None, column: exp.Column) -> Kind | None:
        if relation is None or not relation.token:
            return None
        shape = self.of(relation.token)
        is_field = shape.field.lower() == column.name
        return _KINDS.get(shape.type.lower()) if is_field else None


def infer(
    texts: tuple[str, ...], grid: Grid, inputs: Mapping[InputName, InputShape]
) -> dict[InputName, Inferred]:
    """Give what a partition of `grid` reads of every input that the texts mention.

    The texts are forms of one query: what any of them reads is read. Tables that views read are
    inputs too. `this` is under the name of the model.
    """
    names = list(_reached(texts, inputs))
    shapes = _Shapes(inputs)
    tree = Tree(shapes.opened)
    parsed = [_parsed(text) for text in texts]
    try:
        for query in parsed:
            if query is None:
                return dict.fromkeys(names, _UNREAD)
            shapes.counts.update(_tokens(query))
            tree.add(query)
        for scope in tree.roots:
            settle(scope)
        return _mappings(names, tree, shapes, grid)
    except (TooBigError, SqlglotError, *PARSER_BUGS):
        return dict.fromkeys(names, _UNREAD)


def name_of(token: str) -> InputName:
    """Read the token of a table: `penstock:model:users`."""
    _, kind, name = token.split(":", 2)
    return as_input(InputName(InputKind(kind), name))


def _mappings(
    names: Iterable[InputName],
    tree: Tree,
    shapes: _Shapes,
    grid: Grid,
) -> dict[InputName, Inferred]:
    scans: dict[InputName, list[FromItem]] = {}
    counts = shapes.counts  # a table that the walk has missed is read whole
    for relation in tree.relations.values():
        if relation.token:
            scans.setdefault(name_of(relation.token), []).append(relation)
            counts[relation.token] -= 1
    missed = {name_of(token) for token, count in counts.items() if count > 0}
    reader = ConditionReader(
        grid,
        tree.relations,
        lambda column: shapes.kind_of(tree.relations.get(column.table), column),
    )
    result = {}
    for name in names:
        shape = shapes.inputs.get(name, InputShape())
        if shape.view:
            result[name] = Inferred(Everything(), Found.VIEW)
        elif name in shapes.unread or name in missed:
            result[name] = _UNREAD
        else:
            result[name] = _mapping(reader, scans.get(name, []), shape)
    return result


def _mapping(reader: ConditionReader, scans: Sequence[FromItem], shape: InputShape) -> Inferred:
    column = shape.field or _bounded_column(reader, scans)
    limits = [reader.limits(scan, column.lower()) for scan in scans]
    opened = [each for each in limits if each.is_open]
    if opened or not limits:
        return _UNCLEAR if opened and all(each.unclear for each in opened) else _WHOLE
    written = {name.lower(): name for name in shape.columns or ()}.get(column, column)
    ranges = tuple(dict.fromkeys((each.low, each.high) for each in limits))
    return Inferred(Computed(written, ranges), Found.INFERRED)


def _bounded_column(reader: ConditionReader, scans: Sequence[FromItem]) -> str:
    """Give the column that a parameter bounds; of several, the first that has two bounds."""
    names = sorted({name for scan in scans for name in reader.columns(scan)})
    found = []
    for name in names:
        limits = [reader.limits(scan, name) for scan in scans]
        if any(_follows(each) for each in limits):
            is_open = any(each.is_open for each in limits)
            is_half = any(each.low is None or each.high is None for each in limits)
            found.append((is_open, is_half, name))
    return min(found)[2] if found else ""


def _follows(limits: Limits) -> bool:
    return has_parameter(limits.low) or has_parameter(limits.high)


def _reached(texts: Iterable[str], inputs: Mapping[InputName, InputShape]) -> dict[InputName, None]:
    """Give every input that texts mention, and those of views among them."""
    found: dict[InputName, None] = {}
    todo = list(texts)
    while todo:
        for name in map(as_input, mentioned(todo.pop(0))):
            if name not in found:
                found[name] = None
                todo += inputs[name].view if name in inputs else ()
    return found


def _tokens(query: exp.Expr) -> list[str]:
    names = (table.name for table in query.find_all(exp.Table))
    return [name.partition(":bare:")[0] for name in names if name.startswith("penstock:")]


def _parsed(text: str) -> exp.Query | None:
    try:
        tokens = tokens_of(text)
        return None if has_pipes(tokens) else parse_query(tokens, text)
    except (NotAQueryError, SqlglotError, *PARSER_BUGS):
        return None
