"""Law 8: planning writes nothing, and a run does what the plan showed."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.workshop import DEAD, Workshop
from penstock.app.commands.plan import preview
from penstock.app.events import RunStarted
from penstock.app.request import RunRequest
from penstock.core.errors import UsageError
from penstock.core.model import Fingerprint

EVENTS = a_source("events")
TOP, ABOVE = a_model("top", "raw.events"), a_model("above", "top")
CHANGED = replace(TOP, fingerprint=Fingerprint("new", "new"))


@pytest.fixture
def workshop():
    workshop = Workshop(EVENTS, TOP, ABOVE)
    workshop.run()
    workshop.has(CHANGED)
    return workshop


def test_a_plan_writes_no_record_no_table_and_no_file(workshop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    workshop.begin(DEAD, "above")
    before = workshop.store.archive.export(), repr(workshop.lake)

    planned = workshop.plan()
    preview(workshop.services(), RunRequest())

    assert [step.model for step in planned.plan.steps] == ["top", "above"]
    assert (workshop.store.archive.export(), repr(workshop.lake)) == before
    assert list(tmp_path.iterdir()) == []


def test_a_plan_opens_the_store_for_reading_only(workshop):
    services = workshop.services()
    services.open_writing = lambda: pytest.fail("a plan opened the store for writing")

    assert preview(services, RunRequest()).report.plan.steps


def test_a_run_executes_the_plan_that_the_dry_run_showed(workshop):
    shown = preview(workshop.services(), RunRequest()).report.plan
    told = []

    report = workshop.run(listener=told.append)

    started = next(event for event in told if isinstance(event, RunStarted))
    assert replace(started.plan, run_timestamp=shown.run_timestamp) == shown
    assert report.plan is started.plan


def test_a_plan_at_another_time_carries_that_time(workshop):
    moment = workshop.clock.now().replace(year=2020)

    assert preview(workshop.services(), RunRequest(as_of=moment)).report.run_timestamp == moment


def test_one_table_is_adopted_at_a_time(workshop):
    with pytest.raises(UsageError) as caught:
        workshop.plan(adopt=True)

    assert caught.value.code == "adopt-one-model"
