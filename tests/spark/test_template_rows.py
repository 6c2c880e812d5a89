"""Templates that read rows, on Spark: pivots over values, and columns that no file names."""

from contextlib import closing

import pytest

from fakes import delta_tables
from fakes.command import kill_at
from penstock.app.commands.query import query
from penstock.core.errors import TableError

SOURCES = """\
sources:
  - name: raw
    tables: [{{name: pays, path: {path}}}]
"""
ASK = (
    "{% set found = run_query('select distinct method from ' ~ source('raw', 'pays')) %}"
    "{% set methods = found.columns[0].values() if execute else [] %}"
)
PIVOT = (
    ASK + "select id{% for m in methods %}, sum(if(method = '{{ m }}', amount, 0)) as {{ m }}"
    "{% endfor %} from {{ source('raw', 'pays') }} group by id"
)
LONG = (
    "{% for c in adapter.get_columns_in_relation(ref('wide')) if c.name != 'id' %}"
    "select id, '{{ c.name }}' as method, {{ c.name }} as amount, '{{ c.data_type }}' as kind "
    "from {{ ref('wide') }}{% if not loop.last %} union all {% endif %}{% endfor %}"
)


@pytest.fixture
def pays(place):
    path = f"{place.root}/pays"
    delta_tables.create(path, "id INT, method STRING, amount BIGINT")
    delta_tables.append(path, "(1, 'card', 5), (1, 'cash', 2), (2, 'card', 1)")
    place.write("models/sources.yml", SOURCES.format(path=path))
    return path


def test_a_pivot_over_values_follows_the_rows_that_it_reads(place, pays):
    place.model("wide", PIVOT, materialized="table")
    place.model("long", LONG, materialized="table")

    first, second = place.run(), place.run()
    delta_tables.append(pays, "(2, 'gift', 4)")
    third, fourth = place.run(), place.run()

    assert [(r.name, r.status) for r in first.results] == [("wide", "success"), ("long", "success")]
    assert [r.status for r in second.results] == ["unchanged", "unchanged"]
    assert [(r.name, r.status) for r in third.results] == [("wide", "success"), ("long", "success")]
    assert [r.status for r in fourth.results] == ["unchanged", "unchanged"]
    assert sorted(place.sql(f"select id, card, cash, gift from {place.table('wide')}")) == [
        (1, 5, 2, 0),
        (2, 1, 0, 4),
    ]
    assert sorted(place.sql(f"select method, id, amount, kind from {place.table('long')}")) == [
        ("card", 1, 5, "bigint"),
        ("card", 2, 1, "bigint"),
        ("cash", 1, 2, "bigint"),
        ("cash", 2, 0, "bigint"),
        ("gift", 1, 0, "bigint"),
        ("gift", 2, 4, "bigint"),
    ]


def test_a_view_is_made_again_when_the_rows_that_it_reads_change(place, pays):
    place.model("wide", PIVOT)
    place.model("top", "select * from {{ ref('wide') }}", materialized="table")

    first = place.run()
    delta_tables.append(pays, "(2, 'gift', 4)")
    second, third = place.run(), place.run()

    assert [(r.name, r.status) for r in first.results] == [("wide", "success"), ("top", "success")]
    assert [(r.name, r.status) for r in second.results] == [("wide", "success"), ("top", "success")]
    assert [r.status for r in third.results] == ["unchanged", "unchanged"]
    found = place.sql(f"select id, card, cash, gift from {place.table('top')}")
    assert sorted(found) == [(1, 5, 2, 0), (2, 1, 0, 4)]


def test_a_view_whose_rows_no_run_has_read_is_not_read(place, pays):
    place.model("wide", PIVOT)
    place.model("top", "select * from {{ ref('wide') }}", materialized="table")

    report = place.run("top")
    with closing(place.services()) as services, pytest.raises(TableError) as caught:
        query(services, "select * from wide", 5)

    assert report["top"].error.code == "upstream-not-built"
    assert caught.value.code == "template-rows-unknown"


def test_a_merge_takes_the_text_that_new_rows_make(place, pays):
    place.model("known", PIVOT, materialized="merge", unique_key="id")
    place.run()
    delta_tables.append(pays, "(3, 'gift', 4)")

    report, again = place.run(), place.run()

    assert report["known"].status == "success"
    assert again["known"].status == "unchanged"
    assert sorted(place.sql(f"select id, card, cash, gift from {place.table('known')}")) == [
        (1, 5, 2, 0),
        (2, 1, 0, 0),
        (3, 0, 0, 4),
    ]


@pytest.mark.matrix
def test_a_run_that_is_killed_between_rows_and_its_step_is_done_by_the_next(place, pays):
    place.model("wide", PIVOT, materialized="table")
    place.model("seen", PIVOT)
    place.model("top", "select * from {{ ref('seen') }}", materialized="table")
    place.run()
    delta_tables.append(pays, "(2, 'gift', 4)")

    kill_at("after-rows:1", place.root, "run", spark=place.spark)
    place.run("top")
    second, third = place.run(), place.run()

    assert second.succeeded
    assert {r.status for r in third.results} == {"unchanged"}
    for name in ("wide", "top"):
        found = place.sql(f"select id, card, cash, gift from {place.table(name)}")
        assert sorted(found) == [(1, 5, 2, 0), (2, 1, 0, 4)]
