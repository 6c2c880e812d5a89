"""What goes wrong between a delivery and its silver table, and what is told of it."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fakes.entity_files import KEY, entity
from fakes.entity_place import T1, T2, T3, EntityPlace
from fakes.requests import a_run
from penstock.app.commands.entities import list_slices
from penstock.app.commands.plan import preview
from penstock.app.commands.status import status
from penstock.app.request import StatusRequest

pytestmark = pytest.mark.spark


def placed(tmp_path, spark, **said):
    return EntityPlace(tmp_path, spark, entity(**said))


def deliver(place, name, columns, **types):
    """Write a slice with types of its own."""
    fields = [pa.field(key, types[key]) for key in columns if key in types]
    file = place.bronze() / f"{name}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({key: pa.array(value, types.get(key)) for key, value in columns.items()})
    assert all(table.schema.field(each.name).type == each.type for each in fields)
    pq.write_table(table, file)


def planned(place, **asked):
    services = place.services()
    try:
        return preview(services, a_run(("silver_aw.x",), **asked)).report
    finally:
        services.close()


def error_of(report):
    (result,) = report.results
    return result.error


@pytest.mark.matrix
def test_a_delta_table_in_bronze_is_refused_and_read_whole_without_its_dead_rows(spark, tmp_path):
    place = placed(tmp_path, spark, process="full", watermark=None)
    bronze = place.bronze()
    place.sql(f"CREATE TABLE delta.`{bronze}` USING delta AS SELECT 1 AS ID, 'a' AS name")
    place.sql(f"INSERT INTO delta.`{bronze}` SELECT 2, 'b'")
    place.sql(f"DELETE FROM delta.`{bronze}` WHERE ID = 1")

    refused = error_of(place.at(T1))

    assert refused.code == "bronze-is-delta"
    assert refused.sentence == (
        f"{bronze} is a Delta table, and some rows in its files may be deleted"
    )
    assert "bronze_read: whole" in refused.hint
    place.document(entity(process="full", watermark=None, settings={"bronze_read": "whole"}))
    assert place.told(T2) == [" 1/1/0/0"]
    assert place.stored("ID, name") == [(2, "b")]


def test_files_that_fit_nothing_are_told_by_plan_status_and_slices(spark, tmp_path):
    place = placed(tmp_path, spark)
    place.bronze().mkdir(parents=True)
    (place.bronze() / "a.csv").write_text("ID\n1\n")
    note = (
        f"bronze-fits-nothing: 1 file in {place.bronze()}, none fits *.parquet "
        "(did you mean *.csv?)"
    )

    assert planned(place).notes == (f"silver_aw.x: {note}",)
    services = place.services()
    try:
        assert list_slices(services, "x").notes == (note,)
        (found,) = status(services, StatusRequest()).models
        assert found.lines.count(note) == 1
    finally:
        services.close()


def test_slices_wait_in_doubt_by_name_and_run_by_their_numbers(spark, tmp_path):
    place = placed(tmp_path, spark)
    for number in (1, 2, 10):
        place.slice(f"sales_{number}", (1, number, f"row {number}"))

    report = planned(place)
    assert [each.slice for each in report.results] == [
        "sales_1.parquet",
        "sales_10.parquet",
        "sales_2.parquet",
    ]
    assert report.notes == (
        (
            "silver_aw.x: slice-order-in-doubt: by name the order is sales_1.parquet, "
            "sales_10.parquet, sales_2.parquet; by the numbers in the names sales_1.parquet, "
            "sales_2.parquet, sales_10.parquet; set order: natural, or order: name to keep it"
        ),
    )
    assert error_of(planned(place, strict=True)).code == "slice-order-in-doubt"

    place.document(entity(settings={"order": "natural"}))
    assert place.told(T1) == [
        "sales_1.parquet 1/1/0/0",
        "sales_2.parquet 1/0/1/0",
        "sales_10.parquet 1/0/1/0",
    ]
    assert place.stored() == [(1, 10, "row 10")]


@pytest.mark.matrix
def test_duplicates_are_left_out_by_a_transformation(spark, tmp_path):
    rows = (1, 10, "old"), (1, 20, "new"), (2, 5, "same"), (2, 5, "same"), (3, 0, "no"), (4, 7, "d")
    latest = {"deduplicate": {"keep": "last", "order_by": ["SeqNr"]}}
    place = placed(tmp_path, spark)
    place.slice("a", *rows)
    assert error_of(place.at(T1)).code == "duplicate-keys"

    place.document(entity(transformations=[{"where": "name <> 'no'"}, latest]))
    assert place.told(T2) == ["a.parquet 3/3/0/0"]
    assert place.stored() == [(1, 20, "new"), (2, 5, "same"), (4, 7, "d")]

    first = {"deduplicate": {"keep": "first", "order_by": "SeqNr"}}
    place.document(entity(transformations=[first]))
    place.slice("b", (1, 50, "x"), (1, None, "null is first"), (7, 8, "e"), (7, 8, "f"))
    error = error_of(place.at(T3))
    assert (error.code, "ID=7 ×2" in error.sentence) == ("duplicate-keys", True)
    place.slice("b", (1, 50, "x"), (1, None, "null is first"))
    assert place.told(T3) == ["b.parquet 1/0/1/0"]
    assert place.stored(where="ID = 1") == [(1, None, "null is first")]


def test_keys_that_are_cast_or_missing_are_refused_after_deduplicating(spark, tmp_path):
    typed = [{**KEY, "datatype": "long"}]
    latest = {"deduplicate": {"keep": "last", "order_by": ["SeqNr"]}}
    place = placed(tmp_path, spark, columns=typed, transformations=[latest])
    place.slice("a", ("01", 1, "old"), ("1", 2, "new"), types={"ID": pa.string()})
    assert place.told(T1) == ["a.parquet 1/1/0/0"]
    assert place.stored() == [(1, 2, "new")]

    place.slice("b", (None, 3, "x"), (None, 3, "x"), ("no", 4, "y"), types={"ID": pa.string()})
    error = error_of(place.at(T2))
    assert error.code == "null-key"
    told = 'have NULL in business key "ID"; cast-failed: 1 values of "ID" cannot be cast to BIGINT'
    assert told in error.sentence


@pytest.mark.matrix
def test_names_inside_structs_lose_what_delta_refuses(spark, tmp_path):
    place = placed(tmp_path, spark, watermark=None)
    struct = pa.struct([("a b", pa.int32()), ("c-d", pa.list_(pa.struct([("e,f", pa.string())])))])
    one, two = {"a b": 1, "c-d": [{"e,f": "x"}]}, {"a b": 2, "c-d": None}
    deliver(place, "a", {"ID": [1], "s": [one]}, ID=pa.int32(), s=struct)
    deliver(place, "b", {"ID": [1, 2], "s": [one, two]}, ID=pa.int32(), s=struct)

    assert place.told(T1) == ["a.parquet 1/1/0/0", "b.parquet 2/1/1/0"]
    assert place.stored("ID, s.ab, s.`c-d`[0].ef") == [(1, 1, "x"), (2, 2, None)]

    both = pa.struct([("a b", pa.int32()), ("ab", pa.int32())])
    deliver(place, "c", {"ID": [1], "t": [{"a b": 1, "ab": 2}]}, ID=pa.int32(), t=both)
    error = error_of(place.at(T2))
    assert error.code == "column-name-collision"
    assert "fields 't.a b' and 't.ab' of silver_aw.x" in error.sentence


@pytest.mark.matrix
def test_a_column_without_a_value_waits_until_it_has_a_type(spark, tmp_path):
    place = placed(tmp_path, spark, watermark=None)
    number, void = pa.int32(), pa.null()
    deliver(place, "a", {"ID": [1], "n": [None], "p_deleted": [None]}, ID=number, n=void)
    report = place.at(T1)
    assert report.results[0].notes == (
        "void-column: 'n' holds no value and has no type; it is left out until it has one",
    )
    columns = place.sql(f"DESCRIBE TABLE delta.`{place.silver()}`")
    assert "n" not in [name for name, *_ in columns]

    deliver(place, "b", {"ID": [1], "n": ["text"]}, ID=number)
    assert place.told(T2) == ["b.parquet 1/0/1/0"]
    deliver(place, "c", {"ID": [2], "n": [None]}, ID=number, n=void)
    assert place.told(T3) == ["c.parquet 1/1/0/0"]
    assert place.stored("ID, n, typeof(n)") == [(1, "text", "string"), (2, None, "string")]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"ID,SeqNr\n1,2\n", "is not Parquet: it looks like CSV"),
        (gzip.compress(b"x"), "is not Parquet: it is gzip"),
        (b"PAR1 and no more", "is truncated: it begins as Parquet and has no footer"),
    ],
    ids=["empty", "CSV", "gzip", "truncated"],
)
def test_a_slice_that_is_no_parquet_is_told_by_what_it_is(spark, tmp_path, content, what):
    place = placed(tmp_path, spark)
    place.bronze().mkdir(parents=True)
    (place.bronze() / "a.parquet").write_bytes(content)

    error = error_of(place.at(T1))

    assert error.code == "slice-unreadable"
    assert error.sentence == f"slice a.parquet of silver_aw.x {what}"


def test_the_file_of_a_folder_that_is_no_parquet_is_named(spark, tmp_path):
    place = placed(tmp_path, spark, settings={"slice_pattern": "*"})
    place.slice("d/0.parquet", (1, 2, "a"))
    (place.bronze() / "d" / "1.parquet").write_text('{"ID": 1}')

    assert error_of(place.at(T1)).sentence == (
        "file d/1.parquet of slice d of silver_aw.x is not Parquet: it looks like JSON"
    )
