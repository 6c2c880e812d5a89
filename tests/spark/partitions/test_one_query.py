"""One query for many partitions gives the rows of one query for each, on real Spark."""

from collections import Counter

import pytest

from fakes.partition_queries import APART, TOGETHER
from penstock.strategies.one_query import one_query

TOKEN = "`penstock:param:partition_date`"  # noqa: S105  # a place in SQL
DAYS = [f"DATE '2024-01-{day:02}'" for day in (1, 2, 3, 8, 15)]

EVENTS = """\
CREATE OR REPLACE TEMPORARY VIEW e AS
SELECT d + make_dt_interval(0, hour) AS at, CAST(d AS DATE) AS d, CAST(CAST(d AS DATE) AS STRING)
  AS text, user_id, amount
FROM (
  SELECT TIMESTAMP'2024-01-01' + make_dt_interval(CAST(id % 17 AS INT)) AS d,
    CAST(id % 3 * 7 AS INT) AS hour, CASE WHEN id % 5 > 0 THEN CAST(id % 5 AS INT) END AS user_id,
    CAST(id % 4 AS INT) AS amount
  FROM range(120) WHERE id % 17 <> 2
  UNION ALL SELECT NULL, 1, 1, 1
)
"""
DAYS_VIEW = """\
CREATE OR REPLACE TEMPORARY VIEW days AS
SELECT date_add(DATE'2024-01-01', CAST(id AS INT)) AS d, id AS n FROM range(0, 16, 2)
UNION ALL SELECT DATE'2024-01-02', 99
"""
PEOPLE = """\
CREATE OR REPLACE TEMPORARY VIEW people AS SELECT * FROM VALUES
(1, DATE'2024-01-01'), (2, DATE'2024-01-05'), (2, DATE'2023-01-05') AS p(id, since)
"""


@pytest.fixture(scope="module")
def events(spark):
    session = spark.newSession()
    for sql in (EVENTS, DAYS_VIEW, PEOPLE):
        session.sql(sql)
    return session


def rows(session, sql):
    return Counter(str(row) for row in session.sql(sql).collect())


def each(sql):
    """Give the branches of all days: the oracle."""
    said = (sql.replace("@p", day).replace("@start_date", day) for day in DAYS)
    return " UNION ALL ".join(f"SELECT * FROM ({one})" for one in said)


@pytest.mark.matrix
@pytest.mark.parametrize("sql", TOGETHER)
def test_the_rows_of_many_partitions_are_those_of_each(events, sql):
    together = one_query(
        sql.replace("@p", TOKEN).replace("@start_date", TOKEN), "date", "DATE", DAYS
    )

    found = rows(events, together)

    assert found == rows(events, each(sql))
    assert found


def test_the_single_forms_that_stay_apart_are_sql_that_spark_takes(events):
    odd = ("@end_date", "date, d as date", "group by ()")
    taken = [sql for sql in APART if not any(each in sql for each in odd)]

    for sql in taken:
        events.sql(sql.replace("@p", DAYS[0]))
