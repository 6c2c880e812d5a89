"""A strategy of its own, in one file: `latest` keeps the newest rows of its query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.core.names import quoted
from penstock.core.statement import QUERY_VIEW, Stage, Work
from penstock.core.strategy import STORED, Build, GivenSettings, Layout, Strategy
from penstock.strategies.build import create_from, listed

KEPT = "penstock_latest"


@dataclass(frozen=True, slots=True)
class Latest(Strategy):
    """Each step makes the table anew of the `count` rows that are greatest in `by`."""

    by: str
    count: int

    name = "latest"
    settings = STORED | {"newest_by", "keep"}
    rerun_is_safe = True

    @classmethod
    def read(cls, given: GivenSettings) -> Self:
        """Read `newest_by` and `keep`."""
        by, keep = given.text("newest_by"), given.text("keep")
        if not by:
            hint = "name the column that tells how new a row is"
            given.report("materialized", "missing-key", "latest needs newest_by", hint)
        if not keep.isdecimal():
            given.report("keep", "bad-value", f"keep is {keep!r}; it must be an integer >= 0")
        return cls(by, int(keep) if keep.isdecimal() else 0)

    def fingerprint(self, layout: Layout) -> Mapping[str, object]:
        """Both settings change rows."""
        del layout
        return {"by": self.by.lower(), "count": self.count}

    def work(self, build: Build) -> Work:
        """Look at the rows that stay, then replace the table by them."""
        columns = listed(build.query.names)
        rows = (
            f"SELECT {columns} FROM {quoted(QUERY_VIEW)} "
            f"ORDER BY {quoted(self.by)} DESC LIMIT {self.count}"
        )
        look = f"SELECT count(*) AS kept FROM {quoted(KEPT)}"
        commit = create_from(build, KEPT)
        return Work(
            (Stage(KEPT, rows, look),),
            lambda _: commit,
            rows=lambda _: f"SELECT {columns} FROM {quoted(KEPT)}",
            fed_by=KEPT,
        )
