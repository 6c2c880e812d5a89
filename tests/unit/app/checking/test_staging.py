"""What steps leave in the staging folder is removed, and nothing of anybody else."""

import datetime as dt

import pytest

from fakes.builders import a_model, a_source
from fakes.workshop import DEAD, ELSEWHERE, Workshop
from penstock.app.checking.staging import quarantine_of, staging_folder, sweep
from penstock.core.check_results import Checked
from penstock.core.checks import OnFailure
from penstock.core.model import Append
from penstock.core.step import StepFailure

LOG = a_model("log", "raw.events", strategy=Append(None))
OURS = "0192a3c4-0000-7000-8000-00000000000a"
THEIRS = "0192a3c4-0000-7000-8000-00000000000b"
ROOT = "/w/penstock_staging"
CRASHED = StepFailure("crashed", "the process died")


@pytest.fixture
def workshop():
    return Workshop(a_source("events"), LOG)


@pytest.fixture
def shop(workshop):
    """One shop for all commands of a test: its folders stay."""
    return workshop.shop()


def names(shop):
    return shop.folders.names(ROOT)


def put(shop, step):
    """Stage rows of a step, and keep some of them."""
    shop.folders.make(staging_folder(shop, LOG.table, step))
    shop.folders.make(f"{ROOT}/s__log__{step.replace('-', '')}")


def die(workshop, step=OURS):
    begun = workshop.begin(DEAD, "log", step)
    workshop.store.journal.fail(step, CRASHED, recovered=True)
    return begun


def test_what_a_step_of_ours_left_is_removed(workshop, shop):
    die(workshop)
    put(shop, OURS)

    sweep(shop)

    assert names(shop) == ()


def test_what_others_have_in_the_same_warehouse_stays(shop):
    put(shop, THEIRS)
    shop.folders.make(f"{ROOT}/somebody")
    before = names(shop)

    sweep(shop)

    assert names(shop) == before
    assert len(before) == 3


def test_what_belongs_to_a_step_that_runs_stays(workshop, shop):
    workshop.begin(ELSEWHERE, "log", OURS)
    put(shop, OURS)

    sweep(shop)

    assert len(names(shop)) == 2


def test_kept_rows_stay_until_their_time_is_over_and_staged_rows_go(workshop, shop):
    begun = workshop.begin(DEAD, "log", OURS)
    kept = quarantine_of(shop, begun, ((0, 0),))
    checked = Checked(OnFailure.BLOCK, failure=CRASHED, failed=((0, 0),), quarantine=kept)
    workshop.store.journal.record_checks(OURS, checked)
    workshop.store.journal.fail(OURS, CRASHED)
    put(shop, OURS)

    sweep(shop)
    assert names(shop) == (f"s__log__{OURS.replace('-', '')}",)

    workshop.clock.advance(seconds=int(dt.timedelta(days=8).total_seconds()))
    sweep(shop)
    assert names(shop) == ()
    assert workshop.store.checks.quarantines() == ()
