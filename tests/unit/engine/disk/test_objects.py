"""Buckets: how many requests a look takes, and what is said of those that fail."""

import socket
import sys
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from fakes.builders import a_source
from fakes.object_store import KEY, SECRET
from penstock.core.entities.slices import BronzeFolder
from penstock.core.errors import EnvironmentMissingError, TableError
from penstock.core.findings import Location
from penstock.engine.disk.buckets import BUCKETS, open_bucket
from penstock.engine.disk.disks import DiskFolders, disk_at, walk
from penstock.engine.log.delta_log import DeltaLog
from penstock.engine.log.folder import commit_file

WHERE = Location("penstock.yml", 7, 9)
HEAD = b'{"commitInfo":{"timestamp":0,"operation":"WRITE"}}\n'


@pytest.fixture
def asked(object_server):
    """Count the requests of what is called."""

    def count(call):
        object_server.requests()
        call()
        return [each.partition(" ")[0] for each in object_server.requests()]

    return count


@pytest.fixture
def disk(bucket):
    return disk_at(str(bucket))


def test_a_table_to_which_nothing_happened_takes_two_requests(bucket, disk, asked):
    for version in range(30):
        disk.put(commit_file(str(bucket), version), HEAD)

    assert asked(lambda: DeltaLog().head(str(bucket), 29)) == ["GET", "GET"]
    assert asked(lambda: DeltaLog().head(str(bucket), 3)) == ["GET", "GET"]


def test_a_listing_that_shows_files_above_a_gap_has_no_newest_one(memory_bucket):
    disk, name_of = disk_at(str(memory_bucket)), "{:020d}.json".format
    for number in (0, 1, 3):
        disk.put(f"{memory_bucket}/log/{name_of(number)}", b"")
    for name in (f"{5:020d}.crc", f"{5:020d}.json.tmp", f"{4:020d}.{5:020d}.compacted.json"):
        disk.put(f"{memory_bucket}/log/{name}", b"")

    found = [disk.newest(f"{memory_bucket}/log", name_of, first) for first in range(4)]

    assert [each and each.number for each in found] == [None, None, None, 3]


def test_the_newest_file_is_found_in_a_listing_in_any_order(memory_bucket, monkeypatch):
    disk, name_of = disk_at(str(memory_bucket)), "{:020d}.json".format
    for name in (*map(name_of, range(3)), "_last_checkpoint", "_sidecars/1.parquet"):
        disk.put(f"{memory_bucket}/log/{name}", b"")
    ordered = disk._below
    monkeypatch.setattr(disk, "_below", lambda *place: [*ordered(*place)][::-1])

    assert disk.newest(f"{memory_bucket}/log", name_of, 0).number == 2


def test_a_small_file_takes_one_request_and_the_end_of_a_large_one_two(bucket, disk, asked):
    disk.put(f"{bucket}/small", b"x" * 1000)
    disk.put(f"{bucket}/large", b"x" * 3_000_000)

    def end():
        with disk.open(f"{bucket}/large") as file:
            file.seek(-8, 2)
            file.read()

    assert asked(lambda: disk.open(f"{bucket}/small").read()) == ["GET"]
    assert asked(end) == ["GET", "GET"]


def test_a_source_of_files_is_one_listing_and_no_file_is_read(bucket, disk, asked):
    for number in range(1_100):
        disk.put(f"{bucket}/in/day={number % 40}/{number}.csv", b"1")
    source = a_source("files", path=f"{bucket}/in", format="csv")
    folder = BronzeFolder(f"{bucket}/in", "*/*.csv", WHERE)

    assert asked(lambda: DeltaLog().listing(source)) == ["GET", "GET"]
    assert asked(lambda: DeltaLog().slices(folder)) == ["GET", "GET"]
    assert DeltaLog().listing(source).pin.files == 1_100


def test_a_file_that_is_written_again_is_another_one(bucket, disk):
    source = a_source("files", path=f"{bucket}/in", format="csv")

    def pin(content):
        disk.put(f"{bucket}/in/a.csv", content)
        return DeltaLog().listing(source).pin

    assert pin(b"1") == pin(b"1") != pin(b"2")


def test_the_marker_of_a_folder_is_no_file(bucket, disk, object_server):
    for name in ("full/", "full/sub/", "empty/"):
        object_server.put(f"{bucket}/in/{name}")
    disk.put(f"{bucket}/in/full/a.csv", b"1")
    tree = disk.listed(f"{bucket}/in")

    assert [name for name, _ in walk(tree, f"{bucket}/in", lambda _: False)] == ["full/a.csv"]
    assert disk.entries(f"{bucket}/in/empty") == []
    assert sorted(disk.entries(f"{bucket}/in")) == [("empty", True), ("full", True)]
    assert disk.stat(f"{bucket}/in/empty").is_folder
    assert DiskFolders().names(f"{bucket}/in") == ("full",)


def test_a_file_that_changes_while_it_is_read_is_an_error(bucket, disk):
    disk.put(f"{bucket}/large", b"x" * 3_000_000)

    with disk.open(f"{bucket}/large") as file:
        file.read(1)
        disk.put(f"{bucket}/large", b"y" * 3_000_000)
        file.seek(2_000_000)
        with pytest.raises(OSError, match="changed while it was read"):
            file.read()


def test_what_a_store_refuses_is_one_sentence_without_a_credential(object_server):
    refused = open_bucket("refused-1", replace(object_server.access, where=WHERE))

    for call in (refused.stat, refused.entries, refused.open, refused.drop):
        assert said(call, "s3://refused-1/x") == (
            "penstock.yml:7:9: store-refused: the store refuses access to s3://refused-1/x: 403"
        )
    with pytest.raises(TableError) as caught:
        refused.put_if_absent("s3://refused-1/x", b"")
    assert caught.value.__cause__ is None
    assert KEY not in caught.value.render()
    assert SECRET not in caught.value.render()


def test_a_bucket_that_is_not_there_is_no_empty_folder(object_server):
    gone = open_bucket("gone", replace(object_server.access, where=WHERE))
    sentence = "penstock.yml:7:9: bucket-missing: the bucket of s3://gone/x does not exist"

    for call in (gone.stat, gone.entries, gone.open, gone.drop, lambda uri: gone.put(uri, b"")):
        assert said(call, "s3://gone/x") == sentence


def test_a_store_that_does_not_answer_is_given_up_within_the_timeout(object_server):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        access = replace(object_server.access, endpoint=endpoint, timeout=timedelta(seconds=1))
        begun = time.monotonic()

        sentence = said(open_bucket("lake", replace(access, where=WHERE)).stat, "s3://lake/x")

    assert sentence == (
        "penstock.yml:7:9: store-unreachable: the store of s3://lake/x does not answer within 1 s"
    )
    assert time.monotonic() - begun < 10


def test_a_missing_extra_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    BUCKETS.use({})

    with pytest.raises(EnvironmentMissingError) as caught:
        disk_at("s3://lake/x")

    assert caught.value.render() == (
        "error: storage-missing: obstore is not installed, and reading s3:// needs it\n"
        "  hint: install it with: pip install 'penstock-delta[storage]'"
    )


def said(call, *arguments):
    """Give what a call that fails says, without its hint."""
    with pytest.raises(TableError) as caught:
        call(*arguments)
    return caught.value.render().partition("\n")[0].partition(" InvalidAccessKeyId")[0]
