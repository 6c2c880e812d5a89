"""What is wrong with checks is found at load, all at once."""

from __future__ import annotations

import pytest

from fakes.check_projects import C3, PATH, user_stats


def test_one_load_lists_thirteen_findings(findings):
    files = user_stats()
    files[PATH] += f"    checks:\n      after:\n{C3}"

    assert [each.removeprefix(PATH) for each in findings(files, hints=True)] == [
        (
            ":17:18: error: unknown-check-type: check \"rowcount\": type 'rowcount' is not known\n"
            "  hint: did you mean 'row_count'?"
        ),
        (
            ':18:18: error: missing-bounds: check "row_count": none of min, max is given\n'
            "  hint: give min, max or both"
        ),
        (
            ':19:48: error: min-above-max: check "bounds": min 10 is above max 5\n'
            "  hint: exchange them"
        ),
        (
            ':20:67: error: percent-out-of-range: check "null_percentage_region": '
            "max_percentage 150 is not a percentage\n  hint: 0 to 100"
        ),
        (
            ':22:11: error: duplicate-check: check "a" is there twice under after; '
            f"the first is at {PATH}:21:11\n  hint: give one of them another name"
        ),
        (
            ':23:29: error: sql-file-not-found: check "gone": there is no file '
            f"models/checks/gone.sql\n  hint: paths are relative to {PATH}"
        ),
        (
            ':24:32: error: not-a-query: check "deletes": one query is expected; '
            "this begins with DELETE\n  hint: a check reads the rows of a SELECT"
        ),
        (
            ':25:31: error: unknown-placeholder: check "braces": unknown placeholder {table}\n'
            "  hint: did you mean {destination}?"
        ),
        (
            ":29: error: unknown-parameter: check \"dates\": unknown parameter '@partition_day'\n"
            "  hint: did you mean '@partition_date'?"
        ),
        (
            ':30:59: error: empty-values: check "accepted_values_region": '
            "values is an empty list, which no value is in\n  hint: list the values"
        ),
        (
            ':31:36: error: unknown-column: check "not_null_revenu": '
            "no column is called 'revenu'\n"
            "  hint: did you mean 'revenue'?"
        ),
        (
            ":32:61: error: bad-value: check \"severe\": severity is 'critical'; "
            "it must be error or warning\n  hint: error, warning"
        ),
        (
            ':33:56: error: bad-bound: check "value_range_user_count": '
            "min 1.5 is not a value of BIGINT\n  hint: the column is BIGINT"
        ),
    ]


@pytest.mark.parametrize(
    "check",
    [
        "{name: a, type: column_check, column: revenue, check: 'MIN(revenue) > user_count'}",
        "{name: a, type: column_check, column: revenue, check: '(select 1) = 1'}",
        "{name: a, type: column_check, column: revenue, check: 'rand() > 0.5'}",
        "{name: a, type: row_count, min: 1, where: 'max(revenue) > 1'}",
    ],
)
def test_conditions_are_of_a_row_or_of_a_group(said, check):
    (found,) = said(check)

    assert found.startswith('bad-check-expression: check "a": ')
    assert found.endswith("\n  hint: use a sql check")


@pytest.mark.parametrize(
    ("check", "finding"),
    [
        ("{min: 1}", "check-type-missing: check: it has neither type nor sql"),
        (
            "{name: nulls, type: null_percentage, max_percentage: 1}",
            'missing-key: check "nulls": null_percentage needs column',
        ),
        ("{sql: select 1}", "missing-key: check: SQL that stands inline needs a name"),
        (
            "{name: x y, type: row_count, min: 1}",
            (
                "bad-value: check \"x y\": name is 'x y'; it must be letters, digits, _ . and -, "
                "no digit first, 128 at most"
            ),
        ),
        (
            "{type: row_count, min: 1, mx: 2}",
            "unknown-key: check \"row_count\": unknown key 'mx'",
        ),
        (
            "{name: a, sql: select 1, where: date is null}",
            "unknown-key: check \"a\": unknown key 'where'",
        ),
        (
            "{type: not_null, column: date, columns: [region]}",
            (
                'alias-conflict: check "not_null_region": columns and column are one key; '
                "the other is on line 8"
            ),
        ),
        (
            "{type: value_range, column: date, min: 2024-12-10, max: 2024-12-09}",
            'min-above-max: check "value_range_date": min 2024-12-10 is above max 2024-12-09',
        ),
        (
            "{type: value_range, column: region, min: b, max: a}",
            'min-above-max: check "value_range_region": min b is above max a',
        ),
        (
            "{type: value_range, column: revenue, min: 5, max: 5.0, strict: true}",
            (
                'min-above-max: check "value_range_revenue": '
                "min and max are both 5, and strict leaves both out"
            ),
        ),
        (
            "{type: accepted_values, column: user_count, values: [1, x]}",
            'bad-bound: check "accepted_values_user_count": values x is not a value of BIGINT',
        ),
        (
            "{type: value_range, column: date, min: yesterday}",
            'bad-bound: check "value_range_date": min yesterday is not a value of DATE',
        ),
        (
            "{type: freshness, column: region, max_age: 2 days}",
            (
                'wrong-column-type: check "freshness_region": '
                "freshness needs DATE, TIMESTAMP or TIMESTAMP_NTZ; 'region' is STRING"
            ),
        ),
        (
            "{type: freshness, column: date, max_age: 2 months}",
            (
                "bad-value: check \"freshness_date\": max_age is '2 months'; "
                "it must be a duration such as 90m, 36h or 2 days"
            ),
        ),
        (
            "{name: a, type: relationships, column: region, to: regions, field: code}",
            "unknown-reference: check \"a\": to: 'regions' is not a model or source",
        ),
        (
            "{type: relationships, column: region, to: user_stats, fields: [region, date]}",
            (
                'bad-value: check "relationships_region": fields is a list; '
                "it must be as many columns as columns, which are 1"
            ),
        ),
        (
            "{type: row_count_change, max_decrease_percent: 101}",
            (
                'percent-out-of-range: check "row_count_change": '
                "max_decrease_percent 101 is not a percentage"
            ),
        ),
        (
            "{type: row_count_change, max_percent: 5, last: 3}",
            (
                'option-conflict: check "row_count_change": last counts what compare: trailing '
                "compares with"
            ),
        ),
        *(
            (
                f"{{type: row_count_change, max_percent: 5, {key}: {value}}}",
                (
                    'option-conflict: check "row_count_change": row_count_change counts all rows '
                    f"of a step, as earlier ones did; {key} says other rows"
                ),
            )
            for key, value in (
                ("where", "region = 'eu'"),
                ("scope", "table"),
                ("query", "select 1"),
            )
        ),
        (
            "{type: schema, types: {id: BIGNT}}",
            "unknown-type: check \"schema\": 'BIGNT', the type of id, is not a type",
        ),
        (
            "{type: schema, types: [id]}",
            'bad-value: check "schema": types is a list; it must be a mapping of columns to types',
        ),
        ("{type: schema}", 'missing-key: check "schema": schema needs types'),
        (
            "{type: schema, types: {id: INT}, empty: fail}",
            (
                "bad-value: check \"schema\": empty is 'fail'; it must be left out: "
                "columns are compared, and not rows"
            ),
        ),
        (
            "{type: anomaly, sensitivity: -1}",
            'bad-value: check "anomaly": sensitivity is -1; it must be a number above 0',
        ),
        (
            "{type: anomaly, measure: 7}",
            'bad-value: check "anomaly": measure is 7; it must be a condition, such as amount >= 0',
        ),
        (
            "{type: anomaly, measure: abs(revenue)}",
            (
                'bad-check-expression: check "anomaly": the measure has no aggregate, '
                "so it is no number of a group"
            ),
        ),
        (
            "{type: anomaly, measure: sum(revenu)}",
            "unknown-column: check \"anomaly\": no column is called 'revenu'",
        ),
        (
            "{type: anomaly, min_history: 9, last: 4}",
            (
                'option-conflict: check "anomaly": min_history 9 is above last 4, '
                "so it never compares"
            ),
        ),
        (
            "{type: row_count, min: 1, empty: fail}",
            (
                "bad-value: check \"row_count\": empty is 'fail'; it must be left out: "
                "0 rows are compared with the bounds"
            ),
        ),
        (
            "{name: a, sql: select 1 where date = @partition_date, empty: fail}",
            (
                "bad-value: check \"a\": empty is 'fail'; it must be left out: "
                "the query says what no rows mean"
            ),
        ),
        (
            "{type: row_count, min: 1, tags: [a, 1]}",
            'bad-value: check "row_count": tags holds 1; it must be a list of texts',
        ),
        (
            "{name: a, type: not_null, columns: []}",
            'bad-value: check "a": columns is an empty list',
        ),
        (
            "{type: row_count, min: 1, query: select 1, scope: table}",
            (
                'option-conflict: check "row_count": query says which rows are checked, '
                "and so does scope"
            ),
        ),
        (
            "{type: row_count, min: 1, input: raw.events}",
            (
                'check-phase: check "row_count": input is for checks under before: '
                "after a step, its own rows are checked"
            ),
        ),
        (
            "{name: a, sql: 'select * from {destination}'}",
            None,
        ),
        (
            "{name: a, sql: \"select '@partition_date' as a where date(now()) = @run_date\"}",
            None,
        ),
    ],
)
def test_a_check_that_does_not_fit_is_one_finding(said, check, finding):
    found = [each.partition("\n")[0] for each in said(check)]

    assert [each for each in found if not each.startswith(("check-not", "parameter-in"))] == (
        [] if finding is None else [finding]
    )


def test_a_parameter_in_a_string_is_told(said):
    check = "{name: a, sql: \"select '@partition_date {x}' as a -- {y}\"}"

    assert [each.partition(": ")[0] for each in said(check)] == [
        "check-not-partitioned",
        "parameter-in-string",
    ]


def test_sql_without_a_parameter_is_told_in_a_partition_model(said):
    assert said("{name: a, sql: select * from analytics.user_stats}") == [
        (
            'check-not-partitioned: check "a": its SQL has no parameter of partitions\n'
            "  hint: filter by @partition_date, or every partition of a step shares its result"
        )
    ]


def test_parameters_of_partitions_have_no_value_in_a_table(findings):
    yaml = "models:\n  - name: m\n    checks: [{type: row_count, min: 1, where: d = @start_date}]\n"
    files = {"models/m.sql": "{{ config(materialized='table') }} select 1 as d"}

    assert findings({**files, "models/m.yml": yaml}) == [
        (
            'models/m.yml:3:47: error: parameter-without-partition: check "row_count": '
            "@start_date is that of a partition, and the model has none"
        )
    ]


BEFORE = "models:\n  - name: m\n    checks:\n      before: [{check}]\n"
JOINED = {"models/m.sql": "select 1 as a from raw.events e join raw.users u"}


@pytest.mark.parametrize(
    ("check", "finding"),
    [
        (
            "{type: row_count, min: 4}",
            (
                'check-needs-input: check "row_count": the model reads raw.events, raw.users; '
                "which of them is checked?\n  hint: input: raw.events"
            ),
        ),
        (
            "{type: row_count, min: 4, input: raw.evnts}",
            (
                "unknown-reference: check \"row_count\": input: 'raw.evnts' is not a model "
                "or source\n"
                "  hint: declare it under sources: in a YAML file"
            ),
        ),
        (
            "{type: row_count, min: 4, input: raw.users, scope: table}",
            (
                'check-phase: check "row_count": scope is for checks under after: '
                "before a step, its input is checked\n  hint: take it out"
            ),
        ),
        (
            "{type: row_count_change, max_percent: 5}",
            (
                'check-phase: check "row_count_change": row_count_change compares rows that were '
                "written: put it under after\n  hint: put it under after"
            ),
        ),
        (
            "{type: row_count, min: 4, input: raw.users, query: select 1}",
            (
                'option-conflict: check "row_count": query says which rows are checked, '
                "and so does input\n  hint: keep one of them"
            ),
        ),
    ],
)
def test_a_check_before_says_which_input_it_looks_at(findings, check, finding):
    yaml = BEFORE.replace("{check}", check)

    found = findings({**JOINED, "models/m.yml": yaml}, hints=True)

    assert [each.partition("error: ")[2] for each in found] == [finding]


def test_a_model_that_reads_nothing_has_no_rows_before_it(findings):
    yaml = BEFORE.replace("{check}", "{type: row_count, min: 4}")

    assert findings({"models/m.sql": "select 1 as a", "models/m.yml": yaml}, hints=True) == [
        (
            'models/m.yml:4:23: error: check-needs-input: check "row_count": '
            "the model reads no table, so no rows are there before it\n"
            "  hint: write query: with the rows to check"
        )
    ]


def test_the_named_input_is_looked_at(load):
    yaml = BEFORE.replace("{check}", "{type: row_count, min: 4, input: raw.events}")

    (check,) = load({**JOINED, "models/m.yml": yaml}).models["m"].checks.before

    assert (str(check.input), check.reads) == ("raw.events", (check.input,))


def test_a_check_before_knows_the_columns_of_its_input(findings):
    source = (
        "sources:\n  - name: raw\n    tables:\n      - name: events\n"
        "        columns: [{name: id, data_type: bigint}, {name: at, data_type: timestamp}]\n"
    )
    yaml = BEFORE.replace("{check}", "{type: not_null, column: idd}")
    files = {"models/m.sql": "select 1 as a from raw.events", "models/s.yml": source}

    assert findings({**files, "models/m.yml": yaml}) == [
        (
            'models/m.yml:4:41: error: unknown-column: check "not_null_idd": '
            "no column is called 'idd'"
        )
    ]


def test_columns_are_checked_only_where_all_are_known(findings):
    yaml = "models:\n  - name: {name}\n    checks: [{type: not_null, column: x}]\n"
    files = {
        "models/star.sql": "select * from raw.events",
        "models/star.yml": yaml.replace("{name}", "star"),
        "models/listed.sql": "select a, b as c from raw.events",
        "models/listed.yml": yaml.replace("{name}", "listed"),
    }

    assert [each.partition(": ")[0] for each in findings(files)] == ["models/listed.yml:3:39"]


def test_a_model_that_cannot_be_read_has_its_checks_looked_at(findings):
    yaml = "models:\n  - name: m\n    checks: [{type: row_count}]\n"

    found = findings({"models/m.sql": "delete from t", "models/m.yml": yaml})

    assert [each.split(": ")[2] for each in found] == ["not-a-query", "missing-bounds"]
