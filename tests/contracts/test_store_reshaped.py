"""Steps that make a table ready inside of a build: the build is no older for them."""

from dataclasses import replace

import pytest

from contracts.store_cases import HERE, days, intent, wrote
from penstock.core.records import Status
from penstock.core.steps.step import StepKind


@pytest.mark.parametrize("kind", [StepKind.CREATE, StepKind.REWRITE, StepKind.ALTER])
def test_partitions_are_as_the_build_made_them_around_a_change_of_the_table(store, kind):
    done(store, days("step-1", "orders", (1, 2)), 0)
    build = days("step-2", "orders", (1, 1))
    store.journal.begin(build, {}, HERE, None)
    done(store, replace(days("step-3", "orders", (1, 1)), kind=kind), 1)
    store.journal.finish("step-2", wrote(2))

    first, *_ = store.records.runs("orders")["orders"]
    assert (first.low, first.status, first.step_seq, first.commit_version) == (
        1,
        Status.SUCCESS,
        2,
        2,
    )


def test_the_history_has_a_build_above_what_made_the_table_ready_inside_of_it(store, world):
    store.journal.begin(intent("step-1"), {}, HERE, None)
    world.pass_(1)
    done(store, replace(intent("step-2"), kind=StepKind.ALTER, lane="alter"), 1)
    world.pass_(1)
    store.journal.finish("step-1", wrote(2))

    assert [row.step for row in store.records.history("orders", 9)] == ["step-1", "step-2"]
    assert [row.step for row in store.records.history("orders", 1)] == ["step-1"]


def done(store, step, version):
    store.journal.begin(step, {}, HERE, None)
    store.journal.finish(step.step, wrote(version))
