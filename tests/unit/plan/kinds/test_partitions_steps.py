import pytest

from fakes.builders import a_model, a_project
from fakes.versioned_models import (
    DAY,
    MONDAYS,
    a_body,
    a_daily,
    daily,
    monthly,
    ords,
    reading,
    reading_itself,
    shown,
    the_project,
    verdict_of,
    weekly,
)
from penstock.core.model import Model
from penstock.core.partitions.mapping import Computed, Lower, Same, Trailing
from penstock.core.partitions.ranges import Ranges, merged, of_numbers, union
from penstock.plan.kinds.partitions import partition_steps
from penstock.plan.planner import link_all
from penstock.plan.steps import Wanted, cap
from penstock.plan.values import Reason, State, Step
from penstock.plan.work import PartitionsWork, TableWork
from penstock.strategies.view import View

FORTY = ords("2024-11-07", "2024-12-16")


def model_of(**body: object) -> Model:
    return a_daily("stats", a_body("v1", "2024-11-01", **body))


def all_of(ranges: Ranges) -> Wanted:
    return Wanted(ranges, ranges, ranges)


def cut(model: Model, wanted: Wanted, batch: int | None = None, **states: Ranges) -> list[str]:
    steps = partition_steps(model, verdict_of(model, **states), wanted, "sync", batch)
    return [written for step in steps for written in shown(model.grid, step.partitions)]


@pytest.mark.parametrize(
    ("is_range", "batch", "expected"),
    [
        (False, None, ["2024-11-07..2024-12-07", "2024-12-08..2024-12-16"]),
        (True, None, ["2024-11-07..2024-12-16"]),
        (
            True,
            10,
            [
                "2024-11-07..2024-11-16",
                "2024-11-17..2024-11-26",
                "2024-11-27..2024-12-06",
                "2024-12-07..2024-12-16",
            ],
        ),
    ],
)
def test_forty_days_are_cut_by_what_the_sql_takes(is_range, batch, expected):
    assert cut(model_of(is_range=is_range), all_of(FORTY), batch) == expected


def test_the_models_own_batch_size_counts_unless_the_command_gives_one():
    model = a_daily("stats", a_body("v1", "2024-11-01", is_range=True), batch_size=30)

    assert cut(model, all_of(FORTY)) == ["2024-11-07..2024-12-06", "2024-12-07..2024-12-16"]
    assert cut(model, all_of(FORTY), 40) == ["2024-11-07..2024-12-16"]


def test_days_with_a_gap_are_two_steps():
    days = (*ords("2024-12-01", "2024-12-03"), *ords("2024-12-05", "2024-12-06"))

    assert cut(model_of(is_range=True), all_of(days)) == [
        "2024-12-01..2024-12-03",
        "2024-12-05..2024-12-06",
    ]


MONDAYS_OF_2024 = of_numbers(range(DAY.parse("2024-01-01"), DAY.parse("2024-12-17"), 7))


@pytest.mark.parametrize(
    ("is_range", "batch", "expected"),
    [(False, None, [31, 20]), (True, None, [31, 20]), (True, 10, [10, 10, 10, 10, 10, 1])],
)
def test_many_days_with_gaps_share_few_steps(is_range, batch, expected):
    model = a_daily("stats", a_body("v1", "2024-01-01", is_range=is_range))
    steps = list(partition_steps(model, verdict_of(model), all_of(MONDAYS_OF_2024), "sync", batch))

    assert [step.count for step in steps] == expected
    assert merged(piece for step in steps for piece in step.partitions) == MONDAYS_OF_2024


def test_a_few_days_with_gaps_are_steps_of_their_own_that_fail_alone():
    eight = MONDAYS_OF_2024[-8:]

    model = a_daily("stats", a_body("v1", "2024-01-01"))
    steps = partition_steps(model, verdict_of(model), all_of(eight), "sync", None)

    assert [step.partitions for step in steps] == [(piece,) for piece in eight]


def test_weeks_with_a_gap_are_filled_up_to_the_size_of_a_step():
    workdays = tuple((low, low + 4) for low, _ in MONDAYS_OF_2024[-10:])

    model = a_daily("stats", a_body("v1", "2024-01-01"))
    steps = list(partition_steps(model, verdict_of(model), all_of(workdays), "sync", None))

    assert [step.count for step in steps] == [31, 15]
    assert steps[0].partitions[-1] == (workdays[6][0], workdays[6][0])


def test_no_step_holds_partitions_of_two_versions():
    found = partition_steps(
        daily(), verdict_of(daily()), all_of(ords("2024-11-27", "2024-12-03")), "sync", None
    )

    assert [(shown(DAY, step.partitions), step.version) for step in found] == [
        (["2024-11-27..2024-11-28"], 1),
        (["2024-11-29..2024-12-01"], 2),
        (["2024-12-02..2024-12-03"], 3),
    ]


def test_a_step_says_everything_of_its_partitions():
    days = ords("2024-12-02", "2024-12-16")

    (step,) = partition_steps(
        daily(), verdict_of(daily(), sql_changed=days), all_of(days), "sync", None
    )

    assert step == Step(
        model="daily",
        reason=Reason(State.SQL_CHANGED),
        initial=False,
        work=PartitionsWork(days, DAY, version=3),
        trigger="sync",
    )
    assert (step.key, step.count) == ("daily 20059", 15)


def test_a_step_of_several_states_has_the_first_and_names_the_others():
    days = ords("2024-12-02", "2024-12-05")
    model = model_of()
    states = {
        "source_changed": ords("2024-12-02"),
        "failed": ords("2024-12-03"),
        "tampered": ords("2024-12-04"),
    }

    (step,) = partition_steps(model, verdict_of(model, **states), all_of(days), "sync", None)

    assert step.reason == Reason(State.FAILED, "", (State.TAMPERED, State.SOURCE_CHANGED))


def test_what_was_asked_for_and_is_current_says_so_and_is_no_drift():
    day = ords("2024-12-02")

    (step,) = partition_steps(model_of(), verdict_of(model_of()), all_of(day), "backfill", None)

    assert (step.reason, step.trigger) == (
        Reason(State.CURRENT, "asked for", drift=False),
        "backfill",
    )


def test_what_follows_from_other_steps_stands_apart_and_says_what_it_waits_for():
    own, below = ords("2024-12-02", "2024-12-03"), ords("2024-12-04", "2024-12-09")
    drifted = ords("2024-12-02", "2024-12-05")
    model = model_of(is_range=True)
    verdict = verdict_of(model, sql_changed=drifted)
    wanted = Wanted(union(own, below), own, drifted, ("above",))

    found = [
        (*shown(DAY, step.partitions), step.trigger, str(step.reason), step.reason.pending)
        for step in partition_steps(model, verdict, wanted, "sync", None)
    ]

    assert found == [
        ("2024-12-02..2024-12-03", "sync", "sql_changed", False),
        ("2024-12-04..2024-12-05", "cascade", "sql_changed", False),
        ("2024-12-06..2024-12-09", "cascade", "upstream_changed: after above", True),
    ]


def a_chain() -> Model:
    before = Computed("date", ((None, Lower()),))
    return a_daily("chain", a_body("v1", "2024-12-01", reading_itself("chain", before)))


def test_a_model_that_reads_itself_goes_one_by_one_whatever_the_batch_size():
    days = ords("2024-12-04", "2024-12-06")

    assert cut(a_chain(), all_of(days), 31) == ["2024-12-04", "2024-12-05", "2024-12-06"]


def a_step(model: Model, ranges: Ranges = (), upstream=(), version=1) -> Step:
    work = PartitionsWork(ranges, model.grid, version) if ranges else TableWork()
    return Step(model.name, Reason(State.SQL_CHANGED), initial=False, work=work, upstream=upstream)


def the_steps_of_DC1() -> list[Step]:
    return [
        a_step(daily(), ords("2024-12-02", "2024-12-16"), version=3),
        *(a_step(weekly(), ords(day)) for day in ("2024-12-02", "2024-12-09", "2024-12-16")),
        a_step(monthly(), ords("2024-12", grid=monthly().grid)),
    ]


def test_a_limit_keeps_the_first_partitions_and_counts_the_others():
    steps, left = cap(the_steps_of_DC1(), 10)

    assert steps == [a_step(daily(), ords("2024-12-02", "2024-12-11"), version=3)]
    assert left == 9


@pytest.mark.parametrize(
    ("most", "models", "left"),
    [
        (15, ["daily"], 4),
        (16, ["daily", "weekly"], 3),
        (19, ["daily", "weekly", "weekly", "weekly", "monthly"], 0),
        (99, ["daily", "weekly", "weekly", "weekly", "monthly"], 0),
    ],
)
def test_what_is_below_stays_only_when_all_above_does(most, models, left):
    steps, remaining = cap(the_steps_of_DC1(), most)

    assert ([step.model for step in steps], remaining) == (models, left)


def waits(project, steps: list[Step], *parallel: str) -> list[list[str]]:
    """Give for each step the ones it comes after, by their place among all."""
    keys = {step.key: str(place) for place, step in enumerate(steps)}
    found = link_all(project, steps, frozenset(parallel))
    return [sorted(keys.get(key, key) for key in step.upstream) for step in found]


def test_a_step_waits_for_those_that_make_what_it_reads_and_for_the_one_before_it():
    assert waits(the_project(), the_steps_of_DC1()) == [
        [],
        ["0"],
        ["0", "1"],
        ["0", "2"],
        ["1", "2", "3"],
    ]


def test_steps_of_one_model_may_run_at_once_after_its_first():
    steps = [
        a_step(daily(), ords(day), version=3) for day in ("2024-12-03", "2024-12-04", "2024-12-05")
    ]

    assert waits(the_project(), steps, "daily") == [[], ["0"], ["0"]]
    assert waits(the_project(), steps) == [[], ["0"], ["1"]]
    for parallel, together in ((["daily"], True), ([], False)):
        found = link_all(the_project(), steps, frozenset(parallel))
        assert {step.work.at_once for step in found} == {together}
    (alone,) = link_all(the_project(), steps[:1], frozenset(["daily"]))
    assert not alone.work.at_once


def test_what_reads_nothing_of_a_step_does_not_wait_for_it():
    reader = a_daily("down", a_body("v1", "2024-11-25", reading("up", Trailing(2))))
    up = a_daily("up", a_body("v1", "2024-11-25"))
    steps = [
        a_step(up, ords("2024-12-02")),
        a_step(up, ords("2024-12-04")),
        a_step(reader, ords("2024-12-05")),
    ]

    assert waits(a_project(up, reader), steps) == [[], ["0"], ["1"]]


def test_each_step_of_a_model_that_reads_itself_waits_for_the_one_before():
    steps = [a_step(a_chain(), ords(f"2024-12-{day:02}")) for day in range(4, 17)]

    assert waits(a_project(a_chain()), steps) == [[], *([str(place)] for place in range(12))]


def test_a_whole_table_waits_for_all_steps_above_and_keeps_what_is_not_in_the_plan():
    table = a_model("table", "daily", "broken")
    days = [a_step(daily(), ords(day), version=3) for day in ("2024-12-03", "2024-12-04")]
    steps = [*days, a_step(table, upstream=("broken", "daily"))]

    assert waits(the_project(table), steps, "daily") == [[], ["0"], ["0", "1", "broken"]]


def test_partitions_wait_for_a_whole_table_or_a_view_that_they_read():
    table, view = a_model("table"), a_model("view", strategy=View())
    body = a_body("v1", "2024-11-25", reading("table", Same()), reading("view", MONDAYS))
    model = a_daily("down", body)
    steps = [a_step(table), a_step(view), a_step(model, ords("2024-12-02"))]

    assert waits(a_project(table, view, model), steps) == [[], [], ["0", "1"]]
