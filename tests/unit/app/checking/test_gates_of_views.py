"""A view over path tables runs nothing, and its checks are looked at all the same."""

import pytest

from fakes.builders import a_model, a_source
from fakes.check_inputs import answered, said
from fakes.lake import ID
from fakes.workshop import Workshop
from penstock.core.checks import Check, Checks, OnFailure, Phase, RowCount
from penstock.core.findings import Location
from penstock.core.records import Status
from penstock.strategies.view import View

AT_LEAST_5 = Check("rows", Phase.AFTER, RowCount(5), Location("models/v.yml", 3), definition="d")
EVENTS = a_source("events")


def a_workshop(mode, rows):
    view = a_model("v", "raw.events", strategy=View(), checks=Checks((), (AT_LEAST_5,), mode))
    workshop = Workshop(EVENTS, view)
    workshop.lake.answers("FROM (\nSELECT * FROM `penstock_query`", answered(AT_LEAST_5, ID, rows))
    return workshop


@pytest.mark.parametrize(
    ("mode", "consequence"),
    [
        (OnFailure.FLAG, "view made and flagged"),
        (OnFailure.BLOCK, "nothing published"),
        (OnFailure.ROLLBACK, "nothing published"),
    ],
)
def test_a_view_whose_rows_fail_a_gate_fails(mode, consequence):
    workshop = a_workshop(mode, 4)

    report = workshop.run()

    assert said(report["v"].invariant_report.after) == [("failed", "rows 4 < min 5")]
    assert (report["v"].status, report["v"].consequence) == ("failed", consequence)
    assert workshop.records()["v"].status is Status.FAILED


@pytest.mark.parametrize("mode", OnFailure)
def test_a_view_whose_rows_pass_is_made(mode):
    workshop = a_workshop(mode, 5)

    report = workshop.run()

    assert said(report["v"].invariant_report.after) == [("passed", "rows 5")]
    assert report["v"].status == "success"
    assert workshop.run().plan.is_empty
