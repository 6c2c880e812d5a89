import datetime as dt

import pytest

from penstock.strategies.entities.moments import at_time, read_moment, split_alias, split_projection

AT = dt.datetime(2024, 2, 29, 23, 30, tzinfo=dt.UTC)
STAMP = "TIMESTAMP '2024-02-29T23:30:00.000000Z'"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("current_timestamp()", STAMP),
        ("CURRENT_TIMESTAMP", STAMP),
        ("now ( )", STAMP),
        ("now", "now"),
        ("date_add(current_date, 1)", "date_add(DATE '2024-02-29', 1)"),
        ("(current_date)", "(DATE '2024-02-29')"),
        ("curdate()", "DATE '2024-02-29'"),
        ("localtimestamp()", "TIMESTAMP_NTZ '2024-02-29 23:30:00.000000'"),
        ("'now()' || `current_date`", "'now()' || `current_date`"),
        ("t.current_date", "t.current_date"),
        ("a -- now()\n + 1", "a -- now()\n + 1"),
        ("now(1)", "now(1)"),
    ],
)
def test_the_time_of_day_is_the_processing_time(expression, expected):
    assert at_time(expression, AT) == expected


@pytest.mark.parametrize(
    ("item", "name", "expression"),
    [
        ("id", "id", "id"),
        ("upper(name) as name", "name", "upper(name) "),
        ("a b", "b", "a b"),
        ("as", "as", "as"),
        ("t.`odd ``name`", "odd `name", "t.`odd ``name`"),
        ("id -- its key", "id", "id -- its key"),
        ("explode(xs)", "", "explode(xs)"),
        ("a AS b + 1", "", "a AS b + 1"),
        ("*", "", "*"),
    ],
)
def test_an_item_of_a_projection_has_a_name_and_an_expression(item, name, expression):
    assert split_alias(item) == (name, expression)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-07-01T12:00", "2025-07-01T10:00:00+00:00"),
        ("2025-07-01T12:00:30.5Z", "2025-07-01T12:00:30.500000+00:00"),
        ("2025-07-01T12:00+05:30", "2025-07-01T06:30:00+00:00"),
        ("2025-07-01", None),
        ("2025-07-01T25:00", None),
        ("0001-01-01T00:00:00", None),
    ],
)
def test_a_processing_time_is_one_of_its_zone_unless_it_has_an_offset(text, expected):
    found = read_moment(text, "Europe/Amsterdam")

    assert found == (expected and dt.datetime.fromisoformat(expected))
    assert (found and found.tzinfo) in (None, dt.UTC)


def test_a_projection_is_cut_between_its_items():
    told = "id, concat(a, ',', f(b)) AS c, map(1, 2)[1], now(), `x,y`"

    assert [each.strip() for each in split_projection(told)] == [
        *("id", "concat(a, ',', f(b)) AS c", "map(1, 2)[1]", "now()", "`x,y`")
    ]
