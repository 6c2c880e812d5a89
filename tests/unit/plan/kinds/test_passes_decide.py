"""What a plan does about one model of a session package."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project, a_source, a_success
from fakes.session_world import CORE, SessionWorld, at, package
from penstock.core.errors import TableError
from penstock.core.facts import Touched
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.ranges import WHOLE
from penstock.plan.kinds.passes import decide, link
from penstock.plan.steps import Agenda, Decided, Question, Scope
from penstock.plan.values import Now, Observed, Options, PassesNow, Step
from penstock.strategies.view import View

LIMITS, LIFECYCLE, _, SESSIONS, EVENTS = BASE = [
    "web_base_new_event_limits",
    "web_base_sessions_lifecycle_manifest",
    "web_base_quarantined_sessions",
    "web_base_sessions_this_run",
    "web_base_events_this_run",
]
SAID = package()
FIRST = tuple(SessionWorld(SAID, tracked=(*CORE, "m5")).plan(at("01-02")))
OUTER_RUNS = {"outer": Decided(todo=WHOLE)}
HELD = {"processed": frozenset((*CORE, "m5"))}


def the_project(said=SAID):
    tables = [
        a_model(each.name, *each.reads, tags=each.tags, strategy=View() if n == 0 else None)
        for n, each in enumerate(said.models)
    ]
    own = a_model("m5", EVENTS, "outer", tags=(said.tag,))
    found = a_project(*tables, own, a_model("outer"), a_source("events"))
    return replace(found, packages={"web": said})


def decided(  # what a decision looks at
    name, *built, said=SAID, limits=FIRST, earlier=None, seen=None, scope=None, options=None, **now
):
    """Decide about one model of which only those in `built` ran before; all are selected."""
    project = the_project(said)
    passes = PassesNow(said, limits, {"m5": (EVENTS,)}, **now)
    records = {each: a_success(project.models[each]) for each in built}
    targets = {each: Observed(True) for each in built} | (seen or {})
    world = Now(NOON, targets, {}, passes={"web": passes})
    question = Question(
        project,
        frozenset(project.models),
        records,
        world,
        options or Options(),
        scope or Scope(),
    )
    return decide(question, earlier or {}, project.models[name])


def shown(found):
    return [(step.key, step.initial, step.upstream, step.later_than) for step in found.steps]


def test_a_module_waits_for_the_base_and_its_stitching_for_the_mapping_and_itself():
    found = decided("web_sessions")

    assert shown(found) == [
        ("web_sessions", False, (*BASE,), ("web_user_mapping",)),
        ("web_sessions stitch", False, (*BASE, "web_user_mapping", "web_sessions"), ()),
    ]
    span = "2021-01-01 00:00:00 to 2021-01-02 00:00:00"
    assert [str(step.reason) for step in found.steps] == [span, f"stitch {span}"]
    assert found.todo == WHOLE


def test_a_model_of_the_user_also_waits_for_what_it_reads_outside_of_the_package():
    assert shown(decided("m5", earlier=OUTER_RUNS)) == [("m5", True, (*BASE, "outer"), ())]
    assert shown(decided("m5", "m5", "outer")) == [("m5", False, (*BASE,), ())]


def test_a_second_pass_comes_after_all_of_the_first_which_made_the_tables():
    head = replace(FIRST[0], kind="head")

    first, second = decided("m5", "outer", limits=(*FIRST, head), overwrites={"m5"}).steps

    assert (first.key, first.initial, first.later_than) == ("m5", True, ())
    assert (second.key, second.initial) == ("m5 head", False)
    assert second.upstream == tuple(f"{each} head" for each in BASE)
    assert {*second.later_than} == {*BASE, *CORE, "m5", "web_sessions stitch"}
    assert str(second.reason).startswith("head 2021-01-01")


@pytest.mark.parametrize(
    ("event_models", "expected"),
    [
        ({"events": Decided(todo=WHOLE)}, ("events",)),
        ({"events": Decided(hands_on=("raw",))}, ("raw",)),
        ({}, ()),
    ],
)
def test_the_first_step_of_a_pass_waits_for_the_models_that_make_its_events(event_models, expected):
    said = replace(SAID, events=InputName(InputKind.MODEL, "events"))

    assert shown(decided(LIMITS, said=said, earlier=event_models)) == [
        (LIMITS, False, expected, ())
    ]
    assert shown(decided(LIFECYCLE, said=said, earlier=event_models)) == [
        (LIFECYCLE, False, (LIMITS,), ())
    ]


def test_nothing_to_gain_is_current_and_a_view_is_never_said_to_be():
    assert decided("web_users", "web_users", limits=()) == Decided(is_current=True)
    assert decided(LIMITS, limits=()) == Decided()
    assert decided("outer") == Decided()


def test_a_sync_leaves_a_package_and_says_how_rows_that_others_changed_are_replaced():
    updated = Observed(True, foreign=(Touched(1, NOON, "UPDATE"),))

    found = decided("web_users", "web_users", seen={"web_users": updated}, scope=Scope(syncs=True))

    (note,) = found.notes
    assert found == Decided(notes=(note,))
    assert note.startswith("web_users: version 1 UPDATE at 2024-03-01 12:00:00 UTC; rows that")
    assert "penstock run --select web --full-refresh rebuilds all tables of web" in note


def test_what_keeps_a_package_from_running_keeps_all_its_models():
    refused = TableError("session-x", "no")

    assert decided("web_users", error=refused) == Decided(error=refused)
    assert decided("web_users", error=refused, scope=Scope(syncs=True)) == Decided()


def test_a_full_refresh_makes_only_those_anew_that_the_manifest_lets_go():
    refresh = Options(full_refresh=True)

    def initial(**now):
        found = decided("m5", "m5", "outer", options=refresh, **now)
        return [step.initial for step in found.steps]

    assert (initial(), initial(overwrites={"m5"})) == ([False], [True])
    stitched = decided("web_sessions", "web_sessions", overwrites={"web_sessions"})
    assert [step.initial for step in stitched.steps] == [True, False]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("web_users", "penstock sessions forget web web_users"),
        ("m5", "penstock sessions forget web m5"),
        (LIFECYCLE, "penstock run --select web --full-refresh"),
    ],
)
def test_a_table_that_is_gone_is_not_made_of_one_window_if_the_manifest_holds_its_rows(name, hint):
    gone = {name: Observed(False)}

    def asked(**now):
        return decided(name, name, "outer", seen=gone, **now)

    assert asked(**HELD).error.code == "session-table-missing"
    assert asked(**HELD).error.hint == f"restore it, or replay what it held: {hint}"
    assert asked(**HELD, overwrites={name}).error is None
    assert asked().error is None
    assert asked().steps[0].initial is (name == "m5")


def test_a_step_is_linked_to_what_the_pass_says_and_to_all_steps_of_models_beside_it():
    (step,) = decided("m5", earlier=OUTER_RUNS).steps
    (base,) = decided(EVENTS).steps
    (lifecycle,) = decided(LIFECYCLE).steps
    outer = Step("outer", step.reason, initial=True)
    agenda = Agenda(the_project(), {EVENTS: [base], LIFECYCLE: [lifecycle], "outer": [outer]})

    assert link(agenda, step).upstream == tuple(
        sorted((EVENTS, LIFECYCLE, "outer", LIMITS, SESSIONS, BASE[2]))
    )
