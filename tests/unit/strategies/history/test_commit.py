"""What a run counts, and the identities that hold before anything is written."""

from dataclasses import replace

import pytest

from penstock.strategies.history.commit import Counts, IdentityError
from penstock.strategies.history.snapshot import Snapshot

H21 = Counts(source_rows=3, opened_new=1, opened_changed=1, unchanged=1, closed=1, closes=1)


def test_looks_of_all_stages_are_one_and_what_late_rows_came_to_is_added():
    seen = {
        "source_rows": 5,
        "unchanged": 1,
        "opened_new": 1,
        "pending": 3,
        "closes": 1,
        "copied": 0,
        "late_opened_new": 1,
        "late_opened_late": 2,
        "late_moves": 1,
        "late_shortened": 1,
        "late_copied": 0,
        "tombstones": None,
    }

    assert Counts.of(seen) == Counts(
        source_rows=5,
        unchanged=1,
        opened_new=2,
        opened_late=2,
        pending=3,
        closes=1,
        moves=1,
        shortened=1,
    )


def test_nothing_seen_is_nothing_counted():
    assert Counts.of({}) == Counts()
    assert not Counts().writes


def test_opens_are_the_rows_that_opened_and_the_tombstones():
    counts = Counts(opened_new=1, opened_changed=2, opened_late=4, reopened=8, tombstones=16)

    assert counts.opens == 31


def test_updates_are_the_staged_ends_not_all_that_were_closed():
    assert Counts(closed=5, shortened=3, closes=2, moves=1).updates == 3


@pytest.mark.parametrize(
    "counts",
    [
        Counts(opened_new=1),
        Counts(reopened=1),
        Counts(closes=1),
        Counts(moves=1),
        Counts(pruned=1),
        Counts(tombstones=1),
    ],
)
def test_each_operation_alone_makes_a_commit(counts):
    assert counts.writes


def test_rows_that_write_nothing_make_no_commit():
    assert not Counts(source_rows=6, unchanged=3, ignored=2, skipped=1).writes


def test_metrics_are_those_of_the_docs_without_what_is_staged():
    assert Counts(
        source_rows=1, opened_new=1, tombstones=2, closes=3, moves=4, pending=5
    ).metrics == {
        "source_rows": 1,
        "opened_new": 1,
        "opened_changed": 0,
        "opened_late": 0,
        "reopened": 0,
        "unchanged": 0,
        "ignored": 0,
        "skipped": 0,
        "closed": 0,
        "shortened": 0,
        "deleted": 0,
        "pruned": 0,
    }


def test_a_first_run_opens_every_row():
    assert Snapshot.counts({"numOutputRows": 7}) == Counts(source_rows=7, opened_new=7).metrics


def test_every_row_of_the_source_is_counted_once():
    everything = Counts(
        source_rows=127,
        opened_new=1,
        opened_changed=2,
        opened_late=4,
        reopened=8,
        unchanged=16,
        ignored=32,
        skipped=64,
    )

    everything.check(event_time=True)
    with pytest.raises(IdentityError, match="M1: source_rows is 128, its parts are 127"):
        replace(everything, source_rows=128).check(event_time=True)


def test_in_run_time_mode_a_version_closes_for_a_change_or_a_missing_key():
    H21.check(event_time=False)
    replace(H21, closed=3, deleted=2).check(event_time=False)
    with pytest.raises(IdentityError, match="M2: closed is 2, opened and deleted are 1"):
        replace(H21, closed=2).check(event_time=False)


def test_is_no_promise_of_event_time_mode():
    replace(H21, closed=0).check(event_time=True)


def test_is_told_before_M2():
    with pytest.raises(IdentityError, match="M1"):
        Counts(source_rows=1, closed=1).check(event_time=False)
