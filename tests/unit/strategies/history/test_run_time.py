"""What becomes of each row of the source, and of each key that it lacks."""

import datetime as dt
import re
from dataclasses import replace

import pytest

from penstock.core.history import (
    ColumnsDiffer,
    HardDeletes,
    HashDiffers,
    NewerThan,
    Retention,
)
from penstock.strategies.history.run_time import classify, sides_of
from penstock.strategies.history.terms import Sides, Terms
from unit.strategies.builds import a_build

T = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
QUERY = "id int, v int"
CHECK = Terms(("id",), ColumnsDiffer(None), moment=T)
CLOSING = replace(CHECK, hard_deletes=HardDeletes.INVALIDATE)
MARKING = replace(CHECK, hard_deletes=HardDeletes.NEW_RECORD)
PRUNING = replace(CHECK, retention=Retention(2))
HASHED = Terms(("id",), HashDiffers("h", ("v",)), moment=T)
NEWER = Terms(("id",), NewerThan("v"), moment=T)
DELETES = "THEN CASE WHEN `__penstock_in_table` AND NOT `__penstock_tomb` AND"
SYSTEM = "_ps_valid_from timestamp, _ps_valid_to timestamp, _ps_is_current boolean"


def sides(terms, query=QUERY, table=f"{QUERY}, {SYSTEM}", **more):
    return replace(Sides.of(a_build(query=query, table=table), terms), **more)


@pytest.mark.parametrize(
    ("terms", "more", "joins"),
    [
        (CHECK, {}, ["LEFT"]),
        (CHECK, {"table": ""}, []),
        (CHECK, {"counts": True}, ["FULL OUTER"]),
        (CLOSING, {}, ["FULL OUTER"]),
        (PRUNING, {}, ["FULL OUTER", "FULL OUTER"]),
        (HASHED, {"query": "id int, v double"}, ["FULL OUTER"]),
        (HASHED, {}, ["LEFT"]),
    ],
)
def test_stored_versions_that_meet_no_row_are_looked_at_only_where_they_matter(terms, more, joins):
    assert re.findall("(LEFT|FULL OUTER) JOIN", classify(sides(terms, **more))) == joins


@pytest.mark.parametrize(
    ("terms", "part", "is_there"),
    [
        (CHECK, "NOT `__penstock_in_source` THEN NULL ", True),
        (CLOSING, f"NOT `__penstock_in_source` {DELETES} `__penstock_in_scope` THEN", True),
        (CHECK, "true AS `__penstock_in_scope`", True),
        (
            replace(CLOSING, scope="v > 1"),
            "coalesce(c.`__penstock_in_scope`, false) AS `__penstock_in_scope`",
            True,
        ),
        (replace(CLOSING, scope="v > 1"), "coalesce(v > 1, false) AS `__penstock_in_scope`", True),
        (CHECK, "c.`__penstock_old`", False),
        (PRUNING, "c.`__penstock_old`", True),
        (CHECK, "CAST(array() AS ARRAY<TIMESTAMP>) AS `__penstock_pruned`", True),
        (PRUNING, "CASE WHEN `__penstock_place` = 1 THEN transform(filter(", True),
        (PRUNING, "('opened_new', 'opened_changed') OR `__penstock_class` = 'deleted'", False),
        (
            replace(MARKING, retention=Retention(2)),
            "('opened_new', 'opened_changed') OR `__penstock_class` = 'deleted'",
            True,
        ),
        (CHECK, "CASE WHEN array_contains(`__penstock_pruned`, `__penstock_at`) THEN", False),
        (PRUNING, "CASE WHEN array_contains(`__penstock_pruned`, `__penstock_at`) THEN", True),
        (CHECK, "transform(`__penstock_pruned`, p -> ", False),
        (PRUNING, "transform(`__penstock_pruned`, p -> ", True),
        (HASHED, "'rehash'", False),
        (HASHED, "`h` AS `__penstock_c0`", True),
        (HASHED, "coalesce(NOT (s.`h` <=> c.`__penstock_c0`), false) AS", True),
        (CHECK, "`v` AS `__penstock_c0`", True),
        (CHECK, "coalesce(NOT (s.`v` <=> c.`__penstock_c0`), false) AS", True),
        (NEWER, "`v` AS `__penstock_stored_time`", True),
        (CHECK, "`__penstock_stored_time`", False),
        (NEWER, "coalesce((s.`__penstock_time` > c.`__penstock_stored_time` OR ", True),
    ],
)
def test_a_row_is_classified_by_its_settings(terms, part, is_there):
    assert (part in classify(sides(terms))) is is_there


def test_hashes_that_are_made_anew_are_written_where_nothing_else_changes():
    again = classify(sides(HASHED, query="id int, v double"))

    assert "THEN concat(array(" in again
    assert "WHEN `__penstock_in_table` THEN array(" in again
    assert "'rehash'" in again


def test_the_newest_versions_and_those_that_may_go_are_read_together():
    (_, versions) = sides_of(sides(PRUNING, counts=True)).values()

    assert versions.startswith(
        "SELECT coalesce(n.`id`, o.`id`) AS `id`, `__penstock_at`, `__penstock_tomb`, "
        "`__penstock_in_table`, `__penstock_c0`, coalesce(n.`__penstock_twice`, false) OR "
        "coalesce(o.`__penstock_twice`, false) AS `__penstock_twice`, `__penstock_old` FROM ("
    )
    assert sides_of(sides(PRUNING)) == {}
