"""Where sources lie that only a catalog knows: what a run asks, keeps, and reads again."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.builders import a_model, a_source
from fakes.lake_session import FakeSession
from fakes.workshop import Workshop
from penstock.app.services.catalog_sources import find_places, with_places
from penstock.core.errors import QueryError

ORDERS = replace(a_source("orders"), path="")
FILE = ".penstock/cache/catalog.json"


@pytest.fixture
def services(tmp_path, monkeypatch):
    workshop = Workshop(ORDERS, a_model("top", "raw.orders"))
    workshop.project = replace(workshop.project, root=str(tmp_path))
    found = workshop.services()
    found.answers = []

    def rows(_session, sql):
        assert sql == "DESCRIBE TABLE EXTENDED raw.orders"
        return found.answers.pop(0)

    monkeypatch.setattr(FakeSession, "rows", rows, raising=False)
    return found


def described(place, provider="delta"):
    pairs = {"id": "int", "Location": place, "Provider": provider}
    return tuple({"col_name": name, "data_type": value} for name, value in pairs.items())


def path_of(services):
    return with_places(services.project).sources["raw.orders"].path


def test_a_place_is_asked_once_and_known_from_then_on(services):
    services.answers = [described("file:/lake/orders"), described("file:/lake/orders")]
    assert path_of(services) == ""

    assert find_places(services, ["raw.orders"])

    assert path_of(services) == "/lake/orders"
    assert services.project.sources["raw.orders"].in_catalog
    assert not find_places(services, ["raw.orders"])


def test_a_table_that_moved_or_is_gone_has_its_new_place(services, monkeypatch):
    services.answers = [described("s3a://lake/orders"), described("/other/orders")]
    find_places(services, ["raw.orders"])
    assert path_of(services) == "s3a://lake/orders"

    assert find_places(services, ["raw.orders"])
    assert path_of(services) == "/other/orders"

    def gone(_session, _sql):
        raise QueryError("spark-table-or-view-not-found", "gone")

    monkeypatch.setattr(FakeSession, "rows", gone)
    assert find_places(services, ["raw.orders"])
    assert path_of(services) == ""


@pytest.mark.parametrize(
    "answer",
    [described("file:/lake/orders", "parquet"), described("hdfs://lake/orders"), ()],
)
def test_other_tables_views_and_places_out_of_reach_are_read_by_name(services, answer):
    services.answers = [answer]

    assert not find_places(services, ["raw.orders"])
    assert path_of(services) == ""


@pytest.mark.parametrize("text", ["", "[]", "{", '{"dev: ": []}'])
def test_a_damaged_file_holds_nothing(services, text):
    file = Path(services.project.root, FILE)
    file.parent.mkdir(parents=True)
    file.write_text(text)

    assert path_of(services) == ""


def test_sources_with_a_path_or_of_files_are_never_asked(services):
    for source in (a_source("orders"), replace(ORDERS, format="csv")):
        services.project = replace(services.project, sources={"raw.orders": source})
        assert not find_places(services, ["raw.orders"])
        assert with_places(services.project) is services.project
