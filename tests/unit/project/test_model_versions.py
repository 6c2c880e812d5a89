"""Versions of a model as dbt writes them."""

from __future__ import annotations

YAML = """\
models:
  - name: dim
    latest_version: 2
    config: {materialized: table, tags: [daily]}
    data_tests: [{unique: {column_name: id}}]
    columns:
      - {name: id, data_type: int}
      - {name: region, data_type: string, data_tests: [not_null]}
    versions:
      - v: 1
        columns: [{include: all, exclude: [region]}]
      - v: 2
        config: {alias: dim, tags: [new]}
      - {v: 3, defined_in: dim_next, config: {materialized: view}}
"""
FILES = {
    "models/marts/dim_v1.sql": "select 1 as id",
    "models/marts/dim_v2.sql": "select 1 as id, 'eu' as region",
    "models/marts/dim_next.sql": "select * from {{ ref('dim', v=2) }}",
    "models/marts/old.sql": "select * from {{ ref('dim', version=1) }}",
    "models/marts/new.sql": "select * from {{ ref('dim') }}",
    "models/dim.yml": YAML,
}


def test_each_version_is_a_model_with_a_table_of_its_own(load) -> None:
    models = load(FILES).models

    assert {name: str(model.table) for name, model in models.items() if "dim" in name} == {
        "dim.v1": "marts.dim_v1",
        "dim.v2": "marts.dim",
        "dim.v3": "marts.dim_v3",
    }
    assert [models[f"dim.v{n}"].strategy_name for n in (1, 2, 3)] == ["table", "table", "view"]
    assert models["dim.v2"].tags == ("daily", "new")


def test_ref_reads_the_latest_version_or_the_one_that_it_names(load) -> None:
    models = load(FILES).models

    assert models["new"].depends_on == ("dim.v2",)
    assert models["old"].depends_on == ("dim.v1",)
    assert models["dim.v3"].depends_on == ("dim.v2",)


def test_a_version_has_the_columns_and_tests_of_those_that_it_includes(load) -> None:
    models = load(FILES).models

    assert [[c.name for c in models[f"dim.v{n}"].columns] for n in (1, 2)] == [
        ["id"],
        ["id", "region"],
    ]
    assert [[c.name for c in models[f"dim.v{n}"].checks.after] for n in (1, 2)] == [
        ["unique_id"],
        ["not_null_region", "unique_id"],
    ]


def test_the_latest_is_the_greatest_number_if_no_one_says(load) -> None:
    yaml = "models: [{name: dim, versions: [{v: 9}, {v: 10}]}]"

    models = load(
        {
            "models/dim_v9.sql": "select 1 as id",
            "models/dim_v10.sql": "select 2 as id",
            "models/new.sql": "select * from {{ ref('dim') }}",
            "models/dim.yml": yaml,
        }
    ).models

    assert models["new"].depends_on == ("dim.v10",)


def test_a_version_without_a_file_and_one_that_nobody_has_are_named(findings) -> None:
    versions = "[{v: 1}, {v: 2, defined_in: dim_2}]"
    files = {
        "models/dim_v1.sql": "select 1 as id",
        "models/dim.yml": f"models: [{{name: dim, latest_version: 1, versions: {versions}}}]",
        "models/new.sql": "select * from {{ ref('dim', v=7) }}",
    }

    assert findings(files, hints=True) == [
        (
            "models/dim.yml:1:60: error: unknown-model: version 2 of 'dim' has no file of its own: "
            "dim_2.sql\n  hint: write it, or name its file with defined_in"
        ),
        (
            "models/new.sql:1: error: unknown-reference: 'dim' has no version 7\n"
            "  hint: its versions are 1"
        ),
    ]
