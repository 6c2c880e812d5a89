"""What a catalog says of a table before it is written."""

from dataclasses import replace

import pytest

from fakes.builders import a_model
from fakes.services import an_intent
from fakes.workshop import Workshop
from penstock.app.preparing.statements import enter_catalog
from penstock.core.errors import QueryError, TableError

PLACE = "/w/mart/users"


class Session:
    """A session whose catalog has an entry at a place, with or without a table there."""

    def __init__(self, place, kind="EXTERNAL", *, has_table=False):
        self.place, self.kind, self.has_table, self.ran = place, kind, has_table, []

    def rows(self, sql):
        self.ran.append(sql.split(" ", 1)[0])
        if sql.startswith("DESCRIBE"):
            if not self.has_table:
                raise QueryError("delta-path-does-not-exist", "there is no table")
            return [{"col_name": "Location", "data_type": self.place}]
        if sql.startswith("SHOW"):
            information = f"Table: users\nType: {self.kind}\nLocation: {self.place}\n"
            other = information.replace(self.place, "/elsewhere")
            return [
                {"tableName": "users_2", "information": other},
                {"tableName": "users", "information": information},
            ]
        return []


def entered(session, *, base_version=None):
    workshop = Workshop(a_model("users"))
    target = replace(workshop.project.target, catalog="main")
    project = replace(workshop.project, target=target)
    intent = replace(an_intent(project.models["users"]), uri=PLACE, base_version=base_version)
    enter_catalog(project, session, intent, is_new=base_version is not None)
    return session.ran


@pytest.mark.parametrize(
    ("place", "kind", "ran"),
    [
        (f"file:{PLACE}", "EXTERNAL", ["DESCRIBE", "SHOW", "DROP", "CREATE"]),
        (f"file:{PLACE}", "MANAGED", ["DESCRIBE", "SHOW", "CREATE"]),
    ],
)
def test_an_entry_whose_files_were_removed_gives_way_unless_it_owns_them(place, kind, ran):
    assert entered(Session(place, kind)) == ran


@pytest.mark.parametrize("has_table", [False, True])
def test_an_entry_at_another_place_is_another_table_with_files_and_without(has_table):
    with pytest.raises(TableError) as caught:
        entered(Session("file:/w/other", has_table=has_table))

    assert caught.value.code == "foreign-table"


def test_an_entry_of_a_table_that_is_there_stays():
    assert entered(Session(PLACE, has_table=True), base_version=3) == ["DESCRIBE"]
    assert entered(Session(PLACE, has_table=True)) == ["DESCRIBE", "CREATE"]
