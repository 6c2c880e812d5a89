"""A user's query: names are checked before Spark starts, views are their queries."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.builders import NOON, a_model, a_project, a_source
from fakes.engine import RecordingEngine
from fakes.log import FakeLog
from fakes.services import a_shop
from penstock.app.commands.query import ExportedFile, export, form_of, query
from penstock.core.columns.schema import Schema
from penstock.core.errors import PenstockError, QueryError
from penstock.core.facts import LogCommit, TableFacts
from penstock.core.ports.engine import ExportForm, QueryResult
from penstock.core.steps.inputs import CatalogRead, DeltaRead, QueryRead
from penstock.strategies.view import View


@pytest.fixture
def services():
    parts = (
        a_source("events"),
        a_model("clean", "raw.events", strategy=View()),
        a_model("daily", "clean"),
    )
    events = TableFacts("of events", 2, Schema())
    log = FakeLog({"/w/s/daily": commits(1)}, {"/landing/events": events})
    made = a_shop(a_project(*parts), log)
    made.engine = RecordingEngine(log, answer=QueryResult(("n",), (("1",),)))
    return made


def commits(count):
    return tuple(LogCommit(n, NOON, "WRITE", changes_data=True) for n in range(count))


def test_a_table_is_read_at_its_newest_version(services):
    assert query(services, "select n from s.daily", 5) == QueryResult(("n",), (("1",),))
    assert [each.read for each in services.engine.bound] == [DeltaRead("/w/s/daily", 0)]
    assert services.engine.asked == ["select n from `in_0_daily` AS `daily`"]


def test_a_view_is_its_query_over_what_lies_there_now(services):
    query(services, "select * from clean", 5)

    assert [each.read for each in services.engine.bound] == [
        DeltaRead("/landing/events", 2),
        QueryRead("select * from `in_0_events` AS `events`"),
    ]


@pytest.mark.parametrize(
    ("sql", "code", "hint"),
    [
        ("select * from s.dialy", "unknown-table", "did you mean 's.daily'?"),
        ("select * from zzz", "unknown-table", "there are: s.clean, s.daily"),
        ("drop table s.daily", "not-a-query", 'penstock query "select …"'),
    ],
)
def test_a_mistake_is_told_before_spark_starts(services, sql, code, hint):
    with pytest.raises(PenstockError) as refused:
        query(services, sql, 5)

    assert (refused.value.code, refused.value.hint) == (code, hint)
    assert services.engine.asked == []


def test_a_model_that_was_never_built_says_how_to_build_it(services):
    services.log = FakeLog()

    with pytest.raises(PenstockError, match="daily has no table at /w/s/daily") as refused:
        query(services, "select * from daily", 5)

    assert refused.value.hint == "penstock run --select daily"


def test_a_query_may_be_a_template(services):
    query(services, "select n from {{ ref('daily') }}", 5)

    assert services.engine.asked == ["select n from `in_0_daily` AS `daily`"]


def test_rows_take_the_place_of_a_file(services, tmp_path):
    file = tmp_path / "daily.csv"
    file.write_text("old")
    file.chmod(0o600)

    found = export(services, "select n from daily", None, ExportForm.CSV, file)

    assert found == ExportedFile(str(file), ExportForm.CSV, 1)
    assert file.read_text() == "csv: ('1',)\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["daily.csv"]


def test_a_link_to_a_file_stays_one(services, tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")

    export(services, "select n from daily", None, ExportForm.CSV, tmp_path / "link.csv")

    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "csv: ('1',)\n"


def test_a_file_is_never_half_written(services, tmp_path):
    file = tmp_path / "daily.csv"
    file.write_text("old")
    services.engine.refuses = QueryError("spark-cast-invalid-input", "after one row")

    with pytest.raises(QueryError):
        export(services, "select n from daily", None, ExportForm.CSV, file)

    assert file.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["daily.csv"]


@pytest.mark.parametrize(("name", "said"), [("", "is not a file"), ("no/a.csv", "No such file")])
def test_a_place_that_holds_no_file_is_refused(services, tmp_path, name, said):
    with pytest.raises(PenstockError, match=said) as refused:
        export(services, "select n from daily", None, ExportForm.CSV, tmp_path / name)

    assert refused.value.code == "bad-output"
    assert services.engine.asked == []


@pytest.mark.parametrize(
    ("form", "file", "found"),
    [
        (None, None, None),
        ("json", None, ExportForm.JSON),
        (None, "a.CSV", ExportForm.CSV),
        (None, "a.b.parquet", ExportForm.PARQUET),
        ("csv", "a.txt", ExportForm.CSV),
    ],
)
def test_a_file_says_its_format_by_its_name(form, file, found):
    assert form_of(form, file and Path(file)) is found


@pytest.mark.parametrize(
    ("form", "file", "code"),
    [
        (None, "a.txt", "bad-value"),
        (None, "csv", "bad-value"),
        ("parquet", None, "option-conflict"),
    ],
)
def test_a_file_of_no_format_is_refused(form, file, code):
    with pytest.raises(PenstockError) as refused:
        form_of(form, file and Path(file))

    assert refused.value.code == code


def test_rows_that_failed_checks_are_read_by_the_name_that_reports_show(services):
    services.log = FakeLog({"/w/penstock_staging/failures__s__daily__a": commits(1)})

    query(services, "select * from penstock_staging.failures__s__daily__a", 5)

    assert [each.read for each in services.engine.bound] == [
        DeltaRead("/w/penstock_staging/failures__s__daily__a", 0)
    ]
    with pytest.raises(PenstockError, match="no model, seed or source is called penstock_staging"):
        query(services, "select * from penstock_staging.gone", 5)


def by_name(services, tmp_path, *details):
    """Let `raw.events` be a source that only a catalog names, and say where the catalog has it."""
    project = services.project
    events = a_source("events", path="", in_catalog=True)
    services.project = replace(project, root=str(tmp_path), sources={"raw.events": events})
    services.engine.answer = QueryResult(("col_name", "data_type"), details)
    notes = []
    services.note = notes.append
    return notes


def test_a_source_by_name_is_read_at_the_newest_version_where_the_catalog_has_it(
    services, tmp_path
):
    services.log.tables = {**services.log.tables, "/lake/events": commits(4)}
    notes = by_name(services, tmp_path, ("Location", "file:/lake/events"), ("Provider", "delta"))

    query(services, "select * from raw.events", 5)

    assert [each.read for each in services.engine.bound] == [DeltaRead("/lake/events", 3)]
    assert notes == []


def test_a_view_of_a_catalog_is_read_without_a_version_and_a_note_says_so(services, tmp_path):
    notes = by_name(services, tmp_path, ("Type", "VIEW"))

    query(services, "select * from raw.events", 5)

    assert [each.read for each in services.engine.bound] == [CatalogRead("raw.events")]
    assert notes == ["raw.events is read without a version: no Delta log was found"]


def test_a_log_that_cannot_be_found_leaves_the_reading_to_spark(services, tmp_path):
    notes = by_name(services, tmp_path, ("Location", "file:/gone"), ("Provider", "delta"))

    query(services, "select * from raw.events", 5)

    assert [each.read for each in services.engine.bound] == [CatalogRead("raw.events")]
    assert len(notes) == 1


def test_names_are_checked_before_a_catalog_is_asked(services, tmp_path):
    by_name(services, tmp_path)

    with pytest.raises(PenstockError, match="zzz"):
        query(services, "select * from raw.events, zzz", 5)

    assert services.engine.asked == []
