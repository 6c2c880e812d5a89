"""A dbt project as text: a shop with the features that people use most."""

from pathlib import Path

TOKEN = "dapi-0123456789-never-shown"  # noqa: S105  of nobody
PROFILES = f"""\
shop:
  target: dev
  outputs:
    dev:
      type: spark
      schema: analytics
      catalog: spark_catalog
      host: {TOKEN}-host
      token: {TOKEN}
      password: "{TOKEN}'s"
      http_path: /sql/{TOKEN}
      user: {TOKEN}-user
      connect_args: {{auth: {TOKEN}}}
    prod: {{type: spark, schema: prod, token: {TOKEN}-prod}}
"""
FILES = {
    "dbt_project.yml": """\
name: shop
version: '1.0.0'
config-version: 2
profile: shop
model-paths: [models]
docs-paths: [docs]
vars:
  first_day: '2024-01-01'
  shop: {min_amount: 0}
on-run-end:
  - "create table if not exists {{ target.schema }}.ends as select 1 as n"
models:
  shop:
    +materialized: view
    staging:
      +tags: [staging]
      +schema: staging
    marts:
      +materialized: table
      +schema: marts
      +file_format: delta
      +post-hook: "analyze table {{ this }} compute statistics"
seeds:
  shop:
    +schema: seeds
snapshots:
  +target_schema: history
""",
    "profiles.yml": PROFILES,
    "seeds/countries.csv": "code,name\nDE,Germany\nFR,France\n",
    "seeds/raw_orders.csv": (
        "id,customer,country,amount,ordered_at\n"
        "1,ann,DE,10.5,2024-03-01\n2,bob,FR,20.0,2024-03-02\n3,ann,DE,5.0,2024-03-03\n"
    ),
    "seeds/seeds.yml": """\
version: 2
seeds:
  - name: raw_orders  # from the shop
    description: "{{ doc('orders') }}"
    docs: {show: false}
    config:
      column_types: {id: bigint, amount: "decimal(9, 2)", ordered_at: date}
      quote_columns: true
""",
    "models/staging/stg_orders.sql": """\
-- one row per order
with source as (

    select * from {{ ref('raw_orders') }}

)

select
    id as order_id,
    customer,
    country,
    {{ cents('amount') }} as cents,  -- a macro
    amount,
    ordered_at
from source
where amount >= {{ var('min_amount') }};
""",
    "models/staging/stg_clicks.sql": """\
select id, customer, clicked_on from {{ source('web', 'clicks') }}
""",
    "models/staging/big_orders.sql": """\
{{ config(materialized='ephemeral') }}
select * from {{ ref('stg_orders') }} where amount > 15
""",
    "models/staging/sources.yml": """\
version: 2
sources:
  - name: web
    schema: web_raw
    loader: kafka
    config:
      freshness: {warn_after: {count: 12, period: hour}}
      loaded_at_field: clicked_on
    tables:
      - name: clicks
        identifier: click_stream
        description: Every click.
        columns:
          - name: id
            data_tests: [not_null]
          - name: clicked_on
            config:
              meta: {unit: day}
      - name: visits
        quoting: {identifier: true}
""",
    "models/marts/orders.sql": """\
{{
    config(
        materialized = 'incremental',
        incremental_strategy = 'merge',
        unique_key = 'order_id',
        file_format = 'delta',
        merge_update_columns = ['amount', 'cents']
    )
}}

select * from {{ ref('stg_orders') }}
{% if is_incremental() %}
where ordered_at > (select max(ordered_at) from {{ this }})
{% endif %}
""",
    "models/marts/clicks_log.sql": """\
{{ config(materialized='incremental', unique_key='id', on_schema_change='append_new_columns',
          tags=['web']) }}
select id, customer, clicked_on from {{ ref('stg_clicks') }}
""",
    "models/marts/daily_amounts.sql": """\
{{ config(materialized='incremental', incremental_strategy='insert_overwrite',
          partition_by=['ordered_at'], location_root='/data') }}
select ordered_at, sum(amount) as amount from {{ ref('stg_orders') }} group by 1
""",
    "models/marts/customers.sql": """\
{{ config(alias='dim_customers', schema='finance', persist_docs={'relation': true}) }}
{% set kinds = ['big', 'small'] %}
select
    customer,
    {% for kind in kinds %}
    sum(case when amount {{ '>' if kind == 'big' else '<=' }} 15 then 1 else 0 end) as {{ kind }},
    {% endfor %}
    count(*) as orders
from {{ ref('orders') }}
group by customer
""",
    "models/marts/clicks_by_day.sql": """\
{{ config(
    materialized='incremental',
    incremental_strategy='microbatch',
    event_time='clicked_on',
    begin='2024-03-01',
    batch_size='day',
    lookback=2,
) }}
select clicked_on, count(*) as clicks from {{ ref('clicks_log') }} group by 1
""",
    "models/marts/big_countries.sql": """\
select country, count(*) as n from {{ ref('big_orders') }} group by country
""",
    "models/marts/spend.py": """\
import pyspark.sql.functions as F


def model(dbt, session):
    dbt.config(materialized="table", tags=["python"])
    orders = dbt.ref("orders")
    clicks = dbt.source("web", "clicks").groupBy("customer").count()
    return orders.join(clicks, "customer", how="left").withColumn("n", F.lit(1))
""",
    "models/marts/old_report.sql": """\
{{ config(enabled=false) }}
select * from {{ ref('orders') }}
""",
    "models/marts/marts.yml": """\
version: 2

models:
  - name: orders
    # what finance reads
    description: >
      {{ doc('orders') }}
    access: protected
    docs:
      show: true
    config:
      meta: {owner: finance}
      contract: {enforced: false}
    columns:
      - name: order_id
        quote: true
        data_tests:
          - unique:
              config: {severity: warn, store_failures_as: table}
          - not_null
      - name: country
        data_tests:
          - relationships: {to: ref('countries'), field: code}
          - accepted_values:
              arguments: {values: [DE, FR]}
  - name: clicks_log
    config: {event_time: clicked_on}
    columns:
      - {name: clicked_on, data_type: date}
    data_tests:
      - at_least: {column_name: id, least: 0}

metrics:
  - name: revenue
    label: Revenue
""",
    "models/marts/unit_tests.yml": """\
unit_tests:
  - name: small_orders_count
    model: big_countries
    given:
      - input: ref('big_orders')
        rows:
          - {order_id: 1, country: DE}
    expect:
      rows:
        - {country: DE, n: 1}
""",
    "models/docs.md": "# Texts\n\n{% docs orders %}\nAll *orders* of the shop.\n{% enddocs %}\n",
    "macros/cents.sql": """\
{% macro cents(column) %}cast({{ column }} * 100 as bigint){% endmacro %}
""",
    "macros/tests.sql": """\
{% test at_least(model, column_name, least) %}
select * from {{ model }} where {{ column_name }} < {{ least }}
{% endtest %}
""",
    "tests/no_refunds.sql": """\
{{ config(severity='warn', group='finance') }}
select * from {{ ref('orders') }} where amount < 0;
""",
    "snapshots/orders.sql": """\
{% snapshot orders_history %}
{{
    config(
        target_schema='history',
        unique_key='order_id',
        strategy='timestamp',
        updated_at='ordered_at',
        invalidate_hard_deletes=True
    )
}}
select * from {{ ref('stg_orders') }}
{% endsnapshot %}
""",
    "snapshots/countries.yml": """\
snapshots:
  - name: countries_history
    relation: ref('countries')
    config:
      schema: history
      strategy: check
      unique_key: code
      check_cols: all
""",
    "analyses/top.sql": "select * from {{ ref('orders') }} limit 5\n",
    "packages.yml": "packages:\n  - {package: acme/tools, version: 1.3.0}\n",
    "README.md": "# Shop\n",
}


def write_dbt(root: Path, files=FILES, **more):
    """Write a dbt project; `more` are other files by path with `__` for `/`."""
    for path, text in {**files, **more}.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root
