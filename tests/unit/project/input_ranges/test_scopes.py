from __future__ import annotations

import pytest

from fakes.inferred_ranges import (
    DAYS,
    EVENTS,
    SHAPES,
    USERS,
    linked,
    read,
)
from penstock.project.input_ranges.infer import infer
from penstock.project.input_ranges.inputs import Found, InputShape

ONE_DAY = ["2024-12-03..2024-12-03"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 FROM {users} u JOIN {daily} d ON d.k = u.k AND d.date = $", ONE_DAY),
        ("SELECT 1 FROM {users} u LEFT JOIN {daily} d ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {daily} d LEFT JOIN {users} u ON d.date = $", "whole"),
        ("SELECT 1 FROM {daily} d RIGHT JOIN {users} u ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {users} u RIGHT JOIN {daily} d ON d.date = $", "whole"),
        ("SELECT 1 FROM {users} u FULL JOIN {daily} d ON d.date = $", "whole"),
        ("SELECT 1 FROM {users} u FULL JOIN {daily} d ON d.k = u.k WHERE d.date = $", ONE_DAY),
        ("SELECT 1 FROM {users} u LEFT SEMI JOIN {daily} d ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {daily} d LEFT SEMI JOIN {users} u ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {users} u LEFT ANTI JOIN {daily} d ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {daily} d LEFT ANTI JOIN {users} u ON d.date = $", "whole"),
        ("SELECT 1 FROM {users} u, {daily} d WHERE date = $", ONE_DAY),
        ("SELECT 1 FROM ({users} JOIN {daily} ON daily.date = $)", ONE_DAY),
        (
            (
                "SELECT 1 FROM {users} u LEFT JOIN {daily} d ON 1 = 1 WHERE d.date = $ OR d.date"
                " IS NULL"
            ),
            "whole",
        ),
        (
            (
                "SELECT 1 FROM {users} u WHERE EXISTS (SELECT 1 FROM {daily} d WHERE d.date ="
                " u.day) AND u.day = $"
            ),
            ONE_DAY,
        ),
        ("SELECT 1 FROM {users} u WHERE u.k IN (SELECT k FROM {daily} WHERE date = $)", ONE_DAY),
        ("SELECT 1 FROM {daily} WHERE date IN (SELECT day FROM {users} WHERE day = $)", "whole"),
        ("SELECT (SELECT max(n) FROM {daily} d WHERE d.date = $) FROM {users}", ONE_DAY),
        ("SELECT 1 FROM {users} JOIN {daily} USING (date) WHERE date = $", ONE_DAY),
    ],
)
def test_joins_and_subqueries(sql: str, expected: list[str] | str) -> None:
    assert read(sql)["daily"] == expected


def test_a_column_of_two_unknown_tables_bounds_neither() -> None:
    sql = "SELECT 1 FROM {events} JOIN {users} ON true WHERE day = @partition_date"

    assert read(sql) == {"raw.events": "whole", "users": "whole"}


def test_known_columns_tell_whose_a_column_is() -> None:
    shapes = {**SHAPES, USERS: InputShape(columns=("id", "name")), EVENTS: InputShape()}
    sql = "SELECT 1 FROM {events} JOIN {users} ON true WHERE day = @partition_date"

    found = {name: each.outcome for name, each in infer((linked(sql),), DAYS, shapes).items()}

    assert found == {EVENTS: Found.INFERRED, USERS: Found.WHOLE}
