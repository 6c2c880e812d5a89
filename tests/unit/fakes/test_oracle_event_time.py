"""The oracle gives what the acceptance cases of event time say."""

import datetime as dt
from dataclasses import replace
from itertools import permutations

import pytest

from fakes.history_story import T1, T2, T3, T4, TS, Story, source
from fakes.oracle_types import Fault, Metrics, OracleError, Source
from penstock.core.history import HardDeletes, Retention

EV = replace(TS, event_time=True)
INVALIDATE = replace(EV, hard_deletes=HardDeletes.INVALIDATE)
NEW_RECORD = replace(EV, hard_deletes=HardDeletes.NEW_RECORD)
LOG = ("1 a 01-10", "1 b 02-10", "1 c 03-10")
H63 = ["1 a [01-10, 02-10)", "1 b [02-10, 03-10)", "1 c [03-10, )"]


def h60():
    return Story(EV).run(T1, "1 a 01-10").run(T2, "1 b 02-10")


def gone(settings=INVALIDATE):
    story = Story(settings).run(T1, "1 a 01-10", "2 z 01-11")
    return story.run(T2, "2 z 01-11")


def short(story):
    """Leave out `updated_at`, where it is the start anyway."""
    return [f"{line[:4]}{line[line.index('[') :]}" for line in story.versions]


def test_oracle_versions_start_at_their_own_time():
    story = h60()

    assert story.versions == ["1 a 01-10 [01-10, 02-10)", "1 b 02-10 [02-10, )"]
    assert story.metrics == Metrics(source_rows=1, opened_changed=1, closed=1)


def test_oracle_late_rows_are_placed_in_closed_history():
    story = h60().run(T3, "1 x 01-20", "1 z 01-01")

    assert short(story) == [
        "1 z [01-01, 01-10)",
        "1 a [01-10, 01-20)",
        "1 x [01-20, 02-10)",
        "1 b [02-10, )",
    ]
    assert story.metrics == Metrics(source_rows=2, opened_late=2, shortened=1)


def test_oracle_one_source_may_hold_a_whole_history():
    story = Story(EV).run(T1, *LOG)

    assert short(story) == H63
    assert story.metrics == Metrics(source_rows=3, opened_new=1, opened_changed=2)


@pytest.mark.parametrize("order", list(permutations(LOG)))
def test_oracle_any_order_of_runs_gives_the_same_table(order):
    story = Story(EV)

    for at, line in zip((T1, T2, T3), order, strict=True):
        story.run(at, line)

    assert short(story) == H63


def test_oracle_two_rows_of_one_instant_are_refused():
    with pytest.raises(OracleError) as caught:
        Story(EV).run(T1, "1 a 01-10", "1 b 01-10")

    assert caught.value.faults == (Fault("tied-versions", 1, ((1,),)),)


def test_oracle_known_rows_are_never_compared():
    story = h60().run(T3, "1 q 02-10")

    assert not story.is_commit
    assert story.metrics == Metrics(source_rows=1, unchanged=1)

    story = h60().run(T3, "1 x 01-20", "1 z 01-01")
    story.run(T4, "1 a 01-10", "1 b 02-10", "1 x 01-20", "1 z 01-01")

    assert not story.is_commit
    assert story.metrics == Metrics(source_rows=4, unchanged=4)


def test_oracle_a_key_that_returns_with_an_old_time_is_reopened_at_T():
    story = gone().run(T3, "1 a 01-10", "2 z 01-11")

    assert story.versions[:2] == ["1 a 01-10 [01-10, T2)", "1 a 01-10 [T3, )"]
    assert story.metrics == Metrics(source_rows=2, reopened=1, unchanged=1)
    assert not story.run(T4, "1 a 01-10", "2 z 01-11").is_commit


def test_oracle_a_tombstone_ends_where_its_key_is_reopened():
    story = gone(NEW_RECORD).run(T3, "1 a 01-10", "2 z 01-11")

    assert story.versions[:3] == [
        "1 a 01-10 [01-10, T2)",
        "1 a 01-10 [T2, T3)†",
        "1 a 01-10 [T3, )",
    ]
    assert story.metrics == Metrics(source_rows=2, reopened=1, unchanged=1, closed=1)


def test_oracle_a_key_that_returns_with_a_new_time_starts_there():
    story = gone().run(T3, "1 b 06-11", "2 z 01-11")

    assert story.versions[:2] == ["1 a 01-10 [01-10, T2)", "1 b 06-11 [06-11, )"]
    assert story.metrics == Metrics(source_rows=2, opened_changed=1, unchanged=1)


def test_oracle_a_date_is_its_midnight():
    rows = source("1 a 01-10")
    dated = tuple({**row, "updated_at": row["updated_at"].date()} for row in rows.rows)

    story = Story(EV).run_on(T1, Source(rows.columns, dated))

    assert story.history.versions[0].valid_from == dt.datetime(2024, 1, 10, tzinfo=dt.UTC)


def test_oracle_rows_that_retention_would_remove_are_skipped():
    story = Story(replace(EV, retention=Retention(keep_last=2)))

    story.run(T1, *LOG)

    assert short(story) == H63[1:]
    assert story.metrics == Metrics(source_rows=3, opened_changed=2, skipped=1)
    assert not story.run(T2, *LOG).is_commit
    assert story.metrics == Metrics(source_rows=3, unchanged=2, skipped=1)


def test_a_version_ahead_of_T_cannot_be_closed():
    story = Story(INVALIDATE).run(T1, "1 a 06-11", "2 z 01-11")

    with pytest.raises(OracleError, match="run-time-not-after-version"):
        story.run(T2, "2 z 01-11")


def test_a_key_that_returns_with_the_time_at_which_it_went_is_reopened():
    story = gone().run(T3, "1 b 06-01", "2 z 01-11")

    assert story.versions[:2] == ["1 a 01-10 [01-10, T2)", "1 b T2 [T3, )"]
    assert story.metrics == Metrics(source_rows=2, reopened=1, unchanged=1)


def test_only_the_last_row_of_a_key_that_returns_is_reopened():
    story = gone().run(T3, "1 a 01-10", "1 x 01-20", "1 y 05-15", "2 z 01-11")

    assert story.versions[:3] == [
        "1 a 01-10 [01-10, 01-20)",
        "1 x 01-20 [01-20, T2)",
        "1 y 05-15 [T3, )",
    ]
    assert story.metrics == Metrics(
        source_rows=4, opened_changed=1, reopened=1, unchanged=2, shortened=1
    )


def test_a_row_of_the_time_at_which_a_key_went_starts_there_before_a_newer_one():
    story = gone().run(T3, "1 x 06-01", "1 y 06-11", "2 z 01-11")

    assert short(story)[:3] == ["1 a [01-10, T2)", "1 x [T2, 06-11)", "1 y [06-11, )"]
    assert story.metrics == Metrics(source_rows=3, opened_changed=2, unchanged=1)


def test_a_tombstone_alone_knows_no_row():
    story = gone(replace(NEW_RECORD, retention=Retention(keep_last=1)))

    assert story.versions[:1] == ["1 a 01-10 [T2, )†"]

    story.run(T3, "1 w 01-05", "1 a 01-10", "2 z 01-11")

    assert story.versions[:1] == ["1 a 01-10 [T3, )"]
    assert story.metrics == Metrics(
        source_rows=3, reopened=1, skipped=1, unchanged=1, closed=1, pruned=1
    )

    story = gone(replace(NEW_RECORD, retention=Retention(keep_last=1)))
    story.run(T3, "1 a 01-10", "1 b 06-11", "2 z 01-11")

    assert story.metrics == Metrics(
        source_rows=3, opened_changed=1, skipped=1, unchanged=1, closed=1, pruned=1
    )


def test_a_late_row_in_a_gap_ends_where_the_next_version_starts():
    story = gone().run(T3, "1 b 06-11", "2 z 01-11").run(T4, "1 c 06-05", "2 z 01-11")

    assert short(story)[:3] == ["1 a [01-10, T2)", "1 c [06-05, 06-11)", "1 b [06-11, )"]
    assert story.metrics == Metrics(source_rows=2, opened_late=1, unchanged=1)


def test_a_newer_row_ends_a_tombstone_at_its_own_time():
    story = gone(NEW_RECORD).run(T3, "1 b 06-11", "2 z 01-11")

    assert story.versions[1:3] == ["1 a 01-10 [T2, 06-11)†", "1 b 06-11 [06-11, )"]
    assert story.metrics == Metrics(source_rows=2, opened_changed=1, unchanged=1, closed=1)


def test_a_row_of_no_time_keeps_its_key_present():
    story = Story(replace(INVALIDATE, ignore_null_time=True)).run(T1, "1 a 01-10")

    story.run(T2, "1 q NULL", "1 r NULL")

    assert not story.is_commit
    assert story.metrics == Metrics(source_rows=2, ignored=2)
