"""Which range of each input one partition reads, from the SQL of a body."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.core.names import InputKind, InputName
from penstock.core.partitions.calendar import DAY
from penstock.core.partitions.mapping import At, Bound, Computed, Everything
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.query import mentioned
from penstock.project.input_ranges.bounds import ceil, floor, greatest, least, leaves
from penstock.project.input_ranges.inputs import Found, Inferred, InputShape, as_input
from penstock.project.input_ranges.scopes import FromItem, conjuncts, settle
from penstock.project.input_ranges.terms import (
    PARAMETERS,
    ColumnTerm,
    Constant,
    Kind,
    fold,
    parameter_of,
    term,
)
from penstock.project.input_ranges.tree import OpenedTable, TooBigError, Tree
from penstock.project.sql.canonical import (
    PARSER_BUGS,
    NotAQueryError,
    has_pipes,
    parse_query,
    tokens_of,
)

_FLIPPED = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}
_NEGATED = {exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT}
_NEGATED |= {exp.EQ: exp.NEQ, exp.NEQ: exp.EQ}
_EQUAL = (exp.EQ, exp.NullSafeEQ)
_KINDS = {"date": Kind.DATE, "timestamp": Kind.TIME, "timestamp_ntz": Kind.TIME}
_KINDS |= dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Kind.NUMBER)
_UNREAD = Inferred(Everything(), Found.UNREAD)


@dataclass(frozen=True, slots=True)
class _Limits:
    """A range; None is open. An open one is `unclear` if a condition was not recognised."""

    low: Bound | None = None
    high: Bound | None = None
    unclear: bool = False

    @property
    def is_open(self) -> bool:
        return self.low is None and self.high is None


_ANY = _Limits()


def _both(several: Iterable[_Limits]) -> _Limits:
    parts = list(several)
    low = greatest(each.low for each in parts if each.low is not None)
    high = least(each.high for each in parts if each.high is not None)
    is_open = low is None and high is None
    return _Limits(low, high, unclear=is_open and any(each.unclear for each in parts))


def _either(several: Iterable[_Limits]) -> _Limits:
    """Return the hull of the ranges of alternative conditions."""
    parts = list(several)
    lows = [each.low for each in parts if each.low is not None]
    highs = [each.high for each in parts if each.high is not None]
    low = least(lows) if len(lows) == len(parts) else None
    high = greatest(highs) if len(highs) == len(parts) else None
    opened = [each for each in parts if each.is_open]
    return _Limits(low, high, unclear=bool(opened) and all(each.unclear for each in opened))


@dataclass(frozen=True, slots=True)
class _ConditionReader:
    """Computes the range of a column from the conditions on its table, for partitions of `grid`.

    `kind_of` returns the types of columns. A `direct` reader accepts only conditions that certainly
    apply to the value itself.
    """

    grid: Grid
    relations: Mapping[str, FromItem]
    kind_of: Callable[[exp.Column], Kind | None]
    label: str = ""
    column: str = ""
    direct: bool = False

    def limits(self, relation: FromItem, column: str) -> _Limits:
        asked = replace(self, label=relation.label, column=column)
        return _both(map(asked.read, relation.conditions))

    def read(self, node: exp.Expr) -> _Limits:
        match node:
            case exp.Paren():
                return self.read(node.this)
            case exp.And():
                return _both(map(self.read, conjuncts(node)))
            case exp.Or():
                return _either(map(self.read, (node.this, node.expression)))
            case exp.Not() if (turned := _negated(node.this)) is not None:
                return self.read(turned)
            case exp.Between():
                return _both(map(self.read, _bounds(node)))
            case exp.In() if node.expressions:
                equal = (exp.EQ(this=node.this, expression=each) for each in node.expressions)
                return _either(map(self.read, equal))
            case exp.Binary() if type(node) in (*_FLIPPED, *_EQUAL, exp.NEQ):
                found = self._comparison(node)
                if found is not None or isinstance(node, exp.NEQ):
                    return found or _ANY
        return _ANY if self.direct else self._unread(node)

    def _unread(self, node: exp.Expr) -> _Limits:
        """Ignore a condition that is not recognised.

        The range becomes unclear if the condition ties the column to the partition; "" is any
        column.
        """
        named = list(node.find_all(exp.Column, exp.Parameter))
        columns = [each for each in named if parameter_of(each) not in PARAMETERS]
        asked = (e for e in columns if isinstance(e, exp.Column) and e.table == self.label)
        mentions = any(self.column in (each.name, "") for each in asked)
        return _Limits(unclear=mentions and len(columns) < len(named))

    def _comparison(self, node: exp.Binary) -> _Limits | None:
        kind, flipped = type(node), _FLIPPED.get(type(node), type(node))
        sides = (node.this, node.expression, kind), (node.expression, node.this, flipped)
        for this, other, kind in sides:
            found = term(this, self.kind_of)
            if found is None or (found.relation, found.column) != (self.label, self.column):
                continue
            value = fold(other, self.grid)
            if value is not None:
                return self._against(kind, found, value)
            far = term(other, self.kind_of)
            if far is not None and kind is exp.EQ and not self.direct:
                return self._passed(found, far)
        return None

    def _against(self, kind: type[exp.Expr], column: ColumnTerm, value: Constant) -> _Limits | None:
        is_of_letters = kind not in _EQUAL and column.kind is None and value.kind is Kind.TEXT
        if self.direct and is_of_letters:  # '2024-4-9' is then after '2024-05-01'
            return None
        bound = value.compared(column.kind)
        if bound is None:
            return None
        if kind is exp.NEQ:
            return _ANY
        first = column.first(bound, self.grid)
        if kind in (exp.GT, exp.GTE):
            return _Limits(column.beyond(bound, self.grid, 1) if kind is exp.GT else first)
        tick = DAY if value.kind is Kind.DATE and column.kind is None else 1
        high = first if kind is exp.LT else column.beyond(bound, self.grid, tick)
        return _Limits(first if kind in _EQUAL else None, high)

    def _passed(self, near: ColumnTerm, far: ColumnTerm) -> _Limits | None:
        """Return the range that an equality transfers from another column."""
        if near.kind and far.kind and (near.kind is Kind.NUMBER) != (far.kind is Kind.NUMBER):
            return None
        limits = self._range_of(far)
        if limits.is_open:
            return None
        low, high = limits.low, limits.high
        is_day = far.kind is None and near.kind in (None, Kind.DATE)
        if is_day and self.grid.grain is not Grain.RANGE:
            low = low and floor(low, "day", self.grid)  # a text may lose its time on the way
            high = high and ceil(high, "day", self.grid)
        return _Limits(low and near.first(low, self.grid), high and near.first(high, self.grid))

    def _range_of(self, far: ColumnTerm) -> _Limits:
        """Return the range of all non-NULL values of a term."""
        relation = self.relations.get(far.relation)
        if relation is None:
            return _ANY
        reader = replace(self, label=far.relation, column=far.column, direct=True)
        limits = [reader.read(each) for each in relation.conditions]
        inner = [term(branch.output(far.column), self.kind_of) for branch in relation.branches]
        branches = [self._range_of(each) for each in inner if each is not None]
        if branches and len(branches) == len(inner):
            limits.append(_either(branches))
        both = _both(limits)
        return _Limits(*far.over(both.low, both.high, self.grid))


def _bounds(node: exp.Between) -> tuple[exp.Expr, exp.Expr]:
    low = exp.GTE(this=node.this, expression=node.args["low"])
    return low, exp.LTE(this=node.this, expression=node.args["high"])


def _negated(node: exp.Expr) -> exp.Expr | None:
    """Return the opposite of a condition without NOT, None if it is unknown."""
    match node:
        case exp.Paren():
            return _negated(node.this)
        case exp.Not():
            inner: exp.Expr = node.this
            return inner
        case exp.And() | exp.Or():
            kind = exp.Or if isinstance(node, exp.And) else exp.And
            this, other = _negated(node.this), _negated(node.expression)
            return None if this is None or other is None else kind(this=this, expression=other)
        case exp.Between():
            low, high = _bounds(node)
            return exp.Or(this=_negated(low), expression=_negated(high))
        case exp.Binary() if type(node) in _NEGATED:
            return _NEGATED[type(node)](this=node.this, expression=node.expression)
        case _:
            return None


@dataclass(slots=True)
class _Shapes:
    """Finds the tables behind tokens, and records unreadable queries."""

    inputs: Mapping[InputName, InputShape]
    unread: set[InputName] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    _tables: dict[str, OpenedTable] = field(default_factory=dict)

    def of(self, token: str) -> InputShape:
        return self.inputs.get(_name_of(token), InputShape())

    def open_table(self, token: str) -> OpenedTable:
        if token not in self._tables:
            shape = self.of(token)
            trees = {text: self.parsed(text) for text in shape.view}
            for text in (text for text, tree in trees.items() if tree is None):
                self.unread |= {as_input(name) for name in mentioned(text)}
            columns = shape.columns and tuple(column.lower() for column in shape.columns)
            certain = frozenset({shape.field.lower()} - {""})
            parsed = tuple(filter(None, trees.values()))
            self._tables[token] = OpenedTable(columns, certain, parsed)
        return self._tables[token]

    def parsed(self, text: str) -> exp.Query | None:
        """Parse a query, and count the tables that the walk over its tree must find."""
        try:
            tokens = tokens_of(text)
            query = None if has_pipes(tokens) else parse_query(tokens, text)
        except (NotAQueryError, SqlglotError, *PARSER_BUGS):
            return None
        names = (table.name for table in (query.find_all(exp.Table) if query else ()))
        self.counts.update(n.partition(":bare:")[0] for n in names if n.startswith("penstock:"))
        return query

    def kind_of(self, relations: Mapping[str, FromItem], column: exp.Column) -> Kind | None:
        relation = relations.get(column.table)
        shape = self.of(relation.token) if relation and relation.token else InputShape()
        is_field = shape.field.lower() == column.name
        return _KINDS.get(shape.type.lower()) if is_field else None


def infer(
    texts: tuple[str, ...], grid: Grid, inputs: Mapping[InputName, InputShape]
) -> dict[InputName, Inferred]:
    """Return what a partition of `grid` reads of every input in the texts.

    The texts are forms of one query; the result covers all of them. Tables below views are inputs
    too. `this` is under the name of the model.
    """
    names = list(_reached(texts, inputs))
    shapes = _Shapes(inputs)
    tree = Tree(shapes.open_table)
    try:
        for text in texts:
            query = shapes.parsed(text)
            if query is None:
                return dict.fromkeys(names, _UNREAD)
            tree.roots += tree.build(query, {}, None)
        for scope in tree.roots:
            settle(scope)
        return _mappings(names, tree, shapes, grid)
    except (TooBigError, SqlglotError, *PARSER_BUGS):
        return dict.fromkeys(names, _UNREAD)


def _name_of(token: str) -> InputName:
    _, kind, name = token.split(":", 2)  # penstock:model:users
    return as_input(InputName(InputKind(kind), name))


def _mappings(
    names: Iterable[InputName], tree: Tree, shapes: _Shapes, grid: Grid
) -> dict[InputName, Inferred]:
    scans: dict[InputName, list[FromItem]] = defaultdict(list)
    counts = shapes.counts  # a table that the walk has missed is read whole
    for relation in tree.relations.values():
        if relation.token:
            scans[_name_of(relation.token)].append(relation)
            counts[relation.token] -= 1
    missed = {_name_of(token) for token, count in counts.items() if count > 0}
    reader = _ConditionReader(grid, tree.relations, partial(shapes.kind_of, tree.relations))
    unread = shapes.unread | missed
    asked = {name: shapes.inputs.get(name, InputShape()) for name in names}
    return {
        name: _UNREAD if name in unread and not shape.view else _mapping(reader, scans[name], shape)
        for name, shape in asked.items()
    }


def _mapping(reader: _ConditionReader, scans: Sequence[FromItem], shape: InputShape) -> Inferred:
    if shape.view:
        return Inferred(Everything(), Found.VIEW)
    column = shape.field or _bounded_column(reader, scans)
    limits = [reader.limits(scan, column.lower()) for scan in scans]
    opened = [each for each in limits if each.is_open]
    if opened or not limits:
        is_unclear = opened and all(each.unclear for each in opened)
        return Inferred(Everything(), Found.UNCLEAR if is_unclear else Found.WHOLE)
    written = {name.lower(): name for name in shape.columns or ()}.get(column, column)
    ranges = tuple(dict.fromkeys((each.low, each.high) for each in limits))
    return Inferred(Computed(written, ranges), Found.INFERRED)


def _bounded_column(reader: _ConditionReader, scans: Sequence[FromItem]) -> str:
    """Return the column that a parameter bounds; of several, the first with two bounds."""
    compared = {
        column.name
        for scan in scans
        for condition in scan.conditions
        for column in condition.find_all(exp.Column)
        if column.table == scan.label
    }
    found = []
    for name in compared:
        limits = [reader.limits(scan, name) for scan in scans]
        bounds = [bound for each in limits for bound in (each.low, each.high)]
        if any(not isinstance(leaf, At) for bound in bounds for leaf in leaves(bound)):
            found.append((any(each.is_open for each in limits), None in bounds, name))
    return min(found)[2] if found else ""


def _reached(texts: Iterable[str], inputs: Mapping[InputName, InputShape]) -> dict[InputName, None]:
    """Return every input in the texts, including those of views."""
    found: dict[InputName, None] = {}
    todo = list(texts)
    while todo:
        for name in map(as_input, mentioned(todo.pop(0))):
            if name not in found:
                found[name] = None
                todo += inputs[name].view if name in inputs else ()
    return found
