"""The terms of one run, and what its retention removes."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.history import ColumnsDiffer, HardDeletes, NewerThan, Retention
from penstock.core.strategy import HistoryRun
from penstock.strategies.history.snapshot import Snapshot, terms_of
from penstock.strategies.history.terms import Sides, Terms, candidates, horizon, is_removed
from unit.strategies.builds import a_build

T = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
CHECK = Terms(("id",), ColumnsDiffer(None), moment=T)
TABLE = "id int, _ps_valid_from timestamp, _ps_valid_to timestamp, _ps_is_current boolean"


def removable(retention):
    return candidates(Sides.of(a_build(table=TABLE), replace(CHECK, retention=retention)))


def test_a_snapshots_terms_are_its_settings_at_a_moment_with_the_retention_of_the_run():
    snapshot = Snapshot(
        ("id",),
        NewerThan("at"),
        hard_deletes=HardDeletes.INVALIDATE,
        match_null_keys=True,
        ignore_null_time=True,
        retention=Retention(keep_last=9),
    )

    assert terms_of(snapshot, HistoryRun(T, Retention(keep_last=1), allow_empty=True)) == Terms(
        ("id",),
        NewerThan("at"),
        moment=T,
        hard_deletes=HardDeletes.INVALIDATE,
        match_null_keys=True,
        ignore_null_time=True,
        allow_empty=True,
        retention=Retention(keep_last=1),
    )


def test_the_run_timestamp_is_written_in_utc_to_the_microsecond():
    east = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2024, 6, 1, 2, 0, 0, 7, tzinfo=east)

    assert replace(CHECK, moment=moment).at == "TIMESTAMP '2024-06-01T00:00:00.000007Z'"


@pytest.mark.parametrize(
    ("retention", "condition"),
    [
        (Retention(keep_last=1), "(r > 1)"),
        (Retention(keep_last=3), "(r > 1 AND r > 3)"),
        (Retention(keep_days=30), "(r > 1 AND old)"),
        (Retention(keep_last=3, keep_days=30), "(r > 1 AND r > 3 AND old)"),
    ],
)
def test_a_version_goes_when_every_setting_marks_it_and_the_newest_never(retention, condition):
    assert is_removed(retention, "r", "old") == condition


def test_days_are_counted_back_from_the_run_timestamp():
    month = replace(CHECK, retention=Retention(keep_days=31))

    assert horizon(month) == "TIMESTAMP '2024-05-01T00:00:00.000000Z'"


@pytest.mark.parametrize(
    ("retention", "where"),
    [
        (Retention(keep_last=3), "rank >= 3"),
        (Retention(keep_days=31), "rank >= 1 AND until <= TIMESTAMP '2024-05-01T00:00:00.000000Z'"),
        (
            Retention(keep_last=3, keep_days=31),
            "rank >= 3 AND until <= TIMESTAMP '2024-05-01T00:00:00.000000Z'",
        ),
    ],
)
def test_candidates_are_ranked_by_key_and_interval_alone(retention, where):
    assert removable(retention) == (
        "SELECT `id`, collect_list(struct(at, rank)) AS `__penstock_old`, "
        "bool_or(twin) AS `__penstock_twice` FROM (SELECT `id`, "
        "`_ps_valid_from` AS at, `_ps_valid_to` AS until, row_number() OVER (PARTITION BY `id` "
        "ORDER BY `_ps_valid_from` DESC) AS rank, coalesce(lag(`_ps_valid_from`) OVER "
        "(PARTITION BY `id` ORDER BY `_ps_valid_from` DESC) = `_ps_valid_from`, false) AS twin "
        "FROM `penstock_target`) "
        f"WHERE {where} GROUP BY `id`"
    )


def test_candidates_without_a_retention_are_a_bug():
    with pytest.raises(ValueError, match="no retention"):
        removable(None)
