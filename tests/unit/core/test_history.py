"""The settings of history tables as values."""

import pytest

from fakes.builders import a_model
from penstock.core.history import ColumnsDiffer, HardDeletes, SystemColumns
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.view import View


@pytest.mark.parametrize(
    ("prefix", "case", "names"),
    [
        (
            "_ps_",
            "snake",
            (
                "_ps_valid_from",
                "_ps_valid_to",
                "_ps_is_current",
                "_ps_is_deleted",
                "_ps_row_hash",
            ),
        ),
        (
            "dlf_",
            "pascal",
            (
                "dlf_ValidFrom",
                "dlf_ValidTo",
                "dlf_IsCurrent",
                "dlf_IsDeleted",
                "dlf_RowHash",
            ),
        ),
        ("", "snake", ("valid_from", "valid_to", "is_current", "is_deleted", "row_hash")),
    ],
)
def test_system_columns_are_named_by_prefix_and_case(prefix, case, names):
    assert SystemColumns.with_prefix(prefix, case).names == names


def test_the_default_names_are_penstocks():
    assert SystemColumns.with_prefix() == SystemColumns.with_prefix("_ps_", "snake")


def test_a_snapshot_with_nothing_but_key_and_change_loses_nothing():
    snapshot = Snapshot(("id",), ColumnsDiffer(None))

    assert snapshot.hard_deletes is HardDeletes.IGNORE
    assert snapshot.retention is None
    assert {snapshot.match_null_keys, snapshot.ignore_null_time, snapshot.allow_empty} == {False}


def test_hard_deletes_are_written_as_users_write_them():
    assert [str(each) for each in HardDeletes] == ["ignore", "invalidate", "new_record"]


def test_a_model_knows_that_it_is_a_snapshot():
    snapshot = a_model("users", strategy=Snapshot(("id",), ColumnsDiffer(None)))

    assert (snapshot.keeps_history, snapshot.strategy_name) == (True, "snapshot")
    assert not a_model("view", strategy=View()).keeps_history
