"""Change events: the latest wins, older ones do not count, a change feed tells what changed."""

import datetime as dt

import pyarrow as pa
import pytest

from fakes.entity_files import KEY, entity
from fakes.entity_place import T1, T2, T3, EntityPlace, counted

pytestmark = pytest.mark.spark

OPERATION = {"name": "op", "newname": "sys_op"}
EVENTS = {"sequence_by": "SeqNr", "delete_when": "op = 'D'", "ignore_when": "op = 'R'"}


def placed(tmp_path, spark, process="merge", *, columns=(KEY, OPERATION), **settings):
    said = {"columns": [*columns], "watermark": None, "settings": settings}
    return EntityPlace(tmp_path, spark, entity(process=process, **said))


def deliver(place, name, *rows):
    place.slice(name, *rows, columns="ID, SeqNr, name, op")


def result_of(report):
    (result,) = report.results
    return result


def told(report):
    return counted(result_of(report)).strip()


def extras(result):
    names = ("superseded", "ignored", "stale", "late")
    return {name: result.metrics[name] for name in names if result.metrics.get(name)}


def test_of_two_events_the_latest_counts_and_an_older_one_comes_too_late(spark, tmp_path):
    place = placed(tmp_path, spark, **EVENTS)
    rows = [(1, 1, "a", "I"), (1, 3, "c", "U"), (2, 1, "x", "I"), (3, 1, "r", "R")]
    deliver(place, "a", *rows, (4, 5, None, "D"))
    deliver(place, "b", (1, 2, "b", "U"), (2, 4, None, "D"), (4, 4, "late", "U"))
    deliver(place, "c", (2, 3, "late", "U"), (1, 4, "d", "U"))

    found = place.at(T1).results

    assert [counted(each) for each in found] == [
        "a.parquet 3/2/0/1",
        "b.parquet 1/0/0/1",
        "c.parquet 1/0/1/0",
    ]
    assert [extras(each) for each in found] == [
        {"superseded": 1, "ignored": 1},
        {"stale": 2},
        {"stale": 1},
    ]
    assert place.stored("ID, SeqNr, name, p_deleted") == [
        (1, 4, "d", False),
        (2, 4, "x", True),
        (4, 5, None, True),
    ]


@pytest.mark.matrix
def test_an_older_event_is_placed_in_a_history_with_times(spark, tmp_path):
    columns = (KEY, OPERATION, {"name": "SeqNr", "datatype": "string"})
    at = {"name": "at", "expression": "timestamp_seconds(SeqNr)"}
    place = placed(tmp_path, spark, "historic", columns=(*columns, at), **EVENTS, valid_from="at")
    deliver(place, "a", (1, 10, "a", "I"), (1, 30, "c", "U"))
    deliver(place, "b", (1, 20, "b", "U"))

    first, second = place.at(T1).results

    assert (counted(first), counted(second)) == ("a.parquet 2/1/1/0", "b.parquet 1/0/1/0")
    assert extras(second) == {"late": 1}
    shown = "name, unix_seconds(p_ValidFrom), unix_seconds(p_ValidTo), p_IsCurrent"
    assert place.stored(shown) == [
        ("a", 10, 20, False),
        ("b", 20, 30, False),
        ("c", 30, None, True),
    ]


@pytest.mark.matrix
def test_events_without_an_order_or_with_two_contents_are_refused_together(spark, tmp_path):
    place = placed(tmp_path, spark, **EVENTS)
    deliver(place, "a", (1, None, "a", "I"), (2, 1, "x", "I"), (2, 1, "y", "I"))

    error = result_of(place.at(T1)).error

    assert error.code == "duplicate-keys"
    assert "null-sequence: 1 rows of slice a.parquet of silver_aw.x have NULL in SeqNr" in (
        error.sentence
    )
    assert "ID=1" in error.sentence
    assert place.newest() == -1


@pytest.mark.matrix
@pytest.mark.parametrize("settings", [{"sequence_by": "SeqNr"}, {}])
def test_events_that_differ_by_a_microsecond_are_two(spark, tmp_path, settings):
    ordered = {"deduplicate": {"keep": "last", "order_by": ["SeqNr"]}}
    said = {"watermark": None, "settings": settings}
    said["transformations"] = [] if settings else [ordered]
    place = EntityPlace(tmp_path, spark, entity(**said))
    at = dt.datetime(2025, 1, 1, microsecond=1, tzinfo=dt.UTC)
    rows = [(1, 1, at), (1, 1, at + dt.timedelta(microseconds=1))]
    place.slice("a", *rows, columns="ID, SeqNr, at", types={"at": pa.timestamp("us", "UTC")})

    assert result_of(place.at(T1)).error.code == "duplicate-keys"


@pytest.mark.matrix
def test_a_later_event_at_the_time_of_a_stored_version_is_refused(spark, tmp_path):
    at = {"name": "at", "expression": "timestamp_seconds(SeqNr DIV 10)"}
    settings = {**EVENTS, "valid_from": "at"}
    place = placed(tmp_path, spark, "historic", columns=(KEY, OPERATION, at), **settings)
    deliver(place, "a", (1, 10, "a", "I"), (1, 11, "b", "U"))
    deliver(place, "b", (1, 10, "a", "I"), (1, 11, "b", "U"))
    deliver(place, "c", (1, 12, "c", "U"))

    *well, refused = place.at(T1).results

    assert [counted(each) for each in well] == ["a.parquet 1/1/0/0", "b.parquet 1/0/0/0 =1"]
    assert refused.error.code == "tied-versions"


@pytest.mark.matrix
def test_an_event_again_changes_nothing(spark, tmp_path):
    place = placed(tmp_path, spark, **EVENTS, last_seen="on_change")
    deliver(place, "a", (1, 1, "a", "I"), (2, 2, None, "D"))
    place.at(T1)
    before = place.newest()

    deliver(place, "b", (1, 1, "a", "I"), (2, 2, None, "D"))

    assert counted(result_of(place.at(T2))) == "b.parquet 2/0/1/1"
    assert place.newest() == before


def fed(tmp_path, spark, process="merge", *, columns=(KEY,), **settings):
    more = {"bronze_read": "whole", "change_feed": True, **settings}
    place = placed(tmp_path, spark, process, columns=columns, **more)
    place.sql(
        f"CREATE TABLE delta.`{place.bronze()}` (ID INT, name STRING) USING delta "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    place.sql(f"INSERT INTO delta.`{place.bronze()}` VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return place


def test_a_change_feed_brings_the_changes_since_the_last_step(spark, tmp_path):
    place = fed(tmp_path, spark)
    bronze = f"delta.`{place.bronze()}`"
    assert told(place.at(T1)) == "3/3/0/0"
    assert place.at(T1).plan.is_empty

    place.sql(f"UPDATE {bronze} SET name = 'B' WHERE ID = 2")
    place.sql(f"UPDATE {bronze} SET name = 'BB' WHERE ID = 2")
    place.sql(f"DELETE FROM {bronze} WHERE ID = 3")
    place.sql(f"INSERT INTO {bronze} VALUES (4, 'd')")
    result = result_of(place.at(T2))

    assert counted(result).strip() == "3/1/1/1"
    assert extras(result) == {"superseded": 1, "ignored": 2}
    assert place.stored("ID, name, p_deleted") == [
        (1, "a", False),
        (2, "BB", False),
        (3, "c", True),
        (4, "d", False),
    ]
    assert place.at(T3).plan.is_empty


@pytest.mark.matrix
def test_a_change_feed_keeps_every_version_in_a_history_with_times(spark, tmp_path):
    committed = {"name": "_commit_timestamp", "newname": "committed"}
    place = fed(tmp_path, spark, "historic", columns=(KEY, committed), valid_from="committed")
    bronze = f"delta.`{place.bronze()}`"
    assert told(place.at(T1)) == "3/3/0/0"

    place.sql(f"UPDATE {bronze} SET name = 'B' WHERE ID = 2")
    place.sql(f"UPDATE {bronze} SET name = 'BB' WHERE ID = 2")
    place.sql(f"DELETE FROM {bronze} WHERE ID = 3")
    assert told(place.at(T2)) == "3/0/3/0"

    shown = "ID, name, p_deleted, p_IsCurrent"
    assert place.stored(shown) == [
        (1, "a", False, True),
        (2, "B", False, False),
        (2, "BB", False, True),
        (2, "b", False, False),
        (3, "c", False, False),
        (3, "c", True, True),
    ]


@pytest.mark.matrix
def test_changes_that_are_lost_are_told_and_read_whole_again(spark, tmp_path):
    place = fed(tmp_path, spark)
    bronze = f"delta.`{place.bronze()}`"
    place.at(T1)
    place.sql(f"ALTER TABLE {bronze} SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    place.sql(f"INSERT INTO {bronze} VALUES (4, 'd')")

    error = result_of(place.at(T2)).error
    again = place.at(T3, full_refresh=True)

    assert error.code == "change-feed-lost"
    assert told(again) == "4/4/0/0"


@pytest.mark.matrix
def test_two_entities_of_one_table_compare_their_own_events(spark, tmp_path):
    def one(number, name):
        scope = {"name": "unit", "expression": str(number), "fieldroles": ["partition"]}
        scope["fieldroles"].append("businesskey")
        settings = {"silver_table": "silver.both", "sequence_by": "SeqNr"}
        columns = [KEY, scope]
        more = {"columns": columns, "watermark": None, "settings": settings}
        return entity(number, name, **more)

    place = EntityPlace(tmp_path, spark, one(1, "x"), one(2, "y"))
    place.slice("a", (1, 5, "x"))
    place.slice("a", (1, 3, "y"), entity="y")
    report = place.run("kind:entity", processing_time=T1)
    place.slice("b", (1, 4, "old"))
    place.slice("b", (1, 4, "Y"), entity="y")
    later = place.run("kind:entity", processing_time=T2)

    assert report.succeeded
    assert sorted(map(counted, later.results)) == ["b.parquet 0/0/0/0", "b.parquet 1/0/1/0"]
