"""Columns that change."""

import pytest

from penstock.core.errors import SchemaChangeError


def changed(place, kind, first, then, **options):
    """Build a table of one select, then of another."""
    texts = [first, then]

    @place.app.source
    def raw_logs():
        return place.frame(1, 2)

    decorate = place.app.table if kind == "table" else place.app.incremental_table

    @decorate(name="t", **options)
    def made(raw_logs):
        return raw_logs.selectExpr(*texts[0])

    place.app.run()
    texts.pop(0)
    return place.app


IDS = ["id", "ts"]


def test_a_plain_table_keeps_its_columns_unless_it_may_change(place):
    app = changed(place, "table", IDS, [*IDS, "1 as c"])

    with pytest.raises(SchemaChangeError) as caught:
        app.run()
    app.run(safe=False)

    assert [str(each) for each in caught.value.added] == ["c INT"]
    assert "added=[c INT]" in caught.value.sentence
    assert place.rows("t", "id, c") == [(1, 1), (2, 1)]


@pytest.mark.matrix
def test_a_plain_table_that_may_change_takes_other_types_and_loses_columns(place):
    app = changed(place, "table", [*IDS, "1 as c"], ["string(id) as id", "date(ts) as ts"])

    app.run(safe=False)

    assert place.rows("t", "id, cast(ts as string)") == [("1", "2025-01-15"), ("2", "2025-01-15")]
    assert place.spark.sql(f"SELECT * FROM {place.table('t')}").columns == ["id", "ts"]


def test_an_incremental_table_gains_a_column(place):
    place.source(1, 2)
    texts = [["id", "ts"], ["id", "ts", "amount as c"]]

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.selectExpr(*texts[0])

    place.app.run()
    texts.pop(0)
    place.append(3)
    place.app.run(safe=False)

    assert place.rows("events", "id, c") == [(1, None), (2, None), (3, 30)]


@pytest.mark.matrix
def test_what_may_not_change(place):
    place.source(1, 2)
    texts = [["id", "ts", "amount"], ["id", "ts"], ["id", "ts", "string(amount) as amount"]]

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.selectExpr(*texts[0])

    place.app.run()
    texts.pop(0)
    place.append(3)
    place.app.run(safe=False)
    removed = place.rows("events", "id, amount")
    texts.pop(0)
    place.append(4)

    with pytest.raises(SchemaChangeError) as caught:
        place.app.run()

    with pytest.raises(SchemaChangeError) as not_asked:
        place.app.run(safe=False)

    assert removed == [(1, 10), (2, 20), (3, None)]
    assert (not_asked.value.passes, "full_refresh=True" in not_asked.value.hint) == (False, True)
    assert [str(each) for each in caught.value.type_changes] == ["amount: BIGINT -> STRING"]


@pytest.mark.matrix
def test_columns_that_change_places_stay_what_they_are(place):
    app = changed(
        place, "table", ["id", "amount as a", "id as b"], ["id", "id as b", "amount as a"]
    )

    app.run()

    assert place.rows("t", "a, b") == [(10, 1), (20, 2)]
