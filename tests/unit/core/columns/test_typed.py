"""Watermark values: compared by type, never as text."""

import datetime as dt
from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.columns.typed import TypedValue, is_watermark_type, read_typed
from penstock.core.errors import UsageError

parse = TypedValue.parse
WHOLE = st.integers(-(2**63), 2**63 - 1)
MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))  # noqa: DTZ001
WIDE = Context(prec=80)
DECIMALS = st.decimals(-(10**36), 10**36, places=2, allow_nan=False, allow_infinity=False).filter(
    lambda value: len(value.as_tuple().digits) <= 38
)
VALUES = st.one_of(
    st.builds(parse, st.sampled_from(["INT", "BIGINT"]), WHOLE.map(str)),
    st.builds(parse, st.just("DATE"), st.dates().map(str)),
    st.builds(parse, st.sampled_from(["TIMESTAMP", "TIMESTAMP_NTZ"]), MOMENTS.map(str)),
    st.builds(parse, st.just("DECIMAL(38,2)"), DECIMALS.map(str)),
    st.builds(parse, st.just("STRING"), st.text(max_size=9)),
)


@given(VALUES)
def test_what_is_written_reads_back_with_its_type(value):
    again = read_typed(str(value))

    assert (again.type, again.text) == (value.type, value.text)
    assert again == value


@given(st.text(max_size=9))
def test_a_text_keeps_the_blanks_at_its_ends(text):
    assert read_typed(str(parse("STRING", text))).text == text


@given(WHOLE, WHOLE)
def test_numbers_of_any_width_compare_by_value(one, two):
    assert (parse("INT", str(one)) < parse("BIGINT", str(two))) == (one < two)


@given(MOMENTS, MOMENTS)
def test_times_compare_by_instant(one, two):
    assert (parse("TIMESTAMP", str(one)) < parse("TIMESTAMP", str(two))) == (one < two)


@given(st.text(max_size=5), st.text(max_size=5))
def test_texts_compare_by_their_bytes_as_spark_sorts_them(one, two):
    values = [TypedValue("STRING", one), TypedValue("STRING", two)]

    assert [v.text for v in sorted(values)] == sorted([one, two], key=str.encode)


@given(DECIMALS)
def test_no_digit_of_a_decimal_is_lost(value):
    typed = parse("DECIMAL(38,2)", str(value))

    assert Decimal(typed.text) == value
    assert Decimal(typed.minus(1).text) == Decimal(f"{int(value * 100) - 100}").scaleb(-2, WIDE)


@pytest.mark.parametrize(
    ("kind", "text", "canonical"),
    [
        ("int", " 007 ", "INT 7"),
        ("date", "2024-03-01T12:00:00", "DATE 2024-03-01"),
        ("timestamp", "2024-03-01", "TIMESTAMP 2024-03-01T00:00:00.000000Z"),
        ("timestamp", "2024-03-01T13:00:00+01:00", "TIMESTAMP 2024-03-01T12:00:00.000000Z"),
        ("timestamp_ntz", "2024-03-01 12:00:00.5", "TIMESTAMP_NTZ 2024-03-01T12:00:00.500000"),
        ("decimal(10, 2)", "12.5", "DECIMAL(10,2) 12.50"),
        ("string", "b", "STRING b"),
    ],
)
def test_each_type_has_one_way_to_be_written(kind, text, canonical):
    assert str(parse(kind, text)) == canonical


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("INT", "1.5"),
        ("DATE", "today"),
        ("TIMESTAMP", "12:00"),
        ("DECIMAL(5,2)", "x"),
        ("MAP", "1"),
    ],
)
def test_a_value_that_does_not_fit_its_type_is_refused(kind, text):
    with pytest.raises(UsageError) as caught:
        parse(kind, text)

    assert caught.value.code == "bad-value"
    assert caught.value.sentence == f"{text!r} is not a {kind}"


def test_values_of_different_families_do_not_compare():
    with pytest.raises(TypeError):
        assert parse("DATE", "2024-03-01") < parse("INT", "7")


@pytest.mark.parametrize(
    ("kind", "text", "amount", "before"),
    [
        ("DATE", "2024-03-01", dt.timedelta(days=1), "2024-02-29"),
        ("DATE", "2024-03-01", dt.timedelta(hours=1), "2024-02-29"),
        ("DATE", "2024-03-03", dt.timedelta(hours=25), "2024-03-01"),
        ("DATE", "2024-03-03", 2, "2024-03-01"),
        ("TIMESTAMP", "2024-03-01", dt.timedelta(hours=1), "2024-02-29T23:00:00.000000Z"),
        ("BIGINT", "7", 9, "-2"),
        ("DECIMAL(10,2)", "7.25", 1, "6.25"),
    ],
)
def test_a_lookback_steps_back_by_time_or_number(kind, text, amount, before):
    assert parse(kind, text).takes(amount)
    assert parse(kind, text).minus(amount).text == before


@pytest.mark.parametrize(
    ("kind", "text", "amount"),
    [
        ("STRING", "b", 1),
        ("INT", "1", dt.timedelta(days=1)),
        ("INT", "1", Decimal("0.5")),
        ("DATE", "2024-03-01", Decimal(1)),
        ("INT", "1", None),
    ],
)
def test_a_lookback_must_fit_its_column(kind, text, amount):
    assert not parse(kind, text).takes(amount)
    with pytest.raises(TypeError):
        parse(kind, text).minus(amount)


@pytest.mark.parametrize(
    ("kind", "text", "sql"),
    [
        ("DATE", "2024-03-01", "DATE '2024-03-01'"),
        ("TIMESTAMP", "2024-03-01", "TIMESTAMP '2024-03-01T00:00:00.000000Z'"),
        ("BIGINT", "7", "CAST('7' AS BIGINT)"),
        ("STRING", "it's", r"'it\'s'"),
    ],
)
def test_a_literal_carries_its_type(kind, text, sql):
    assert parse(kind, text).sql == sql


def test_only_types_that_sort_carry_a_watermark():
    known = ["tinyint", "bigint", "date", "timestamp_ntz", "decimal(10,2)", "string"]

    assert [kind for kind in known if is_watermark_type(kind)] == known
    assert not any(map(is_watermark_type, ["double", "boolean", "binary", "array<int>"]))


@given(VALUES)
def test_the_next_value_is_greater_and_of_the_type(value):
    found = value.next()

    assert value < found
    assert parse(found.type, found.text).text == found.text


@pytest.mark.parametrize(
    ("kind", "text", "following"),
    [
        ("INT", "-1", "0"),
        ("DATE", "2024-02-28", "2024-02-29"),
        ("TIMESTAMP", "2024-12-31T23:59:59.999999Z", "2025-01-01T00:00:00.000000Z"),
        (
            "DECIMAL(38,2)",
            "123456789012345678901234567890.12",
            "123456789012345678901234567890.13",
        ),
        ("DECIMAL(38,0)", "9" * 37, "1" + "0" * 37),
        ("STRING", "ab", "ab\0"),
    ],
)
def test_nothing_lies_between_a_value_and_the_next(kind, text, following):
    assert parse(kind, text).next().text == following


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("TINYINT", "127"),
        ("SMALLINT", "32767"),
        ("INT", "2147483647"),
        ("BIGINT", str(2**63 - 1)),
        ("DECIMAL(4,2)", "99.99"),
        ("DATE", "9999-12-31"),
        ("TIMESTAMP_NTZ", "9999-12-31T23:59:59.999999"),
    ],
)
def test_the_greatest_value_of_a_type_has_no_next(kind, text):
    assert parse(kind, text).next().text == text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("smallint", "-32768"),
        ("DECIMAL(38,2)", f"-{'9' * 36}.99"),
        ("DECIMAL(3, 3)", "-0.999"),
        ("DATE", "0001-01-01"),
        ("TIMESTAMP", "0001-01-01T00:00:00.000000Z"),
        ("STRING", ""),
    ],
)
def test_the_least_value_is_one_that_the_type_can_hold(kind, text):
    found = TypedValue.least(kind)

    assert found.text == text
    assert parse(found.type, found.text).text == text


@pytest.mark.parametrize(
    ("grain", "expected"),
    [
        ("hour", "2024-02-29T12:00:00.000000Z"),
        ("day", "2024-02-29T00:00:00.000000Z"),
        ("week", "2024-02-26T00:00:00.000000Z"),
        ("month", "2024-02-01T00:00:00.000000Z"),
        ("year", "2024-01-01T00:00:00.000000Z"),
    ],
)
def test_a_time_lies_in_units_that_begin_somewhere(grain, expected):
    found = TypedValue.parse("TIMESTAMP", "2024-02-29 12:30:00").floor(grain)

    assert found == TypedValue.parse("TIMESTAMP", expected)


def test_a_day_has_no_hour_and_a_number_no_unit_at_all():
    day = TypedValue.parse("DATE", "2024-02-29")

    assert day.floor("hour") == day
    with pytest.raises(TypeError, match="a INT has no week"):
        TypedValue.parse("INT", "7").floor("week")


def test_a_set_holds_equal_values_of_any_width_once():
    assert len({parse("INT", "7"), parse("BIGINT", "7"), parse("INT", "8")}) == 2
    assert parse("INT", "7") != 7


def test_a_type_without_an_order_has_no_least_value():
    with pytest.raises(ValueError, match="MAP"):
        TypedValue.least("map")
