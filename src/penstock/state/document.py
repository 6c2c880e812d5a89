"""The head of an exported store: whose it is, and whether it can be read at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from penstock.core.errors import StateError
from penstock.state.identity import Identity

Cell = str | int | float | bool | None | list["Cell"] | dict[str, "Cell"]
Tables = Mapping[str, list[dict[str, Cell]]]

MOST = 20
_LONGEST = 400


def write_document(tables: Tables, identity: Identity, schema: str) -> str:
    """Give one JSON document: keys sorted, indented, ending in a line end."""
    document = {
        "penstock_state": schema,
        "project": identity.project,
        "target": identity.target,
        "tables": tables,
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read_document(text: str, identity: Identity, schema: str) -> Tables:
    """Give the tables of a document; `state-import-invalid` says what is wrong with it."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise invalid(["it is nested too deeply"]) from error
    except ValueError as error:
        raise invalid([f"it is not JSON: {error}"]) from error
    if not isinstance(document, dict) or "penstock_state" not in document:
        raise invalid(["it has no 'penstock_state': it is no exported state"])
    if document["penstock_state"] != schema:
        raise invalid(
            [f"its schema is {document['penstock_state']!r}, this penstock reads {schema!r}"]
        )
    found = (document.get("project"), document.get("target"))
    if found != (identity.project, identity.target):
        theirs = f"it belongs to target {found[1]!r} of project {found[0]!r}"
        ours = f"this is target {identity.target!r} of project {identity.project!r}"
        raise invalid([f"{theirs}, {ours}"])
    return _tables(document.get("tables"))


def invalid(reasons: Sequence[str]) -> StateError:
    """Word the refusal of a document, with every reason up to `MOST`."""
    shown = [reason[:_LONGEST] for reason in reasons[:MOST]]
    said = shown[0] if len(shown) == 1 else "".join(f"\n  {reason}" for reason in shown)
    more = "\n  and there may be more" if len(reasons) >= MOST else ""
    return StateError(
        "state-import-invalid",
        f"the document cannot be imported: {said}{more}",
        hint="give a document that penstock state export wrote for this target",
    )


def _tables(found: object) -> Tables:
    if not isinstance(found, dict):
        raise invalid(["'tables' is missing"])
    wrong = [
        f"table {name!r} is no list of objects"
        for name, rows in found.items()
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows)
    ]
    if wrong:
        raise invalid(wrong)
    return found
