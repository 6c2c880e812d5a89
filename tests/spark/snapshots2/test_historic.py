"""The engine with the terms of `historic`.

The rows bring a hash of themselves along; `alive` is no condition of ours but a column of theirs.
"""

import datetime as dt

import pytest

from fakes.builders import a_model
from fakes.history_place import shown
from fakes.history_story import T1, T2, T3, source
from fakes.history_table import HistoryTable, utc
from penstock.core.history import HardDeletes, HashDiffers
from penstock.plan.history import run_time_refusal
from penstock.strategies.history.snapshot import Snapshot

HISTORIC = Snapshot(("id",), HashDiffers("hash"))
TWELVE = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
ONE_LATER = TWELVE + dt.timedelta(minutes=1)
COLUMNS = "id name value hash"


def versions(table):
    frame = table.spark.read.format("delta").load(table.uri)
    rows = [{name: utc(each) for name, each in row.asDict().items()} for row in frame.collect()]
    return [shown(row) for row in sorted(rows, key=lambda r: (r["id"], r["_ps_valid_from"]))]


def head(table):
    return max(int(file.stem) for file in (table.folder / "h" / "_delta_log").glob("*.json"))


def told(metrics):
    return {name: count for name, count in metrics.items() if count}


@pytest.mark.matrix
def test_a_version_ends_where_the_next_starts_and_the_same_slice_changes_nothing(
    spark, tmp_path
) -> None:
    table = HistoryTable(spark, tmp_path, HISTORIC)
    john = source("1 John Data2 h2", columns=COLUMNS)

    table.run(TWELVE, source("1 John Data1 h1", columns=COLUMNS))
    table.run(ONE_LATER, john)
    again = table.run(ONE_LATER, john)
    earlier = run_time_refusal(a_model("h", strategy=HISTORIC), ONE_LATER, TWELVE, "")

    assert table.sql(
        "SELECT value, date_format(_ps_valid_from, 'HH:mm'), date_format(_ps_valid_to, 'HH:mm') "
        "FROM {t} ORDER BY 2"
    ) == [("Data1", "12:00", "12:01"), ("Data2", "12:01", None)]
    assert (told(again), head(table)) == ({"source_rows": 1, "unchanged": 1}, 1)
    assert earlier.code == "run-time-before-history"


@pytest.mark.matrix
def test_changed_keys_have_two_versions_and_a_new_column_loses_no_key(spark, tmp_path) -> None:
    table = HistoryTable(spark, tmp_path, HISTORIC)
    table.run(T1, source(*(f"{n} a x h{n}" for n in range(1, 6)), columns=COLUMNS))
    rows = ["1 a y H1", "2 a y H2", "3 a x h3", "4 a x h4", "5 a x h5", "6 a x h6"]

    metrics = table.run(T2, source(*rows, columns=COLUMNS))
    wider = [f"{row}{' Rome' if row[0] in '12' else ' NULL'}" for row in rows]
    wider = [row.replace("H1 R", "G1 R").replace("H2 R", "G2 R") for row in wider]
    table.run(T3, source(*wider, columns=f"{COLUMNS} city"))

    assert told(metrics) == {
        "source_rows": 6,
        "opened_new": 1,
        "opened_changed": 2,
        "unchanged": 3,
        "closed": 2,
    }
    assert head(table) == 2
    assert table.sql("SELECT id, count(*) FROM {t} GROUP BY id ORDER BY id") == [
        (1, 3),
        (2, 3),
        (3, 1),
        (4, 1),
        (5, 1),
        (6, 1),
    ]
    assert table.sql("SELECT id, city FROM {t} WHERE _ps_valid_to IS NULL ORDER BY id") == [
        (1, "Rome"),
        (2, "Rome"),
        (3, None),
        (4, None),
        (5, None),
        (6, None),
    ]


@pytest.fixture
def inferring(spark, tmp_path):
    """Keys of the window are closed when they are gone; the closed version is flagged."""
    return HistoryTable(
        spark,
        tmp_path,
        HISTORIC,
        types={"removed": "boolean"},
        terms={
            "hard_deletes": HardDeletes.INVALIDATE,
            "scope": "id < 9",
            "missing_sets": (("removed", "true"),),
            "allow_empty": True,
        },
    )


@pytest.mark.matrix
def test_a_key_gone_from_the_window_is_closed_once_and_may_return(inferring) -> None:
    table = inferring
    columns = "id value hash removed"
    alice, new_alice, outside = "1 alice a false", "1 Alice A false", "9 zoe z false"
    charlie = "3 charlie c false"
    table.run(T1, source(alice, charlie, outside, columns=columns))

    closed = table.run(T2, source(new_alice, columns=columns))
    before = head(table)
    untouched = table.run(T3, source(new_alice, columns=columns))
    assert (told(untouched), head(table)) == ({"source_rows": 1, "unchanged": 1}, before)
    at_t3 = versions(table)
    returns = T3 + dt.timedelta(days=1)
    table.run(returns, source(new_alice, charlie, columns=columns))

    assert told(closed) == {"source_rows": 1, "opened_changed": 1, "closed": 2, "deleted": 1}
    assert at_t3 == [
        "1 alice a False [T1, T2)",
        "1 Alice A False [T2, )",
        "3 charlie c True [T1, T2)",
        "9 zoe z False [T1, )",
    ]
    assert versions(table)[2:4] == ["3 charlie c True [T1, T2)", "3 charlie c False [07-02, )"]
