import datetime as dt

import pytest

from penstock.strategies.entities.moments import at_time, split_alias, split_projection

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
    ("item", "name"),
    [
        ("id", "id"),
        ("upper(name) as name", "name"),
        ("a b", "b"),
        ("t.`odd name`", "odd name"),
        ("explode(xs)", ""),
        ("a + 1", ""),
        ("*", ""),
    ],
)
def test_an_item_of_a_projection_has_a_name(item, name):
    assert split_alias(item)[0] == name


def test_a_projection_is_cut_between_its_items():
    told = "id, concat(a, ',', f(b)) AS c, map(1, 2)[1], now(), `x,y`"

    assert [each.strip() for each in split_projection(told)] == [
        *("id", "concat(a, ',', f(b)) AS c", "map(1, 2)[1]", "now()", "`x,y`")
    ]
