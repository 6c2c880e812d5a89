"""`deletion_vectors`: what tables have where nobody says it, and where somebody does."""

import pytest

from fakes.entity_files import entity, files
from fakes.versioned_cases import daily

KEY = "unique_key='id'"
TABLES = "from penstock import incremental_table, table\n"
DAILY = daily("{field: date, type: DAY}", "{field: date, type: DAY}")
REVISED = (
    "    sql_revisions:\n      - {revision: 1, effective_from: 2024-12-03, sql: select 1 as date}\n"
)


def by_sql(config):
    return {"models/m.sql": f"{{{{ config({config}) }}}}\nselect 1 as id, 2 as n"}


def by_yaml(said):
    entry = f"models: [{{name: m, config: {{materialized: table{said}}}}}]\n"
    return {"models/m.sql": "select 1 as id", "models/m.yml": entry}


def by_function(decorator):
    return {"models/m.py": f"{TABLES}\n@{decorator}\ndef m(spark):\n    return spark.range(1)\n"}


@pytest.mark.parametrize(
    ("project", "hides", "properties"),
    [
        (by_sql("materialized='table'"), False, {}),
        (by_sql("materialized='append', time_column='n'"), False, {}),
        (by_sql(f"materialized='merge', {KEY}"), True, {}),
        (by_sql(f"materialized='merge', {KEY}, deletion_vectors=false"), True, "false"),
        (by_sql(f"materialized='snapshot', strategy='check', {KEY}, check_cols='all'"), True, {}),
        (by_yaml(""), False, {}),
        (by_yaml(", deletion_vectors: true"), False, "true"),
        (by_function("table(deletion_vectors=True)"), False, "true"),
        (by_function("incremental_table(time_column='n')"), False, {}),
        (by_function("incremental_table(time_column='n', unique_key='id')"), True, {}),
        (files(entity(process="full")), False, {}),
        (files(entity(process="merge")), True, {}),
        (files(entity(process="historic")), True, {}),
        (files(entity(process="merge", settings={"deletion_vectors": False})), True, "false"),
        (DAILY, False, {}),
        (
            daily("{field: date, type: DAY}", "{field: date, type: DAY}\n  deletion_vectors: true"),
            False,
            "true",
        ),
    ],
)
def test_a_table_has_deletion_vectors_where_its_strategy_hides_rows_or_it_is_said(
    load, project, hides, properties
):
    (model,) = load(project).models.values()
    said = {"delta.enableDeletionVectors": properties} if properties else {}

    assert (model.hides_rows, model.layout.properties) == (hides, said)


def test_a_versioned_model_has_them_once_it_has_a_revision(load):
    ((path, text),) = ((k, v) for k, v in DAILY.items() if k.endswith("yaml"))

    (model,) = load({**DAILY, path: text + REVISED}).models.values()

    assert (model.hides_rows, model.layout.properties) == (True, {})


def test_one_thing_that_is_said_twice_is_refused_where_it_differs(findings):
    config = "materialized='table', deletion_vectors=false, "
    config += "table_properties={'delta.enableDeletionVectors': true}"

    assert findings(by_sql(config)) == [
        (
            "models/m.sql:1: error: option-conflict: deletion_vectors is false and "
            "table_properties say the opposite"
        )
    ]
    assert findings(by_sql("materialized='view', deletion_vectors=true")) == [
        (
            "models/m.sql:1: warning: option-without-effect: deletion_vectors has no effect on "
            "strategy view"
        )
    ]
