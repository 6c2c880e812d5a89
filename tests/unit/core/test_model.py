import datetime as dt
from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source, reads
from fakes.check_inputs import a_check
from fakes.session_world import package
from fakes.silver_table import an_entity
from fakes.versioned_models import a_body, a_daily, reading
from penstock.core.checks.check import Checks
from penstock.core.model import ColumnDoc, Fingerprint, PythonFunction, Version, kind_of
from penstock.core.partitions.mapping import Computed, Lower, Same
from penstock.core.query import Query
from penstock.strategies.checks.types import RowCount
from penstock.strategies.sessions.tables import Sessions

FUNCTION = PythonFunction(len, "text", {})


def test_a_model_tells_what_makes_its_rows_and_whether_anything_names_what_it_reads():
    sql, python = a_model("a"), a_model("a", function=FUNCTION)

    assert [kind_of(each) for each in (sql, python)] == ["sql", "python"]
    assert [each.is_unpinned for each in (sql, python)] == [False, True]
    assert not a_model("a", "raw.events", function=FUNCTION).is_unpinned
    assert kind_of(a_model("a", entity=an_entity(), function=FUNCTION)) == "entity"
    web = package()
    assert kind_of(a_model("a", strategy=Sessions(web, web.models[-1]))) == "sessions"
    assert sql.shown_strategy == "table"


def test_the_inputs_of_a_model_are_those_of_all_its_versions_each_once():
    one = a_body("v1", "2024-01-01", reading("b", Same()), reading("a", Same()))
    two = a_body("v2", "2024-02-01", reading("a", Same()), reading("raw.c", Same()))

    assert a_daily("m", one, two).inputs[-3:] == reads("b", "a", "raw.c")
    assert a_model("m", "a", "b").inputs == reads("a", "b")


def test_each_version_has_its_checks_and_without_versions_there_is_one_set():
    first, second = (Checks((), (a_check(RowCount(n)),)) for n in (1, 2))
    plain = a_model("m", checks=first)
    versions = tuple(
        Version(number, a_body(f"v{number}", f"2024-0{number}-01"), checks=checks)
        for number, checks in ((1, first), (2, second))
    )
    dated = replace(plain, versions=versions)

    assert (plain.checks_of(7), dated.checks_of(2), dated.checks_of(3)) == (first, second, first)
    assert plain.all_checks == first.after
    assert dated.all_checks == first.after + second.after


def test_all_sql_of_the_versions_is_changed():
    version = Version(1, a_body("v1"), revisions=(a_body("v1.r1"),))

    changed = replace(a_model("m"), versions=(version,)).with_bodies(
        lambda body: replace(body, query=Query("x", "x", "x", ()))
    )

    (found,) = changed.versions
    assert [body.query.text for body in found.bodies] == ["x", "x"]


def test_a_source_is_delta_whatever_the_case_of_its_format():
    assert [a_source("e", format=each).is_delta for each in ("delta", "DELTA", "csv")] == [
        True,
        True,
        False,
    ]


def test_a_model_and_a_source_are_inputs_under_their_names():
    assert (a_model("a").input_name, a_source("events").input_name) == reads("a", "raw.events")


@pytest.mark.parametrize(("revision", "label"), [(0, "v3"), (1, "v3.r1")])
def test_code_is_called_by_its_version_and_revision(revision, label):
    assert Fingerprint("sql", "canonical", version=3, revision=revision).label == label


def test_what_is_said_of_tables_and_columns_holds_no_secret(secret):
    column = ColumnDoc("a", f"see {secret}")
    model = a_model("m", description=f"ask {secret}", columns=(column,))

    assert (model.description, model.columns[0].description) == ("ask ***", "see ***")


def test_only_a_mapping_that_the_sql_says_is_about_a_column():
    computed = reading("a", Computed("day", ((Lower(), None),)))

    assert (computed.column, reading("a", Same()).column) == ("day", "")


def test_a_version_counts_from_its_date_on():
    assert Version(1, a_body("v1", "2024-01-01")).effective_from == dt.date(2024, 1, 1)
    assert Version(1, a_body("v1")).effective_from is None


def test_a_model_hides_rows_once_a_version_was_revised():
    plain = replace(a_model("m"), versions=(Version(1, a_body("v1")),))
    revised = replace(plain, versions=(Version(1, a_body("v1"), revisions=(a_body("v1.r1"),)),))

    assert [each.hides_rows for each in (plain, revised)] == [False, True]
