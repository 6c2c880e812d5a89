"""One query for many partitions: what it says, and which SQL keeps a branch for each."""

import pytest

from fakes.partition_queries import APART, TOGETHER
from penstock.strategies.one_query import one_query

PARAMETERS = {
    "@p": "`penstock:param:partition_date`",
    "@start_date": "`penstock:param:start_date`",
    "@end_date": "`penstock:param:end_date`",
}
DAYS = ("DATE '2024-01-01'", "DATE '2024-01-03'")


def tokens(sql: str) -> str:
    for name, token in PARAMETERS.items():
        sql = sql.replace(name, token)
    return sql


def written(sql: str, field: str = "date", kind: str = "DATE", begins=DAYS) -> str | None:
    return one_query(tokens(sql), field, kind, begins)


def test_the_parameter_becomes_what_the_row_says_and_the_groups_are_cut_by_it():
    found = written("SELECT @p AS date, k, count(*) n\nFROM t\nWHERE DATE(at) = @p\nGROUP BY k")

    assert found == (
        "SELECT try_cast((DATE(at)) AS DATE) AS date, k, count(*) n\nFROM t\n"
        "WHERE DATE(at) = try_cast((DATE(at)) AS DATE) AND try_cast((DATE(at)) AS DATE) IN "
        "(DATE '2024-01-01', DATE '2024-01-03')\nGROUP BY (DATE(at)), k"
    )


@pytest.mark.parametrize("sql", TOGETHER)
def test_rows_that_say_their_partition_are_made_together(sql):
    found = written(sql)

    assert found is not None
    assert "penstock:" not in found


@pytest.mark.parametrize("sql", APART)
def test_what_is_not_certain_keeps_a_branch_for_each_partition(sql):
    assert written(sql) is None


def test_a_number_in_group_by_is_a_place_and_no_partition():
    sql = "select @p as k, count(*) as n from t where k = @p group by @p"

    assert written(sql, field="k", kind="INT", begins=("100", "200")) is None


@pytest.mark.parametrize("sql", ["select", "select 1 +", "select @p as date from t where d = = @p"])
def test_text_that_nobody_can_read_keeps_its_branches(sql):
    assert written(sql) is None


@pytest.mark.parametrize(
    ("sql", "is_one"),
    [
        ("select * from e where d = @p", True),
        ("select amount from e where d = @p", False),
        ("select *, * from e where d = @p", False),
        ("select * except (amount) from e where d = @p", False),
        ("select * from e, days where d = @p", False),
        ("select * from e where date(d) = @p", False),
        ("select * from e where at = @p", False),
        ("select e.d from e where d = @p", True),
        ("select d from s.e where s.e.d = @p", False),
        ("select f.d from e as f where f.d = @p", True),
        ("select e.d from e, days where d = @p", False),
        ("select d, date(at) as D from e where d = @p", False),
        ("select d from e where d > @p", False),
        ("select d from e where d = @p or amount > 1", False),
        ("select d, uuid() from e where d = @p", False),
        ("select d, monotonically_increasing_id() from e where d = @p", False),
    ],
)
def test_a_column_of_the_rows_says_where_their_partition_begins(sql, is_one):
    assert (written(sql, field="d") is not None) is is_one


def test_text_that_is_too_long_is_not_read():
    sql = "select d from e where d = @p"

    assert written(f"{sql} --{'x' * 200_000}", field="d") is None
    assert written(f"{sql} and {'(' * 500}1 = 1{')' * 500}", field="d") is None
