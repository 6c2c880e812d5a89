"""The strategies `view`, and `frame`: a function between tables, whose rows are not stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from penstock.core.statement import Commit, Work
from penstock.core.strategy import Build, GivenSettings, Strategy


@dataclass(frozen=True, slots=True)
class View(Strategy):
    """A name for a query; nothing is stored."""

    name = "view"
    is_view = True
    rerun_is_safe = True
    dbt = ("view", "")

    @classmethod
    def read(cls, settings: GivenSettings) -> Self:
        """Read nothing: it has no settings."""
        del settings
        return cls()

    def work(self, build: Build) -> Work:
        """Store the query under a name; readers of views over path tables read the query itself."""
        if not build.view_sql:
            return Work.just(None)
        sql = f"CREATE OR REPLACE VIEW {build.target} AS {build.view_sql}"
        return Work.just(Commit(sql, once=False))


@dataclass(frozen=True, slots=True)
class Frame(View):
    """A frame that is passed to its readers; SQL cannot name it."""

    name = "frame"
    is_written = False

    def work(self, build: Build) -> Work:
        """Run nothing: readers of the frame call its function."""
        del build
        return Work.just(None)
