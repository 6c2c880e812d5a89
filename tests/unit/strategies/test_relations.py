from dataclasses import replace
from itertools import pairwise

from fakes.builders import NOON, a_model, a_project, a_source, reads
from penstock.core.columns.typed import TypedValue
from penstock.core.model import Model, PythonFunction
from penstock.core.ports.engine import FrameReaders
from penstock.core.query import RUN_TIMESTAMP, Query, mention, present
from penstock.core.steps.inputs import DeltaRead, FunctionRead, QueryRead, Relation
from penstock.core.steps.window import Bound, Window
from penstock.strategies.relations import (
    BoundQuery,
    StepReads,
    bind,
    bind_inputs,
    bind_query,
    bind_tables,
    frame_readers,
    input_tables,
)
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


def a_frame(name: str, *inputs: str, persist: bool | None = None) -> Model:
    """A model whose rows a function gives of its last input."""
    given = dict(zip(("events",), reversed(reads(*inputs)), strict=False))
    function = PythonFunction(a_frame, "def a_frame(): ...", given, persist=persist)
    return a_model(name, *inputs, strategy=View(), function=function)


def test_a_function_is_called_with_the_views_of_its_parameters() -> None:
    frame = a_frame("frame", "clean", "raw.events")
    call = FunctionRead(
        "frame", frame.where, frame.function, {"events": "in_0_events"}, pinned=(READ,)
    )

    found = bound(a_model("users", "frame"), frame, CLEAN)
    alone = bound(frame, CLEAN)

    assert [each.view for each in found.relations] == ["in_0_events", "in_1_clean", "in_2_frame"]
    assert found.relations[-1].read == call
    assert alone.relations[-1] == Relation(frame.input_name, "penstock_function", call)
    assert alone.sql == "SELECT * FROM `penstock_function`"


def test_what_a_step_reads_may_be_bound_without_its_query() -> None:
    text = f"select * from {mention(EVENTS, 'events')}"
    grown = f"{text}, {mention(BASE, 'base')}"
    model = replace(a_model("users"), query=Query(text, grown, "", (EVENTS, BASE)))
    project = a_project(model, a_source("events"))
    given = StepReads({EVENTS: READ, BASE: DeltaRead("/w/s/base", 1)}, NOON)

    found = [bind_inputs(project, model, given, incremental=each) for each in (False, True)]

    assert [(len(each.relations), each.sql) for each in found] == [(1, ""), (2, "")]
    assert bind_query(project, model.query, given.by_name, NOON) == BoundQuery(
        found[1].relations, "select * from `in_0_events` AS `events`"
    )


def test_a_table_is_readable_if_all_that_stands_below_it_is_read() -> None:
    names = reads("raw.events", "clean", "base", "over")
    over = a_model("over", "base", "clean", strategy=View())
    project = a_project(CLEAN, a_model("base"), over, a_source("events"))

    relations, views = bind_tables(project, names, {EVENTS: READ}, NOON, "of")

    assert list(views.values()) == ["of_0_events", "of_1_clean"]
    assert [each.view for each in relations] == ["of_0_events", "of_1_clean"]


def test_histories_leave_out_their_tombstones_where_the_text_asks_for_it() -> None:
    text = f"select * from {mention(BASE, 'b')} where {present(BASE)}"
    model = replace(a_model("users"), query=Query(text, text, "", (BASE,)))
    project = a_project(model)

    found = [
        bind(project, model, StepReads({BASE: read}, NOON), {}, incremental=False).sql
        for read in (DeltaRead("/b", 1), DeltaRead("/b", 1, tombstones="gone"))
    ]

    all_rows = "select * from `in_0_base` AS `b` where "
    assert found == [f"{all_rows}true", f"{all_rows}coalesce(`gone`, false) = false"]


def test_a_frame_that_several_models_name_is_kept_unless_its_function_says_otherwise() -> None:
    frames = [a_frame("f"), a_frame("never", persist=False), a_frame("always", persist=True)]
    frames.append(a_frame("below"))
    under = a_model("under", "below", strategy=View())
    one, two = a_model("one", "f", "never", "under"), a_model("two", "f", "never", "always")
    project = a_project(*frames, under, CLEAN, one, two, a_model("other", "clean"))

    found = frame_readers(project, ["one", "two", "other"])

    assert found == {
        "f": FrameReaders(frozenset({"one", "two"}), keeps=True),
        "never": FrameReaders(frozenset({"one", "two"}), keeps=False),
        "always": FrameReaders(frozenset({"two"}), keeps=True),
        "below": FrameReaders(frozenset({"one"}), keeps=False),
    }
