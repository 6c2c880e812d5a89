"""Changes of a table's metadata that need a commit of their own, before or without a build."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.names import literal, quoted
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


def alter_properties(target: str, model: Model, facts: TableFacts) -> tuple[str, ...]:
    """Bring properties and comments to what the project says; rows are not touched.

    One statement, so one commit, each for the properties, the table's and the columns' comments.
    """
    wanted = model.layout.properties
    wrong = {key: value for key, value in wanted.items() if facts.properties.get(key) != value}
    statements = []
    if wrong:
        statements.append(f"ALTER TABLE {target} SET TBLPROPERTIES ({written(wrong)})")
    if model.description and facts.comment != model.description:
        statements.append(f"COMMENT ON TABLE {target} IS {literal(model.description)}")
    comments = []
    for column in model.columns:
        known = facts.schema.find(column.name)
        if known is not None and column.description and known.comment != column.description:
            comments.append(f"{quoted(known.name)} COMMENT {literal(column.description)}")
    if comments:
        statements.append(f"ALTER TABLE {target} ALTER COLUMN {', '.join(comments)}")
    return tuple(statements)
