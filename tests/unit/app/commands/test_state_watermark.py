"""Watermarks set and reset by hand."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_project, a_source
from fakes.log import FakeLog
from fakes.services import ME, a_shop, an_intent, built
from fakes.silver_table import KEY, SEQ, an_entity
from penstock.app.commands.state import (
    reset_watermarks,
    set_watermark,
    show_watermarks,
    watermarks_to_reset,
)
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import EntityColumn, WatermarkEntry
from penstock.core.entities.slices import SliceId
from penstock.core.errors import LeaseHeldError, UsageError
from penstock.core.facts import TableFacts
from penstock.core.steps.step import Outcome
from penstock.core.steps.window import Watermark
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append
from penstock.strategies.entities.strategy import strategy_of_entity
from penstock.ui.commands.state import watermarks_text

LOG = a_model("log", "raw.events", strategy=Append(WindowSettings("ts")))
MARK = Watermark("raw.events", "ts", TypedValue("BIGINT", "7"))


def a_log_shop(**tables):
    return a_shop(a_project(LOG, a_source("events")), FakeLog(**tables))


def test_a_value_takes_the_type_of_the_watermark_before_it():
    services = a_log_shop()
    built(services, LOG, MARK)

    change = set_watermark(services, "log", "3")

    assert (change.input, change.column, change.value) == ("raw.events", "ts", "BIGINT 3")
    assert services.reading.records.models()["log"].watermarks[0].value == TypedValue("BIGINT", "3")


def test_the_first_value_takes_the_type_of_the_inputs_column():
    schema = Schema((Column("ts", "timestamp"),))
    services = a_log_shop(described={"/landing/events": TableFacts("id", 0, schema)})

    change = set_watermark(services, "log", "2024-03-01", column="ts")

    assert change.value == "TIMESTAMP 2024-03-01T00:00:00.000000Z"


def test_a_type_that_nobody_knows_must_be_said():
    with pytest.raises(UsageError) as caught:
        set_watermark(a_log_shop(), "log", "1")

    assert caught.value.render() == (
        "error: watermark-type: the type of ts is not known\n"
        "  hint: say it with --type, for example --type TIMESTAMP"
    )


def test_a_run_that_writes_the_target_is_not_disturbed():
    services = a_log_shop()
    services.writing.journal.begin(an_intent(LOG), {}, ME, None)

    with pytest.raises(LeaseHeldError):
        set_watermark(services, "log", "1", type_="INT")


def test_a_reset_names_what_it_takes_away():
    services = a_log_shop()
    built(services, LOG, MARK)

    marks = watermarks_to_reset(services, "s.log", "RAW.events.ts")
    reset_watermarks(services, "log", marks, "replay")

    assert marks == (MARK,)
    found = show_watermarks(services, "log", history=True)
    assert found.current == ()
    assert [(c.value, c.why) for c in found.history] == [(None, "replay"), ("BIGINT 7", "")]


def test_all_models_are_shown_without_a_name():
    services = a_log_shop()
    built(services, LOG, MARK)

    (only,) = show_watermarks(services).current

    assert (only.model, only.value, only.step) == ("log", "BIGINT 7", "step-log")


DAYS = EntityColumn("Day", type="date")
HUNDRED = Watermark("bronze", "SeqNr", TypedValue("INT", "100"))
LOOKBACK = WatermarkEntry("Day", expression="${minus_days(last_value, 7)}")


def an_entity_shop(*marks, **changes):
    """Wire a project with the entity `x`, whose watermark is SeqNr unless others are said."""
    entity = an_entity(**changes)
    strategy = strategy_of_entity(entity)
    model = a_model(entity.model, strategy=strategy, table=entity.table, entity=entity)
    services = a_shop(a_project(model))
    if marks:
        built(services, model, *marks)
    return services


def stored(services):
    return services.reading.records.models()["silver_aw.x"].watermarks


def test_a_reset_leaves_nothing_and_the_history_keeps_what_there_was():
    services = an_entity_shop(HUNDRED)

    reset_watermarks(services, "silver_aw.x", watermarks_to_reset(services, "silver_aw.x"))

    assert stored(services) == ()
    found = show_watermarks(services, "silver_aw.x", history=True)
    assert [each.value for each in found.history] == [None, "INT 100"]
    assert (found.current, found.lows) == ((), {})


def test_a_value_that_was_set_is_where_the_next_run_begins():
    day = Watermark("bronze", "Day", TypedValue("DATE", "2025-05-05"))
    services = an_entity_shop(day, columns=(KEY, DAYS), watermark=(LOOKBACK,))

    change = set_watermark(services, "silver_aw.x", "2024-01-01")

    assert (change.input, change.column, change.value) == ("bronze", "Day", "DATE 2024-01-01")
    assert show_watermarks(services, "silver_aw.x").lows == {change: "2023-12-25"}


def test_a_value_of_another_type_is_refused():
    services = an_entity_shop(HUNDRED)

    with pytest.raises(UsageError) as caught:
        set_watermark(services, "silver_aw.x", "abc")

    assert caught.value.code == "bad-value"
    assert stored(services) == (HUNDRED,)


def test_of_two_columns_one_must_be_named():
    services = an_entity_shop(HUNDRED, columns=(KEY, DAYS), watermark=(SEQ, LOOKBACK))

    with pytest.raises(UsageError) as caught:
        set_watermark(services, "silver_aw.x", "7")

    assert caught.value.render() == (
        "error: column-required: silver_aw.x has more than one watermark column\n"
        "  hint: add --column with one of: bronze.Day, bronze.SeqNr"
    )
    assert set_watermark(services, "silver_aw.x", "7", column="seqnr").value == "INT 7"
    changed = set_watermark(services, "silver_aw.x", "2024-01-01", column="day", type_="date")
    assert (changed.column, changed.value) == ("Day", "DATE 2024-01-01")


def test_a_column_without_a_type_in_the_files_has_that_of_the_table():
    services = an_entity_shop()
    facts = TableFacts("id", 0, Schema((Column("SeqNr", "bigint"),)))
    services.log.described = {services.project.uri_of(an_entity().table): facts}

    assert set_watermark(services, "silver_aw.x", "7").value == "BIGINT 7"


def test_a_watermark_tells_the_slice_that_left_it():
    services = an_entity_shop()
    model = services.project.models["silver_aw.x"]
    step = replace(an_intent(model, HUNDRED), slice=SliceId("2025-07-02.parquet", 1, 1, ""))
    services.writing.journal.begin(step, {}, ME, None)
    services.writing.journal.finish(step.step, Outcome(0, "id", 0))

    report = show_watermarks(services, "silver_aw.x")

    assert watermarks_text(report) == (
        "MODEL        COLUMN        VALUE    NEXT LOW  SET_AT               BY"
        "                                         WHY\n"
        "silver_aw.x  bronze.SeqNr  INT 100  100       2024-03-01 12:00:00  "
        "step step-silver_aw.x, 2025-07-02.parquet"
    )
