"""A run as a user starts it, and the programs that receive its events."""

import json

import pytest

from fakes.place import Place
from fakes.receivers import receiver_that_is_down, receiving

pytestmark = pytest.mark.spark
EVENTS = "{{ source('raw', 'events') }}"


@pytest.fixture
def events(place: Place, monkeypatch) -> Place:
    monkeypatch.chdir(place.root)
    place.source("events", "id INT, amount INT")
    place.insert("events", "(1, 10), (2, 20)")
    place.model("doubled", f"select id, amount * 2 as twice from {EVENTS}", materialized="table")
    return place


def with_keys(place, text):
    file = place.root / "penstock.yml"
    file.write_text(f"{file.read_text()}{text}\n")


def test_a_run_writes_lineage_and_calls_the_webhook_after_a_failure(events, call) -> None:
    events.model("bad", f"select id, 1/0 as x from {EVENTS}", materialized="table")
    with receiving() as receiver:
        with_keys(events, f"on_failure: {{webhook: '{receiver.url}/hunter2hunter2'}}")
        with_keys(events, "openlineage: {transport: {type: file, log_file_path: ol.jsonl}}")
        answer = call("run", "--threads", "1")

    lines = (events.root / "ol.jsonl").read_text().splitlines()
    sent = [json.loads(line) for line in lines]
    states = {(each["job"]["name"].rpartition(".")[2], each["eventType"]) for each in sent}
    written = next(
        each["outputs"][0]
        for each in sent
        if each["eventType"] == "COMPLETE" and each["job"]["name"].endswith(".doubled")
    )
    (document,) = receiver.documents
    assert answer.code == document["exit_code"] == 1
    assert {state for name, state in states if name == "bad"} == {"START", "FAIL"}
    assert {state for name, state in states if name == "doubled"} == {"START", "COMPLETE"}
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert written["facets"]["version"]["datasetVersion"] == "0"
    fields = written["facets"]["columnLineage"]["fields"]
    assert [each["field"] for each in fields["twice"]["inputFields"]] == ["amount"]
    assert document["failed"][0]["code"] == "spark-divide-by-zero"
    assert answer.out.splitlines()[-1] == f"Resume: {document['resume']['command']}"
    assert "hunter2" not in answer.out + answer.err


def test_a_server_that_is_down_is_one_warning_and_the_run_succeeds(events, call) -> None:
    url = receiver_that_is_down()
    with_keys(events, f"openlineage: {{transport: {{type: http, url: '{url}'}}}}")

    answer = call("run")

    warnings = [line for line in answer.err.splitlines() if "openlineage" in line]
    assert answer.code == 0
    assert [line[:52] for line in warnings] == [
        "openlineage: 4 of 4 messages were not delivered: req"
    ]
    assert call("run").out.startswith("nothing to do")
