"""What Places of real folders know beyond their contract: other writers, mapped columns, losses."""

import json
import math
import os
from pathlib import Path

import pytest

from contracts.places_worlds import FolderPlaces, metadata
from fakes.places import FakeFile
from penstock.core.errors import TableError
from penstock.core.partitions.partition import FIRST, LAST
from penstock.core.steps.step import PartitionRows
from penstock.engine.log.delta_log import DeltaLog
from penstock.engine.log.files import bytes_in
from penstock.engine.log.places import DeltaPlaces

DAY = 86_400_000_000
ONE = 20_059 * DAY  # 2024-12-02
TWO, THREE = ONE + DAY, ONE + 2 * DAY
PLACES, LOG = DeltaPlaces(), DeltaLog()


@pytest.fixture
def world(tmp_path):
    return FolderPlaces(tmp_path)


def day(path, *dates, **more):
    return FakeFile(path, {"d": (dates[0], dates[-1])}, **more)


def append(uri, dates, mode="append", **more):
    import datetime as dt

    import pyarrow as pa
    from deltalake import write_deltalake

    values = [dt.date.fromisoformat(date) for date in dates]
    write_deltalake(str(uri), pa.table({"d": values, "n": [1] * len(dates)}), mode=mode, **more)


def spans(uri, after, **kinds):
    found = PLACES.touched(str(uri), after, kinds or {"d": "date"})
    return {touched.version: dict(touched.spans) for touched in found}


def rewrite(world, version, change):
    file = world.root / "_delta_log" / f"{version:020d}.json"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for action in lines:
        change(action)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def describe(world, version, told):
    file = world.root / "_delta_log" / f"{version:020d}.json"
    file.write_text(file.read_text() + json.dumps({"metaData": told}) + "\n")


@pytest.mark.parametrize("partition_by", [None, ["d"]])
def test_what_another_writer_removed_without_statistics_is_told_by_its_add(tmp_path, partition_by):
    from deltalake import DeltaTable

    append(tmp_path, ["2024-12-02"], partition_by=partition_by)
    append(tmp_path, ["2024-12-03"])
    DeltaTable(str(tmp_path)).delete("d = '2024-12-02'")

    assert spans(tmp_path, 1) == {2: {"d": ((ONE, TWO),)}}
    assert PLACES.lying(str(tmp_path), "d", "date") == ((TWO, THREE),)


def test_the_add_is_found_in_a_checkpoint_when_its_commit_is_gone(tmp_path):
    from deltalake import DeltaTable

    append(tmp_path, ["2024-12-02"])
    append(tmp_path, ["2024-12-03"])
    table = DeltaTable(str(tmp_path))
    table.create_checkpoint()
    table.delete("d = '2024-12-02'")
    (tmp_path / "_delta_log" / f"{0:020d}.json").unlink()

    assert spans(tmp_path, 1) == {2: {"d": ((ONE, TWO),)}}


def test_a_removal_of_which_no_add_is_left_can_have_touched_anything(world):
    world.create(day("a", "2024-12-02"))
    world.commit(day("b", "2024-12-03"))
    world.commit(removed=("a",), operation="DELETE")
    world.forget(0)

    assert spans(world.uri, 1) == {2: {"d": None}}


def test_an_overwrite_touches_the_rows_that_went_and_those_that_came(tmp_path):
    append(tmp_path, ["2024-12-02"])
    append(tmp_path, ["2024-12-03"], mode="overwrite")

    assert spans(tmp_path, 0) == {1: {"d": ((ONE, THREE),)}}


def test_a_schema_merge_keeps_the_table_and_its_places(world):
    world.create()
    world.commit(day("a", "2024-12-02"))
    describe(world, 1, metadata("id-1"))
    world.commit(day("b", "2024-12-03"))
    describe(world, 2, metadata("id-2"))

    assert spans(world.uri, 0) == {1: {"d": ((ONE, TWO),)}, 2: {"d": None}}


def test_a_column_keeps_its_physical_name_after_a_rename_and_no_other_column_gets_it(world):
    world.create()
    world.commit(day("a", "2024-12-02"))
    describe(world, 1, metadata("id-1", d="col-1", ts="d", n="n"))

    assert spans(world.uri, 0, d="date", ts="date") == {1: {"d": None, "ts": ((ONE, TWO),)}}
    assert PLACES.lying(world.uri, "d", "date") == ((FIRST, LAST),)


def test_a_column_that_the_table_does_not_have_can_be_anywhere(world):
    world.create(day("a", "2024-12-02"))

    assert spans(world.uri, -1, gone="date") == {0: {"gone": None}}
    assert PLACES.lying(world.uri, "gone", "date") == ((FIRST, LAST),)
    assert PLACES.written(world.uri, 0, "gone", "date") is None


def test_a_value_that_cannot_be_read_can_be_anywhere(world):
    world.create(partition_by="d")
    version = world.commit(day("a", "12024-12-02"))

    assert spans(world.uri, 0) == {1: {"d": None}}
    assert PLACES.written(world.uri, version, "d", "date") is None


def test_the_checksum_file_of_a_version_saves_looking_for_its_metadata(world):
    world.create()
    world.commit(day("a", "2024-12-02"))
    told = {"metadata": metadata("id-1", d="col-1", ts="d", n="n")}
    checksum = world.root / "_delta_log" / f"{1:020d}.crc"

    checksum.write_text(json.dumps(told))
    mapped = spans(world.uri, 0)
    checksum.write_text('{"metadata":')
    damaged = spans(world.uri, 0)

    assert (mapped, damaged) == ({1: {"d": None}}, {1: {"d": ((ONE, TWO),)}})


def test_metadata_below_a_checkpoint_is_read_from_the_checkpoint(tmp_path):
    from deltalake import DeltaTable

    for _ in range(103):
        append(tmp_path, ["2024-12-02"])
    DeltaTable(str(tmp_path)).create_checkpoint()
    (tmp_path / "_delta_log" / f"{0:020d}.json").unlink()
    append(tmp_path, ["2024-12-03"])

    assert spans(tmp_path, 102) == {103: {"d": ((TWO, THREE),)}}


def test_rows_are_unknown_where_statistics_do_not_count_them(world):
    world.create(partition_by="d")
    version = world.commit(day("a", "2024-12-02"), day("b", "2024-12-02"))
    rewrite(world, version, lambda action: action.get("add", {}).pop("stats", None))

    assert PLACES.written(world.uri, version, "d", "date") == {ONE: PartitionRows(ONE, None, 200)}


def test_rows_of_a_table_are_unknown_and_not_0_where_a_file_has_no_statistics(world):
    world.create(day("a", "2024-12-02", rows=3))
    version = world.commit(day("b", "2024-12-02"))
    rewrite(world, version, lambda action: action.get("add", {}).pop("stats", None))

    facts = LOG.facts(world.uri, counts=True)

    assert (facts.rows, facts.size_bytes) == (None, 200)


@pytest.mark.parametrize("partition_by", ["", "d"])
def test_damaged_statistics_are_unreadable(world, partition_by):
    world.create(partition_by=partition_by)
    version = world.commit(day("a", "2024-12-02"))
    rewrite(world, version, lambda action: action.get("add", {}).update(stats="{half"))

    with pytest.raises(TableError) as caught:
        PLACES.written(world.uri, version, "d", "date") or PLACES.touched(
            world.uri, 0, {"d": "date"}
        )

    assert caught.value.code == "log-unreadable"


def test_a_deletion_vector_that_is_gone_hides_nothing_and_is_a_missing_file(world):
    world.create(day("a", "2024-12-02", rows=3, hidden=3))
    gone = {"storageType": "u", "pathOrInlineDv": "Qu-KX^SwfwOzO!9&b?R:", "offset": 1}

    def lose(action):
        if "add" in action:
            action["add"]["deletionVector"].update(gone)

    rewrite(world, 0, lose)

    assert PLACES.lying(world.uri, "d", "date") == ((ONE, TWO),)
    assert PLACES.missing_files(world.uri, 0) == 1
    assert PLACES.readable(world.uri, [0]) == frozenset()


def test_files_are_found_under_their_decoded_names(tmp_path):
    import datetime as dt

    import pyarrow as pa
    from deltalake import write_deltalake

    at = pa.array([dt.datetime(2024, 12, 2, 10)], pa.timestamp("us"))  # noqa: DTZ001  # without a zone
    write_deltalake(str(tmp_path), pa.table({"at": at, "n": [1]}), partition_by=["at"])

    assert PLACES.missing_files(str(tmp_path), 0) == 0
    assert PLACES.missing_files(f"file://{tmp_path}", 0) == 0
    assert PLACES.lying(f"file://{tmp_path}", "at", "timestamp_ntz") == (
        (ONE + DAY * 10 // 24, ONE + DAY * 10 // 24 + 1),
    )


def test_of_vectors_that_deltalake_cannot_read_the_checksum_knows_the_rows(world):
    world.create(day("a", "2024-12-02", rows=3, hidden=1))
    features = ["deletionVectors", "typeWidening"]
    both = {"readerFeatures": features, "writerFeatures": features}
    rewrite(world, 0, lambda action: action.get("protocol", {}).update(both))
    before = LOG.facts(world.uri, counts=True)
    checksum = world.root / "_delta_log" / f"{0:020d}.crc"
    checksum.write_text('{"numDeletedRecordsOpt": 1, "numDeletionVectorsOpt": 1}')

    assert (before.rows, before.size_bytes) == (None, 100)
    assert LOG.facts(world.uri, counts=True).rows == 2
    assert PLACES.lying(world.uri, "d", "date") == ((ONE, TWO),)
    assert PLACES.missing_files(world.uri, 0) == 0


def test_a_checksum_older_than_its_commit_is_not_believed(world):
    world.create()
    world.commit(day("a", "2024-12-02", rows=3))
    told = {"metadata": metadata("id-1", d="col-1", ts="d", n="n"), "numDeletedRecordsOpt": 1}
    checksum = world.root / "_delta_log" / f"{1:020d}.crc"
    checksum.write_text(json.dumps(told))
    os.utime(checksum, (1, 1))

    assert spans(world.uri, 0) == {1: {"d": ((ONE, TWO),)}}
    assert LOG.facts(world.uri, counts=True).rows == 3


def test_a_checksum_that_counts_no_vectors_saves_reading_them(world, monkeypatch):
    world.create(day("a", "2024-12-02"))
    (world.root / "_delta_log" / f"{0:020d}.crc").write_text('{"numDeletionVectorsOpt": 0}')
    monkeypatch.setattr("deltalake.DeltaTable.deletion_vectors", None)

    assert PLACES.lying(world.uri, "d", "date") == ((ONE, TWO),)


def test_partition_columns_keep_their_own_name_where_columns_are_mapped(world):
    world.create(partition_by="d")
    world.partition_by = "col-1"
    version = world.commit(FakeFile("a", {"col-1": ("2024-12-02", "2024-12-02")}))
    describe(world, version, metadata("id-1", "d", d="col-1"))

    assert spans(world.uri, 0, D="date") == {1: {"D": ((ONE, TWO),)}}
    assert PLACES.written(world.uri, version, "D", "date") == {ONE: PartitionRows(ONE, 1, 100)}
    assert PLACES.lying(world.uri, "D", "date") == ((ONE, TWO),)


def test_a_folder_with_a_blank_in_its_name_is_a_folder(tmp_path):
    append(tmp_path / "a b", ["2024-12-02"], partition_by=["d"])

    assert PLACES.missing_files(str(tmp_path / "a b"), 0) == 0
    assert spans(tmp_path / "a b", -1) == {0: {"d": ((ONE, TWO),)}}


def test_versions_without_a_file_or_a_log_entry_cannot_be_read(tmp_path):
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    uri, rows = str(tmp_path / "t"), pa.table({"day": ["a b%/ü", "c"], "n": [1, 2]})
    for value in ("10", "11", "12"):
        write_deltalake(uri, rows, mode="overwrite", partition_by=["day"])
        DeltaTable(uri).update(predicate="n = 2", updates={"n": value})
    fourth, newest = (DeltaTable(uri, version=version) for version in (4, 5))
    for path in {*fourth.file_uris()} - {*newest.file_uris()}:
        Path(path).unlink()

    assert PLACES.readable(uri, range(7)) == {0, 1, 2, 3, 5}

    fourth.create_checkpoint()
    (tmp_path / "t/_delta_log/00000000000000000000.json").unlink()

    assert PLACES.readable(uri, range(7)) == {5}


@pytest.mark.parametrize(
    ("partition_by", "partitions", "most"),
    [("d", 1, 300), ("d", 2, 500), ("d", math.inf, 500), ("", 1, 500)],
)
def test_a_number_of_partitions_has_at_most_the_bytes_of_the_largest(
    world, partition_by, partitions, most
):
    files = [day("a", "2024-12-02", size=100), day("b", "2024-12-02", size=200)]
    world.create(*files, day("c", "2024-12-03", size=200), partition_by=partition_by)

    assert bytes_in(world.uri, partitions) == most


def test_without_a_log_that_can_be_read_nobody_knows_the_bytes(world, tmp_path):
    world.create(day("a", "2024-12-02", size=100))
    rewrite(world, 0, lambda action: action.pop("metaData", None))

    assert bytes_in(world.uri, 1) == math.inf
    assert bytes_in(str(tmp_path / "none"), 1) == math.inf
