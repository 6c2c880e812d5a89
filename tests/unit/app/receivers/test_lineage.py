"""OpenLineage events of a run, as a server receives them."""

import json
from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.receivers import receiving
from fakes.workshop import Workshop
from penstock.core.errors import QueryError
from penstock.core.model import ColumnDoc
from penstock.core.project import Receivers
from penstock.strategies.view import View

EVENTS = a_source("events")
TOP = a_model("top", "raw.events", columns=(ColumnDoc("id", "The key"),), description="All")
LEFT = a_model("left", "top")
BROKEN = QueryError("spark-unresolved-column", "no column at jdbc:x://u:hunter2@h/d")


def a_workshop(*models, **settings):
    workshop = Workshop(EVENTS, *models)
    receivers = Receivers(openlineage=True, namespace="analytics", **settings)
    workshop.project = replace(workshop.project, receivers=receivers)
    return workshop


def told(*models, trouble="", **asked):
    """Run models and give the events, in the order in which they came, and the report."""
    with receiving() as receiver:
        transport = {"type": "http", "url": receiver.url}
        workshop = a_workshop(*models, transport=transport)
        if trouble:
            workshop.lake.trouble(trouble, "define", BROKEN)
        report = workshop.run(**asked)
    assert report.notes == ()
    assert set(receiver.paths) == {"/api/v1/lineage"}
    return receiver.documents, report


def facets(dataset):
    """Give the facets of a dataset without the keys that all have."""
    every = {**dataset.get("facets", {}), **dataset.get("outputFacets", {})}
    return {
        name: {key: value for key, value in facet.items() if not key.startswith("_")}
        for name, facet in every.items()
    }


def test_a_run_and_each_of_its_steps_start_and_complete():
    events, report = told(TOP, LEFT, threads=1)

    assert [(each["eventType"], each["job"]["name"]) for each in events] == [
        ("START", "penstock-run-shop"),
        ("START", "shop.top"),
        ("COMPLETE", "shop.top"),
        ("START", "shop.left"),
        ("COMPLETE", "shop.left"),
        ("COMPLETE", "penstock-run-shop"),
    ]
    assert {each["job"]["namespace"] for each in events} == {"analytics"}
    runs = [each["run"]["runId"] for each in events]
    assert (runs[0], runs[-1], len(set(runs))) == (report.run_id, report.run_id, 3)
    parents = [each["run"]["facets"]["parent"] for each in events[1:5]]
    assert {each["run"]["runId"] for each in parents} == {report.run_id}
    assert {each["job"]["name"] for each in parents} == {"penstock-run-shop"}


def test_datasets_have_schema_version_rows_and_column_lineage():
    events, _ = told(TOP)

    complete = events[2]
    (read,), (written,) = complete["inputs"], complete["outputs"]
    assert (read["namespace"], read["name"]) == ("file", "/landing/events")
    assert facets(read)["version"] == {"datasetVersion": "0"}
    assert [each["name"] for each in facets(read)["schema"]["fields"]] == ["id", "n"]
    assert (written["namespace"], written["name"]) == ("file", "/w/s/top")
    described = facets(written)
    lineage = described.pop("columnLineage")["fields"]
    assert described["version"] == {"datasetVersion": "0"}
    assert described["dataSource"] == {"name": "file", "uri": "/w/s/top"}
    assert described["symlinks"]["identifiers"] == [
        {"namespace": "analytics", "name": "s.top", "type": "TABLE"}
    ]
    assert [
        (each["name"], each["type"], each.get("description"))
        for each in described["schema"]["fields"]
    ] == [("id", "int", "The key"), ("n", "int", None)]
    assert "rowCount" in described["outputStatistics"]
    assert lineage["id"]["inputFields"] == [
        {"namespace": "file", "name": "/landing/events", "field": "id", "transformations": []}
    ]
    job = complete["job"]["facets"]
    assert job["jobType"]["integration"] == "PENSTOCK"
    assert job["documentation"]["description"] == "All"
    assert "raw.events" in job["sql"]["query"]


def test_a_failed_step_says_why_without_secrets_and_a_skipped_one_says_nothing():
    events, _ = told(TOP, LEFT, trouble="top")

    assert [(each["eventType"], each["job"]["name"]) for each in events] == [
        ("START", "penstock-run-shop"),
        ("START", "shop.top"),
        ("FAIL", "shop.top"),
        ("FAIL", "penstock-run-shop"),
    ]
    said = events[2]["run"]["facets"]["errorMessage"]
    assert said["message"] == "spark-unresolved-column: no column at jdbc:x://***@h/d"
    assert said["programmingLanguage"] == "SQL"
    assert "hunter2" not in json.dumps(events)


def test_an_interrupt_aborts_the_run():
    def interrupt(event):
        if type(event).__name__ == "StepEnded":
            raise KeyboardInterrupt

    events, _ = told(TOP, LEFT, listener=interrupt)

    assert [each["eventType"] for each in events] == ["START", "START", "COMPLETE", "ABORT"]


def test_a_run_with_nothing_to_do_sends_nothing_and_views_are_datasets_too():
    with receiving() as receiver:
        transport = {"type": "http", "url": receiver.url}
        looks = a_model("looks", "raw.events", strategy=View())
        workshop = a_workshop(looks, a_model("reads", "looks"), transport=transport)
        workshop.run()
        sent = len(receiver.documents)
        workshop.run()

    assert len(receiver.documents) == sent
    view = next(
        each["outputs"][0]
        for each in receiver.documents
        if each["job"]["name"] == "shop.looks" and each["eventType"] == "COMPLETE"
    )
    assert facets(view)["symlinks"]["identifiers"][0]["type"] == "VIEW"
    assert "outputStatistics" not in facets(view)


def test_events_go_to_a_file_one_per_line(tmp_path):
    file = tmp_path / "lineage.jsonl"
    transport = {"type": "file", "log_file_path": str(file), "append": True}
    workshop = a_workshop(TOP, transport=transport)

    report = workshop.run()

    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert report.notes == ()
    assert [each["eventType"] for each in lines] == ["START", "START", "COMPLETE", "COMPLETE"]


def test_a_scheduler_names_the_parent_and_the_server_by_variables(monkeypatch):
    run = "0190a3c4-0000-7000-8000-000000000001"
    with receiving() as receiver:
        monkeypatch.setenv("OPENLINEAGE_URL", receiver.url)
        workshop = Workshop(EVENTS, TOP)
        services = workshop.services()
        environ = {"OPENLINEAGE_URL": receiver.url, "OPENLINEAGE_NAMESPACE": "jobs"}
        environ["OPENLINEAGE_PARENT_ID"] = f"airflow/nightly.shop/{run}"
        services.environ = environ
        workshop.services = lambda: services
        workshop.run()

    first, step, *_ = receiver.documents
    parent = first["run"]["facets"]["parent"]
    assert (parent["job"]["namespace"], parent["job"]["name"]) == ("airflow", "nightly.shop")
    assert first["job"]["namespace"] == "jobs"
    assert step["run"]["facets"]["parent"]["root"]["run"]["runId"] == run


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        ({"type": "file", "log_file_path": "/nowhere/at/all", "append": True}, "/nowhere/at/all"),
        ({"type": "http", "url": "http://x", "auth": {"type": "api_key"}}, "apiKey is required"),
    ],
)
def test_a_transport_that_does_not_work_is_one_warning(transport, said):
    workshop = a_workshop(TOP, transport=transport)

    report = workshop.run()

    (note,) = report.notes
    assert report.succeeded
    assert note.startswith("openlineage: 4 of 4 messages were not delivered: ")
    assert said in note
