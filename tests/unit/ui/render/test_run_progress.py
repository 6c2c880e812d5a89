"""Lines that show a run while it goes."""

import datetime as dt
import json

from fakes.builders import NOON
from fakes.reports import a_plan, a_result, a_step
from penstock.app.events import RunStarted, Said, StepEnded, StepStarted
from penstock.core.errors import DataError
from penstock.core.findings import Location
from penstock.core.steps.step import RowCounts
from penstock.plan.values import Blocked
from penstock.ui.render.run import JsonLines, TextLines

NULL_KEY = DataError(
    "null-key", "3 rows have no id", where=Location("models/users.sql", 4), hint="fill them"
)


def test_every_step_that_ends_gives_one_line():
    plan = a_plan(a_step("users_clean"), a_step("log"), a_step("daily"), a_step("v"))
    told: list[str] = []
    listen = TextLines(told.append)

    listen(Said("step 1 of log had committed version 7; recorded"))
    listen(RunStarted("0190a3c4", plan))
    listen(StepStarted("users_clean", "never_run"))
    listen(StepEnded(a_result("users_clean", rows=RowCounts(inserted=3), duration=2.14)))
    listen(StepEnded(a_result("log", "failed", error=NULL_KEY)))
    listen(StepEnded(a_result("daily", "skipped", reason="upstream log failed")))
    listen(StepEnded(a_result("v", strategy="view", duration=0.04)))

    assert told == [
        "step 1 of log had committed version 7; recorded",
        "[1/4] ✓ users_clean  first build  3 rows  2.1 s",
        "[2/4] ✗ log          FAILED  null-key: 3 rows have no id",
        "[3/4] - daily        skipped: upstream log failed",
        "[4/4] ✓ v            first build  0.0 s",
    ]


def test_models_that_one_error_keeps_from_running_share_a_line():
    gone = DataError("missing-input", "raw.events is not there")
    names = ("web_events", "web_sessions", "web_users", "web_views")
    blocked = (*(Blocked(name, gone) for name in names[:3]), Blocked("log", NULL_KEY))
    told: list[str] = []
    listen = TextLines(told.append)

    listen(RunStarted("0190a3c4", a_plan(a_step("v"), blocked=(*blocked, Blocked(names[3], gone)))))
    for name, error in [*((n, gone) for n in names[:3]), ("log", NULL_KEY), (names[3], gone)]:
        listen(StepEnded(a_result(name, "failed", error=error)))
    listen(StepEnded(a_result("v", "failed", error=gone)))

    assert told == [
        "[4/6] ✗ log           FAILED  null-key: 3 rows have no id",
        (
            "[5/6] ✗ web_events, web_sessions, web_users, and 1 more model"
            "  FAILED  missing-input: raw.events is not there"
        ),
        "[6/6] ✗ v             FAILED  missing-input: raw.events is not there",
    ]


def test_verbose_lines_tell_of_the_run_and_of_each_start():
    told: list[str] = []
    listen = TextLines(told.append, verbose=True)

    listen(RunStarted("0190a3c4", a_plan(a_step("users"))))
    listen(StepStarted("users", "never_run"))

    assert told == ["run 0190a3c4  2024-03-01 12:00:00 UTC", "      users  first build"]


def test_events_are_logged_as_one_line_of_json_each():
    told: list[str] = []
    listen = JsonLines(told.append, lambda: NOON + dt.timedelta(seconds=1))

    listen(RunStarted("0190a3c4", a_plan(a_step("a"))))
    listen(StepStarted("a", "never_run"))

    assert [json.loads(line) for line in told] == [
        {"time": "2024-03-01T12:00:01Z", "event": "run_started", "run": "0190a3c4", "steps": 1},
        {
            "time": "2024-03-01T12:00:01Z",
            "event": "step_started",
            "model": "a",
            "reason": "never_run",
        },
    ]


def test_the_parts_of_a_step_have_the_number_of_their_step():
    lines = []
    listen = TextLines(lines.append)
    listen(RunStarted("0190a3c4", a_plan(a_step("a"), a_step("b"))))

    listen(StepEnded(a_result("a")))
    listen(StepEnded(a_result("b", "skipped", reason="upstream failed"), steps=0))
    listen(StepEnded(a_result("b")))

    assert [line[:5] for line in lines] == ["[1/2]", "[2/2]", "[2/2]"]
