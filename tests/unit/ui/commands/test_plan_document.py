"""The JSON document of a run."""

import json

from fakes.builders import NOON
from fakes.reports import a_plan, a_report, a_result, a_step
from penstock.app.commands.plan import Preview, SqlChange
from penstock.app.documents import printed
from penstock.app.run_report import run_document
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import QueryError
from penstock.core.findings import Location
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.inputs import DeltaPin, InputPin
from penstock.core.steps.step import RowCounts
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.plan.values import Estimate, State
from penstock.ui.commands.plan import preview_document

DAY = TypedValue("DATE", "2024-03-01")


def test_a_run_is_one_document_with_a_model_each():
    result = a_result(
        "log",
        strategy="append",
        version=4,
        rows=RowCounts(inserted=3, late=1),
        windows=(
            InputWindow("raw.e", Window("d", None, Bound(DAY, inclusive=True)), "initial", 7),
        ),
        kind="initial",
        watermarks=(Watermark("raw.e", "d", DAY),),
        inputs=(InputPin("raw.e", DeltaPin("id", 7)),),
        metrics={"numOutputRows": 3},
        schema_changes=("+ age INT",),
        notes=("note",),
        step="step-1",
        started=NOON,
        duration=1.5,
    )
    report = a_report(a_plan(a_step("log")), result, recovered=("step 0 …",), log_path="x.log")

    assert json.loads(printed(run_document(report))) == {
        "command": "run",
        "run": "0190a3c4",
        "run_timestamp": "2024-03-01T12:00:00Z",
        "dry_run": False,
        "succeeded": True,
        "interrupted": False,
        "aborted": False,
        "limits": [],
        "models": [
            {
                "model": "log",
                "status": "success",
                "reason": "never_run",
                "version": 4,
                "metrics": {"numOutputRows": 3},
                "schema_changes": ["+ age INT"],
                "error": None,
                "table": "s.log",
                "strategy": "append",
                "kind": "initial",
                "step": "step-1",
                "rows": {"inserted": 3, "updated": 0, "deleted": 0, "late": 1, "null_time": 0},
                "windows": [
                    {
                        "input": "raw.e",
                        "column": "d",
                        "kind": "initial",
                        "version": 7,
                        "lower": None,
                        "upper": {"type": "DATE", "value": "2024-03-01", "inclusive": True},
                        "nulls": False,
                    }
                ],
                "watermarks": [
                    {"input": "raw.e", "column": "d", "type": "DATE", "value": "2024-03-01"}
                ],
                "inputs": [{"input": "raw.e", "version": "v7"}],
                "started": "2024-03-01T12:00:00Z",
                "duration": 1.5,
                "notes": ["note"],
                "partitions": [["*", "*"]],
                "count": 1,
                "trigger": "run",
                "slice": None,
                "invariant_report": None,
                "consequence": None,
                "model_version": 1,
                "revision": None,
            }
        ],
        "not_run": [],
        "recovered": ["step 0 …"],
        "messages": [],
        "notes": [],
        "hooks": [],
        "deferred": [],
        "resume": {"select": [], "command": None},
        "log": "x.log",
        "preview": None,
    }


def test_a_failed_model_carries_its_error():
    error = QueryError("query-failed", "no such column", where=Location("models/a.sql", 3))
    report = a_report(a_plan(a_step("a")), a_result("a", "failed", error=error))

    document = json.loads(printed(run_document(report)))

    assert document["succeeded"] is False
    assert document["models"][0]["error"] == {
        "code": "query-failed",
        "message": "no such column",
        "where": "models/a.sql:3",
        "hint": None,
    }


def test_a_plan_is_the_same_document_with_each_step_planned():
    step = a_step(
        "a", State.SQL_CHANGED, estimate=Estimate(3, 100, 1.5), upstream=("b",), initial=True
    )
    report = a_report(a_plan(step), a_result("a", "planned"), run_id="", dry_run=True)

    document = json.loads(
        printed(preview_document(Preview(report, (SqlChange("a", "select 1", "select 2"),))))
    )

    assert (document["run"], document["dry_run"]) == (None, True)
    assert document["models"][0]["status"] == "planned"
    assert document["models"][0]["plan"] == {
        "state": "sql_changed",
        "also": [],
        "pending": False,
        "initial": True,
        "upstream": ["b"],
        "estimate": {"rows": 3, "bytes": 100, "seconds": 1.5},
        "diff": ["- select 1", "+ select 2"],
        "cosmetic": False,
        "checks": None,
        "hooks": [],
    }


def test_the_steps_of_a_model_with_partitions_are_told_one_by_one():
    day = Grid(Grain.DAY)
    steps = [
        a_step(
            "a", version=version, revision=revision, grid=day, partitions=((19000 + version,) * 2,)
        )
        for version, revision in ((2, 0), (3, 1))
    ]
    results = [a_result("a", partitions=each.keys, trigger="sync") for each in steps]

    models = json.loads(printed(run_document(a_report(a_plan(*steps), *results))))["models"]

    assert [(m["partitions"], m["model_version"], m["revision"], m["trigger"]) for m in models] == [
        ([["2022-01-10", "2022-01-10"]], 2, None, "sync"),
        ([["2022-01-11", "2022-01-11"]], 3, 1, "sync"),
    ]


def test_no_password_is_printed():
    error = QueryError("query-failed", "jdbc:postgresql://me:hunter2@db refused password=hunter2")
    report = a_report(a_plan(a_step("a")), a_result("a", "failed", error=error))

    assert "hunter2" not in printed(run_document(report))
