"""The key of a row's partition in SQL is the one that the grid writes."""

import pytest

from penstock.core.partitions.partition import Grain, Grid, literal_at, position
from penstock.strategies.checks.queries import key_sql

MOMENTS = (
    "0001-01-01 00:00:00",
    "0999-12-31 23:59:59.999999",
    "1582-10-10 12:00:00",
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "2024-02-29 10:59:59.999999",
    "2024-12-02 00:00:00",
    "9999-12-31 23:59:59.999999",
)
GRAINS = (Grain.HOUR, Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.YEAR)
KINDS = ("date", "timestamp", "timestamp_ntz")


@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_in_the_partition_that_the_grid_says(looker, kind):
    grains = [each for each in GRAINS if kind != "date" or each is not Grain.HOUR]
    texts = [text[:10] if kind == "date" else text for text in MOMENTS]
    places = [position(text, kind) for text in texts]
    values = ", ".join(f"({n}, {literal_at(place, kind)})" for n, place in enumerate(places))
    keys = ", ".join(f"{key_sql(Grid(grain), 'odd name', kind)} AS {grain}" for grain in grains)

    rows = looker.rows(f"SELECT {keys} FROM VALUES {values} AS t(n, `odd name`) ORDER BY n")

    assert [list(row.values()) for row in rows] == [
        [grid.key(grid.at(place)) for grid in map(Grid, grains)] for place in places
    ]


@pytest.mark.parametrize(
    ("kind", "grid", "values"),
    [
        ("tinyint", Grid(Grain.RANGE, -100, 120, 50), (-100, -51, -50, 0, 119)),
        ("smallint", Grid(Grain.RANGE, -7, 1000, 10), (-7, 2, 3, 999)),
        ("int", Grid(Grain.RANGE, 0, 2**31 - 1, 2**30), (0, 2**30 - 1, 2**30, 2**31 - 2)),
        (
            "bigint",
            Grid(Grain.RANGE, -(2**63), 2**63 - 1, 10**18),
            (-(2**63), -1, 0, 2**63 - 2),
        ),
    ],
)
def test_integers_are_in_the_partition_that_the_grid_says(looker, kind, grid, values):
    given = ", ".join(f"({n}, CAST('{value}' AS {kind}))" for n, value in enumerate(values))
    key = key_sql(grid, "v", kind)

    rows = looker.rows(f"SELECT {key} AS k FROM VALUES {given} AS t(n, v) ORDER BY n")

    assert [row["k"] for row in rows] == [grid.key(grid.at(value)) for value in values]


def test_what_lies_outside_of_a_range_has_no_key(looker):
    key = key_sql(Grid(Grain.RANGE, 0, 10, 5), "v", "int")

    rows = looker.rows(f"SELECT {key} AS k FROM VALUES (-1), (10), (NULL) AS t(v)")

    assert [row["k"] for row in rows] == [None, None, None]
