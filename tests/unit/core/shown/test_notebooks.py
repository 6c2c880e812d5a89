"""Notebooks show reports as tables: nothing in them is markup, and no password is shown."""

import datetime as dt
import re
from dataclasses import dataclass

import pytest

import penstock
from fakes.builders import a_model
from fakes.reports import a_check_result, a_plan, a_report, a_result
from penstock.app.checking.results import CheckReport, ModelChecked, SourceChecked
from penstock.app.commands.doctor import DoctorReport, Health, HealthCheck
from penstock.app.commands.rollback import RollbackReport
from penstock.app.commands.status import ModelOverview, Overview
from penstock.app.commands.validate import ValidationReport
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
from penstock.core.errors import ProjectError, UsageError
from penstock.core.findings import Finding, Location
from penstock.core.model import Fingerprint
from penstock.core.names import TableName
from penstock.core.records import Execution, Status
from penstock.core.sessions.manifest import Limits, RunState
from penstock.core.shown.notebooks import (
    _COLOURS,
    MOST,
    ShownInNotebooks,
    graph_svg,
    html_of,
)
from penstock.core.steps.step import RowCounts
from penstock.plan.values import Blocked, Plan, Reason, State, Step
from penstock.project.python.declare import ColumnMeta, TableMeta

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
        ("failed", '<td><span style="color: #e0474c">failed</span></td>'),
        (("current", "x"), '<td><span style="color: #2a8f45">current</span>, x</td>'),
        (State.NEVER_RUN, '<td><span style="color: #b07000">never_run</span></td>'),
        (Status.SUCCESS, f'<td><span style="color: #2a8f45">{Status.SUCCESS}</span></td>'),
        (
            Reason(State.TAMPERED, "<b>"),
            '<td><span style="color: #e0474c">tampered: &lt;b&gt;</span></td>',
        ),
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
    assert found.endswith("<p>… 1,500 more</p></div>")


def test_an_answer_is_shown_or_why_there_is_none():
    def refuse():
        raise UsageError("bad-value", "<b> is no model", hint="use one of these")

    assert html_of(Shown) == "<div><strong>Shown</strong><p>nothing</p></div>"
    assert html_of(refuse) == (
        "<div><strong>UsageError</strong><table><thead><tr><th>code</th><th>where</th>"
        "<th>sentence</th><th>hint</th></tr></thead><tbody><tr><td>bad-value</td><td></td>"
        "<td>&lt;b&gt; is no model</td><td>use one of these</td></tr></tbody></table></div>"
    )


def test_a_bug_is_raised():
    with pytest.raises(ZeroDivisionError):
        html_of(lambda: 1 / 0)


@pytest.mark.parametrize("page", ["#ffffff", "#1e1e1e", "#111111"])
def test_colours_can_be_read_on_a_white_page_and_on_a_dark_one(page):
    assert [each for each in _COLOURS.values() if contrast(each, page) < 4] == []


def contrast(one, other):
    """Return the contrast of two colours as WCAG 2 defines it."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_graph_is_a_picture_with_states_in_colour_and_names_escaped():
    assert graph_svg({"a<b>": (("seed",), ("never_run",))}) == (
        '<svg width="380" height="34" fill="none" stroke="currentColor" font-size="12" role="img">'
        '<path opacity="0.5" d="M150 17C170 17 170 17 190 17"/>'
        '<g><title>seed</title><rect x="1" y="5" width="148" height="24" rx="4" '
        'stroke="currentColor" stroke-dasharray="4"/>'
        '<text x="9" y="21" fill="currentColor" stroke="none">seed</text></g>'
        '<g><title>a&lt;b&gt;: never_run</title><rect x="191" y="5" width="148" height="24" rx="4" '
        'stroke="#b07000"/>'
        '<text x="199" y="21" fill="currentColor" stroke="none">a&lt;b&gt;</text></g></svg>'
    )


def test_a_node_stands_to_the_right_of_all_that_it_reads_and_below_its_neighbours():
    nodes = {"a": (), "b": ("a",), "c": ("a",), "d": ("a", "c")}

    found = graph_svg({name: (reads, ("current",)) for name, reads in nodes.items()})

    places = re.findall(r'<rect x="(\d+)" y="(\d+)"', found)
    assert places == [("1", "5"), ("191", "5"), ("191", "39"), ("381", "5")]
    assert found.count("<path") == 4


def test_a_long_name_is_cut_and_a_large_graph_is_a_table_alone():
    long = graph_svg({"n" * 30: (("a",), ())})

    assert f">{'n' * 19}…</text>" in long
    assert f"<title>{'n' * 30}</title>" in long
    assert graph_svg({str(n): ((), ()) for n in range(61)}) == ""
    assert graph_svg({"a": ((), ("current",))}) == ""


@pytest.mark.parametrize(("rows", "more"), [(MOST, False), (MOST + 1, True)])
def test_what_is_left_out_is_counted(rows, more):
    assert ("… 1 more" in html(*range(rows))) is more


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
FOUND = Finding(Location("a<b>.sql", 3), "bad-value", "threads is <0>", "give 1")
FOUND_CELLS = (
    '<td><span style="color: #e0474c">error</span></td><td>a&lt;b&gt;.sql:3</td>'
    "<td>bad-value</td><td>threads is &lt;0&gt;</td><td>give 1</td>"
)
CHECKED = a_check_result("no_nulls", message="2 rows <broke> it")
HALF = "</td></tr></tbody></table></div>"
MADE = {
    "status": (
        StatusReport(NOON, (ModelStatus("d", TableName("s", "d"), "view", "DAY", 12, COUNTS),)),
        (
            "<td>d</td><td>view</td><td>DAY</td><td>12</td>"
            '<td><span style="color: #b07000">3 missing</span>, '
            '<span style="color: #b07000">1 upstream_changed (pending)</span></td>'
        ),
    ),
    "run": (
        a_report(a_plan(), a_result("daily", rows=RowCounts(inserted=2)), notes=("a note",)),
        '<td><span style="color: #2a8f45">success</span></td>',
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
        (
            "<td>d</td><td>v1.r2</td><td>d.yml</td>"
            '<td><span style="color: #e0474c">modified</span></td><td>3</td>'
        ),
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
    "nothing drifted": (
        StatusReport(NOON, (ModelStatus("d", TableName("s", "d"), "view", "*", 1),)),
        '<td>1</td><td><span style="color: #2a8f45">current</span></td>',
    ),
    "overview": (
        Overview((ModelOverview("<d>", "table", ("a",), "failed, missing", TableName("s", "d")),)),
        (
            "<tr><td>&lt;d&gt;</td><td>table</td><td>a</td>"
            '<td><span style="color: #e0474c">failed</span>, '
            '<span style="color: #b07000">missing</span></td><td>s.d</td><td></td></tr>'
        ),
    ),
    "picture": (
        Overview((ModelOverview("<d>", "table", ("a",), "failed", TableName("s", "d")),)),
        "<strong>Overview</strong><svg ",
    ),
    "plan": (
        Plan(NOON, (Step("<d>", Reason(State.SQL_CHANGED), initial=False),)),
        '<td>&lt;d&gt;</td><td><span style="color: #b07000">sql_changed</span></td><td>1</td>',
    ),
    "blocked": (
        Plan(NOON, blocked=(Blocked("d", UsageError("bad-value", "<b>")),)),
        "<p>nothing</p><p>d cannot be run: bad-value: &lt;b&gt;</p>",
    ),
    "finding": (FOUND, f"<tr>{FOUND_CELLS}</tr>"),
    "findings": (ValidationReport((FOUND,)), f"<tr>{FOUND_CELLS}</tr>"),
    "findings of an error": (ProjectError((FOUND,)), f"<tr>{FOUND_CELLS}</tr>"),
    "model": (
        a_model("<m>", "raw.<a>"),
        "<td>&lt;m&gt;</td><td>table</td><td>s.&lt;m&gt;</td><td>raw.&lt;a&gt;</td>",
    ),
    "doctor": (
        DoctorReport((HealthCheck("java", Health.ERROR, "<none>", "install"),)),
        (
            '<td>java</td><td><span style="color: #e0474c">error</span></td>'
            "<td>&lt;none&gt;</td><td>install</td>"
        ),
    ),
    "table": (
        TableMeta("d", "All <d>.", (ColumnMeta("id", "bigint", "The <id>."),)),
        (
            "<tr><td>id</td><td>bigint</td><td>The &lt;id&gt;.</td></tr></tbody></table>"
            "<p>All &lt;d&gt;.</p>"
        ),
    ),
    "limits": (
        Limits(RunState.STANDARD, NOON, NOON),
        "<td>STANDARD</td><td>2024-03-01 12:00:00</td><td>2024-03-01 12:00:00</td><td>False</td>",
    ),
    "entity": (penstock.ProcessingSummary("silver", "a", "merge"), "<td>silver</td><td>a</td>"),
}


@pytest.mark.parametrize("name", MADE)
def test_each_report_shows_what_it_holds(name):
    report, part = MADE[name]

    assert part in report._repr_html_()
