"""What a sync makes of models of one partition, each asked alone."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project, a_source, a_success
from penstock.core.facts import Touched
from penstock.core.history import ColumnsDiffer
from penstock.core.model import Fingerprint
from penstock.core.partitions.ranges import WHOLE
from penstock.core.records import Status
from penstock.core.steps.inputs import DeltaPin
from penstock.core.strategy import WindowSettings
from penstock.plan.kinds.tables import decide
from penstock.plan.steps import Decided, Question, Scope
from penstock.plan.values import Now, Observed, Options, Reason, State
from penstock.strategies.append import Append
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.merge import Merge
from penstock.strategies.table import Table
from penstock.strategies.view import View

NEW, OLD = DeltaPin("id-events", 3), DeltaPin("id-events", 2)
BASE = a_model("base")
MART = a_model("mart", "base")
VIEW = a_model("view", "base", strategy=View())
LOG = a_model("log", "raw.events", strategy=Append(WindowSettings("ts")))
HERE = Observed(True)
UPDATED = replace(HERE, foreign=(Touched(1, NOON, "UPDATE"),))
BASE_RUNS = {"base": Decided(todo=WHOLE)}
OF_BASE = DeltaPin("id-base", 0)
TAMPERED = "tampered: version 1 UPDATE at 2024-03-01 12:00:00 UTC"


def synced(  # what a decision looks at
    model, *records, seen=HERE, earlier=None, options=None, below=(), **scope
):
    """Decide about one model; it is selected unless `selected` says no."""
    selected = frozenset({model.name} if scope.pop("selected", True) else ())
    known = {record.model: record for record in (a_success(BASE), *records)}
    project = a_project(BASE, model, a_source("events"))
    stale = {model.name: frozenset(below)}
    now = Now(NOON, {model.name: seen}, {"raw.events": NEW}, below=stale)
    asked = Scope(**{"trigger": "sync", "syncs": True} | scope)
    question = Question(project, selected, known, now, options or Options(), asked)
    return decide(question, earlier or {}, model)


def shown(decided):
    return [(str(step.reason), step.trigger, step.initial) for step in decided.steps]


def test_drift_is_repaired_in_the_name_of_the_command():
    found = synced(MART, a_success(MART, base=OF_BASE), seen=UPDATED)

    assert shown(found) == [(TAMPERED, "sync", False)]
    assert found.todo == WHOLE


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({State.FAILED}, []),
        ({State.TAMPERED}, ["tampered"]),
        ({State.SQL_CHANGED}, ["tampered"]),
    ],
)
def test_states_narrow_a_sync_to_those_that_hold_the_hidden_ones_too(states, expected):
    record = replace(a_success(MART, base=OF_BASE), fingerprint=Fingerprint("x", "x"))

    found = synced(MART, record, seen=UPDATED, states=frozenset(states))

    assert [step.reason.state for step in found.steps] == expected
    assert not found.is_current


def test_what_is_as_recorded_is_left_and_hands_on_what_runs_above_it():
    found = synced(MART, a_success(MART, base=OF_BASE), earlier=BASE_RUNS)

    assert found == Decided(hands_on=("base",), is_current=True)


def test_a_cascade_makes_what_reads_a_repaired_table_if_the_repair_changes_anything():
    found = synced(
        MART, a_success(MART, base=OF_BASE), earlier=BASE_RUNS, cascade=True, selected=False
    )

    assert [(step.reason, step.trigger, step.upstream) for step in found.steps] == [
        (Reason(State.UPSTREAM_CHANGED, "after base", pending=True), "cascade", ("base",))
    ]


def test_what_drifted_itself_runs_in_a_cascade_for_its_own_reason():
    found = synced(
        MART,
        a_success(MART, base=OF_BASE),
        seen=UPDATED,
        earlier=BASE_RUNS,
        cascade=True,
        selected=False,
    )

    assert shown(found) == [(TAMPERED, "cascade", False)]


def test_a_cascade_passes_through_a_view():
    found = synced(
        VIEW, a_success(VIEW, base=OF_BASE), earlier=BASE_RUNS, cascade=True, selected=False
    )

    assert found == Decided(hands_on=("base",))


def test_new_input_of_a_windowed_model_is_left_to_an_ordinary_run():
    assert synced(LOG, a_success(LOG, raw__events=OLD)) == Decided(is_current=True)


def test_a_windowed_model_whose_window_has_passed_a_change_is_made_anew():
    found = synced(LOG, a_success(LOG, raw__events=OLD), below=["base"])

    assert shown(found) == [("upstream_changed: base", "sync", True)]
    assert found.steps[0].notes == ("full refresh",)


KEEPING = (
    Merge(("id",), None),
    Merge(("id",), WindowSettings("ts")),
    Append(None),
    Append(WindowSettings("ts")),
    Table(overwrite_partitions=True),
)
OTHER_SQL = Fingerprint("x", "x")


def keeping(strategy, **record):
    model = a_model("log", "raw.events", strategy=strategy)
    return model, replace(a_success(model, raw__events=NEW), **record)


@pytest.mark.parametrize("strategy", KEEPING)
@pytest.mark.parametrize(
    ("record", "settings", "reason"),
    [
        ({"fingerprint": OTHER_SQL}, {}, "sql_changed"),
        ({}, {"seen": UPDATED}, TAMPERED),
        ({"status": Status.FAILED, "fingerprint": OTHER_SQL}, {}, "was failed"),
        ({"status": Status.FAILED}, {"seen": UPDATED}, "was failed"),
        ({"status": Status.FAILED}, {"below": ["base"]}, "was failed"),
        ({}, {"force": True}, "asked for"),
        (
            {"fingerprint": OTHER_SQL},
            {"selected": False, "cascade": True, "earlier": BASE_RUNS},
            "sql_changed",
        ),
    ],
)
def test_what_keeps_rows_of_earlier_steps_is_made_anew_once_they_may_be_wrong(
    strategy, record, settings, reason
):
    model, known = keeping(strategy, **record)
    if "earlier" in settings:
        model = a_model("log", "base", strategy=strategy)

    (step,) = synced(model, known, **settings).steps

    assert (str(step.reason), step.initial, step.notes) == (reason, True, ("full refresh",))


@pytest.mark.parametrize("strategy", KEEPING)
def test_what_only_failed_goes_on_as_a_run_would(strategy):
    model, known = keeping(strategy, status=Status.FAILED)

    (step,) = synced(model, known).steps

    assert (str(step.reason), step.initial, step.notes) == ("was failed", False, ())


@pytest.mark.parametrize("strategy", KEEPING)
def test_a_table_that_is_gone_is_made_anew(strategy):
    model, known = keeping(strategy)

    (step,) = synced(model, known, seen=Observed()).steps

    assert (step.reason.state, step.initial) == (State.MISSING, True)


def test_new_input_after_a_failure_is_left_to_the_window_that_takes_it():
    record = replace(a_success(LOG, raw__events=OLD), status=Status.FAILED)

    assert shown(synced(LOG, record)) == [("was failed", "sync", False)]


@pytest.mark.parametrize(
    ("earlier", "scope", "reason"),
    [
        ({}, {}, "source_changed: raw.events v2 -> v3"),
        (BASE_RUNS, {"selected": False, "cascade": True}, "upstream_changed: after base"),
    ],
)
def test_a_merge_without_a_window_is_made_anew_because_keys_may_be_gone_above(
    earlier, scope, reason
):
    merge = a_model("users", "base", "raw.events", strategy=Merge(("id",), None))
    events = NEW if earlier else OLD

    found = synced(
        merge, a_success(merge, base=OF_BASE, raw__events=events), earlier=earlier, **scope
    )

    assert [(str(each.reason), each.initial) for each in found.steps] == [(reason, True)]


def test_the_first_build_of_a_windowed_model_is_no_refresh():
    found = synced(LOG, seen=Observed())

    assert shown(found) == [("never_run", "sync", True)]
    assert found.steps[0].notes == ()


@pytest.mark.parametrize(
    ("settings", "initial"),
    [({"force": True}, False), ({"options": Options(full_refresh=True)}, True)],
)
def test_what_is_asked_for_runs_though_nothing_drifted(settings, initial):
    found = synced(MART, a_success(MART, base=OF_BASE), **settings)

    assert shown(found) == [("asked for", "sync", initial)]
    assert not found.steps[0].reason.drift


def test_a_history_is_never_made_again():
    users = a_model("users", "base", strategy=Snapshot(("id",), ColumnsDiffer(None)))

    found = synced(users, seen=Observed(), options=Options(full_refresh=True), earlier=BASE_RUNS)

    assert found == Decided()


def test_a_table_of_others_blocks_its_model():
    found = synced(MART, seen=HERE)

    assert (found.error.code, found.steps, found.todo) == ("foreign-table", (), ())
