"""Seeds on real tables, and models that read them."""

from penstock.app.seeding import seed


def load(place):
    shop = place.shop()
    try:
        return seed(shop)
    finally:
        shop.close()


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
