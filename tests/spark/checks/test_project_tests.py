"""Tests of dbt's kind through Spark: of their own files, of the project, of seeds; thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fakes.check_place import EVENTS, CheckPlace, after, before
from penstock.app.commands.seed import seed
from penstock.core.findings import Severity

FILES = {
    "macros/tests.sql": (
        "{% test positive(model, column_name) %}\n"
        "select * from {{ model }} where not ({{ column_name }} > 0)\n{% endtest %}\n"
    ),
    "tests/generic/filled.sql": (
        "{% test filled(model, rows) %}select n from (select count(*) as n from {{ model }})\n"
        "where n < {{ rows }}{% endtest %}\n"
    ),
    "tests/few_users.sql": (
        "{{ config(store_failures=true, limit=1, error_if='> 5', tags=['small']) }}\n"
        "select region, user_count from {{ ref('visits') }} where user_count < 115\n"
    ),
    "seeds/geo/regions.csv": "code\neu\nus\n",
    "models/m/visits.sql": (
        "{{ config(materialized='table', on_failure='block') }}\n"
        "select date(created_at) as date, region, user_count, revenue\n"
        "from {{ source('raw', 'events') }}\n"
        "where region is null or region in (select code from {{ ref('regions') }})\n"
    ),
    "models/m/visits.yml": """\
seeds:
  - name: regions
    columns: [{name: code, data_tests: [unique]}]
    data_tests: [{filled: {rows: 2}}]
models:
  - name: visits
    checks: [{type: not_null, column: user_count, mostly: 0.8}]
    columns:
      - name: region
        data_tests: [{not_null: {config: {error_if: "> 1", store_failures: true}}}]
      - name: revenue
        data_tests: [{positive: {config: {where: revenue is not null}}}]
    data_tests: [{filled: {rows: 7, severity: warn}}]
""",
}
KEPT = "warehouse/penstock_staging/failures__m__visits__"


@pytest.fixture(scope="module")
def story(tmp_path_factory, spark):
    """A run whose gate fails, one after the rows were corrected, and a look without a run."""
    place = CheckPlace(tmp_path_factory.mktemp("tests") / "shop", spark)
    place.write(FILES)
    place.events()
    place.with_shop(seed)
    blocked = place.run("visits")
    is_there = (place.root / "warehouse/m/visits").exists()
    place.events([row for row in EVENTS if row[3] != -3.5], "overwrite")
    built = place.run("visits")
    kept = {
        name: place.texts(str(place.root / f"{KEPT}{name}"))
        for name in ("few_users", "not_null_region")
    }
    looked = place.check("tag:small")
    place.events([(day, "eu", 200, 1.0) for day, *_ in EVENTS], "overwrite")
    place.run("visits")
    return SimpleNamespace(
        place=place, blocked=blocked, is_there=is_there, built=built, kept=kept, looked=looked
    )


def test_a_test_of_the_project_is_a_gate_as_any_other(story) -> None:
    assert before(story.blocked, "visits") == {
        "unique_code": "passed unique",
        "filled": "passed no rows",
    }
    assert after(story.blocked, "visits") == {
        "not_null_user_count": "passed 1 NULL in user_count (1 of 6 failing, not > 20 %)",
        "not_null_region": "failed 1 NULL in region (1 failing, != 0)",
        "positive_revenue": "failed 1 row (expected 0)",
        "filled": "failed 1 row (expected 0)",
        "few_users": "failed 2 rows (expected 0) (2 failing, != 0)",
    }
    assert not story.is_there


def test_a_failure_below_the_threshold_of_errors_is_a_warning(story) -> None:
    report = story.built["visits"].invariant_report

    assert [(each.name, each.severity) for each in report.after if each.failed] == [
        ("not_null_region", Severity.WARNING),
        ("filled", Severity.WARNING),
        ("few_users", Severity.WARNING),
    ]
    assert not report.has_errors()
    assert story.place.record("visits").status == "SUCCESS"


def test_failing_rows_are_kept_until_the_check_passes(story) -> None:
    report = story.built["visits"].invariant_report
    details = {each.name: each.details for each in report.after if each.details}

    assert story.kept == {
        "few_users": [("us", "80")],
        "not_null_region": [("2024-12-01", None, None, "5.0")],
    }
    assert details == {
        "few_users": "1 row kept in penstock_staging.failures__m__visits__few_users",
        "not_null_region": "1 row kept in penstock_staging.failures__m__visits__not_null_region",
    }
    assert story.place.staged() == []


def test_penstock_check_finds_them_by_their_tags_and_records_what_they_say(story) -> None:
    found = story.looked.reports["visits"].after
    records = story.place.check_records("visits")

    assert [each.name for each in found if each.failed] == [
        "not_null_region",
        "filled",
        "few_users",
    ]
    assert [
        (str(each.result.severity), str(each.result.status))
        for each in records
        if each.result.name == "few_users"
    ] == [("error", "passed"), ("warning", "failed"), ("warning", "failed"), ("warning", "failed")]
