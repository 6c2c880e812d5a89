"""`${…}` is text wherever it stands: Spark replaces none of it by settings and variables."""

import json

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.entity_files import KEY, entity
from fakes.entity_place import T1, T2, EntityPlace
from fakes.place import Place, statuses
from fakes.session_lake import an_event
from fakes.session_place import SessionPlace, problems
from penstock.app.commands.query import query
from penstock.app.commands.test import run_tests
from penstock.app.request import UnitTestRequest

TEXTS = (
    "${abc}",
    "${env:HOME}",
    "${system:java.version}",
    "${spark.sql.session.timeZone}",
    "${hivevar:x}",
    "a${b}c$${d}",
    "${",
)
"""An unknown name becomes nothing; the others are values that every Spark has."""
BAD = "${spark.app.name}"


def landed(place, name, *texts, start=0):
    """Append rows of an id and a text to a source."""
    table = pa.table({"id": [*range(start, start + len(texts))], "t": [*texts]})
    write_deltalake(f"{place.root}/landing/{name}", table, mode="append")


def checks(mode, *more):
    values = json.dumps([*TEXTS])
    return json.dumps(
        {
            "on_failure": mode,
            "after": [
                {"type": "accepted_values", "column": "t", "values": json.loads(values)},
                {
                    "name": "starts",
                    "type": "column_check",
                    "column": "t",
                    "check": "min({column} RLIKE '^.*[$]') and max({column}) <> ''",
                },
                {
                    "name": "none",
                    "sql": f"select t from {{destination}} where t = '' or t = '{BAD}'",
                },
                *more,
            ],
        }
    )


@pytest.fixture
def texts(place: Place) -> Place:
    place.write(
        "models/raw.yml",
        """\
        sources:
          - name: raw
            tables:
              - name: texts
                path: ../landing/texts
                columns: [{name: id, type: BIGINT}, {name: t, type: STRING}]
        """,
    )
    landed(place, "texts", *TEXTS)
    return place


def test_texts_in_models_checks_watermarks_and_partitions_stay_as_written(texts) -> None:
    literals = ", ".join(f"'{text}' as c{n}" for n, text in enumerate(TEXTS))
    rows = "select id, t from {{ source('raw', 'texts') }}"
    texts.model(
        "literals",
        f"select {literals}, regexp_replace('a1', '(?<x>[0-9])', '<${{x}}>') r",
        materialized="table",
    )
    texts.model("whole", rows, materialized="table")
    texts.model("keyed", rows, materialized="merge", unique_key="t")
    texts.model("log", rows, materialized="append", time_column="t", string_watermark=True)
    texts.model("parts", rows, materialized="table", overwrite="partitions", partition_by=["t"])
    modes = {"whole": "flag", "keyed": "block", "log": "block", "parts": "flag"}
    listed = "\n".join(f"  - {{name: {m}, checks: {checks(how)}}}" for m, how in modes.items())
    texts.write("models/m/checks.yml", f"models:\n{listed}\n")

    first = texts.run()
    landed(texts, "texts", "zz${abc}", start=9)
    texts.write("models/m/checks.yml", "models: []\n")
    second = texts.run("log parts")

    assert set(statuses(first).values()) == {"success"}, [r.error for r in first.results]
    assert texts.rows("literals") == [(*TEXTS, "a<1>")]
    for name in ("whole", "keyed"):
        assert sorted(row[1] for row in texts.rows(name)) == sorted(TEXTS)
    assert set(statuses(second).values()) == {"success"}, [r.error for r in second.results]
    assert str(first["log"].watermarks[0].value.text) == max(TEXTS)
    assert second["log"].rows.inserted == 1  # the others lie below the watermark
    for name in ("log", "parts"):
        assert sorted(row[1] for row in texts.rows(name)) == sorted((*TEXTS, "zz${abc}"))


@pytest.mark.matrix
def test_a_value_that_a_check_accepts_is_that_text_and_no_other(texts) -> None:
    accepted = {"type": "accepted_values", "column": "t", "values": ["${abc}"]}
    for name, mode in (("seen", "flag"), ("held", "block")):
        texts.model(
            name,
            "select id, t from {{ source('raw', 'texts') }} where t in ('${abc}', '')",
            materialized="table",
        )
        said = json.dumps({"on_failure": mode, "after": [accepted]})
        texts.write(f"models/m/{name}.yml", f"models: [{{name: {name}, checks: {said}}}]\n")

    passed = texts.run()
    landed(texts, "texts", "", start=20)
    failed = texts.run()

    assert statuses(passed) == {"seen": "success", "held": "success"}
    assert statuses(failed) == {"seen": "failed", "held": "failed"}
    assert texts.rows("held") == [(0, "${abc}")]


def test_rows_of_unit_tests_and_queries_stay_as_written(texts) -> None:
    texts.model("copied", "select id, concat(t, '${abc}') t from {{ source('raw', 'texts') }}")
    given = ", ".join(json.dumps({"id": n, "t": text}) for n, text in enumerate(TEXTS))
    made = ", ".join(json.dumps({"id": n, "t": f"{text}${{abc}}"}) for n, text in enumerate(TEXTS))
    texts.write(
        "tests/copied.yml",
        f"""\
        unit_tests:
          - name: texts
            model: m.copied
            given: {{inputs: {{raw.texts: {{rows: [{given}]}}}}}}
            expect: {{rows: [{made}]}}
        """,
    )
    services = texts.services()
    try:
        [result] = run_tests(services, UnitTestRequest()).results
        found = query(services, "select '${env:HOME}', '${abc}'", 5)
    finally:
        services.close()

    assert result.lines == ()
    assert found.rows == (("${env:HOME}", "${abc}"),)


@pytest.mark.matrix
def test_names_of_delivered_files_and_values_of_their_partitions_stay_as_written(
    spark, tmp_path
) -> None:
    kind = {"name": "kind", "expression": "name", "fieldroles": ["partition"]}
    lake = EntityPlace(
        tmp_path,
        spark,
        entity(1, "parts", "full", columns=[KEY, kind], settings={"bronze_path": "aw/x"}),
        entity(2, "merged", "merge", columns=[KEY, kind], settings={"bronze_path": "aw/x"}),
        entity(3, "kept", "historic", columns=[KEY, kind], settings={"bronze_path": "aw/x"}),
    )
    names = ("a${HOME}.parquet", "b${spark.sql.session.timeZone}.parquet")
    models = ("parts", "merged", "kept")
    for number, (name, time) in enumerate(zip(names, (T1, T2), strict=True)):
        lake.slice(name, *((n, 100 + number, text) for n, text in enumerate(TEXTS)))
        report = lake.at(time, "kind:entity")
        assert {each.status for each in report.results} == {"success"}, [
            str(r.error) for r in report.results
        ]

    for model in models:
        held = {row[0] for row in lake.stored("name", entity=model)}
        assert held == {*TEXTS}
        assert lake.summary(model)["slice"][0] == names[1]
    services = lake.services()
    try:
        known = {each.id.name for each in services.reading.slices.recorded("silver_aw.merged")}
    finally:
        services.close()
    assert known == {*names}


@pytest.mark.matrix
def test_values_of_a_session_package_stay_as_written(spark, tmp_path) -> None:
    keys = "app_ids: ['${env:HOME}', '${abc}']\nfilters: [\"event_name <> '${abc}'\"]\n"
    web = SessionPlace(tmp_path, spark, keys)
    web.add(
        an_event("e1", "${abc}", "01-01 10:00", app_id="${env:HOME}"),
        an_event("e2", "s2", "01-01 11:00", app_id="${abc}"),
        an_event("e3", "s3", "01-01 12:00", app_id=""),
        an_event("e4", "s4", "01-01 13:00", app_id="${abc}", event_name="${abc}"),
    )

    report = web.at("01-02")

    assert problems(report) == []
    assert web.stored("base_events_this_run", "event_id") == ["e1", "e2"]
    assert web.stored("sessions", "session_identifier") == ["${abc}", "s2"]
