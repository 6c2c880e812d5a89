"""What only real folders can be asked of the slices in them."""

import os
import shutil
import time

import pytest

from penstock.core.entities.slices import BronzeFolder
from penstock.core.errors import TableError
from penstock.core.findings import Location
from penstock.engine.log.bronze import slices_in
from penstock.engine.log.ends import FileEnds

WHERE = Location("entities/sales.json", 6)


def listed(path, pattern="*"):
    return slices_in(BronzeFolder(str(path), pattern, WHERE), FileEnds().of)


def refused(path):
    with pytest.raises(TableError) as caught:
        listed(path)
    return caught.value.render().partition("\n")[0]


def test_a_folder_without_any_file_is_still_being_written(tmp_path):
    (tmp_path / "a").mkdir()

    assert [(each.files, each.is_incomplete) for each in listed(tmp_path)] == [((), True)]


@pytest.mark.parametrize(
    ("files", "read"),
    [
        (("0.parquet", "1.PARQUET", "manifest"), ("a/0.parquet", "a/1.PARQUET")),
        (("000000_0", "000001_0"), ("a/000000_0", "a/000001_0")),
    ],
    ids=["what is not a Parquet file is left out", "unless no name tells which"],
)
def test_the_parquet_files_of_a_folder_are_read(tmp_path, files, read):
    (tmp_path / "a").mkdir()
    for file in files:
        (tmp_path / "a" / file).write_bytes(b"x")

    assert [each.files for each in listed(tmp_path)] == [read]


def test_links_are_followed_and_those_to_nothing_are_no_slices(tmp_path):
    (tmp_path / "real").write_bytes(b"xx")
    (tmp_path / "bronze").mkdir()
    (tmp_path / "bronze" / "a").symlink_to(tmp_path / "real")
    (tmp_path / "bronze" / "b").symlink_to(tmp_path / "gone")

    assert [(e.id.name, e.id.size) for e in listed(tmp_path / "bronze")] == [("a", 2)]


def test_a_slice_that_was_copied_elsewhere_at_another_time_is_the_same_slice(tmp_path):
    place = tmp_path / "bronze"
    (place / "d").mkdir(parents=True)
    (place / "a").write_bytes(b"x" * 200_000)
    (place / "d" / "part-0").write_bytes(b"y")
    copy = shutil.copytree(place, tmp_path / "copy", copy_function=shutil.copyfile)
    for file in (copy / "a", copy / "d" / "part-0"):
        os.utime(file, (7, 7))

    before, after = listed(place), listed(copy)

    assert before == after
    assert [each.id.modified for each in after] == [7_000_000, 7_000_000]
    (copy / "a").write_bytes(b"x" * 199_999 + b"z")
    assert [one == other for one, other in zip(before, listed(copy), strict=True)] == [False, True]


def test_a_file_uri_is_a_folder_of_this_machine(tmp_path):
    (tmp_path / "a").write_bytes(b"x")

    assert listed(f"file://{tmp_path}") == listed(tmp_path)


def test_what_cannot_be_seen_is_not_taken_for_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"x")
    where = "entities/sales.json:6: bronze-unreadable: the bronze folder"

    def forbid(path):
        raise PermissionError(13, "Permission denied", path)

    file = tmp_path / "file"
    assert refused(file) == f"{where} {file} cannot be listed: {file}/: Not a directory"
    monkeypatch.setattr(os, "scandir", forbid)
    assert refused(tmp_path).endswith(f"{tmp_path}/: Permission denied")


def test_a_name_that_nobody_could_write_down_is_told(tmp_path):
    (tmp_path / os.fsdecode(b"a\xff")).write_bytes(b"x")

    assert refused(tmp_path).endswith("the name 'a\\udcff' is not UTF-8")


def test_ten_thousand_slices_are_listed_at_once(tmp_path):
    for number in range(10_000):
        (tmp_path / f"{number:05d}.parquet").touch()
    start = time.process_time()

    found = listed(tmp_path, "**/*.parquet")

    assert len(found) == 10_000
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("table", "pattern", "where", "hint"),
    [
        ("", "*.parquet", "", "set bronze_read: whole (read: whole in a native file)"),
        ("a", "*", "/a", "point bronze_path at it, with bronze_read: whole"),
        ("a/b", "*", "/a", "point bronze_path at it, with bronze_read: whole"),
        ("a", "**/*.parquet", "/a", "point bronze_path at it, with bronze_read: whole"),
    ],
)
def test_the_files_of_a_delta_table_are_no_slices(tmp_path, table, pattern, where, hint):
    (tmp_path / table / "_delta_log").mkdir(parents=True)
    (tmp_path / table / "part-0.parquet").write_bytes(b"x")

    with pytest.raises(TableError) as caught:
        listed(tmp_path, pattern)

    assert caught.value.code == "bronze-is-delta"
    assert caught.value.sentence == (
        f"{tmp_path}{where} is a Delta table, and some rows in its files may be deleted"
    )
    assert caught.value.hint.startswith(hint)


def test_a_delta_table_that_fits_no_pattern_is_nobodys_business(tmp_path):
    (tmp_path / "other" / "_delta_log").mkdir(parents=True)
    (tmp_path / "a.parquet").write_bytes(b"x")

    assert [each.id.name for each in listed(tmp_path, "*.parquet")] == ["a.parquet"]
