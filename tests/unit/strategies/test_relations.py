from dataclasses import replace
from itertools import pairwise

from fakes.builders import NOON, a_model, a_project, a_source, reads
from penstock.core.columns.typed import TypedValue
from penstock.core.model import Model
from penstock.core.query import RUN_TIMESTAMP, Query, mention
from penstock.core.steps.inputs import DeltaRead, QueryRead, Relation
from penstock.core.steps.window import Bound, Window
from penstock.strategies.relations import BoundQuery, StepReads, bind, input_tables
from penstock.strategies.view import View

EVENTS, BASE = reads("raw.events", "base")
READ = DeltaRead("/landing/events", 3)
WINDOW = Window("n", None, Bound(TypedValue("INT", "7"), inclusive=True))
CLEAN = a_model("clean", "raw.events", strategy=View())


def bound(model: Model, *others: Model, **more: object) -> BoundQuery:
    project = a_project(model, *others, a_source("events"))
    windows = more.get("windows", {})
    given = {EVENTS: READ, BASE: DeltaRead("/w/s/base", 1)}
    return bind(project, model, StepReads(given, NOON), windows, incremental="more" in more)  # type: ignore[arg-type]


def test_an_input_becomes_a_view_of_the_session() -> None:
    found = bound(a_model("users", "raw.events"))

    assert found == BoundQuery(
        (Relation(EVENTS, "in_0_events", READ),), "select * from `in_0_events` AS `events`"
    )


def test_a_window_is_put_on_the_input_and_the_query_reads_through_it() -> None:
    found = bound(a_model("users", "raw.events"), windows={"raw.events": WINDOW})

    through = QueryRead("SELECT * FROM `in_0_events`")
    assert found.relations == (
        Relation(EVENTS, "in_0_events", READ),
        Relation(EVENTS, "in_0_events_window", through, WINDOW),
    )
    assert found.sql == "select * from `in_0_events_window` AS `events`"


def test_a_view_model_is_read_as_its_query_over_what_it_reads() -> None:
    found = bound(a_model("users", "clean"), CLEAN)

    assert [(r.view, r.read) for r in found.relations] == [
        ("in_0_events", READ),
        ("in_1_clean", QueryRead("select * from `in_0_events` AS `events`")),
    ]
    assert found.sql == "select * from `in_1_clean` AS `clean`"


def test_an_input_that_a_view_reads_too_is_bound_once_and_stays_whole_inside_it() -> None:
    model = a_model("users", "clean", "raw.events")

    found = bound(model, CLEAN, windows={"raw.events": WINDOW})

    assert [r.view for r in found.relations] == [
        "in_0_events",
        "in_1_clean",
        "in_0_events_window",
    ]
    assert found.relations[1].read == QueryRead("select * from `in_0_events` AS `events`")
    assert found.sql == ("select * from `in_1_clean` AS `clean`, `in_0_events_window` AS `events`")


def test_a_view_over_views_is_bound_from_the_bottom_up() -> None:
    upper = a_model("upper", "clean", strategy=View())

    found = bound(a_model("users", "upper", "clean"), upper, CLEAN)

    assert [r.view for r in found.relations] == ["in_0_events", "in_1_clean", "in_2_upper"]


def test_a_chain_of_views_may_be_longer_than_a_stack_is_deep() -> None:
    names = [f"v{number:05}" for number in range(3_000)]
    chain = [a_model(name, below, strategy=View()) for below, name in pairwise(["clean", *names])]

    found = bound(a_model("users", names[-1]), CLEAN, *chain)

    assert [each.input.name for each in found.relations[1:]] == ["clean", *names]


def test_the_incremental_text_is_bound_only_when_the_step_builds_on_the_table() -> None:
    text = f"select * from {mention(BASE, 'base')}"
    query = Query(text, f"{text} where {RUN_TIMESTAMP} > at", "", (BASE,))
    model = replace(a_model("users"), query=query)

    assert bound(model).sql == "select * from `in_0_base` AS `base`"
    assert bound(model, more=True).sql == (
        "select * from `in_0_base` AS `base` where TIMESTAMP '2024-03-01T12:00:00.000000Z' > at"
    )


def test_leaves_name_views_and_what_stands_below_them_once() -> None:
    model = a_model("users", "clean", "raw.events", "base")
    project = a_project(model, CLEAN, a_model("base"), a_source("events"))

    assert [str(name) for name in input_tables(project, model)] == ["clean", "raw.events", "base"]
