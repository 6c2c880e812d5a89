"""A query as scopes: find relations, resolve names, expand CTEs and views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.project.input_ranges.scopes import (
    QUERY,
    TOKEN,
    Cte,
    FromItem,
    Names,
    SelectScope,
    Star,
    alias_names,
    conjuncts,
    is_group,
    renamed,
    resolved_column,
    star_names,
    window_keys,
)

_MOST = 5_000
_SEEN_ELSEWHERE = {"from_", "joins", "with_", "laterals", "hint", "expressions", "where"}
Ctes = Mapping[str, Cte | None]
Branches = tuple[SelectScope, ...]


class TooBigError(Exception):
    """A query whose CTEs expand to an excessive size."""


@dataclass(frozen=True, slots=True)
class OpenedTable:
    """The table behind a token: its columns, and trees if it is a view."""

    columns: Names | None = None
    certain: frozenset[str] = frozenset()
    trees: tuple[exp.Expr, ...] = ()


@dataclass(slots=True)
class Tree:
    """Builds the scopes of a query; `open_table` returns the table of a token.

    `roots` are the scopes that no condition is pushed into.
    """

    open_table: Callable[[str], OpenedTable]
    roots: list[SelectScope] = field(default_factory=list)
    relations: dict[str, FromItem] = field(default_factory=dict)
    _views: list[str] = field(default_factory=list)
    _used: set[int] = field(default_factory=set)

    def build(self, query: exp.Expr, ctes: Ctes, outer: SelectScope | None) -> Branches:
        """Return the SELECTs whose rows a query combines, with columns named as in the first."""
        ctes, own = self._with(query, ctes)
        match query:
            case exp.Select():
                branches: Branches = (self._select(query, ctes, outer),)
            case exp.SetOperation():
                branches = self._united(query, ctes, outer)
            case exp.Subquery() if not is_group(query):
                branches = self.build(query.this, ctes, outer)
            case exp.Subquery():
                scope = SelectScope(outer, ctes)
                self._from(query.this, scope)
                scope.stars = [Star(tuple(scope.relations), frozenset())]
                branches = (scope,)
            case _:
                branches = (SelectScope(outer, closed=True),)
        if any(query.args.get(key) for key in ("limit", "offset", "sample")):
            for branch in branches:
                branch.closed = True
        for cte in own:
            if id(cte.query) not in self._used:
                self.roots += self.build(cte.query, cte.ctes, outer)
        return branches

    def _with(self, query: exp.Expr, ctes: Ctes) -> tuple[Ctes, list[Cte]]:
        clause = query.args.get("with_")
        added, own = dict(ctes), list[Cte]()
        recursive = bool(clause and clause.args.get("recursive"))
        for each in clause.expressions if clause else ():
            name = each.alias.lower()
            inside = {**added, name: None} if recursive else dict(added)
            added[name] = cte = Cte(each.this, inside, alias_names(each.args["alias"]), recursive)
            own.append(cte)
        return added, own

    def _united(self, query: exp.SetOperation, ctes: Ctes, outer: SelectScope | None) -> Branches:
        left = self.build(query.this, ctes, outer)
        right = self.build(query.expression, ctes, outer)
        if not query.args.get("by_name"):
            renamed(right, left[0].order)
            for branch in right if left[0].order is None else ():
                branch.outputs, branch.stars, branch.order = {}, [], None
        return left + right

    def _select(self, select: exp.Select, ctes: Ctes, outer: SelectScope | None) -> SelectScope:
        scope = SelectScope(outer, ctes)
        source = select.args.get("from_")
        left = self._from(source.this, scope) if source else []
        self._joins(select.args.get("joins") or (), left, scope)
        for lateral in select.args.get("laterals") or ():
            self._from(lateral, scope)
        visible = frozenset(each.label for each in scope.visible)
        where = select.args.get("where")
        for test in conjuncts(where.this if where else None):
            scope.tests.append((self._resolve(test, scope), visible))
        self._outputs(select, scope)
        unnamed = SelectScope(ctes=ctes)  # a name may be that of a result there: none is resolved
        for node in select.iter_expressions():
            if node.arg_key not in _SEEN_ELSEWHERE:
                self._resolve(node, unnamed)
        return scope

    def _from(self, node: exp.Expr, scope: SelectScope) -> list[FromItem]:
        """Add the relations of a FROM item; a join in parentheses has several."""
        alias = node.args.get("alias")
        is_bare = is_group(node) and not alias
        found = self._from(node.this, scope) if is_bare else [self._relation(node, alias, scope)]
        for each in found:
            if node.args.get("pivots"):
                each.sealed, each.columns, each.certain = True, None, frozenset()
            each.sealed = each.sealed or bool(node.args.get("sample"))
        self._joins(node.args.get("joins") or (), found, scope)
        return found

    def _relation(self, node: exp.Expr, alias: object, scope: SelectScope) -> FromItem:
        name = alias.name.lower() if isinstance(alias, exp.TableAlias) else ""
        names = alias_names(alias)
        relation = self._new(name)
        scope.relations.append(relation)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Query):
            self._derive(relation, self.build(node.this, scope.ctes, scope), names)
        elif isinstance(node, exp.Subquery):
            self._derive(relation, self.build(node, scope.ctes, scope.outer), names)
        elif isinstance(node, exp.Table) and node.name.startswith(TOKEN):
            self._token(relation, node, names)
        elif isinstance(node, exp.Table) and not node.db and node.name.lower() in scope.ctes:
            relation.name = name or node.name.lower()
            cte = scope.ctes[node.name.lower()]
            if cte:
                self._derive(relation, self._of_cte(cte, scope.outer), names)
        else:
            relation.name = name or (node.name.lower() if isinstance(node, exp.Table) else "")
            relation.columns = names
            for child in node.iter_expressions():
                if not isinstance(child, exp.Join | exp.TableAlias):
                    self._resolve(child, scope)
        return relation

    def _token(self, relation: FromItem, node: exp.Table, names: Names | None) -> None:
        token, _, bare = node.name.partition(":bare:")
        relation.name = relation.name or (bare or token.rpartition(":")[2]).lower()
        table = self.open_table(token)
        if table.trees and token not in self._views:
            self._views.append(token)
            branches = tuple(b for tree in table.trees for b in self.build(tree, {}, None))
            self._views.pop()
            self._derive(relation, branches, names)
            if len(table.trees) > 1:
                relation.columns = None
            return
        relation.token = token
        relation.columns = None if names else table.columns
        relation.certain = frozenset() if names else table.certain
        relation.sealed = bool(names)

    def _of_cte(self, cte: Cte, outer: SelectScope | None) -> Branches:
        self._used.add(id(cte.query))
        branches = self.build(cte.query, cte.ctes, outer)
        renamed(branches, cte.names)
        for branch in branches:
            branch.closed = branch.closed or cte.recursive
        return branches

    def _derive(self, relation: FromItem, branches: Branches, names: Names | None) -> None:
        renamed(branches, names)
        relation.branches = branches
        relation.columns = branches[0].order
        relation.certain = frozenset(branches[0].outputs)

    def _new(self, name: str) -> FromItem:
        if len(self.relations) >= _MOST:
            raise TooBigError
        relation = FromItem(f"#{len(self.relations)}", name)
        self.relations[relation.label] = relation
        return relation

    def _joins(self, joins: Sequence[exp.Join], left: list[FromItem], scope: SelectScope) -> None:
        """Add joined relations to `left`. ON applies to the sides whose rows it can remove."""
        for join in joins:
            right = self._from(join.this, scope)
            side, kind = join.side.upper(), join.kind.upper()
            both = [*left, *right]
            sides = {"LEFT": right, "RIGHT": list(left), "FULL": []}.get(side, both)
            sides = {"SEMI": both, "ANTI": right}.get(kind, sides)
            allowed = frozenset(each.label for each in sides)
            if str(join.args.get("method") or "").upper() == "NATURAL":
                for each in both:
                    each.certain, each.columns = frozenset(), None
            for name in join.args.get("using") or ():
                self._using(name.name.lower(), (left, right), side, allowed, scope)
            for test in conjuncts(join.args.get("on")):
                scope.tests.append((self._resolve(test, scope), allowed))
            for each in right:
                each.hidden = each.hidden or kind in ("SEMI", "ANTI")
            left += right

    def _using(
        self,
        name: str,
        pair: tuple[list[FromItem], list[FromItem]],
        side: str,
        allowed: frozenset[str],
        scope: SelectScope,
    ) -> None:
        left = scope.column(name, pair[0])
        right = SelectScope().column(name, pair[1])
        if left is None or right is None or side == "FULL":
            scope.shared[name] = None
        else:
            scope.tests.append((exp.EQ(this=left, expression=right), allowed))
            kept = right if side == "RIGHT" else left
            scope.shared[name] = self.relations[kept.table]

    def _outputs(self, select: exp.Select, scope: SelectScope) -> None:
        """Find the columns of the result; if two have the same name, neither is known."""
        names: list[Sequence[str] | None] = []
        outputs = []
        for node in select.expressions:
            star = self._star(node, scope)
            if star is not None:
                scope.stars.append(star)
                names.append(star_names(star, scope))
                continue
            outputs.append(self._resolve(node.unalias(), scope))
            name = node.alias_or_name.lower()
            scope.outputs[name] = None if name in scope.outputs else outputs[-1]
            names.append([name])
            if isinstance(node, exp.Alias):
                scope.aliases |= {name}
        scope.outputs.pop("", None)
        order = [name for each in names for name in each or ()]
        is_known = None not in names and "" not in order and len(set(order)) == len(order)
        scope.order = tuple(order) if is_known else None
        self._shape(select, scope, outputs)

    def _shape(self, select: exp.Select, scope: SelectScope, outputs: Sequence[exp.Expr]) -> None:
        qualify = select.args.get("qualify")
        parts = [*outputs, *([self._resolve(qualify, scope)] if qualify else [])]
        scope.windows = window_keys(select, parts)
        group = select.args.get("group")
        if group:
            kinds = ("rollup", "cube", "grouping_sets")
            scope.closed = scope.closed or any(group.args.get(key) for key in kinds)
            return
        found = (each for output in outputs for each in output.find_all(exp.AggFunc))
        if any(each.find_ancestor(exp.Window) is None for each in found):
            scope.closed = True

    def _star(self, node: exp.Expr, scope: SelectScope) -> Star | None:
        star = node.this if isinstance(node, exp.Column) else node
        if not isinstance(star, exp.Star):
            return None
        among = scope.visible
        if isinstance(node, exp.Column):
            among = [each for each in among if each.name == node.table.lower()]
        without = {each.name.lower() for each in star.args.get("except_") or ()}
        without |= {each.alias_or_name.lower() for each in star.args.get("replace") or ()}
        if star.args.get("rename"):
            among = []
        return Star(tuple(among), frozenset(without))

    def _resolve(self, node: exp.Expr, scope: SelectScope) -> exp.Expr:
        """Return a copy with qualified columns; subqueries are read separately."""

        def replace(each: exp.Expr) -> exp.Expr:
            if isinstance(each, exp.Query):
                self.roots += self.build(each, scope.ctes, scope)
                return exp.Placeholder(this=QUERY)
            is_name = isinstance(each, exp.Column) and not isinstance(each.this, exp.Star)
            return resolved_column(each, scope) if is_name else each

        return node.transform(replace)
