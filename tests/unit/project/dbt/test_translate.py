"""A whole dbt project becomes a penstock project: each file by its text, each key in the report."""

import pytest

from fakes.dbt_shop import FILES, PROFILES, TOKEN
from penstock.project.dbt.editing.calls import config_calls
from penstock.project.dbt.editing.yaml_edits import compose
from penstock.project.dbt.gather import keys_in
from penstock.project.dbt.notes import Fate, RefusedProjectError
from penstock.project.dbt.settings import DbtTarget, read_profile
from penstock.project.dbt.translate import DbtFiles, translate

TARGET = DbtTarget("dev", "spark", "analytics", "")
KEYED = "{{ config(materialized='incremental', unique_key='id') }}\nselect 1 as id\n"
BLOCK = """\
{% snapshot a %}
{{ config(strategy='check', check_cols='all', unique_key='id') }}
select 1 as id
{% endsnapshot %}
"""


def imported(files=FILES, target=TARGET, manifest=None, **more):
    texts = {path: text for path, text in {**files, **more}.items() if path != "profiles.yml"}
    return translate(DbtFiles({p: t.encode() for p, t in texts.items()}, target, manifest))


def one(files, target=TARGET):
    """Import a small project, and return its files as texts."""
    project = imported({"dbt_project.yml": "name: shop\n", **files}, target)
    return {path: data.decode() for path, data in project.files.items()}, project


def notes(project, source, fate=None):
    (found,) = [each for each in project.sources if each.source == source]
    return {note.what: note.why for note in found.notes if fate in (None, note.fate)}


def refused(files):
    with pytest.raises(RefusedProjectError) as error:
        imported(files)
    return [(str(each.where), each.code) for each in error.value.findings]


def test_folders_and_hooks_of_dbt_project_are_in_penstock_yml():
    files = imported().files

    assert (
        files["penstock.yml"].decode()
        == """\
# From dbt_project.yml of the dbt project shop.
name: shop
version: 1
models: [models, snapshots]

vars:
  first_day: "2024-01-01"
  min_amount: 0

defaults:
  # The schema of the target in profiles.yml.
  schema: analytics
  models/:
    materialized: view
  models/staging/:
    tags: [staging]
    schema: analytics_staging
  models/marts/:
    materialized: table
    schema: analytics_marts
    hooks: {after: ["analyze table {{ this }} compute statistics"]}
  snapshots/:
    schema: history

hooks:
  after: ["create table if not exists {{ target.schema }}.ends as select 1 as n"]

targets:
  dev:
    # The folder with a folder per schema. To adopt tables, name theirs.
    warehouse: warehouse
    # dbt-spark turns ANSI mode off. Without this, a cast that fails is an error.
    spark: {conf: {spark.sql.ansi.enabled: "false"}}
"""
    )


def test_a_query_keeps_its_layout_and_its_comments():
    text = imported().files["models/staging/stg_orders.sql"].decode()

    before = FILES["models/staging/stg_orders.sql"]
    head = "{# From models/staging/stg_orders.sql of the dbt project shop. #}\n"
    assert text == head + before.replace("}};", "}}")


def test_yaml_keeps_its_comments_and_loses_only_what_nothing_reads():
    text = imported().files["models/marts/marts.yml"].decode()

    assert "    # what finance reads\n" in text
    assert '    description: "All *orders* of the shop."\n' in text
    assert "docs:" not in text
    assert "quote:" not in text
    assert "metrics" not in text
    assert "config: {severity: warn}\n" in text


def test_a_model_that_merges_stays_incremental_and_ignores_new_columns():
    text = imported().files["models/marts/orders.sql"].decode()

    assert (
        text.partition("}}")[0]
        == """\
{# From models/marts/orders.sql of the dbt project shop. #}
{{
    config(
        materialized = 'incremental',
        unique_key = 'order_id',
        merge_update_columns = ['amount', 'cents'],
        on_schema_change='ignore'
    )
"""
    )


def test_append_of_spark_does_not_use_the_key():
    files, project = one({"models/a.sql": KEYED})

    assert (
        files["models/a.sql"]
        == """\
{# From models/a.sql of the dbt project shop. #}
{{ config(materialized='incremental', window='none', on_schema_change='ignore') }}
select 1 as id
"""
    )
    assert notes(project, "models/a.sql", Fate.DROPPED) == {
        "config.unique_key": "append of dbt does not use a key"
    }


def test_other_adapters_merge_by_default():
    files, _ = one(
        {"models/a.sql": KEYED},
        DbtTarget("dev", "databricks", "x", ""),
    )

    assert (
        "config(materialized='incremental', unique_key='id', on_schema_change='ignore')"
        in files["models/a.sql"]
    )


def test_a_microbatch_model_is_one_of_partitions_and_reads_its_range():
    text = imported().files["models/marts/clicks_by_day.sql"].decode()

    assert (
        text
        == """\
{# From models/marts/clicks_by_day.sql of the dbt project shop. #}
{{ config(
    materialized='partition',
    lookback='all',
    partition_by=['clicked_on'],
    start='2024-03-01',
) }}
select clicked_on, count(*) as clicks from (select * from {{ ref('clicks_log') }} \
where clicked_on >= @start_date and clicked_on < @end_date) group by 1
"""
    )


BATCHES = """\
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='sold_at',
   batch_size='hour', begin='2024-03-01', lookback=3) }}
select sold_at from {{ ref('a') }}
"""


@pytest.mark.parametrize(
    ("columns", "kind", "written"),
    [
        ("", "timestamp", "models: [{name: m}]"),
        ("[{name: sold_at, data_type: date}]", "date", "columns: [{name: sold_at}]"),
        ("[{name: x, data_type: int}]", "timestamp", "columns: [{name: x}]"),
    ],
)
def test_the_type_of_an_event_time_is_that_of_yaml_else_of_its_name(columns, kind, written):
    yaml = f"models:\n  - name: m\n    columns: {columns}\n" if columns else "models: [{name: m}]\n"
    files, _ = one({"models/m.sql": BATCHES, "models/a.sql": "select 1 as x", "models/m.yml": yaml})

    assert "lookback='all'" in files["models/m.sql"]
    assert f"start='2024-03-01', partition_data_type='{kind}'" in files["models/m.sql"]
    assert "data_type" not in files["models/m.yml"]
    assert written in files["models/m.yml"]


def test_insert_overwrite_replaces_the_partitions_of_the_query():
    text = imported().files["models/marts/daily_amounts.sql"].decode()

    assert "materialized='table'" in text
    assert "overwrite='partitions'" in text
    assert "location_root" not in text


def test_a_schema_of_a_model_is_the_one_that_dbt_would_build():
    text = imported().files["models/marts/customers.sql"].decode()

    assert "{{ config(alias='dim_customers', schema='analytics_finance') }}" in text


@pytest.mark.parametrize(
    ("macro", "schema"),
    [
        ("{{ custom_schema_name or target.schema }}", "finance"),
        ("{{ generate_schema_name_for_env(custom_schema_name, node) }}", "analytics"),
        ("{%- if target.name == 'dev' -%} {{ return('ann') }} {%- endif -%}", "ann"),
        ("{{ default__generate_schema_name(custom_schema_name, node) }}", "analytics_finance"),
    ],
)
def test_the_projects_own_macro_names_schemas(macro, schema):
    text = "{% macro generate_schema_name(custom_schema_name, node) %}" + macro + "{% endmacro %}\n"
    files, _ = one(
        {
            "macros/names.sql": text,
            "models/a.sql": "{{ config(schema='finance') }}\nselect 1 as n\n",
        }
    )

    assert f"schema='{schema}'" in files["models/a.sql"]
    assert "macros/names.sql" not in files


def test_notes_name_the_lines_of_settings_in_dbt_project():
    text = "name: shop\nmodels:\n  shop:\n    +tags: [a]\n    marts:\n      +materialized: view\n"

    _, project = one({"dbt_project.yml": text, "models/a.sql": "select 1 as n\n"})

    (found,) = [each for each in project.sources if each.source == "dbt_project.yml"]
    assert [(each.line, each.what) for each in sorted(found.notes)] == [
        (1, "name"),
        (4, "models.shop.+tags"),
        (6, "models.shop.marts.+materialized"),
    ]


def test_a_macro_that_only_dbt_can_run_needs_a_hand():
    text = "{% macro generate_schema_name(a, b) %}{{ run_query('x') }}{% endmacro %}\n"
    _, project = one(
        {
            "macros/names.sql": text,
            "models/a.sql": "{{ config(schema='finance') }}\nselect 1 as n\n",
        }
    )

    assert "config.schema" in notes(project, "models/a.sql", Fate.BY_HAND)


def test_a_snapshot_block_is_a_file_of_its_name_with_the_columns_of_dbt():
    text = imported().files["snapshots/orders_history.sql"].decode()

    assert (
        text
        == """\
{# From snapshots/orders.sql of the dbt project shop. #}
{{
    config(
        schema='history',
        unique_key='order_id',
        strategy='timestamp',
        updated_at='ordered_at',
        invalidate_hard_deletes=True,
        materialized='snapshot',
        layout='dbt'
    )
}}
select * from {{ ref('stg_orders') }}
"""
    )


def test_two_snapshots_of_a_file_are_two_files():
    files, _ = one({"snapshots/all.sql": BLOCK + BLOCK.replace("t a", "t b")})

    assert {path for path in files if path.startswith("snapshots/")} == {
        "snapshots/a.sql",
        "snapshots/b.sql",
    }


def test_a_snapshot_of_yaml_says_its_layout_there():
    text = imported().files["snapshots/countries.yml"].decode()

    assert text.endswith("      check_cols: all\n      materialized: snapshot\n      layout: dbt\n")


def test_a_description_of_a_snapshot_with_a_file_is_under_models():
    files, _ = one(
        {
            "snapshots/a.sql": BLOCK,
            "snapshots/a.yml": "snapshots:\n  # it\n  - name: a\n    description: It.\n",
        }
    )

    assert files["snapshots/a.yml"] == (
        "# From snapshots/a.yml of the dbt project shop.\n"
        "models:\n  # it\n  - name: a\n    description: It.\n"
    )


def test_packages_keep_their_own_values_of_vars():
    files, _ = one(
        {
            "dbt_project.yml": (
                "name: shop\nvars:\n  day: 1\n  shop: {own: 2}\n  oven: {day: 3, raw: baked}\n"
            ),
            "models/a.sql": "select 1 as id",
            "dbt_packages/oven/dbt_project.yml": "name: oven\nvars: {oven: {heat: 4, day: 5}}",
            "dbt_packages/oven/models/o.sql": "select {{ var('heat') }} as heat",
            "dbt_packages/oven/models/s.yml": (
                "sources:\n  - name: s\n    schema: \"{{ var('raw', 'r') }}_{{ var('heat') }}\"\n"
                "    tables: [{name: t}]\n"
            ),
            "dbt_packages/mill/dbt_project.yml": (
                "name: mill\nvars: {heat: 6, stone: 7, raw: milled}"
            ),
            "dbt_packages/mill/models/m.sql": "select {{ var('heat') }} as heat",
            "dbt_packages/mill/models/s.yml": (
                "sources: [{name: u, schema: \"{{ var('raw') }}\", tables: [{name: t}]}]"
            ),
        }
    )

    assert files["penstock.yml"].partition("vars:\n")[2].partition("\ndefaults")[0] == (
        "  day: 1\n  own: 2\n  heat: 6\n  stone: 7\n  raw: milled\n"
        "  oven: {heat: 4, day: 3, raw: baked}\n"
    )
    assert "schema: baked_4\n" in files["models/packages/oven/s.yml"]
    assert "schema: milled," in files["models/packages/mill/s.yml"]


def test_settings_of_the_project_win_over_those_of_folders_of_a_package():
    files, project = one(
        {
            "dbt_project.yml": (
                "name: shop\nmodels:\n  +schema: all\n  oven: {raw: {+materialized: view}}\n"
            ),
            "models/a.sql": "select 1 as id",
            "dbt_packages/oven/dbt_project.yml": (
                "name: oven\nmodels:\n  oven:\n    +materialized: table\n"
                "    raw: {+schema: raw, +materialized: table, base: {+schema: base}}\n"
            ),
            "dbt_packages/oven/models/raw/r.sql": "select 1 as r",
            "dbt_packages/oven/models/raw/base/b.sql": "select 1 as b",
        }
    )

    assert files["penstock.yml"].partition("defaults:\n")[2].partition("\ntargets")[0] == (
        "  # The schema of the target in profiles.yml.\n  schema: analytics\n"
        "  models/:\n    schema: analytics_all\n"
        "  models/packages/oven/:\n    materialized: table\n    schema: analytics_all\n"
        "  models/packages/oven/raw/:\n    materialized: view\n"
    )
    assert project.count("model") == {Fate.TAKEN: 3}


def test_a_database_that_is_empty_for_spark_needs_no_hand():
    empty = "{% if target.type != 'spark' %}{{ var('db') }}{% endif %}"
    yaml = (
        f'sources:\n  - name: a\n    database: "{empty}"\n    tables: [{{name: t}}]\n'
        "  - name: b\n    database: lake\n    tables: [{name: t}]\n"
    )
    files, project = one({"models/s.yml": yaml})

    assert "database" not in files["models/s.yml"]
    assert [*notes(project, "models/s.yml", Fate.DROPPED)] == ["sources[a].database"]
    assert [*notes(project, "models/s.yml", Fate.BY_HAND)] == ["sources[b].database"]


@pytest.mark.parametrize("adapter", ["", "spark", "databricks", "snowflake"])
def test_what_depends_on_the_adapter_is_what_spark_needs(adapter):
    kind = "{{ 'string' if target.type in ['spark', 'databricks'] else 'varchar' }}"
    files, _ = one(
        {
            "dbt_project.yml": (
                f'name: shop\nseeds:\n  shop:\n    a:\n      +column_types: {{id: "{kind}"}}\n'
            ),
            "seeds/a.csv": "id\n1\n",
        },
        DbtTarget("dev", adapter, "x", ""),
    )

    assert "column_types: {id: string}" in files["seeds/schemas.yml"]


def test_seeds_have_the_types_that_dbt_finds_in_their_values():
    files, project = one(
        {
            "seeds/a.csv": "id,name,at\n1,Ada,2024-01-31T10:00:00\n",
            "seeds/b.csv": 'id,price\n1,"1,200.50"\n',
            "seeds/b.yml": (
                "seeds:\n  - name: b\n    config:\n"
                "      column_types: {gone: int, price: decimal(9)}\n"
            ),
        }
    )

    assert files["seeds/schemas.yml"] == (
        "# Schemas and types of seeds without YAML.\nseeds:\n  - name: a\n    config:\n"
        "      schema: analytics\n      column_types: {id: bigint, at: timestamp}\n"
    )
    assert files["seeds/b.yml"].endswith(
        '      column_types: {id: bigint, price: "decimal(9)"}\n      schema: analytics\n'
    )
    assert "seeds[b].config.column_types" in notes(project, "seeds/b.yml", Fate.CHANGED)


def test_seeds_have_the_schema_of_their_folder_settings():
    files = imported().files

    assert b"      schema: analytics_seeds\n" in files["seeds/schemas.yml"]
    assert b"      schema: analytics_seeds\n" in files["seeds/seeds.yml"]
    assert files["seeds/countries.csv"].decode() == FILES["seeds/countries.csv"]


def test_a_seed_with_another_delimiter_is_written_with_commas():
    files, _ = one(
        {
            "seeds/a.csv": "id;name\n1;a, b\n",
            "seeds/a.yml": "seeds:\n  - name: a\n    config: {delimiter: ';'}\n",
        }
    )

    assert files["seeds/a.csv"] == 'id,name\n1,"a, b"\n'


def test_tags_of_a_folder_and_of_a_model_add_up():
    text = "name: shop\nmodels: {shop: {+tags: [all], marts: {+tags: marts}}}\n"
    files, _ = one(
        {
            "dbt_project.yml": text,
            "models/marts/a.sql": "{{ config(tags=['own']) }}\nselect 1 as n\n",
            "models/marts/b.sql": "select 1 as n\n",
        }
    )

    assert "config(tags=['all', 'marts', 'own'])" in files["models/marts/a.sql"]
    assert "  models/marts/:\n    tags: [all, marts]\n" in files["penstock.yml"]


def test_macros_of_a_package_are_taken_where_they_are_called():
    package = {
        "dbt_packages/tools/dbt_project.yml": "name: tools\nmodels: {tools: {+schema: tools}}\n",
        "dbt_packages/tools/macros/m.sql": "{% macro one() %}1{% endmacro %}\n",
        "dbt_packages/tools/models/base/t.sql": "select 1 as n\n",
        "dbt_packages/other/dbt_project.yml": "name: other\n",
        "dbt_packages/other/macros/m.sql": "{% macro two() %}2{% endmacro %}\n",
    }
    files, project = one({"models/a.sql": "select {{ tools.one() }} as n\n", **package})

    assert "packages/tools/macros/m.sql" in files
    assert "models/packages/tools/base/t.sql" in files
    assert "  models/packages/tools/:\n    schema: analytics_tools\n" in files["penstock.yml"]
    assert "packages/other/macros/m.sql" not in files
    assert "macros" in notes(project, "dbt_packages/other/macros/m.sql", Fate.DROPPED)


def test_a_package_that_is_not_installed_is_reported_and_the_rest_imported():
    project = imported()

    assert notes(project, "packages.yml", Fate.BY_HAND) == {
        "acme/tools": "run dbt deps in the dbt project and import again: "
        "nothing of this package is there"
    }
    assert "models/marts/orders.sql" in project.files


def test_a_package_of_a_repository_is_found_by_the_name_that_it_has():
    _, project = one(
        {
            "packages.yml": "packages: [{git: 'https://host/acme/dbt-audit-helper.git'}]\n",
            "dbt_packages/audit_helper/dbt_project.yml": "name: audit_helper\n",
        }
    )

    assert notes(project, "packages.yml", Fate.BY_HAND) == {}


def test_a_source_that_is_disabled_is_left_out():
    files, _ = one(
        {
            "models/s.yml": "sources:\n  - name: a\n    config: {enabled: false}\n"
            "    tables: [{name: t}]\n  - name: b\n    tables: [{name: t}]\n"
        }
    )

    assert files["models/s.yml"] == (
        "# From models/s.yml of the dbt project shop.\n"
        "sources:\n  - name: b\n    tables: [{name: t}]\n"
    )


def test_a_materialization_of_the_project_needs_a_hand():
    files, project = one(
        {
            "macros/m.sql": "{% materialization mine, default %}x{% endmaterialization %}\n",
            "models/a.sql": "{{ config(materialized='mine') }}\nselect 1 as n\n",
        }
    )

    assert "materialization mine" in notes(project, "macros/m.sql", Fate.BY_HAND)
    assert "macros/m.sql" not in files
    assert "config.materialized" in notes(project, "models/a.sql", Fate.BY_HAND)


def test_every_key_of_every_yaml_file_is_in_the_report():
    project = imported()

    missing = []
    for path in FILES:
        if not path.endswith(".yml") or path in ("profiles.yml", "packages.yml"):
            continue
        root, _ = compose(path, FILES[path])
        said = notes(project, path)
        for key, line in keys_in(root):
            holders = [
                each for each in said if key == each or key.startswith((f"{each}.", f"{each}["))
            ]
            inner = [each for each in said if each.startswith((f"{key}.", f"{key}["))]
            missing += [] if holders or inner else [f"{path}:{line}: {key}"]

    assert missing == []


def test_every_setting_of_every_header_is_in_the_report():
    project = imported()

    missing = [
        f"{path}: {argument.name}"
        for path, text in FILES.items()
        if path.endswith(".sql") and not path.startswith("analyses/")
        for call in config_calls(text)
        for argument in call.arguments
        if f"config.{argument.name}" not in notes(project, path)
    ]

    assert missing == []


def test_every_file_is_in_the_report():
    project = imported()

    assert {each.source for each in project.sources} == FILES.keys() - {"profiles.yml"}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"dbt_project.yml": "name: 7up\n"}, [("dbt_project.yml:1", "bad-value")]),
        ({"dbt_project.yml": "a: [\n"}, [("dbt_project.yml:2:1", "yaml-syntax")]),
        (
            {
                "dbt_project.yml": "name: shop\n",
                "models/a.sql": "{{ config(",
                "models/b/c.sql": "select 1",
                "models/c.sql": "select 1",
                "models/x.yml": "models: [",
            },
            [
                ("models/a.sql:1", "template-syntax"),
                ("models/c.sql:1", "duplicate-model"),
                ("models/x.yml:1:10", "yaml-syntax"),
            ],
        ),
    ],
)
def test_what_dbt_refuses_is_refused_with_all_findings(files, found):
    assert refused(files) == found


def test_of_a_profile_only_names_are_read():
    target = read_profile(PROFILES, "shop", "")

    assert target == DbtTarget("dev", "spark", "analytics", "spark_catalog")
    assert TOKEN not in repr(imported(target=target))


@pytest.mark.parametrize(
    "text",
    ["shop: {target: dev, outputs: {dev: {schema: 'a b;c', type: spark}}}", "a: *secret", "x: ["],
)
def test_a_profile_that_cannot_be_read_gives_no_text(text):
    target = read_profile(text, "shop", "")

    assert target in (None, DbtTarget("dev", "spark", "", ""))


def test_a_schema_from_the_environment_has_its_default():
    text = "shop: {target: dev, outputs: {dev: {schema: \"{{ env_var('S', 'ann') }}_x\"}}}"

    assert read_profile(text, "shop", "") == DbtTarget("dev", "", "ann_x", "")


def test_hooks_and_grants_of_folders_headers_and_yaml_are_taken():
    settings = "    +grants: {select: [bob]}\n    +post-hook: analyze {{ this }}\n"
    header = "{{ config(post_hook='optimize {{ this }}', grants={'+select': ['ann']}) }}\n"
    yaml = "models:\n  - name: b\n    config:\n      pre_hook: set a = 1\n"
    files, project = one(
        {
            "dbt_project.yml": f"name: shop\nmodels:\n  shop:\n{settings}",
            "models/a.sql": f"{header}select 1 as n\n",
            "models/b.sql": "select 1 as n\n",
            "models/b.yml": f"{yaml}      grants: {{+select: [eve], modify: []}}\n",
        }
    )

    found = files["penstock.yml"]
    assert '    grants: {select: [bob]}\n    hooks: {after: ["analyze {{ this }}"]}\n' in found
    assert header in files["models/a.sql"]
    assert files["models/b.yml"].partition("\n")[2] == (
        f"{yaml}      grants: {{+select: [eve], modify: []}}\n"
    )
    assert Fate.BY_HAND not in {n.fate for each in project.sources for n in each.notes}
