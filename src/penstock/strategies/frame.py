"""The strategy `frame`: a function between tables, whose rows nobody stores."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.statement import Work
from penstock.core.strategy import Build
from penstock.strategies.view import View


@dataclass(frozen=True, slots=True)
class Frame(View):
    """A frame that its readers are given; no SQL can name it."""

    name = "frame"
    is_written = False

    def work(self, build: Build) -> Work:
        """Run nothing: whoever reads the frame calls its function."""
        del build
        return Work.just(None)
