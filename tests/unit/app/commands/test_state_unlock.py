"""Taking a lease away."""

import pytest

from fakes.builders import a_model, a_project
from fakes.services import ME, a_shop, an_intent
from penstock.app.commands.state import lease_of, unlock

USERS = a_model("users")


@pytest.mark.parametrize("name", ["users", "s.users", "S.Users"])
def test_a_lease_is_found_by_model_or_table(name):
    services = a_shop(a_project(USERS))
    services.writing.journal.begin(an_intent(USERS), {}, ME, None)

    lease = lease_of(services, name)

    assert (lease.target, lease.run) == ("s.users", "run-1")
    assert unlock(services, lease)
    assert lease_of(services, name) is None


def test_nobody_holds_what_nobody_took():
    assert lease_of(a_shop(a_project(USERS)), "users") is None
