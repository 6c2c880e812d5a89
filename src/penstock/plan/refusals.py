"""Errors that more than one place raises, worded once."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.errors import SchemaError, TableError
from penstock.core.facts import LogCommit, Touched
from penstock.core.findings import Location
from penstock.core.model import Fingerprint, Model
from penstock.plan.values import Owner


def unrecorded(model: Model) -> TableError:
    """Refuse a table of ours of which nothing is on record."""
    return TableError(
        "unrecorded",
        f"{model.table} was built by penstock, but the state store does not know it",
        where=model.where,
        hint="restore the records from the tables' logs: penstock state rebuild; "
        "if another state store of the project is in use, name it under `state` instead",
    )


def unrecorded_commit(model: Model, messages: str) -> TableError:
    """Refuse a table with a commit of ours that nobody is on record as having made."""
    return TableError(
        "unrecorded-commit",
        f"{model.table}: {messages}",
        where=model.where,
        hint=f"penstock recover records it; if it cannot: "
        f"penstock run --select {model.name} --full-refresh",
    )


def unrecorded_detail(first: LogCommit | Touched) -> str:
    """Say which commit of this store no step is on record as having made."""
    return f"version {first.version} is of step {first.step}, which is not on record with it"


def foreign_table(model: Model, hint: str) -> TableError:
    """Refuse a table that somebody else made."""
    return TableError(
        "foreign-table",
        f"{model.table} exists and was not built by penstock",
        where=model.where,
        hint=hint,
    )


def table_of_another_store(model: Model, owner: Owner, project: str, takes: str = "") -> TableError:
    """Refuse a table that somebody writes with another state store (spec/state.md §4).

    No way out that is named takes the table from them, but for the flags that it `takes`.
    """
    ways = ["give it another schema or alias"]
    if owner.project == project:
        ways.append("or name that store's database as `state` of the target")
    else:
        ways.append("or the target another warehouse")
    if takes:
        ways.append(
            "or take the table from them, if they no longer write it: "
            f"penstock run --select {model.name} {takes}"
        )
    return TableError(
        "table-of-another-store",
        f"{model.table} is written by {owner}, whose records are not those of this one",
        where=model.where,
        hint=", ".join(ways),
    )


def source_mutated(
    model: Model, fingerprint: Fingerprint, built: str, where: Location, place: str = ""
) -> TableError:
    """Refuse other SQL under the number of that which built some rows (case DS7)."""
    return TableError(
        "source-mutated",
        f"{fingerprint.label} of {model.name} has built {built} and its SQL changed{place}",
        where=where,
        hint="add a revision, or repeat with --allow-source-mutation",
    )


def incompatible_type(model: Model, changes: Iterable[str]) -> SchemaError:
    """Refuse changes of types that only a rewrite of the table can make (case DP12)."""
    return SchemaError(
        "incompatible-type",
        f"{model.table}: {', '.join(changes)}",
        where=model.where,
        hint="--allow-breaking rewrites the table with the new types",
    )
