"""What of a snapshot's settings decides rows."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.history import ColumnsDiffer, HashDiffers, NewerThan, Retention
from penstock.core.strategy import HistoryRun, Layout
from penstock.strategies.history.snapshot import Snapshot, terms_of
from unit.strategies.builds import a_build

CHECK = Snapshot(("Id", "Day"), ColumnsDiffer(None))
NOON = dt.datetime(2024, 6, 1, 12, tzinfo=dt.UTC)


def test_all_settings_count_but_where_rows_lie_and_names_without_case_and_order():
    assert CHECK.fingerprint(Layout()) == {
        "keys": ["day", "id"],
        "change": ["columns", None],
        "event_time": False,
        "hard_deletes": "ignore",
        "match_null_keys": False,
        "ignore_null_time": False,
        "allow_empty": False,
        "retention": None,
        "system_columns": [
            "_ps_valid_from",
            "_ps_valid_to",
            "_ps_is_current",
            "_ps_is_deleted",
            "_ps_row_hash",
        ],
    }
    assert replace(CHECK, by_current=False).fingerprint(Layout()) == CHECK.fingerprint(Layout())
    kept = replace(CHECK, retention=Retention(3, None)).fingerprint(Layout())
    assert kept["retention"] == [3, None]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (NewerThan("At", compare_rows=True), ["newer", "at", True]),
        (ColumnsDiffer(("B", "a")), ["columns", ["a", "b"]]),
        (HashDiffers("Hash", ("B", "a")), ["hash", "Hash", ["a", "b"]]),
        (HashDiffers("Hash", None), ["hash", "Hash", None]),
    ],
)
def test_what_is_a_change_decides_rows(change, expected):
    assert replace(CHECK, change=change).fingerprint(Layout())["change"] == expected


@pytest.mark.parametrize(("said", "asked"), [(True, False), (False, True), (False, False)])
def test_an_empty_source_is_allowed_by_the_model_or_by_the_run(said, asked):
    run = HistoryRun(NOON, Retention(2, None), allow_empty=asked)

    terms = terms_of(replace(CHECK, allow_empty=said, retention=Retention(9, None)), run)

    assert terms.allow_empty is (said or asked)
    assert (terms.moment, terms.retention, terms.keys) == (NOON, Retention(2, None), ("Id", "Day"))


def test_a_first_run_that_was_guarded_as_it_was_written_opened_all_its_rows():
    found = Snapshot.counts({"numOutputRows": 3})

    assert (found["source_rows"], found["opened_new"], found["deleted"]) == (3, 3, 0)
    assert Snapshot.counts({"source_rows": 3}) == {}
    with pytest.raises(TypeError, match="users has no run timestamp"):
        CHECK.work(a_build(CHECK))
