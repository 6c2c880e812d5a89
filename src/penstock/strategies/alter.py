"""Changes of a table's metadata that need a commit of their own, before or without a build."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.model import Model
from penstock.core.names import literal, quoted
from penstock.core.schema import Schema
from penstock.strategies.build import written

_WIDENING = "delta.enableTypeWidening"


def allow_widening(target: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """Let a table take wider types, before the first one and not earlier.

    Other readers lose a table that has the feature (spec/project.md §3), so it is set only when
    a column is really widened.
    """
    if properties.get(_WIDENING, "false").lower() == "true":
        return ()
    return (f"ALTER TABLE {target} SET TBLPROPERTIES ({written({_WIDENING: 'true'})})",)


def alter_properties(
    target: str, model: Model, properties: Mapping[str, str], table: Schema
) -> tuple[str, ...]:
    """Bring properties and column comments to what the project says; rows are not touched.

    One statement, so one commit, for the properties, and one for the comments.
    """
    wanted = dict(model.layout.properties)
    wrong = {key: value for key, value in wanted.items() if properties.get(key) != value}
    statements = []
    if wrong:
        statements.append(f"ALTER TABLE {target} SET TBLPROPERTIES ({written(wrong)})")
    comments = []
    for column in model.columns:
        known = table.find(column.name)
        if known is not None and column.description and known.comment != column.description:
            comments.append(f"{quoted(known.name)} COMMENT {literal(column.description)}")
    if comments:
        statements.append(f"ALTER TABLE {target} ALTER COLUMN {', '.join(comments)}")
    return tuple(statements)
