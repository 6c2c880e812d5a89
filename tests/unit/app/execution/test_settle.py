"""What a crash left undecided is settled step by step; one that cannot be stops no other.

Rows of a step that can no longer be told from the others of its table.
"""

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pytest

from fakes.builders import a_model, a_source
from fakes.check_inputs import answered, said
from fakes.lake import ID
from fakes.place import statuses
from fakes.places import FakePlaces
from fakes.workshop import DEAD, Workshop
from penstock.app.execution.settle import settle
from penstock.app.planning.selection import pending_notes
from penstock.core.check_results import Checked
from penstock.core.checks.check import Check, Checks, OnFailure, Phase
from penstock.core.errors import InterruptedRunError, QueryError, StateError, TableError
from penstock.core.findings import Location
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.statement import OBSERVED_ROWS
from penstock.core.steps.step import Outcome, StepFailure
from penstock.strategies.append import Append
from penstock.strategies.checks.types import RowCount, RowCountChange
from penstock.strategies.merge import Merge
from penstock.strategies.partition import Partition
from penstock.strategies.table import Table

EVENTS = a_source("events")
GATE = Check("two_rows", Phase.AFTER, RowCount(2), Location("models/log.yml", 5), definition="d")
GATES = Checks((), (GATE,))
LOG = a_model("log", "raw.events", strategy=Append(None), checks=GATES)
OTHER = a_model("other", "raw.events", strategy=Append(None), checks=GATES)
BELOW = a_model("below", "log")
LOST = TableError("log-gap", "version 0 of the log is gone")
DUE = Checked(OnFailure.ROLLBACK, version=1, failure=StepFailure("after-check-failed", "log: no"))
DUE = replace(DUE, failed=((0, 0),))
ALL = ((-(2**62), 2**62),)


@pytest.fixture
def workshop():
    """Two logs and what reads one of them; every step will have one row, which is too few."""
    workshop = Workshop(EVENTS, LOG, OTHER, BELOW)
    workshop.lake.answers("check_a", answered(GATE, ID, 1))
    return workshop


def pending(workshop, model, step, mode="flag", version=None, **changes):
    """Let a step die after its commit, and be recovered."""
    base = workshop.lake.log.head(workshop.uri(model))
    given = {"on_failure": mode, "base_version": base.version if base else None, **changes}
    begun = workshop.begin(DEAD, model, step, **given)
    version = workshop.commit(begun)
    table = workshop.lake.tables[begun.uri]
    workshop.store.journal.finish(step, Outcome(version, table.table_id, version), recovered=True)
    return version


def due(workshop, model="log", step="step-due"):
    """Let a step die after its checks failed, before the RESTORE."""
    pending(workshop, model, "step-good", mode="")
    version = pending(workshop, model, step, mode="rollback")
    workshop.store.journal.settle_checks(step, replace(DUE, version=version))
    return version


def left(workshop):
    return [
        (each.step.intent.step, each.rollback_due) for each in workshop.store.checks.unsettled()
    ]


def test_what_the_next_command_settles_is_told_by_step(workshop):
    pending(workshop, "other", "step-1")
    due(workshop)

    assert pending_notes(workshop.services()) == (
        "other: checks pending: step step-1",
        "log: a rollback is due: step step-due",
    )


def test_pending_checks_are_looked_at_and_what_reads_the_rows_is_skipped(workshop):
    pending(workshop, "log", "step-1")

    report = workshop.run("log below")

    assert said(report["log"].invariant_report.after) == [("failed", "rows 1 < min 2")]
    assert statuses(report) == {"log": "failed", "below": "skipped"}
    assert left(workshop) == []


@pytest.mark.parametrize("word", ["bind", "rows"])
def test_a_step_that_cannot_be_looked_at_stays_pending_and_stops_no_other(workshop, word):
    pending(workshop, "log", "step-1")
    pending(workshop, "other", "step-2")
    lost = TableError("log-gap", "version 0 of the log is gone")
    workshop.lake.trouble("log", word, lost)

    settled = settle(workshop.services())

    assert [(each.name, each.status) for each in settled.results] == [
        ("log", "failed"),
        ("other", "failed"),
    ]
    assert settled.results[0].error is lost
    assert lost.hint.startswith("penstock rollback log --to step-1 removes")
    assert settled.failed == {"log": ((0, 0),), "other": ((0, 0),)}
    assert settled.unlooked == {"log"}
    assert left(workshop) == [("step-1", False)]
    assert workshop.store.journal.running() == ()


def test_a_command_goes_on_without_a_step_that_cannot_be_looked_at(workshop):
    pending(workshop, "log", "step-1")
    workshop.lake.trouble("log", "bind", LOST)

    report = workshop.run()

    assert statuses(report) == {"log": "failed", "below": "skipped", "other": "failed"}
    assert report["other"].invariant_report is not None
    assert not report.succeeded


def test_rows_that_are_built_anew_need_no_look_any_more(workshop):
    pending(workshop, "log", "step-1")
    workshop.lake.trouble("log", "bind", LOST)

    workshop.run("log", full_refresh=True)

    assert left(workshop) == []


def test_a_bug_and_an_interruption_are_no_failure_of_one_step(workshop):
    pending(workshop, "log", "step-1")
    lost = InterruptedRunError("interrupted", "the run was interrupted")
    workshop.lake.trouble("log", "bind", lost)

    with pytest.raises(InterruptedRunError):
        settle(workshop.services())

    workshop.project = replace(workshop.project, state_patience=dt.timedelta())
    workshop.store.lose("settle_checks")
    with pytest.raises(StateError):
        settle(workshop.services())
    assert left(workshop) == [("step-1", False)]


def drop(workshop, model):
    del workshop.lake.tables[workshop.uri(model)]


def replace_table(workshop, model):
    drop(workshop, model)
    workshop.lake.land(workshop.uri(model), "id int")


@pytest.mark.parametrize("lose", [drop, replace_table])
def test_a_table_that_is_gone_leaves_nothing_to_look_at(workshop, lose):
    pending(workshop, "log", "step-1")
    due(workshop, "other")
    lose(workshop, "log")
    lose(workshop, "other")

    settled = settle(workshop.services())

    assert (settled.results, settled.failed, left(workshop)) == ((), {}, [])
    assert [word for _, word, _ in workshop.lake.ran if word == "commit"] == []


def test_a_model_that_is_gone_leaves_nothing_to_look_at(workshop):
    pending(workshop, "log", "step-1")
    models = {name: each for name, each in workshop.project.models.items() if name == "other"}
    workshop.project = replace(workshop.project, models=models)

    assert settle(workshop.services()).results == ()
    assert left(workshop) == []


def test_partitions_of_several_steps_fail_together(workshop):
    days = Partition("day", "date", Grid(Grain.DAY))
    workshop.has(replace(LOG, strategy=days))
    where = {"grid": days.grid, "strategy": "partition"}
    pending(workshop, "log", "step-1", partitions=("1970-01-02",), **where)
    pending(workshop, "log", "step-2", partitions=("1970-01-04",), **where)
    workshop.lake.trouble("log", "bind", LOST, LOST)

    assert settle(workshop.services()).failed == {"log": ((1, 1), (3, 3))}


# Models that are built otherwise now


MONTHS = Partition("day", "date", Grid(Grain.MONTH))


@pytest.mark.parametrize(
    ("strategy", "made", "partitions", "failed"),
    [
        (MONTHS, Grid(Grain.DAY), ("1970-01-02..1970-01-03",), ALL),
        (MONTHS, Grid(), ("*",), ALL),
        (Append(None), Grid(Grain.DAY), ("1970-01-02..1970-01-03",), ALL),
        (Table(), Grid(), ("*",), ((0, 0),)),
        (Merge(("id",), None), Grid(), ("*",), ((0, 0),)),
    ],
)
@pytest.mark.parametrize("mode", ["flag", "rollback"])
def test_rows_of_a_model_that_is_built_otherwise_now_are_flagged_unlooked(  # one case
    workshop, strategy, made, partitions, failed, mode
):
    partitioned = "append" if made == Grid() else "partition"
    pending(workshop, "log", "step-1", mode, grid=made, partitions=partitions, strategy=partitioned)
    workshop.has(replace(LOG, strategy=strategy))
    workshop.lake.ran.clear()

    settled = settle(workshop.services())

    (result,) = settled.results
    assert said(result.invariant_report.after) == [
        ("failed", "could not be evaluated: log is built otherwise now than by step step-1")
    ]
    assert result.error.code == "after-check-failed"
    assert settled.failed == {"log": failed}
    assert {flag.checks for flag in workshop.store.checks.flags()} == {("two_rows",)}
    assert [word for _, word, _ in workshop.lake.ran] == ["session"]
    assert left(workshop) == []


# Rollbacks


def test_a_rollback_that_is_due_is_done(workshop):
    due(workshop)

    settled = settle(workshop.services())

    assert settled.results[0].consequence == "restored to version 0"
    assert (settled.failed, left(workshop)) == ({"log": ((0, 0),)}, [])


def test_a_rollback_that_is_due_waits_for_a_command_that_writes(workshop):
    due(workshop)

    assert settle(workshop.services(), writes=False).results == ()
    assert left(workshop) == [("step-due", True)]


def test_a_table_that_another_run_holds_is_restored_later(workshop):
    due(workshop)
    workshop.begin(replace(DEAD, pid=22), "log", "step-now")

    (result,) = settle(workshop.services()).results

    assert result.error.code == "after-check-failed"
    assert result.notes[0].startswith("not rolled back yet: s.log is being written by run run-dead")
    assert left(workshop) == [("step-due", True)]
    assert [each.intent.step for each in workshop.store.journal.running()] == ["step-now"]


def test_nothing_is_built_on_rows_that_are_still_to_be_taken_back(workshop):
    due(workshop)
    workshop.lake.trouble("log", "commit", QueryError("spark-error", "no executor"))

    report = workshop.run("log below")

    assert statuses(report) == {"log": "failed", "below": "skipped"}
    assert report["log"].notes == ("not rolled back yet: no executor",)
    assert workshop.lake.steps(workshop.uri("log")) == ["step-good", "step-due"]
    workshop.run("log")
    assert left(workshop) == []


def test_an_attempt_to_restore_leaves_no_row_in_the_history(workshop):
    due(workshop)
    before = workshop.store.records.history("log", None)
    workshop.lake.trouble("log", "commit", QueryError("spark-error", "no executor"))

    settle(workshop.services())

    assert workshop.store.records.history("log", None) == before


def test_rows_whose_past_vacuum_took_stay_and_are_flagged(workshop, monkeypatch):
    due(workshop)
    monkeypatch.setattr(FakePlaces, "missing_files", lambda *_: 2)

    (result,) = settle(workshop.services()).results

    assert result.consequence == "rows written and flagged"
    assert result.notes == (
        "rollback-refused: log: 2 files of version 0 are gone; rows stay and are flagged",
    )
    assert left(workshop) == []
    assert [(each.intent.kind, each.status) for each in workshop.store.records.steps_of("log")][
        2:
    ] == []
    assert len(workshop.store.checks.flags()) == 1


GROWTH = Check("growth", Phase.AFTER, RowCountChange(Decimal(1)), Location("models/a.yml", 5))


def settled(strategy):
    """Settle the second step of a model, which died after its commit."""
    model = a_model("a", "raw.events", strategy=strategy, checks=Checks((), (GROWTH,)))
    workshop = Workshop(a_source("events"), model)
    workshop.lake.answers("check_a", {OBSERVED_ROWS: 1})
    workshop.run()
    begun = workshop.begin(DEAD, "a", on_failure="flag", base_version=0)
    version = workshop.commit(begun)
    table = workshop.lake.tables[begun.uri]
    outcome = Outcome(version, table.table_id, version)
    workshop.store.journal.finish(begun.step, outcome, recovered=True)
    [result] = settle(workshop.services()).results
    return said(result.invariant_report.after)


def test_the_rows_that_a_merge_wrote_are_gone():
    assert settled(Merge(("id",), None)) == [("skipped", "no step rows")]


def test_the_rows_that_an_append_added_are_still_known():
    assert settled(Append(None)) == [("passed", "rows 1, +0.0 % of 1")]
