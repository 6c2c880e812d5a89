"""Small questions about parts of a query."""

from __future__ import annotations

from sqlglot import exp

from penstock.project.inference_scopes import Scope, Star, resolved

TOKEN = "penstock:"  # noqa: S105  no password: the beginning of the names of tokens
_TIMESTAMP = "penstock__run_timestamp"


def resolved_column(column: exp.Expr, scope: Scope) -> exp.Expr:
    """Give a column under the mark of its relation, without one where it may be of several."""
    name, table = column.name.lower(), str(column.text("table")).lower()
    if name.startswith(TOKEN) or name == _TIMESTAMP or table.startswith("#"):
        return column
    if column.text("db"):
        return resolved(name, "")
    at: Scope | None = scope
    while at is not None:
        if table:
            found = [each for each in at.relations if each.name == table]
            if found:
                return resolved(name, found[0].mark if len(found) == 1 else "")
        elif name in at.hidden:
            return resolved(name, "")
        elif any(each.may_have(name) for each in at.visible) or name in at.shared:
            is_alias = name in at.aliases and not any(each.has(name) for each in at.visible)
            return (None if is_alias else at.column(name, at.visible)) or resolved(name, "")
        at = at.outer
    return resolved(name, "")


def memberships(node: exp.Expr) -> list[exp.In]:
    """Give each `x IN (SELECT …)` that is joined to the whole by AND and OR alone."""
    match node:
        case exp.And() | exp.Or():
            return memberships(node.this) + memberships(node.expression)
        case exp.Paren():
            return memberships(node.this)
        case exp.In() if isinstance(node.args.get("query"), exp.Query):
            return [node]
        case _:
            return []


def is_group(node: exp.Expr) -> bool:
    """Whether a node is a join in brackets."""
    if not isinstance(node, exp.Subquery):
        return False
    inner = node.this
    is_joined = bool(inner.args.get("joins")) and not isinstance(inner, exp.Select)
    return is_joined or bool(inner.args.get("alias")) or not isinstance(inner, exp.Query)


def aggregates(node: exp.Expr) -> bool:
    """Whether a column makes one row of many, outside of a window."""
    return any(each.find_ancestor(exp.Window) is None for each in node.find_all(exp.AggFunc))


def star_names(star: Star, scope: Scope) -> list[str] | None:
    """Give the columns that a star stands for, None where not all are known."""
    if scope.shared or not star.relations:
        return None
    names: list[str] = []
    for relation in star.relations:
        if relation.columns is None:
            return None
        names += (name for name in relation.columns if name not in star.without)
    return names


def alias_names(alias: object) -> dict[int, str] | None:
    """Give the names of columns by their places, None where an alias names none."""
    if not isinstance(alias, exp.TableAlias) or not alias.columns:
        return None
    return {at: column.name.lower() for at, column in enumerate(alias.columns)}
