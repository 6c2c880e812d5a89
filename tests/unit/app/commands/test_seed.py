"""Seeds are loaded when their file, their types or their table changed."""

import dataclasses

import pytest

from fakes.builders import a_project, countries
from fakes.engine import RecordingEngine
from fakes.log import FakeLog
from fakes.services import a_shop
from penstock.app.commands.seed import seed
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import QueryError, SelectorError, TableError
from penstock.core.facts import LogCommit
from penstock.core.model import ColumnDoc
from penstock.core.names import TableName
from penstock.core.ports.engine import QueryResult

URI = "/w/s/countries"
READ = Schema((Column("code", "string"), Column("zip", "int")))
SEED = countries(ColumnDoc("zip", type="STRING"))


@pytest.fixture
def services(tmp_path):
    log = FakeLog()
    project = dataclasses.replace(a_project(), root=str(tmp_path), seeds={"countries": SEED})
    made = a_shop(project, log)
    views = ("penstock_seed_raw", "penstock_seed_typed", "penstock_query")
    made.engine = RecordingEngine(log, dict.fromkeys(views, READ))
    at_root = dataclasses.replace(SEED, path=str(tmp_path / "seeds" / "countries.csv"))
    made.project = dataclasses.replace(project, seeds={"countries": at_root})
    return made


def changed(services, **changes):
    found = dataclasses.replace(services.project.seeds["countries"], **changes)
    services.project = dataclasses.replace(services.project, seeds={"countries": found})


def reasons(report):
    return [(r.name, r.status, r.reason, r.version) for r in report.results]


def test_a_seed_is_created_with_declared_types_else_inferred_ones(services):
    report = seed(services)

    assert reasons(report) == [("countries", "success", "never_run", 0)]
    define, create = services.engine.asked
    assert define == (
        "SELECT CAST(`code` AS string) AS `code`, CAST(`zip` AS STRING) AS `zip` "
        "FROM `penstock_seed_raw`"
    )
    assert create == (
        "CREATE OR REPLACE TABLE delta.`/w/s/countries` USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false') "
        "AS SELECT `code`, `zip` FROM `penstock_query`"
    )


def test_the_schema_of_a_new_table_is_made_where_a_catalog_is_to_know_it(services):
    target = dataclasses.replace(services.project.target, catalog="main")
    services.project = dataclasses.replace(services.project, target=target)

    seed(services)

    assert services.engine.asked[1:3] == [
        "DESCRIBE TABLE EXTENDED `main`.`s`.`countries`",
        "CREATE SCHEMA IF NOT EXISTS `main`.`s`",
    ]


def test_a_seed_does_not_write_into_another_table_that_the_catalog_has_under_its_name(services):
    target = dataclasses.replace(services.project.target, catalog="main")
    services.project = dataclasses.replace(services.project, target=target)
    rows = (("Location", "file:/elsewhere/countries"),)
    services.engine.answer = QueryResult(("col_name", "data_type"), rows)

    (result,) = seed(services).results

    assert result.error.code == "foreign-table"
    assert result.error.sentence == (
        "`main`.`s`.`countries` is another table in the catalog, at file:/elsewhere/countries, "
        "and not the one at /w/s/countries"
    )
    assert [each for each in services.engine.asked if each.startswith("CREATE")] == []


def test_a_seed_that_is_as_it_was_loaded_starts_no_session(services):
    seed(services)
    services.engine = None

    assert reasons(seed(services)) == [("countries", "unchanged", "current", None)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"digest": "d2"}, "source_changed: countries.csv changed"),
        ({"columns": ()}, "source_changed: its settings changed"),
    ],
)
def test_a_changed_file_or_type_loads_it_again(services, changes, reason):
    seed(services)
    changed(services, **changes)

    assert reasons(seed(services)) == [("countries", "success", reason, 1)]


def test_a_table_that_somebody_else_wrote_is_loaded_again(services):
    seed(services)
    foreign = LogCommit(1, services.clock.now(), "DELETE", changes_data=True)
    services.log.tables = {URI: (*services.log.tables[URI], foreign)}

    assert seed(services)["countries"].reason.startswith("tampered: version 1 DELETE")


def test_a_table_that_penstock_did_not_make_is_not_replaced(services):
    services.log.tables = {URI: (LogCommit(0, services.clock.now(), "WRITE", changes_data=True),)}

    report = seed(services)

    assert (report["countries"].status, report["countries"].error.code) == (
        "failed",
        "foreign-table",
    )
    assert services.engine.asked == []


def test_the_table_of_another_project_is_not_loaded_over(services):
    signed = '{"penstock": "1", "store": "store-2", "project": "billing", "step": "x"}'
    theirs = LogCommit(0, services.clock.now(), "WRITE", changes_data=True, step="x", token=signed)
    services.log.tables = {URI: (dataclasses.replace(theirs, store="store-2"),)}

    error = seed(services)["countries"].error

    assert error.code == "table-of-another-store"
    assert error.sentence.startswith("s.countries is written by project 'billing'")
    assert error.hint == "give it another schema or alias, or the target another warehouse"
    assert services.engine.asked == []


def test_a_seed_whose_log_cannot_be_read_does_not_stop_the_others(services, monkeypatch):
    towns = dataclasses.replace(
        services.project.seeds["countries"], name="towns", table=TableName("s", "towns")
    )
    services.project = dataclasses.replace(
        services.project, seeds={**services.project.seeds, "towns": towns}
    )
    head = FakeLog.head

    def damaged(self, uri, hint=None):
        if uri == URI:
            raise TableError("log-unreadable", "version 0 is damaged")
        return head(self, uri, hint)

    monkeypatch.setattr(FakeLog, "head", damaged)

    report = seed(services)

    assert [(r.name, r.status, r.error and r.error.code) for r in report.results] == [
        ("countries", "failed", "log-unreadable"),
        ("towns", "success", None),
    ]


def test_a_seed_that_fails_is_in_the_report_with_the_command_that_resumes(services):
    services.engine.refuses = QueryError("spark-cast-invalid-input", "no number: 'x'")

    report = seed(services)

    assert not report.succeeded
    assert report.resume == "penstock seed --select 'countries'"
    assert [str(s) for s in services.reading.records.last_results().values()] == ["FAILED"]


def test_a_declared_column_that_the_file_lacks_is_named(services):
    changed(services, columns=(ColumnDoc("zpi"),))

    error = seed(services)["countries"].error

    assert error.sentence == "countries.csv has no column 'zpi'"
    assert error.hint == "its columns are: code, zip"


def test_a_selector_that_finds_no_seed_names_the_nearest(services):
    with pytest.raises(SelectorError) as refused:
        seed(services, ("contries",))

    assert refused.value.hint == "did you mean 'countries'?"


def test_a_loaded_seed_writes_the_artifacts(services, tmp_path):
    seed(services, ("coun*",))

    assert sorted(path.name for path in (tmp_path / ".penstock" / "target").iterdir()) == [
        "manifest.json",
        "run_results.json",
    ]
