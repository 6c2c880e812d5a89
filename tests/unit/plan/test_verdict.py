"""Which state a model is in: the first that holds, with the others beside it."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project, a_source, a_success
from fakes.versioned_models import a_body
from penstock.core.errors import TableError
from penstock.core.facts import Touched
from penstock.core.model import Fingerprint
from penstock.core.records import ModelRecord, Status
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.step import ForeignCommit, StepFailure
from penstock.core.strategy import WindowSettings
from penstock.plan.kinds.tables import detect_table_drift
from penstock.plan.resolve import Segment
from penstock.plan.values import Now, Observed, Owner, Reason, State
from penstock.plan.verdict import Piece, Verdict, has_other_table, outside_differences
from penstock.strategies.append import Append
from penstock.strategies.merge import Merge
from penstock.strategies.view import View

BASE = a_model("base")
USERS = a_model("users", "raw.events", "base")
PROJECT = a_project(BASE, USERS, a_source("events"))
NEW, OLD = DeltaPin("id-events", 3), DeltaPin("id-events", 2)
BUILT = a_success(BASE, version=4)
GOOD = a_success(USERS, 2, raw__events=NEW, base=DeltaPin("id-base", 4))
FOREIGN = Touched(1, NOON, "DELETE")
HERE = Observed(True)
OTHER_SQL = Fingerprint("x", "x")
FAILURE = StepFailure("duplicate-keys", "…")


def reason(record: ModelRecord | None, seen: Observed = HERE, model=USERS) -> Reason:
    records = {"base": BUILT} | ({} if record is None else {"users": record})
    project = replace(PROJECT, models={**PROJECT.models, "users": model})
    now = Now(NOON, {"users": seen}, {"raw.events": NEW})
    return detect_table_drift(project, model, records, now).reason


def everything_wrong() -> ModelRecord:
    pins = {"raw.events": OLD, "base": DeltaPin("id-base", 3)}
    return replace(GOOD, status=Status.FAILED, failure=FAILURE, fingerprint=OTHER_SQL, pins=pins)


def test_nothing_differs():
    assert reason(GOOD) == Reason(State.CURRENT)


def test_the_first_state_counts_and_the_others_stand_beside_it_in_order():
    tampered = replace(HERE, foreign=(FOREIGN,))

    assert reason(everything_wrong(), tampered) == Reason(
        State.FAILED,
        "duplicate-keys",
        (State.TAMPERED, State.SQL_CHANGED, State.SOURCE_CHANGED, State.UPSTREAM_CHANGED),
    )


def test_a_missing_table_hides_what_others_did_to_it():
    found = reason(everything_wrong(), Observed())

    assert (found.state, found.also[0]) == (State.FAILED, State.MISSING)
    assert State.TAMPERED not in found.also


def test_a_failure_hides_no_state_in_which_nothing_of_the_table_may_run():
    forgotten = replace(HERE, unrecorded=(replace(FOREIGN, step="step-9", store="store-1"),))

    found = reason(everything_wrong(), forgotten)

    assert (found.state, found.also[0]) == (State.UNRECORDED, State.FAILED)
    assert found.detail == "version 1 is of step step-9, which is not on record with it"


def test_another_table_in_its_place_is_a_missing_one():
    theirs = replace(HERE, table_id="id-2", ever_ours=True)

    found = reason(replace(GOOD, table_id="id-1"), theirs)

    assert found == Reason(State.MISSING, "another table took its place")


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (
            Owner("theirs", "store-2"),
            Reason(
                State.TAMPERED,
                "another table took its place, of project 'theirs' (state store store-2)",
            ),
        ),
        (
            None,
            Reason(
                State.FOREIGN_TABLE,
                "another table took its place, which penstock did not make",
            ),
        ),
    ],
)
def test_another_table_in_its_place_is_told_by_who_made_it(owner, expected):
    other = replace(HERE, table_id="id-2", owner=owner)

    assert reason(replace(GOOD, table_id="id-1"), other) == expected


def test_a_model_whose_table_cannot_be_read_is_in_no_other_state():
    lost = TableError("log-unreadable", "version 0 is damaged")
    now = Now(NOON, {}, {"raw.events": NEW}, unreadable={"users": lost})

    found = detect_table_drift(
        PROJECT, USERS, {"base": BUILT, "users": everything_wrong()}, now
    ).reason

    assert found == Reason(State.UNREADABLE, "log-unreadable: version 0 is damaged")


def test_a_model_whose_source_cannot_be_read_is_not_current():
    lost = TableError("source-missing", "source raw.events has no files")
    now = Now(NOON, {"users": HERE}, {}, {"raw.events": lost})

    found = detect_table_drift(PROJECT, USERS, {"base": BUILT, "users": GOOD}, now).reason

    assert found == Reason(State.UNREADABLE, "source-missing: source raw.events has no files")


@pytest.mark.parametrize(
    ("pins", "state", "detail"),
    [
        ({"raw.events": OLD}, State.SOURCE_CHANGED, "raw.events v2 -> v3"),
        ({"base": DeltaPin("id-base", 3)}, State.UPSTREAM_CHANGED, "base"),
        ({"base": DeltaPin("id-other", 9)}, State.UPSTREAM_CHANGED, "base"),
    ],
)
def test_an_input_that_moved_on_is_named(pins, state, detail):
    assert reason(replace(GOOD, pins={**GOOD.pins, **pins})) == Reason(state, detail)


def test_an_upstream_that_was_read_after_its_last_change_has_not_moved():
    later = {**GOOD.pins, "base": DeltaPin("id-base", 6)}

    assert reason(replace(GOOD, pins=later)).state is State.CURRENT


def test_an_input_that_the_record_does_not_know_is_new():
    assert reason(replace(GOOD, pins={"base": GOOD.pins["base"]})) == Reason(
        State.SOURCE_CHANGED, "raw.events is new"
    )


def test_changed_settings_are_told_from_changed_sql():
    mark = USERS.fingerprint
    other = replace(GOOD, fingerprint=replace(mark, settings="before"))

    assert reason(other) == Reason(State.SQL_CHANGED, "its settings changed")


def test_a_layout_that_differs_is_no_drift():
    assert reason(replace(GOOD, fingerprint=replace(USERS.fingerprint, layout="before"))).state is (
        State.CURRENT
    )


@pytest.mark.parametrize(
    "strategy", [Append(WindowSettings("n")), Merge(("id",), WindowSettings("n"))]
)
def test_new_rows_for_a_window_are_no_drift_and_other_differences_are(strategy):
    windowed = replace(USERS, strategy=strategy)
    behind = replace(GOOD, pins={**GOOD.pins, "raw.events": OLD})

    assert not reason(behind, model=windowed).drift
    assert reason(replace(behind, fingerprint=OTHER_SQL), model=windowed).drift
    assert reason(behind).drift


def test_a_view_has_no_rows_that_could_be_stale():
    view = replace(USERS, strategy=View())

    assert reason(everything_wrong(), Observed(), view) == Reason(
        State.FAILED, "duplicate-keys", (State.SQL_CHANGED,)
    )


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (Observed(), State.NEVER_RUN),
        (HERE, State.FOREIGN_TABLE),
        (replace(HERE, ever_ours=True), State.UNRECORDED),
    ],
)
def test_without_a_record_the_log_tells_whose_table_it_is(seen, state):
    assert reason(None, seen).state is state


def test_a_try_that_failed_does_not_make_a_foreign_table_ours():
    failed = ModelRecord("users", Status.FAILED, 1, failure=FAILURE)

    assert reason(failed, Observed()) == Reason(State.FAILED, "duplicate-keys")
    assert reason(failed).state is State.FOREIGN_TABLE


def test_a_verdict_says_which_partitions_have_sql_and_what_state_they_are_in_together():
    body = a_body("v1", "2024-01-01")
    failed = Piece(2, 3, Reason(State.FAILED, also=(State.MISSING,)), ("crashed",))
    later = Piece(4, 4, Reason(State.NOT_EFFECTIVE))
    changed = Piece(1, 1, Reason(State.SQL_CHANGED), ("another table took its place, of them",))
    found = Verdict("m", ((1, 4),), (Segment(0, 2, 1, body),), (changed, failed, later))

    assert found.effective == ((1, 2),)
    assert found.drifted == ((1, 3),)
    assert found.missing == ((2, 3),)
    assert found.reason == Reason(State.NOT_EFFECTIVE, also=(State.FAILED, State.SQL_CHANGED))
    assert has_other_table(found)
    assert not has_other_table(replace(found, pieces=(failed,)))
    assert replace(found, whole=State.UNREADABLE).reason == Reason(State.UNREADABLE)
    assert replace(found, pieces=()).reason == Reason(State.CURRENT)
    of_table = replace(found, of_table=True)
    assert (of_table.effective, of_table.reason) == (((1, 4),), changed.reason)


def test_rows_that_others_changed_before_stay_a_drift_until_somebody_settles_them():
    noted = ForeignCommit(3, NOON, "UPDATE", "ann")

    assert reason(replace(GOOD, foreign=(noted,))) == Reason(
        State.TAMPERED,
        "version 3 UPDATE by ann at 2024-03-01 12:00:00 UTC",
        stale=True,
        passed=True,
    )
    assert reason(replace(GOOD, passed_by=("users",))) == Reason(
        State.TAMPERED, "rows that others changed stay as they are", stale=True, passed=True
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("settings 1\na.yml 2", "settings 1\na.yml 3", "a.yml changed"),
        ("settings 1\na.yml 2", "settings 1\nb.yml 2", "a.yml is gone, b.yml is new"),
        ("settings 1\na b 2", "settings 2\na b 3", "its settings changed; a b changed"),
        ("settings 1\na 2", "settings 2\na 2", "its settings changed"),
        (None, "settings 1\na 2", "its settings changed; a is new"),
        ("settings 1\na 2", "", "its settings changed; a is gone"),
        ("settings 1", "settings 1", "its settings changed"),
        (
            'settings 1\nparameter of "n  l \\u00e9"',
            'settings 1\nparameter of ["x"]',
            'parameter of "n  l é" -> ["x"]',
        ),
        (
            f'settings 1\nparameter a 1\nparameter b "{"x" * 70}"',
            "settings 1\nparameter b 2\nparameter c 3",
            f'parameter a is gone, parameter b "{"x" * 59}… -> 2, parameter c is new',
        ),
        (
            "settings 1",
            "settings 1\na 1\nb 1\nc 1\nd 1",
            "a is new, b is new, c is new and 1 more",
        ),
    ],
)
def test_what_differs_outside_of_a_model_is_named(before, after, expected):
    assert outside_differences(before, after) == expected
