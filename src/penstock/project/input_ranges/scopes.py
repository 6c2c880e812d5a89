"""The tables of a query, each with the conditions that its rows must meet to count.

A condition is pushed from a query into its subqueries, CTEs and views only if that keeps the
result: not past LIMIT, past a window that is not partitioned by it, or past an aggregate. sqlglot's
own pushdown is not used, because it needs the columns of every table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.core.query import RUN_TIMESTAMP

QUERY = "penstock:query"
"""The placeholder of a subquery inside a condition."""
TOKEN = "penstock:"  # noqa: S105  no password: the beginning of the names of tokens
Names = tuple[str, ...]


@dataclass(slots=True, eq=False)
class FromItem:
    """One table, subquery, CTE or view in a FROM clause.

    `columns` are its names in order, None if unknown; `certain` are names that it certainly has. A
    `sealed` one (PIVOT) accepts no conditions, a `hidden` one (the right side of a semi join) is
    visible only in its ON clause.
    """

    label: str
    name: str
    token: str = ""
    columns: Names | None = None
    certain: frozenset[str] = frozenset()
    branches: tuple[SelectScope, ...] = ()
    sealed: bool = False
    hidden: bool = False
    conditions: list[exp.Expr] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Return whether it certainly has a column."""
        return name in self.certain or name in (self.columns or ())

    def may_have(self, name: str) -> bool:
        """Return whether it may have a column."""
        return self.columns is None or self.has(name)


@dataclass(slots=True, eq=False)
class Star:
    """`*` or `t.*` in a select list."""

    relations: tuple[FromItem, ...]
    without: frozenset[str]


@dataclass(frozen=True, slots=True)
class Cte:
    """One CTE: its query, the CTEs that it can use, and the names of its columns."""

    query: exp.Expr
    ctes: Mapping[str, Cte | None]
    names: Names | None
    recursive: bool = False


@dataclass(slots=True, eq=False)
class SelectScope:
    """One SELECT: its relations, its conditions with their relations, its columns.

    `ctes` are the CTEs that it can use, None for one that is being defined. `order` are the names
    of its columns, None if unknown; `aliases` are names in the select list beside columns of
    relations.
    """

    outer: SelectScope | None = None
    ctes: Mapping[str, Cte | None] = field(default_factory=dict)
    relations: list[FromItem] = field(default_factory=list)
    shared: dict[str, FromItem | None] = field(default_factory=dict)
    tests: list[tuple[exp.Expr, frozenset[str]]] = field(default_factory=list)
    outputs: dict[str, exp.Expr | None] = field(default_factory=dict)
    stars: list[Star] = field(default_factory=list)
    order: Names | None = None
    closed: bool = False
    windows: list[frozenset[str]] = field(default_factory=list)
    aliases: frozenset[str] = frozenset()

    @property
    def visible(self) -> list[FromItem]:
        """The relations that are visible in the whole SELECT."""
        return [each for each in self.relations if not each.hidden]

    def output(self, name: str) -> exp.Expr | None:
        """Return the expression of a column, None if it is unknown."""
        if name in self.outputs:
            return self.outputs[name]
        stars = (star for star in self.stars if name not in star.without)
        return next(filter(None, (self.column(name, star.relations) for star in stars)), None)

    def column(self, name: str, among: Iterable[FromItem]) -> exp.Column | None:
        """Resolve an unqualified name among relations; None if it is ambiguous."""
        if name in self.shared:
            relation = self.shared[name]
            return resolved(name, relation.label) if relation else None
        relations = list(among)
        found = [each for each in relations if each.has(name)]
        found = found or [each for each in relations if each.may_have(name)]
        return resolved(name, found[0].label) if len(found) == 1 else None

    def lets_in(self, expression: exp.Expr) -> bool:
        """Return whether a condition on an output column could also be in WHERE."""
        is_plain_row = not self.closed and is_plain(expression)
        return is_plain_row and all(expression.unnest().sql() in keys for keys in self.windows)


def resolved(name: str, label: str) -> exp.Column:
    """Return a qualified column of a relation."""
    return exp.column(name.lower(), table=label)


def is_plain(expression: exp.Expr) -> bool:
    """Return whether an expression certainly takes its value from one row before grouping."""
    if expression.find(exp.AggFunc, exp.Window, exp.UDTF, exp.Anonymous, exp.AnonymousAggFunc):
        return False
    return all(each.name != QUERY for each in expression.find_all(exp.Placeholder))


def conjuncts(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yield the conditions of a conjunction."""
    if isinstance(node, exp.Paren):
        yield from conjuncts(node.this)
    elif isinstance(node, exp.And):
        yield from (*conjuncts(node.this), *conjuncts(node.expression))
    elif node is not None:
        yield node


def settle(scope: SelectScope) -> None:
    """Attach conditions to every relation, and push them into subqueries if that is valid."""
    for test, allowed in scope.tests:
        named = {column.table for column in test.find_all(exp.Column)} & allowed
        for relation in scope.relations:
            if relation.label in named and not relation.sealed:
                relation.conditions.append(test)
    for relation in scope.relations:
        for branch in relation.branches:
            allowed = frozenset(each.label for each in branch.visible)
            for condition in relation.conditions:
                pushed = _substituted(condition, relation.label, branch)
                if pushed is not None:
                    branch.tests.append((pushed, allowed))
            settle(branch)


def _substituted(condition: exp.Expr, label: str, branch: SelectScope) -> exp.Expr | None:
    """Rewrite a condition on a subquery's columns for its inside; None if that changes it."""
    names = {each.name for each in condition.find_all(exp.Column) if each.table == label}
    known = {name: inside for name in names if (inside := branch.output(name)) is not None}
    if len(known) < len(names) or not all(map(branch.lets_in, known.values())):
        return None

    def replace(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.table == label:
            return exp.paren(known[node.name].copy())
        return node

    return condition.transform(replace)


def renamed(branches: tuple[SelectScope, ...], names: Names | None) -> None:
    """Rename the columns of a query, by position."""
    if names is None:
        return
    for branch in branches:
        outputs, order = {}, None
        if branch.order is not None and len(branch.order) == len(names):
            pairs = zip(names, branch.order, strict=True)
            outputs, order = {name: branch.output(old) for name, old in pairs}, names
        branch.outputs, branch.order, branch.stars = outputs, order, []


def window_keys(select: exp.Select, nodes: Iterable[exp.Expr]) -> list[frozenset[str]]:
    """Return the partition keys of each window; named windows are not resolved."""
    named = bool(select.args.get("windows"))
    windows = (window for node in nodes for window in node.find_all(exp.Window))
    parts = (() if named else each.args.get("partition_by") or () for each in windows)
    return [frozenset(each.unnest().sql() for each in by) for by in parts]


def resolved_column(column: exp.Expr, scope: SelectScope) -> exp.Expr:
    """Return a column qualified by its relation, unqualified if it is ambiguous."""
    name, table = column.name.lower(), str(column.text("table")).lower()
    if name.startswith(TOKEN) or name == RUN_TIMESTAMP or table.startswith("#"):
        return column
    if column.text("db"):
        return resolved(name, "")
    at: SelectScope | None = scope
    while at is not None:
        if table:
            found = [each for each in at.relations if each.name == table]
            if found:
                return resolved(name, found[0].label if len(found) == 1 else "")
        elif any(each.may_have(name) for each in at.visible) or name in at.shared:
            is_alias = name in at.aliases and not any(each.has(name) for each in at.visible)
            return (None if is_alias else at.column(name, at.visible)) or resolved(name, "")
        at = at.outer
    return resolved(name, "")


def is_group(node: exp.Expr) -> bool:
    """Return whether a node is a join in parentheses."""
    if not isinstance(node, exp.Subquery):
        return False
    inner = node.this
    is_joined = bool(inner.args.get("joins")) and not isinstance(inner, exp.Select)
    return is_joined or bool(inner.args.get("alias")) or not isinstance(inner, exp.Query)


def star_names(star: Star, scope: SelectScope) -> list[str] | None:
    """Return the columns of a star, None if not all are known."""
    if scope.shared or not star.relations:
        return None
    columns = [relation.columns for relation in star.relations]
    names = [name for each in columns for name in each or () if name not in star.without]
    return None if None in columns else names


def alias_names(alias: object) -> Names | None:
    """Return the names of columns in order, None if an alias has no names."""
    if not isinstance(alias, exp.TableAlias) or not alias.columns:
        return None
    return tuple(column.name.lower() for column in alias.columns)
