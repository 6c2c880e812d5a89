"""Rights of tables: the statements that turn what the catalog has into what the project says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.core.beside.hooks import Grant
from penstock.core.names import quoted
from penstock.core.statement import Row

_GRANTEE = ("principal", "principal_name", "grantee")
_PRIVILEGE = ("actiontype", "action_type", "privilege")
_OBJECT = ("objecttype", "object_type")
_OWNED = ("own", "ownership")
_TABLES = ("table", "view", "")


def show_grants(table: str) -> str:
    """Return the query for the rights of a table."""
    return f"SHOW GRANTS ON TABLE {table}"


def granted(rows: Iterable[Row]) -> tuple[Grant, ...]:
    """Return the rights that a table itself has, from the rows of `show_grants`.

    Those of its schema and its catalog, and that of its owner, are not the table's to change.

    >>> granted([{"Principal": "ann", "ActionType": "SELECT", "ObjectType": "TABLE"}])
    (Grant(privilege='select', grantee='ann'),)
    """
    found = set()
    for row in rows:
        cells = {name.lower(): str(value or "") for name, value in row.items()}
        privilege = _first(cells, _PRIVILEGE).lower().replace("_", " ")
        if privilege not in _OWNED and _first(cells, _OBJECT).lower() in _TABLES:
            found.add(Grant(privilege, _first(cells, _GRANTEE)))
    return tuple(sorted(found, key=_order))


def _first(cells: dict[str, str], names: Sequence[str]) -> str:
    return next((cells[name] for name in names if name in cells), "")


def _order(grant: Grant) -> tuple[str, str]:
    return grant.privilege, grant.grantee


def grant_changes(table: str, wanted: Iterable[Grant], has: Iterable[Grant]) -> tuple[str, ...]:
    """Return the statements that revoke what is not wanted, then grant what is missing.

    >>> grant_changes("t", [Grant("select", "bob")], [Grant("select", "ann")])
    ('REVOKE SELECT ON TABLE t FROM `ann`', 'GRANT SELECT ON TABLE t TO `bob`')
    >>> grant_changes("t", [Grant("select", "Ann")], [Grant("select", "ann")])
    ()
    """
    asked = {(each.privilege.replace("_", " "), each.grantee.lower()): each for each in wanted}
    there = {(each.privilege, each.grantee.lower()): each for each in has}
    gone = [
        f"REVOKE {privilege.upper()} ON TABLE {table} FROM {quoted(there[privilege, who].grantee)}"
        for privilege, who in sorted(there.keys() - asked.keys())
    ]
    new = [
        f"GRANT {privilege.upper()} ON TABLE {table} TO {quoted(asked[privilege, who].grantee)}"
        for privilege, who in sorted(asked.keys() - there.keys())
    ]
    return (*gone, *new)
