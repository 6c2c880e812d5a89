"""Which version a step that failed is taken back to, and when it is not."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fakes.builders import a_model, a_source
from fakes.check_inputs import answered
from fakes.lake import ID
from fakes.places import FakePlaces
from fakes.workshop import Workshop
from penstock.core.checks.check import Check, Checks, OnFailure, Phase
from penstock.core.errors import ConcurrentWriterError, QueryError, TableError
from penstock.core.findings import Location
from penstock.core.model import Fingerprint
from penstock.core.records import Status
from penstock.strategies.append import Append
from penstock.strategies.checks.types import RowCount

GATE = Check("two_rows", Phase.AFTER, RowCount(2), Location("models/log.yml", 5), definition="d")
LOG = a_model(
    "log", "raw.events", strategy=Append(None), checks=Checks((), (GATE,), OnFailure.ROLLBACK)
)
TOLD = replace(
    LOG, description="All of them", fingerprint=Fingerprint("sql-log", "canonical-log", "", "told")
)
REFUSED = "rollback-refused: log: {}; rows stay and are flagged"


@pytest.fixture
def workshop():
    """A log that was built; its next step will fail its gate."""
    workshop = Workshop(a_source("events"), LOG)
    assert workshop.run(skip_checks=True).succeeded
    workshop.lake.answers("FROM `check_", answered(GATE, ID, 1))
    workshop.lake.land("/landing/events")
    return workshop


def restored(workshop):
    return [sql for _, word, sql in workshop.lake.ran if word == "commit" and "RESTORE" in sql]


def steps(workshop):
    found = workshop.store.records.steps_of("log")
    return [(str(each.intent.kind), each.status, each.intent.restores) for each in found]


def test_a_step_is_taken_back_to_the_version_before_it(workshop):
    result = workshop.run()["log"]

    assert (result.status, result.consequence) == ("failed", "restored to version 0")
    assert restored(workshop) == ["RESTORE TABLE delta.`/w/s/log` TO VERSION AS OF 0"]
    assert steps(workshop)[1:] == [("build", Status.FAILED, 0), ("rollback", Status.SUCCESS, 2)]


def test_what_made_the_table_ready_for_the_step_is_taken_back_too(workshop):
    workshop.has(TOLD)

    result = workshop.run()["log"]

    assert workshop.operations("log")[1:] == ["SET TBLPROPERTIES", "WRITE", "RESTORE"]
    assert restored(workshop) == ["RESTORE TABLE delta.`/w/s/log` TO VERSION AS OF 0"]
    assert result.consequence == "restored to version 0"
    assert steps(workshop)[1:] == [
        ("alter", Status.SUCCESS, 0),
        ("build", Status.FAILED, 0),
        ("rollback", Status.SUCCESS, 2),
    ]
    assert workshop.records()["log"].fingerprint == LOG.fingerprint


def test_what_a_first_try_made_ready_is_taken_back_too(workshop, monkeypatch):
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None)
    monkeypatch.setattr("penstock.app.commands.runner.time", clock)
    workshop.has(TOLD)
    lost = ConcurrentWriterError("concurrent-writer", "another writer committed")
    workshop.lake.trouble("log", "commit", lambda: None, lost)

    result = workshop.run()["log"]

    assert result.consequence == "restored to version 0"
    assert steps(workshop)[1:] == [
        ("alter", Status.SUCCESS, 0),
        ("build", Status.FAILED, 0),
        ("build", Status.FAILED, 0),
        ("rollback", Status.SUCCESS, 2),
    ]


def test_rows_that_others_wrote_before_the_step_stay(workshop):
    workshop.has(TOLD)
    workshop.lake.trouble("log", "committed", lambda: workshop.lake.land("/w/s/log"))

    result = workshop.run()["log"]

    assert workshop.operations("log")[1:] == ["SET TBLPROPERTIES", "WRITE", "WRITE", "RESTORE"]
    assert restored(workshop) == ["RESTORE TABLE delta.`/w/s/log` TO VERSION AS OF 2"]
    assert result.consequence == "restored to version 2"


def test_rows_that_others_wrote_after_the_step_keep_it_from_being_undone(workshop):
    workshop.lake.trouble("log", "committed", lambda: workshop.lake.land("/w/s/log"))

    result = workshop.run()["log"]

    why = "version 2 (WRITE, not ours) lies after version 1"
    assert (restored(workshop), result.notes) == ([], (REFUSED.format(why),))
    assert result.consequence == "rows written and flagged"
    assert workshop.store.checks.unsettled() == ()


def test_rows_whose_past_is_gone_stay_and_are_flagged(workshop, monkeypatch):
    monkeypatch.setattr(FakePlaces, "missing_files", lambda *_: 2)

    result = workshop.run()["log"]

    assert result.notes == (REFUSED.format("2 files of version 0 are gone"),)
    assert (restored(workshop), len(workshop.store.checks.flags())) == ([], 1)


def test_features_that_a_restore_leaves_on_are_told(workshop, monkeypatch):
    def features(_, uri, version=None):
        return frozenset({"deletionVectors"} if version == 0 else {"typeWidening"})

    monkeypatch.setattr(FakePlaces, "features", features)

    result = workshop.run()["log"]

    told = "s.log keeps the table feature typeWidening, which version 0 did not have"
    assert result.consequence == "restored to version 0"
    assert result.notes == (f"features-left: {told}",)


@pytest.mark.parametrize(
    "error", [QueryError("spark-error", "no executor"), TableError("log-gap", "it is gone")]
)
def test_what_keeps_a_step_from_being_undone_is_told_and_tried_again(workshop, error):
    workshop.lake.trouble("log", "commit", lambda: None, error)

    result = workshop.run()["log"]

    assert (result.error.code, result.status) == ("after-check-failed", "failed")
    assert result.notes == (f"not rolled back yet: {error.sentence}",)
    again = workshop.run()
    assert [each.consequence for each in again.results] == ["restored to version 0"]
    assert again.results[0].reason == "its rollback was due"


def test_rows_of_a_table_that_is_replaced_count_as_deleted(workshop):
    result = workshop.run(full_refresh=True, skip_checks=True)["log"]

    assert (result.rows.inserted, result.rows.deleted, result.kind) == (1, 1, "full")
    assert "replaced_rows" not in result.metrics
