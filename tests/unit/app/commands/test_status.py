"""`status`: the state of every model from records, code, inputs and logs."""

import datetime as dt
from dataclasses import replace

from fakes.builders import NOON, a_model, a_project, a_source
from fakes.log import FakeLog
from fakes.services import a_shop, built
from penstock.app.commands.status import status
from penstock.app.request import StatusRequest
from penstock.core.columns.schema import Schema
from penstock.core.facts import LogCommit, TableFacts
from penstock.core.model import Fingerprint
from penstock.core.steps.inputs import DeltaPin
from penstock.core.strategy import WindowSettings
from penstock.plan.values import State
from penstock.strategies.append import Append

OURS = LogCommit(0, NOON, "CREATE TABLE AS SELECT", changes_data=True, step="step-users")


def described(name, version):
    return TableFacts(f"id-{name}", version, Schema())


def look(services, *select, **asked):
    return status(services, StatusRequest(select=select, **asked))


def states(report):
    return {
        m.model: [(str(s.state), s.drifted, s.pending) for s in m.states] for m in report.models
    }


def test_a_built_model_is_current():
    users = a_model("users")
    services = a_shop(a_project(users), FakeLog({"/w/s/users": (OURS,)}))
    built(services, users)

    assert states(look(services)) == {"users": []}


def test_models_above_a_drifted_one_are_pending():
    users, daily, report = a_model("users"), a_model("daily", "users"), a_model("report", "daily")
    tables = {f"/w/s/{m}": (replace(OURS, step=f"step-{m}"),) for m in ("users", "daily", "report")}
    services = a_shop(a_project(users, daily, report), FakeLog(tables))
    built(services, replace(users, fingerprint=Fingerprint("old", "old")))
    built(services, daily, users=DeltaPin("id-users", 0))
    built(services, report, daily=DeltaPin("id-daily", 0))

    found = look(services)

    assert states(found) == {
        "users": [("sql_changed", True, False)],
        "daily": [("upstream_changed", False, True)],
        "report": [("upstream_changed", False, True)],
    }
    assert [m.states[0].because for m in found.models] == [(), ("users",), ("daily",)]
    assert (found.drifted, found.pending) == (1, 2)


def test_what_is_above_the_selection_is_looked_at_but_not_reported():
    users, daily = a_model("users"), a_model("daily", "users")
    services = a_shop(
        a_project(users, daily), FakeLog({"/w/s/daily": (OURS,), "/w/s/users": (OURS,)})
    )
    built(services, replace(users, fingerprint=Fingerprint("old", "old")))
    built(services, daily, users=DeltaPin("id-users", 0))

    assert states(look(services, "daily")) == {"daily": [("upstream_changed", False, True)]}


def test_a_foreign_change_shows_version_time_and_operation():
    users = a_model("users")
    theirs = LogCommit(1, NOON + dt.timedelta(hours=1), "UPDATE", changes_data=True, user="bob")
    log = FakeLog({"/w/s/users": (OURS, theirs)}, {"/w/s/users": described("users", 1)})
    services = a_shop(a_project(users), log)
    built(services, users)

    (found,) = look(services).models[0].states

    assert (found.state, found.because) == (
        State.TAMPERED,
        ("version 1 UPDATE by bob at 2024-03-01 13:00:00 UTC",),
    )


def test_new_input_of_a_windowed_model_is_no_drift():
    log = a_model("log", "raw.events", strategy=Append(WindowSettings("ts")))
    tables = FakeLog({"/w/s/log": (OURS,)}, {"/landing/events": described("events", 4)})
    services = a_shop(a_project(log, a_source("events")), tables)
    built(services, log, raw__events=DeltaPin("id-events", 3))

    assert states(look(services)) == {"log": [("source_changed", False, False)]}


def test_only_the_states_that_are_asked_for_are_reported():
    users, gone = a_model("users"), a_model("gone")
    services = a_shop(a_project(users, gone), FakeLog({"/w/s/users": (OURS,)}))
    built(services, users)
    built(services, gone)

    assert states(look(services, states=("missing, tampered",))) == {
        "users": [],
        "gone": [("missing", True, False)],
    }


def test_a_cosmetic_change_is_told_and_is_no_drift():
    users = a_model("users")
    services = a_shop(a_project(users), FakeLog({"/w/s/users": (OURS,)}))
    built(services, replace(users, fingerprint=replace(users.fingerprint, sql="older")))

    (found,) = look(services).models

    assert (found.states, found.cosmetic) == ((), 1)


def test_no_models_are_no_drift():
    assert look(a_shop(a_project())).models == ()
