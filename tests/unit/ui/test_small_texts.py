"""Tables, findings and the answers of small commands."""

from fakes.builders import NOON
from fakes.reports import a_plan, a_report, a_result
from penstock.app.listing import ModelInfo
from penstock.app.rebuild import RebuildReport
from penstock.app.recover import Recovered, Recovery
from penstock.app.validating import ValidationReport
from penstock.app.watermarks import WatermarkReport
from penstock.core.engine_ports import QueryResult
from penstock.core.errors import ProjectError, StateError, TableError
from penstock.core.findings import Finding, Location, Severity
from penstock.core.names import TableName
from penstock.core.records import Lease, WatermarkChange
from penstock.core.step import RowCounts
from penstock.ui.render.errors import error_text, validation_text
from penstock.ui.render.run import seed_text
from penstock.ui.render.show import list_text
from penstock.ui.render.state import (
    changed_text,
    lease_text,
    made_text,
    query_text,
    rebuild_text,
    recovered_text,
    watermarks_text,
)

LATE = WatermarkChange("log", "raw.e", "ts", "DATE 2024-03-01", NOON, step="step-1")
BY_HAND = WatermarkChange("log", "raw.e", "ts", None, NOON, who="ann@here", why="replay")


def test_a_list_is_a_table_that_cuts_nothing():
    models = [
        ModelInfo("a", TableName("s", "a"), "sql", "view", ("daily", "x"), "models/s/a.sql"),
        ModelInfo("n" * 90, TableName("s", "b"), "sql", "table", (), "models/s/b.sql"),
    ]

    assert list_text(models) == (
        f"NAME{' ' * 88}TABLE  STRATEGY  TAGS     FILE\n"
        f"a{' ' * 91}s.a    view      daily,x  models/s/a.sql\n"
        f"{'n' * 90}  s.b    table     -        models/s/b.sql"
    )


def test_findings_end_with_their_number():
    findings = (
        Finding(Location("a.sql", 3, 7), "bad-value", "threads is 0", "give 1 or more"),
        Finding(Location("b.sql"), "stray-file", "no model", severity=Severity.WARNING),
    )

    assert error_text(ProjectError(findings)) == (
        "a.sql:3:7: error: bad-value: threads is 0\n"
        "  hint: give 1 or more\n"
        "b.sql:1: warning: stray-file: no model\n"
        "1 error, 1 warning"
    )


def test_a_project_without_findings_is_counted():
    assert validation_text(ValidationReport((), 2, 1, 0)) == (
        "no findings: 2 models, 1 source, 0 seeds"
    )


def test_an_error_hides_passwords_but_not_names():
    error = StateError("state-unreachable", "postgresql://me:hunter2@db/x is down", hint="wait")

    assert error_text(error) == (
        "error: state-unreachable: postgresql://me:***@db/x is down\n  hint: wait"
    )


def test_rows_of_a_query_stay_lines():
    result = QueryResult(("Id", "note"), (("1", None), ("22", "a\nb")), truncated=True)

    assert query_text(result) == (
        "Id  note\n1   NULL\n22  a\\nb\n\n2 rows; there are more, see --limit"
    )


def test_watermarks_tell_who_set_them():
    assert watermarks_text(WatermarkReport((LATE,))) == (
        "MODEL  COLUMN    VALUE            SET_AT               BY           WHY\n"
        "log    raw.e.ts  DATE 2024-03-01  2024-03-01 12:00:00  step step-1"
    )
    assert watermarks_text(WatermarkReport((), (BY_HAND,))) == (
        "MODEL  COLUMN    VALUE    SET_AT               BY        WHY\n"
        "log    raw.e.ts  (reset)  2024-03-01 12:00:00  ann@here  replay"
    )
    assert watermarks_text(WatermarkReport()) == "no watermarks"


def test_a_change_by_hand_is_one_line():
    assert changed_text((BY_HAND, LATE)) == (
        "log: raw.e.ts reset\nlog: raw.e.ts set to DATE 2024-03-01"
    )


def test_seeds_are_a_line_each():
    report = a_report(
        a_plan(),
        a_result("countries", rows=RowCounts(inserted=3), duration=1.0),
        a_result("zones", "unchanged"),
    )

    assert seed_text(report) == (
        "countries  s.countries  3 rows  1.0 s\nzones      up to date\nDone: 1 step. 1 unchanged."
    )


def test_what_put_the_state_in_order_is_said():
    lease = Lease("s.users", "run-1", "host-a", 11, 3, NOON, NOON, NOON)

    stuck = TableError("undecidable-step", "nobody can tell", hint="look")

    assert recovered_text(Recovery()) == "nothing to recover"
    assert recovered_text(Recovery((Recovered("step-1", "log", 7),), {"users": stuck})) == (
        "step step-1 of log had committed version 7; recorded\n"
        "error: undecidable-step: nobody can tell\n  hint: look"
    )
    assert rebuild_text(RebuildReport(3, ("a", "b"), ("c",))) == (
        "3 steps of 2 models recorded\nc: its log tells of no step of this project"
    )
    assert lease_text(lease) == (
        "s.users is held by run run-1 (host host-a, pid 11) since 2024-03-01 12:00:00 UTC. "
        "This takes it away."
    )
    assert made_text(("shop", ("penstock.yml",))) == (
        "made shop/penstock.yml\n\nNext: penstock run shop"
    )
