"""What checks of views said in one run: each is looked at once per version of what it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from penstock.core.check_results import InvariantReport
from penstock.core.pin import InputPin


@dataclass(frozen=True, slots=True)
class ViewVersion:
    """A view as a step reads it: its name, and the versions of the tables below it."""

    view: str
    pins: frozenset[InputPin]


@dataclass(frozen=True, slots=True)
class ViewReport:
    """What the checks of a view said when a step was about to read it."""

    view: str
    report: InvariantReport
    duration: float = 0.0


@dataclass(slots=True)
class ViewReports:
    """The reports of one run; steps on several threads share them.

    `told` are those that a step was the first to ask for, by the key of the step.
    """

    _known: dict[ViewVersion, InvariantReport] = field(default_factory=dict)
    _told: dict[str, list[ViewReport]] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=dict)

    def keep(self, version: ViewVersion, report: InvariantReport) -> None:
        """Remember what the view's own step has found."""
        self._known[version] = report

    def once(
        self, version: ViewVersion, step: str, look: Callable[[], ViewReport]
    ) -> InvariantReport:
        """Give what was said of a version of a view; look only where nobody has yet.

        A second step that reads it waits for the first to have looked.
        """
        with self._locks.setdefault(version.view, Lock()):
            if version not in self._known:
                found = look()
                self._known[version] = found.report
                self._told.setdefault(step, []).append(found)
            return self._known[version]

    def told(self, step: str) -> tuple[ViewReport, ...]:
        """Give the reports that a step was the first to ask for, each once."""
        return tuple(self._told.pop(step, ()))
