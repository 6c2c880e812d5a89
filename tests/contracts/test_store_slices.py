"""What every state store promises of slices: what became of them, and what people say."""

import datetime as dt
from dataclasses import replace

import pytest

from contracts.store_cases import BROKEN, HERE, check, failed_gate, intent, succeed, wrote
from fakes.clock import NOON
from penstock.core.checks.check import OnFailure
from penstock.core.entities.slices import SliceId, UnchangedSlice
from penstock.core.ports.ports import RebuiltStep
from penstock.core.records import SliceRecord, SliceSkip, Status
from penstock.core.steps.step import StepKind

T1 = dt.datetime(2025, 5, 5, 10, tzinfo=dt.UTC)
A, B, C = (SliceId(name, 100, 7_000_000, f"digest-{name}") for name in "abc")
TOLD = "null-key: 3 rows have no id"


def reads(step, of, **changes):
    """Give a step that reads a slice."""
    return replace(intent(step), slice=of, run_timestamp=T1, **changes)


def fail(store, step):
    store.journal.begin(step, {}, HERE, None)
    store.journal.fail(step.step, BROKEN)


def skip(store, name, *, skips=True, model="orders"):
    store.slices.skip(SliceSkip(model, name, skips, "bad" if skips else "", "ann@host-a", NOON))


def back(step, restores):
    return replace(intent(step), kind=StepKind.ROLLBACK, restores=restores)


def became(store, model="orders"):
    return [(e.id.name, str(e.status), e.step) for e in store.slices.recorded(model)]


def test_a_slice_that_was_read_has_its_identity_time_and_metrics(store):
    succeed(store, reads("step-1", A))

    assert store.slices.recorded("orders") == (
        SliceRecord(A, Status.SUCCESS, "step-1", 1, T1, {"numOutputRows": 3}, version=0),
    )


def test_slices_are_those_of_one_model_by_the_code_points_of_their_names(store):
    for number, name in enumerate(("b", "é", "B", "aa", "a")):
        succeed(store, reads(f"step-{number}", replace(A, name=name)), version=number)
    succeed(store, intent("plain"))
    succeed(store, replace(reads("step-9", C), model="users"))

    assert [each.id.name for each in store.slices.recorded("orders")] == ["B", "a", "aa", "b", "é"]
    assert became(store, "users") == [("c", "SUCCESS", "step-9")]
    assert became(store, "nobody") == []


def test_the_last_success_of_a_slice_says_what_became_of_it(store):
    other = replace(A, size=200)
    fail(store, reads("step-1", A))
    failed = store.slices.recorded("orders")
    store.journal.begin(reads("step-2", other), {}, HERE, None)
    running = became(store)
    store.journal.finish("step-2", wrote(0))
    done = store.slices.recorded("orders")
    fail(store, reads("step-3", A))

    assert running == [("a", "RUNNING", "step-2")]
    assert failed == (SliceRecord(A, Status.FAILED, "step-1", 1, T1, {}, why=TOLD),)
    assert [(each.id, each.status) for each in done] == [(other, Status.SUCCESS)]
    assert store.slices.recorded("orders") == done


def test_a_step_that_never_began_is_a_failure(store):
    store.journal.reject(reads("step-1", A), BROKEN, HERE)

    assert became(store) == [("a", "FAILED", "step-1")]


def test_a_step_that_makes_the_table_ready_reads_no_slice(store):
    succeed(store, reads("step-1", A, kind=StepKind.ALTER))
    fail(store, reads("step-2", B))
    succeed(store, reads("step-3", B, kind=StepKind.ALTER), version=1)

    assert became(store) == [("b", "FAILED", "step-2")]


def test_a_slice_whose_rows_are_flagged_is_done_and_one_that_was_held_back_is_not(store):
    check(store, reads("step-1", A), failed_gate("*", mode=OnFailure.FLAG), 0)
    check(store, reads("step-2", B), failed_gate("*", mode=OnFailure.BLOCK), None)

    assert became(store) == [("a", "SUCCESS", "step-1"), ("b", "FAILED", "step-2")]


def test_what_a_rollback_undid_never_was(store):
    succeed(store, reads("step-1", A, lowers_watermarks=True), version=0)
    succeed(store, reads("step-2", B), version=1)
    succeed(store, reads("step-3", A), version=2)
    succeed(store, back("step-4", 2), version=3)

    assert became(store) == [("a", "SUCCESS", "step-1")]


def test_a_table_that_was_made_anew_forgets_what_it_held(store):
    succeed(store, reads("step-1", A, lowers_watermarks=True), version=0)
    succeed(store, reads("step-2", B), version=1)
    fail(store, reads("step-3", A, lowers_watermarks=True))
    before = became(store)
    succeed(store, reads("step-4", A, lowers_watermarks=True), version=2)
    anew = became(store)
    succeed(store, back("step-5", 4), version=3)

    assert before == [("a", "SUCCESS", "step-1"), ("b", "SUCCESS", "step-2")]
    assert anew == [("a", "SUCCESS", "step-4")]
    assert became(store) == before


def test_a_skip_says_who_and_why_until_it_is_taken_back(store):
    fail(store, reads("step-1", B))
    skip(store, "b")
    skipped = store.slices.recorded("orders")
    skip(store, "b", skips=False)

    how = {"why": "bad", "who": "ann@host-a"}
    assert skipped == (SliceRecord(B, Status.SKIPPED, "step-1", 1, T1, {}, **how),)
    assert became(store) == [("b", "FAILED", "step-1")]


def test_a_slice_that_nobody_read_can_be_skipped(store):
    skip(store, "b")
    skip(store, "c")
    skip(store, "c", skips=False)

    how = {"why": "bad", "who": "ann@host-a"}
    assert store.slices.recorded("orders") == (
        SliceRecord(SliceId("b", 0, 0, ""), Status.SKIPPED, **how),
    )
    assert became(store, "users") == []


def test_a_step_after_a_skip_counts_and_a_rollback_of_it_brings_the_skip_back(store):
    fail(store, reads("step-1", A))
    skip(store, "a")
    succeed(store, reads("step-2", A), version=1)
    done = became(store)
    succeed(store, back("step-3", 2), version=2)

    assert done == [("a", "SUCCESS", "step-2")]
    assert became(store) == [("a", "SKIPPED", "step-1")]


def test_a_skip_takes_nothing_out_of_the_table(store):
    succeed(store, reads("step-1", A))
    skip(store, "a")

    assert became(store) == [("a", "SUCCESS", "step-1")]


def test_slices_of_many_models_are_told_at_once_as_those_of_each(store):
    succeed(store, reads("step-1", A))
    succeed(store, replace(reads("step-2", A), model="other"))
    succeed(store, replace(reads("step-3", B, lowers_watermarks=True), model="other"))
    fail(store, reads("step-4", B))
    skip(store, "b")
    skip(store, "c", model="third")

    found = store.slices.recorded_of(("orders", "other", "third", "fourth"))
    assert {model: store.slices.recorded(model) for model in found} == found
    assert [became(store, model) for model in ("orders", "other", "third", "fourth")] == [
        [("a", "SUCCESS", "step-1"), ("b", "SKIPPED", "step-4")],
        [("b", "SUCCESS", "step-3")],
        [("c", "SKIPPED", "")],
        [],
    ]
    assert store.slices.recorded_of(()) == {}


def test_slices_are_rebuilt_from_the_tokens_of_the_logs(opened, store, world):
    steps = [
        reads("step-1", A, lowers_watermarks=True),
        reads("step-2", B),
        reads("step-3", replace(A, size=200)),
        back("step-4", 3),
        reads("step-5", C),
    ]
    rebuilt = []
    for version, step in enumerate(steps):
        begun = store.journal.begin(step, {}, HERE, None)
        store.journal.finish(step.step, wrote(version))
        numbered = replace(step, step_seq=begun.step_seq)
        rebuilt.append(RebuiltStep(numbered, wrote(version), world.pass_(1)))
    fresh = opened(name="fresh")
    fresh.archive.rebuild(rebuilt)

    assert fresh.slices.recorded("orders") == store.slices.recorded("orders")
    assert became(fresh) == [
        ("a", "SUCCESS", "step-1"),
        ("b", "SUCCESS", "step-2"),
        ("c", "SUCCESS", "step-5"),
    ]
    assert fresh.records.models()["orders"].high_time == T1


def test_slices_survive_export_and_import(opened, store):
    succeed(store, reads("step-1", A))
    skip(store, "b")
    fresh = opened(name="fresh")
    document = store.archive.export()
    fresh.archive.load(document)

    assert fresh.archive.export() == document
    assert fresh.slices.recorded("orders") == store.slices.recorded("orders")


@pytest.mark.parametrize("name", ["a b", "100%", "it's", 'say "x"', "é", "a\nb", "x/y"])
def test_any_name_can_be_that_of_a_slice(store, name):
    succeed(store, reads("step-1", replace(A, name=name)))

    assert became(store) == [(name, "SUCCESS", "step-1")]


def cloned(step, *slices, **changes):
    """Give a step that clones a table with the rows of some slices."""
    unchanged = tuple(UnchangedSlice(each, "", 0, T1, {"recordsInSlice": 2}) for each in slices)
    made = {"unchanged": unchanged, "triggered_by": "clone", "lowers_watermarks": True}
    return replace(intent(step), **made, **changes)


def test_a_clone_has_the_slices_that_it_lists_and_none_from_before(store):
    succeed(store, reads("step-1", C))
    succeed(store, cloned("step-2", A, B), version=1)

    assert store.slices.recorded("orders") == tuple(
        SliceRecord(each, Status.SUCCESS, "step-2", 2, T1, {"recordsInSlice": 2}, version=1)
        for each in (A, B)
    )


def test_slices_that_are_read_after_a_clone_count_beside_those_in_it(store):
    succeed(store, cloned("step-1", A, B))
    succeed(store, reads("step-2", C), version=1)
    fail(store, reads("step-3", A))
    succeed(store, reads("step-4", replace(B, size=7)), version=2)

    assert became(store) == [
        ("a", "FAILED", "step-3"),
        ("b", "SUCCESS", "step-4"),
        ("c", "SUCCESS", "step-2"),
    ]


def test_a_clone_without_a_commit_of_its_own_lists_slices_too(store):
    store.journal.begin(cloned("step-1", A), {}, HERE, None)
    running = became(store)
    store.journal.finish("step-1", replace(wrote(4), version=None))

    assert running == []
    assert became(store) == [("a", "SUCCESS", "step-1")]


def test_a_clone_that_failed_lists_nothing(store):
    succeed(store, reads("step-1", C))
    fail(store, cloned("step-2", A))

    assert became(store) == [("c", "SUCCESS", "step-1")]


def test_a_rebuild_after_a_clone_forgets_the_slices_in_it(store):
    succeed(store, cloned("step-1", A, B))
    succeed(store, reads("step-2", A, lowers_watermarks=True), version=1)

    assert became(store) == [("a", "SUCCESS", "step-2")]
