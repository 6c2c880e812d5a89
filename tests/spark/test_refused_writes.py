"""What Delta would store otherwise, or not at all, is refused before it is written.

Empty texts that partition a table, and names of columns, in each strategy.
"""

import datetime as dt

import pytest

from fakes.place import Place
from fakes.place import statuses as of_each
from penstock.app.commands.run import run
from penstock.app.commands.seed import seed
from penstock.app.request import RunRequest, SnapshotRequest

CITIES = "select id, city, ts from {{ source('raw', 'cities') }}"
CHECK = {"materialized": "snapshot", "strategy": "check", "unique_key": "id", "check_cols": "all"}
KINDS = {
    "whole": {"materialized": "table"},
    "parts": {"materialized": "table", "overwrite": "partitions"},
    "log": {"materialized": "append", "time_column": "ts"},
    "keyed": {"materialized": "merge", "unique_key": "id"},
    "hist": CHECK,
}
LOST = (
    "1 rows of '{}' hold a text in 'city' that Delta would store as NULL, because the column "
    "partitions the table"
)


def both(place: Place, *wanted: str) -> dict[str, object]:
    """Run tables and history tables; give the results of the wanted models, else of all."""
    found = {}
    for asked in (RunRequest(), SnapshotRequest()):
        services = place.services()
        try:
            found |= run(services, asked)
        finally:
            services.close()
    return {name: each for name, each in found.items() if name in (wanted or found)}


@pytest.fixture(scope="module")
def cities(tmp_path_factory, spark) -> Place:
    place = Place(tmp_path_factory.mktemp("cities"), spark)
    place.source("cities", "id INT, city STRING, ts TIMESTAMP")
    for name, config in KINDS.items():
        place.model(name, CITIES, partition_by="city", **config)
    place.insert("cities", "(1, 'Rome', '2024-01-01'), (2, NULL, '2024-01-02')")
    return place


@pytest.mark.matrix
def test_an_empty_partition_value_is_refused_in_every_strategy_and_the_hint_helps(cities) -> None:
    first = both(cities)
    cities.insert("cities", "(3, '', '2024-01-03')")
    for name, config in KINDS.items():
        cities.model(f"new_{name}", CITIES, partition_by="city", **config)

    refused = both(cities)
    hint = refused["hist"].error.hint
    for name, config in KINDS.items():
        mended = "coalesce(nullif(city, ''), 'none')"
        cities.model(
            name, CITIES.replace("city", f"{mended} as city"), partition_by="city", **config
        )
    mended_ones = both(cities, *KINDS)

    assert set(of_each(first).values()) == {"success"}
    assert {name: each.error.code for name, each in refused.items()} == dict.fromkeys(
        [*KINDS, *(f"new_{name}" for name in KINDS)], "empty-partition-value"
    )
    keyed = (" (e.g. id=3 city='')" if name[-4:] in ("eyed", "hist") else "" for name in refused)
    assert {name: each.error.sentence for name, each in refused.items()} == {
        name: LOST.format(name) + sample for name, sample in zip(refused, keyed, strict=True)
    }
    assert hint == ("select NULL or another text in its place: coalesce(nullif(city, ''), 'none')")
    assert [cities.version(f"new_{name}") for name in KINDS] == [-1] * 5
    assert set(of_each(mended_ones).values()) == {"success"}
    for name in KINDS:
        found = cities.sql(f"SELECT city FROM {cities.table(name)} WHERE id = 3")
        assert found == [("none",)]


@pytest.mark.matrix
def test_names_that_delta_refuses_are_named_in_every_strategy_and_the_hints_help(
    tmp_path, spark
) -> None:
    place = Place(tmp_path, spark)
    place.source("odd", "id INT, d DATE, ts TIMESTAMP")
    odd = place.landing("odd")
    place.sql(f"ALTER TABLE {odd} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    place.sql(f"ALTER TABLE {odd} ADD COLUMNS (`unit price` INT, s STRUCT<`a;b`: INT>)")
    row = "(1, DATE'2024-01-01', TIMESTAMP'2024-01-01', 7, named_struct('a;b', 1))"
    place.sql(f"INSERT INTO {odd} VALUES {row}")
    yesterday = dt.datetime.now(dt.UTC) - dt.timedelta(1)
    days = {"materialized": "partition", "partition_by": "d", "start": f"{yesterday:%Y-%m-%d}"}
    kinds = {name: KINDS[name] for name in ("whole", "log", "keyed", "hist")}
    query = "select * from {{ source('raw', 'odd') }}"
    for name, config in kinds.items():
        place.model(name, query, **config)
    place.model("daily", f"{query} where d = @partition_date", **days)

    refused = both(place)
    for name, config in kinds.items():
        place.model(name, query, table_properties={"delta.columnMapping.mode": "name"}, **config)
    allowed = both(place, *kinds)

    assert {name: each.error.code for name, each in refused.items()} == dict.fromkeys(
        [*kinds, "daily"], "column-name"
    )
    assert refused["whole"].error.sentence == (
        "Delta refuses the name of column 'unit price' of 'whole': it has a space; "
        "Delta refuses the name of column 's.a;b' of 'whole': it has ';'"
    )
    assert refused["whole"].error.hint == (
        "rename it, or set table_properties: {'delta.columnMapping.mode': 'name'}"
    )
    assert {name: place.version(name) for name in refused} == dict.fromkeys(kinds, 0) | {
        "daily": -1
    }
    assert set(of_each(allowed).values()) == {"success"}


def test_a_seed_whose_header_has_a_blank_is_refused_by_name(place) -> None:
    place.write("seeds/prices.csv", "id,unit price\n1,2\n")
    services = place.services()
    try:
        report = seed(services)
    finally:
        services.close()

    assert report["prices"].error.code == "column-name"
    assert "'unit price'" in report["prices"].error.sentence
