"""The counts of a step as reports tell them."""

from dataclasses import replace

import pytest

from fakes.silver_table import XH, XM, an_entity
from penstock.core.entities.entity import LastSeen, ProcessType
from penstock.strategies.entities.metrics import counts_before, mismatches, step_metrics
from penstock.strategies.entities.statistics import SliceCounts
from unit.strategies.entities.slices import a_step

FULL, MERGE, HISTORIC = ProcessType.FULL, ProcessType.MERGE, ProcessType.HISTORIC
TEN = {"recordsInSlice": 10, "arrived_deleted": 2}
GIVEN = "ID int, SeqNr int, name string"


@pytest.mark.parametrize(
    ("process", "metrics", "expected"),
    [
        (FULL, TEN, (10, 10, 0, 0, 0, 0, 0)),
        (MERGE, {**TEN, "numTargetRowsInserted": 3, "numSourceRows": 11}, (10, 3, 5, 2, 0, 0, 1)),
        (MERGE, {**TEN, "numTargetRowsInserted": 3, "numSourceRows": 9}, (10, 3, 5, 2, 0, 0, 0)),
        (MERGE, {**TEN, "numTargetRowsInserted": 3, "inferred_deleted": 4}, (10, 3, 5, 2, 0, 0, 4)),
        (MERGE, {**TEN, "numOutputRows": 10}, (10, 8, 0, 2, 0, 0, 0)),
        (MERGE, TEN, (10, 0, 8, 2, 0, 0, 0)),
        (
            HISTORIC,
            {**TEN, "source_rows": 10, "opened_new": 1, "opened_changed": 2, "deleted": 3},
            (10, 1, 2, 3, 0, 0, 3),
        ),
        (HISTORIC, {**TEN, "numOutputRows": 9}, (10, 9, 0, 0, 0, 0, 0)),
        *((process, {}, (0, 0, 0, 0, 0, 0, 0)) for process in (FULL, MERGE, HISTORIC)),
        (FULL, {"numOutputRows": 9}, ()),
    ],
)
def test_what_became_of_the_rows_is_told_of_the_token_and_deltas_counts(process, metrics, expected):
    assert tuple(step_metrics(process, metrics).values()) == expected


def lines(commit, entity=XM, **changes):
    step = replace(a_step(entity, GIVEN, SliceCounts(10, flagged=2)), **changes)
    return [*mismatches(step, commit)]


RIGHT = {"numSourceRows": 10, "numTargetRowsInserted": 3, "numTargetRowsMatchedUpdated": 6}


def test_counts_of_a_merge_agree_with_those_of_delta():
    assert counts_before(a_step(XM, GIVEN, SliceCounts(10, flagged=2))) == TEN
    assert lines(RIGHT) == []
    assert lines(RIGHT | {"numSourceRows": 9}) == [
        "9 rows were read, 10 are in the slice and 0 gone"
    ]
    assert lines(RIGHT | {"numTargetRowsMatchedUpdated": 8}) == [
        "8 rows were updated, of 10 with 3 inserted and 0 gone"
    ]
    assert lines(RIGHT | {"numTargetRowsMatchedUpdated": 4}) == [
        "4 rows were updated, of 10 with 3 inserted and 0 gone"
    ]
    assert [lines(RIGHT | {"numTargetRowsMatchedUpdated": n}) for n in (5, 7)] == [[], []]
    assert lines(RIGHT | {"numTargetRowsInserted": 9, "numTargetRowsMatchedUpdated": 1})[0] == (
        "9 rows were inserted and 2 arrived deleted, of 10"
    )


def test_keys_that_are_gone_are_read_and_updated_beside_the_slice():
    gone = RIGHT | {"inferred_deleted": 2, "numSourceRows": 12, "numTargetRowsMatchedUpdated": 9}

    assert lines(gone) == []
    assert lines(gone | {"numSourceRows": 10})[0] == (
        "10 rows were read, 10 are in the slice and 2 gone"
    )
    assert lines(gone | {"numTargetRowsMatchedUpdated": 10}) == [
        "10 rows were updated, of 10 with 3 inserted and 2 gone"
    ]
    assert lines(RIGHT | {"numTargetRowsInserted": 8, "numTargetRowsMatchedUpdated": 0}) == []
    assert lines({"numTargetRowsInserted": 10}) == [
        "10 rows were inserted and 2 arrived deleted, of 10",
        "0 rows were read, 10 are in the slice and 0 gone",
    ]


def test_a_merge_that_is_fed_changes_alone_reads_fewer_rows():
    changes_alone = an_entity(last_seen=LastSeen.ON_CHANGE)
    few = {"numSourceRows": 4, "numTargetRowsInserted": 3, "numTargetRowsMatchedUpdated": 1}

    assert lines(few, changes_alone) == []
    assert lines({**few, "numTargetRowsMatchedUpdated": 0}, changes_alone) == []
    deletes = {"numSourceRows": 4, "numTargetRowsInserted": 0, "numTargetRowsMatchedUpdated": 4}
    assert lines(deletes, counts=SliceCounts(10, flagged=10)) == []
    assert lines(few, counts=SliceCounts(10, flagged=10))[1:] == []
    assert lines({**few, "numSourceRows": 11, "inferred_deleted": 0}, changes_alone) == [
        "11 rows were read, 10 are in the slice and 0 gone"
    ]


def test_other_steps_have_no_counts_of_a_merge():
    assert lines(RIGHT | {"numSourceRows": 9}, XH) == []
    assert lines({"numOutputRows": 9}) == []
