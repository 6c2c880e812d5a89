"""What every reader of a few kept rows promises."""

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.kept_rows import FakeRows
from fakes.session_world import at
from penstock.core.ports.sessions import FewRows
from penstock.engine.disk.buckets import table_options_at
from penstock.engine.log.delta_log import DeltaRows

ROWS = [
    {"id": "s1", "since": at("01-05"), "odd name": 1},
    {"id": "s'2", "since": at("01-07 00:00:00.000001"), "odd name": None},
    {"id": "s3", "since": at("01-05"), "odd name": 3},
]


@pytest.fixture(params=["fake", "folder", "bucket"])
def reader(request):
    folder = request.getfixturevalue("bucket" if request.param == "bucket" else "tmp_path")
    uri = str(folder / "held")
    if request.param == "fake":
        found = FakeRows()
        found.tables[uri] = ROWS
        return found, uri
    times = pa.timestamp("us", "UTC")
    schema = pa.schema([("id", pa.string()), ("since", times), ("odd name", pa.int64())])
    rows = pa.Table.from_pylist(ROWS, schema)
    write_deltalake(uri, rows, storage_options=table_options_at(uri))
    return DeltaRows(), uri


def test_the_newest_rows_come_first_and_all_are_counted(reader):
    rows, uri = reader

    assert rows.newest(uri, ("id", "since", "odd name"), "since", 2) == FewRows(
        (("s'2", at("01-07 00:00:00.000001"), None), ("s1", at("01-05"), 1)), 3
    )


def test_values_that_are_there_are_found_whatever_signs_they_have(reader):
    rows, uri = reader

    assert rows.present(uri, "id", ["s1", "s'2", "nope", "' OR 1=1 --"]) == {"s1", "s'2"}
    assert rows.present(uri, "id", []) == frozenset()


def test_a_table_that_is_not_there_has_no_rows(reader):
    rows, uri = reader

    assert rows.newest(f"{uri}-gone", ("id",), "id", 5) == FewRows((), 0)
    assert rows.present(f"{uri}-gone", "id", ["s1"]) == frozenset()
