"""Tables of another target as shallow clones, with records of this one."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.two_targets import two_targets
from fakes.workshop import DEAD
from penstock.app.commands.clone import clone
from penstock.app.execution.recover import recover
from penstock.app.read_requests import CloneRequest
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import UsageError
from penstock.core.model import Fingerprint
from penstock.core.names import InputKind, InputName
from penstock.core.ports.engine import QueryResult
from penstock.core.query import TemplateQuery, TemplateRows, mention
from penstock.core.records import Status
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.window import Watermark
from penstock.strategies.view import View

EVENTS = a_source("events")
USERS = a_model("users", "raw.events")
RECENT = a_model("recent", "users", strategy=View())
ORDERS = a_model("orders", "recent")
CHANGED = replace(USERS, fingerprint=Fingerprint("new", "new"))


@pytest.fixture
def targets():
    dev, prod = two_targets(EVENTS, USERS, RECENT, ORDERS)
    prod.run()
    return dev, prod


def cloned(dev, *select, **asked):
    dev.clock.advance(seconds=1)
    dev.lake.signature = dev.signature
    return clone(
        dev.services(), CloneRequest(".", source="prod", target="dev", select=select, **asked)
    )


def statements(dev):
    return [sql for _, word, sql in dev.lake.ran if word == "commit" and "SHALLOW" in sql]


def test_each_table_is_one_shallow_clone_of_the_recorded_version(targets):
    dev, prod = targets
    prod.has(CHANGED)
    prod.run("users")

    report = cloned(dev, "users")

    assert [(each.name, each.status) for each in report.results] == [("users", "success")]
    assert statements(dev) == [
        "CREATE TABLE delta.`/dev/s/users` SHALLOW CLONE delta.`/prod/s/users` VERSION AS OF 1"
    ]
    assert dev.lake.steps("/dev/s/users") == [dev.last_step("users").intent.step]


def test_afterwards_everything_is_current_and_the_plan_is_empty(targets):
    dev, _ = targets

    report = cloned(dev)

    assert [each.name for each in report.results] == ["users", "recent", "orders"]
    assert dev.states() == {"users": "current", "recent": "current", "orders": "current"}
    assert dev.plan().plan.is_empty
    assert dev.records()["orders"].deferred == ()


def test_a_clone_without_its_inputs_is_compared_with_those_of_the_other_target(targets):
    dev, prod = targets

    cloned(dev, "orders")

    assert [each.input for each in dev.records()["orders"].deferred] == ["recent", "users"]
    assert dev.states()["orders"] == "current"
    prod.has(CHANGED)
    prod.run("users")
    assert dev.states()["orders"] == "upstream_changed"


def test_what_has_drifted_there_has_drifted_here(targets):
    dev, prod = targets
    prod.has(CHANGED)
    dev.has(CHANGED)

    cloned(dev)

    assert prod.states()["users"] == "sql_changed"
    assert dev.states()["users"] == "sql_changed"


def test_a_reader_that_was_stale_there_is_stale_here(targets):
    dev, prod = targets
    prod.has(CHANGED)
    dev.has(CHANGED)
    prod.run("users")

    cloned(dev)

    assert prod.states()["orders"] == "upstream_changed"
    assert dev.states()["orders"] == "upstream_changed"
    assert dev.states()["users"] == "current"


def test_a_clone_is_cloned_again_without_a_flag(targets):
    dev, prod = targets
    cloned(dev)
    prod.has(CHANGED)
    dev.has(CHANGED)
    prod.run()

    report = cloned(dev)

    assert report.succeeded
    assert statements(dev)[-2].startswith("CREATE OR REPLACE TABLE delta.`/dev/s/users` SHALLOW")
    assert set(dev.states().values()) == {"current"}


def test_rows_that_were_built_here_are_replaced_only_by_force(targets):
    dev, _ = targets
    dev.run("users")

    refused = cloned(dev, "users")

    assert refused.results[0].error.code == "table-exists"
    assert refused.results[0].error.hint == "--force replaces them by the clone"
    assert refused.left == ("users",)
    assert cloned(dev, "users", force=True).succeeded


def test_a_clone_that_a_run_has_written_since_counts_as_built_here(targets):
    dev, _ = targets
    cloned(dev, "users")
    dev.run("users", full_refresh=True)

    assert cloned(dev, "users").results[0].error.code == "table-exists"


def test_a_reader_of_a_table_that_was_not_cloned_drifts(targets):
    dev, _ = targets
    dev.run("users")

    cloned(dev)

    assert dev.states()["orders"] == "upstream_changed"


def test_what_was_never_built_there_fails_and_the_others_are_cloned(targets):
    dev, prod = targets
    fresh = a_model("fresh", "raw.events")
    dev.has(fresh)
    prod.has(fresh)

    report = cloned(dev)

    assert {each.name: each.status for each in report.results} == {
        "users": "success",
        "recent": "success",
        "orders": "success",
        "fresh": "failed",
    }
    assert report["fresh"].error.code == "nothing-to-clone"
    assert report["fresh"].error.sentence == "fresh is never_run in target prod"


def test_a_table_of_others_is_never_replaced(targets):
    dev, _ = targets
    dev.lake.land("/dev/s/users", "id int")

    assert cloned(dev, "users", force=True).results[0].error.code == "foreign-table"


def test_watermarks_are_cloned_with_the_rows(targets):
    dev, prod = targets
    mark = Watermark("raw.events", "n", TypedValue("INT", "1"))
    prod.commit(prod.begin(DEAD, "users", uri="/prod/s/users", watermarks=(mark,)))
    recover(prod.services())

    cloned(dev, "users")

    assert dev.records()["users"].watermarks == (mark,)


def test_a_clone_that_crashed_after_its_commit_is_recorded_by_the_next_command(targets):
    dev, _ = targets

    def crash(point):
        if point == "after-commit":
            raise KeyboardInterrupt

    services = dev.services()
    services.fault = crash
    dev.lake.signature = dev.signature
    with pytest.raises(KeyboardInterrupt):
        clone(services, CloneRequest(".", source="prod", target="dev", select=("users",)))
    dev.store.leases.unlock("s.users")

    cloned(dev, "orders")

    assert dev.records()["users"].status is Status.SUCCESS
    assert dev.records()["users"].pins == {"raw.events": DeltaPin("id-1", 0)}
    assert dev.states()["users"] == "current"


def test_a_target_is_not_cloned_into_itself():
    with pytest.raises(UsageError) as caught:
        CloneRequest(".", source="prod", target="prod")

    assert caught.value.code == "option-conflict"


def test_rows_that_came_through_another_view_than_this_targets_have_drifted(targets):
    dev, _ = targets
    text = replace(RECENT.query, text="select 2", incremental="select 2", canonical="select 2")
    dev.has(replace(RECENT, query=text, fingerprint=Fingerprint("own", "own")))

    cloned(dev)

    assert dev.states() == {"users": "current", "recent": "current", "orders": "upstream_changed"}


def test_the_same_code_over_tables_of_another_name_is_current(targets):
    dev, _ = targets
    dev.has(replace(ORDERS, fingerprint=Fingerprint("named", "otherwise")))

    cloned(dev)

    assert dev.states()["orders"] == "current"
    assert dev.records()["orders"].fingerprint.sql == "named"


def test_a_view_is_cloned_with_the_rows_that_its_template_read_there(targets):
    dev, prod = targets
    rows, other = (TemplateRows((("n", "int"),), ((n,),)) for n in ("4", "5"))
    users = InputName(InputKind.MODEL, "users")
    asked = TemplateQuery("key", f"select max(n) as n from {mention(users)}", (users,), 1)
    dev.has(replace(RECENT, query=replace(RECENT.query, reads=(asked,))))
    dev.store.notes.keep_rows({"own": other})
    prod.store.notes.keep_rows({"key": rows, "own": rows})
    dev.lake.signature = dev.signature
    services = dev.services()
    services.engine.query = lambda *_: QueryResult(("n",), (("4",),), types=("int",))

    def load():
        return replace(dev.project, template_rows=dev.store.notes.template_rows())

    services.project, services.reload = load(), load
    report = clone(services, CloneRequest(".", source="prod", target="dev"))

    assert [each.status for each in report.results] == ["success"] * 3
    assert dev.store.notes.template_rows() == {"key": rows, "own": other}
