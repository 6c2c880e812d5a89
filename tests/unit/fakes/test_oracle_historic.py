"""The oracle gives what the acceptance cases of historic entities say of the engine."""

import datetime as dt

import pytest

from fakes.history_story import T1, T2, T3, T4, Story
from fakes.oracle_laws import count_gaps
from fakes.oracle_types import Inference, Metrics, OracleError
from penstock.core.history import HardDeletes, HashDiffers
from penstock.strategies.history.snapshot import Snapshot

COLUMNS = "id name hash deleted"
HISTORIC = Snapshot(("id",), HashDiffers("hash"), allow_empty=True)
INFERRED = Snapshot(
    ("id",), HashDiffers("hash"), hard_deletes=HardDeletes.INVALIDATE, allow_empty=True
)
NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)


def without_charlie(inference):
    story = Story(INFERRED, COLUMNS, inference)
    story.run(T1, "1 Alice h1 no", "2 Bob h2 no", "3 Charlie h3 no")
    return story.run(T2, "1 Alice h4 no", "2 Bob h2 no")


def test_oracle_the_first_version_ends_where_the_second_starts():
    story = Story(HISTORIC, COLUMNS).run(NOON, "1 John Data1 no")

    story.run(NOON + dt.timedelta(minutes=1), "1 John Data2 no")

    assert story.versions == ["1 John Data1 no [12:00, 12:01)", "1 John Data2 no [12:01, )"]


def test_oracle_counts_of_a_slice():
    story = Story(HISTORIC, COLUMNS).run(T1, *(f"{i} n h{i} no" for i in range(1, 6)))

    story.run(T2, "1 n x1 no", "2 n x2 no", *(f"{i} n h{i} no" for i in range(3, 7)))

    assert story.metrics == Metrics(
        source_rows=6, opened_new=1, opened_changed=2, unchanged=3, closed=2
    )


def test_oracle_delete_inference_closes_flags_and_lets_return():
    story = without_charlie(Inference(sets={"deleted": "yes"}))
    closed = [
        "1 Alice h1 no [T1, T2)",
        "1 Alice h4 no [T2, )",
        "2 Bob h2 no [T1, )",
        "3 Charlie h3 yes [T1, T2)",
    ]

    assert story.versions == closed
    assert not story.run(T3, "1 Alice h4 no", "2 Bob h2 no").is_commit

    story.run(T4, "1 Alice h4 no", "2 Bob h2 no", "3 Charlie h3 no")

    assert story.versions == [*closed, "3 Charlie h3 no [T4, )"]
    assert count_gaps(story.history) == 1


def test_oracle_a_key_outside_the_window_is_not_missing():
    story = without_charlie(Inference(scope=lambda version: version.key != (3,)))

    assert story.versions[-1] == "3 Charlie h3 no [T1, )"
    assert story.metrics.deleted == 0


def test_oracle_a_slice_again_and_a_slice_before():
    story = Story(HISTORIC, COLUMNS).run(T2, "1 John h1 no")

    assert not story.run(T2, "1 John h1 no").is_commit
    with pytest.raises(OracleError, match="run-time-before-history"):
        story.run(T1, "1 John h1 no")
