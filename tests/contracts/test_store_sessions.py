"""What every state store promises of session packages."""

from dataclasses import replace

import pytest

from contracts.store_cases import BROKEN, HERE, OTHER, intent, wrote
from fakes.clock import NOON
from fakes.session_world import at
from penstock.core.errors import LeaseHeldError
from penstock.core.ports.ports import RebuiltStep
from penstock.core.ports.sessions import PassEnd, SessionPass
from penstock.core.records import Status
from penstock.core.sessions.manifest import (
    EventCounts,
    Limits,
    ManifestRow,
    PassEvents,
    PassKind,
    RunState,
    SessionPromise,
)
from penstock.core.steps.inputs import DeltaPin, FilesPin
from penstock.core.steps.step import StepKind

LIMITS = Limits(RunState.STANDARD, at("01-01 14:00"), at("01-03"))
BEGUN = SessionPass(
    package="web",
    seq=0,
    kind=PassKind.PACKAGE,
    run="run-1",
    limits=LIMITS,
    now=at("01-03"),
    pins={"raw.events": DeltaPin("table-raw", 4), "raw.old": FilesPin("digest", 3)},
)
EVENTS = PassEvents(
    greatest=at("01-02 01:00:00.000001"),
    later_events=False,
    window=EventCounts(read=10, kept=3, late=7),
    history=EventCounts(read=2, kept=2),
    late_loaded=1,
)
ROW = ManifestRow("web_users", at("01-02 01:00"), at("01-03"), None, "f")


def promised(store, promise, step="step-1", holder=HERE):
    """Let a step of the model `web_users` succeed that promised something."""
    step = replace(intent(step, "web_users", holder), session=promise)
    store.journal.begin(step, {}, holder, None)
    store.journal.finish(step.step, wrote(1))


def test_a_pass_reads_back_as_it_was_begun_and_as_it_ended(store):
    begun = store.sessions.begin_pass(BEGUN, HERE)
    store.sessions.note_events(begun, EVENTS)
    open_pass = store.sessions.passes("web")
    store.sessions.end_pass(begun, PassEnd(Status.SUCCESS, caught_up=True, future_events=False))

    expected = replace(BEGUN, seq=1, started=NOON)
    assert begun == expected
    assert open_pass == (replace(expected, events=EVENTS),)
    ended = replace(
        open_pass[0], status=Status.SUCCESS, caught_up=True, future_events=False, ended=NOON
    )
    assert store.sessions.passes("web") == (ended,)
    assert store.sessions.passes("other") == ()


def test_passes_of_one_run_share_its_number_and_come_newest_first(store):
    for holder in (HERE, OTHER):
        for kind in (PassKind.BACKFILL, PassKind.HEAD):
            begun = replace(BEGUN, run=holder.run, kind=kind)
            begun = store.sessions.begin_pass(begun, holder)
            store.sessions.end_pass(begun, PassEnd(Status.SUCCESS))
        store.journal.end_run(holder.run, Status.SUCCESS)

    assert [(each.seq, each.kind) for each in store.sessions.passes("web")] == [
        (2, "head"),
        (2, "backfill"),
        (1, "head"),
        (1, "backfill"),
    ]
    assert len(store.sessions.passes("web", 3)) == 3


def test_a_package_is_leased_as_long_as_its_run(store):
    store.sessions.begin_pass(BEGUN, HERE)

    with pytest.raises(LeaseHeldError):
        store.sessions.begin_pass(replace(BEGUN, run=OTHER.run), OTHER)
    assert [each.target for each in store.leases.taken()] == ["sessions:web"]
    store.journal.end_run(HERE.run, Status.SUCCESS)
    assert store.sessions.begin_pass(replace(BEGUN, run=OTHER.run), OTHER).seq == 2


def test_a_pass_that_its_run_left_open_has_failed(store, world):
    store.sessions.begin_pass(BEGUN, HERE)
    world.alive.remove(HERE.pid)
    store.sessions.begin_pass(replace(BEGUN, run=OTHER.run), OTHER)

    assert [each.status for each in store.sessions.passes("web")] == ["RUNNING", "FAILED"]


def test_a_row_of_the_manifest_is_written_with_the_end_of_its_step(store):
    promised(store, SessionPromise("web", ROW))

    written = replace(ROW, run="run-1", updated_at=NOON)
    assert store.sessions.manifest("web") == (written,)
    assert store.sessions.manifest("other") == ()


def test_a_step_that_fails_leaves_the_manifest(store):
    promised(store, SessionPromise("web", ROW))
    step = replace(
        intent("step-2", "web_users"),
        session=SessionPromise("web", replace(ROW, last_success=None)),
    )
    store.journal.begin(step, {}, HERE, None)
    store.journal.fail("step-2", BROKEN)

    assert store.sessions.manifest("web")[0].last_success == ROW.last_success


def test_a_recovered_step_keeps_its_promise(store):
    row = replace(ROW, advanced_to=at("02-01"), last_success=None)
    step = replace(intent("step-1", "web_users"), session=SessionPromise("web", row))
    store.journal.begin(step, {}, HERE, None)
    store.journal.finish("step-1", wrote(1), recovered=True)

    assert store.sessions.manifest("web") == (replace(row, run="run-1", updated_at=NOON),)


def test_how_far_a_table_was_stitched_never_goes_back(store):
    promised(store, SessionPromise("web", stitched=7))
    promised(store, SessionPromise("web", stitched=5), "step-2")

    assert store.sessions.stitched("web") == {"web_users": 7}


def test_releases_are_pending_until_a_step_has_done_them(store):
    store.sessions.release("web", ["s1", "s2"], "ann")
    store.sessions.release("web", ["s1"], "bob")
    asked = store.sessions.releases("web")
    promised(store, SessionPromise("web", released=("s1",)))

    assert [(each.session, each.who, each.asked_at) for each in asked] == [
        ("s1", "ann", NOON),
        ("s2", "ann", NOON),
    ]
    assert [each.session for each in store.sessions.releases("web")] == ["s2"]


def test_forgotten_rows_are_gone_and_their_tables_may_be_overwritten(store):
    for name in "abcd":
        promised(store, SessionPromise("web", replace(ROW, model=name)), f"step-{name}")
    store.sessions.forget("web", ["a", "b"], ["web_users"])

    assert [row.model for row in store.sessions.manifest("web")] == ["c", "d"]
    assert store.sessions.overwrites("web") == {"web_users"}
    promised(store, SessionPromise("web", ROW), "step-9")
    assert store.sessions.overwrites("web") == frozenset()


def test_nothing_is_forgotten_while_a_run_goes_on(store):
    store.sessions.begin_pass(BEGUN, HERE)

    with pytest.raises(LeaseHeldError):
        store.sessions.forget("web", ["web_users"])


def test_everything_of_packages_is_exported_and_loaded(opened, store):
    begun = store.sessions.begin_pass(BEGUN, HERE)
    store.sessions.note_events(begun, EVENTS)
    store.sessions.release("web", ["s1"], "ann")
    promised(store, SessionPromise("web", ROW, stitched=3))
    other = opened(name="other")
    other.archive.load(store.archive.export())

    for read in ("manifest", "passes", "releases", "stitched", "overwrites"):
        assert getattr(other.sessions, read)("web") == getattr(store.sessions, read)("web")


def test_a_rebuilt_step_keeps_its_promise(store, opened):
    step = replace(intent("step-1", "web_users"), session=SessionPromise("web", ROW), step_seq=4)
    store.archive.rebuild([RebuiltStep(step, wrote(1), NOON)])

    assert store.sessions.manifest("web") == (replace(ROW, run="run-1", updated_at=NOON),)


def test_a_rollback_leaves_the_row_of_the_last_step_that_still_counts(store):
    early, late = replace(ROW, last_success=at("01-01")), ROW
    promised(store, SessionPromise("web", early), "step-1")
    promised(store, SessionPromise("web", stitched=1), "step-1s")
    promised(store, SessionPromise("web", late), "step-2")
    promised(store, SessionPromise("web", stitched=2), "step-2s")
    back = {"kind": StepKind.ROLLBACK, "triggered_by": "rollback", "inputs": ()}
    cases = (("step-3", 3, [early.last_success], 1), ("step-4", 1, [], 0))
    for step, restores, expected, stitched in cases:
        undo = replace(intent(step, "web_users"), restores=restores, **back)
        store.journal.begin(undo, {}, HERE, None)
        store.journal.finish(step, wrote(5))

        assert [row.last_success for row in store.sessions.manifest("web")] == expected
        assert store.sessions.stitched("web") == {"web_users": stitched}


def test_a_rollback_brings_nothing_back_that_was_forgotten(store):
    early, late = replace(ROW, last_success=at("01-01")), ROW
    back = {"kind": StepKind.ROLLBACK, "triggered_by": "rollback", "inputs": ()}
    promised(store, SessionPromise("web", late), "step-1")
    store.sessions.forget("web", [ROW.model])
    for number, restores, expected in ((2, 2, []), (4, 3, [early.last_success])):
        if expected:
            promised(store, SessionPromise("web", early), "step-3")
        undo = replace(intent(f"step-{number}", "web_users"), restores=restores, **back)
        store.journal.begin(undo, {}, HERE, None)
        store.journal.finish(undo.step, wrote(5))

        assert [each.last_success for each in store.sessions.manifest("web")] == expected
