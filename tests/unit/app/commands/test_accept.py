"""`accept`: rows that others changed stand from now on, and somebody says why."""

from contextlib import nullcontext

import pytest

import penstock
from fakes.clock import FixedClock
from fakes.story_place import NOON, Story, write_story
from fakes.story_tables import RowTables
from penstock.app.commands.accept import accept
from penstock.core.errors import UsageError
from penstock.core.records import Status


@pytest.fixture
def story(tmp_path):
    write_story(tmp_path)
    clock = FixedClock(NOON)
    story = Story(tmp_path, RowTables(tmp_path, clock), clock)
    story.deliver((1, 10, 1), (2, 20, 30))
    story.sync(everything=True)
    story.run()
    assert story.states() == {}
    return story


def services(story):
    return story.tables.services(anew=False)


def meddle_within(story, model, point="at-statement"):
    """Let somebody take a row out of a table while its next step is at a point."""
    left = [1]

    def fault(passed):
        if passed == point and left[0]:
            left[0] -= 1
            story.meddle(model)

    story.tables.fault = fault
    story.deliver((3, 30, 31))
    story.run(model)
    story.tables.fault = None


def test_rows_that_stand_are_current_and_their_readers_are_not(story):
    meddle_within(story, "log")
    before = story.states()

    report = accept(services(story), "log", "ticket 4711")
    after = story.states()

    assert before["log"] == ["tampered ('version 1 DELETE at 2024-03-01 00:00:01 UTC',)"]
    assert [each.version for each in report.commits] == [1]
    assert report.lines == ("version 1 DELETE at 2024-03-01 00:00:01 UTC",)
    assert "log" not in after
    assert "upstream_changed ('log',)" in after["again"]
    assert story.run("log").plan.is_empty
    story.deliver((4, 40, 32))
    story.run("log")
    assert "log" not in story.states()


def test_the_step_says_who_agreed_and_why_and_the_rows_stay_as_they_are(story):
    meddle_within(story, "log")
    rows = story.tables.rows("log")

    report = accept(services(story), "log", " ticket 4711 ")

    step = services(story).reading.records.steps_of("log")[-1]
    assert (step.intent.step, step.status) == (report.step, Status.SUCCESS)
    assert step.intent.reason == "accepted: ticket 4711"
    assert story.tables.rows("log") == rows
    assert services(story).reading.leases.taken() == ()


def test_what_was_changed_since_the_last_step_can_be_accepted_too(story):
    story.meddle("last")

    accept(services(story), "last", "seen")

    assert "last" not in story.states()


def test_partitions_that_others_changed_stand_and_no_others(story):
    story.meddle("daily")

    report = accept(services(story), "daily", "seen")

    assert report.partitions == ("2024-03-01",)
    assert "daily" not in story.states()
    assert story.sync("daily").plan.is_empty


def test_after_an_accepted_change_the_next_one_is_told(story):
    meddle_within(story, "log")
    accept(services(story), "log", "seen")

    story.meddle("log")

    (state,) = story.states()["log"]
    assert state.startswith("tampered ('version 3 DELETE")


def test_python_accepts_rows_as_the_command_does(story, monkeypatch):
    story.meddle("log")
    opened = services(story)
    monkeypatch.setattr("penstock.app.entry.open_request", lambda _: nullcontext(opened))

    report = penstock.accept("shop", "log", reason="ticket 4711")

    assert (report.model, report.reason) == ("log", "ticket 4711")
    assert [each.operation for each in report.commits] == ["DELETE"]
    assert "<td>DELETE</td>" in report._repr_html_()
    assert "log" not in story.states()


def test_python_reports_a_project_without_anything_to_accept(tmp_path):
    write_story(tmp_path)

    with pytest.raises(UsageError, match="no rows were changed outside penstock") as caught:
        penstock.accept(tmp_path, "log", reason="ticket 4711")

    assert caught.value.code == "nothing-to-accept"


@pytest.mark.parametrize(
    ("model", "reason", "code"),
    [
        ("log", "seen", "nothing-to-accept"),
        ("seen", "seen", "nothing-to-accept"),
        ("log", "  ", "bad-value"),
        ("nothing", "seen", "unknown-model"),
    ],
)
def test_there_must_be_something_to_accept_and_a_reason(story, model, reason, code):
    with pytest.raises(UsageError) as caught:
        accept(services(story), model, reason)

    assert caught.value.code == code


def test_rows_that_are_made_again_are_told_no_more(story):
    meddle_within(story, "log")

    story.sync("log")

    assert "log" not in story.states()
    with pytest.raises(UsageError):
        accept(services(story), "log", "seen")
