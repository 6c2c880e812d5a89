"""The stages of a run of a history table, and its first run."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.history import ColumnsDiffer, HardDeletes, HashDiffers, NewerThan, Retention
from penstock.core.statement import FEW_ROWS
from penstock.strategies.history.commit import Counts, IdentityError
from penstock.strategies.history.snapshot import history
from penstock.strategies.history.terms import Terms
from unit.strategies.builds import a_build

T = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
AT = "TIMESTAMP '2024-06-01T00:00:00.000000Z'"
SYSTEM = "_ps_valid_from timestamp, _ps_valid_to timestamp, _ps_is_current boolean"
QUERY = "id int, value string"
CHECK = Terms(("id",), ColumnsDiffer(None), moment=T)
TIME = Terms(("id",), NewerThan("at"), moment=T)
EVENT = replace(TIME, event_time=True)
MARKED = replace(CHECK, hard_deletes=HardDeletes.NEW_RECORD)


def work(terms, table=f"{QUERY}, at timestamp, {SYSTEM}", query=f"{QUERY}, at timestamp", **more):
    return history(a_build(query=query, table=table, **more), terms, {"penstock.history": "{}"})


ALONE, STAGED = ("penstock_alone", ""), ("penstock_staged", "")
DOUBLES = ("penstock_alone", "unmet")
LATE, GONE = ("penstock_late_staged", "pending"), ("penstock_tombstones", "deleted")
NO_TWINS = {"twins": 0, "copies": 0}


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (CHECK, [STAGED, DOUBLES]),
        (replace(CHECK, hard_deletes=HardDeletes.INVALIDATE), [STAGED, DOUBLES]),
        (MARKED, [STAGED, DOUBLES, GONE]),
        (replace(CHECK, retention=Retention(2)), [STAGED]),
        (EVENT, [STAGED, LATE]),
        (replace(EVENT, retention=Retention(2)), [STAGED]),
        (replace(EVENT, hard_deletes=HardDeletes.NEW_RECORD), [STAGED, LATE, GONE]),
    ],
)
def test_a_run_has_the_stages_that_its_settings_need(terms, expected):
    looks_ahead = bool(terms.event_time) != bool(terms.retention)
    again = [ALONE, *expected] if looks_ahead else expected

    assert [(stage.view, stage.when) for stage in work(terms).stages] == expected
    assert [(each.view, each.when) for each in work(terms, replays=True).stages] == again


def test_the_source_is_read_once_unless_it_surely_gives_the_same_rows_again():
    stages = work(replace(EVENT, hard_deletes=HardDeletes.NEW_RECORD)).stages
    alone, *_ = work(EVENT, replays=True).stages

    read = [stage.passing.sql.count("FROM `penstock_query`") for stage in stages]
    assert read == [1, 0, 0]
    assert all("penstock_query" not in stage.sql for stage in stages)
    assert alone.sql.count("FROM `penstock_query`") == 1


BY_KEY = "count(*) OVER (PARTITION BY"


@pytest.mark.parametrize("terms", [replace(TIME, retention=Retention(2)), EVENT])
def test_rows_are_asked_for_others_of_their_key_only_where_there_are_any(terms):
    _, staged, *_ = work(terms, replays=True).stages

    plain, twins, copies = (
        staged.chosen(seen).passing.sql.count(BY_KEY)
        for seen in (NO_TWINS, {"twins": 1, "copies": 0}, {"twins": 0, "copies": 2})
    )

    assert (plain, twins, copies) == (0, 1, 1)


def test_of_a_source_with_histories_few_keys_of_several_rows_are_looked_at_apart():
    alone, staged, *_ = work(EVENT, replays=True).stages
    few, many = (
        staged.chosen({"twins": 0, "copies": keys}).passing.sql for keys in (FEW_ROWS, FEW_ROWS + 1)
    )

    ignoring = work(replace(EVENT, ignore_null_time=True), replays=True).stages[1]
    assert "penstock_alone" not in ignoring.chosen({"twins": 0, "copies": 1}).passing.sql
    assert alone.is_kept
    for kind in ("ANTI", "SEMI"):
        assert few.count(f"r LEFT {kind} JOIN (SELECT `id` FROM `penstock_alone` WHERE") == 1
    assert (few.count("BROADCAST(a)"), few.count("FROM `penstock_query`")) == (2, 2)
    assert "penstock_alone" not in many


WELL = {
    "penstock_source_side": 10,
    "penstock_table_side": 9,
    "met": 8,
    "source_only": 2,
    "table_only": 1,
}


@pytest.mark.parametrize(
    ("seen", "asks"),
    [
        ({}, False),
        ({"penstock_source_side": 11}, True),  # a copy in the source meets the version of its key
        ({"penstock_table_side": 10}, True),  # two versions meet one row
        ({"met": 10, "penstock_source_side": 11, "penstock_table_side": 10}, True),
        ({"null_keys": 1}, True),  # all that is wrong is told at once
        ({"early": 1}, True),
    ],
)
def test_rows_that_met_tell_whether_keys_are_there_once(seen, asks):
    staged, _ = work(CHECK).stages

    again = staged.retry({**{rule.count: 0 for rule in staged.rules}, **WELL, **seen})

    assert staged.passing.sql.count(BY_KEY) == 0
    assert (again is not None) is asks
    if again is not None:
        assert (again.view, again.passing.sql.count(BY_KEY)) == (staged.view, 2)
        assert not again.passing.sides


@pytest.mark.parametrize(
    ("terms", "carried"),
    [
        (TIME, "`id`, `at`"),
        (replace(TIME, change=HashDiffers("value", None)), "`id`, `value`"),
        (replace(TIME, change=HashDiffers("_ps_row_hash", ("value",))), "`id`"),
    ],
)
def test_of_a_query_that_replays_what_tells_a_change_meets_the_table(terms, carried):
    hashed = ", _ps_row_hash string" if "_ps_row_hash" in str(terms.change) else ""
    found, doubles, fetch = work(
        terms, f"{QUERY}, at timestamp, {SYSTEM}{hashed}", replays=True
    ).stages

    assert [each.view for each in (found, doubles, fetch)] == [
        "penstock_found",
        "penstock_alone",
        "penstock_staged",
    ]
    assert f"FROM (SELECT {carried}, " in found.passing.sides["penstock_source_side"]
    assert "FROM penstock_found GROUP BY" in doubles.sql
    assert fetch.when == "found"


def test_rows_that_were_found_are_fetched_or_all_is_asked_again():
    *_, fetch = work(TIME, replays=True).stages
    few, many = (fetch.chosen({"found": number}) for number in (FEW_ROWS, FEW_ROWS + 1))

    assert [each.passing.sql.count("/*+ BROADCAST(f) */") for each in (few, many)] == [1, 0]
    assert few.passing.sql.count("FROM `penstock_query` q JOIN") == 1
    assert few.retry({"fetched": FEW_ROWS}) is None
    again = few.retry({"fetched": FEW_ROWS - 1})
    assert (again.view, again.passing.sql.count(BY_KEY)) == ("penstock_staged", 2)


def test_where_all_columns_are_compared_none_is_fetched():
    for terms in (CHECK, replace(TIME, change=NewerThan("at", compare_rows=True))):
        assert [each.view for each in work(terms, replays=True).stages] == [
            "penstock_staged",
            "penstock_alone",
        ]


def test_a_key_of_one_side_that_was_staged_twice_is_asked_for():
    _, doubles = work(CHECK).stages

    assert doubles.retry({"doubles": 0}) is None
    assert doubles.retry({"doubles": 1}).passing.sql.count(BY_KEY) == 2


def test_a_source_of_which_rows_are_left_out_is_asked_row_by_row():
    look = work(replace(TIME, ignore_null_time=True), replays=True).stages[0].look_sql

    assert ", 1 AS `copies`" in look


def test_few_rows_are_sent_to_where_the_versions_lie():
    *_, late, gone = work(replace(EVENT, hard_deletes=HardDeletes.NEW_RECORD)).stages

    hints = [
        each.chosen({each.when: rows}).passing.sql.count("/*+ BROADCAST")
        for each in (late, gone)
        for rows in (FEW_ROWS, FEW_ROWS + 1)
    ]

    assert hints == [1, 0, 1, 0]


def test_the_counts_of_late_rows_have_names_of_their_own():
    first, late = work(EVENT).stages

    assert first.passing.counts.keys().isdisjoint(late.passing.counts)
    assert all(name.startswith("late_") for name in late.passing.counts)
    assert "late_source_rows" not in late.passing.counts
    assert [rule.count for rule in late.rules if not rule.count.startswith("late_")] == []


@pytest.mark.parametrize("terms", [CHECK, TIME, EVENT, replace(EVENT, retention=Retention(1))])
def test_every_rule_has_its_count(terms):
    for stage in work(terms).stages:
        if stage.passing:
            counted = {*stage.passing.counts, "tied"}  # rows that are alone tie with nothing
            assert {rule.count for rule in stage.rules} <= counted


def test_nothing_to_write_is_no_commit():
    decide = work(CHECK).decide

    assert decide({"source_rows": 3, "unchanged": 3}) is None
    assert decide({"source_rows": 1, "opened_new": 1}) is not None


@pytest.mark.parametrize("seen", [{"source_rows": 2, "unchanged": 1}, {"closed": 1, "closes": 1}])
def test_counts_that_disagree_make_no_commit(seen):
    with pytest.raises(IdentityError):
        work(CHECK).decide(seen)


def test_what_was_counted_is_told_and_nothing_where_nothing_was_looked_at():
    told = work(CHECK).counts

    assert told({"source_rows": 1, "unchanged": 1}) == Counts(source_rows=1, unchanged=1).metrics
    assert told({}) == {}


@pytest.mark.parametrize(
    "terms", [CHECK, TIME, MARKED, replace(CHECK, retention=Retention(keep_last=1))]
)
def test_a_first_run_guards_its_rows_as_it_writes_them_and_looks_only_after_a_refusal(terms):
    first = work(terms, table="")

    assert first.stages == ()
    assert "raise_error('penstock:history-guard: " in first.decide({}).sql
    assert [stage.view for stage in first.again.stages] == ["penstock_staged"]


@pytest.mark.parametrize("terms", [EVENT, replace(TIME, ignore_null_time=True)])
def test_a_first_run_whose_counts_no_guard_can_give_classifies_before_it_writes(terms):
    first = work(terms, table="")

    commit = first.decide({"source_rows": 3, "opened_new": 2, "ignored": 1})

    assert [stage.view for stage in first.stages] == ["penstock_staged"]
    assert first.again is None
    assert "history-guard" not in commit.sql
    assert commit.sql.endswith("FROM penstock_staged WHERE `__penstock_op` = 'open'")
    assert commit.expected == {"numOutputRows": ("M3", 2)}
    assert commit.metrics["ignored"] == 1


def test_the_columns_of_a_new_table_are_the_querys_then_the_system_columns():
    sql = work(replace(MARKED, change=HashDiffers("_ps_row_hash", ("value",))), table="").decide({})

    assert (
        f"AS SELECT `id`, `value`, `at`, {AT} AS `_ps_valid_from`, CAST(NULL AS TIMESTAMP) AS "
        "`_ps_valid_to`, true AS `_ps_is_current`, false AS `_ps_is_deleted`, `_ps_row_hash` FROM ("
    ) in sql.sql
    assert "'penstock.history' = '{}'" in sql.sql
    assert sql.exclusive
