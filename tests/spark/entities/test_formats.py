"""Slices of other formats end as the same rows in Parquet would; records that do not fit are told.

Every format is written as its tools write it, the values as texts where the format has no types.
"""

import gzip
import json

import pyarrow as pa
import pytest
from pyarrow import orc

from fakes.entity_files import entity
from fakes.entity_place import T1, T2, EntityPlace, counted
from penstock.engine.reading import AVRO

pytestmark = pytest.mark.spark

COLUMNS = [
    {"name": "ID", "datatype": "int", "fieldroles": ["businesskey"]},
    {"name": "SeqNr", "datatype": "int"},
    {"name": "name", "datatype": "string"},
]
A, B = [(1, 100, "a"), (2, 200, 'é, "b"')], [(1, 150, "A"), (3, 300, None)]
CSV = {"bronze_format": "csv", "options": {"header": True, "escape": '"'}}


def placed(tmp_path, spark, *, columns=COLUMNS, process="merge", **settings):
    said = {"columns": columns, "settings": settings}
    return EntityPlace(tmp_path, spark, entity(process=process, **said))


def write(place, name, text):
    file = place.bronze() / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def result_of(report):
    (result,) = report.results
    return result


def as_csv(rows):
    def cell(value):
        text = "" if value is None else str(value)
        return '"' + text.replace('"', '""') + '"' if set('",') & set(text) else text

    lines = [",".join(map(cell, row)) for row in [("ID", "SeqNr", "name"), *rows]]
    return "\n".join(lines) + "\n"


def as_json(rows):
    return "".join(json.dumps({"ID": i, "seqnr": s, "name": n}) + "\n" for i, s, n in rows)


def as_xml(rows):
    cells = "".join(
        f"<row><ID>{i}</ID><SeqNr>{s}</SeqNr>" + (f"<name>{n}</name>" if n else "") + "</row>"
        for i, s, n in rows
    )
    return f"<rows>{cells}</rows>"


def as_avro(rows, path, spark):
    frame = spark.createDataFrame(rows, "ID INT, SeqNr INT, name STRING")
    frame.coalesce(1).write.format(AVRO).save(str(path))


def as_orc(rows, path, _):
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("ID", "SeqNr", "name")
    kinds = (pa.int32(), pa.int32(), pa.string())
    arrays = [pa.array([row[n] for row in rows], kind) for n, kind in enumerate(kinds)]
    orc.write_table(pa.table(dict(zip(names, arrays, strict=True))), path)


SPLIT = [f"split(value, ';', -1)[{n}] AS {name}" for n, name in enumerate(("ID", "SeqNr"))]
SPLIT.append("nullif(split(value, ';', -1)[2], '') AS name")
FORMATS = {
    "csv": (CSV, as_csv, "csv"),
    "csv.gz": (CSV, lambda rows: gzip.compress(as_csv(rows).encode()), "csv.gz"),
    "json": ({"bronze_format": "json"}, as_json, "jsonl"),
    "xml": ({"bronze_format": "xml", "options": {"rowTag": "row"}}, as_xml, "xml"),
    "text": (
        {"bronze_format": "text"},
        lambda rows: "".join(f"{i};{s};{n or ''}\n" for i, s, n in rows),
        "txt",
    ),
    "orc": ({"bronze_format": "orc"}, as_orc, "orc"),
    "avro": ({"bronze_format": "avro"}, as_avro, "avro"),
}
CELLS = [(process, name) for process in ("full", "merge", "historic") for name in FORMATS]
GATE = (("merge", "csv"),)


@pytest.mark.parametrize(
    ("process", "name"),
    [pytest.param(*cell, marks=() if cell in GATE else pytest.mark.matrix) for cell in CELLS],
)
def test_every_format_gives_the_rows_and_hashes_of_parquet(spark, tmp_path, process, name):
    settings, written, ending = FORMATS[name]
    place = placed(tmp_path / "other", spark, process=process, **settings)
    parquet = placed(tmp_path / "parquet", spark, process=process)
    if name == "text":
        said = {"columns": COLUMNS, "settings": settings, "transformations": SPLIT}
        place = EntityPlace(tmp_path / "other", spark, entity(process=process, **said))
    told = []
    for slice_name, rows, at in (("a", A, T1), ("b", B, T2)):
        if written in (as_orc, as_avro):
            written(rows, place.bronze() / f"{slice_name}.{ending}", spark)
        else:
            write(place, f"{slice_name}.{ending}", written(rows))
        parquet.slice(slice_name, *rows)
        told.append(
            [counted(result_of(each.at(at))).partition(" ")[2] for each in (place, parquet)]
        )

    columns = "ID, SeqNr, name, p_SourceHash, PK_x, p_deleted, p_lastSeen"
    assert [one for one, other in told if one != other] == []
    assert place.stored(columns) == parquet.stored(columns)


def test_a_bad_row_of_a_csv_file_is_kept_beside_the_table(spark, tmp_path):
    place = placed(tmp_path, spark, **CSV, bad_records="quarantine")
    write(place, "a.csv", "ID,SeqNr,name\n1,100,a\nx,200,b\n3,300\n4,400,d\n")

    result = result_of(place.at(T1))

    assert counted(result) == "a.csv 2/2/0/0"
    assert result.metrics["bad_records"] == 2
    assert place.stored() == [(1, 100, "a"), (4, 400, "d")]
    services = place.services()
    (kept,) = services.reading.checks.quarantines()
    services.close()
    assert kept.rows == 2
    rows = place.sql(f"SELECT * FROM delta.`{kept.uri}` ORDER BY record")
    assert [tuple(row) for row in rows] == [
        ("a.csv", "it cannot be read", "3,300"),
        ("a.csv", "ID is not INT", '{"ID":"x","SeqNr":"200","name":"b"}'),
    ]


@pytest.mark.matrix
def test_a_slice_with_bad_records_fails_with_all_of_them(spark, tmp_path):
    place = placed(tmp_path, spark, **CSV)
    write(place, "a.csv", "ID,SeqNr,name\n1,100,a\nx,200,b\n3,300\n")

    error = result_of(place.at(T1)).error

    assert (error.code, error.where.path) == ("bad-records", "entities/x.json")
    assert error.sentence == (
        "2 records of a.csv of silver_aw.x do not fit (e.g. "
        'ID is not INT: {"ID":"x","SeqNr":"200","name":"b"}, it cannot be read: 3,300)'
    )
    assert place.newest() == -1


def test_what_does_not_fit_is_rescued_with_its_text(spark, tmp_path):
    place = placed(tmp_path, spark, **CSV, rescued="_rest", bad_records="drop_counted")
    write(place, "a.csv", "id,extra,SeqNr,name\n1,e1,100,a\n2,,x,b\n3\n")

    result = result_of(place.at(T1))

    assert counted(result) == "a.csv 2/2/0/0"
    assert (result.metrics["rescued"], result.metrics["bad_records"]) == (2, 1)
    assert place.stored("ID, SeqNr, name, _rest") == [
        (1, 100, "a", '{"extra":"e1"}'),
        (2, None, "b", '{"SeqNr":"x"}'),
    ]


def test_inferred_types_are_those_of_the_first_slice(spark, tmp_path):
    settings = {**CSV, "infer": True, "bad_records": "drop_counted"}
    columns = [{"name": "ID", "datatype": "long", "fieldroles": ["businesskey"]}]
    place = placed(tmp_path, spark, columns=columns, **settings)
    write(place, "a.csv", "ID,SeqNr,day\n1,1,2024-01-01\n")
    write(place, "b.csv", "ID,SeqNr,day,new\n2,2,2024-01-02,n\n3,2.5,2024-01-03,\n")

    first, second = place.at(T1).results

    assert (counted(first), counted(second)) == ("a.csv 1/1/0/0", "b.csv 1/1/0/0")
    assert second.metrics["bad_records"] == 1
    assert second.notes == (
        "column-unknown: 'new' is in the slice and not under columns; it is left out",
    )
    assert place.stored("ID, SeqNr, CAST(day AS STRING), typeof(SeqNr), typeof(day)") == [
        (1, 1, "2024-01-01", "int", "date"),
        (2, 2, "2024-01-02", "int", "date"),
    ]


@pytest.mark.matrix
def test_bad_records_belong_to_the_last_step_of_their_slice(spark, tmp_path):
    place = placed(tmp_path, spark, **CSV, bad_records="quarantine")
    write(place, "a.csv", "ID,SeqNr,name\n1,100,a\nx,200,b\n")
    place.at(T1)
    write(place, "a.csv", "ID,SeqNr,name\n1,100,a\nx,200,b\ny,300,c\n")

    place.at(T2, slice="a")

    services = place.services()
    (kept,) = services.reading.checks.quarantines()
    assert kept.rows == 2
    write(place, "a.csv", "ID,SeqNr,name\n1,100,a\n2,200,b\n")
    place.at(T2, slice="a.csv")
    assert services.reading.checks.quarantines() == ()
    services.close()
    assert [*(place.root / "warehouse" / "penstock_staging").glob("*")] == []


@pytest.mark.matrix
def test_a_folder_that_is_read_whole_may_have_another_format(spark, tmp_path):
    place = placed(tmp_path, spark, **CSV, bronze_read="whole")
    write(place, "a.csv", as_csv(A))
    write(place, "b.csv", as_csv([(7, 700, "g")]))

    assert counted(result_of(place.at(T1))).strip() == "3/3/0/0"
    assert place.stored() == [*A, (7, 700, "g")]


@pytest.mark.matrix
def test_a_file_with_another_order_of_columns_is_an_error_and_no_other_row(spark, tmp_path):
    place = placed(tmp_path, spark, **CSV, slice_pattern="*")
    write(place, "d/0.csv", "ID,SeqNr,name\n1,100,a\n")
    write(place, "d/1.csv", "SeqNr,ID,name\n100,2,b\n")

    error = result_of(place.at(T1)).error

    assert error.code == "slice-unreadable"
    assert place.newest() == -1


@pytest.mark.matrix
def test_a_broken_line_of_json_is_no_column(spark, tmp_path):
    place = placed(tmp_path, spark, bronze_format="json", bad_records="quarantine", rescued="_rest")
    write(place, "a.json", '{"ID": 1, "SeqNr": 2, "more": {"x": 1}}\n{"ID": 2,\n')

    result = result_of(place.at(T1))

    assert (counted(result), result.metrics["bad_records"]) == ("a.json 1/1/0/0", 1)
    assert place.stored("ID, SeqNr, name, _rest") == [(1, 2, None, '{"more":"{\\"x\\": 1}"}')]


@pytest.mark.matrix
def test_an_empty_text_file_is_a_slice_without_rows(spark, tmp_path):
    place = placed(tmp_path, spark, **CSV)
    write(place, "a.csv", "ID,SeqNr,name\n1,100,a\n")
    write(place, "b.csv", "")

    first, second = place.at(T1).results

    assert counted(first) == "a.csv 1/1/0/0"
    assert any(note.startswith("empty-slice") for note in second.notes), second.error
    assert place.stored() == [(1, 100, "a")]


@pytest.mark.matrix
def test_a_parquet_slice_may_hold_bad_values_too(spark, tmp_path):
    place = placed(tmp_path, spark, bad_records="quarantine")
    place.slice("a", ("1", 100, "a"), ("x", 200, "b"), types={"ID": pa.string()})

    result = result_of(place.at(T1))

    assert (counted(result), result.metrics["bad_records"]) == ("a.parquet 1/1/0/0", 1)
    assert place.stored() == [(1, 100, "a")]
