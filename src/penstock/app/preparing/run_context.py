"""What all steps of one run share."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock

from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.pass_runs import PassRuns
from penstock.core.check_results import InvariantReport
from penstock.core.partitions.ranges import Ranges, union
from penstock.core.project import Project
from penstock.core.query import TemplateRows
from penstock.core.records import Holder, HookRecord, ModelRecord, upstream_records
from penstock.core.steps.inputs import InputPin
from penstock.core.steps.step import Intent
from penstock.plan.values import Options, Step


@dataclass(frozen=True, slots=True)
class ViewVersion:
    """A view for a step: its name, and the versions of the tables below it."""

    view: str
    pins: frozenset[InputPin]


@dataclass(frozen=True, slots=True)
class ViewReport:
    """The check results of a view before a step read it."""

    view: str
    report: InvariantReport
    duration: float = 0.0


@dataclass(slots=True)
class ViewReports:
    """The reports of one run; steps on several threads share them.

    `reports_of` are those that a step requested first, by the key of the step.
    """

    _reports: dict[ViewVersion, InvariantReport] = field(default_factory=dict)
    _by_step: dict[str, list[ViewReport]] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=dict)

    def keep(self, version: ViewVersion, report: InvariantReport) -> None:
        """Store the results from the view's own step."""
        self._reports[version] = report

    def report_of(
        self, version: ViewVersion, step: str, evaluate: Callable[[], ViewReport]
    ) -> InvariantReport:
        """Return the results for a version of a view; evaluate them only once.

        A second step that reads the view waits for the first evaluation.
        """
        with self._locks.setdefault(version.view, Lock()):
            if version not in self._reports:
                view_report = evaluate()
                self._reports[version] = view_report.report
                self._by_step.setdefault(step, []).append(view_report)
            return self._reports[version]

    def reports_of(self, step: str) -> tuple[ViewReport, ...]:
        """Return the reports that a step requested first, each once."""
        return tuple(self._by_step.pop(step, ()))


@dataclass(slots=True)
class Context:
    """One run, which all of its steps share."""

    holder: Holder
    """The identity of the run."""
    run_timestamp: dt.datetime
    """The time of the run, for all its steps."""
    project: Project
    """The project as planned."""
    view: ObservedTables
    """What planning saw of tables."""
    records: dict[str, ModelRecord]
    """Updated as steps end, so that later steps pin what earlier ones wrote."""
    as_of: dt.datetime | None = None
    """The time that the user gave."""
    wait_seconds: float = 0.0
    """How long to wait for another run."""
    triggered_by: str = "run"
    """The command, for the history."""
    options: Options = Options()
    """What the user allows."""
    changed: dict[str, Ranges] = field(default_factory=dict)
    """The partitions whose rows this run changed, by model."""
    failed: dict[str, Ranges] = field(default_factory=dict)
    """The partitions that it could not build, by model."""
    bases: dict[str, int] = field(default_factory=dict)
    """The earlier versions of tables with a single partition."""
    views: ViewReports = field(default_factory=ViewReports)
    """The check results of views that its steps read."""
    passes: PassRuns = field(default_factory=PassRuns)
    """The passes of session packages."""
    hooks: list[HookRecord] = field(default_factory=list)
    """The hooks that ran."""
    hooked: set[str] = field(default_factory=set)
    """The keys of steps whose hooks before them ran, also if they are to be run again."""
    template_rows: dict[tuple[str, frozenset[InputPin]], TemplateRows] = field(default_factory=dict)
    """What templates read at some pins, by the key of the query."""

    @property
    def upstreams(self) -> Mapping[str, ModelRecord]:
        """The records of models as their readers see them."""
        return upstream_records(self.records, self.view.now.deferred)

    def follow(self, earlier: Context) -> None:
        """Go on with what steps of an earlier plan of the same run did."""
        self.changed, self.failed = earlier.changed, earlier.failed
        self.hooks, self.hooked = earlier.hooks, earlier.hooked
        self.template_rows = earlier.template_rows

    def change(self, intent: Intent) -> None:
        """Record that a step changed its partitions."""
        self.changed[intent.model] = union(self.changed.get(intent.model, ()), intent.ords)
        if intent.grid.is_whole and intent.base_version is not None:
            self.bases.setdefault(intent.model, intent.base_version)

    def fail(self, step: Step) -> None:
        """Record that a step did not build its partitions."""
        self.failed[step.model] = union(self.failed.get(step.model, ()), step.partitions)
