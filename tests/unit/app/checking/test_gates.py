"""The gates of a view are looked at again by the steps that read it.

Flagged rows that a step reads are told, whatever lies between.
What a gate ahead of a step leaves of it is made from the inputs that the gate has seen.
"""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.check_inputs import a_check, answered, said
from fakes.lake import ID, columns
from fakes.versioned_models import a_body, a_daily, a_version, reading
from fakes.workshop import Workshop
from penstock.app.checking.flags import check_lines
from penstock.app.commands.plan import preview
from penstock.app.commands.sync import sync
from penstock.app.request import RunRequest, SyncRequest
from penstock.core.checks.check import Check, Checks, OnFailure, Phase
from penstock.core.findings import Location, Severity
from penstock.core.model import Fingerprint
from penstock.core.partitions.mapping import Computed, Lower, Upper
from penstock.core.records import Status
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append
from penstock.strategies.checks.queries import GROUP
from penstock.strategies.checks.types import RowCount
from penstock.strategies.view import View

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
    assert report["v"].consequence == "models that read it are not built"
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

    failed = check_lines(workshop.services(), workshop.project, {})["v"]
    rows.number = 5
    workshop.run()

    assert [line.partition(" UTC: ")[2] for line in failed] == [
        "rows: rows 4 < min 5; models that read v are not built"
    ]
    assert check_lines(workshop.services(), workshop.project, {}) == {}


def test_a_plan_counts_the_checks_of_the_views_that_a_step_reads():
    rows = Rows()
    workshop = built(T, V, M, rows=rows)

    checks = preview(workshop.services(), RunRequest()).checks

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

    report = sync(workshop.services(), SyncRequest(select=("t",), cascade=True))

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


LOG_GATE = Check(
    "two_rows", Phase.AFTER, RowCount(2), Location("models/log.yml", 5), definition="d"
)
LOG = a_model("log", "raw.events", strategy=Append(None), checks=Checks((), (LOG_GATE,)))
SHOWN = a_model("shown", "log", strategy=View())
AGAIN = a_model("again", "shown", strategy=View())
TOLD = "upstream-flagged: below reads log, which failed two_rows"


@pytest.mark.parametrize(
    ("views", "read"), [((), "log"), ((SHOWN,), "shown"), ((SHOWN, AGAIN), "again")]
)
def test_flagged_rows_are_told_through_views(views, read):
    workshop = Workshop(a_source("events"), LOG, *views, a_model("below", read))
    workshop.lake.answers("SELECT `penstock_feed`", answered(LOG_GATE, ID, 1))
    workshop.run("log")
    for view in views:
        workshop.run(view.name)

    report = workshop.run("below")

    assert [note for note in report["below"].notes if note.startswith("upstream")] == [TOLD]


def test_rows_that_nobody_flagged_are_not_told():
    other = a_model("other", "raw.events", strategy=Append(None))
    workshop = Workshop(a_source("events"), LOG, other, a_model("below", "other"))
    workshop.run("log other")

    report = workshop.run("below")

    assert report["below"].notes == ()


DAYS = columns("date date, n int")
HAS_ROWS = replace(a_check(RowCount(1)), phase=Phase.BEFORE)
OF_THE_DAY = reading("top", Computed("date", ((Lower(), Upper()),)))


def test_partitions_that_are_left_read_what_the_gate_saw():
    checks = Checks((HAS_ROWS,))
    body = a_body("v1", "2024-02-28", OF_THE_DAY, is_range=True)
    version = replace(a_version(body), checks=checks)
    workshop = Workshop(
        a_source("events"),
        a_model("top", "raw.events"),
        replace(a_daily("days", version), checks=checks),
    )
    workshop.lake.gives("in_0_events", "date date, n int")
    workshop.run("top")

    def told():
        workshop.lake.land(workshop.uri("top"))  # while checks are looked at
        return ({GROUP: "2024-02-29", **answered(HAS_ROWS, DAYS, 3)},)

    workshop.lake.answers("AS __penstock_group", told)

    report = workshop.run("days", from_="2024-02-28", to="2024-02-29")

    assert [(each.status, each.partitions) for each in report.results] == [
        ("skipped", (("2024-02-28", "2024-02-28"),)),
        ("success", (("2024-02-29", "2024-02-29"),)),
    ]
    assert [str(each.pin) for each in report.results[1].inputs] == ["v0"]
