"""dbt's settings of a merge: columns that it updates, rows that it reads, keys that it replaces."""

import datetime as dt

import pytest

from penstock.core.errors import SchemaError
from penstock.core.strategy import HistoryRun
from penstock.strategies.merge import Merge
from penstock.strategies.merge_options import MergeOptions, predicate_sql
from unit.strategies.builds import a_build, read

KNOWN = "id int, name string"
NOW = dt.datetime(2024, 6, 1, 8, tzinfo=dt.UTC)
RECENT = MergeOptions(predicates=("DBT_INTERNAL_DEST.name > current_date()",))
REPLACES = Merge(("id",), options=MergeOptions(replaces=True))


def work(options, query=KNOWN, **more):
    strategy = Merge(("id",), options=options)
    return strategy.work(a_build(strategy, query, **{"table": KNOWN, **more}))


def test_only_the_columns_that_are_named_are_compared_and_updated() -> None:
    query = "id int, name string, made int"
    found = work(MergeOptions(updated=("NAME",)), query, table=query)

    passing = found.stages[1].passing
    assert passing is not None
    assert "NOT (s.`name` <=> t.`name`) AS `_ps_differs`" in passing.sql
    commit = found.decide({"new": 1, "changed": 1})
    assert commit is not None
    assert commit.sql.endswith(
        "WHEN MATCHED THEN UPDATE SET t.`name` = s.`name` WHEN NOT MATCHED THEN INSERT "
        "(`id`, `name`, `made`) VALUES (s.`id`, s.`name`, s.`made`)"
    )


def test_columns_that_are_excluded_keep_their_values_in_the_rows_that_checks_read() -> None:
    query = "id int, name string, made int"
    found = work(MergeOptions(excluded=("made",)), query, table=query)

    assert found.rows is not None
    assert found.rows({}) == (
        "SELECT s.`id`, s.`name`, CASE WHEN s.`_ps_is_new` THEN s.`made` ELSE t.`made` END AS "
        "`made` FROM `penstock_stage` s LEFT JOIN `penstock_target` t ON t.`id` = s.`id`"
    )


def test_a_column_that_the_query_does_not_have_is_an_error() -> None:
    with pytest.raises(SchemaError, match="merge_update_columns: column 'nme' is not selected"):
        work(MergeOptions(updated=("nme",)))


def test_a_predicate_stands_wherever_stored_rows_are_matched() -> None:
    found = work(RECENT, history=HistoryRun(NOW))

    passing, commit = found.stages[1].passing, found.decide({"new": 0, "changed": 1})
    assert passing is not None
    assert commit is not None
    assert "ON s.`id` = t.`id` AND (t.name > DATE '2024-06-01')" in passing.sql
    assert "ON t.`id` = s.`id` AND (t.name > DATE '2024-06-01') WHEN MATCHED" in commit.sql


def test_a_rerun_reads_every_stored_row() -> None:
    assert MergeOptions.conditions(RECENT, a_build(REPLACES, reruns=True)) == ()


def test_words_in_a_text_are_no_clock_and_no_row() -> None:
    text = "DBT_INTERNAL_SOURCE.a = 'now() dbt_internal_dest.x' and `dbt_internal_dest`.b < now()"

    assert predicate_sql(text, NOW) == (
        "s.a = 'now() dbt_internal_dest.x' and t.b < TIMESTAMP '2024-06-01T08:00:00.000000Z'"
    )


def test_all_rows_of_a_key_are_replaced_in_one_merge() -> None:
    found = REPLACES.work(a_build(REPLACES, table=KNOWN))

    assert [stage.view for stage in found.stages] == ["penstock_source"]
    assert "1 AS `_ps_copies`" in found.stages[0].sql
    commit = found.decide({"rows": 3})
    assert commit is not None
    assert commit.sql == (
        "MERGE INTO delta.`/w/s/users` t USING (SELECT `id`, `name`, false AS `_ps_gone` FROM "
        "`penstock_source` UNION ALL SELECT `id`, NULL AS `name`, true AS `_ps_gone` FROM "
        "(SELECT DISTINCT * FROM (SELECT `id` FROM `penstock_source`))) s "
        "ON s.`_ps_gone` AND t.`id` = s.`id` WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND NOT s.`_ps_gone` THEN INSERT (`id`, `name`) VALUES "
        "(s.`id`, s.`name`)"
    )
    assert found.decide({"rows": 0}) is None


def test_contradictions_are_reported_at_their_keys() -> None:
    both = read(
        Merge,
        unique_key=("id",),
        merge_update_columns=("a",),
        merge_exclude_columns=("b",),
    )
    idle = read(Merge, unique_key=("id",), merge_update_columns=("a",), on_duplicate="replace")

    assert both[1] == ["merge_update_columns: option-conflict"]
    assert idle[1] == ["merge_update_columns: (option-without-effect)"]


@pytest.mark.parametrize(
    "predicate",
    [
        "day > '2024-01-01'",
        "DBT_INTERNAL_DEST.day >",
        "DBT_INTERNAL_DEST.id in (select id from x)",
        "DBT_INTERNAL_DEST.n > rand()",
    ],
)
def test_a_predicate_is_a_condition_on_one_stored_row(predicate: str) -> None:
    found = read(Merge, unique_key=("id",), incremental_predicates=(predicate,))

    assert found[1] == ["incremental_predicates: bad-value"]


def test_settings_that_are_not_set_are_not_in_the_fingerprint() -> None:
    plain, replacing = Merge(("id",)).fingerprint, REPLACES.fingerprint

    assert [*plain(None)] == ["keys", "window", "order_by", "match_null_keys"]  # type: ignore[arg-type]
    assert replacing(None)["replaces"] is True  # type: ignore[arg-type]
