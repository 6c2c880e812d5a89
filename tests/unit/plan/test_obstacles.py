"""What must be there above a model before it can be planned."""

import datetime as dt
from dataclasses import replace

from fakes.builders import NOON, a_model, a_project, a_success
from fakes.silver_table import an_entity
from penstock.core.columns.schema import Schema
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.findings import Location
from penstock.core.model import Seed
from penstock.core.names import TableName
from penstock.core.partitions.ranges import WHOLE
from penstock.core.strategy import Layout, WindowSettings
from penstock.plan.obstacles import in_time_order, obstacle, other_partitioning
from penstock.plan.steps import Decided, Question
from penstock.plan.values import Now, Observed, Options, Reason, State, Step
from penstock.plan.work import SliceWork
from penstock.strategies.append import Append
from penstock.strategies.entities.strategy import strategy_of_entity
from penstock.strategies.table import Table

BASE, MART = a_model("base"), a_model("mart", "base")
CODES = Seed("codes", TableName("s", "codes"), Location("seeds/codes.csv"), "", "csv", "")


def found(*selected, model=MART, earlier=None, records=None):
    project = replace(a_project(BASE, model), seeds={"codes": CODES})
    question = Question(project, frozenset(selected), records or {}, Now(NOON, {}, {}), Options())
    error = obstacle(question, earlier or {}, model)
    return None if error is None else (error.code, error.hint)


def laid_out(*is_now, says=("date",), strategy=None, guarded=True):
    model = a_model(
        "events",
        strategy=strategy or Append(WindowSettings("ts", guarded=guarded)),
        layout=Layout(says),
    )
    error = other_partitioning(model, Observed(facts=TableFacts("id", 3, Schema(), is_now)))
    return None if error is None else (error.sentence, error.hint)


def test_a_table_of_a_function_keeps_its_partitions_until_it_is_made_anew():
    assert laid_out("date", says=("user", "date")) == (
        "'events' is partitioned by [date], the code says [user, date]",
        "run with full_refresh=True (--full-refresh) to rewrite the table",
    )
    assert laid_out("date", "user", says=("user", "date")) is not None
    assert laid_out("Date") is None


def test_a_table_that_each_step_replaces_takes_its_partitions_along():
    assert laid_out("user", strategy=Table()) is None
    assert laid_out("user", guarded=False) is None


def test_an_upstream_is_there_once_it_was_built_or_is_in_the_plan():
    assert found(records={"base": a_success(BASE)}) is None
    assert found(earlier={"base": Decided(todo=WHOLE)}) is None
    assert found("base", earlier={"base": Decided(is_current=True)}) is None


def test_an_upstream_that_was_never_built_and_is_not_in_the_plan_is_not_there():
    assert found() == ("upstream-not-built", "run: penstock run --select +mart")


def test_an_upstream_whose_first_version_is_to_come_is_not_there_though_it_is_selected():
    assert found("base", earlier={"base": Decided(is_unborn=True)}) == (
        "upstream-not-built",
        "run: penstock run --select +mart",
    )


def test_an_upstream_that_is_blocked_leaves_it_to_the_run_to_skip_its_reader():
    assert found("base", earlier={"base": Decided(error=TableError("gone", "…"))}) is None


def test_a_seed_that_was_never_loaded_is_named_with_its_command():
    reader = a_model("reader", "codes")

    assert found(model=reader) == ("seed-not-loaded", "run: penstock seed")


def early(decided, **options):
    """Give the refusal of an entity whose table was last run at noon."""
    entity = a_model("silver.x", strategy=strategy_of_entity(an_entity()))
    record = replace(a_success(entity), high_time=NOON)
    now, options = Now(NOON, {}, {}), Options(**options)
    question = Question(a_project(entity), frozenset(), {"silver.x": record}, now, options)
    error = in_time_order(question, entity, decided).error
    return error and (error.code, error.sentence)


def test_a_time_before_the_last_run_is_refused_where_there_is_something_to_run():
    step = Step("silver.x", Reason(State.SOURCE_CHANGED), initial=False)
    late = replace(step, work=SliceWork(NOON - dt.timedelta(microseconds=1)))
    runs = Decided(steps=(late,), todo=WHOLE)

    assert early(runs) == (
        "run-time-before-history",
        (
            "run timestamp 2024-03-01 11:59:59.999999 is before 2024-03-01 12:00:00, "
            "the last run of 'silver.x'"
        ),
    )
    assert early(runs, allow_backdated=True) is None
    assert early(runs, full_refresh=True) is None
    assert early(Decided(steps=(replace(late, work=SliceWork(NOON)),), todo=WHOLE)) is None
    assert early(Decided(is_current=True)) is None
