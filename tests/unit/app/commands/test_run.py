"""A run over a lake in memory: order, skipping, resuming."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.place import statuses
from fakes.workshop import Workshop
from penstock.app.events import RunStarted, StepEnded, StepStarted
from penstock.core.errors import EnvironmentMissingError, QueryError, TableError
from penstock.core.model import Fingerprint
from penstock.core.records import Status
from penstock.plan.values import State
from penstock.strategies.merge import Merge
from penstock.strategies.view import View

EVENTS = a_source("events")
TOP = a_model("top", "raw.events")
LEFT, RIGHT = a_model("left", "top"), a_model("right", "top")
BOTTOM = a_model("bottom", "left", "right")
DIAMOND = (EVENTS, TOP, LEFT, RIGHT, BOTTOM)
BROKEN = QueryError("spark-unresolved-column", "no column `amuont`")


def sessions(workshop: Workshop) -> list[str]:
    return [model for model, word, _ in workshop.lake.ran if word == "session"]


def test_upstreams_are_built_before_what_reads_them():
    workshop = Workshop(*DIAMOND)

    report = workshop.run(threads=1)

    assert report.succeeded
    assert sessions(workshop) == ["top", "left", "right", "bottom"]
    assert list(report) == ["top", "left", "right", "bottom"]


def test_nothing_to_do_opens_no_session_and_writes_no_run():
    workshop = Workshop(*DIAMOND)
    workshop.run()
    workshop.lake.ran.clear()
    started = workshop.store.calls["start_run"]

    report = workshop.run()

    assert set(statuses(report).values()) == {"unchanged"}
    assert workshop.lake.ran == []
    assert workshop.store.calls["start_run"] == started


def test_a_run_reads_the_newest_commit_of_each_table_once(monkeypatch):
    workshop, read = Workshop(*DIAMOND), []
    workshop.run()
    log = type(workshop.lake.log)
    head_of = log.head
    monkeypatch.setattr(log, "head", lambda self, uri, *a: read.append(uri) or head_of(self, uri))

    workshop.run()

    assert sorted(read) == sorted(workshop.uri(each.name) for each in DIAMOND[1:])


def test_a_step_whose_upstream_made_no_change_turns_out_unneeded():
    merged = a_model("merged", "raw.events", strategy=Merge(("id",), None))
    workshop = Workshop(EVENTS, merged, a_model("above", "merged"))
    workshop.run()
    workshop.lake.land(EVENTS.path)
    workshop.lake.answers("penstock_changes", {"new": 0, "changed": 0})

    report = workshop.run()

    assert [step.reason.pending for step in report.plan.steps] == [False, True]
    assert statuses(report) == {"merged": "unchanged", "above": "unchanged"}
    assert report["above"].reason == "its upstream made no change"
    assert workshop.run().plan.is_empty


def test_a_step_that_turns_out_unneeded_still_sets_the_comment_that_changed():
    merged = a_model("merged", "raw.events", strategy=Merge(("id",), None))
    above = a_model("above", "merged")
    workshop = Workshop(EVENTS, merged, above)
    workshop.run()
    workshop.lake.land(EVENTS.path)
    workshop.lake.answers("penstock_changes", {"new": 0, "changed": 0})
    layout = replace(above.fingerprint, layout="told")
    workshop.has(replace(above, description="All of them", fingerprint=layout))

    report = workshop.run()

    assert statuses(report) == {"merged": "unchanged", "above": "success"}
    assert workshop.lake.commits_of("above") == ["CREATE", "COMMENT"]
    assert workshop.run().plan.is_empty


def test_a_failure_skips_what_hangs_on_it_and_nothing_else():
    workshop = Workshop(*DIAMOND)
    workshop.lake.trouble("right", "define", BROKEN)

    report = workshop.run()

    assert statuses(report) == {
        "top": "success",
        "left": "success",
        "right": "failed",
        "bottom": "skipped",
    }
    assert report["right"].error is BROKEN
    assert report["bottom"].reason == "upstream right failed"
    assert report.resume == "penstock run --select 'right bottom'"


def test_a_skipped_step_names_what_failed_and_no_step_that_was_skipped_itself():
    deep, alone = Workshop(*DIAMOND, a_model("end", "bottom")), a_model("z", "y")
    deep.lake.trouble("top", "define", BROKEN)
    fast = Workshop(a_model("a"), a_model("y"), alone)
    fast.lake.trouble("a", "define", BROKEN)

    hangs, stopped = deep.run(), fast.run(fail_fast=True, threads=1)

    assert {hangs[name].reason for name in ("left", "bottom", "end")} == {"upstream top failed"}
    assert {stopped[name].reason for name in ("y", "z")} == {"fail-fast"}


def test_the_resume_does_only_what_is_left():
    workshop = Workshop(*DIAMOND)
    workshop.lake.trouble("right", "define", BROKEN)
    workshop.run()
    workshop.lake.ran.clear()

    report = workshop.run("right bottom")

    assert sessions(workshop) == ["right", "bottom"]
    assert report.resume == ""
    assert workshop.run().plan.is_empty


def test_a_query_that_fails_leaves_a_failed_record_and_no_lease():
    workshop = Workshop(EVENTS, TOP)
    workshop.lake.trouble("top", "define", BROKEN)
    workshop.run()

    record = workshop.records()["top"]

    assert (record.status, record.failure.code) == (Status.FAILED, "spark-unresolved-column")
    assert workshop.store.leases.taken() == ()
    assert workshop.plan().plan.steps[0].reason.state is State.FAILED


def test_fail_fast_starts_nothing_new():
    workshop = Workshop(EVENTS, a_model("a", "raw.events"), a_model("b", "raw.events"))
    workshop.lake.trouble("a", "define", BROKEN)

    report = workshop.run(threads=1, fail_fast=True)

    assert statuses(report) == {"a": "failed", "b": "skipped"}
    assert report["b"].reason == "fail-fast"


def test_a_lost_source_fails_its_readers_and_builds_the_rest():
    workshop = Workshop(EVENTS, TOP, LEFT, a_model("other"))
    workshop.lake.tables.clear()

    report = workshop.run()

    assert statuses(report) == {"other": "success", "top": "failed", "left": "skipped"}
    assert report["top"].error.code == "source-missing"
    assert not report.succeeded


def test_spark_that_cannot_start_is_told_before_a_run_is_written():
    workshop = Workshop(EVENTS, TOP)
    workshop.lake.trouble("", "require", EnvironmentMissingError("java-missing", "no Java"))

    with pytest.raises(EnvironmentMissingError):
        workshop.run()

    assert workshop.store.calls["start_run"] == 0


def test_a_view_is_recorded_and_what_reads_it_reads_its_tables():
    view = a_model("view", "top", strategy=View())
    workshop = Workshop(EVENTS, TOP, view, a_model("above", "view"))

    report = workshop.run()

    assert [pin.input for pin in report["above"].inputs] == ["view", "top"]
    assert "/w/s/view" not in workshop.lake.tables


def test_a_table_that_is_gone_is_made_from_all_inputs():
    workshop = Workshop(EVENTS, a_model("users", "raw.events", strategy=Merge(("id",), None)))
    workshop.run()
    del workshop.lake.tables["/w/s/users"]

    report = workshop.run()

    assert report["users"].notes == ("the table is gone: full rebuild from all inputs",)
    assert workshop.operations("users") == ["CREATE OR REPLACE TABLE AS SELECT"]


def test_a_foreign_table_stays_foreign_after_an_adoption_that_failed():
    users = a_model("users", "raw.events", strategy=Merge(("id",), None))
    workshop = Workshop(EVENTS, users)
    workshop.lake.land("/w/s/users", "id int, n int")
    workshop.lake.trouble("users", "define", BROKEN)
    workshop.run("users", adopt=True)

    refused = workshop.run()
    adopted = workshop.run("users", adopt=True)

    assert refused["users"].error.code == "foreign-table"
    assert statuses(adopted) == {"users": "success"}
    assert workshop.operations("users") == ["WRITE", "WRITE"]


def test_a_property_set_before_the_adoption_failed_does_not_make_the_table_ours():
    users = replace(
        a_model("users", "raw.events", strategy=Merge(("id",), None)), description="Users"
    )
    workshop = Workshop(EVENTS, users)
    workshop.lake.land("/w/s/users", "id int, n int")
    workshop.lake.trouble("users", "stage", BROKEN)
    workshop.run("users", adopt=True)

    assert workshop.run()["users"].error.code == "foreign-table"


def test_events_tell_what_happens_as_it_happens():
    told = []
    workshop = Workshop(EVENTS, TOP)

    report = workshop.run(listener=told.append)

    assert [type(event) for event in told] == [RunStarted, StepStarted, StepEnded]
    assert told[2].result == report["top"]


def test_a_replaced_table_needs_no_change_of_its_properties_first():
    workshop = Workshop(EVENTS, TOP)
    workshop.run()
    workshop.lake.gives("in_0_events", "id bigint, n int")
    workshop.has(replace(TOP, fingerprint=Fingerprint("new", "new"), description="Wider"))

    report = workshop.run()

    assert report["top"].schema_changes == ("widened id",)
    assert workshop.lake.commits_of("top") == ["CREATE", "CREATE"]


def test_a_wider_append_is_allowed_by_a_step_of_its_own_first():
    users = a_model("users", "raw.events", strategy=Merge(("n",), None))
    workshop = Workshop(EVENTS, users)
    workshop.run()
    workshop.lake.land(EVENTS.path, "id bigint, n int")

    report = workshop.run()

    assert workshop.lake.commits_of("users") == ["CREATE", "ALTER", "INSERT"]
    assert report["users"].version == 2
    assert workshop.run().plan.is_empty


def test_a_blocked_upstream_is_named_as_the_reason():
    workshop = Workshop(a_source("gone", format="csv", path="/gone"), a_model("a", "raw.gone"))
    workshop.lake.tables.clear()

    report = workshop.run()

    assert isinstance(report["a"].error, TableError)
    assert report.resume == "penstock run --select a"
