"""Slices as Spark reads them: exactly the listed files, whatever they are called."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.core.entities.slices import BronzeFolder
from penstock.core.errors import TableError
from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName
from penstock.core.steps.inputs import EVERY_COLUMN, FilesRead, Relation
from penstock.engine.log.bronze import slices_in
from penstock.engine.log.ends import FileEnds

NAMES = ("a b", "100%", "50%25", "it's", 'say "x"', "é", "a\nb", "[x]", "{a,b}", "*", "a,b", "x\\y")


def deliver(bench, name, *ids, **more):
    path = Path(bench.at(f"bronze/{name}"))
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"id": list(ids), **{key: [value] * len(ids) for key, value in more.items()}}
    pq.write_table(pa.table(columns), path)


def read(bench, name, pattern="*"):
    """Give the columns and rows of a slice."""
    root = bench.at("bronze")
    folder = BronzeFolder(root, pattern, Location("entities/x.json", 6))
    listed = slices_in(folder, FileEnds().of)
    (found,) = [each for each in listed if each.id.name == name]
    paths = tuple(f"{root}/{file}" for file in found.files)
    files = FilesRead("parquet", root, paths, EVERY_COLUMN)
    relation = Relation(InputName(InputKind.EXTERNAL, "slice"), "slice", files)
    columns = bench.session.bind([relation])["slice"].columns
    return {each.name: each.type for each in columns}, bench.rows("SELECT * FROM slice")


def test_slices_of_any_name_are_read_and_nothing_else(bench):
    for number, name in enumerate(NAMES):
        deliver(bench, f"{name}.parquet", number)
    deliver(bench, "x.parquet", 99)
    deliver(bench, "folder*/part [0].parquet", 7)

    found = [read(bench, f"{name}.parquet")[1] for name in NAMES]

    assert found == [[(number,)] for number in range(len(NAMES))]
    assert read(bench, "folder*")[1] == [(7,)]


def test_folders_below_a_slice_may_be_partitions(bench):
    deliver(bench, "d/a=1/part-0.parquet", 1)
    deliver(bench, "d/a=2/part-0.parquet", 2)
    deliver(bench, "plain/x/part-0.parquet", 3)
    deliver(bench, "plain/y/z/part-0.parquet", 4)
    deliver(bench, "day=2025-07-01/e.parquet", 5)

    assert read(bench, "d") == ({"id": "bigint", "a": "int"}, [(1, 1), (2, 2)])
    assert read(bench, "plain") == ({"id": "bigint"}, [(3,), (4,)])
    columns, rows = read(bench, "day=2025-07-01/e.parquet", "**/e.parquet")
    assert (columns, str(rows[0][1])) == ({"id": "bigint", "day": "date"}, "2025-07-01")


def test_every_file_of_a_slice_brings_its_columns(bench):
    deliver(bench, "d/part-0.parquet", 1)
    deliver(bench, "d/part-1.parquet", 2, more="é")

    assert read(bench, "d") == ({"id": "bigint", "more": "string"}, [(1, None), (2, "é")])


def test_a_sign_that_hadoop_refuses_may_be_in_the_name_of_a_folder(bench):
    deliver(bench, "06:00/part-0.parquet", 1)
    deliver(bench, "06:00.parquet", 2)

    assert read(bench, "06:00")[1] == [(1,)]
    with pytest.raises(TableError):  # its file system makes `.06:00.parquet.crc` of it, no path
        read(bench, "06:00.parquet")
