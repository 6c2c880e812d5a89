"""The strategy `append`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.core import strategy as port
from penstock.core.statement import Work
from penstock.strategies.build import insert, replace_range


@dataclass(frozen=True, slots=True)
class Append(port.Strategy):
    """Rows of the window are added; without a window the query itself selects only new rows."""

    window: port.WindowSettings | None = None

    name = "append"
    writing = port.Writing.ADDED
    keeps_rows = True
    takes_feed = True
    settings = port.STORED | port.WINDOWED | {"window"}
    is_incremental = True
    adds_again = True
    dbt = ("incremental", "append")

    @classmethod
    def read(cls, settings: port.GivenSettings) -> Self:
        """Read its window; `window: none` declares that there is none."""
        window = settings.window()
        if window is None and settings.text("window") != "none":
            settings.report(
                "materialized",
                "append-without-window",
                "append without time_column would add the same rows again on every run",
                "set time_column, or window='none' if the query itself selects only new rows",
            )
        if settings.text("lookback"):
            settings.report(
                "lookback",
                "option-conflict",
                "append with lookback would add rows twice",
                "use merge with a key",
            )
        return cls(window)

    def fingerprint(self, layout: port.Layout) -> Mapping[str, object]:
        """Return the window, which determines the rows that are read."""
        del layout
        return {"window": self.window and self.window.fingerprint}

    def work(self, build: port.Build) -> Work:
        """Add the window's rows in one commit that Delta accepts once per step.

        Rows of a grain unit that is read again replace its earlier rows.
        """
        return replace_range(build) if build.replaced else insert(build)
