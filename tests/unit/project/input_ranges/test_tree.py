from __future__ import annotations

import pytest

from fakes.inferred_ranges import (
    read,
)


def test_tables_are_found_behind_CTEs_and_in_subqueries() -> None:
    sql = (
        "WITH x AS (SELECT * FROM {daily}), y AS (SELECT * FROM x)"
        " SELECT * FROM y WHERE id IN (SELECT id FROM {users})"
    )

    assert read(sql) == {"daily": "whole", "users": "whole"}


ONE_DAY = ["2024-12-03..2024-12-03"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("WITH x AS (SELECT * FROM {daily}) SELECT 1 FROM x WHERE x.date = $", ONE_DAY),
        ("WITH x (d) AS (SELECT date FROM {daily}) SELECT 1 FROM x y WHERE d = $", ONE_DAY),
        ("SELECT 1 FROM (SELECT d.date AS day FROM {daily} d) q WHERE day = $", ONE_DAY),
        ("SELECT 1 FROM (SELECT date, sum(n) FROM {daily} GROUP BY 1) WHERE date = $", ONE_DAY),
        ("SELECT 1 FROM (SELECT max(date) AS date FROM {daily}) WHERE date = $", "whole"),
        ("SELECT 1 FROM (SELECT date FROM {daily} LIMIT 5) WHERE date = $", "whole"),
        (
            (
                "SELECT 1 FROM (SELECT date, lag(n) OVER (PARTITION BY k ORDER BY date) FROM"
                " {daily}) WHERE date = $"
            ),
            "whole",
        ),
        (
            (
                "SELECT 1 FROM (SELECT date, lag(n) OVER (PARTITION BY date ORDER BY k) FROM"
                " {daily}) WHERE date = $"
            ),
            ONE_DAY,
        ),
        ("SELECT date, sum(n) FROM {daily} GROUP BY date HAVING date = $", "whole"),
        ("SELECT 1 FROM {daily} TABLESAMPLE (5 ROWS) WHERE date = $", "whole"),
        ("SELECT 1 FROM {daily} TABLESAMPLE (10 PERCENT) AS d WHERE d.date = $", "whole"),
        (
            "WITH x AS (SELECT * FROM {daily}) SELECT 1 FROM x TABLESAMPLE (5 ROWS) WHERE date = $",
            "whole",
        ),
        ("FROM {daily} |> LIMIT 5 |> WHERE date = $", "unread"),
        ("FROM {daily} |> WHERE date = $ |> AGGREGATE sum(n) GROUP BY date", "unread"),
        (
            (
                "SELECT 1 FROM {daily} d JOIN {events} e ON d.date = e.day"
                " WHERE e.day >= '2024-05-01' AND e.day <= $"
            ),
            ["..2024-12-03"],
        ),
        (
            (
                "SELECT 1 FROM {daily} d JOIN {events} e ON d.date = e.day"
                " WHERE e.day > TIMESTAMP '2024-05-01 05:00:00'"
            ),
            ["2024-05-01.."],
        ),
        (
            (
                "SELECT 1 FROM {daily} WHERE date = $ UNION ALL SELECT 1 FROM {daily} WHERE date"
                " = $ - INTERVAL 7 DAYS"
            ),
            ["2024-11-26..2024-11-26", "2024-12-03..2024-12-03"],
        ),
        ("SELECT 1 FROM {daily} WHERE date = $ UNION ALL SELECT 1 FROM {daily}", "whole"),
        (
            (
                "SELECT 1 FROM (SELECT date AS d FROM {daily} UNION SELECT date FROM {daily})"
                " WHERE d = $"
            ),
            ONE_DAY,
        ),
        (
            "SELECT 1 FROM (SELECT * FROM {users} UNION ALL SELECT * FROM {daily}) WHERE date = $",
            "whole",
        ),
        ("SELECT 1 FROM (SELECT * EXCEPT (date), n AS date FROM {daily}) WHERE date = $", "whole"),
        (
            (
                "WITH RECURSIVE r AS (SELECT date FROM {daily} UNION ALL SELECT date FROM r)"
                " SELECT 1 FROM r WHERE date = $"
            ),
            "whole",
        ),
        ("SELECT 1 FROM {daily} LATERAL VIEW explode(a) t AS item WHERE date = $", ONE_DAY),
        ("SELECT 1 FROM {daily} PIVOT (sum(n) FOR k IN (1, 2)) WHERE date = $", "whole"),
        (
            (
                "WITH e AS (SELECT DATE(at) AS day FROM {users} WHERE DATE(at) = $) SELECT 1"
                " FROM e JOIN {daily} d ON d.date = e.day"
            ),
            ONE_DAY,
        ),
        ("SELECT 1 FROM {daily} d JOIN {users} u ON d.date = u.day", "whole"),
    ],
)
def test_nested_queries(sql: str, expected: list[str] | str) -> None:
    assert read(sql)["daily"] == expected


def test_CTEs_that_multiply_are_given_up_and_not_waited_for() -> None:
    ctes = ", ".join(f"c{n} AS (SELECT a.k FROM c{n - 1} a, c{n - 1} b)" for n in range(1, 40))
    sql = f"WITH c0 AS (SELECT k FROM {{daily}}), {ctes} SELECT 1 FROM c39"

    assert read(sql) == {"daily": "unread"}
