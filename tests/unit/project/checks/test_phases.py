"""dbt's tests of columns are checks under after."""

from __future__ import annotations

import pytest

from penstock.core.checks import AcceptedValues, NotNull, Relationships, Unique
from penstock.core.findings import Severity
from penstock.core.names import InputKind, InputName

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


def test_C6_four_tests_are_four_warnings_after(load):
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


def test_C6_tests_mean_what_checks_mean(apart):
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
        (
            "not_null: {config: {error_if: '>10'}}",
            (
                "error: unsupported-threshold: error_if is '>10'; only != 0 is known\n"
                "  hint: use null_percentage, row_count or column_check"
            ),
        ),
        ("not_null: {config: {warn_if: '!= 0'}}", None),
        (
            "dbt_utils.x",
            (
                'error: unknown-check-type: column "region": '
                "'dbt_utils.x' is no test of columns\n"
                "  hint: known here: not_null, unique, accepted_values, relationships"
            ),
        ),
        (
            "unique: {config: {limit: 5}}",
            "info: option-without-effect: limit has no effect on a check",
        ),
        (
            "accepted_values: {}",
            'error: missing-key: check "accepted_values_region": accepted_values needs values',
        ),
        ("not_null: {vales: 1}", "error: unknown-key: unknown key 'vales'"),
    ],
)
def test_C6_a_test_that_does_not_fit_is_one_finding(findings, test, finding):
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


def test_tests_of_a_seed_are_told_not_to_run(findings):
    yaml = (
        "seeds:\n  - name: country\n    data_tests: [x.y]\n"
        "    columns: [{name: code, data_tests: [unique]}]\n"
    )

    assert findings({"seeds/country.csv": "code\nde\n", "models/s.yml": yaml}) == [
        "models/s.yml:3:5: warning: option-without-effect: data_tests of a seed do not run",
        "models/s.yml:4:28: warning: option-without-effect: data_tests of a seed do not run",
    ]
