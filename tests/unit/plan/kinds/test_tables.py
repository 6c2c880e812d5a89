"""Models of one partition that are not built: left as they are, altered, put off."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project, a_success
from fakes.silver_table import an_entity
from penstock.core.columns.schema import Schema
from penstock.core.facts import TableFacts
from penstock.core.history import ColumnsDiffer
from penstock.core.model import Fingerprint
from penstock.core.strategy import Layout, WindowSettings
from penstock.plan.kinds.tables import current_decision, postponed_decision, table_step
from penstock.plan.steps import Decided, Question
from penstock.plan.values import Estimate, Now, Observed, Options, Reason, State, Step
from penstock.strategies.append import Append
from penstock.strategies.entities.strategy import MergeEntity
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.merge import Merge
from penstock.strategies.table import Table

BASE = a_model("base", layout=Layout(("day",), properties={"kept": "30 days"}))
DONE = a_success(BASE, 4)
LAID = TableFacts("id-base", 0, Schema(), ("day",), properties={"kept": "30 days"})


def question(record=DONE, facts=LAID, selected=("base",)):
    now = Now(NOON, {"base": Observed(True, facts=facts)}, {})
    return Question(a_project(BASE), frozenset(selected), {"base": record}, now, Options())


def test_a_table_that_lies_as_the_code_says_is_current_and_hands_on_its_upstreams():
    assert current_decision(question(), BASE, ("above",)) == Decided(
        hands_on=("above",), is_current=True
    )


def test_other_text_of_the_same_meaning_is_cosmetic():
    record = replace(DONE, fingerprint=Fingerprint("other-text", BASE.fingerprint.canonical))

    assert current_decision(question(record), BASE, ()) == Decided(
        is_current=True, is_cosmetic=True
    )


def test_other_properties_take_a_step_that_changes_no_row_and_for_which_nobody_waits():
    found = current_decision(question(facts=replace(LAID, properties={})), BASE, ("above",))

    reason = Reason(State.CURRENT, "its properties or comments changed", drift=False)
    altered = Step("base", reason, initial=False, planned_on=4, only_alters=True)
    assert found == Decided(steps=(altered,), hands_on=("above",))


def test_other_partitioning_is_noted_because_only_a_full_refresh_moves_rows():
    found = current_decision(question(facts=replace(LAID, partition_by=())), BASE, ())

    assert found == Decided(
        notes=("base: partition_by is [], the code says [day]; --full-refresh rewrites the table",),
        is_current=True,
    )


def test_a_full_refresh_that_moves_the_rows_of_a_history_is_said_to_drop_its_versions():
    history = replace(BASE, strategy=Snapshot(("id",), ColumnsDiffer(None)))

    found = current_decision(question(facts=replace(LAID, partition_by=())), history, ())

    assert len(found.notes) == 1
    assert found.notes[0].endswith("--full-refresh rewrites the table and drops its versions")


@pytest.mark.parametrize(
    ("selected", "notes"), [(("base",), ("base: not_effective: from 2025",)), ((), ())]
)
def test_a_model_to_come_is_told_of_where_it_was_asked_for(selected, notes):
    found = postponed_decision(
        question(selected=selected), BASE, Reason(State.NOT_EFFECTIVE, "from 2025")
    )

    assert found == Decided(notes=notes, is_unborn=True)


def test_the_last_success_is_the_estimate_of_the_next_step():
    record = replace(DONE, rows_written=10, bytes_written=2_000, duration_ms=1_500)

    step = table_step(question(record), BASE, Reason(State.FAILED), ())

    assert step.estimate == Estimate(10, 2_000, 1.5)


OLD_ROWS = "rows loaded before keep what the earlier code made; --full-refresh rebuilds them"
GONE_ROWS = "rows that the query no longer gives stay; --full-refresh drops them"


@pytest.mark.parametrize(
    ("strategy", "notes"),
    [
        (Merge(("id",), WindowSettings("ts")), (OLD_ROWS,)),
        (Append(None), (OLD_ROWS,)),
        (Merge(("id",), None), (GONE_ROWS,)),
        (Table(overwrite_partitions=True), (GONE_ROWS,)),
        (Table(), ()),
    ],
)
def test_a_run_says_which_rows_of_an_earlier_sql_it_leaves(strategy, notes):
    step = table_step(question(), replace(BASE, strategy=strategy), Reason(State.SQL_CHANGED), ())

    assert (step.initial, step.notes) == (False, notes)


@pytest.mark.parametrize("strategy", [Merge(("id",), None), Append(None)])
def test_a_run_says_that_it_leaves_rows_that_others_changed_and_what_to_do(strategy):
    step = table_step(question(), replace(BASE, strategy=strategy), Reason(State.TAMPERED), ())

    stay = "rows that others changed stay as they are; penstock sync --select base rebuilds it, "
    assert step.notes == (f"{stay}penstock accept base --reason TEXT keeps them",)


def test_a_run_over_an_entity_with_other_settings_says_that_earlier_slices_stay_as_they_are():
    entity = an_entity()
    model = replace(BASE, strategy=MergeEntity(entity), entity=entity)

    step = table_step(question(), model, Reason(State.SQL_CHANGED), ())

    assert step.notes == (OLD_ROWS,)


def test_a_table_that_is_gone_is_built_anew_also_where_the_last_try_failed():
    failed_since = Reason(State.FAILED, "spark-error", (State.MISSING,))

    step = table_step(question(), BASE, failed_since, ())

    assert step.initial
    assert step.notes == ("the table is gone: full rebuild from all inputs",)
