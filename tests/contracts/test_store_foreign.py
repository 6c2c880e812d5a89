"""What every state store keeps of commits by others, until rows are made again or accepted."""

from dataclasses import replace

from contracts.store_cases import HERE, days, intent, succeed, wrote
from fakes.clock import NOON
from penstock.core.steps.step import ForeignCommit, Outcome, StepKind

EVE, BOB = ForeignCommit(1, NOON, "WRITE", "eve"), ForeignCommit(4, NOON, "DELETE")


def finished(store, step, outcome):
    store.journal.begin(step, {}, HERE, None)
    store.journal.finish(step.step, outcome)
    return store.records.models()[step.model]


def test_commits_of_others_beside_the_rows_of_a_step_are_on_record(store):
    succeed(store, intent("step-1"), 0)

    first = finished(store, intent("step-2"), replace(wrote(2), foreign=(EVE,)))
    goes_on = replace(intent("step-3"), foreign=first.foreign)
    second = finished(store, goes_on, replace(wrote(5), foreign=(BOB,)))
    anew = replace(intent("step-4"), foreign=second.foreign)
    third = finished(store, anew, replace(wrote(6), replaced=True))

    assert (first.foreign, second.foreign, third.foreign) == ((EVE,), (EVE, BOB), ())


def test_a_change_of_properties_settles_nothing_that_others_changed(store):
    succeed(store, intent("step-1"), 0)
    altering = replace(intent("step-2"), kind=StepKind.ALTER)

    found = finished(store, altering, replace(wrote(2), foreign=(EVE,)))

    assert (found.settled_version, found.step) == (0, "step-1")


def test_rows_that_are_accepted_are_a_change_to_readers_and_nothing_else(store):
    succeed(store, intent("step-1"), 0)
    before = finished(store, intent("step-2"), replace(wrote(2), foreign=(EVE,)))
    accepting = replace(intent("step-3"), kind=StepKind.ACCEPT, reason="accepted: seen")

    found = finished(store, accepting, Outcome(None, "table-orders", 4, foreign=(EVE, BOB)))

    assert found.foreign == ()
    assert (found.commit_version, found.settled_version) == (4, 4)
    assert (
        replace(found, foreign=(EVE,), commit_version=2, settled_version=2, last_step_seq=2)
        == before
    )


def test_partitions_stand_below_a_commit_that_delta_let_in_and_are_accepted_one_by_one(store):
    step = days("step-1", "daily", (0, 2))
    store.journal.begin(step, {}, HERE, None)
    store.journal.finish("step-1", replace(wrote(5), foreign=(BOB,)))
    settled = [run.settled_version for run in store.records.runs("daily")["daily"]]
    accepting = replace(days("step-2", "daily", (1, 1)), kind=StepKind.ACCEPT)
    store.journal.begin(accepting, {}, HERE, None)
    store.journal.finish("step-2", Outcome(None, "table-orders", 5, foreign=(BOB,)))

    found = [(r.low, r.settled_version) for r in store.records.runs("daily")["daily"]]
    assert settled == [3]
    assert found == [(0, 3), (1, 5), (2, 3)]


def test_a_store_that_was_exported_and_loaded_knows_them_too(store):
    succeed(store, intent("step-1"), 0)
    finished(store, intent("step-2"), replace(wrote(2), foreign=(EVE,)))

    store.archive.load(store.archive.export())

    assert store.records.models()["orders"].foreign == (EVE,)
