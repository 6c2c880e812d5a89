"""The steps of a pass, and what becomes of them when one fails."""

import pytest

from fakes.session_world import CORE, SessionWorld, at, package
from penstock.core.records import Status
from penstock.core.sessions.manifest import PassKind
from penstock.plan.kinds.passes import pass_steps

BASE = [
    "web_base_new_event_limits",
    "web_base_sessions_lifecycle_manifest",
    "web_base_quarantined_sessions",
    "web_base_sessions_this_run",
    "web_base_events_this_run",
]
EVENTS = BASE[-1]


def first_pass(tracked=CORE, **keys):
    said = package(**keys)
    return said, SessionWorld(said, tracked=tracked).plan(at("01-02"))[0]


def steps(readers=(), selected=None, **keys):
    readers = dict(readers)
    said, planned = first_pass((*package(**keys).modules, *readers), **keys)
    return pass_steps(said, planned, readers, selected)


def ran(made, *failing):
    """Give what becomes of each step when some fail."""
    ended = {}
    for step in made:
        if any(ended.get(name, Status.SUCCESS) is not Status.SUCCESS for name in step.needs):
            ended[step.name] = Status.SKIPPED
        else:
            ended[step.name] = Status.FAILED if step.name in failing else Status.SUCCESS
    return ended


def test_base_tables_come_first_then_modules_models_and_what_is_stitched():
    made = steps({"m6": ["m5"], "m5": [EVENTS]})

    assert [step.name for step in made] == [*BASE, *CORE, "m5", "m6", "web_stitch_sessions"]


def test_the_order_holds_what_each_step_waits_for():
    made = steps({"m5": [EVENTS]}, page_view_stitching=True)

    for number, step in enumerate(made):
        assert not {*step.needs, *step.after}.intersection(each.name for each in made[number:])


def test_a_selection_makes_the_base_tables_and_itself():
    made = steps({"m5": [EVENTS]}, selected=["m5"])

    assert [step.name for step in made] == [*BASE, "m5", "web_stitch_sessions"]
    assert steps(selected=["nobody"]) == ()


def test_a_failed_module_fails_those_made_of_it_and_not_its_siblings():
    made = steps({"m5": [EVENTS]})
    ended = ran(made, "web_sessions")

    assert ended["web_users"] is Status.SKIPPED
    assert ended["web_page_views"] is ended["m5"] is Status.SUCCESS
    assert ended["web_stitch_sessions"] is Status.SKIPPED
    assert {*ran(made).values()} == {Status.SUCCESS}


@pytest.mark.parametrize("failing", BASE)
def test_a_failed_base_step_ends_the_pass(failing):
    ended = ran(steps({"m5": [EVENTS]}), failing)

    assert {ended[name] for name in (*CORE, "m5", "web_stitch_sessions")} == {Status.SKIPPED}


def test_a_failed_mapping_does_not_keep_page_views_from_being_made():
    ended = ran(steps(page_view_stitching=True), "web_user_mapping")

    assert ended["web_page_views"] is ended["web_sessions"] is Status.SUCCESS
    assert ended["web_stitch_page_views"] is Status.SKIPPED


def test_without_a_mapping_nothing_is_stitched():
    assert [step.name for step in steps(session_stitching=False)][-1] == "web_users"


def test_a_model_that_may_reach_the_head_is_conditional_there():
    told = SessionWorld(package(backfill="per_model"), [at("01-01 10:00"), at("01-02 10:00")])
    told.run("01-02")
    told.run("01-03", fails=["web_sessions", "web_users"])
    told.add("01-03 12:00")
    head = next(each for each in told.plan(at("01-04")) if each.kind is PassKind.HEAD)

    conditional = [s.name for s in pass_steps(told.package, head, {}) if s.conditional]
    assert conditional == ["web_sessions", "web_users"]
