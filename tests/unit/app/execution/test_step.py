"""The phases of a step: their order, and how far a reader has to walk to follow one."""

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Self

import pytest

import fakes
import penstock
from fakes.builders import a_model, a_source
from fakes.check_inputs import a_check, answered
from fakes.lake import columns
from fakes.versioned_models import EVENTS as READ
from fakes.versioned_models import a_body, a_daily, a_version
from fakes.workshop import Workshop
from penstock.app.commands.run import Runner
from penstock.app.execution.step import PHASES
from penstock.core.checks.check import Checks, CheckScope, OnFailure, Phase
from penstock.core.errors import DataError, DuplicateKeysError, IncrementalConfigError
from penstock.core.statement import OBSERVED_ROWS
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append
from penstock.strategies.checks.types import RowCount

SRC = str(Path(penstock.__file__).parent)
BEHIND_PORTS = tuple(f"{SRC}/{room}/" for room in ("state", "engine"))
FAKES = str(Path(fakes.__file__).parent)
EVENTS = a_source("events")


class Trace:
    """Every call of a function of penstock while a block runs, by module, in order.

    Counted are calls of functions and methods that somebody wrote, those of `core` too: not
    `__init__` and other code that dataclasses generate, not comprehensions. Left out is what lies
    behind the ports of the store and of Spark: these rooms, their fakes, and the words of `core`
    that they use. Once the same count gave 29 modules and 119 changes of module.
    """

    def __init__(self) -> None:
        self.modules: list[str] = []
        self.recorded: int | None = None

    def __enter__(self) -> Self:
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _seen(self, frame, event, _arg):
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        if event != "call" or not file.startswith(SRC) or name.startswith(("<", "__")):
            return
        if file.startswith(BEHIND_PORTS[0]) and name == "finish":  # the record is written
            self.recorded = len(self.modules)
        if not is_behind_a_port(frame):
            module = file.removeprefix(SRC + "/").removesuffix(".py").replace("/", ".")
            self.modules.append(module)

    @property
    def until_the_record(self) -> list[str]:
        return self.modules[: self.recorded]


def is_behind_a_port(frame):
    """Whether a call is made in the rooms behind the ports, in a fake of them, or by either."""
    while (file := frame.f_code.co_filename) != __file__:  # here the schedule's call is traced
        if file.startswith((*BEHIND_PORTS, FAKES)):
            return True
        frame = frame.f_back
    return False


@pytest.fixture
def trace(monkeypatch):
    """Trace every step from the schedule's call on; the last one is kept."""
    found = Trace()
    do = Runner._do

    def traced(runner, key):
        found.modules.clear()
        with found:
            return do(runner, key)

    monkeypatch.setattr(Runner, "_do", traced)
    return found


def changes(modules):
    return sum(before != after for before, after in pairwise(modules))


def quietly(workshop):
    """Run with a listener that is no code of penstock."""
    return workshop.run(listener=lambda _event: None)


def test_the_phases_of_a_step_are_one_tuple_in_the_order_of_the_protocol():
    assert [phase.__name__ for phase in PHASES] == [
        "run_before",
        "pin",
        "inspect",
        "check_before",
        "begin",
        "stage",
        "write",
        "check_after",
        "record",
        "run_after",
    ]


def test_one_step_of_a_table_runs_through_few_modules(trace):
    workshop = Workshop(EVENTS, a_model("top", "raw.events"))

    report = quietly(workshop)

    walked = trace.until_the_record
    assert report["top"].status == "success"
    assert len(set(walked)) <= 21, sorted(set(walked))
    assert changes(walked) <= 62, walked


def test_one_step_of_a_table_that_is_there_runs_through_few_modules(trace):
    workshop = Workshop(EVENTS, a_model("top", "raw.events"))
    quietly(workshop)
    workshop.lake.land(EVENTS.path, n="2")

    report = quietly(workshop)

    walked = trace.until_the_record
    assert report["top"].status == "success"
    assert len(set(walked)) <= 21, sorted(set(walked))
    assert changes(walked) <= 62, walked


WINDOWED = Append(WindowSettings("n"))


@pytest.mark.parametrize(
    ("strategy", "error", "kind"),
    [
        (WINDOWED, DataError, IncrementalConfigError),
        (WINDOWED, DuplicateKeysError, DuplicateKeysError),
        (None, DataError, DataError),
    ],
)
def test_rows_that_are_refused_are_an_error_of_the_windows_that_read_them(strategy, error, kind):
    workshop = Workshop(EVENTS, a_model("top", "raw.events", strategy=strategy))
    workshop.lake.trouble("top", "commit", error("bad-rows", "a row is refused", hint="look"))

    found = workshop.run()["top"].error

    assert type(found) is kind
    assert (found.code, found.sentence, found.hint) == ("bad-rows", "a row is refused", "look")


HAS_ROWS = a_check(RowCount(1))
IN_TABLE = replace(HAS_ROWS, name="all", scope=CheckScope.TABLE)
ONE_DAY = {"from_": "2024-02-28", "to": "2024-02-28"}


def days(mode):
    """A model of days with gates for a day, and a table, without rows."""
    checks = Checks((), (HAS_ROWS, IN_TABLE), mode)
    version = replace(a_version(a_body("v1", "2024-02-28", READ)), checks=checks)
    return replace(a_daily("days", version), checks=checks)


def test_a_check_of_the_input_that_fails_keeps_a_step_from_its_table():
    there = replace(HAS_ROWS, phase=Phase.BEFORE, input=EVENTS.input_name)
    top = replace(a_model("top", "raw.events"), checks=Checks((there,), (), OnFailure.BLOCK))
    workshop = Workshop(EVENTS, top)

    result = workshop.run()["top"]

    assert (result.status, workshop.lake.commits_of("top")) == ("skipped", [])
    assert [found.message for found in result.invariant_report.before] == ["rows 0 < min 1"]


@pytest.mark.parametrize(
    ("rows", "ended"),
    [
        (0, ("failed", 1, [])),
        (1, ("success", 3, ["CREATE", "INSERT"])),
    ],
)
def test_what_must_come_before_rows_waits_until_a_gate_let_them_pass(rows, ended):
    workshop = Workshop(EVENTS, days(OnFailure.FLAG))
    workshop.lake.gives("v1", "date date, n int")
    workshop.run("days", **ONE_DAY)  # the table has no rows to count: the day is built again
    workshop.lake.ran.clear()

    workshop.has(days(OnFailure.BLOCK))
    workshop.lake.gives("v1", "date date, n string")
    workshop.lake.answers("check_after_target", answered(IN_TABLE, columns("date date"), 9))
    workshop.lake.answers("penstock_query_0", {OBSERVED_ROWS: rows})
    result = workshop.run("days", **ONE_DAY, allow_breaking=True)["days"]

    commits = workshop.lake.commits_of("days")
    assert (result.status, result.version, commits) == ended
