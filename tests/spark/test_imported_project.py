"""A dbt project that was imported: built with the rows that dbt would have given."""

import hashlib
from contextlib import nullcontext

import pytest

from fakes.dbt_shop import write_dbt
from fakes.place import Place
from penstock.app.commands.build import build
from penstock.app.commands.import_dbt import ImportRequest, import_dbt
from penstock.app.commands.migrate import migrate
from penstock.app.read_requests import BuildRequest

NOON = "2024-03-03T12:00:00Z"
FIRST = '''\
id,item,price,sold_at,note
1,roll,"1,200.5",2024-03-01T08:00:00,"so ""warm"""
2,cake,7.0,2024-03-01T09:00:00,
3,roll,2,2024-03-02T09:00:00,null
'''
MORE = "4,cake,9,2024-03-02T10:00:00,late\n5,roll,3,2024-03-03T10:00:00,\n"
CLICKS = "cast(sold_at as string), item"
HISTORY = "item, cast(dbt_valid_from as string), cast(dbt_valid_to as string), dbt_scd_id"
FILES = {
    "dbt_project.yml": """\
name: kiosk
profile: kiosk
vars: {step: 1, tools: {step: 10}}
models:
  kiosk: {+materialized: table, +file_format: delta}
seeds: {+schema: raw}
""",
    "profiles.yml": "kiosk:\n  target: d\n  outputs: {d: {type: spark, schema: shop}}\n",
    "seeds/sales.csv": FIRST,
    "models/stg_sales.sql": """\
{{ config(materialized='view', event_time='sold_at') }}
select id, item, price, sold_at, note from {{ ref('sales') }};
""",
    "models/prices_v1.sql": (
        "select item, max(price) as price from {{ ref('stg_sales') }} group by 1"
    ),
    "models/prices_v2.sql": (
        "select item, max(price) as price, count(*) as sold from {{ ref('stg_sales') }} group by 1"
    ),
    "models/prices.yml": """\
models:
  - name: prices
    latest_version: 2
    versions: [{v: 1}, {v: 2}]
""",
    "models/cheap.sql": """\
select a.item, a.price, b.sold, s.step
from {{ ref('prices', v=1) }} a join {{ ref('prices') }} b on a.item = b.item
cross join {{ ref('steps') }} s where a.price < {{ tools.dear(100) }}
""",
    "models/sales_log.sql": """\
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
select id, price, sold_at from {{ ref('stg_sales') }}
{% if is_incremental() %} where sold_at > (select max(sold_at) from {{ this }}) {% endif %}
""",
    "models/days.sql": """\
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='sold_on',
   batch_size='day', begin='2024-03-01', lookback=2) }}
select cast(sold_at as date) as sold_on, count(*) as sales from {{ ref('stg_sales') }} group by 1
""",
    "models/clicks.sql": """\
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='sold_at',
   batch_size='day', begin='2024-03-01', lookback=2) }}
select sold_at, item from {{ ref('stg_sales') }}
""",
    "models/best.py": """\
def model(dbt, session):
    dbt.config(materialized="table")
    prices = dbt.ref("cheap")
    return prices.select("item").crossJoin(session.range(2).toDF("n"))
""",
    "snapshots/items.sql": """\
{% snapshot items %}
{{ config(target_schema='history', unique_key='item', strategy='timestamp',
   updated_at='sold_at') }}
select item, max(sold_at) as sold_at from {{ ref('stg_sales') }} group by 1
{% endsnapshot %}
""",
    "dbt_packages/tools/dbt_project.yml": "name: tools\nvars: {step: 10}\n",
    "dbt_packages/tools/macros/dear.sql": "{% macro dear(n) %}{{ n }}{% endmacro %}",
    "dbt_packages/tools/models/steps.sql": "select {{ var('step') }} as step",
}


@pytest.fixture
def place(tmp_path, spark):
    import_dbt(ImportRequest(write_dbt(tmp_path / "kiosk", FILES), tmp_path / "new"), {})
    place = Place(tmp_path / "made", spark)
    place.root = tmp_path / "new"
    text = (place.root / "penstock.yml").read_text()
    place.write("penstock.yml", text.replace("spark: {", 'spark: {master: "local[1]", '))
    return place


def built(place, **asked):
    services = place.services()
    try:
        report = build(
            services,
            BuildRequest(as_of=NOON, **asked),
            lambda: nullcontext(lambda _: None),
            lambda _: None,
            lambda _: True,
        )
    finally:
        services.close()
    return {name: each.status for run in report.runs for name, each in run.items()}


def rows(place, table, columns="*"):
    folder = f"{place.root}/warehouse/{table.replace('.', '/')}"
    return sorted(place.sql(f"SELECT {columns} FROM delta.`{folder}`"), key=str)


def scd_id(key, at):
    """The id as dbt computes it on Spark."""
    return hashlib.md5(f"{key}|{at}".encode(), usedforsecurity=False).hexdigest()


def test_an_imported_project_is_built_as_dbt_builds_it(place):
    assert set(built(place, exclude_resource_type=("snapshot",)).values()) == {"success"}

    assert place.sql(f"DESCRIBE delta.`{place.root}/warehouse/shop_raw/sales`") == [
        ("id", "bigint", None),
        ("item", "string", None),
        ("price", "double", None),
        ("sold_at", "timestamp", None),
        ("note", "string", None),
    ]
    assert rows(place, "shop_raw.sales", "id, price, note") == [
        (1, 1200.5, 'so "warm"'),
        (2, 7.0, None),
        (3, 2.0, None),
    ]
    assert rows(place, "shop.prices_v1") == [("cake", 7.0), ("roll", 1200.5)]
    assert rows(place, "shop.prices_v2") == [("cake", 7.0, 1), ("roll", 1200.5, 2)]
    assert rows(place, "shop.cheap") == [("cake", 7.0, 1, 10)]
    assert rows(place, "shop.best") == [("cake", 0), ("cake", 1)]
    assert rows(place, "shop.clicks", CLICKS) == [
        ("2024-03-01 08:00:00", "roll"),
        ("2024-03-01 09:00:00", "cake"),
        ("2024-03-02 09:00:00", "roll"),
    ]


@pytest.mark.matrix
def test_the_next_build_takes_new_rows_and_goes_on_with_a_snapshot_of_dbt(place):
    old = ("roll", "2024-02-01 00:00:00")
    place.sql(
        f"CREATE TABLE delta.`{place.root}/warehouse/history/items` ("
        "item STRING, sold_at TIMESTAMP,"
        " dbt_scd_id STRING, dbt_updated_at TIMESTAMP, dbt_valid_from TIMESTAMP,"
        " dbt_valid_to TIMESTAMP) USING delta"
    )
    place.sql(
        f"INSERT INTO delta.`{place.root}/warehouse/history/items` VALUES ('{old[0]}', '{old[1]}',"
        f" '{scd_id(*old)}', '{old[1]}', '{old[1]}', NULL)"
    )

    built(place, exclude_resource_type=("snapshot",))
    services = place.services()
    adopted = migrate(services, "items", adopt=True).adopted
    services.close()
    seed = place.root / "seeds" / "sales.csv"
    seed.write_text(seed.read_text() + MORE)
    second = built(place)
    third = built(place)

    assert adopted
    assert {name for name, status in second.items() if status != "success"} == {
        "steps",
        "stg_sales",
    }
    assert set(third.values()) == {"unchanged"}
    assert rows(place, "shop.cheap") == [("cake", 9.0, 2, 10)]
    assert rows(place, "shop.sales_log", "id, price") == [
        *((1, 1200.5), (2, 7.0), (3, 2.0), (4, 9.0), (5, 3.0)),
    ]
    assert rows(place, "shop.days", "cast(sold_on as string), sales") == [
        ("2024-03-01", 2),
        ("2024-03-02", 2),
        ("2024-03-03", 1),
    ]
    assert rows(place, "shop.clicks", CLICKS)[2:] == [
        ("2024-03-02 09:00:00", "roll"),
        ("2024-03-02 10:00:00", "cake"),
        ("2024-03-03 10:00:00", "roll"),
    ]
    assert rows(place, "history.items", HISTORY) == [
        ("cake", "2024-03-02 10:00:00", None, scd_id("cake", "2024-03-02 10:00:00")),
        (*old, "2024-03-03 10:00:00", scd_id(*old)),
        ("roll", "2024-03-03 10:00:00", None, scd_id("roll", "2024-03-03 10:00:00")),
    ]
