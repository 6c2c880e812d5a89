"""Webhooks after runs that did not succeed, and receivers that are down or silent."""

import json
import time
from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.receivers import receiver_that_is_down, receiving, silent_receiver
from fakes.workshop import ELSEWHERE, Workshop
from penstock.app.receivers import notify
from penstock.app.request import RunRequest
from penstock.core.errors import EnvironmentMissingError, QueryError, StateError
from penstock.core.project import Receivers

EVENTS = a_source("events")
TOP, LEFT = a_model("top", "raw.events"), a_model("left", "top")
BROKEN = QueryError("spark-unresolved-column", "no column `amuont`", hint="correct it")


def a_workshop(url="", **settings):
    workshop = Workshop(EVENTS, TOP, LEFT)
    receivers = Receivers(webhook=url and f"{url}/services/T00/B00/hunter2hunter2", **settings)
    workshop.project = replace(workshop.project, receivers=receivers)
    return workshop


def test_a_failed_run_calls_the_webhook_with_what_failed_and_how_to_go_on():
    with receiving() as receiver:
        workshop = a_workshop(receiver.url)
        workshop.lake.trouble("top", "define", BROKEN)
        report = workshop.run()

    (document,) = receiver.documents
    host, ended = document.pop("host"), document.pop("ended")
    assert (bool(host), ended) == (True, "2024-03-01T12:00:01Z")
    assert receiver.paths == ["/services/T00/B00/hunter2hunter2"]
    assert document == {
        "text": (
            "penstock run of shop (dev) failed: top: spark-unresolved-column: no column `amuont`"
        ),
        "project": "shop",
        "target": "dev",
        "command": "run",
        "status": "failed",
        "run": report.run_id,
        "exit_code": 1,
        "counts": {"failed": 1, "skipped": 1},
        "failed": [
            {
                "model": "top",
                "partitions": [["*", "*"]],
                "code": "spark-unresolved-column",
                "message": "no column `amuont`",
                "where": None,
                "hint": "correct it",
            }
        ],
        "error": None,
        "resume": {"select": ["top", "left"], "command": "penstock run --select 'top left'"},
    }
    assert report.notes == ()


def test_a_run_that_succeeds_or_has_nothing_to_do_calls_nobody():
    with receiving() as receiver:
        workshop = a_workshop(receiver.url)
        first, second = workshop.run(), workshop.run()

    assert (first.succeeded, second.plan.is_empty, receiver.documents) == (True, True, [])


def test_a_held_lease_names_its_holder_and_exits_75():
    with receiving() as receiver:
        workshop = a_workshop(receiver.url)
        workshop.begin(ELSEWHERE, "top")
        report = workshop.run("top")

    (document,) = receiver.documents
    assert (document["exit_code"], report.exit_code) == (75, 75)
    assert document["failed"][0]["code"] == "lease-held"
    assert document["failed"][0]["holder"]["run"] == "run-other"
    assert document["failed"][0]["holder"]["host"] == "host-b"


def test_an_error_before_any_step_is_sent_and_raised():
    with receiving() as receiver:
        workshop = a_workshop(receiver.url)
        services = workshop.services()

        def work(listener):
            raise StateError("state-unavailable", "no answer from postgresql://me:hunter2@db/x")

        with pytest.raises(StateError):
            notify.notified(services, RunRequest(), print, work)

    (document,) = receiver.documents
    assert (document["status"], document["exit_code"], document["failed"]) == ("failed", 2, [])
    assert document["error"]["code"] == "state-unavailable"
    assert "hunter2@" not in json.dumps(document)


def test_an_interrupted_run_says_so():
    with receiving() as receiver:
        workshop = a_workshop(receiver.url)

        def interrupt(event):
            if type(event).__name__ == "StepEnded":
                raise KeyboardInterrupt("SIGTERM")

        report = workshop.run(listener=interrupt)

    (document,) = receiver.documents
    assert (document["status"], document["exit_code"]) == ("interrupted", 143)
    assert document["resume"]["select"] == ["left"]
    assert (report.interrupted, report.exit_code) == (True, 143)


@pytest.mark.parametrize("status", [404, 500])
def test_a_webhook_that_refuses_is_one_warning_without_its_url(status):
    with receiving(status) as receiver:
        workshop = a_workshop(receiver.url)
        workshop.lake.trouble("top", "define", BROKEN)
        report = workshop.run()

    (note,) = report.notes
    said = f"the message was not delivered: urllib.error.HTTPError: HTTP Error {status}: "
    assert note.startswith(f"on_failure webhook: {said}")
    assert "hunter2" not in note


def test_receivers_that_are_down_leave_a_run_as_it_is_with_one_warning_each():
    url = receiver_that_is_down()
    workshop = a_workshop(url, openlineage=True, transport={"type": "http", "url": url})
    workshop.lake.trouble("left", "define", BROKEN)

    report = workshop.run()

    assert {each.name: each.status for each in report.results} == {
        "top": "success",
        "left": "failed",
    }
    lineage, webhook = report.notes
    assert lineage.startswith("openlineage: 6 of 6 messages were not delivered: ")
    assert webhook.startswith("on_failure webhook: the message was not delivered: ")
    assert workshop.store.leases.taken() == ()


def test_receivers_that_never_answer_delay_a_run_by_the_limit_in_total(monkeypatch):
    monkeypatch.setattr(notify, "SECONDS", 0.5)
    with silent_receiver() as url:
        workshop = a_workshop(url, openlineage=True, transport={"type": "http", "url": url})
        workshop.lake.trouble("left", "define", BROKEN)
        begun = time.monotonic()
        report = workshop.run()
        took = time.monotonic() - begun

    assert took < 2
    assert [note.rpartition(": ")[2] for note in report.notes] == ["no answer in time"] * 2


def test_events_without_the_client_are_refused_before_the_run_begins(monkeypatch):
    monkeypatch.setattr(notify, "find_spec", lambda name: None)
    workshop = a_workshop(openlineage=True)

    with pytest.raises(EnvironmentMissingError) as caught:
        workshop.run()

    assert caught.value.render() == (
        "error: openlineage-missing: penstock.yml asks for OpenLineage events, and "
        "openlineage-python is not installed\n"
        "  hint: pip install 'penstock-delta[openlineage]'"
    )
    assert workshop.store.calls["start_run"] == 0


def test_a_variable_without_the_client_is_a_note_and_no_error(monkeypatch):
    monkeypatch.setattr(notify, "find_spec", lambda name: None)
    workshop, notes = a_workshop(), []
    services = workshop.services()
    services.environ, services.note = {"OPENLINEAGE_URL": "http://x"}, notes.append
    workshop.services = lambda: services

    report = workshop.run()

    assert report.succeeded
    (note,) = notes
    assert note == (
        "OPENLINEAGE_URL is set, but openlineage-python is not installed: no events are sent; "
        "pip install 'penstock-delta[openlineage]'"
    )


def test_a_receiver_that_never_answers_delays_all_runs_of_a_command_only_once(monkeypatch):
    monkeypatch.setattr(notify, "SECONDS", 0.3)
    with silent_receiver() as url:
        workshop = a_workshop(url)
        workshop.lake.trouble("top", "define", BROKEN)
        services = workshop.services()
        workshop.services = lambda: services
        workshop.run()
        delayed = services.receiver_delay
        workshop.run(full_refresh=True)

    assert 0.3 <= delayed < 5
    assert services.receiver_delay - delayed < 0.3
