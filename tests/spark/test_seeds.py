"""Seeds on real tables, and models that read them."""

import pytest

from fakes import seed_place
from penstock.app.commands.seed import seed


def load(place):
    services = place.services()
    try:
        return seed(services)
    finally:
        services.close()


def test_a_seed_keeps_declared_text_and_its_readers_follow_it(place) -> None:
    place.write("seeds/countries.csv", "code,zip,since\nDE,01234,2020-01-01\nFR,,\n")
    place.write(
        "seeds/seeds.yml", "seeds: [{name: countries, config: {column_types: {zip: STRING}}}]"
    )
    place.model(
        "codes", "select code, zip, since from {{ ref('countries') }}", materialized="table"
    )
    first = load(place)
    again = load(place)
    place.run()
    place.write("seeds/countries.csv", "code,zip,since\nDE,99,2021-01-01\n")
    changed = load(place)

    followed = place.run()

    assert [r["countries"].status for r in (first, again, changed)] == [
        "success",
        "unchanged",
        "success",
    ]
    assert first["countries"].rows.inserted == 2
    assert followed["codes"].reason == "upstream_changed: countries"
    assert [(code, zip_, str(since)) for code, zip_, since in place.rows("codes")] == [
        ("DE", "99", "2021-01-01")
    ]


@pytest.mark.matrix
def test_sync_builds_what_reads_a_seed_and_again_what_reads_a_seed_that_was_loaded_anew(
    tmp_path, spark
) -> None:
    place = seed_place.seed_place(tmp_path, spark)
    seed_place.load(place)
    built = place.sync()
    settled = place.states()
    with (tmp_path / seed_place.SEED).open("a") as file:
        file.write("IT,Italy,2024-01-03\n")

    before = place.status()
    idle = place.sync()
    seed_place.load(place)
    drifted = place.states()
    made = place.sync("+weekly", cascade=True)
    rest = place.sync("+codes")

    assert built.succeeded
    assert set(map(tuple, settled.values())) == {()}
    line = "countries: source_changed: countries.csv changed; penstock seed loads it"
    assert {m.model for m in before.models if line in m.lines} == {"daily", "named", "codes"}
    assert (idle.plan.is_empty, idle.notes) == (True, (line,))
    assert drifted == {
        "daily": ["upstream_changed 2024-01-01..2024-01-03"],
        "weekly": ["upstream_changed pending 2024-01-01"],
        "named": [],
        "codes": ["upstream_changed *"],
    }
    assert (made.succeeded, rest.succeeded) == (True, True)
    assert place.rows("m/daily")[-1] == ("2024-01-03", "IT", "Italy")
    assert place.rows("m/weekly") == [("2024-01-01", "3")]
    assert place.sql(f"SELECT count(*) FROM {place.table('m/codes')}") == [(3,)]
    assert set(map(tuple, place.states().values())) == {()}


@pytest.mark.matrix
def test_backfill_and_rollback_of_what_reads_a_seed_leave_the_seed_alone(tmp_path, spark) -> None:
    place = seed_place.seed_place(tmp_path, spark)
    seed_place.load(place)
    place.sync()

    backfilled = place.backfill("daily", "2024-01-02", "2024-01-03", cascade=True)
    step = backfilled["daily"].step
    taken_back = place.rollback("daily", step)

    assert [(r.name, r.ok) for r in backfilled.results] == [("daily", True), ("weekly", True)]
    assert taken_back.model == "daily"
    assert place.rows("m/daily") == [
        ("2024-01-01", "DE", "Germany"),
        ("2024-01-02", "FR", "France"),
    ]
    assert place.version("shop/countries") == 0
