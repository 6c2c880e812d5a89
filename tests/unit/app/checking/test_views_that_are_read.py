"""The gates of a view are looked at again by the steps that read it (spec/checks.md §5.5)."""

import pytest

from fakes.builders import a_model, a_source
from fakes.check_ground import answered, said
from fakes.lake import ID
from fakes.workshop import Workshop
from penstock.app.checking.lines import check_lines
from penstock.app.preview import preview
from penstock.app.request import RunRequest, SyncRequest
from penstock.app.syncing import sync
from penstock.core.checks import Check, Checks, OnFailure, Phase, RowCount
from penstock.core.findings import Location, Severity
from penstock.core.model import Append, Fingerprint, View, WindowSettings
from penstock.core.records import Status

SEEN = "FROM (\nSELECT * FROM `check_after_target`"
WHERE = Location("models/v.yml", 3)
GATE = Check("rows", Phase.AFTER, RowCount(5), WHERE, definition="d")
EVENTS = a_source("events")
T = a_model("t", "raw.events")
V = a_model("v", "t", strategy=View(), checks=Checks((), (GATE,)))
M = a_model("m", "v")
OTHER = Fingerprint("sql-2", "canonical-2", "", "")
REFUSED = "m: view v: rows: rows 4 < min 5"


class Rows:
    """How many rows the view has when somebody looks, and how often they did."""

    def __init__(self, number=9):
        self.number, self.looks = number, 0

    def __call__(self):
        self.looks += 1
        return answered(GATE, ID, self.number)


def built(*parts, rows):
    """Build everything with good rows, then let others land in the source."""
    workshop = Workshop(EVENTS, *parts)
    workshop.lake.answers("FROM (\nSELECT * FROM `penstock_query`", answered(GATE, ID, 9))
    workshop.lake.answers(SEEN, rows)
    assert workshop.run().succeeded
    workshop.lake.land(EVENTS.path, "id int, n int", n="2")
    rows.looks = 0
    return workshop


def recorded(workshop, model="v"):
    """Give what is on record of the checks of a model since it was built, oldest first."""
    found = workshop.store.checks.checks_of(model)
    return [(str(each.result.status), each.result.message) for each in reversed(found)][1:]


@pytest.mark.parametrize("mode", OnFailure)
def test_what_reads_a_view_whose_rows_fail_is_not_built(mode):
    rows = Rows()
    view = a_model("v", "t", strategy=View(), checks=Checks((), (GATE,), mode))
    workshop = built(T, view, M, a_model("below", "m"), rows=rows)
    rows.number = 4

    report = workshop.run()

    assert [(each.name, each.status) for each in report.results] == [
        ("t", "success"),
        ("v", "failed"),
        ("m", "skipped"),
        ("below", "skipped"),
    ]
    assert (report["m"].error.code, report["m"].error.sentence) == ("before-check-failed", REFUSED)
    assert report["m"].error.hint == "penstock check --query v --after"
    assert report["v"].consequence == "what reads it is not built"
    assert said(report["v"].invariant_report.after) == [("failed", "rows 4 < min 5")]
    assert workshop.records()["m"].status is Status.FAILED
    assert len(workshop.operations("m")) == 1
    assert recorded(workshop) == [("failed", "rows 4 < min 5")]


def test_what_reads_a_view_whose_rows_pass_is_built_and_the_next_plan_is_empty():
    rows = Rows()
    workshop = built(T, V, M, rows=rows)

    report = workshop.run()

    assert [(each.name, each.status) for each in report.results] == [
        ("t", "success"),
        ("v", "unchanged"),
        ("m", "success"),
    ]
    assert said(report["v"].invariant_report.after) == [("passed", "rows 9")]
    assert recorded(workshop) == [("passed", "rows 9")]
    assert workshop.run().plan.is_empty
    assert rows.looks == 1


def test_a_failure_is_told_the_same_way_again_until_the_rows_are_right():
    rows = Rows()
    workshop = built(T, V, M, rows=rows)
    rows.number = 4
    workshop.run()

    again = workshop.run()
    rows.number = 5
    right = workshop.run()

    assert again["m"].error.sentence == REFUSED
    assert (right["v"].status, right["m"].status) == ("unchanged", "success")
    assert recorded(workshop) == [
        ("failed", "rows 4 < min 5"),
        ("failed", "rows 4 < min 5"),
        ("passed", "rows 5"),
    ]
    assert workshop.run().plan.is_empty


def test_a_view_that_several_steps_read_is_looked_at_once():
    rows = Rows()
    workshop = built(T, V, M, a_model("n", "v"), a_model("o", "v"), rows=rows)
    rows.number = 4

    report = workshop.run(threads=3)

    assert rows.looks == 1
    assert [each.name for each in report.results].count("v") == 1
    assert {name: report[name].status for name in "mno"} == dict.fromkeys("mno", "skipped")
    assert recorded(workshop) == [("failed", "rows 4 < min 5")]


def test_a_reader_that_is_selected_alone_looks_at_its_views():
    rows = Rows()
    workshop = built(T, V, M, rows=rows)
    workshop.run("t")
    rows.number = 4

    report = workshop.run("m")

    assert [(each.name, each.status) for each in report.results] == [
        ("v", "failed"),
        ("m", "skipped"),
    ]
    assert not report.succeeded


def test_a_view_of_a_view_is_looked_at_after_the_one_it_reads():
    rows = Rows()
    over = a_model("w", "v", strategy=View(), checks=Checks((), (GATE,)))
    workshop = built(T, V, over, a_model("m", "w"), rows=rows)
    rows.number = 4

    report = workshop.run()

    assert report["m"].error.sentence == f"{REFUSED}; view w: rows: rows 4 < min 5"
    assert [recorded(workshop, name) for name in "vw"] == [[("failed", "rows 4 < min 5")]] * 2


def test_a_view_between_has_no_checks_and_hides_none():
    rows = Rows()
    workshop = built(T, V, a_model("w", "v", strategy=View()), a_model("m", "w"), rows=rows)
    rows.number = 4

    assert workshop.run()["m"].error.sentence == REFUSED


def test_a_warning_is_told_and_stops_nothing():
    rows = Rows()
    warning = Check("rows", Phase.AFTER, RowCount(5), WHERE, severity=Severity.WARNING)
    view = a_model("v", "t", strategy=View(), checks=Checks((), (warning,)))
    workshop = built(T, view, M, rows=rows)
    rows.number = 4

    report = workshop.run()

    assert (report["v"].status, report["m"].status) == ("unchanged", "success")
    assert report["v"].invariant_report.has_warnings()
    assert report.succeeded


def test_skipped_checks_keep_nothing_from_being_built():
    rows = Rows()
    workshop = built(T, V, M, rows=rows)
    rows.number = 4

    report = workshop.run(skip_checks=True)

    assert (report["m"].status, rows.looks, recorded(workshop)) == ("success", 0, [])


def test_status_names_the_gate_that_failed_until_it_passes():
    rows = Rows()
    workshop = built(T, V, M, rows=rows)
    rows.number = 4
    workshop.run()

    failed = check_lines(workshop.shop(), workshop.project)["v"]
    rows.number = 5
    workshop.run()

    assert [line.partition(" UTC: ")[2] for line in failed] == [
        "rows: rows 4 < min 5; what reads v is not built"
    ]
    assert check_lines(workshop.shop(), workshop.project) == {}


def test_a_plan_counts_the_checks_of_the_views_that_a_step_reads():
    rows = Rows()
    workshop = built(T, V, M, rows=rows)

    checks = preview(workshop.shop(), RunRequest()).checks

    assert {name: str(each) for name, each in checks.items()} == {
        "t": "",
        "m": "checks: 1 of views it reads",
    }


def test_an_append_that_reads_a_view_keeps_its_watermark():
    rows = Rows()
    workshop = built(T, V, a_model("m", "v", strategy=Append(WindowSettings("n"))), rows=rows)
    before = workshop.records()["m"].watermarks
    assert before
    rows.number = 4

    workshop.run()

    assert workshop.records()["m"].watermarks == before
    assert len(workshop.operations("m")) == 1


def test_a_view_that_nobody_reads_is_looked_at_when_its_inputs_have_changed():
    rows = Rows()
    workshop = built(T, V, rows=rows)
    workshop.lake.answers("FROM (\nSELECT * FROM `penstock_query`", answered(GATE, ID, 4))

    failed, again = workshop.run(), workshop.run()
    workshop.lake.answers("FROM (\nSELECT * FROM `penstock_query`", answered(GATE, ID, 6))
    right = workshop.run()

    assert [failed["v"].status, again["v"].status, right["v"].status] == [
        "failed",
        "failed",
        "success",
    ]
    assert recorded(workshop) == [
        ("failed", "rows 4 < min 5"),
        ("failed", "rows 4 < min 5"),
        ("passed", "rows 6"),
    ]
    assert workshop.run().plan.is_empty


def test_a_view_that_is_made_anew_is_looked_at_once_with_its_readers():
    rows = Rows()
    workshop = built(T, V, M, rows=rows)
    workshop.has(a_model("v", "t", fingerprint=OTHER, strategy=View(), checks=Checks((), (GATE,))))

    report = workshop.run()

    assert (report["v"].status, report["m"].status) == ("success", "success")
    assert (rows.looks, len(recorded(workshop))) == (0, 1)


def test_a_sync_looks_at_the_views_between_what_it_repairs():
    rows = Rows()
    workshop = built(T, V, M, rows=rows)
    rows.number = 4

    report = sync(workshop.shop(), SyncRequest(select=("t",), cascade=True))

    assert [(each.name, each.status) for each in report.results] == [
        ("v", "failed"),
        ("t", "success"),
        ("m", "skipped"),
    ]
    assert recorded(workshop) == [("failed", "rows 4 < min 5")]


def test_a_view_of_files_is_looked_at_when_files_came():
    rows = Rows()
    files = a_source("events", format="csv")
    view = a_model("v", "raw.events", strategy=View(), checks=Checks((), (GATE,)))
    workshop = Workshop(files, view, M)
    workshop.lake.files[files.path] = {"a.csv": (1, 1)}
    workshop.lake.answers("FROM (\nSELECT * FROM `penstock_query`", answered(GATE, ID, 9))
    workshop.lake.answers(SEEN, rows)
    workshop.run()
    workshop.lake.files[files.path]["b.csv"] = (1, 2)
    rows.number = 4

    report = workshop.run()

    assert report["m"].error.sentence == REFUSED
