import datetime as dt

import pytest

from penstock.core.columns.typed import TypedValue, read_typed
from penstock.project.entities.template_functions import BadExpressionError
from penstock.project.entities.templates import (
    low_bound,
    parse_template,
    parse_watermark,
    path_scope,
)

NOW = dt.datetime(2024, 2, 29, 23, 30, tzinfo=dt.UTC)
TODAY = TypedValue("DATE", "2024-03-31")
NAMES = {
    "connection": TypedValue("STRING", "aw"),
    "entity": TypedValue("STRING", "x"),
    "today": TODAY,
}


def rendered(text, **settings):
    values = NAMES | {f"settings_{k}": TypedValue("STRING", v) for k, v in settings.items()}
    template = parse_template(text)
    template.check(path_scope({name: value.type for name, value in values.items()}))
    return template.render(values)


def low(expression, stored, zone="UTC"):
    value = read_typed(stored)
    return str(low_bound(parse_watermark(expression, value.type), value, NOW, zone))


def test_an_expression_is_one_term_of_the_columns_type():
    assert low("'${last_value}'", "DATE 2024-07-10") == "DATE 2024-07-10"
    assert low("${last_value}", "DATE 2024-07-10") == "DATE 2024-07-10"
    for text, kind in (
        ("${minus_hours(last_value, 2)}", "DATE"),
        ("${LocalDate.parse(last_value)}", ""),
        ("now() - 1", ""),
        ("x${last_value}", ""),
    ):
        with pytest.raises(BadExpressionError):
            parse_watermark(text, kind)


def test_a_step_back_gives_the_low_bound():
    assert low("'${minus_days(last_value, 7)}'", "DATE 2025-07-10") == "DATE 2025-07-03"


@pytest.mark.parametrize("value", [r"bad\value", "'; drop", "${today}", '" + x + "'])
def test_a_text_is_used_as_that_very_value(value):
    assert low("'${last_value}'", f"STRING {value}") == f"STRING {value}"


@pytest.mark.parametrize(
    ("expression", "stored", "expected"),
    [
        ("${minus_months(last_value, 1)}", "DATE 2024-03-31", "DATE 2024-02-29"),
        ("${minus_months(last_value, 1)}", "DATE 2025-03-31", "DATE 2025-02-28"),
        ("${plus_months(last_value, 11)}", "DATE 2024-02-29", "DATE 2025-01-29"),
        ("${start_of_month(last_value)}", "DATE 2024-02-29", "DATE 2024-02-01"),
        (
            "${start_of_day(minus_minutes(last_value, 90))}",
            "TIMESTAMP 2024-03-01T01:00:00.000001Z",
            "TIMESTAMP 2024-02-29T00:00:00.000000Z",
        ),
        (
            "${plus_hours(last_value, 2)}",
            "TIMESTAMP_NTZ 2024-12-31T23:00:00.5",
            "TIMESTAMP_NTZ 2025-01-01T01:00:00.500000",
        ),
        ("${minus(last_value, 10)}", "BIGINT 7", "BIGINT -3"),
        ("${plus(last_value, -10)}", "DECIMAL(10,2) 7.25", "DECIMAL(10,2) -2.75"),
        ("${minus(watermark, 1)}", "SMALLINT 7", "SMALLINT 6"),
        ("${today}", "DATE 2020-01-01", "DATE 2024-02-29"),
        (
            "${now}",
            "TIMESTAMP 2020-01-01T00:00:00Z",
            "TIMESTAMP 2024-02-29T23:30:00.000000Z",
        ),
    ],
)
def test_every_function_of_a_watermark(expression, stored, expected):
    assert low(expression, stored) == expected


def test_today_is_the_date_of_the_environments_zone():
    assert low("${today}", "DATE 2020-01-01", "Europe/Amsterdam") == "DATE 2024-03-01"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("${last_valu}", ""),
        ("${minus_days(last_value)}", "DATE"),
        ("${minus_days(last_value, 'x')}", "DATE"),
        ("${minus_days(last_value, 1.5)}", "DATE"),
        ("${minus(last_value, 1)}", "DATE"),
        ("${lower(last_value)}", "STRING"),
        ("${now}", "DATE"),
        ("${today}", "INT"),
        ("'${last_value} '", ""),
        ("${last_value}${last_value}", ""),
        ("'${last_value}", ""),
        ("last_value", ""),
        ("", ""),
        ("${last_value", ""),
        ("${}", ""),
        ("${last_value,}", ""),
        ("${minus_days(last_value, 1}", ""),
        ("${" + "start_of_day(" * 50 + "now" + ")" * 50 + "}", ""),
        ("${minus(last_value, 99999999999999999999)}", "INT"),
    ],
)
def test_what_is_no_expression_is_refused(text, kind):
    with pytest.raises(BadExpressionError) as caught:
        parse_watermark(text, kind)

    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("${minus_days(last_value, 999999999999)}", "DATE 2024-01-01"),
        ("${minus_months(last_value, 999999)}", "DATE 2024-01-01"),
        ("${minus(last_value, 1)}", "TINYINT -128"),
        ("${plus(last_value, 1)}", "DECIMAL(3,0) 999"),
    ],
)
def test_a_value_that_its_type_does_not_hold_is_refused(text, stored):
    with pytest.raises(BadExpressionError, match="has no value of its type"):
        low(text, stored)


def test_the_type_may_be_known_later():
    term = parse_watermark("${minus_days(last_value, 1)}")

    with pytest.raises(BadExpressionError, match="minus_days takes DATE or TIMESTAMP"):
        low_bound(term, TypedValue("INT", "1"), NOW, "UTC")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("/${connection}/${entity}", "/aw/x"),
        ("test__${connection}.${entity}", "test__aw.x"),
        ("${today}", "20240331"),
        ("${minus_months(today, 1)}", "20240229"),
        ("${format(today, 'yyyy/MM/dd')}", "2024/03/31"),
        ("${format(today, 'yy-M-d HH:m:ss')}", "24-3-31 00:0:00"),
        ("${ upper( connection ) }", "AW"),
        ("a$b{c}$ {d}", "a$b{c}$ {d}"),
        ("${'}${'}", "}${"),
        ("", ""),
    ],
)
def test_a_path_is_text_with_values(template, expected):
    assert rendered(template) == expected


def test_a_template_runs_nothing_and_its_values_are_data():
    quote = "\"'`\\${today}$(x)"

    assert rendered("a/${settings_q}/${settings_a-key}", q=quote, **{"a-key": "v"}) == (
        f"a/{quote}/v"
    )
    for text in ("${settings_nope}", "${__import__('os')}", "${format(today, 'EEE')}", "${now}"):
        with pytest.raises(BadExpressionError):
            rendered(text)


def test_a_template_names_what_it_mentions_and_a_near_name_is_a_hint():
    assert parse_template("${lower(connection)}/${today}").names() == {"connection", "today"}
    with pytest.raises(BadExpressionError) as caught:
        rendered("${conection}")
    assert caught.value.hint.startswith("did you mean connection? names: connection, entity")
