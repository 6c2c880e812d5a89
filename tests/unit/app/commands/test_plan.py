"""`plan`: the report of a run that did nothing."""

from dataclasses import replace

from fakes.builders import NOON, a_model, a_project
from fakes.check_inputs import a_check
from fakes.log import FakeLog
from fakes.services import a_shop, built
from penstock.app.commands.plan import SqlChange, preview
from penstock.app.request import RunRequest
from penstock.core.checks.check import Checks, OnFailure
from penstock.core.facts import LogCommit
from penstock.core.model import Fingerprint
from penstock.strategies.checks.types import RowCount

FOREIGN = LogCommit(0, NOON, "WRITE", changes_data=True)
OURS = replace(FOREIGN, step="step-users")


def test_models_are_reported_upstreams_first_with_what_would_become_of_them():
    daily, users, other = a_model("daily", "users"), a_model("users"), a_model("other")
    services = a_shop(a_project(daily, other, users), FakeLog({"/w/s/users": (FOREIGN,)}))

    found = preview(services, RunRequest())

    assert [(r.name, r.status, r.reason) for r in found.report.results] == [
        ("other", "planned", "never_run"),
        ("users", "failed", "foreign-table"),
        ("daily", "skipped", "upstream users failed"),
    ]
    assert (found.report.dry_run, found.report.run_id, found.report.succeeded) == (True, "", False)


def test_changed_sql_stands_beside_what_was_executed():
    users = a_model("users")
    services = a_shop(a_project(users), FakeLog({"/w/s/users": (OURS,)}))
    built(services, replace(users, fingerprint=Fingerprint("old", "old")), text="select 0")

    found = preview(services, RunRequest())

    assert found.changes == (SqlChange("users", "select 0", "select * from (select 1)"),)


def test_changed_sql_of_the_same_meaning_is_called_cosmetic():
    users = a_model("users")
    services = a_shop(a_project(users), FakeLog())
    older = replace(users, fingerprint=replace(users.fingerprint, sql="old"))
    built(services, older, text="SELECT * FROM (SELECT 1)")

    (change,) = preview(services, RunRequest()).changes

    assert change.cosmetic


def test_sql_that_nobody_kept_gives_no_comparison():
    users = a_model("users")
    services = a_shop(a_project(users), FakeLog({"/w/s/users": (OURS,)}))
    built(services, replace(users, fingerprint=Fingerprint("old", "old")))

    assert preview(services, RunRequest()).changes == ()


def test_a_first_build_is_not_said_to_be_rolled_back():
    checks = Checks((), (a_check(RowCount(1)),), OnFailure.ROLLBACK)
    services = a_shop(a_project(a_model("users", checks=checks)))

    found = preview(services, RunRequest())

    assert str(found.checks["users"]) == "checks: 1 after (1 observed), on failure: block"
