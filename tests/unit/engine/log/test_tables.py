"""What is known of a table in a bucket, and how many requests it takes."""

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.core.errors import TableError
from penstock.core.facts import Head
from penstock.engine.disk.buckets import BUCKETS, table_options_at
from penstock.engine.disk.disks import DiskFolders, disk_at
from penstock.engine.log.delta_log import DeltaLog, _facts
from penstock.engine.log.folder import commit_file
from penstock.engine.log.places import DeltaPlaces
from penstock.engine.log.tables import (
    Metadata,
    checksum,
    described,
    metadata_action,
    metadata_at,
    open_table,
    open_version,
)
from penstock.engine.staged_files import write_log

LOG = DeltaLog()


@pytest.fixture
def table(bucket):
    """Give a table of two commits, which Spark would have written with its checksums."""
    uri = f"{bucket}/t"
    for number in (1, 2):
        append(uri, number)
    BUCKETS.tables.clear()
    return uri


def append(uri, number, column="a"):
    rows = pa.table({column: [number]})
    write_deltalake(uri, rows, mode="append", storage_options=table_options_at(uri))
    check(uri, number - 1)


def check(uri, version, **more):
    opened = DeltaTable(uri, version=version, storage_options=table_options_at(uri))
    document = {"metadata": metadata_action(opened), "setTransactions": [], **more}
    place = f"{uri}/_delta_log/{version:020d}.crc"
    disk_at(uri).put(place, json.dumps(document).encode())


def remove(uri, version):
    from obstore import delete

    place = commit_file(uri, version)
    delete(disk_at(uri)._store, place.split("/", 3)[3])


def requests(object_server, ask):
    object_server.requests()
    return ask(), len(object_server.requests())


def test_spark_s_checksum_tells_what_a_table_is_and_then_a_listing_tells_that_it_is_the_same(
    table, object_server
):
    facts, first = requests(object_server, lambda: LOG.facts(table))
    again, second = requests(object_server, lambda: LOG.facts(table))

    assert (facts.version, facts.schema.names, facts == again) == (1, ("a",), True)
    assert (first, second) == (3, 1)  # checkpoint, listing, checksum
    append(table, 3)
    newer, third = requests(object_server, lambda: LOG.facts(table))
    assert (newer.version, third) == (2, 2)
    assert requests(object_server, lambda: metadata_at(table, 2).table_id)[1] == 0
    LOG.facts(table)
    assert checksum(table, 2)["setTransactions"] == []


def test_a_version_that_was_read_before_saves_the_look_for_a_checkpoint(table, object_server):
    for known in (0, 1):
        BUCKETS.tables.clear()
        facts, count = requests(object_server, lambda known=known: LOG.facts(table, hint=known))
        assert (facts.version, count) == (1, 2)  # listing, checksum


def test_the_commit_that_creates_a_table_says_without_a_checksum_what_it_is(bucket, object_server):
    uri = f"{bucket}/created"
    rows = pa.table({"a": [1]})
    write_deltalake(uri, rows, storage_options=table_options_at(uri))
    facts, count = requests(object_server, lambda: LOG.facts(uri, hint=0))
    write_deltalake(uri, rows, mode="append", storage_options=table_options_at(uri))

    assert (facts, count) == (_opened(uri, 0), 2)  # listing, commit
    assert LOG.facts(uri, hint=0) == _opened(uri, 1)
    assert (described(uri), facts.version, facts.schema.names) == (None, 0, ("a",))


@pytest.mark.parametrize(("named", "opens"), [("one", []), ("other", ["t"]), (None, ["t"])])
def test_a_table_on_a_disk_is_opened_unless_its_checksum_names_the_newest_commit(
    tmp_path, monkeypatch, named, opens
):
    uri = str(tmp_path / "t")
    write_deltalake(uri, pa.table({"a": [1]}))
    commit = Path(commit_file(uri, 0))
    commit.write_text('{"commitInfo": {"txnId": "one"}}\n' + commit.read_text())
    check(uri, 0, **({"txnId": named} if named else {}))
    opened, seen = _opened(uri, 0), []

    def look(uri):
        seen.append(Path(uri).name)
        return open_table(uri)

    monkeypatch.setattr("penstock.engine.log.delta_log.open_table", look)

    assert (LOG.facts(uri), seen) == (opened, opens)


def test_a_checkpoint_that_outlived_its_commit_is_the_newest_version(tmp_path):
    uri = str(tmp_path / "t")
    for number in (1, 2):
        write_deltalake(uri, pa.table({"a": [number]}), mode="append")
    commit = Path(commit_file(uri, 0))
    commit.write_text('{"commitInfo": {"txnId": "one"}}\n' + commit.read_text())
    check(uri, 0, txnId="one")
    DeltaTable(uri).create_checkpoint()
    Path(commit_file(uri, 1)).unlink()

    assert LOG.facts(uri) == _opened(uri, 1)


def test_a_table_that_begins_anew_is_found_below_the_version_that_was_read_before(table):
    before = LOG.facts(table)
    disk_at(table).drop(table)
    append(table, 1)
    BUCKETS.tables.clear()

    after = LOG.facts(table, hint=1)

    assert (before.version, after.version) == (1, 0)
    assert after == _opened(table, 0)
    assert after.table_id != before.table_id


def _opened(uri, version):
    opened = DeltaTable(uri, version=version, storage_options=table_options_at(uri))
    return _facts(version, metadata_action(opened))


def test_a_version_that_is_missing_between_others_is_an_error_and_not_the_end(table):
    for number in (3, 4):
        append(table, number)
    remove(table, 2)

    assert LOG.head(table, 1) == Head(3, "")
    for ask in (LOG.facts, lambda uri: LOG.transaction(uri, "app")):
        with pytest.raises(TableError) as caught:
            ask(table)
        assert caught.value.code == "log-unreadable"


def test_commits_below_a_gap_that_a_cleanup_left_hide_nothing_above_it(table):
    LOG.facts(table)
    for number in (3, 4):
        append(table, number)
    DeltaTable(table, storage_options=table_options_at(table)).create_checkpoint()
    append(table, 5)
    remove(table, 1)
    remove(table, 2)

    assert LOG.facts(table).version == 4
    assert (LOG.head(table).version, LOG.head(table, 0).version) == (4, 4)


def test_a_table_in_the_place_of_another_is_read_anew(table):
    before = LOG.facts(table)
    disk_at(table).drop(table)
    for number in (1, 2):
        append(table, number, column="b")

    after = LOG.facts(table)

    assert (before.version, after.version) == (1, 1)
    assert (before.table_id != after.table_id, after.schema.names) == (True, ("b",))


@pytest.mark.parametrize("etag", ["same", None])
def test_a_store_with_one_etag_for_all_files_or_none_does_not_hide_another_table(
    table, monkeypatch, etag
):
    listed = disk_at(table)._below
    monkeypatch.setattr(
        disk_at(table),
        "_below",
        lambda *place: ({**each, "e_tag": etag} for each in listed(*place)),
    )
    before = LOG.facts(table)
    disk_at(table).drop(table)
    for number in (1, 2):
        append(table, number, column="another")

    after = LOG.facts(table)

    assert (before.version, before.schema.names) == (1, ("a",))
    assert (after.version, after.schema.names) == (1, ("another",))


def test_a_table_that_is_replaced_while_it_is_opened_is_read_again(table, monkeypatch):
    def replace(uri):
        append(uri, 3)
        opened = open_version(uri)
        disk_at(uri).drop(uri)
        for number in (1, 2, 3):
            append(uri, number, column="another")
        return opened

    monkeypatch.setattr("penstock.engine.log.tables.open_version", replace)
    first = LOG.facts(table, counts=True)
    monkeypatch.undo()
    second = LOG.facts(table, counts=True)

    assert (first.version, first.schema.names) == (2, ("a",))
    assert (second.version, second.schema.names) == (2, ("another",))


def test_a_commit_that_creates_a_table_is_read_by_its_own_metadata(bucket):
    rows, uri = pa.table({"a": [1], "d": ["2024-12-02"]}), f"{bucket}/t"
    for partition_by in (["a"], ["d"]):
        disk_at(uri).drop(uri)
        options = table_options_at(uri)
        write_deltalake(uri, rows, partition_by=partition_by, storage_options=options)
        check(uri, 0)
        if partition_by == ["a"]:
            LOG.facts(uri)

    assert DeltaPlaces().written(uri, 0, "a", "bigint") is None
    day = 20_059 * 86_400_000_000  # 2024-12-02
    (touched,) = DeltaPlaces().touched(uri, -1, {"d": "date"}, upto=0)
    assert touched.spans == {"d": ((day, day + 86_400_000_000),)}


def test_what_is_known_of_a_table_is_forgotten_with_its_folder(table):
    LOG.facts(table)
    DiskFolders().drop(f"{table.rpartition('/')[0]}/t2")
    kept = [*BUCKETS.tables]
    DiskFolders().drop(table.rpartition("/")[0].replace("s3:", "s3a:"))

    assert (kept, BUCKETS.tables) == ([table], {})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"metadata": null}',
        b'{"metadata": {"id": "x"}}',
        b'{"metadata": {"id": "x", "schemaString": "{"}}',
        b'{"metadata": {"schemaString": "{\\"fields\\": []}"}}',
        b'{"metadata": {"id": "x", "schemaString": "{\\"fields\\": [{}]}"}}',
        b'{"metadata": {"id": "x", "schemaString": "{\\"fields\\": [{\\"name\\": \\"a\\"}]}"}}',
    ],
)
def test_a_damaged_checksum_is_not_believed(table, content):
    expected = LOG.facts(table)
    BUCKETS.tables.clear()
    disk_at(table).put(f"{table}/_delta_log/{1:020d}.crc", content)

    assert LOG.facts(table) == expected
    assert LOG.transaction(table, "app") == 0


@pytest.mark.parametrize(
    "damage",
    [
        {"metadata": None, "protocol": None},
        {"metadata": {}, "protocol": {}},
        {"protocol": {"minReaderVersion": 1}},
        {"partitionColumns": "a"},
        {"schemaString": "[" * 100_000},
        {"numDeletedRecordsOpt": True},
        {"numDeletedRecordsOpt": -1},
        {"setTransactions": {}},
    ],
)
def test_no_part_of_a_damaged_checksum_is_believed(tmp_path, damage):
    uri = str(tmp_path)
    append(uri, 1)
    summary = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    summary["metadata"] = metadata_action(DeltaTable(uri)) | damage
    check(uri, 0, **{**summary, **damage})

    write_log(uri, 0, f"{uri}/staged")

    assert LOG.facts(f"{uri}/staged") == replace(LOG.facts(uri), comment="")
    assert LOG.facts(uri, counts=True).rows == 1
    assert metadata_at(uri, 0) == Metadata(LOG.facts(uri).table_id, {"a": "a"}, frozenset())


def test_a_checksum_without_its_commit_is_to_be_deleted(tmp_path):
    append(str(tmp_path), 1)
    (tmp_path / "_delta_log" / f"{1:020d}.crc").write_text("{}")

    with pytest.raises(TableError) as caught:
        LOG.facts(str(tmp_path))

    assert (caught.value.code, caught.value.hint) == (
        "log-unreadable",
        "delete the .crc file of the version that has no .json file; nothing was written",
    )


def test_a_checksum_older_than_its_commit_is_of_a_removed_one(table, monkeypatch):
    check(table, 1, setTransactions=[{"appId": "app", "version": 7}], numDeletedRecordsOpt=1)
    disk = disk_at(table)
    listed = disk._below

    def written_before(*place):
        for each in listed(*place):
            is_checksum = each["path"].endswith(".crc")
            time = each["last_modified"] - dt.timedelta(days=int(is_checksum))
            yield {**each, "last_modified": time}

    monkeypatch.setattr(disk, "_below", written_before)

    assert LOG.transaction(table, "app") == 0
    assert (LOG.facts(table).version, LOG.facts(table, counts=True).rows) == (1, 2)
    assert described(table) is None


def test_the_last_transaction_is_that_of_the_checksum_or_of_the_log(table, object_server):
    check(table, 1, setTransactions=[{"appId": "app", "version": 7, "lastUpdated": 1}])
    told, first = requests(object_server, lambda: LOG.transaction(table, "app"))
    BUCKETS.tables.clear()
    check(table, 1, setTransactions=None)

    assert (told, first) == (7, 3)
    assert LOG.transaction(table, "app") == 0
    assert LOG.transaction(f"{table}/nowhere", "app") == 0


@pytest.mark.parametrize("ask", [open_table, lambda uri: open_version(uri, 0)])
def test_a_store_that_fails_while_a_table_is_opened_is_no_damaged_log(bucket, monkeypatch, ask):
    monkeypatch.setattr("penstock.engine.log.tables._cached", lambda _: None)

    with pytest.raises(TableError) as caught:
        ask("s3://refused-1/t")

    assert caught.value.code == "store-refused"


def test_a_store_that_fails_once_is_no_damaged_log_either(table, monkeypatch):
    def fail(*_, **__):
        raise OSError("Generic S3 error: deadline has elapsed")

    monkeypatch.setattr("deltalake.DeltaTable", fail)

    with pytest.raises(TableError) as caught:
        open_version(table)

    assert caught.value.code == "store-unreachable"
    assert caught.value.sentence == f"the store failed while the Delta log of {table} was read"


def test_a_version_of_a_damaged_log_is_unreadable_and_one_that_was_cleaned_away_is_none(tmp_path):
    for number in range(5):
        append(str(tmp_path), number + 1)
    DeltaTable(str(tmp_path), version=3).create_checkpoint()
    for version in (0, 1):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()

    assert [open_version(str(tmp_path), version) for version in (0, 2, 9)] == [None, None, None]
    assert open_version(str(tmp_path), 4).version() == 4
    (tmp_path / "_delta_log" / f"{3:020d}.checkpoint.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableError) as caught:
        open_version(str(tmp_path), 4)
    assert caught.value.code == "log-unreadable"
