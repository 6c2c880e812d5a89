"""Errors that more than one place raises, worded once."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.errors import SchemaError, TableError
from penstock.core.facts import Commit, Touched
from penstock.core.findings import Location
from penstock.core.model import Fingerprint, Model


def unrecorded(model: Model) -> TableError:
    """Refuse a table of ours of which nothing is on record."""
    return TableError(
        "unrecorded",
        f"{model.table} was built by penstock, but the state store does not know it",
        where=model.where,
        hint="restore the records from the tables' logs: penstock state rebuild",
    )


def unrecorded_commit(model: Model, told: str) -> TableError:
    """Refuse a table with a commit of ours that nobody is on record as having made."""
    return TableError(
        "unrecorded-commit",
        f"{model.table}: {told}",
        where=model.where,
        hint=f"penstock recover records it; if it cannot: "
        f"penstock run --select {model.name} --full-refresh",
    )


def unrecorded_detail(first: Commit | Touched) -> str:
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


def source_mutated(
    model: Model, mark: Fingerprint, built: str, where: Location, place: str = ""
) -> TableError:
    """Refuse other SQL under the number of that which built some rows (case DS7)."""
    return TableError(
        "source-mutated",
        f"{mark.label} of {model.name} has built {built} and its SQL changed{place}",
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
