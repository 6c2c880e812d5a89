"""What a project's code means now, beside what is on record."""

from dataclasses import replace

from sqlalchemy import Engine, event

from fakes.builders import NOON, a_model, a_project
from fakes.services import a_shop, built
from penstock.app.commands.status import status
from penstock.app.observation.project_state import survey
from penstock.app.request import StatusRequest
from penstock.core.model import Fingerprint

MADE = Fingerprint("text-1", "meaning-of-old", parser="old")


def test_code_that_was_stored_without_its_secrets_means_what_the_files_say():
    now = Fingerprint("text-1", "meaning-of-new", parser="new")
    users = a_model("users", fingerprint=now)
    services = a_shop(a_project(users))
    built(services, replace(users, fingerprint=MADE), text="select '***' as a")

    state = survey(services, ["users"], NOON)

    assert state.meaning(MADE) == "meaning-of-new"
    assert state.meaning(replace(MADE, sql="text-0")) == "meaning-of-old"


def test_status_reads_the_sql_of_all_models_that_an_older_parser_read_with_one_statement():
    models = [a_model(f"m{n}", fingerprint=Fingerprint(f"text-{n}", "new")) for n in range(60)]
    services = a_shop(a_project(*models))
    for number, model in enumerate(models):
        made = Fingerprint(f"was-{number}", f"old-{number}", parser="old")
        built(services, replace(model, fingerprint=made), text=f"select {number} as a")
    statements = []

    def note(*given):
        statements.append(given[2])

    event.listen(Engine, "before_cursor_execute", note)
    report = status(services, StatusRequest())
    event.remove(Engine, "before_cursor_execute", note)

    assert len(report.models) == 60
    assert len([each for each in statements if "FROM contents" in each]) == 1
    assert len(statements) < 30
