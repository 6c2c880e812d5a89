from dataclasses import replace

import pytest

from penstock.core.errors import SchemaError
from penstock.core.statement import FEW_ROWS, Commit, Passing, Stage
from penstock.core.strategy import Layout, WindowSettings
from penstock.strategies.merge import Merge
from unit.strategies.builds import a_build, read

BY_ID = Merge(("id",), None)
KNOWN = "id int, name string"


def source(strategy: Merge, **more: object) -> Stage:
    return strategy.work(a_build(strategy, **more)).stages[0]  # type: ignore[arg-type]


def changes(strategy: Merge = BY_ID, **more: object) -> Passing:
    build = a_build(strategy, **{"table": KNOWN, **more})  # type: ignore[arg-type]
    passing = strategy.work(build).stages[1].passing
    assert passing is not None
    return passing


def commit(new: int, changed: int, strategy: Merge = BY_ID, **more: object) -> Commit | None:
    build = a_build(strategy, **{"table": KNOWN, **more})  # type: ignore[arg-type]
    return strategy.work(build).decide({"new": new, "changed": changed})


def test_the_first_merge_makes_the_table_from_the_checked_rows() -> None:
    work = BY_ID.work(a_build(BY_ID))

    assert [stage.view for stage in work.stages] == ["penstock_source"]
    assert work.decide({}) == Commit(
        "CREATE OR REPLACE TABLE delta.`/w/s/users` USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') "
        "AS SELECT `id`, `name` FROM `penstock_source`"
    )


def test_rows_are_read_once_with_the_number_of_rows_that_share_their_key() -> None:
    stage = source(BY_ID)

    assert stage.sql == (
        "SELECT `id`, `name`, count(*) OVER (PARTITION BY `id`) AS `_ps_copies` "
        "FROM `penstock_query`"
    )
    assert stage.look_sql == (
        "SELECT count(*) AS `rows`, "
        "count_if(`_ps_copies` > 1) AS `copied`, "
        "count_if(`id` IS NULL) AS `null_keys` FROM `penstock_source`"
    )


def test_duplicate_and_null_keys_are_refused_with_samples() -> None:
    copied, nulls = source(Merge(("id", "name"), None)).rules

    assert (copied.code, nulls.code) == ("duplicate-keys", "null-key")
    assert copied.samples == (
        "SELECT concat(concat('id=', coalesce(CAST(`id` AS STRING), 'NULL'), ', ', "
        "'name=', coalesce(CAST(`name` AS STRING), 'NULL')), ' ×', max(`_ps_copies`)) "
        "FROM `penstock_source` WHERE `_ps_copies` > 1 GROUP BY `id`, `name` ORDER BY 1 LIMIT 5"
    )
    assert copied.tally == (
        "SELECT count(DISTINCT struct(`id`, `name`)) AS n FROM `penstock_source` "
        "WHERE `_ps_copies` > 1"
    )
    assert nulls.sentence.format(count=2, samples="id=NULL, name=a") == (
        "2 rows in the query of 'users' have NULL in their key (id, name) (e.g. id=NULL, name=a)"
    )


def test_on_duplicate_latest_keeps_the_newest_row_of_each_key() -> None:
    assert source(Merge(("id",), None, order_by=("at", "seq"))).sql == (
        "SELECT `id`, `name`, 1 AS `_ps_copies` FROM (SELECT *, row_number() OVER "
        "(PARTITION BY `id` ORDER BY `at` DESC NULLS LAST, `seq` DESC NULLS LAST) AS `_ps_rank` "
        "FROM `penstock_query`) WHERE `_ps_rank` = 1"
    )


def test_only_new_and_changed_rows_are_kept_for_the_commit() -> None:
    assert changes().sql == (
        "SELECT s.`id`, s.`name`, m.`_ps_differs` IS NULL AS `_ps_is_new` "
        "FROM `penstock_source` s LEFT JOIN ("
        "SELECT s.`id`, NOT (s.`name` <=> t.`name`) AS `_ps_differs` "
        "FROM `penstock_source` s JOIN `penstock_target` t ON s.`id` = t.`id`"
        ") m ON s.`id` = m.`id` WHERE coalesce(m.`_ps_differs`, true)"
    )
    assert changes().counts == {
        "new": "count_if(`_ps_is_new`)",
        "changed": "count_if(NOT `_ps_is_new`)",
    }


def test_null_keys_that_match_are_compared_null_safe_everywhere() -> None:
    strategy = Merge(("id",), None, match_null_keys=True)

    stage = changes(strategy)

    assert stage.sql.count("s.`id` <=> t.`id`") == 1
    assert stage.sql.count("s.`id` <=> m.`id`") == 1
    assert "count_if(false) AS `null_keys`" in source(strategy).look_sql


def test_maps_are_sets_of_entries_and_a_new_column_differs_when_it_has_a_value() -> None:
    sql = changes(
        query="id int, tags map<string,int>, more int", table="id int, tags map<string,int>"
    ).sql

    assert (
        "NOT (sort_array(map_entries(s.`tags`)) <=> sort_array(map_entries(t.`tags`)) "
        "AND s.`more` IS NULL) AS `_ps_differs`"
    ) in sql


def test_variants_are_compared_as_text() -> None:
    sql = changes(query="id int, doc array<variant>", table="id int, doc array<variant>").sql

    assert "NOT (to_json(struct(s.`doc`)) <=> to_json(struct(t.`doc`))) AS `_ps_differs`" in sql


def test_a_wider_column_is_compared_in_the_wider_type() -> None:
    sql = changes(query="id int, n bigint, d int", table="id int, n int, d decimal(12,2)").sql

    assert "NOT (s.`n` <=> CAST(t.`n` AS bigint) AND CAST(s.`d` AS decimal(12,2)) <=> t.`d`)" in sql


def test_a_table_of_keys_alone_never_changes_a_row() -> None:
    assert "SELECT s.`id`, false AS `_ps_differs`" in changes(query="id int", table="id int").sql


def test_nothing_new_and_nothing_changed_is_no_commit() -> None:
    assert commit(0, 0) is None


def test_only_new_rows_are_an_append() -> None:
    assert commit(3, 0) == Commit(
        "INSERT INTO delta.`/w/s/users` BY NAME SELECT `id`, `name` FROM `penstock_stage`",
    )


def test_only_changed_rows_are_an_update() -> None:
    found = commit(0, 3)

    assert found is not None
    assert found.sql == (
        "MERGE INTO delta.`/w/s/users` t USING (SELECT /*+ BROADCAST(fed) */ * FROM "
        "(SELECT `id`, `name` FROM `penstock_stage`) fed) s "
        "ON t.`id` = s.`id` WHEN MATCHED THEN UPDATE SET t.`id` = s.`id`, t.`name` = s.`name`"
    )


def test_new_and_changed_rows_are_one_merge() -> None:
    found = commit(1, 1)

    assert found is not None
    assert found.sql.endswith(
        "WHEN MATCHED THEN UPDATE SET t.`id` = s.`id`, t.`name` = s.`name` "
        "WHEN NOT MATCHED THEN INSERT (`id`, `name`) VALUES (s.`id`, s.`name`)"
    )
    assert found.once


def test_a_merge_that_widens_the_table_takes_all_columns() -> None:
    found = commit(1, 1, table="id int", evolves=True)

    assert found is not None
    assert found.sql == (
        "MERGE WITH SCHEMA EVOLUTION INTO delta.`/w/s/users` t "
        "USING (SELECT /*+ BROADCAST(fed) */ * FROM "
        "(SELECT `id`, `name` FROM `penstock_stage`) fed) s "
        "ON t.`id` = s.`id` WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def test_many_rows_are_not_sent_to_every_executor() -> None:
    found = commit(FEW_ROWS, 1)

    assert found is not None
    assert "BROADCAST" not in found.sql


def test_what_the_merge_will_leave_is_a_query_over_the_table_and_what_is_staged() -> None:
    work = BY_ID.work(a_build(BY_ID, table="id int, name string, gone int"))

    assert work.after is not None
    assert work.after({}) == (
        "SELECT CASE WHEN s.`_ps_met` THEN s.`id` ELSE t.`id` END AS `id`, "
        "CASE WHEN s.`_ps_met` THEN s.`name` ELSE t.`name` END AS `name`, t.`gone` AS `gone` "
        "FROM `penstock_target` t LEFT JOIN (SELECT *, true AS `_ps_met` FROM "
        "(SELECT /*+ BROADCAST(fed) */ * FROM (SELECT * FROM `penstock_stage`) fed)) s "
        "ON t.`id` = s.`id` WHERE NOT coalesce(false, false) "
        "UNION ALL SELECT `id`, `name`, NULL AS `gone` FROM "
        "(SELECT `id`, `name` FROM `penstock_stage` WHERE `_ps_is_new`)"
    )


def test_where_a_column_gets_another_type_only_a_clone_shows_what_the_merge_leaves() -> None:
    assert BY_ID.work(a_build(BY_ID, table="id bigint, name string")).after is None


def test_a_merge_is_told_its_keys_and_what_decides_between_rows_with_one() -> None:
    by_id = {"unique_key": ("id",)}

    assert read(Merge, **by_id) == (Merge(("id",)), [])
    assert read(Merge, **by_id, null_keys="match")[0] == Merge(("id",), match_null_keys=True)
    assert read(Merge) == (Merge(()), ["materialized: missing-key"])
    assert read(Merge, **by_id, on_duplicate="latest", order_by=("at",)) == (
        Merge(("id",), order_by=("at",)),
        [],
    )
    assert read(Merge, **by_id, on_duplicate="latest")[1] == ["on_duplicate: missing-key"]
    assert read(Merge, **by_id, order_by=("at",)) == (
        Merge(("id",)),
        ["order_by: (option-without-effect)"],
    )


def test_every_setting_of_a_merge_decides_rows() -> None:
    assert Merge(("id",), None, ("at",), match_null_keys=True).fingerprint(Layout()) == {
        "keys": ["id"],
        "window": None,
        "order_by": ["at"],
        "match_null_keys": True,
    }
    assert Merge(("id",), newest="at").fingerprint(Layout())["newest"] == "at"


def test_a_rerun_updates_its_range_and_deletes_the_keys_that_it_lost() -> None:
    strategy = Merge(("id",), WindowSettings("day"), newest="day")
    build = a_build(
        strategy, "id int, day date", "id int, day date", replaced="`day` >= 'x'", reruns=True
    )

    work = strategy.work(build)

    assert work.stages[2].sql == (
        "SELECT t.`id` FROM `penstock_target` t WHERE (t.`day` >= 'x') AND NOT EXISTS "
        "(SELECT 1 FROM `penstock_source` s WHERE s.`id` = t.`id`)"
    )
    assert work.decide({"new": 0, "changed": 0, "gone": 0}) is None
    assert work.decide({"new": 0, "changed": 0, "gone": 1}).sql == (
        "MERGE INTO delta.`/w/s/users` t USING (SELECT `id`, `day`, false AS `_ps_gone` FROM "
        "`penstock_stage` UNION ALL SELECT `id`, NULL AS `day`, true AS `_ps_gone` FROM "
        "`penstock_gone`) s ON t.`id` = s.`id` WHEN MATCHED AND s.`_ps_gone` THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET t.`id` = s.`id`, t.`day` = s.`day` "
        "WHEN NOT MATCHED THEN INSERT (`id`, `day`) VALUES (s.`id`, s.`day`)"
    )
    assert (
        "NOT (s.`day` <=> t.`day`) AND (coalesce(s.`day` >= t.`day`, true) "
        "OR (t.`day` >= 'x')) AS" in work.stages[1].passing.sql
    )


def test_a_pass_deletes_what_its_sessions_no_longer_have() -> None:
    strategy = Merge(("id",), replace_by="visit")
    columns = "id int, visit string"
    build = a_build(strategy, columns, columns, replaced="`visit` IN ('s1')", reruns=True)

    assert strategy.work(build).stages[2].sql == (
        "SELECT t.`id` FROM `penstock_target` t WHERE (t.`visit` IN ('s1')) AND NOT EXISTS "
        "(SELECT 1 FROM `penstock_source` s WHERE s.`id` = t.`id`)"
    )
    stored = a_build(strategy, columns, "id int", replaced="`visit` IN ('s1')", reruns=True)
    assert "WHERE false AND NOT EXISTS" in strategy.work(stored).stages[2].sql
    assert strategy.fingerprint(Layout())["replace_by"] == "visit"


def test_a_column_of_sessions_has_to_be_selected() -> None:
    strategy = Merge(("id",), replace_by="visit")
    build = a_build(strategy, "id int, day date", "id int", replaced="`visit` IN ('s1')")

    with pytest.raises(SchemaError, match="replace_by: column 'visit' is not selected"):
        strategy.work(replace(build, reruns=True))
