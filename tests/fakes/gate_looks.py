"""What gates looked at, as lines of text, to be held against what was committed then."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.app.checking.results import CheckedRows
from penstock.app.checking.target import CheckTarget
from penstock.core.columns.schema import Schema
from penstock.core.names import quoted
from penstock.core.ports.engine import StepSession

if TYPE_CHECKING:
    import pytest

    from fakes.place import Place

Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Rows:
    """Columns with their types, and each row as often as it is there."""

    columns: Columns
    lines: Counter[str]


@dataclass
class GateLooks:
    """The rows of every look after a step, by model: those of the step, and the whole table."""

    of: dict[str, tuple[Rows | None, Rows | None]] = field(default_factory=dict)

    @classmethod
    def watching(cls, monkeypatch: pytest.MonkeyPatch) -> GateLooks:
        """Remember what checks are evaluated on from now on."""
        found, look_after = cls(), CheckTarget.look_after

        def look(self: CheckTarget, step, table, observed, step_seq):  # type: ignore[no-untyped-def]  as it is
            found.of[self.model.name] = (_seen(self.session, step), _seen(self.session, table))
            return look_after(self, step, table, observed, step_seq)

        monkeypatch.setattr(CheckTarget, "look_after", look)
        return found


def committed(place: Place, uri: str) -> Rows:
    """Give the rows of a table as it is now."""
    spark = place.spark
    assert spark is not None
    frame = spark.newSession().sql(f"SELECT * FROM delta.`{uri}`")
    schema = tuple((each.name, each.dataType.simpleString()) for each in frame.schema.fields)
    [line] = _lines(f"SELECT * FROM delta.`{uri}`", [name for name, _ in schema])
    return Rows(schema, Counter(row[0] for row in place.sql(line)))


def _seen(session: StepSession, rows: CheckedRows | None) -> Rows | None:
    if rows is None:
        return None
    described: Schema = session.describe(rows.sql)
    [line] = _lines(rows.sql, described.names)
    schema = tuple((each.name, each.type) for each in described.columns)
    return Rows(schema, Counter(str(row["line"]) for row in session.rows(line)))


def _lines(sql: str, names) -> list[str]:  # type: ignore[no-untyped-def]  any names
    ordered = ", ".join(quoted(name) for name in sorted(names, key=str.lower))
    options = "map('ignoreNullFields', 'false')"
    return [f"SELECT to_json(struct({ordered}), {options}) AS line FROM (\n{sql}\n)"]
