"""Watermarks set and reset by hand."""

import pytest

from fakes.builders import a_model, a_project, a_source
from fakes.log import FakeLog
from fakes.services import ME, a_shop, an_intent, built
from penstock.app.commands.state import (
    reset_watermarks,
    set_watermark,
    show_watermarks,
    watermarks_to_reset,
)
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import LeaseHeldError, UsageError
from penstock.core.facts import TableFacts
from penstock.core.steps.window import Watermark
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append

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
