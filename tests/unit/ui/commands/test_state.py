"""What commands print that look at the state and the machine."""

from fakes.builders import NOON
from penstock.app.commands.doctor import DoctorReport, EngineReport, Health, HealthCheck, KeptJvm
from penstock.app.commands.state import WatermarkReport
from penstock.app.execution.recover import RebuildReport, Recovered, Recovery
from penstock.core.errors import TableError
from penstock.core.ports.engine import QueryResult
from penstock.core.records import Lease, WatermarkChange
from penstock.ui.commands.doctor import doctor_text, engine_document, engine_text, stopped_text
from penstock.ui.commands.init import NewFiles, made_text
from penstock.ui.commands.query import query_text
from penstock.ui.commands.state import (
    changed_text,
    lease_text,
    rebuild_text,
    recovered_text,
    watermarks_text,
)

LATE = WatermarkChange("log", "raw.e", "ts", "DATE 2024-03-01", NOON, step="step-1")
BY_HAND = WatermarkChange("log", "raw.e", "ts", None, NOON, who="ann@here", why="replay")


def test_rows_of_a_query_stay_lines():
    result = QueryResult(("Id", "note"), (("1", None), ("22", "a\nb")), truncated=True)

    assert query_text(result) == (
        "Id  note\n1   NULL\n22  a\\nb\n\n2 rows; there are more, see --limit"
    )


def test_columns_are_as_wide_as_what_is_shown_and_not_as_the_secret(secret):
    result = QueryResult(("a", "b"), ((secret, "1"), ("x", "2")), truncated=False)

    assert query_text(result) == "a    b\n***  1\nx    2\n\n2 rows"


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


def test_what_put_the_state_in_order_is_said():
    lease = Lease("s.users", "run-1", "host-a", 11, 3, NOON, NOON, NOON)

    stuck = TableError("undecidable-step", "nobody can tell", hint="look")

    assert recovered_text(Recovery()) == "nothing to recover"
    assert recovered_text(Recovery((Recovered("step-1", "log", 7),), {"users": stuck})) == (
        "step step-1 of log had committed version 7; recorded\n"
        "error: undecidable-step: nobody can tell\n  hint: look"
    )
    assert rebuild_text(RebuildReport(3, ("a", "b"), ("c",), ("b",))) == (
        "3 steps of 2 models recorded\nc: its log has no step of this project\n"
        "b: no log tells which slices were skipped; before the next run: "
        "penstock entities slices b --skip NAME --reason TEXT"
    )
    assert lease_text(lease) == (
        "s.users is held by run run-1 (host host-a, pid 11) since 2024-03-01 12:00:00 UTC. "
        "This takes it away."
    )
    assert made_text(NewFiles("shop", ("penstock.yml",), "", "penstock run shop")) == (
        "made shop/penstock.yml\n\nNext: penstock run shop"
    )


def test_each_jvm_that_waits_is_a_row():
    report = EngineReport((KeptJvm("/shop", "dev", 4711, NOON),))

    assert engine_text(report) == (
        "PROJECT  TARGET  PID   ENDS\n/shop    dev     4711  2024-03-01 12:00:00"
    )
    assert stopped_text(report) == "ended 4711, of /shop"
    assert engine_text(EngineReport(())) == stopped_text(EngineReport(())) == "no JVM waits"
    assert engine_document(report) == {
        "kept": [{"root": "/shop", "target": "dev", "pid": 4711, "ends": "2024-03-01T12:00:00Z"}]
    }


def test_each_check_is_a_line_and_what_is_wrong_has_a_hint():
    report = DoctorReport(
        (
            HealthCheck("java", Health.OK, "Java 17", "not shown"),
            HealthCheck("archive", Health.WARNING, "is missing", "penstock doctor --fix"),
            HealthCheck("state", Health.ERROR, "postgresql://me:hunter2@db/x is down"),
        )
    )

    assert doctor_text(report) == (
        "✓ java     Java 17\n"
        "⚠ archive  is missing\n"
        "  hint: penstock doctor --fix\n"
        "✗ state    postgresql://***@db/x is down"
    )
