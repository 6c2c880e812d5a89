"""What a project's code means now, beside what is on record."""

from dataclasses import replace

from fakes.builders import NOON, a_model, a_project
from fakes.services import a_shop, built
from penstock.app.observation.project_state import look
from penstock.core.model import Fingerprint

MADE = Fingerprint("text-1", "meaning-of-old", parser="old")


def test_code_that_was_stored_without_its_secrets_means_what_the_files_say():
    now = Fingerprint("text-1", "meaning-of-new", parser="new")
    users = a_model("users", fingerprint=now)
    services = a_shop(a_project(users))
    built(services, replace(users, fingerprint=MADE), text="select '***' as a")

    state = look(services, ["users"], NOON)

    assert state.meaning(MADE) == "meaning-of-new"
    assert state.meaning(replace(MADE, sql="text-0")) == "meaning-of-old"
