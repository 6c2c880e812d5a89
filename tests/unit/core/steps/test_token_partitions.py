"""Tokens of steps on partitions: grids, versions and many ranges in at most 4 KB."""

import datetime as dt
import json
from dataclasses import replace

import pytest

from contracts.store_cases import MARK, days, intent
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.inputs import InputPin, NoPin
from penstock.core.steps.step import StepKind
from penstock.core.steps.token import LIMIT_BYTES, read_intent, write_intent, write_token

FULL = Fingerprint(
    "sql",
    "canonical",
    "settings",
    "layout",
    version=3,
    revision=1,
    effective_from=dt.date(2024, 3, 1),
    schema="schema",
    yaml="yaml",
    parser="30.1",
)


@pytest.mark.parametrize("mark", [FULL, Fingerprint("sql", "canonical"), Fingerprint("", "")])
def test_every_field_of_a_fingerprint_reads_back(mark):
    step = days("step-1", "orders", (1, 3), (9, 9), fingerprint=mark)

    assert read_intent(write_token(step, "1", "s")) == replace(step, uri="")
    assert read_intent(write_intent(step)) == step


def test_what_a_fingerprint_does_not_say_is_left_out():
    token = json.loads(write_token(days("step-1", "orders", (1, 3)), "1", "s"))

    assert token["partitions"] == "1970-01-02..1970-01-04"
    assert token["grid"] == "DAY"
    assert token["fingerprints"] == {
        "sql": "sql-1",
        "canonical": "canonical-1",
        "settings": "settings-1",
        "layout": "layout-1",
    }
    assert "restores" not in token


def test_a_step_of_one_partition_says_nothing_of_a_grid():
    assert "grid" not in json.loads(write_intent(intent()))


def test_grids_of_ranges_and_rollbacks_read_back():
    grid = Grid(Grain.RANGE, -100, 250, 100)
    step = replace(intent(), grid=grid, partitions=("-100..200",), kind=StepKind.ROLLBACK)

    assert read_intent(write_intent(replace(step, restores=7))) == replace(step, restores=7)


def test_the_promised_mode_of_checks_reads_back():
    promised = replace(intent(), on_failure="block")

    assert read_intent(write_token(promised, "1", "s")) == replace(promised, uri="")
    assert read_intent(write_intent(promised)) == promised
    assert "on_failure" not in json.loads(write_intent(intent()))


def test_a_token_from_before_there_were_partitions_still_reads():
    document = json.loads(write_intent(intent()))
    document["fingerprints"] = {"sql": "a", "canonical": "b", "settings": "", "layout": ""}

    read = read_intent(json.dumps(document))
    assert read == replace(intent(), fingerprint=Fingerprint("a", "b"))
    assert (read.grid, read.restores) == (Grid(), 0)


def scattered(count):
    return tuple((number * 2, number * 2) for number in range(count))


def test_partitions_outlive_inputs():
    pins = tuple(InputPin(f"raw.input_{number}", NoPin()) for number in range(40))
    step = days("step-1", "orders", *scattered(250), inputs=pins, fingerprint=FULL)
    token = write_token(step, "1", "s")

    assert len(token.encode()) <= LIMIT_BYTES
    assert read_intent(token) == replace(
        step, uri="", reason="", inputs=(), fingerprint=replace(FULL, yaml="")
    )


def test_a_rollback_of_too_many_ranges_leaves_them_to_the_steps_that_it_undoes():
    step = days("step-1", "orders", *scattered(900), kind=StepKind.ROLLBACK, restores=4)
    read = read_intent(write_token(step, "1", "s"))

    assert (read.partitions, read.ords, read.restores) == ((), (), 4)


def test_a_build_of_too_many_ranges_leaves_its_name():
    step = days("step-1", "orders", *scattered(900))

    assert json.loads(write_token(step, "1", "s")) == {
        "penstock": "1",
        "store": "s",
        "step": "step-1",
        "run": "run-1",
    }
    assert step.fingerprint == MARK
