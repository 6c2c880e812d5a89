"""The parts of a build: their order, what a failure skips, and the exit code."""

from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import pytest

from fakes.builders import a_model, a_project, countries
from fakes.reports import a_plan, a_report
from fakes.services import a_shop
from penstock.app.commands import build as building
from penstock.app.read_requests import BuildRequest
from penstock.app.reports import ModelResult
from penstock.app.unit_testing.differences import UnitResult, UnitTestReport
from penstock.core.errors import CheckFailedError, ProjectError, UsageError
from penstock.core.findings import Finding, Location
from penstock.core.history import ColumnsDiffer
from penstock.project.unit_tests.definition import UnitTest
from penstock.project.unit_tests.load import LoadedTests
from penstock.strategies.history.snapshot import Snapshot

HISTORY = Snapshot(("id",), ColumnsDiffer(None))
USERS = a_model("users", "raw.users", strategy=HISTORY)
ORDERS = a_model("orders", "countries", depends_on=())
JOINED = a_model("joined", "users", "orders")
LATE = a_model("late", "joined", strategy=HISTORY)
LAST = a_model("last", "late")
PROJECT = replace(a_project(USERS, ORDERS, JOINED, LATE, LAST), seeds={"countries": countries()})


@dataclass
class Commands:
    """Stands for the commands that a build calls: what they were asked, and how they end."""

    asked: list[str] = field(default_factory=list)
    tests: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    fails: frozenset[str] = frozenset()
    error: Exception | None = None
    flags: list[bool] = field(default_factory=list)
    written: list[list[str]] = field(default_factory=list)

    def load_tests(self, _):
        tests = tuple(UnitTest("t", name, Location("tests/t.yml"), ()) for name in self.tests)
        return LoadedTests(tests, self.findings)

    def run_tests(self, _, request):
        self.asked.append(f"test {' '.join(request.select)}")
        tests = (UnitTest("t", name, Location("tests/t.yml"), ()) for name in self.tests)
        return UnitTestReport(
            tuple(UnitResult(t, ("x",) if t.model in self.fails else ()) for t in tests)
        )

    def seed(self, _, select):
        self.asked.append(f"seed {' '.join(select)}")
        return self.report("seed", select)

    def run(self, _, request, *__):
        names = " ".join(request.select).replace("name:", "").split() or [*PROJECT.models]
        self.asked.append(f"{request.command} {' '.join(request.select).replace('name:', '')}")
        self.flags.append(request.skip_checks)
        return self.report(request.command, names)

    def write_build_artifacts(self, _, parts):
        self.written.append([getattr(each, "command", "test") for each in parts])

    def report(self, command, names):
        results = [
            ModelResult(name, USERS.table, "table", "success", "x")
            if name not in self.fails
            else ModelResult(name, USERS.table, "table", "failed", "x", error=self.error)
            for name in names
        ]
        return replace(a_report(a_plan(), command=command), results=tuple(results))


@pytest.fixture
def commands(monkeypatch):
    made = Commands()
    for name in ("load_tests", "run_tests", "seed", "run", "write_build_artifacts"):
        monkeypatch.setattr(building, name, getattr(made, name))
    return made


def built(commands, **asked):
    shown = []
    report = building.build(
        a_shop(PROJECT),
        BuildRequest(**asked),
        lambda: nullcontext(lambda _: None),
        shown.append,
        lambda _: True,
    )
    assert tuple(shown) == report.parts
    return report


def test_tests_and_seeds_come_first_and_each_snapshot_after_what_it_reads(commands):
    commands.tests = ("orders", "joined")

    report = built(commands)

    assert commands.asked == [
        "test name:joined name:orders",
        "seed countries",
        "snapshot run users",
        "run orders joined",
        "snapshot run late",
        "run last",
    ]
    assert (report.exit_code, dict(report.skipped)) == (0, {})
    assert commands.written == [["test", "seed", "snapshot run", "run", "snapshot run", "run"]]


def test_a_failed_unit_test_stops_its_model_and_what_reads_it(commands):
    commands.tests, commands.fails = ("orders",), frozenset({"orders"})

    report = built(commands)

    assert commands.asked == ["test name:orders", "seed countries", "snapshot run users"]
    assert dict(report.skipped) == {
        "joined": "a unit test of orders failed",
        "late": "a unit test of orders failed",
        "last": "a unit test of orders failed",
        "orders": "its unit test failed",
    }
    assert report.exit_code == 1


@pytest.mark.parametrize("failed", ["countries", "orders"])
def test_what_reads_a_failed_seed_or_model_is_skipped(commands, failed):
    commands.fails = frozenset({failed})

    report = built(commands)

    assert report.skipped["late"] == f"{failed} failed"
    assert "snapshot run late" not in commands.asked
    assert report.exit_code == 1


def test_a_selection_takes_only_the_seeds_that_it_reads(commands):
    built(commands, select=["joined"])
    built(commands, select=["orders+1"])

    assert commands.asked == ["run joined", "seed countries", "run orders joined"]


def test_kinds_choose_the_parts(commands):
    built(commands, resource_type=["model"], select=["orders joined"])
    built(commands, resource_type=["snapshot test"])
    built(commands, exclude_resource_type=["model", "snapshot"])

    assert commands.asked == [
        "run orders joined",
        "snapshot run users",
        "snapshot run late",
        "seed countries",
    ]
    assert commands.flags == [True, False, False]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"resource_type": ["test"]}, "nothing is left to build"),
        ({"resource_type": ["exposure"]}, "'exposure' is not something that build runs"),
        ({"resource_type": ["model"], "exclude_resource_type": ["all", "model"]}, "nothing is"),
    ],
)
def test_kinds_that_build_nothing_are_refused(asked, said):
    with pytest.raises(UsageError, match=said):
        BuildRequest(**asked)


def test_fail_fast_ends_after_the_first_failed_part(commands):
    commands.fails = frozenset({"users"})

    built(commands, fail_fast=True)

    assert commands.asked == ["seed countries", "snapshot run users"]


def test_rows_that_failed_checks_have_a_code_of_their_own_if_nothing_else_failed(commands):
    commands.fails = frozenset({"orders"})
    commands.error = CheckFailedError("check-failed", "rows failed")

    assert built(commands).exit_code == 3

    commands.tests, commands.fails = ("last",), frozenset({"orders", "last"})

    assert built(commands).exit_code == 1


def test_broken_unit_tests_stop_a_build_before_anything_runs(commands):
    commands.findings = (Finding(Location("tests/t.yml"), "bad-value", "it is bad"),)

    with pytest.raises(ProjectError):
        built(commands)

    assert commands.asked == []
    assert built(commands, exclude_resource_type=["unit_test"]).exit_code == 0
