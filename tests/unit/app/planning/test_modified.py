"""`state:modified` and `state:new`: code compared with the records of a target."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.two_targets import two_targets
from penstock.core.errors import SelectorError, StateError, UsageError
from penstock.core.model import Fingerprint

EVENTS = a_source("events")
USERS = a_model("users", "raw.events")
ORDERS = a_model("orders", "users")
REPORT = a_model("report", "orders")
CHANGED = replace(ORDERS, fingerprint=Fingerprint("new", "new"))
COMMENTED = replace(ORDERS, fingerprint=Fingerprint("new text", "canonical-orders"))
REFORMED = replace(ORDERS, fingerprint=Fingerprint("sql-orders", "canonical-orders", "other"))
RELAID = replace(ORDERS, fingerprint=Fingerprint("sql-orders", "canonical-orders", layout="x"))
NEW = a_model("fresh", "users")


@pytest.fixture
def dev():
    dev, prod = two_targets(EVENTS, USERS, ORDERS, REPORT)
    prod.run()
    dev.others["prod"] = prod
    return dev


def has(dev, *models):
    dev.has(*models)
    dev.others["prod"].has(*models)


@pytest.mark.parametrize("changed", [CHANGED, REFORMED, RELAID])
def test_a_model_with_another_code_settings_or_layout_is_modified(dev, changed):
    has(dev, changed)

    assert dev.plan("state:modified", state="prod").names == ("orders",)


def test_a_model_whose_text_alone_changed_is_not_modified(dev):
    has(dev, COMMENTED)

    with pytest.raises(SelectorError) as caught:
        dev.plan("state:modified", state="prod")

    assert caught.value.sentence == "no model is modified compared with target prod"
    assert caught.value.code == "no-match"


def test_operators_add_what_reads_a_modified_model_and_what_it_reads(dev):
    has(dev, CHANGED)

    assert dev.plan("state:modified+", state="prod").names == ("orders", "report")
    assert dev.plan("+state:modified", state="prod").names == ("users", "orders")
    assert dev.plan("state:modified+,report", state="prod").names == ("report",)


def test_a_new_model_is_modified_too(dev):
    has(dev, CHANGED, NEW)

    assert dev.plan("state:new", state="prod").names == ("fresh",)
    assert dev.plan("state:modified", state="prod").names == ("fresh", "orders")


def test_models_that_are_not_modified_can_be_excluded(dev):
    has(dev, CHANGED)

    assert dev.plan(exclude=("state:modified",), state="prod").names == ("users", "report")


def test_the_target_to_defer_to_is_the_one_to_compare_with(dev):
    has(dev, CHANGED)

    planned = dev.plan("state:modified+", defer_to="prod")

    assert planned.names == ("orders", "report")
    assert planned.said == ("read from target prod: users v0",)


def test_the_changed_models_are_built_here_and_everything_else_is_read_there(dev):
    has(dev, CHANGED)

    dev.run("state:modified+", defer_to="prod", state="prod")

    assert sorted(dev.lake.tables) == [
        "/dev/s/orders",
        "/dev/s/report",
        "/landing/events",
        "/prod/s/orders",
        "/prod/s/report",
        "/prod/s/users",
    ]
    assert [each.input for each in dev.last_step("orders").intent.deferred] == ["users"]
    assert dev.last_step("report").intent.deferred == ()


def test_code_is_compared_as_the_other_target_renders_it(dev):
    of_prod = replace(ORDERS, fingerprint=Fingerprint("of prod", "of prod"))
    dev.others["prod"].has(of_prod)
    dev.others["prod"].run("orders")

    with pytest.raises(SelectorError):
        dev.plan("state:modified", state="prod")


def test_without_a_target_to_compare_with_the_flag_is_named(dev):
    with pytest.raises(UsageError) as caught:
        dev.plan("state:modified")

    assert caught.value.sentence == "state:modified and state:new need a target to compare with"
    assert caught.value.hint.startswith("add --state TARGET")


def test_a_target_without_a_state_and_one_that_is_unknown_are_errors(dev):
    dev.others["prod"].has_state = False

    with pytest.raises(StateError) as caught:
        dev.plan("state:new", state="prod")
    assert caught.value.sentence == "--state: target 'prod' has no state"

    with pytest.raises(UsageError) as unknown:
        dev.plan("state:new", state="prd")
    assert unknown.value.code == "unknown-target"


def test_a_misspelt_state_is_told_the_nearest_one(dev):
    dev.run()

    with pytest.raises(SelectorError) as caught:
        dev.plan("state:modifed", state="prod")

    assert caught.value.hint == "did you mean 'modified'?"
