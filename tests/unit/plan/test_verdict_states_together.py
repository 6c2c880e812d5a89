from dataclasses import replace
from itertools import combinations

import pytest

from fakes.versioned_models import (
    EVENTS,
    a_body,
    a_commit,
    a_daily,
    a_run,
    ords,
    partition_code,
    reading,
    the_table,
)
from penstock.core.partitions.mapping import Same
from penstock.core.records import Status
from penstock.core.steps.inputs import DeltaPin
from penstock.plan.changes import Changes, PartitionsNow, TableNow
from penstock.plan.kinds.partitions import Evidence, detect_drift
from penstock.plan.values import Observed, State
from penstock.plan.verdict import Verdict, partitions_in

BOTH = a_body("v3", "2024-12-02", EVENTS, reading("up", Same()), schema="now")
ONE = a_daily("one", BOTH)
THE_DAY = ords("2024-12-16")
MADE = {
    State.VERSION_UPGRADED: {"version": 2},
    State.SQL_CHANGED: {"canonical": "other"},
    State.SCHEMA_CHANGED: {"schema": "before"},
}
CODE_AND_INPUTS = {*MADE, State.SOURCE_CHANGED, State.UPSTREAM_CHANGED}
APART = {
    frozenset({State.VERSION_UPGRADED, State.SQL_CHANGED}),
    frozenset({State.VERSION_UPGRADED, State.SCHEMA_CHANGED}),
    *(frozenset({State.NOT_EFFECTIVE, each}) for each in {*CODE_AND_INPUTS, State.UNREADABLE}),
}
"""A version hides the others of the code; without SQL there is nothing to compare."""
TOGETHER = [
    pair
    for pair in combinations(list(State)[3:], 2)
    if frozenset(pair) not in APART and State.NEVER_RUN not in pair
]


def in_states(*states: State) -> Verdict:
    """Judge one partition of which just these things are wrong."""
    made = BOTH.fingerprint
    for state in states:
        made = replace(made, **MADE.get(state, {}))
    status = Status.FAILED if State.FAILED in states else Status.SUCCESS
    run = a_run(THE_DAY, 1, 3, status=status)
    foreign = (a_commit(9),) if State.TAMPERED in states else ()
    target = the_table(*foreign, lying=() if State.MISSING in states else None)
    if State.MISSING in states and not foreign:
        target = Observed()
    pins = {3: {"raw.events": pin("e"), "up": pin("u")}}
    unread = "log-unreadable: it is damaged" if State.UNREADABLE in states else ""
    evidence = Evidence((run,), pins, {1: made}, "t", target, unread=unread)
    segments = () if State.NOT_EFFECTIVE in states else partition_code(ONE)[1][-1:]
    read = 4 if State.SOURCE_CHANGED in states else 3
    source = TableNow(pin("e", read), (a_commit(4),) if read == 4 else ())
    above = a_run(THE_DAY, 1, 4 if State.UPSTREAM_CHANGED in states else 3)
    changes = Changes(
        {"up": PartitionsNow("u", ONE.grid, (above,))}.get, {"raw.events": source}.get
    )
    return detect_drift(ONE, THE_DAY, segments, evidence, changes)


def pin(table_id: str, version: int = 3) -> DeltaPin:
    return DeltaPin(table_id, version)


@pytest.mark.parametrize("pair", TOGETHER, ids=" ".join)
def test_of_two_states_the_first_counts_and_the_other_stands_beside_it(pair):
    found = in_states(*pair)

    assert [(piece.range, piece.states) for piece in found.pieces] == [(THE_DAY[0], pair)]


def test_a_version_hides_other_sql_and_schema():
    found = in_states(State.VERSION_UPGRADED, State.SQL_CHANGED, State.SCHEMA_CHANGED)

    assert [piece.states for piece in found.pieces] == [(State.VERSION_UPGRADED,)]


def test_all_states_at_once_stand_in_their_order():
    found = in_states(*(set(State) - {State.NOT_EFFECTIVE, State.VERSION_UPGRADED}))

    assert [piece.states for piece in found.pieces] == [
        (
            State.FAILED,
            State.MISSING,
            State.TAMPERED,
            State.SQL_CHANGED,
            State.SCHEMA_CHANGED,
            State.SOURCE_CHANGED,
            State.UPSTREAM_CHANGED,
            State.UNREADABLE,
        )
    ]


def test_states_are_found_whether_they_count_first_or_not():
    found = in_states(State.FAILED, State.SQL_CHANGED)

    assert partitions_in(found, frozenset({State.SQL_CHANGED})) == THE_DAY
    assert partitions_in(found, frozenset({State.TAMPERED})) == ()
