"""What the Log of real folders knows beyond its contract."""

import datetime as dt

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.builders import a_source
from penstock.core.errors import TableError
from penstock.core.facts import Head
from penstock.engine.log.delta_log import DeltaLog

LOG = DeltaLog()


def test_the_head_of_a_folder_costs_its_newest_commit_and_no_other(tmp_path):
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / "00000000000000000008.json").write_text("damaged")
    (log / "00000000000000000009.json").write_text('{"commitInfo":{"operation":"WRITE"}}\n')
    (log / "00000000000000000010.checkpoint.parquet").write_bytes(b"")
    (log / "00000000000000000010.crc").write_bytes(b"")

    assert LOG.head(str(tmp_path)) == Head(9, "")
    assert LOG.head(f"file://{tmp_path}") == Head(9, "")


@pytest.mark.parametrize("hint", [0, 8, 9, 30])
def test_the_head_is_the_newest_version_whatever_version_was_there_before(tmp_path, hint):
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version in range(5, 10):
        (log / f"{version:020d}.json").write_text('{"commitInfo":{"operation":"WRITE"}}\n')

    assert LOG.head(str(tmp_path), hint) == Head(9, "")


def test_a_folder_without_a_log_is_no_table(tmp_path):
    (tmp_path / "part.parquet").write_bytes(b"")

    assert LOG.head(str(tmp_path)) is None
    assert LOG.facts(str(tmp_path)) is None


def test_a_table_whose_log_is_damaged_says_so_and_not_that_it_is_gone(tmp_path):
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / "00000000000000000000.json").write_text('{"commitInfo":')

    with pytest.raises(TableError) as caught:
        LOG.facts(str(tmp_path))

    assert caught.value.code == "log-unreadable"


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_spark_and_the_listing_overlook_the_same_files(tmp_path, prefix):
    for name in ("_day=1/a.csv", "b.csv", "_temporary/c.csv", "d.csv._COPYING_", ".e.csv"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
    root = f"{prefix}{tmp_path}"

    found = LOG.listing(a_source("files", path=root, format="csv"))

    assert found.files == (f"{root}/_day=1/a.csv", f"{root}/b.csv")


def test_a_link_to_nothing_is_no_file(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "gone.csv")

    assert LOG.listing(a_source("files", path=str(tmp_path), format="csv")).files == ()


@pytest.mark.parametrize(("kind", "is_seen"), [("csv", True), ("JSON", True), ("parquet", False)])
def test_a_digit_in_the_middle_of_a_file_of_text_is_seen(tmp_path, kind, is_seen):
    """Files with statistics at their end change there, too."""
    file = tmp_path / "a"
    file.write_bytes(b"1" * 200_000)
    before = LOG.listing(a_source("files", path=str(tmp_path), format=kind)).pin
    file.write_bytes(b"1" * 100_000 + b"2" + b"1" * 99_999)

    assert (
        LOG.listing(a_source("files", path=str(tmp_path), format=kind)).pin != before
    ) == is_seen


def test_a_single_file_is_its_own_listing(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x")

    assert LOG.listing(a_source("files", path=str(file), format="csv")).files == (str(file),)


def test_a_uri_that_is_not_there_is_a_missing_source(tmp_path):
    source = a_source("files", path=f"file://{tmp_path}/gone", format="csv")

    with pytest.raises(TableError) as caught:
        LOG.listing(source)

    assert caught.value.code == "source-missing"


def test_the_files_of_a_version_say_between_which_times_their_rows_lie(tmp_path):
    for day in (1, 2, 3):
        times = [dt.datetime(2021, 1, day, hour, tzinfo=dt.UTC) for hour in (9, 17)]
        rows = {"ts": pa.array(times, pa.timestamp("us", "UTC")), "note": ["a", "b"]}
        write_deltalake(tmp_path, pa.table(rows), mode="append")

    found = sorted(LOG.spans(str(tmp_path), 1, "ts"), key=lambda file: file.minimum["ts"])

    assert [file.rows for file in found] == [2, 2]
    five = dt.datetime(2021, 1, 1, 17, tzinfo=dt.UTC)
    later = five + dt.timedelta(milliseconds=1)  # the log says no more of a time
    assert [file.ends_before("ts", five) for file in found] == [False, False]
    assert [file.ends_before("ts", later) for file in found] == [True, False]
    assert [file.begins_after("ts", later) for file in found] == [False, True]
    assert LOG.spans(str(tmp_path), 1, "other") is None
    assert LOG.spans(str(tmp_path), 7, "ts") is None
