"""Slices of other formats end as the same rows in Parquet would; records that do not fit are told.

Every format is written as its tools write it, the values as texts where the format has no types.
"""

import gzip
import json

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from fakes.entity_files import entity
from fakes.entity_place import T1, T2, EntityPlace, counted

pytestmark = pytest.mark.spark

COLUMNS = [
    {"name": "ID", "datatype": "int", "fieldroles": ["businesskey"]},
    {"name": "SeqNr", "datatype": "int"},
    {"name": "name", "datatype": "string"},
]
A, B = [(1, 100, "a"), (2, 200, "é, \"b\"")], [(1, 150, "A"), (3, 300, None)]
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


def as_orc(rows, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("ID", "SeqNr", "name")
    kinds = (pa.int32(), pa.int32(), pa.string())
    arrays = [pa.array([row[n] for row in rows], kind) for n, kind in enumerate(kinds)]
    orc.write_table(pa.table(dict(zip(names, arrays, strict=True))), path)


SPLIT = [f"split(value, ';', -1)[{n}] AS {name}" for n, name in enumerate(("ID", "SeqNr"))]
SPLIT.append("nullif(split(value, ';', -1)[2], '') AS name")
FORMATS = {
    "csv": (CSV, lambda rows: as_csv(rows), "csv"),
    "csv.gz": (CSV, lambda rows: gzip.compress(as_csv(rows).encode()), "csv.gz"),
    "json": ({"bronze_format": "json"}, as_json, "jsonl"),
    "xml": ({"bronze_format": "xml", "options": {"rowTag": "row"}}, as_xml, "xml"),
    "text": (
        {"bronze_format": "text"},
        lambda rows: "".join(f"{i};{s};{n or ''}\n" for i, s, n in rows),
        "txt",
    ),
    "orc": ({"bronze_format": "orc"}, None, "orc"),
}
CELLS = [(process, name) for process in ("full", "merge", "historic") for name in FORMATS]
GATE = (("merge", "csv"), ("historic", "json"))


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
        if written is None:
            as_orc(rows, place.bronze() / f"{slice_name}.{ending}")
        else:
            write(place, f"{slice_name}.{ending}", written(rows))
        parquet.slice(slice_name, *rows)
        told.append([counted(result_of(each.at(at))).partition(" ")[2] for each in (place, parquet)])

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
