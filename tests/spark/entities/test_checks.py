"""Checks of entities in every mode, over the same slices, and models below an entity."""

import pyarrow as pa
import pytest

from fakes.entity_files import KEY, WATERMARK, entity
from fakes.entity_place import T1, T2, T3, EntityPlace, counted
from fakes.requests import a_run
from penstock.app.commands.plan import preview
from penstock.app.commands.rollback import rollback
from penstock.app.documents import printed
from penstock.app.request import RollbackRequest
from penstock.app.run_report import run_document
from penstock.ui.render.run import run_text
from penstock.ui.render.values import window_text

pytestmark = pytest.mark.spark
NAMED = {"type": "not_null", "column": "name"}
FEW = {"name": "few", "type": "row_count", "max": 4, "scope": "table", "where": "NOT p_deleted"}
FIRST = {"type": "value_range", "column": "SeqNr", "max": 400}
PARTITIONED = [KEY, {"name": "kind", "expression": "'k'", "fieldroles": ["partition"]}]
BACK = {**WATERMARK, "expression": "'${minus(last_value, 0)}'"}  # a plain one is warned of
INFERS = {"settings": {"delete_missing": True}, "watermark": [BACK]}
SECRETS = {"sql_password": "s3cret", "url": "jdbc:x://u:p4ss@h/d"}


def checked(number, name, mode, process="merge", **said):
    """Give an entity whose slices are those of `x`."""
    after = [NAMED, FEW] if "watermark" in said else [NAMED]  # that of a table asks for a clone
    checks = {"on_failure": mode, "before": [FIRST], "after": after}
    settings = {"bronze_path": "aw/x", **SECRETS, **said.pop("settings", {})}
    return entity(number, name, process, checks=checks, settings=settings, **said)


@pytest.fixture(scope="module")
def place(spark, tmp_path_factory):
    found = EntityPlace(
        tmp_path_factory.mktemp("checks"),
        spark,
        checked(1, "merged", "block", **INFERS),
        checked(2, "kept", "block", "historic", **INFERS),
        checked(3, "parts", "block", "full", columns=PARTITIONED),
        checked(4, "flagged", "flag"),
        checked(5, "undone", "rollback"),
    )
    found.model(
        "names", "select ID, name from silver_aw.merged where not p_deleted", materialized="table"
    )
    found.write(
        "models/m/count.py",
        """\
        from penstock import table

        @table
        def counts(silver_aw__merged):
            return silver_aw__merged.groupBy("name").count()
        """,
    )
    return found


def has_secrets(*texts):
    return any(secret in text for secret in ("s3cret", "p4ss") for text in texts)


def told(report, model):
    return [counted(each) for each in report.results if each.name == f"silver_aw.{model}"]


def test_each_strategy_runs_infers_and_is_held_back_by_a_gate(spark, tmp_path):
    found = EntityPlace(
        tmp_path,
        spark,
        checked(1, "merged", "block", **INFERS),
        checked(2, "kept", "block", "historic", **INFERS),
        checked(3, "parts", "block", "full", columns=PARTITIONED),
    )
    found.slice("a", (1, 100, "A"), (2, 100, "B"), (3, 100, "C"))
    found.slice("b", (1, 200, "A2"), (4, 200, None))
    models = ("merged", "kept", "parts")

    report = found.at(T1, "kind:entity")

    for model in models:
        assert told(report, model) == ["a.parquet 3/3/0/0", "b.parquet after-check-failed"]
        assert found.newest(model) == 0

    found.slice("b", (1, 200, "A2"), (4, 200, "D"))
    report = found.at(T2, "kind:entity")

    assert told(report, "merged") == ["b.parquet 2/1/1/0 x2"]
    assert told(report, "kept") == ["b.parquet 2/1/1/2 x2"]
    assert told(report, "parts") == ["b.parquet 2/2/0/0"]
    assert found.stored("ID, name, p_deleted", entity="merged") == [
        *((1, "A2", False), (2, "B", True), (3, "C", True), (4, "D", False))
    ]
    assert [len(found.stored(entity=each)) for each in models] == [4, 5, 2]
    assert found.states() == {f"silver_aw.{each}": [] for each in models}


@pytest.mark.matrix
def test_what_fails_a_gate_is_held_back_flagged_or_taken_back(place):
    place.slice("a", (1, 100, "A"), (2, 100, "B"), (3, 100, "C"))
    place.slice("b", (1, 200, "A2"), (4, 200, None))

    report = place.at(T1, "kind:entity+")

    assert not has_secrets(run_text(report), printed(run_document(report)))
    for model in ("merged", "kept", "parts", "flagged", "undone"):
        assert told(report, model) == ["a.parquet 3/3/0/0", "b.parquet after-check-failed"]
    assert [report[name].status for name in ("names", "counts")] == ["skipped", "skipped"]
    for model, newest in (("merged", 0), ("kept", 0), ("parts", 0), ("flagged", 1), ("undone", 2)):
        assert place.newest(model) == newest
    stored = [(1, 100, "A"), (2, 100, "B"), (3, 100, "C")]
    assert place.stored(entity="merged") == place.stored(entity="undone") == stored
    assert (4, 200, None) in place.stored(entity="flagged")

    place.slice("b", (1, 200, "A2"), (4, 200, "D"))
    report = place.at(T2, "kind:entity")

    assert not has_secrets(run_text(report), printed(run_document(report)))
    assert told(report, "merged") == ["b.parquet 2/1/1/0 x2"]
    assert told(report, "kept") == ["b.parquet 2/1/1/2 x2"]
    assert told(report, "parts") == ["b.parquet 2/2/0/0"]
    assert told(report, "flagged") == ["unchanged"]
    assert told(report, "undone") == ["b.parquet 2/1/1/0"]
    assert place.stored("ID, name, p_deleted", entity="merged") == [
        *((1, "A2", False), (2, "B", True), (3, "C", True), (4, "D", False))
    ]


@pytest.mark.matrix
def test_a_slice_that_fails_before_its_step_waits_too(place):
    place.slice("c", (5, 500, "E"))

    report = place.at(T3, "silver_aw.merged")

    assert told(report, "merged") == ["c.parquet before-check-failed"]
    assert "max 500 > 400" in report.results[0].error.sentence
    assert place.newest("merged") == 1


@pytest.mark.matrix
def test_a_strict_run_writes_nothing_that_it_would_warn_of(place):
    place.slice("c", (5, 300, "E", 1), columns="ID, SeqNr, name, more", types={"more": pa.int32()})

    report = place.at(T3, "silver_aw.merged", strict=True)

    assert told(report, "merged") == ["c.parquet column-added"]
    assert place.newest("merged") == 1


@pytest.mark.matrix
def test_a_dry_run_shows_slices_low_bounds_and_sql(place):
    place.slice("c", (4, 300, "D2"))
    services = place.services()
    try:
        found = preview(services, a_run(("silver_aw.merged",), dry_run=True))
    finally:
        services.close()

    (result,) = found.report.results
    assert (result.slice, result.reason) == ("c.parquet", "was failed: column-added")
    assert [window_text(each) for each in result.windows] == ["bronze.SeqNr [200, max at bronze]"]
    assert "AS `p_SourceHash`" in found.sql["silver_aw.merged c.parquet"]


@pytest.mark.matrix
def test_no_secret_is_in_state_logs_or_artifacts(place):
    files = [each for each in (place.root / ".penstock").rglob("*") if each.is_file()]
    files += (place.root / "lake" / "silver").rglob("*.json")

    assert {"state.db", "run_results.json", "manifest.json"} <= {each.name for each in files}
    assert [each for each in files if has_secrets(str(each.read_bytes()))] == []


@pytest.mark.matrix
def test_models_below_an_entity_drift_and_are_synced(place):
    place.run("names counts")
    assert place.rows("names") == [(1, "A2"), (4, "D")]
    assert [each.status for each in place.run("names counts").results] == ["unchanged"] * 2

    assert told(place.at(T3, "silver_aw.merged"), "merged") == ["c.parquet 1/0/1/0 x1"]
    below = ["upstream_changed"]
    assert [place.states()[name] for name in ("names", "counts")] == [below, below]

    place.slice("d", (5, 350, "E"))
    report = place.sync("silver_aw.merged", cascade=True)
    assert told(report, "merged") == ["d.parquet 1/1/0/0 x1"]
    assert place.rows("names") == [(5, "E")]
    assert place.states()["silver_aw.merged"] == []
    assert [each.status for each in place.run("names counts").results] == ["unchanged"] * 2


@pytest.mark.matrix
def test_a_step_that_is_taken_back_gives_its_slice_and_watermark_back(place):
    services = place.services()
    try:
        records, slices = services.reading.records, services.reading.slices
        before = records.models()["silver_aw.merged"]
        rollback(services, RollbackRequest(place.root, "silver_aw.merged", to=before.step))
        after = records.models()["silver_aw.merged"]
        kept = [each.id.name for each in slices.recorded("silver_aw.merged")]
    finally:
        services.close()

    found = [str(record.watermarks[0].value) for record in (before, after)]
    assert found == ["INT 350", "INT 300"]
    assert kept == ["a.parquet", "b.parquet", "c.parquet"]
    assert place.states()["silver_aw.merged"] == ["source_changed"]
