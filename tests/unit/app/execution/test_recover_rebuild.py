"""A lost store is written anew from the tables' own logs."""

from dataclasses import replace

from fakes.builders import a_model, a_source
from fakes.silver_table import an_entity
from fakes.workshop import Workshop
from penstock.app.execution.recover import RebuildReport, rebuild
from penstock.core.records import ModelRecord
from penstock.core.strategy import WindowSettings
from penstock.plan.values import State
from penstock.strategies.append import Append
from penstock.strategies.entities.strategy import strategy_of_entity
from penstock.strategies.merge import Merge
from penstock.strategies.view import View

EVENTS = a_source("events")
LOG = a_model("log", "raw.events", strategy=Append(WindowSettings("n")))
USERS = replace(a_model("users", "log", strategy=Merge(("id",), None)), description="Users")
PARTS = (EVENTS, LOG, USERS, a_model("view", "users", strategy=View()), a_model("top", "view"))


def without_store(workshop: Workshop) -> Workshop:
    """The same project and lake with a store that knows nothing."""
    lost = Workshop(*PARTS)
    lost.lake.tables = workshop.lake.tables
    return lost


def built() -> Workshop:
    workshop = Workshop(*PARTS)
    workshop.run()
    workshop.lake.land(EVENTS.path, "id bigint, n int", n="2")
    workshop.run()
    return workshop


def known(record: ModelRecord) -> tuple[object, ...]:
    return (
        record.status,
        record.step,
        record.step_seq,
        record.fingerprint,
        record.table_id,
        record.commit_version,
        record.settled_version,
        record.pins,
        record.watermarks,
        record.rows_written,
    )


def test_it_is_said_of_which_models_no_log_tells_what_was_skipped():
    workshop = built()
    sliced = replace(PARTS[-1], strategy=strategy_of_entity(an_entity()))
    lost = Workshop(*PARTS[:-1], sliced)
    lost.lake.tables = workshop.lake.tables

    assert rebuild(lost.services()).unskipped == ("top",)


def test_rebuilt_records_equal_those_that_were_lost():
    workshop = built()
    lost = without_store(workshop)

    report = rebuild(lost.services())

    assert report == RebuildReport(8, ("log", "users", "top"))
    before, after = workshop.records(), lost.records()
    for model in ("log", "users", "top"):
        assert known(after[model]) == known(before[model])


def test_before_the_rebuild_every_table_is_unrecorded_and_after_it_views_are_made_anew():
    lost = without_store(built())

    blocked = [(each.model, each.error.code) for each in lost.plan().plan.blocked]
    rebuild(lost.services())
    after = lost.plan().plan

    assert blocked == [("log", "unrecorded"), ("users", "unrecorded"), ("top", "unrecorded")]
    assert after.current == ("log", "users")
    assert [step.model for step in after.steps] == ["view", "top"]


def test_a_second_rebuild_changes_nothing():
    lost = without_store(built())
    rebuild(lost.services())
    before = lost.records()

    rebuild(lost.services())

    assert lost.records() == before


def test_a_log_whose_beginning_is_gone_tells_what_it_still_knows():
    workshop = built()
    workshop.lake.tables["/w/s/log"].gone.add(0)
    lost = without_store(workshop)

    rebuild(lost.services())

    assert lost.records()["log"].watermarks == workshop.records()["log"].watermarks
    assert lost.records()["log"].table_id == workshop.records()["log"].table_id


def test_a_log_that_cannot_be_read_hides_no_other():
    lost = without_store(built())
    lost.lake.tables["/w/s/users"].damaged.add(0)

    report = rebuild(lost.services())

    assert (report.models, report.untold) == (("log", "top"), ("users",))


def test_a_table_without_a_step_of_ours_is_named():
    lost = Workshop(*PARTS)
    lost.lake.land("/w/s/top")

    assert rebuild(lost.services()) == RebuildReport(0, (), ("top",))
    assert lost.plan().plan.blocked[0].error.code == "foreign-table"


def test_commits_of_others_are_no_steps_and_what_follows_the_last_is_tampered():
    workshop = built()
    workshop.lake.write("/w/s/top", "DELETE", None, "")
    lost = without_store(workshop)

    rebuild(lost.services())

    states = {step.model: step.reason.state for step in lost.plan().plan.steps}
    assert states["top"] is State.TAMPERED
