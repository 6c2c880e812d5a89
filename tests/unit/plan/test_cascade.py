import pytest

from fakes.builders import a_model, a_project
from fakes.check_inputs import a_check
from fakes.versioned_models import (
    DAY,
    MONTH,
    RUN_TIMESTAMP,
    WEEK,
    a_body,
    a_daily,
    ords,
    partition_code,
    reading,
    reading_itself,
    shown,
    the_project,
    weekly,
)
from penstock.core.checks.check import Checks
from penstock.core.model import Model
from penstock.core.partitions.calendar import DAY as A_DAY
from penstock.core.partitions.mapping import (
    ByGrain,
    Calendar,
    Computed,
    Everything,
    Floored,
    Lower,
    Moved,
    RangeMapping,
    Same,
    Trailing,
    Upper,
)
from penstock.core.partitions.partition import Grid
from penstock.core.partitions.ranges import Ranges
from penstock.core.project import Project
from penstock.plan.cascade import (
    cascade,
    is_decided_alone,
    parents_among,
    parents_of,
    read_through_views,
    reads_itself,
)
from penstock.plan.resolve import due_partitions, resolve
from penstock.strategies.checks.types import RowCount
from penstock.strategies.view import View

SINCE = "2024-11-25"


def follow(project: Project, **start: Ranges) -> dict[str, list[str]]:
    """Give what is run, as keys; every partition that is due may be."""

    def candidates(name: str):
        model = project.models[name]
        return resolve(model, RUN_TIMESTAMP.date(), due_partitions(model, RUN_TIMESTAMP))

    found = cascade(project, start, candidates, lambda model: not model.is_view)
    return {name: shown(project.models[name].grid, ranges) for name, ranges in found.items()}


def reader(mapping: RangeMapping, grid: Grid = DAY, above: str = "up") -> Model:
    return a_daily("down", a_body("v1", SINCE, reading(above, mapping)), grid=grid)


def upstream(grid: Grid = DAY) -> Model:
    return a_daily("up", a_body("v1", SINCE if grid == DAY else "2024-11-01"), grid=grid)


def test_what_runs_above_is_followed_through_every_model_below():
    assert follow(the_project(), daily=ords("2024-12-02", "2024-12-16")) == {
        "daily": ["2024-12-02..2024-12-16"],
        "weekly": ["2024-12-02", "2024-12-09", "2024-12-16"],
        "monthly": ["2024-12"],
    }


LOWER, UPPER = Lower(), Upper()
SIX_DAYS_BEFORE = Moved(LOWER, 0, -6 * A_DAY)
THE_TABLE_OF_6_3 = [
    (Computed("date", ((LOWER, Moved(LOWER, 0, A_DAY)),)), DAY, "2024-12-03", ["2024-12-03"]),
    (
        Computed("date", ((SIX_DAYS_BEFORE, Moved(LOWER, 0, A_DAY)),)),
        DAY,
        "2024-12-03",
        ["2024-12-03..2024-12-09"],
    ),
    (
        Computed("date", ((Floored(LOWER, "week"), Moved(Floored(LOWER, "week"), 0, 7 * A_DAY)),)),
        DAY,
        "2024-12-04",
        ["2024-12-02..2024-12-08"],
    ),
    (Computed("date", ((LOWER, UPPER),)), MONTH, "2024-12-03", ["2024-12"]),
    (
        Computed("date", ((None, Moved(LOWER, 0, A_DAY)),)),
        DAY,
        "2024-12-03",
        ["2024-12-03..2024-12-16"],
    ),
    (ByGrain(), DAY, "2024-12-03", ["2024-12-03"]),
    (Everything(), DAY, "2024-12-03", ["2024-11-25..2024-12-16"]),
]


@pytest.mark.parametrize(("mapping", "grid", "rerun", "expected"), THE_TABLE_OF_6_3)
def test_a_partition_runs_when_the_range_it_reads_was_made_again(mapping, grid, rerun, expected):
    project = a_project(upstream(), reader(mapping, grid))

    assert follow(project, up=ords(rerun))["down"] == expected


def test_a_week_that_only_its_monday_reads_marks_the_monday():
    project = the_project()

    assert follow(project, daily=ords("2024-12-03"))["weekly"] == ["2024-12-02"]


@pytest.mark.parametrize(
    ("mapping", "grid", "rerun", "expected"),
    [
        (Trailing(7), DAY, "2024-12-03", ["2024-12-03..2024-12-09"]),
        (Calendar("week"), DAY, "2024-12-04", ["2024-12-02..2024-12-08"]),
        (Calendar("week"), WEEK, "2024-12-04", ["2024-12-02"]),
    ],
)
def test_declared_mappings_are_followed(mapping, grid, rerun, expected):
    project = a_project(upstream(), reader(mapping, grid))

    assert follow(project, up=ords(rerun))["down"] == expected


def test_a_month_marks_its_days_that_are_due():
    project = a_project(upstream(MONTH), reader(ByGrain()))

    found = follow(project, up=ords("2024-12", grid=MONTH))

    assert found["down"] == ["2024-12-01..2024-12-16"]


def test_a_reader_of_everything_runs_whole_after_any_partition():
    project = a_project(upstream(), reader(Everything()))

    assert follow(project, up=ords("2024-12-03"))["down"] == ["2024-11-25..2024-12-16"]


def test_what_is_reached_on_two_ways_is_there_once():
    def below(name: str, *above: str) -> Model:
        return a_daily(name, a_body("v1", SINCE, *(reading(each, Same()) for each in above)))

    project = a_project(below("a"), below("b", "a"), below("c", "a"), below("d", "b", "c"))

    assert follow(project, a=ords("2024-12-03")) == {name: ["2024-12-03"] for name in "abcd"}


YESTERDAY = Computed("date", ((Moved(LOWER, 0, -A_DAY), LOWER),))


def test_a_model_that_reads_its_day_before_is_followed_to_the_end():
    model = a_daily("daily", a_body("v1", SINCE, reading_itself("daily", YESTERDAY)))

    assert reads_itself(model)
    assert follow(a_project(model), daily=ords("2024-12-03")) == {
        "daily": ["2024-12-03..2024-12-16"]
    }


def test_a_model_that_reads_itself_is_followed_from_what_runs_above_it():
    body = a_body("v1", SINCE, reading("up", Same()), reading_itself("daily", YESTERDAY))
    project = a_project(upstream(), a_daily("daily", body))

    assert follow(project, up=ords("2024-12-14"))["daily"] == ["2024-12-14..2024-12-16"]


def test_a_view_hands_on_what_it_reads_and_takes_no_part():
    view = a_model("staging", "up", strategy=View())
    body = a_body("v1", SINCE, reading("staging", Everything()), reading("up", Same()))
    project = a_project(upstream(), view, a_daily("down", body))

    assert parents_of(project, project.models["down"]) == ("staging", "up")
    assert follow(project, up=ords("2024-12-03")) == {"up": ["2024-12-03"], "down": ["2024-12-03"]}


def test_whole_tables_run_after_any_partition_and_mark_everything_below():
    table = a_model("table", "up")
    project = a_project(upstream(), table, reader(Same(), above="table"))

    assert follow(project, up=ords("2024-12-16")) == {
        "up": ["2024-12-16"],
        "table": ["*"],
        "down": ["2024-11-25..2024-12-16"],
    }


def test_a_whole_table_that_takes_no_part_ends_the_cascade():
    project = a_project(upstream(), a_model("table", "up"), reader(Same(), above="table"))

    found = cascade(project, {"up": ((0, 0),)}, lambda _: (), lambda _: False)

    assert found == {"up": ((0, 0),)}


def test_only_candidates_are_followed():
    project = the_project()
    some = {"weekly": partition_code(weekly())[1], "monthly": ()}

    start = {"daily": ords("2024-12-02"), "monthly": ()}
    found = cascade(project, start, lambda name: some.get(name, ()), lambda _: True)

    assert found == {"daily": ords("2024-12-02"), "weekly": ords("2024-12-02")}


def test_a_view_with_checks_is_decided_alone_unless_a_table_reads_it_through_other_views():
    checks = Checks((), (a_check(RowCount(1)),))
    project = a_project(
        a_model("top", strategy=View(), checks=checks),
        a_model("between", "top", strategy=View()),
        a_model("table", "between"),
        a_model("lone", "top", strategy=View(), checks=checks),
        a_model("declared", strategy=View(), checks=checks),
        a_model("after", depends_on=("declared",)),
        a_model("bare", strategy=View()),
    )

    assert [n for n, model in project.models.items() if is_decided_alone(project, model)] == [
        "lone"
    ]


def a_project_of_views() -> Project:
    return a_project(
        a_model("base"),
        a_model("one", "base", strategy=View()),
        a_model("two", "one", strategy=View()),
        a_model("mart", "two", "base"),
        a_model("report", "mart", "two"),
        a_model("declared", depends_on=("two", "seed")),
        a_model("both", "two", "one"),
    )


@pytest.mark.parametrize(
    ("among", "expected"),
    [
        ({"report"}, {"report": ("base", "mart", "one", "two")}),
        ({"report", "one"}, {"one": ("base",), "report": ("mart", "one", "two")}),
        ({"mart", "two"}, {"mart": ("base", "two"), "two": ("base", "one")}),
        ({"declared"}, {"declared": ("base", "one", "seed", "two")}),
        ({"both"}, {"both": ("base", "one", "two")}),
    ],
)
def test_some_models_come_after_what_is_behind_views_that_are_not_among_them(among, expected):
    assert parents_among(a_project_of_views(), among) == expected


def test_what_is_wanted_is_read_through_views_and_not_through_tables():
    assert read_through_views(a_project_of_views(), {"base", "mart"}) == {
        "base": frozenset(),
        "one": frozenset({"base"}),
        "two": frozenset({"base"}),
        "mart": frozenset({"base"}),
        "report": frozenset({"base", "mart"}),
        "declared": frozenset({"base"}),
        "both": frozenset({"base"}),
    }


def test_views_of_two_tables_are_read_together():
    project = a_project(
        a_model("a"),
        a_model("b"),
        a_model("of_a", "a", strategy=View()),
        a_model("of_b", "b", strategy=View()),
        a_model("of_none", strategy=View()),
        a_model("all", "of_a", "of_b", "of_none"),
    )

    assert read_through_views(project, {"a", "b"})["all"] == {"a", "b"}
