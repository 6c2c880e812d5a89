"""The numbers of the site are those that runs reported."""

import contextlib

from fakes.history_place import CK, COLUMNS, HistoryPlace
from fakes.history_story import T1, T2
from penstock.app.read_requests import SiteRequest
from penstock.app.site.generate import read_data


def test_pages_have_the_numbers_of_the_runs(tmp_path, spark):
    place = HistoryPlace(tmp_path, spark)
    place.source("people", COLUMNS)
    place.snapshot("kept", **CK)
    place.model("log", "select * from {{ source('raw', 'people') }}", materialized="table")
    place.has("people", "1 a 01-05", "2 b 01-06", "3 c 01-07")
    reports = [place.run(), place.snap(T1)]
    place.has("people", "1 A 02-01", "2 b 01-06", "3 c 01-07")
    reports += [place.run(), place.snap(T2)]

    with contextlib.closing(place.services()) as services:
        data = read_data(services, SiteRequest(str(place.root)))

    chunks = dict(data.chunks)
    shown = {
        step.step: (step.model, step.rows, step.table_version, step.status)
        for run in chunks["runs-0"].runs
        for step in run.steps
    }
    assert shown == {
        each.step: (each.name, each.rows.written, each.version, "success")
        for report in reports
        for each in report.results
    }
    assert [run.models for run in data.project.runs] == [1, 1, 1, 1]
    pages = {each.name: chunks[f"model-{each.number}"] for each in data.project.models}
    executions = pages["kept"].executions
    assert [(each.versions_opened, each.versions_closed) for each in executions] == [(1, 1), (3, 0)]
    assert {each.name: (each.rows, each.current) for each in data.project.models} == {
        "log": (3, 1),
        "kept": (4, 1),
    }
