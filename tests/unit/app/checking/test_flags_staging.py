"""What steps leave in the staging folder is removed, and nothing of anybody else."""

import datetime as dt

import pytest

from fakes.builders import a_model, a_source
from fakes.workshop import DEAD, ELSEWHERE, Workshop
from penstock.app.checking.flags import quarantine_of, staging_folder, sweep
from penstock.core.check_results import Checked
from penstock.core.checks.check import OnFailure
from penstock.core.steps.step import StepFailure
from penstock.strategies.append import Append

LOG = a_model("log", "raw.events", strategy=Append(None))
OURS = "0192a3c4-0000-7000-8000-00000000000a"
THEIRS = "0192a3c4-0000-7000-8000-00000000000b"
ROOT = "/w/penstock_staging"
CRASHED = StepFailure("crashed", "the process died")


@pytest.fixture
def workshop():
    return Workshop(a_source("events"), LOG)


@pytest.fixture
def services(workshop):
    """One shop for all commands of a test: its folders stay."""
    return workshop.services()


def names(services):
    return services.folders.names(ROOT)


def put(services, step):
    """Stage rows of a step, and keep some of them."""
    services.folders.make(staging_folder(services, LOG.table, step))
    services.folders.make(f"{ROOT}/s__log__{step.replace('-', '')}")


def die(workshop, step=OURS):
    begun = workshop.begin(DEAD, "log", step)
    workshop.store.journal.fail(step, CRASHED, recovered=True)
    return begun


def test_what_a_step_of_ours_left_is_removed(workshop, services):
    die(workshop)
    put(services, OURS)

    sweep(services)

    assert names(services) == ()


def test_what_others_have_in_the_same_warehouse_stays(services):
    put(services, THEIRS)
    services.folders.make(f"{ROOT}/somebody")
    before = names(services)

    sweep(services)

    assert names(services) == before
    assert len(before) == 3


def test_what_belongs_to_a_step_that_runs_stays(workshop, services):
    workshop.begin(ELSEWHERE, "log", OURS)
    put(services, OURS)

    sweep(services)

    assert len(names(services)) == 2


def test_kept_rows_stay_until_their_time_is_over_and_staged_rows_go(workshop, services):
    begun = workshop.begin(DEAD, "log", OURS)
    kept = quarantine_of(services, begun, ((0, 0),))
    checked = Checked(OnFailure.BLOCK, failure=CRASHED, failed=((0, 0),), quarantine=kept)
    workshop.store.journal.record_checks(OURS, checked)
    workshop.store.journal.fail(OURS, CRASHED)
    put(services, OURS)

    sweep(services)
    assert names(services) == (f"s__log__{OURS.replace('-', '')}",)

    workshop.clock.advance(seconds=int(dt.timedelta(days=8).total_seconds()))
    sweep(services)
    assert names(services) == ()
    assert workshop.store.checks.quarantines() == ()
