"""dbt's tests of columns are checks under after."""

from __future__ import annotations

import pytest

from fakes.check_projects import user_stats
from penstock.core.findings import Severity
from penstock.core.names import InputKind, InputName
from penstock.strategies.checks.types import AcceptedValues, NotNull, Relationships, Unique

TESTS = """\
models:
  - name: m
    columns:
      - name: region
        data_tests:
          - not_null: {config: {severity: warn}}
          - unique: {severity: warn}
          - accepted_values: {values: [eu, us], config: {severity: warn}}
          - relationships:
              arguments: {to: ref('regions'), field: code}
              config: {severity: warn}
"""
FILES = {
    "models/m.sql": "select region from raw.events",
    "models/regions.sql": "select 'a' as code",
}


def test_four_tests_are_four_warnings_after(load):
    checks = load({**FILES, "models/m.yml": TESTS}).models["m"].checks

    regions = InputName(InputKind.MODEL, "regions")
    assert [(each.name, each.rule) for each in checks.after] == [
        ("not_null_region", NotNull(("region",))),
        ("unique_region", Unique(("region",))),
        ("accepted_values_region", AcceptedValues("region", ("eu", "us"))),
        (
            "relationships_region",
            Relationships(("region",), regions, ("code",), "shop.regions"),
        ),
    ]
    assert {each.severity for each in checks.after} == {Severity.WARNING}


def test_tests_mean_what_checks_mean(apart):
    long = (
        "models:\n  - name: m\n    checks:\n      - {type: not_null, columns: [region]}\n"
        "      - {type: unique, column: region, where: region > 'a', name: one, meta: {a: 1}}\n"
    )
    short = (
        "models:\n  - name: m\n    columns:\n      - name: region\n        tests: [not_null, "
        "{unique: {name: one, config: {where: region > 'a', meta: {a: 1}}}}]\n"
    )
    found = [apart({**FILES, "models/m.yml": text}).models["m"].checks for text in (long, short)]

    assert next(
        [(c.name, c.rule, c.condition, c.meta, c.definition) for c in each.after] for each in found
    ) == [(c.name, c.rule, c.condition, c.meta, c.definition) for c in found[1].after]


@pytest.mark.parametrize(
    ("test", "finding"),
    [
        ("not_null: {config: {error_if: '>10'}}", None),
        ("not_null: {config: {warn_if: '!= 0'}}", None),
        (
            "dbt_utils.x",
            (
                "error: unknown-check-type: "
                "check \"dbt_utils.x_region\": 'dbt_utils.x' is not a test\n"
                "  hint: known here: not_null, unique, accepted_values, relationships"
            ),
        ),
        (
            "unique: {config: {store_failures_as: view}}",
            "info: option-without-effect: store_failures_as has no effect on a check",
        ),
        (
            "accepted_values: {}",
            'error: missing-key: check "accepted_values_region": accepted_values needs values',
        ),
        ("not_null: {vales: 1}", "error: unknown-key: unknown key 'vales'"),
    ],
)
def test_a_test_that_does_not_fit_is_one_finding(findings, test, finding):
    yaml = f"models:\n  - name: m\n    columns: [{{name: region, tests: [{{{test}}}]}}]\n"
    if ":" not in test:
        yaml = yaml.replace(f"{{{test}}}", test)

    found = findings({**FILES, "models/m.yml": yaml}, hints=True)

    said = [each.partition(": ")[2] for each in found]
    short = said if finding is None or "hint" in finding else [s.partition("\n")[0] for s in said]
    assert short == ([] if finding is None else [finding])


def test_tests_and_data_tests_are_one_key(findings):
    yaml = (
        "models:\n  - name: m\n    columns:\n      - name: region\n        tests: [unique]\n"
        "        data_tests: [not_null]\n"
    )

    assert findings({**FILES, "models/m.yml": yaml}) == [
        (
            "models/m.yml:6:9: error: alias-conflict: tests and data_tests are one key; "
            "the other is on line 5"
        )
    ]


@pytest.mark.parametrize(
    ("columns", "finding"),
    [
        (
            "[{name: region, tests: not_null}]",
            "{place}: error: bad-value: columns.tests is 'not_null'; it must be a list of tests",
        ),
        (
            "[{name: region, tests: [5]}]",
            (
                '{place}: error: bad-value: a test of column "region" is one name, '
                "with or without arguments"
            ),
        ),
        (
            "[region, {name: region, tests: [unique]}]",
            "{place}: error: bad-value: {above}columns is 'region'; it must be a mapping",
        ),
    ],
)
@pytest.mark.parametrize("above", ["models.", "sources.tables."])
def test_what_is_no_test_of_a_column_is_one_finding(findings, columns, finding, above):
    models = f"models:\n  - name: m\n    columns: {columns}\n"
    tables = f"sources: [{{name: raw, tables: [{{name: e, columns: {columns}}}]}}]\n"

    (found,) = findings({**FILES, "models/m.yml": models if "models" in above else tables})

    place, _, _ = found.partition(": ")
    assert found == finding.format(place=place, above=above)


def test_tests_of_a_seed_hold_before_the_models_that_read_it(apart):
    yaml = (
        "seeds:\n  - name: country\n    data_tests: [{at_least: {rows: 2}}]\n"
        "    columns: [{name: code, data_tests: [unique]}]\n"
    )
    files = {
        "seeds/country.csv": "code\nde\n",
        "macros/t.sql": (
            "{% test at_least(model, rows) %}select 1 from {{ model }} having count(*) < {{ rows }}"
            "{% endtest %}"
        ),
        "models/s.yml": yaml,
        "models/m.sql": "select code from {{ ref('country') }}",
    }

    before = apart(files).models["m"].checks.before

    country = InputName(InputKind.MODEL, "country")
    assert [(each.name, each.type, each.input) for each in before] == [
        ("unique_code", "unique", country),
        ("at_least", "sql", None),
    ]
    assert before[1].rule.query.inputs == before[1].reads == (country,)
    assert before[1].test == "at_least"


def test_tests_of_a_seed_that_nothing_reads_are_told(findings):
    yaml = "seeds:\n  - name: country\n    columns: [{name: code, data_tests: [unique]}]\n"

    assert findings({"seeds/country.csv": "code\nde\n", "models/s.yml": yaml}) == [
        (
            "models/s.yml:2:5: warning: option-without-effect: no model reads seed country, "
            "so its tests are not read"
        ),
    ]


PROJECT_TESTS = {
    "macros/tests.sql": (
        "{% test within(model, column_name, most) %}\n"
        "select * from {{ model }} where {{ column_name }} > {{ most }}\n"
        "{% endtest %}\n"
        "{% macro test_listed(model, column_name, values, other=none) %}"
        "select * from {{ model }} where {{ column_name }} not in ('{{ values | join(\"', '\") }}')"
        "{% if other %} or {{ column_name }} not in (select region from {{ other }}){% endif %}"
        "{% endmacro %}\n"
    ),
    "tests/generic/filled.sql": (
        "{% test filled(model) %}select 1 as x where not exists (select * from {{ model }})"
        "{% endtest %}"
    ),
    "models/m.sql": "select 1 as users, 'eu' as region",
    "models/n.sql": "select 'eu' as region",
}


def test_a_test_of_the_project_is_used_by_its_name(apart):
    yaml = """\
models:
  - name: m
    columns:
      - name: users
        data_tests: [{within: {most: 10, config: {severity: warn, where: users > 0}}}]
      - name: region
        data_tests:
          - listed: {arguments: {values: [eu, "u's"], other: ref('n')}, name: known_regions}
    data_tests: [filled]
"""

    model = apart({**PROJECT_TESTS, "models/m.yml": yaml}).models["m"]

    this, other = "`penstock:this:m:bare:m`", "`penstock:model:n:bare:n`"
    assert [
        (c.name, c.test, c.severity, c.rule.query.text.strip()) for c in model.checks.after
    ] == [
        (
            "within_users",
            "within",
            Severity.WARNING,
            (
                f"select * from (select * from {this} where users > 0) as rows_of_test "
                "where users > 10"
            ),
        ),
        (
            "known_regions",
            "listed",
            Severity.ERROR,
            (
                f"select * from {this} where region not in ('eu', 'u's') "
                f"or region not in (select region from {other})"
            ),
        ),
        (
            "filled",
            "filled",
            Severity.ERROR,
            f"select 1 as x where not exists (select * from {this})",
        ),
    ]
    assert model.order_after == ("n",)


def test_a_test_that_is_not_there_names_those_that_are(findings):
    yaml = "models:\n  - name: m\n    data_tests: [fillled]\n"

    assert findings({**PROJECT_TESTS, "models/m.yml": yaml}, hints=True) == [
        (
            "models/m.yml:3:18: error: unknown-check-type: check \"fillled\": 'fillled' "
            "is not a test\n"
            "  hint: did you mean 'filled'? known here: not_null, unique, accepted_values, "
            "relationships, filled, listed, within"
        )
    ]


def test_settings_inside_of_a_test_are_told_to_have_no_effect(findings):
    macro = "{% test t(model) %}{{ config(severity='warn') }}select * from {{ model }}{% endtest %}"
    files = {
        "macros/t.sql": macro,
        "models/m.sql": "select 1 as x",
        "models/m.yml": "models:\n  - name: m\n    data_tests: [t]\n",
    }

    assert findings(files) == [
        (
            'models/m.yml:3:18: warning: option-without-effect: check "t": the settings that t '
            "gives itself with config have no effect"
        )
    ]


def test_a_test_of_a_whole_table_names_its_columns(apart):
    yaml = (
        "models:\n  - name: m\n    data_tests:\n      - unique: {columns: [users, region]}\n"
        "      - not_null: {column_name: users, config: {error_if: '> 2'}}\n"
        "      - {test_name: unique, name: once, column_name: users}\n"
    )

    after = apart({**PROJECT_TESTS, "models/m.yml": yaml}).models["m"].checks.after

    assert [(each.name, each.rule.columns) for each in after] == [
        ("unique_users_region", ("users", "region")),
        ("not_null_users", ("users",)),
        ("once", ("users",)),
    ]


def test_a_test_that_names_the_partition_has_a_result_for_each(load):
    where = "date = @partition_date"
    columns = (
        "columns:\n  - name: user_count\n"
        "    data_tests:\n"
        f"      - {{within: {{most: 9, where: '{where}'}}}}\n"
        "      - {within: {most: 8}, name: all}\n"
        "data_tests: [{unique: {columns: [date, region]}}]\n"
    )

    project = load(user_stats(more=columns, **PROJECT_TESTS))

    found = project.models["user_stats"].checks.after
    assert [(each.name, each.differs_by_group) for each in found] == [
        ("within_user_count", True),
        ("all", False),
        ("unique_date_region", False),
    ]
    assert [each.code for each in project.findings] == ["check-not-partitioned"]
