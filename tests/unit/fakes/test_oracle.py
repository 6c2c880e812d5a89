"""The oracle of history tables gives what the acceptance cases say, letter by letter."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.history_story import T1, T2, T3, T4, TS, Story, source
from fakes.oracle_laws import Operations, as_of, count_gaps
from fakes.oracle_types import Fault, Metrics, OracleError, Source
from penstock.core.history import ColumnsDiffer, HardDeletes, NewerThan, Retention
from penstock.strategies.history.snapshot import Snapshot

CK = Snapshot(("id",), ColumnsDiffer(("value",)))
INVALIDATE = {"hard_deletes": HardDeletes.INVALIDATE}
NEW_RECORD = {"hard_deletes": HardDeletes.NEW_RECORD}


def h20(settings=TS):
    return Story(settings).run(T1, "1 a 01-05", "2 b 01-06")


def h21():
    return h20().run(T2, "1 A 02-01", "2 b 01-06", "3 c 02-02")


def refused(story, at, *lines):
    with pytest.raises(OracleError) as caught:
        story.run(at, *lines)
    return caught.value.faults


def with_dates(rows):
    return Source(
        rows.columns, tuple({**row, "updated_at": row["updated_at"].date()} for row in rows.rows)
    )


def test_oracle_a_first_run_opens_every_row_at_T():
    story = h20()

    assert story.versions == ["1 a 01-05 [T1, )", "2 b 01-06 [T1, )"]
    assert all(version.is_current for version in story.history.versions)
    assert story.metrics == Metrics(source_rows=2, opened_new=2)
    assert story.is_commit


def test_oracle_a_newer_row_closes_and_opens():
    story = h21()

    assert story.versions == [
        "1 a 01-05 [T1, T2)",
        "1 A 02-01 [T2, )",
        "2 b 01-06 [T1, )",
        "3 c 02-02 [T2, )",
    ]
    assert story.metrics == Metrics(
        source_rows=3, opened_new=1, opened_changed=1, closed=1, unchanged=1
    )
    assert story.did == Operations(opens=2, closes=1)


def test_oracle_the_same_source_again_commits_nothing():
    story = h21().run(T3, "1 A 02-01", "2 b 01-06", "3 c 02-02")

    assert not story.is_commit
    assert story.metrics == Metrics(source_rows=3, unchanged=3)


def test_oracle_equal_and_older_rows_are_unchanged():
    story = h20().run(T2, "1 x 01-05", "2 y 01-01")

    assert not story.is_commit
    assert story.metrics == Metrics(source_rows=2, unchanged=2)


def test_oracle_compare_rows_wants_a_newer_and_a_different_row():
    story = h20(Snapshot(("id",), NewerThan("updated_at", compare_rows=True)))

    assert not story.run(T2, "1 a 03-01").is_commit
    assert story.run(T3, "1 z 03-02").versions == [
        "1 a 01-05 [T1, T3)",
        "1 z 03-02 [T3, )",
        "2 b 01-06 [T1, )",
    ]


def test_oracle_a_row_without_updated_at_is_refused():
    assert refused(h20(), T2, "1 a NULL") == (Fault("null-updated-at", 1, ((1,),)),)


def test_oracle_an_ignored_row_keeps_its_key_present():
    story = h20(replace(TS, ignore_null_time=True, **INVALIDATE))

    story.run(T2, "1 a NULL", "2 b 01-06")

    assert not story.is_commit
    assert story.metrics == Metrics(source_rows=2, ignored=1, unchanged=1)


def test_ignored_rows_are_no_duplicates():
    story = h20(replace(TS, ignore_null_time=True)).run(T2, "1 a NULL", "1 b NULL", "1 a 01-05")

    assert story.metrics == Metrics(source_rows=3, ignored=2, unchanged=1)


def test_a_stored_row_without_updated_at_gives_way_to_any_time():
    story = Story(CK).run(T1, "1 a NULL", "2 b 01-06").then(TS)

    story.run(T2, "1 a 01-01", "2 b 01-01")

    assert story.versions == ["1 a NULL [T1, T2)", "1 a 01-01 [T2, )", "2 b 01-06 [T1, )"]


def test_oracle_dates_work_as_updated_at():
    story = Story()

    story.run_on(T1, with_dates(source("1 a 01-05"))).run_on(T2, with_dates(source("1 A 02-01")))

    assert story.versions == ["1 a 01-05 [T1, T2)", "1 A 02-01 [T2, )"]
    assert all(isinstance(version.valid_from, dt.datetime) for version in story.history.versions)


def test_oracle_check_compares_values():
    story = Story(CK).run(T1, "1 alpha 01-01").run(T2, "1 beta 01-01")

    assert story.versions == ["1 alpha 01-01 [T1, T2)", "1 beta 01-01 [T2, )"]


def test_oracle_a_value_that_returns_is_a_version_and_updated_at_alone_is_none():
    story = Story(CK).run(T1, "1 a 01-01").run(T2, "1 b 01-01").run(T3, "1 a 01-01")

    assert not story.run(T4, "1 a 01-02").is_commit
    assert story.versions == ["1 a 01-01 [T1, T2)", "1 b 01-01 [T2, T3)", "1 a 01-01 [T3, )"]


def test_oracle_null_differs_from_empty_text():
    story = Story(CK)

    for at, value in ((T1, None), (T2, ""), (T3, None), (T4, None)):
        story.run_on(at, Source(("id", "value"), ({"id": 1, "value": value},)))

    assert [version.values["value"] for version in story.history.versions] == [None, "", None]


def test_oracle_a_key_of_two_columns():
    story = Story(Snapshot(("user_id", "country"), ColumnsDiffer(None)), "user_id country value")

    story.run(T1, "7 NL a", "7 DE b").run(T2, "7 NL A", "7 DE b")

    assert story.versions == ["7 DE b [T1, )", "7 NL a [T1, T2)", "7 NL A [T2, )"]


@pytest.mark.parametrize("story", [Story(CK), h20(CK)], ids=["first run", "later run"])
def test_oracle_a_key_that_occurs_twice_is_refused(story):
    faults = refused(story, T2, "1 a 01-01", "1 b 01-01", "2 c 01-01")

    assert faults == (Fault("duplicate-keys", 1, ((1,),)),)


def test_oracle_null_keys_are_refused_or_match():
    assert refused(Story(CK), T1, "NULL a 01-01") == (Fault("null-key", 1, ((None,),)),)

    story = Story(replace(CK, match_null_keys=True)).run(T1, "NULL a 01-01")

    assert not story.run(T2, "NULL a 01-01").is_commit
    assert story.run(T3, "NULL b 01-01").versions == [
        "NULL a 01-01 [T1, T3)",
        "NULL b 01-01 [T3, )",
    ]


def test_oracle_one_refusal_names_every_reason():
    faults = refused(h20(), T2, "1 a 01-05", "1 b 01-05", "NULL c 01-05", "2 d NULL")

    assert faults == (
        Fault("duplicate-keys", 1, ((1,),)),
        Fault("null-key", 1, ((None,),)),
        Fault("null-updated-at", 1, ((2,),)),
    )


def test_oracle_a_missing_key_stays_by_default():
    story = h20(CK).run(T2, "1 a 01-05")

    assert not story.is_commit
    assert story.metrics == Metrics(source_rows=1, unchanged=1)


def test_oracle_invalidate_closes_and_a_return_leaves_a_gap():
    story = h20(replace(CK, **INVALIDATE)).run(T2, "1 a 01-05")

    assert story.versions == ["1 a 01-05 [T1, )", "2 b 01-06 [T1, T2)"]
    assert story.metrics == Metrics(source_rows=1, unchanged=1, deleted=1, closed=1)

    story.run(T3, "1 a 01-05", "2 b 01-06")

    assert story.versions[1:] == ["2 b 01-06 [T1, T2)", "2 b 01-06 [T3, )"]
    assert story.metrics == Metrics(source_rows=2, unchanged=1, opened_new=1)
    assert count_gaps(story.history) == 1


def test_oracle_new_record_writes_a_tombstone_that_a_return_closes():
    story = h20(replace(CK, **NEW_RECORD)).run(T2, "1 a 01-05")

    assert story.versions[1:] == ["2 b 01-06 [T1, T2)", "2 b 01-06 [T2, )†"]
    assert story.metrics == Metrics(source_rows=1, unchanged=1, deleted=1, closed=1)
    assert story.did == Operations(opens=1, closes=1)
    assert not story.run(T3, "1 a 01-05").is_commit

    story.run(T4, "1 a 01-05", "2 b 01-06")

    assert story.versions[2:] == ["2 b 01-06 [T2, T4)†", "2 b 01-06 [T4, )"]
    assert story.metrics == Metrics(source_rows=2, unchanged=1, opened_changed=1, closed=1)


def test_oracle_an_empty_source_closes_nothing_unless_allowed():
    closes = replace(CK, **INVALIDATE)

    assert not h20(CK).run(T2).is_commit
    assert refused(h20(closes), T2) == (Fault("empty-source"),)
    assert h20(closes).then(replace(closes, allow_empty=True)).run(T2).versions == [
        "1 a 01-05 [T1, T2)",
        "2 b 01-06 [T1, T2)",
    ]


def test_an_empty_source_is_fine_where_nothing_lives():
    story = h20(replace(CK, allow_empty=True, **INVALIDATE)).run(T2)

    assert not story.then(replace(CK, **INVALIDATE)).run(T3).is_commit


def test_oracle_is_deleted_comes_with_the_first_tombstone():
    story = h20(CK).then(replace(CK, **NEW_RECORD))

    assert not story.run(T2, "1 a 01-05", "2 b 01-06").history.has_is_deleted

    story.run(T2, "1 a 01-05", "3 c 01-06")

    assert story.versions[1:] == ["2 b 01-06 [T1, T2)", "2 b 01-06 [T2, )†", "3 c 01-06 [T2, )"]
    assert [v.is_deleted for v in story.history.versions] == [None, None, True, False]


def test_oracle_a_new_column_is_null_in_what_is_there():
    story = h20(CK)

    story.run_on(T2, source("1 A Rome", "2 b Oslo", columns="id value city"))

    assert story.is_commit
    assert story.history.columns == ("id", "value", "updated_at", "city")
    assert story.versions == [
        "1 a 01-05 NULL [T1, T2)",
        "1 A NULL Rome [T2, )",
        "2 b 01-06 NULL [T1, )",
    ]


def test_oracle_with_all_a_value_in_a_new_column_is_a_change():
    story = h20(Snapshot(("id",), ColumnsDiffer(None)))

    story.run_on(T2, source("1 a 01-05 Rome", "2 b 01-06 NULL", columns="id value updated_at city"))

    assert story.versions == [
        "1 a 01-05 NULL [T1, T2)",
        "1 a 01-05 Rome [T2, )",
        "2 b 01-06 NULL [T1, )",
    ]


def test_oracle_a_new_column_alone_commits_nothing():
    story = h20(CK)

    story.run_on(T2, source("1 a Rome", "2 b Oslo", columns="id value city"))

    assert not story.is_commit
    assert story.history.columns == ("id", "value", "updated_at")


def test_a_commit_that_opens_no_row_adds_no_column():
    story = h20(replace(CK, **INVALIDATE))

    story.run_on(T2, source("1 a Rome", columns="id value city"))

    assert story.versions == ["1 a 01-05 [T1, )", "2 b 01-06 [T1, T2)"]
    assert story.history.columns == ("id", "value", "updated_at")


def test_oracle_a_tombstone_copies_what_is_no_longer_selected():
    story = h20(replace(CK, **NEW_RECORD))

    story.run_on(T2, source("A 1", columns="value id"))

    assert story.versions == [
        "1 a 01-05 [T1, T2)",
        "1 A NULL [T2, )",
        "2 b 01-06 [T1, T2)",
        "2 b 01-06 [T2, )†",
    ]


def test_oracle_a_compared_column_must_be_selected():
    with pytest.raises(OracleError, match="column-not-selected"):
        h20(CK).run_on(T2, source("1 01-05", columns="id updated_at"))


def test_oracle_time_does_not_go_back_and_no_interval_is_empty():
    assert refused(h20(), T1 - dt.timedelta(1), "1 a 01-05") == (Fault("run-time-before-history"),)
    assert refused(h20(), T1, "1 A 02-01") == (Fault("run-time-not-after-version", 1, ((1,),)),)


def four_versions(settings=CK):
    story = Story(settings)
    for at, value in ((T1, "a"), (T2, "b"), (T3, "c"), (T4, "d")):
        story.run(at, f"1 {value} 01-05")
    return story


def test_oracle_a_prune_leaves_the_newest():
    story = four_versions().then(replace(CK, retention=Retention(keep_last=2)))

    story.run(T4, "1 d 01-05")

    assert story.versions == ["1 c 01-05 [T3, T4)", "1 d 01-05 [T4, )"]
    assert story.metrics == Metrics(source_rows=1, unchanged=1, pruned=2)

    five = replace(CK, retention=Retention(keep_last=5))
    assert not story.then(five).run(T4, "1 d 01-05").is_commit


def test_oracle_a_version_that_is_closed_and_pruned_is_only_deleted():
    story = Story(replace(CK, retention=Retention(keep_last=1))).run(T1, "1 a 01-05")

    story.run(T2, "1 b 01-05")

    assert story.versions == ["1 b 01-05 [T2, )"]
    assert story.metrics == Metrics(source_rows=1, opened_changed=1, closed=1, pruned=1)
    assert story.did == Operations(opens=1, deletes=1)


def test_oracle_a_key_that_is_gone_keeps_its_newest_version():
    story = Story(replace(CK, **INVALIDATE)).run(T1, "1 a 01-05", "2 b 01-05")
    story.run(T2, "1 b 01-05", "2 b 01-05").run(T3, "1 c 01-05", "2 b 01-05").run(T4, "2 b 01-05")

    story.then(replace(CK, retention=Retention(keep_last=1), **INVALIDATE)).run(T4, "2 b 01-05")

    assert story.versions == ["1 c 01-05 [T3, T4)", "2 b 01-05 [T1, )"]


def test_oracle_keep_days_includes_its_boundary():
    story = Story(CK).run(T1, "1 a 01-05").run(T2, "1 b 01-05")
    story.run(T2 + dt.timedelta(1), "1 c 01-05")

    story.then(replace(CK, retention=Retention(keep_days=30))).run(T3, "1 c 01-05")

    assert story.versions == ["1 b 01-05 [T2, 06-02)", "1 c 01-05 [06-02, )"]


def test_the_newest_version_of_a_key_that_is_gone_outlives_keep_days():
    days = replace(CK, retention=Retention(keep_days=30), **INVALIDATE)
    story = h20(days).run(T2, "1 a 01-05")

    assert not story.run(T4, "1 a 01-05").is_commit


def test_oracle_with_both_only_what_both_mark_goes():
    story = Story(CK)
    for day, value in enumerate("abcdef"):
        story.run(T1 + dt.timedelta(day), f"1 {value} 01-05")

    story.then(replace(CK, retention=Retention(keep_last=3, keep_days=30))).run(T4, "1 f 01-05")

    assert story.versions == [
        "1 d 01-05 [05-04, 05-05)",
        "1 e 01-05 [05-05, 05-06)",
        "1 f 01-05 [05-06, )",
    ]


def test_oracle_as_of_gives_what_was_valid():
    story = h20(replace(CK, **NEW_RECORD)).run(T2, "1 a 01-05")
    then, later = T1 + dt.timedelta(14), T2 + dt.timedelta(1)

    assert [v.key for v in as_of(story.history, then)] == [(1,), (2,)]
    assert [v.key for v in as_of(story.history, later)] == [(1,)]
    assert [v.key for v in as_of(story.history, later, include_deleted=True)] == [(1,), (2,)]
