"""The report of a run: a mapping of its models that cannot be changed, and its document."""

import json
from collections.abc import Mapping

import pytest

from fakes.reports import a_plan, a_report, a_result
from penstock.core.errors import TableError, UsageError
from penstock.core.steps.step import RowCounts


def test_a_report_is_a_mapping_in_plan_order():
    report = a_report(a_plan(), a_result("b"), a_result("a", "unchanged"))

    assert isinstance(report, Mapping)
    assert [*report] == ["b", "a"]
    assert report["a"].model == "a"
    assert report.steps == report.results
    with pytest.raises(TypeError):
        report["a"] = a_result("a")


def test_its_document_is_that_of_the_command_line():
    document = json.loads(a_report(a_plan(), a_result("b", kind="full")).to_json())

    assert (document["command"], document["succeeded"]) == ("run", True)
    assert [(each["model"], each["kind"]) for each in document["models"]] == [("b", "full")]


def test_a_frame_is_made_by_the_run_that_gave_the_result():
    assert a_result("b", frame=lambda: "rows").df == "rows"
    with pytest.raises(UsageError):
        _ = a_result("b").df


def test_a_report_that_is_printed_has_a_line_for_each_step():
    report = a_report(
        a_plan(),
        a_result("events", rows=RowCounts(inserted=1200, deleted=2), version=3),
        a_result("totals", "failed", error=TableError("table-gone", "no table")),
        a_result("other", "unchanged", version=1),
    )

    first, second, third, total = str(report).splitlines()

    assert first.startswith("events  ")
    assert first.split("  ")[2:5] == ["success", "+1,200 -2 rows", "v3"]
    assert second.endswith("failed  table-gone: no table")
    assert third.split("  ")[2:4] == ["unchanged", "v1"]
    assert total == "1 success, 1 failed, 1 unchanged"
