"""The use case `build`: unit tests, seeds, models and snapshots in one command, as dbt builds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace

from penstock.app.artifacts.write import write_build_artifacts
from penstock.app.commands.catch_up import catch_up
from penstock.app.commands.run import AskRefresh, run
from penstock.app.commands.seed import seed
from penstock.app.commands.test import run_tests
from penstock.app.events import Listener
from penstock.app.planning.make_plan import run_timestamp_of
from penstock.app.planning.packages import selecting
from penstock.app.planning.selection import selected_models
from penstock.app.read_requests import BuildRequest
from penstock.app.request import AnyRun, RunRequest, SnapshotRequest, UnitTestRequest
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.app.unit_testing.differences import UnitTestReport
from penstock.app.unit_testing.loading import Variants, load_tests
from penstock.core.errors import CheckFailedError, LeaseHeldError, ProjectError
from penstock.core.graph import children, ordered, reach
from penstock.core.names import InputKind
from penstock.core.project import Project

_LATER = (CheckFailedError.exit_code, LeaseHeldError.exit_code)
"""Codes after which a later run, or an inspection of the rows, is enough."""
_KINDS = {RunRequest.command: "model", SnapshotRequest.command: "snapshot"}
"""What dbt calls that which a command builds."""
BuiltPart = UnitTestReport | RunReport
Progress = Callable[[], AbstractContextManager[Listener]]


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did, part by part; `skipped` are models with the reason."""

    parts: tuple[BuiltPart, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """The exit code of the command: that of an interrupt, or the one of all failed parts."""
        codes = [_code_of(each) for each in self.parts]
        found = {code for code in codes if code}
        if found <= {*_LATER}:
            return min(found, default=0)
        return max(found.difference(_LATER))

    @property
    def runs(self) -> tuple[RunReport, ...]:
        """The parts that built something."""
        return tuple(each for each in self.parts if isinstance(each, RunReport))


def _code_of(part: BuiltPart) -> int:
    return part.exit_code if isinstance(part, RunReport) else int(not part.ok)


def build(
    services: Services,
    request: BuildRequest,
    progress: Progress,
    show: Callable[[BuiltPart], None],
    ask: AskRefresh,
) -> BuildReport:
    """Run the unit tests of the selected models, load seeds, then build models and snapshots.

    A model with a failed unit test is skipped, and so is everything that reads it or a model that
    failed. `show` receives each part when it ends.
    """
    building = Building(services, request, progress, ask)
    parts: list[BuiltPart] = []
    for part in building.parts():
        parts.append(part)
        show(part)
    if sum(bool(part.results) for part in parts) > 1:  # each has written its own
        write_build_artifacts(services, parts)
    return BuildReport(tuple(parts), building.skipped)


class Building:
    """One build: which models it skips, because of what happened before."""

    def __init__(
        self, services: Services, request: BuildRequest, progress: Progress, ask: AskRefresh
    ) -> None:
        """Select the models; raise `SelectorError` if there are none."""
        self.services, self.request, self.progress, self.ask = services, request, progress, ask
        project, at = services.project, run_timestamp_of(services, request.run_timestamp)
        self.names = selected_models(services, request.select, request.exclude, at)
        self.skipped: dict[str, str] = {}
        self._children = children(_parents(project))

    def parts(self) -> Iterator[BuiltPart]:
        """Yield the result of each part; nothing follows an interrupt, or with --fail-fast."""
        for part in self._parts():
            yield part
            is_interrupted = isinstance(part, RunReport) and (part.interrupted or part.aborted)
            if is_interrupted or (self.request.fail_fast and _code_of(part)):
                return

    def _parts(self) -> Iterator[BuiltPart]:
        kinds = self.request.parts
        if "unit_test" in kinds and (tested := self._tested_models()):
            yield self._tested(tested)
        if "seed" in kinds and (seeds := self._seeds()):
            loaded = seed(self.services, seeds)
            self._note(loaded)
            yield loaded
        for command, names in divisions(self.services.project, self.names):
            left = tuple(name for name in names if name not in self.skipped)
            if _KINDS[command] in kinds and left:
                report = self._run(command, left)
                self._note(report)
                yield report

    def _tested_models(self) -> list[str]:
        """Return the selected models with unit tests; raise `ProjectError` for broken tests."""
        loaded = load_tests(Variants(self.services.project))
        if any(finding.is_error for finding in loaded.findings):
            raise ProjectError(loaded.findings)
        return sorted({each.model for each in loaded.tests}.intersection(self.names))

    def _tested(self, models: Sequence[str]) -> UnitTestReport:
        asked = self.request
        tests = UnitTestRequest(
            asked.project,
            threads=asked.threads,
            fail_fast=asked.fail_fast,
            select=(" ".join(f"name:{name}" for name in models),),
        )
        report = run_tests(self.services, tests)
        failed = {each.test.model for each in report.results if each.status == "failed"}
        self._skip(failed, "a unit test of {} failed")
        self.skipped |= dict.fromkeys(failed, "its unit test failed")
        return report

    def _seeds(self) -> tuple[str, ...]:
        """Return all seeds, with a selection those that selected models read."""
        models, seeds = self.services.project.models, self.services.project.seeds
        if not (self.request.select or self.request.exclude):
            return tuple(seeds)
        read = {each.name for name in self.names for each in models[name].inputs}
        return tuple(sorted(read.intersection(seeds)))

    def _run(self, command: str, names: Sequence[str]) -> RunReport:
        services, asked = self.services, self._narrowed(command, names)
        with self.progress() as listener:
            if isinstance(asked, RunRequest) and asked.catch_up:
                report = catch_up(services, asked, listener, self.ask)
            else:
                report = run(services, asked, listener, self.ask)
        services.run_id = ""  # what follows is another run
        return report

    def _narrowed(self, command: str, names: Sequence[str]) -> AnyRun:
        request = self.request
        if "test" not in request.parts:
            request = replace(request, skip_checks=True)
        if command == SnapshotRequest.command:
            taken = {each.name for each in fields(request)}
            common = [each.name for each in fields(SnapshotRequest) if each.name in taken]
            found = SnapshotRequest(**{name: getattr(request, name) for name in common})
            return replace(found, select=(_words(names),), exclude=())
        if len(names) == len(self.services.project.models):
            return replace(request, select=(), exclude=())
        return replace(request, select=(_words(names, self.services.project),), exclude=())

    def _note(self, report: RunReport) -> None:
        """Skip what reads a model or seed that failed."""
        self._skip({each.name for each in report.results if not each.ok}, "{} failed")

    def _skip(self, names: Collection[str], reason: str) -> None:
        for name in sorted(names):
            for below in sorted(reach([name], self._children) - {name}):
                if below in self.names:
                    self.skipped.setdefault(below, reason.format(name))


def _words(names: Sequence[str], project: Project | None = None) -> str:
    """Return one selector of some models; a session package is selected as a whole."""
    known = selecting(project, names) if project is not None else {}
    words = filter(None, (known.get(name, f"name:{name}") for name in names))
    return " ".join(dict.fromkeys(words)) or " ".join(f"name:{name}" for name in names)


def _parents(project: Project) -> dict[str, list[str]]:
    """Return the models and seeds that each model reads."""
    return {
        name: sorted({*m.depends_on, *(i.name for i in m.inputs if i.kind is InputKind.MODEL)})
        for name, m in project.models.items()
    }


def divisions(project: Project, names: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Divide models into consecutive runs of one command each, so that upstreams come first.

    Snapshots that read no model come before all models.
    """
    parents, wanted = _parents(project), {*names}
    rank: dict[str, int] = {}
    for name in ordered(parents):
        above = max((rank[each] for each in parents[name] if each in rank), default=-1)
        is_snapshot = project.models[name].strategy.command == SnapshotRequest.command
        is_other = name in wanted and (above % 2 == 1) is not is_snapshot
        rank[name] = above + is_other
    found: dict[int, list[str]] = {}
    for name in names:
        found.setdefault(rank[name], []).append(name)
    commands = (RunRequest.command, SnapshotRequest.command)
    return [(commands[number % 2], tuple(found[number])) for number in sorted(found)]
