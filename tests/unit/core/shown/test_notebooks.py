"""Notebooks show reports as tables: nothing in them is markup, and no password is shown."""

import datetime as dt
from dataclasses import dataclass

import pytest

import penstock
from fakes.reports import a_check_result, a_plan, a_report, a_result
from penstock.app.checking.results import CheckReport, ModelChecked, SourceChecked
from penstock.app.commands.rollback import RollbackReport
from penstock.app.commands.verify import VerifyReport, Violation
from penstock.app.reports import (
    AuditReport,
    AuditRow,
    DiffReport,
    HistoryReport,
    HistoryRow,
    ModelDiff,
    ModelStatus,
    SqlDiff,
    StateCount,
    StatusReport,
)
from penstock.app.unit_testing.differences import UnitTestReport
from penstock.core.check_results import InvariantReport
from penstock.core.errors import UsageError
from penstock.core.model import Fingerprint
from penstock.core.names import TableName
from penstock.core.records import Execution, Status
from penstock.core.shown.notebooks import MOST, ShownInNotebooks, html_of
from penstock.core.steps.step import RowCounts
from penstock.plan.values import State

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Cell:
    value: object


@dataclass(frozen=True, slots=True)
class Shown(ShownInNotebooks):
    _rows = "cells"
    _columns = "a=value"
    _lines = "said"

    cells: tuple[Cell, ...] = ()
    said: tuple[str, ...] = ()


def html(*values, said=()):
    return Shown(tuple(map(Cell, values)), said)._repr_html_()


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, "<td></td>"),
        (12345, "<td>12,345</td>"),
        (1.25, "<td>1.2</td>"),
        (True, "<td>True</td>"),
        (NOON, "<td>2024-03-01 12:00:00</td>"),
        (("a", 1), "<td>a, 1</td>"),
        ({"in": 2}, "<td>in: 2</td>"),
        (
            "<script>alert('x')</script>",
            "<td>&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;</td>",
        ),
        ({"<b>": ["<i>"]}, "<td>&lt;b&gt;: &lt;i&gt;</td>"),
        ("select\n1", "<td><pre>select\n1</pre></td>"),
        ("postgresql://me:hunter2@db/x", "<td>postgresql://***@db/x</td>"),
        ("failed", '<td style="color: #b3261e">failed</td>'),
    ],
)
def test_a_value_is_text_whatever_it_holds(value, cell):
    assert html(value) == (
        "<div><strong>Shown</strong><table><thead><tr><th>a</th></tr></thead>"
        f"<tbody><tr>{cell}</tr></tbody></table></div>"
    )


def test_sentences_stand_below_and_nothing_says_so():
    assert html(said=("a < b", "")) == (
        "<div><strong>Shown</strong><p>nothing</p><p>a &lt; b</p></div>"
    )


def test_of_many_rows_the_first_are_shown():
    found = html(*range(MOST + 1500))

    assert found.count("<tr>") == MOST + 1
    assert found.endswith("<p>… and 1,500 more</p></div>")


def test_an_answer_is_shown_or_why_there_is_none():
    def refuse():
        raise UsageError("bad-value", "<b> is no model")

    assert html_of(Shown) == "<div><strong>Shown</strong><p>nothing</p></div>"
    assert html_of(refuse) == "<div><p>bad-value: &lt;b&gt; is no model</p></div>"


@pytest.mark.parametrize(("rows", "more"), [(MOST, False), (MOST + 1, True)])
def test_what_is_left_out_is_counted(rows, more):
    assert ("… and 1 more" in html(*range(rows))) is more


def test_a_path_ends_where_something_on_it_is_none():
    @dataclass(frozen=True, slots=True)
    class Deep(ShownInNotebooks):
        _columns = "name=inner.value.value"

        inner: Cell | None

    cells = [Deep(inner)._table() for inner in (None, Cell(None), Cell(Cell(7)))]

    assert [list(each) for each in cells] == [[[None]], [[None]], [[7]]]


REPORTS = [
    *(getattr(penstock, name) for name in penstock.__all__ if name.endswith(("Report", "Result"))),
    *(penstock.ProcessingSummary, UnitTestReport, RollbackReport),
]


@pytest.mark.parametrize("report", REPORTS)
def test_every_report_of_the_entry_points_is_shown(report):
    assert issubclass(report, ShownInNotebooks)


RAN = Execution(
    *("daily", "2024-03-01", "step-1", 1, Fingerprint("abc", "", version=3), NOON),
    *(1500, 3, 100, Status.SUCCESS, "sync", "ann@host"),
)
COUNTS = (
    StateCount(State.MISSING, 3, ()),
    StateCount(State.UPSTREAM_CHANGED, 1, (), pending=True),
)
CHECKED = a_check_result("no_nulls", message="2 rows <broke> it")
HALF = "</td></tr></tbody></table></div>"
MADE = {
    "status": (
        StatusReport(NOON, (ModelStatus("d", TableName("s", "d"), "view", "DAY", 12, COUNTS),)),
        "<td>d</td><td>view</td><td>DAY</td><td>12</td><td>3 missing, 1 upstream_changed (pending)",
    ),
    "run": (
        a_report(a_plan(), a_result("daily", rows=RowCounts(inserted=2)), notes=("a note",)),
        '<td style="color: #1b6e3c">success</td>',
    ),
    "diff": (
        DiffReport(NOON, (ModelDiff("d", (SqlDiff("v1", (), 2, "select\n1", "select 2"),)),)),
        "<td>d</td><td>v1</td><td>2</td><td><pre>select\n1</pre></td><td>select 2</td><td>" + HALF,
    ),
    "history": (
        HistoryReport("daily", "", (HistoryRow(RAN, reverted=True),)),
        "<td>2024-03-01 12:00:00</td><td>2024-03-01</td><td>v3</td>",
    ),
    "audit": (
        AuditReport((AuditRow("d", 1, 2, "d.yml", "modified", 3, NOON, NOON),)),
        '<td>d</td><td>v1.r2</td><td>d.yml</td><td style="color: #b3261e">modified</td><td>3</td>',
    ),
    "check": (
        CheckReport((ModelChecked("d", (), 1, 7, InvariantReport((), (CHECKED,))),)),
        "<td>d</td><td>after</td><td>no_nulls</td>",
    ),
    "source": (CheckReport(sources=(SourceChecked("raw.e", CHECKED),)), "<td>raw.e</td>"),
    "checks of a model": (InvariantReport((CHECKED,)), "<td>2 rows &lt;broke&gt; it</td>"),
    "verify": (
        VerifyReport("h", 7, 5, 3, 3, 0, (Violation("V1", "one", 2, "keys", ("a", "b")),)),
        "<p>h at version 7: 5 versions of 3 keys, 3 current; laws are broken</p>",
    ),
    "rollback": (RollbackReport("d", "0190", 3, (), 1, 0), "<td>d</td><td>0190</td><td>3</td>"),
    "tests": (UnitTestReport(), "<p>nothing</p>"),
    "entity": (penstock.ProcessingSummary("silver", "a", "merge"), "<td>silver</td><td>a</td>"),
}


@pytest.mark.parametrize("name", MADE)
def test_each_report_shows_what_it_holds(name):
    report, part = MADE[name]

    assert part in report._repr_html_()
