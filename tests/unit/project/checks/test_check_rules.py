"""What the keys of each type become."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from fakes.check_projects import user_stats
from penstock.core.checks.check import CheckScope
from penstock.core.checks.check_type import Condition, Empty
from penstock.core.findings import Location, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import mention, parameter
from penstock.strategies.checks.types import (
    AcceptedValues,
    Anomaly,
    ColumnCheck,
    ColumnTypes,
    DistinctCount,
    Freshness,
    NotNull,
    NullPercentage,
    Relationships,
    RowCount,
    RowCountChange,
    Unique,
    ValueRange,
)

THIS = InputName(InputKind.THIS, "user_stats")


@pytest.mark.parametrize(
    ("check", "rule"),
    [
        ("{type: row_count, min: 1, max: 5}", RowCount(1, 5)),
        ("{type: ROW_COUNT, max: 0}", RowCount(None, 0)),
        (
            "{type: column_check, column: revenue, check: 'MIN({column}) >= 0'}",
            ColumnCheck("revenue", Condition("MIN(`revenue`) >= 0", ("MIN(`revenue`)",))),
        ),
        (
            "{type: null_percentage, column: region, max_percentage: 33.33}",
            NullPercentage("region", Decimal("33.33")),
        ),
        ("{type: distinct_count, columns: [region, date], min: 1}",
         DistinctCount(("region", "date"), 1)),
        ("{type: value_range, column: user_count, min: 0, max: 5.0}",
         ValueRange("user_count", "0", "5")),
        ("{type: value_range, column: revenue, min: 1e3, strict: true}",
         ValueRange("revenue", "1000", None, strict=True)),
        ("{type: value_range, column: date, min: 2024-12-02}", ValueRange("date", "2024-12-02")),
        ("{type: unique, column: REGION}", Unique(("REGION",))),
        ("{type: unique, columns: [region], nulls: equal, versions: all}",
         Unique(("region",), nulls_equal=True, all_versions=True)),
        ("{type: not_null, columns: [region, date]}", NotNull(("region", "date"))),
        ("{type: accepted_values, column: region, values: [eu, us, eu, '1']}",
         AcceptedValues("region", ("eu", "us", "1"))),
        ("{type: relationships, column: region, to: analytics.user_stats, fields: [region]}",
         Relationships(("region",), THIS, ("region",), "analytics.user_stats")),
        ("{type: freshness, column: date, max_age: 2 days}",
         Freshness("date", dt.timedelta(days=2), "2 days")),
        ("{type: row_count_change, max_percent: 150}",
         RowCountChange(Decimal(150), Decimal(100))),
        ("{type: row_count_change, max_decrease_percent: 12.5, compare: trailing}",
         RowCountChange(None, Decimal("12.5"), 7)),
        ("{type: row_count_change, max_increase_percent: 0, compare: trailing, last: 2}",
         RowCountChange(Decimal(0), None, 2)),
        ("{type: schema, types: {date: DATE, n: 'DECIMAL(10, 2)', t: int64}}",
         ColumnTypes((("date", "date"), ("n", "decimal(10,2)"), ("t", "bigint")))),
        ("{type: anomaly}", Anomaly(None, Decimal("3.5"), 7, 30)),
        ("{type: anomaly, measure: sum(revenue) / count(*), min_history: 40, by: weekday}",
         Anomaly(Condition("sum(revenue) / count(*)", ("sum(revenue)", "count(*)")),
                 Decimal("3.5"), 40, 40, None, same_weekday=True)),
        ("{type: anomaly, sensitivity: 2, min_spread: '0.5'}",
         Anomaly(None, Decimal(2), 7, 30, Decimal("0.5"))),
        ("{type: anomaly, last: 5}", Anomaly(None, Decimal("3.5"), 5, 5)),
    ],
)  # fmt: skip
def test_each_type_has_its_rule(after, check, rule):
    (found,) = after(check)

    assert found.rule == rule


def test_a_sql_check_knows_its_file_and_the_tables_that_it_reads(after):
    files = {"models/checks/low.sql": "SELECT * FROM `{destination}` d\nJOIN raw.x ON @run_date"}

    (check,) = after("{sql: checks/low.sql}", **files)

    other = InputName(InputKind.EXTERNAL, "raw.x")
    assert check.rule.source == "models/checks/low.sql"
    assert check.rule.query.text == (
        f"SELECT * FROM {mention(THIS)} d\n"
        f"JOIN {mention(other, alias='x')} ON {parameter('run_date')}"
    )
    assert (check.name, check.type, check.reads) == ("low", "sql", (other,))


def test_the_own_table_is_written_in_three_ways(after):
    written = ("`{destination}`", "{destination}", "analytics.user_stats")
    checks = (f'{{name: c{i}, sql: "select 1 from {w} d"}}' for i, w in enumerate(written))

    assert {each.rule.query.text for each in after(*checks)} == {f"select 1 from {mention(THIS)} d"}


def test_what_is_said_of_a_check_is_kept(after):
    (check,) = after(
        "{name: big, type: row_count, min: 1, severity: warn, description: ' Big ', tags: nightly,"
        " meta: {owner: me, level: 2, on: [a]}, where: region = 'eu', scope: table, empty: null,"
        " sample: false}"
    )

    assert (check.name, check.severity, check.description) == ("big", Severity.WARNING, "Big")
    assert (check.tags, check.meta) == (
        ("nightly",),
        {"owner": "me", "level": "2", "on": '["a"]'},
    )
    assert check.condition == Condition("region = 'eu'")
    assert (check.scope, check.empty, check.sample) == (CheckScope.TABLE, None, False)
    assert check.where == Location("models/user_stats.yml", 8, 9)


def test_an_empty_group_means_what_is_written(after):
    (check,) = after("{type: not_null, column: region, empty: fail}")

    assert check.empty is Empty.FAIL


def test_typed_checks_may_look_at_other_rows(after):
    (check,) = after("{type: row_count, min: 1, query: select * from raw.x where d = @start_date}")

    assert check.query.inputs == (InputName(InputKind.EXTERNAL, "raw.x"),)
    assert check.differs_by_group


HEADERS = {
    "view": "materialized='view'",
    "table": "materialized='table'",
    "parts": "materialized='table', overwrite='partitions', partition_by='id'",
    "append": "materialized='append', time_column='at'",
    "merge": "materialized='merge', unique_key='id'",
}


@pytest.mark.parametrize(
    ("header", "unique", "count"),
    [
        ("view", "step", "step"),
        ("table", "step", "step"),
        ("parts", "step", "table"),
        ("append", "step", "table"),
        ("merge", "table", "table"),
    ],
)
def test_the_scope_follows_the_strategy(load, header, unique, count):
    yaml = (
        "models:\n  - name: m\n    checks: [{type: unique, column: id},"
        " {type: row_count, min: 1, scope: table}]\n"
    )
    sql = f"{{{{ config({HEADERS[header]}) }}}} select id, at from raw.events"

    checks = load({"models/m.sql": sql, "models/m.yml": yaml}).models["m"].checks

    assert [each.scope for each in checks.after] == [unique, count]


def test_the_definition_is_of_what_decides_and_of_nothing_else(after):
    one, same, other, third = after(
        "{type: not_null, column: region}",
        "{name: b, type: not_null, columns: [region], severity: warning, description: x}",
        "{name: c, type: not_null, columns: [date]}",
        "{name: d, type: not_null, columns: [region], where: date is null}",
    )

    assert one.definition == same.definition
    assert len({one.definition, other.definition, third.definition}) == 3
    assert len(one.definition) == 64


def test_the_projects_setting_of_samples_is_the_default(load):
    own = "{name: b, type: row_count, min: 1, sample: true}"
    files = user_stats("{type: row_count, min: 1}", own)
    files |= {"penstock.yml": "name: shop\nchecks: {sample: false}\n"}

    checks = load(files).models["user_stats"].checks

    assert [each.sample for each in checks.after] == [False, True]
