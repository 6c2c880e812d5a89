"""The text and the document of `history`."""

import datetime as dt
import json
from dataclasses import replace

from fakes.builders import NOON, a_model
from fakes.services import an_intent
from penstock.app.documents import printed
from penstock.app.reports import HistoryReport, HistoryRow
from penstock.core.model import Fingerprint
from penstock.core.records import Execution, Status, StepRecord
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.step import Outcome, RowCounts, StepFailure, StepKind
from penstock.ui.commands.history import history_document, history_text


def ran(at, code, trigger="sync", *, failure=None, revision=0, partition="2024-12-01", **changes):
    execution = Execution(
        reason="sql_changed",
        model="daily_user_stats",
        partition=partition,
        step=f"step-{code}",
        step_seq=1,
        fingerprint=Fingerprint(f"{code}ffff", "", version=3, revision=revision),
        executed_at=dt.datetime.fromisoformat(f"{at}+00:00"),
        duration_ms=1500,
        rows_written=3,
        bytes_written=100,
        status=Status.FAILED if failure else Status.SUCCESS,
        triggered_by=trigger,
        executed_by="ann@host",
        failure=failure,
    )
    return HistoryRow(execution, **changes)


THREE = (
    ran("2024-12-03 10:00:00", "abc123"),
    ran("2024-12-02 14:00:00", "def456", reverted=True),
    ran("2024-12-01 10:00:00", "abc123", "run"),
)


def test_a_partition_by_sql_a_b_a_shows_the_middle_reverted():
    assert history_text(HistoryReport("daily_user_stats", "2024-12-01", THREE)) == (
        "EXECUTED_AT          VERSION  SQL_CHECKSUM  STATUS   ROWS  SECONDS  REASON"
        "        TRIGGERED_BY\n"
        "2024-12-03 10:00:00  3        abc123        SUCCESS     3      1.5  code changed  sync\n"
        "2024-12-02 14:00:00  3        def456        SUCCESS     3      1.5  code changed"
        "  sync (reverted)\n"
        "2024-12-01 10:00:00  3        abc123        SUCCESS     3      1.5  code changed  run"
    )


def test_a_step_that_changed_no_rows_says_what_it_changed():
    intent = replace(an_intent(a_model("daily_user_stats")), kind=StepKind.ALTER)
    altered = StepRecord(intent, Status.SUCCESS, NOON)
    row = ran("2024-12-03 10:00:00", "abc123", step=altered)

    shown = history_text(HistoryReport("daily_user_stats", "2024-12-01", (row,)))

    assert "  columns, comments or properties of the table  sync" in shown


def test_a_step_that_was_not_checked_says_so():
    unchecked = ran("2024-12-03 10:00:00", "abc123", skipped_checks=True)
    both = ran("2024-12-02 10:00:00", "abc123", skipped_checks=True, reverted=True)
    report = HistoryReport("daily_user_stats", "2024-12-01", (unchecked, both))

    assert history_text(report).splitlines()[1:] == [
        (
            "2024-12-03 10:00:00  3        abc123        SUCCESS     3      1.5  code changed"
            "  sync (--skip-checks)"
        ),
        (
            "2024-12-02 10:00:00  3        abc123        SUCCESS     3      1.5  code changed"
            "  sync (reverted, --skip-checks)"
        ),
    ]
    document = json.loads(printed(history_document(report)))
    assert [each["skipped_checks"] for each in document["executions"]] == [True, True]


def test_all_partitions_of_a_model_are_named_and_verbose_adds_the_steps():
    rows = (THREE[1], ran("2024-12-01 10:00:00", "abc123", revision=1, partition="2024-12-02"))

    assert history_text(HistoryReport("daily_user_stats", "", rows), verbose=True) == (
        "EXECUTED_AT          PARTITION   VERSION  SQL_CHECKSUM  STATUS   ROWS  SECONDS"
        "  REASON        TRIGGERED_BY     STEP\n"
        "2024-12-02 14:00:00  2024-12-01  3        def456        SUCCESS     3      1.5"
        "  code changed  sync (reverted)  step-def456\n"
        "2024-12-01 10:00:00  2024-12-02  3.r1     abc123        SUCCESS     3      1.5"
        "  code changed  sync             step-abc123"
    )


def test_a_table_without_partitions_needs_no_column_for_them():
    report = HistoryReport("users", "", (ran("2024-12-03 10:00:00", "abc123", partition="*"),))

    assert history_text(report).splitlines()[0] == (
        "EXECUTED_AT          VERSION  SQL_CHECKSUM  STATUS   ROWS  SECONDS  REASON"
        "        TRIGGERED_BY"
    )


def test_a_failure_is_told_by_its_code_and_a_cut_list_says_so():
    failed = ran("2024-12-03 10:00:00", "abc123", failure=StepFailure("crashed", "it died"))
    failed = replace(failed, execution=replace(failed.execution, rows_written=None))

    text = history_text(HistoryReport("users", "2024-12-01", (failed,), truncated=True))

    assert text.splitlines()[1:] == [
        "2024-12-03 10:00:00  3        abc123        FAILED     -      1.5  crashed  sync",
        "the newest 1; there are older ones, see --limit",
    ]


def test_show_sql_prints_each_full_text_below():
    rows = (
        ran("2024-12-03 10:00:00", "abc123", sql="select 1\nfrom t"),
        ran("2024-12-02 14:00:00", "def456", sql="select 'password=hunter2'"),
    )

    text = history_text(HistoryReport("daily_user_stats", "2024-12-01", rows))

    assert text.partition("\n\n")[2] == (
        "2024-12-03 10:00:00  2024-12-01  3  abc123\n"
        "───────────────────────────────────────\n"
        "select 1\n"
        "from t\n"
        "───────────────────────────────────────\n"
        "\n"
        "2024-12-02 14:00:00  2024-12-01  3  def456\n"
        "───────────────────────────────────────\n"
        "select 'password=***'\n"
        "───────────────────────────────────────"
    )


def test_no_executions_are_said():
    assert history_text(HistoryReport("daily", "")) == "no executions of daily"
    assert history_text(HistoryReport("daily", "2024")) == "no executions of daily 2024"


def test_the_document_has_code_and_message_of_a_failure():
    failure = StepFailure("query-failed", "no such column")
    report = HistoryReport("daily", "", (ran("2024-12-03 10:00:00", "abc123", failure=failure),))

    assert json.loads(printed(history_document(report))) == {
        "command": "history",
        "model": "daily",
        "partition": None,
        "truncated": False,
        "executions": [
            {
                "executed_at": "2024-12-03T10:00:00Z",
                "partition": "2024-12-01",
                "version": 3,
                "revision": None,
                "sql_checksum": "abc123ffff",
                "status": "FAILED",
                "reverted": False,
                "skipped_checks": False,
                "reason": "sql_changed",
                "triggered_by": "sync",
                "executed_by": "ann@host",
                "step": "step-abc123",
                "rows_written": 3,
                "bytes_written": 100,
                "run": None,
                "inputs": None,
                "deferred": None,
                "table_version": None,
                "rows": None,
                "duration": 1.5,
                "error": {"code": "query-failed", "message": "no such column"},
                "sql": None,
            }
        ],
    }


def test_the_document_has_run_inputs_version_and_rows_by_kind_of_what_a_step_did():
    intent = an_intent(a_model("daily"), raw__events=DeltaPin("id", 7), raw__users=None)
    rows = RowCounts(inserted=3, updated=2, deleted=1, late=1)
    step = StepRecord(intent, Status.SUCCESS, NOON, outcome=Outcome(4, rows=rows))
    report = HistoryReport("daily", "", (ran("2024-12-03 10:00:00", "abc123", step=step),))

    (execution,) = json.loads(printed(history_document(report)))["executions"]

    assert {name: execution[name] for name in ("run", "inputs", "table_version", "rows")} == {
        "run": "run-1",
        "inputs": [
            {"input": "raw.events", "version": "v7"},
            {"input": "raw.users", "version": None},
        ],
        "table_version": 4,
        "rows": {"inserted": 3, "updated": 2, "deleted": 1, "late": 1},
    }
