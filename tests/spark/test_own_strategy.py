"""A strategy that somebody adds in one file does all that ours do, without an edit elsewhere."""

import json
from dataclasses import replace

import pytest

from fakes.latest import Latest
from fakes.place import Place, statuses
from penstock.app.commands.check import check
from penstock.app.commands.plan import preview
from penstock.app.commands.run import run
from penstock.app.commands.status import status
from penstock.app.commands.test import run_tests
from penstock.app.request import CheckRequest, RunRequest, StatusRequest, UnitTestRequest
from penstock.core.strategy import strategies

TOP = """\
{{ config(materialized='latest', newest_by='ts', keep=2, on_failure='block', checks=[
     {'type': 'row_count', 'min': 2},
     {'type': 'not_null', 'column': 'amount'}]) }}
select id, ts, amount from {{ source('raw', 'events') }}
"""
TESTS = """\
unit_tests:
  - name: the_newest_two_stay
    model: m.top
    given:
      inputs:
        raw.events:
          rows:
            - {id: 1, ts: "2024-01-01 00:00:00", amount: 1}
            - {id: 2, ts: "2024-01-03 00:00:00", amount: 2}
            - {id: 3, ts: "2024-01-02 00:00:00", amount: 3}
    expect:
      rows:
        - {id: 2, ts: "2024-01-03 00:00:00", amount: 2}
        - {id: 3, ts: "2024-01-02 00:00:00", amount: 3}
      metrics: {inserted: 2}
"""


class Died(BaseException):
    """The process is gone, as far as the step is concerned."""


@pytest.fixture
def events(place: Place, monkeypatch) -> Place:
    monkeypatch.setitem(strategies(), "latest", Latest)
    place.source("events", "id INT, ts TIMESTAMP, amount INT")
    place.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-02', 2), (3, '2024-01-03', 3)")
    place.write("models/m/top.sql", TOP)
    place.model("sums", "select sum(amount) as total from {{ ref('top') }}", materialized="table")
    return place


def asked(place: Place, command, request, **changes):
    services = place.services()
    try:
        return command(replace(services, **changes), request)
    finally:
        services.close()


def test_it_is_planned_run_checked_and_found_current(events) -> None:
    planned = asked(events, preview, RunRequest())
    report = events.run()
    checked = asked(events, check, CheckRequest(select=("top",)))

    assert [step.model for step in planned.report.plan.steps] == ["top", "sums"]
    assert statuses(report) == {"top": "success", "sums": "success"}
    assert (report["top"].strategy, report["top"].rows.inserted) == ("latest", 2)
    assert [row[0] for row in events.rows("top")] == [2, 3]
    assert [each.status for each in report["top"].invariant_report.all] == ["passed", "passed"]
    assert [each.status for each in checked.results] == ["passed", "passed"]
    assert events.states() == {"top": [], "sums": []}
    assert statuses(events.run()) == {"top": "unchanged", "sums": "unchanged"}


@pytest.mark.matrix
def test_it_drifts_with_its_inputs_and_settings(events) -> None:
    events.run()
    events.insert("events", "(4, '2024-01-04', 4)")
    found = asked(events, status, StatusRequest())
    changed = {one.model: [str(each.state) for each in one.states] for one in found.models}
    events.run()
    events.write("models/m/top.sql", TOP.replace("keep=2", "keep=3"))

    assert changed["top"] == ["source_changed"]
    assert [row[0] for row in events.rows("top")] == [3, 4]
    assert [str(each) for each in events.states()["top"]] == ["sql_changed"]
    assert statuses(events.run())["top"] == "success"
    assert [row[0] for row in events.rows("top")] == [2, 3, 4]


@pytest.mark.matrix
def test_a_gate_keeps_back_what_it_would_write_and_looks_at_no_other_row(events) -> None:
    events.insert("events", "(0, '2023-01-01', NULL)")
    old = events.run()
    events.insert("events", "(5, '2024-01-05', NULL)")

    report = events.run("top")

    assert old["top"].status == "success"
    assert (report["top"].status, report["top"].error.code) == ("failed", "after-check-failed")
    assert [row[0] for row in events.rows("top")] == [2, 3]


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("point", "then"), [("before-commit", "success"), ("after-commit", "unchanged")]
)
def test_a_step_that_died_is_recovered(events, point, then) -> None:
    def fault(where: str) -> None:
        if where == point:
            raise Died

    with pytest.raises(Died):
        asked(events, run, RunRequest(select=("top",)), fault=fault)
    report = asked(events, run, RunRequest(select=("top",)), is_gone=lambda _: True)

    assert statuses(report) == {"top": then}
    assert [row[0] for row in events.rows("top")] == [2, 3]
    assert events.version("top") == 0
    assert [str(each) for each in events.states()["top"]] == []


@pytest.mark.matrix
def test_its_unit_tests_run(events) -> None:
    events.write("tests/top.yml", TESTS)

    report = asked(events, run_tests, UnitTestRequest())

    assert [(each.test.name, each.lines) for each in report.results] == [
        ("the_newest_two_stay", ())
    ]


@pytest.mark.matrix
def test_catalogues_read_of_it_as_of_a_table(events) -> None:
    events.run()

    manifest = json.loads(
        (events.root / ".penstock" / "target" / "manifest.json").read_text(encoding="utf-8")
    )

    assert manifest["nodes"]["model.shop.top"]["config"]["materialized"] == "table"
