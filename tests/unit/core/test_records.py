"""What records say of what became of models and slices."""

import pytest

from penstock.core.entities.slices import SliceId
from penstock.core.records import Begun, ModelRecord, SliceRecord, Status


@pytest.mark.parametrize(("step_seq", "once"), [(0, False), (1, True), (7, True)])
def test_a_model_has_rows_once_a_step_of_it_has_succeeded(step_seq, once):
    assert ModelRecord("m", Status.FAILED, 9, step_seq=step_seq).succeeded_once is once


@pytest.mark.parametrize(
    ("status", "done"),
    [
        (Status.SUCCESS, True),
        (Status.SKIPPED, True),
        (Status.FAILED, False),
        (Status.RUNNING, False),
    ],
)
def test_a_run_passes_a_slice_by_that_succeeded_or_is_skipped(status, done):
    assert SliceRecord(SliceId("a", 1, 2, "d"), status).is_done is done


def test_a_step_has_begun_alike_in_any_epoch_of_its_store():
    assert Begun(7, 2, "e") == Begun(7, 2)
    assert Begun(7, 2) != Begun(7, 3)
