"""Checks and unit tests in manifest.json and run_results.json."""

import dataclasses
import json
from decimal import Decimal

import pytest

from fakes.builders import a_model, a_project, a_source
from fakes.check_story import BROKEN, GATE, NO_BASE, STORY
from fakes.reports import a_check_result, a_plan, a_report, a_result
from fakes.services import a_shop
from penstock.app.artifacts.write import (
    write_artifacts,
    write_build_artifacts,
    write_check_artifacts,
    write_unit_test_artifacts,
)
from penstock.app.unit_testing.differences import UnitResult, UnitTestReport
from penstock.core.check_results import InvariantReport
from penstock.core.checks.check import Check, Checks, Phase
from penstock.core.checks.check_type import Condition
from penstock.core.errors import CheckFailedError
from penstock.core.findings import Location, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query, mention, parameter
from penstock.project.unit_tests.definition import UnitTest
from penstock.strategies.checks.types import ColumnCheck, NullPercentage, Relationships, SqlCheck

HERE = Location("models/a.yml", 7)
THIS = InputName(InputKind.THIS, "this")
EVENTS = InputName(InputKind.SOURCE, "raw.events")
REGIONS = InputName(InputKind.MODEL, "regions")
SQL = f"select * from {mention(THIS)} where date = {parameter('partition_date')}"
MIN_USERS = Check(
    "min_users", Phase.AFTER, SqlCheck(Query(SQL, SQL, SQL, (THIS,))), HERE, definition="d1"
)
NULLS = Check(
    "nulls",
    Phase.AFTER,
    NullPercentage("email", Decimal("5.00")),
    HERE,
    definition="d2",
    severity=Severity.WARNING,
    description="Few are unknown",
    tags=("daily",),
    meta={"owner": "ann"},
    condition=Condition("region = 'eu'"),
)
REGION = Check(
    "region",
    Phase.BEFORE,
    Relationships(("region",), REGIONS, ("code",), "s.regions"),
    HERE,
    reads=(REGIONS, EVENTS),
)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "models").mkdir()
    checks = Checks((REGION,), (MIN_USERS, NULLS))
    parts = (a_source("events"), a_model("regions"), a_model("a", "raw.events", checks=checks))
    return dataclasses.replace(a_project(*parts), root=str(tmp_path))


@pytest.fixture
def read(tmp_path):
    return lambda name: json.loads((tmp_path / ".penstock" / "target" / name).read_text())


def statuses(document):
    return [(each["unique_id"], each["status"], each["message"]) for each in document["results"]]


def test_a_sql_check_is_a_test_with_its_sql_as_people_wrote_it(project, read):
    write_artifacts(a_shop(project), a_report(a_plan()))

    assert read("manifest.json")["nodes"]["test.shop.a.after.min_users"] == {
        "database": None,
        "schema": "s",
        "name": "min_users",
        "alias": "min_users",
        "resource_type": "test",
        "package_name": "shop",
        "path": "models/a.yml",
        "original_file_path": "models/a.yml",
        "unique_id": "test.shop.a.after.min_users",
        "fqn": ["shop", "a", "after", "min_users"],
        "checksum": {"name": "sha256", "checksum": "d1"},
        "config": {
            "enabled": True,
            "materialized": "test",
            "severity": "error",
            "where": None,
            "limit": None,
            "store_failures": False,
            "warn_if": "!= 0",
            "error_if": "!= 0",
            "tags": [],
            "meta": {},
        },
        "tags": [],
        "meta": {},
        "description": "",
        "columns": {},
        "raw_code": "select * from s.a where date = @partition_date",
        "language": "sql",
        "refs": [],
        "sources": [],
        "depends_on": {"macros": [], "nodes": ["model.shop.a"]},
    }


def test_a_typed_check_is_a_test_that_says_what_it_asks(project, read):
    write_artifacts(a_shop(project), a_report(a_plan()))

    node = read("manifest.json")["nodes"]["test.shop.a.after.nulls"]
    told = ("config", "description", "test_metadata", "column_name", "attached_node", "raw_code")
    assert {key: node[key] for key in told} == {
        "config": {
            "enabled": True,
            "materialized": "test",
            "severity": "warn",
            "where": "region = 'eu'",
            "limit": None,
            "store_failures": False,
            "warn_if": "!= 0",
            "error_if": "!= 0",
            "tags": ["daily"],
            "meta": {"owner": "ann"},
        },
        "description": "Few are unknown",
        "test_metadata": {
            "name": "null_percentage",
            "kwargs": {"column": "email", "maximum": "5.00"},
            "namespace": None,
        },
        "column_name": "email",
        "attached_node": "model.shop.a",
        "raw_code": "",
    }


def test_a_check_depends_on_its_model_and_on_what_it_reads_beside_it(project, read):
    write_artifacts(a_shop(project), a_report(a_plan()))

    manifest = read("manifest.json")
    node = manifest["nodes"]["test.shop.a.before.region"]
    parents = ["model.shop.a", "model.shop.regions", "source.shop.raw.events"]
    assert node["refs"] == [{"name": "regions", "package": None, "version": None}]
    assert node["sources"] == [["raw", "events"]]
    assert node["depends_on"]["nodes"] == parents
    assert manifest["parent_map"]["test.shop.a.before.region"] == parents
    assert manifest["child_map"]["model.shop.regions"] == ["test.shop.a.before.region"]


def test_parameters_of_a_condition_are_called_as_their_writer_does(project, read):
    condition = Condition(f"MIN(`d`) >= {parameter('start_date')}", ("MIN(`d`)",))
    check = Check("days", Phase.AFTER, ColumnCheck("d", condition), HERE)
    model = dataclasses.replace(project.models["a"], checks=Checks((), (check,)))

    write_artifacts(a_shop(dataclasses.replace(project, models={"a": model})), a_report(a_plan()))

    node = read("manifest.json")["nodes"]["test.shop.a.after.days"]
    assert node["test_metadata"]["kwargs"] == {
        "column": "d",
        "condition": "MIN(`d`) >= @start_date",
    }


def test_a_run_has_a_result_for_every_check_after_that_of_its_model(project, read):
    report = InvariantReport(STORY.before, (*STORY.after, BROKEN, NO_BASE))
    failed = a_result("a", "failed", error=GATE, invariant_report=report)

    write_artifacts(a_shop(project), a_report(a_plan(), failed))

    assert statuses(read("run_results.json")) == [
        (
            "model.shop.a",
            "error",
            "after-check-failed: user_stats 2024-12-01: min_users: 1 row (expected 0)",
        ),
        ("test.shop.a.before.source_has_data", "pass", "no rows"),
        ("test.shop.a.after.min_users", "fail", "1 row (expected 0)"),
        ("test.shop.a.after.null_check", "warn", "nulls 33.33 % > max 5.00 %"),
        ("test.shop.a.after.revenue_bounds", "pass", "condition is true"),
        (
            "test.shop.a.after.typo",
            "error",
            'could not be evaluated: unknown column "revenu"',
        ),
        ("test.shop.a.after.growth", "skipped", "no earlier execution"),
    ]


def test_a_result_of_a_check_has_its_failures_and_no_cell(project, read):
    gate = dataclasses.replace(
        STORY.after[0], failures=1, details="us (1)", duration=0.5, message="1 row"
    )
    result = a_result("a", invariant_report=InvariantReport((), (gate,)))

    write_artifacts(a_shop(project), a_report(a_plan(), result))

    assert read("run_results.json")["results"][1] == {
        "status": "fail",
        "timing": [],
        "thread_id": "main",
        "execution_time": 0.5,
        "adapter_response": {},
        "message": "1 row [us (1)]",
        "failures": 1,
        "unique_id": "test.shop.a.after.min_users",
        "compiled": False,
        "compiled_code": None,
        "relation_name": None,
    }


def test_a_model_that_a_gate_kept_from_running_is_an_error(project, read):
    error = CheckFailedError("before-check-failed", "a: source_has_data: 1 row (expected 0)")

    write_artifacts(
        a_shop(project),
        a_report(a_plan(), a_result("a", "skipped", reason="before-check-failed", error=error)),
    )

    assert statuses(read("run_results.json")) == [
        ("model.shop.a", "error", "before-check-failed: a: source_has_data: 1 row (expected 0)")
    ]


def test_check_writes_a_result_for_each_check_and_source(project, read):
    fresh = a_check_result("raw.events", message="newest 2024-03-01 11:00:00, age 1h")

    write_check_artifacts(a_shop(project), {"a": STORY}, {"raw.events": fresh})

    document = read("run_results.json")
    assert document["args"] == {"which": "check", "target": "dev"}
    assert [(key, status) for key, status, _ in statuses(document)] == [
        ("test.shop.a.before.source_has_data", "pass"),
        ("test.shop.a.after.min_users", "fail"),
        ("test.shop.a.after.null_check", "warn"),
        ("test.shop.a.after.revenue_bounds", "pass"),
        ("source.shop.raw.events", "pass"),
    ]


def unit_test(name):
    return UnitTest(name, "a", Location("tests/a.yml", 1), ())


def test_build_writes_the_results_of_all_its_parts(project, read):
    tested = UnitTestReport((UnitResult(unit_test("one"), seconds=0.5),))
    runs = [a_report(a_plan(), a_result("a")), a_report(a_plan(), a_result("a", "failed"))]

    write_build_artifacts(a_shop(project), [tested, *runs])

    document = read("run_results.json")
    assert document["args"]["which"] == "build"
    assert [(key, status) for key, status, _ in statuses(document)] == [
        ("unit_test.shop.a.one", "pass"),
        ("model.shop.a", "success"),
        ("model.shop.a", "error"),
    ]
    assert [*read("manifest.json")["unit_tests"]] == ["unit_test.shop.a.one"]


def test_test_writes_a_result_for_each_unit_test(project, read):
    write_unit_test_artifacts(
        a_shop(project),
        [
            UnitResult(unit_test("one"), seconds=0.5),
            UnitResult(unit_test("two"), ("rows: 3 expected", "2 found"), seconds=0.25),
            UnitResult(unit_test("three"), skipped=True),
        ],
    )

    document = read("run_results.json")
    assert (document["elapsed_time"], document["args"]["which"]) == (0.75, "test")
    assert statuses(document) == [
        ("unit_test.shop.a.one", "pass", None),
        ("unit_test.shop.a.two", "fail", "rows: 3 expected; 2 found"),
        ("unit_test.shop.a.three", "skipped", None),
    ]
    assert read("manifest.json")["unit_tests"]["unit_test.shop.a.one"] == {
        "name": "one",
        "model": "a",
        "resource_type": "unit_test",
        "package_name": "shop",
        "path": "tests/a.yml",
        "original_file_path": "tests/a.yml",
        "unique_id": "unit_test.shop.a.one",
        "fqn": ["shop", "a", "one"],
        "given": [],
        "expect": {"rows": None},
        "description": "",
        "depends_on": {"macros": [], "nodes": ["model.shop.a"]},
    }
