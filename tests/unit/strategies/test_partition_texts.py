"""What Delta would store as NULL in a partition column fails the statement that would write it."""

from dataclasses import replace

from fakes.builders import a_model
from fakes.lake import columns
from penstock.core.strategy import Layout
from penstock.strategies.append import Append
from penstock.strategies.build import partition_texts, texts_of
from penstock.strategies.merge import Merge
from penstock.strategies.partition import PartitionTable, Slice, feed
from penstock.strategies.table import Table
from unit.strategies.builds import a_build

QUERY = "id int, name string, day date"
BY_NAME = replace(a_model("users"), layout=Layout(partition_by=("NAME", "day")))
GUARDED = (
    "CASE WHEN coalesce(CAST(`name` AS STRING) IN ('', '__HIVE_DEFAULT_PARTITION__'), false) THEN "
    "raise_error(concat('penstock:', 'empty-partition-value: ', 'rows of \\'users\\' hold a text "
    "in \\'name\\' that Delta would store as NULL, because the column partitions the table')) "
    "ELSE `name` END"
)


def a_table(strategy, **more):
    model = replace(BY_NAME, strategy=strategy)
    return a_build(model=model, query=QUERY, **more)


def test_only_texts_that_partition_the_table_can_be_lost() -> None:
    assert partition_texts(("NAME", "day", "gone"), columns(QUERY)) == ("name",)
    assert texts_of(a_table(Table())) == ("name",)
    assert texts_of(a_table(Table(), partition_by=("day",))) == ()


def test_a_table_and_an_append_fail_as_they_are_written_and_then_count() -> None:
    selected = f"SELECT `id`, {GUARDED} AS `name`, `day` FROM `penstock_query`"
    works = [
        build.model.strategy.work(build)
        for build in (
            a_table(Table()),
            a_table(Table(overwrite_partitions=True), table=QUERY),
            a_table(Append(None)),
            a_table(Append(None), table=QUERY),
        )
    ]

    assert [work.stages for work in works] == [()] * 4
    assert all(work.decide({}).sql.endswith(selected) for work in works)
    counting = [work.again.stages for work in works]
    assert counting[1:] == counting[:-1]
    assert counting[0][0].look_sql.startswith("SELECT count_if(")
    assert [rule.code for rule in counting[0][0].rules] == ["empty-partition-value"]


def test_a_merge_counts_them_in_the_look_that_it_takes_anyway() -> None:
    strategy = Merge(("id",), None)
    (source, _) = strategy.work(a_table(strategy, table=QUERY)).stages

    assert source.look_sql.count("count_if") == 3
    assert [rule.code for rule in source.rules] == [
        "duplicate-keys",
        "null-key",
        "empty-partition-value",
    ]


def test_the_partitions_of_the_table_count_and_not_those_that_the_code_asks_for() -> None:
    lies = a_table(Append(None), table=QUERY, partition_by=("day",))

    assert (
        Append(None)
        .work(lies)
        .decide({})
        .sql.endswith("SELECT `id`, `name`, `day` FROM `penstock_query`")
    )
    assert Append(None).work(lies).again is None


def test_a_table_of_partitions_that_lies_by_a_text_too_is_guarded() -> None:
    given = columns(QUERY)
    lot = PartitionTable("t", "users", "day", "date", given, given, given, ((0, 1),), ("name",))

    assert GUARDED in feed(lot, (Slice("q", ((0, 1),), "1970-01-01"),)).sql
    assert GUARDED not in feed(replace(lot, partition_by=()), (Slice("q", ((0, 1),), "d"),)).sql
