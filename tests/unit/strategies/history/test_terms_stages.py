"""The stages of a run of a history table, and its first run."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.history import ColumnsDiffer, HardDeletes, HashDiffers, NewerThan, Retention
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


def work(terms, table=f"{QUERY}, at timestamp, {SYSTEM}", query=f"{QUERY}, at timestamp"):
    return history(a_build(query=query, table=table), terms, {"penstock.history": "{}"})


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (CHECK, [("penstock_staged", "")]),
        (replace(CHECK, hard_deletes=HardDeletes.INVALIDATE), [("penstock_staged", "")]),
        (MARKED, [("penstock_staged", ""), ("penstock_tombstones", "deleted")]),
        (replace(CHECK, retention=Retention(2)), [("penstock_staged", "")]),
        (EVENT, [("penstock_staged", ""), ("penstock_late_staged", "pending")]),
        (replace(EVENT, retention=Retention(2)), [("penstock_staged", "")]),
        (
            replace(EVENT, hard_deletes=HardDeletes.NEW_RECORD),
            [
                ("penstock_staged", ""),
                ("penstock_late_staged", "pending"),
                ("penstock_tombstones", "deleted"),
            ],
        ),
    ],
)
def test_a_run_has_the_stages_that_its_settings_need(terms, expected):
    assert [(stage.view, stage.when) for stage in work(terms).stages] == expected


def test_the_source_is_read_by_the_first_stage_and_nowhere_else():
    stages = work(replace(EVENT, hard_deletes=HardDeletes.NEW_RECORD)).stages

    read = [stage.passing.sql.count("FROM `penstock_query`") for stage in stages if stage.passing]
    assert read[0] == 1
    assert sum(read) == 1
    assert all("penstock_query" not in stage.sql for stage in stages)


def test_the_counts_of_late_rows_have_names_of_their_own():
    first, late = work(EVENT).stages

    assert first.passing.counts.keys().isdisjoint(late.passing.counts)
    assert all(name.startswith("late_") for name in late.passing.counts)
    assert "late_source_rows" not in late.passing.counts
    assert [rule.count for rule in late.rules if not rule.count.startswith("late_")] == []


@pytest.mark.parametrize("terms", [CHECK, TIME, EVENT, replace(EVENT, retention=Retention(1))])
def test_every_rule_has_its_count(terms):
    for stage in work(terms).stages:
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
