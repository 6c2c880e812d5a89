"""The one statement of a history table that commits, by what was counted."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.history import (
    ColumnsDiffer,
    HardDeletes,
    HashDiffers,
    Retention,
    SystemColumns,
)
from penstock.strategies.history.commit import Counts, counts, merge
from penstock.strategies.history.operations import operation_rows, tombstones
from penstock.strategies.history.terms import Sides, Terms
from unit.strategies.builds import a_build

T = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
AT = "TIMESTAMP '2024-06-01T00:00:00.000000Z'"
SYSTEM = "_ps_valid_from timestamp, _ps_valid_to timestamp, _ps_is_current boolean"
DELETED = f"{SYSTEM}, _ps_is_deleted boolean"
QUERY = "id int, value string"
CHECK = Terms(("id",), ColumnsDiffer(None), moment=T)
MARKED = replace(CHECK, hard_deletes=HardDeletes.NEW_RECORD)
ON = "ON t.`id` <=> s.`id` AND t.`_ps_valid_from` = s.`__penstock_at`"
CURRENT = " AND t.`_ps_is_current` = true AND t.`_ps_valid_to` IS NULL"
DELETE = "WHEN MATCHED AND s.`__penstock_op` = 'delete' THEN DELETE"
CLOSE = (
    "WHEN MATCHED AND s.`__penstock_op` IN ('close', 'move') THEN UPDATE SET "
    "t.`_ps_valid_to` = s.`__penstock_to`, t.`_ps_is_current` = false"
)
OPEN = (
    "WHEN NOT MATCHED AND s.`__penstock_op` = 'open' THEN INSERT "
    "(`id`, `value`, `_ps_valid_from`, `_ps_valid_to`, `_ps_is_current`) VALUES (s.`id`, "
    "s.`value`, s.`__penstock_from`, s.`__penstock_to`, s.`__penstock_to` IS NULL)"
)
RAISE = (
    "WHEN NOT MATCHED THEN INSERT (`id`) VALUES (raise_error('penstock:history-changed-underneath"
    ": a version that was classified is no longer there'))"
)


def sides(terms=CHECK, query=QUERY, table=f"{QUERY}, {SYSTEM}", **build):
    made = a_build(query=query, table=table, **build)
    return made, Sides.of(made, terms)


def commit(counts, terms=CHECK, **more):
    return merge(*sides(terms, **more), counts)


def fed(counts, terms=CHECK, **more):
    """What the MERGE is fed."""
    return commit(counts, terms, **more).sql.partition("USING (")[2].partition(") s ON ")[0]


def clauses(counts, terms=CHECK, **more):
    """The MERGE from its ON to its end."""
    return "ON " + commit(counts, terms, **more).sql.partition(") s ON ")[2]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (Counts(opened_new=2), f"{ON}{CURRENT} {OPEN} {RAISE}"),
        (Counts(closed=1, closes=1), f"{ON}{CURRENT} {CLOSE} {RAISE}"),
        (Counts(opened_changed=1, closes=1), f"{ON}{CURRENT} {CLOSE} {OPEN} {RAISE}"),
        (Counts(moves=1), f"{ON} {CLOSE} {RAISE}"),
        (Counts(opened_late=1, moves=1), f"{ON} {CLOSE} {OPEN} {RAISE}"),
        (Counts(pruned=1), f"{ON} {DELETE} {RAISE}"),
        (Counts(opened_changed=1, pruned=1), f"{ON} {DELETE} {OPEN} {RAISE}"),
        (Counts(opened_new=1, closes=1, pruned=1), f"{ON} {DELETE} {CLOSE} {OPEN} {RAISE}"),
    ],
)
def test_the_merge_has_the_clauses_that_its_operations_need(counts, expected):
    assert clauses(counts) == expected


def test_what_is_fed_has_operations_interval_and_business_columns():
    assert fed(Counts(opened_new=1)) == (
        "SELECT /*+ BROADCAST(fed) */ * FROM (SELECT `__penstock_op`, `__penstock_at`, "
        "`__penstock_from`, `__penstock_to`, `__penstock_gone`, `id`, `value` "
        "FROM penstock_staged WHERE `__penstock_op` <> 'pending') fed"
    )


def test_late_rows_are_fed_beside_the_others():
    assert fed(Counts(pending=2, opened_late=1, opened_new=1)).endswith(
        "FROM penstock_staged WHERE `__penstock_op` <> 'pending' UNION ALL SELECT "
        "`__penstock_op`, `__penstock_at`, `__penstock_from`, `__penstock_to`, `__penstock_gone`, "
        "`id`, `value` FROM penstock_late_staged) fed"
    )


def test_a_table_of_dbt_gets_dbts_columns_and_no_flag_of_current_versions():
    columns = SystemColumns.of_dbt({}, "CAST(to_date('9999-12-31') AS TIMESTAMP)")
    end = "CAST(to_date('9999-12-31') AS TIMESTAMP)"
    terms = replace(CHECK, columns=columns)
    table = (
        f"{QUERY}, dbt_scd_id string, dbt_updated_at timestamp, dbt_valid_from timestamp, "
        "dbt_valid_to timestamp"
    )

    assert clauses(Counts(opened_changed=1, closes=1), terms, table=table) == (
        "ON t.`id` <=> s.`id` AND t.`dbt_valid_from` = s.`__penstock_at` "
        f"AND (t.`dbt_valid_to` IS NULL OR t.`dbt_valid_to` = {end}) "
        "WHEN MATCHED AND s.`__penstock_op` IN ('close', 'move') THEN UPDATE SET "
        "t.`dbt_valid_to` = s.`__penstock_to` "
        "WHEN NOT MATCHED AND s.`__penstock_op` = 'open' THEN INSERT (`id`, `value`, "
        "`dbt_scd_id`, `dbt_updated_at`, `dbt_valid_from`, `dbt_valid_to`) VALUES (s.`id`, "
        "s.`value`, md5(coalesce(CAST(s.`id` AS STRING), '') || '|' || "
        "coalesce(CAST(s.`__penstock_from` AS STRING), '')), s.`__penstock_from`, "
        f"s.`__penstock_from`, coalesce(s.`__penstock_to`, {end})) {RAISE}"
    )


@pytest.mark.parametrize(
    ("counts", "hinted"),
    [
        (Counts(opened_new=100_000), True),
        (Counts(opened_new=100_001), False),
        (Counts(opened_changed=50_000, closes=50_000), True),
        (Counts(opened_changed=50_000, closes=50_000, pruned=1), False),
        (Counts(tombstones=60_000, moves=60_000), False),
        (Counts(unchanged=10**9, opened_new=1), True),
    ],
)
def test_few_operations_are_broadcast(counts, hinted):
    assert ("/*+ BROADCAST(fed) */" in fed(counts)) is hinted


def test_the_commit_says_what_delta_must_count():
    counts = Counts(
        source_rows=4, opened_new=2, opened_changed=1, unchanged=1, closes=1, closed=1, pruned=2
    )

    found = commit(replace(counts, tombstones=1))

    assert found.expected == {
        "numTargetRowsInserted": ("M3", 4),
        "numTargetRowsUpdated": ("M4", 1),
        "numTargetRowsDeleted": ("M4", 2),
        "rows after - rows before": ("M5", 2),
    }
    assert found.metrics == counts.metrics
    assert (found.exclusive, found.once) == (True, True)


def test_a_stored_key_may_be_null_whatever_the_settings_say_of_the_source():
    both = replace(CHECK, keys=("id", "value"))

    assert clauses(Counts(closes=1), both).startswith(
        "ON t.`id` <=> s.`id` AND t.`value` <=> s.`value` AND t.`_ps_valid_from` = "
    )
    assert both.on("s", "c", stored=False) == "s.`id` = c.`id` AND s.`value` = c.`value`"
    assert replace(both, match_null_keys=True).on("s", "c", stored=False) == (
        "s.`id` <=> c.`id` AND s.`value` <=> c.`value`"
    )


def test_odd_names_are_quoted_everywhere():
    odd = "a.b int, c`d string, ä-ö int"
    named = SystemColumns.with_prefix("x`")
    terms = Terms(("a.b",), ColumnsDiffer(None), moment=T, columns=named)
    system = "x`valid_from timestamp, x`valid_to timestamp, x`is_current boolean"

    sql = clauses(Counts(opened_new=1, closes=1), terms, query=odd, table=f"{odd}, {system}")

    assert sql.startswith("ON t.`a.b` <=> s.`a.b` AND t.`x``valid_from` = s.`__penstock_at` AND ")
    assert (
        "INSERT (`a.b`, `c``d`, `ä-ö`, `x``valid_from`, `x``valid_to`, `x``is_current`) "
        "VALUES (s.`a.b`, s.`c``d`, s.`ä-ö`, "
    ) in sql


def test_rows_say_that_they_are_no_tombstones_only_where_the_table_can_tell():
    without = commit(Counts(opened_new=1)).sql
    with_it = commit(Counts(opened_new=1), table=f"{QUERY}, {DELETED}").sql

    assert "_ps_is_deleted" not in without
    assert "false AS `_ps_is_deleted` FROM penstock_staged" in with_it
    assert "s.`__penstock_to` IS NULL, s.`_ps_is_deleted`)" in with_it


def test_the_first_tombstone_brings_the_column_along():
    sql = commit(Counts(tombstones=1, closes=1), MARKED).sql

    assert (
        "UNION ALL SELECT 'open' AS `__penstock_op`, CAST(NULL AS TIMESTAMP) AS `__penstock_at`, "
        f"{AT} AS `__penstock_from`, CAST(NULL AS TIMESTAMP) AS `__penstock_to`, "
        "true AS `__penstock_gone`, `id` AS `id`, `value` AS `value`, true AS `_ps_is_deleted` "
        "FROM penstock_tombstones"
    ) in sql
    assert "`_ps_is_current`, `_ps_is_deleted`) VALUES" in sql


def test_tombstones_keep_columns_that_the_query_lost_and_lack_those_it_gained():
    sql = commit(
        Counts(tombstones=1, closes=1),
        MARKED,
        query="id int, city string",
        table=f"id int, note date, {SYSTEM}",
    ).sql

    assert "`id`, `city`, CAST(NULL AS date) AS `note`, false AS `_ps_is_deleted`" in sql
    assert "`id` AS `id`, CAST(NULL AS string) AS `city`, `note`, true AS `_ps_is_deleted`" in sql


def test_columns_that_the_query_lost_are_left_alone_without_tombstones():
    assert "note" not in commit(Counts(opened_new=1), table=f"{QUERY}, note date, {SYSTEM}").sql


def test_the_wider_of_two_types_is_written():
    wide = f"id int, value string, n bigint, {SYSTEM}"

    narrow = fed(Counts(opened_new=1), query=f"{QUERY}, n int", table=wide)
    tombs = fed(
        Counts(tombstones=1), MARKED, query=f"{QUERY}, n bigint", table=wide.replace("big", "")
    )

    assert "CAST(`n` AS bigint) AS `n`" in narrow
    assert "CAST(`n` AS bigint) AS `n`, true AS `_ps_is_deleted` FROM penstock_tombstones" in tombs


def test_missing_sets_hold_only_for_keys_that_are_gone():
    terms = replace(
        CHECK,
        hard_deletes=HardDeletes.INVALIDATE,
        missing_sets=(("gone", "true"), ("last seen", AT)),
    )

    sql = clauses(Counts(closes=1), terms)

    assert (
        "t.`_ps_is_current` = false, "
        "t.`gone` = CASE WHEN s.`__penstock_gone` THEN true ELSE t.`gone` END, "
        f"t.`last seen` = CASE WHEN s.`__penstock_gone` THEN {AT} ELSE t.`last seen` END WHEN"
    ) in sql


def test_a_made_hash_travels_with_every_row():
    hashed = replace(MARKED, change=HashDiffers("_ps_row_hash", ("value",)))

    sql = commit(
        Counts(opened_new=1, tombstones=1), hashed, table=f"{QUERY}, {SYSTEM}, _ps_row_hash string"
    ).sql

    assert sql.count("`value`, `_ps_row_hash`, false AS") == 1
    assert "`value` AS `value`, `_ps_row_hash`, true AS `_ps_is_deleted`" in sql
    assert "s.`_ps_is_deleted`, s.`_ps_row_hash`)" in sql


def test_business_values_are_staged_only_where_rows_are_written_or_shown():
    sql = operation_rows(sides()[1])

    assert "`id`, CASE WHEN op.op IN ('open', 'pending', 'problem') THEN `value` END" in sql


def test_a_missing_key_is_gone_also_where_retention_removes_what_it_ends():
    assert (
        "coalesce(`__penstock_class` = 'deleted' AND op.op IN ('close', 'delete') "
        "AND op.at = `__penstock_at`, false) AS `__penstock_gone`"
    ) in operation_rows(sides(replace(MARKED, retention=Retention(keep_last=1)))[1])


def test_tombstones_take_the_stored_values_of_keys_that_are_gone():
    _, both = sides(MARKED, table=f"{QUERY}, note date, {DELETED}")
    split = replace(both, partitioned=True)

    assert tombstones(both) == (
        "SELECT t.`id`, t.`value`, t.`note` FROM `penstock_target` t LEFT SEMI JOIN "
        "(SELECT * FROM penstock_staged WHERE `__penstock_gone`) g ON t.`id` <=> g.`id` "
        "AND t.`_ps_valid_from` = g.`__penstock_at` WHERE t.`_ps_valid_to` IS NULL"
    )
    assert tombstones(split).endswith("WHERE t.`_ps_is_current` = true")


HASHED = replace(CHECK, change=HashDiffers("_ps_row_hash", ("value",)))
NUMBERS = f"id int, value int, {SYSTEM}, _ps_row_hash string"


def test_a_commit_that_widens_a_hashed_column_makes_the_hashes_of_what_stays_anew():
    wider = {"query": "id int, value double", "table": NUMBERS}
    some = Counts(opened_new=1, rehashed=3)

    sql = clauses(some, HASHED, **wider)

    assert (
        "WHEN MATCHED AND s.`__penstock_op` = 'rehash' THEN "
        "UPDATE SET t.`_ps_row_hash` = s.`_ps_row_hash`"
    ) in sql
    assert commit(some, HASHED, **wider).expected["numTargetRowsUpdated"] == ("M4", 3)


def test_a_commit_that_opens_nothing_widens_nothing_and_leaves_the_hashes():
    found = commit(
        Counts(closed=1, closes=1, rehashed=3),
        HASHED,
        query="id int, value double",
        table=NUMBERS,
    )

    assert "THEN UPDATE SET t.`_ps_row_hash`" not in found.sql
    assert "<> 'pending' AND `__penstock_op` <> 'rehash'" in found.sql
    assert found.expected["numTargetRowsUpdated"] == ("M4", 1)
    assert not Counts(rehashed=3).writes


def test_what_retention_takes_is_counted_only_where_there_is_one():
    _, plain = sides()
    _, kept = sides(replace(CHECK, retention=Retention(3, None)))
    closed = "`__penstock_class` IN ('opened_changed', 'deleted')"

    assert counts(plain)["pruned"] == "count_if(false)"
    assert counts(plain)["closed"] == f"count_if({closed})"
    assert counts(plain)["closes"] == f"count_if({closed} AND NOT coalesce(false, false))"
    assert counts(kept)["pruned"] == "coalesce(sum(size(`__penstock_pruned`)), 0)"
    assert (
        "NOT coalesce(array_contains(`__penstock_pruned`, `__penstock_at`), false)"
        in counts(kept)["closes"]
    )
