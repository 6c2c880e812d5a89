"""A table or a source that cannot be read stops its model and what hangs on it, nothing else."""

import json

import pytest

from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.app.commands.status import status
from penstock.app.request import SnapshotRequest, StatusRequest
from penstock.core.history import ColumnsDiffer
from penstock.core.model import Fingerprint
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append
from penstock.strategies.history.snapshot import Snapshot
from penstock.ui.commands.status import status_document, status_text

EVENTS = a_source("events")
OTHERS = a_source("others")
TOP = a_model("top", "raw.events")
DOWN = a_model("down", "top")
REST = a_model("rest", "raw.others")
DAMAGED = "log-unreadable: version 0 of the log is damaged"


@pytest.fixture
def workshop():
    workshop = Workshop(EVENTS, OTHERS, TOP, DOWN, REST)
    workshop.run()
    return workshop


def edit(workshop, *names):
    """Change the SQL of models, so that they have something to do."""
    for name in names:
        known = workshop.project.models[name]
        workshop.has(a_model(name, *(each.name for each in known.query.inputs), **EDITED))


EDITED = {"fingerprint": Fingerprint("new", "new")}


def results(report):
    return {each.name: (each.status, each.reason) for each in report.results}


def told(workshop):
    return status(workshop.services(), StatusRequest())


def test_a_damaged_log_is_the_state_of_its_model_and_the_others_are_told_as_they_are(workshop):
    workshop.lake.tables["/w/s/top"].damaged.add(0)
    edit(workshop, "rest")

    report = told(workshop)

    assert status_text(report) == (
        "rest: sql_changed\n"
        "top: unreadable\n"
        f"    {DAMAGED}\n"
        "down: upstream_changed, pending\n"
        "    after top\n"
        "\n"
        "2 of 3 partitions drifted, 1 pending. Next: penstock sync --cascade"
    )
    assert json.loads(json.dumps(status_document(report)))["models"][1]["states"][0]["state"] == (
        "unreadable"
    )


def test_a_damaged_log_stops_its_model_and_what_reads_it_and_the_others_are_built(workshop):
    workshop.lake.tables["/w/s/top"].damaged.add(0)
    edit(workshop, "rest", "down")

    planned = workshop.plan()
    report = workshop.run()

    assert [(each.model, each.error.code) for each in planned.plan.blocked] == [
        ("top", "log-unreadable")
    ]
    assert str(planned.plan.blocked[0].error.where) == "models/top.sql:1"
    assert results(report) == {
        "top": ("failed", "log-unreadable"),
        "down": ("skipped", "upstream top failed"),
        "rest": ("success", "sql_changed"),
    }
    assert not report.succeeded


def test_a_log_that_was_restored_as_the_hint_says_is_built_on(workshop):
    workshop.lake.tables["/w/s/top"].damaged.add(0)
    edit(workshop, "top")
    assert workshop.run("top")["top"].status == "failed"

    workshop.lake.tables["/w/s/top"].damaged.clear()

    assert workshop.run("top")["top"].status == "success"


@pytest.mark.parametrize("error", [PermissionError("no access"), OSError(40, "a loop of links")])
def test_a_table_that_the_system_does_not_let_read_is_an_error_of_its_model(
    workshop, monkeypatch, error
):
    log = type(workshop.lake.log)
    head = log.head

    def refused(self, uri, hint=None):
        if uri == "/w/s/top":
            raise error
        return head(self, uri, hint)

    monkeypatch.setattr(log, "head", refused)
    edit(workshop, "rest")

    report = workshop.run()

    assert report["top"].error.code == "target-unreadable"
    assert report["rest"].status == "success"


def test_a_damaged_history_table_stops_its_model_alone():
    check = Snapshot(("id",), ColumnsDiffer(None))
    users, people = (
        a_model(name, "raw.events", strategy=check, **EDITED) for name in ("users", "people")
    )
    workshop = Workshop(EVENTS, OTHERS, users, people, REST)
    workshop.run("rest")
    workshop.lake.land("/w/s/users")
    workshop.lake.tables["/w/s/users"].damaged.add(0)
    edit(workshop, "rest")

    planned, states, report = (
        workshop.plan(snapshot=SnapshotRequest()),
        told(workshop),
        workshop.run(),
    )

    assert [(each.model, each.error.code) for each in planned.plan.blocked] == [
        ("users", "target-unreadable")
    ]
    assert [step.model for step in planned.plan.steps] == ["people"]
    assert "users: unreadable" in status_text(states)
    assert report["rest"].status == "success"


def test_a_source_that_is_gone_is_told_by_status_and_stops_its_readers_alone(workshop):
    del workshop.lake.tables[EVENTS.path]
    edit(workshop, "rest")

    states, report = told(workshop), workshop.run()

    assert (
        "    source-missing: source raw.events has no Delta table: /landing/events\n"
    ) in status_text(states)
    assert results(report) == {
        "top": ("failed", "source-missing"),
        "down": ("skipped", "upstream top failed"),
        "rest": ("success", "sql_changed"),
    }


def test_a_log_that_a_window_asks_and_nobody_can_read_stops_the_reader_alone():
    log = a_model("log", "top", strategy=Append(WindowSettings("n")))
    workshop = Workshop(EVENTS, OTHERS, TOP, log, REST)
    workshop.run()
    workshop.lake.land(EVENTS.path, n="0")
    workshop.run("top")
    workshop.lake.write("/w/s/top", "OPTIMIZE", None, "")
    workshop.lake.tables["/w/s/top"].damaged.add(1)
    edit(workshop, "rest")

    report = workshop.run()

    assert report["log"].error.code == "log-unreadable"
    assert report["rest"].status == "success"


@pytest.fixture
def cleaned(workshop):
    """Leave of a table's log its head and one commit, all of them without rows."""
    for operation in ("OPTIMIZE", "SET TBLPROPERTIES", "OPTIMIZE", "SET TBLPROPERTIES"):
        workshop.lake.write("/w/s/top", operation, None, "")
    workshop.lake.tables["/w/s/top"].gone |= {0, 1, 2}
    return workshop


GAP = "log-gap: versions 1 to 2 of the Delta log of s.top are missing; their changes are unknown"


def test_a_log_that_was_cleaned_up_is_told_and_its_table_is_judged_by_what_is_left(cleaned):
    report = told(cleaned)

    assert status_text(report) == (f"top: current\n    {GAP}\n\nAll current ✓")


def test_plan_and_run_say_it_and_have_nothing_to_do(cleaned):
    planned, report = cleaned.plan(), cleaned.run()

    assert planned.plan.is_empty
    assert planned.notes == (f"top: {GAP}",)
    assert report.notes == (f"top: {GAP}",)
    assert results(report) == {
        "rest": ("unchanged", "current"),
        "top": ("unchanged", "current"),
        "down": ("unchanged", "current"),
    }


def test_the_next_step_closes_the_gap(cleaned):
    edit(cleaned, "top")

    built = cleaned.run("top")
    after = told(cleaned)

    assert built["top"].status == "success"
    assert all(model.lines == () for model in after.models)


def test_what_others_changed_and_the_log_still_tells_is_tampering_all_the_same(cleaned):
    cleaned.lake.write("/w/s/top", "DELETE", None, "")

    assert "tampered" in status_text(told(cleaned))


def test_a_window_may_have_passed_what_a_gap_hides():
    log = a_model("log", "top", strategy=Append(WindowSettings("n")))
    workshop = Workshop(EVENTS, TOP, log)
    workshop.run()
    workshop.lake.land(EVENTS.path, n="0")
    workshop.run("top")
    workshop.lake.write("/w/s/top", "OPTIMIZE", None, "")
    workshop.lake.tables["/w/s/top"].gone |= {0, 1}

    (reason,) = [step.reason for step in workshop.plan("log").plan.steps]

    assert (str(reason), reason.drift) == ("upstream_changed: top", True)
