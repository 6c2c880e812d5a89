from decimal import Decimal
from fractions import Fraction

import pytest

from penstock.strategies.checks import literals


@pytest.mark.parametrize(
    ("text", "kind", "literal", "is_value"),
    [
        (" 7 ", "bigint", "7", True),
        ("-7", "int", "(-7)", True),
        ("1.5", "int", "1.5BD", False),
        ("1.0", "int", "1.0BD", True),
        ("0.10", "decimal(10,1)", "0.10BD", True),
        ("123456789.1", "decimal(10,2)", "123456789.1BD", False),
        ("12345678.12", "decimal(10,2)", "12345678.12BD", True),
        ("1" * 38, "decimal(38,0)", "1" * 38, True),
        ("1" * 39, "decimal(38,0)", f"CAST('{'1' * 39}' AS decimal(38,0))", False),
        ("123456789012345678901", "bigint", "123456789012345678901", False),
        ("NaN", "int", "CAST('NaN' AS int)", False),
        ("NaN", "double", "CAST('NaN' AS double)", True),
        ("-0.0", "float", "CAST('0' AS float)", True),
        ("TRUE", "boolean", "true", True),
        ("1", "boolean", "CAST('1' AS boolean)", False),
        ("2024-12-02", "date", "DATE '2024-12-02'", True),
        ("2024-12-02 10:00", "date", "TIMESTAMP_NTZ '2024-12-02 10:00:00'", True),
        ("soon", "timestamp", "CAST('soon' AS timestamp)", False),
        (" x", "string collate unicode", "' x'", True),
        ("x", "varchar(3)", "'x'", True),
        ("x", "binary", "CAST('x' AS binary)", False),
    ],
)
def test_a_text_is_a_literal_in_the_type_of_its_column(text, kind, literal, is_value):
    assert literals.literal_of(text, kind) == literal
    assert literals.is_value(text, kind) is is_value


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (Fraction(100, 3), None, "33.33"),
        (Fraction(100, 3), Fraction("33.33"), "33.333"),
        (Fraction(50), Fraction(50), "50.00"),
        (Fraction("50.0000001"), Fraction(50), "50.000000"),
        (Fraction("1.005"), None, "1.01"),
        (Fraction("-1.005"), None, "-1.01"),
    ],
)
def test_a_percentage_has_two_digits_or_as_many_as_tell_it_from_its_bound(value, bound, expected):
    assert literals.percent(value, bound) == expected


def test_bounds_and_means_are_written_as_people_would():
    assert [literals.exactly(Decimal(each)) for each in ("5", "5.5", "33.335", "1E+2")] == [
        "5.00",
        "5.50",
        "33.335",
        "100.00",
    ]
    assert [literals.number(Fraction(*each)) for each in ((5, 2), (100, 1), (10, 3))] == [
        "2.5",
        "100",
        "3.33",
    ]
    assert literals.amount(1, "row") == "1 row"
    assert literals.amount(0, "row") == "0 rows"
    assert [literals.shortened(each, 4) for each in ("abcd", "abcde")] == ["abcd", "abc…"]


DAY, HOUR, MINUTE, SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000


@pytest.mark.parametrize(
    ("micros", "limit", "expected"),
    [
        (2 * DAY + 3 * HOUR + 5 * MINUTE, None, "2d 3h"),
        (2 * DAY + 3 * HOUR + 5 * MINUTE, 2 * DAY + 3 * HOUR, "2d 3h 5m"),
        (2 * DAY + 1, 2 * DAY, "2d 0.000001s"),
        (50 * MINUTE, None, "50m"),
        (HOUR + 59 * SECOND, None, "1h"),
        (2 * HOUR + 30 * SECOND, 2 * HOUR, "2h 30s"),
        (2 * HOUR, 2 * HOUR, "2h"),
        (SECOND + 500_000, 0, "1.5s"),
        (0, None, "0m"),
    ],
)
def test_an_age_has_its_largest_units_or_all_that_tell_it_from_a_limit(micros, limit, expected):
    assert literals.age(micros, limit) == expected
