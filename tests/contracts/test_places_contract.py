"""What every Places promises of where rows changed and lie."""

import pytest

from contracts.places_worlds import FolderPlaces, LakePlaces
from contracts.store_cases import intent
from fakes.places import FakeFile
from penstock.core.errors import TableError
from penstock.core.partitions.partition import FIRST, LAST
from penstock.core.steps.step import PartitionRows
from penstock.core.steps.token import write_token

TOKEN = write_token(intent("step-7"), "0.1.0", "store-1")
DAY = 86_400_000_000
ONE = 20_059 * DAY  # 2024-12-02
TWO, THREE, FOUR = ONE + DAY, ONE + 2 * DAY, ONE + 3 * DAY


@pytest.fixture(params=["lake", "folder", "bucket"])
def world(request):
    folder = request.getfixturevalue("bucket" if request.param == "bucket" else "tmp_path")
    return LakePlaces(folder) if request.param == "lake" else FolderPlaces(folder)


def day(path, *dates, **more):
    return FakeFile(path, {"d": (dates[0], dates[-1])}, **more)


def spans(world, after=0, **kinds):
    found = world.places.touched(world.uri, after, kinds or {"d": "date"})
    return {touched.version: dict(touched.spans) for touched in found}


def test_a_table_that_is_not_there_has_no_places(world):
    assert world.places.touched(world.uri, -1, {"d": "date"}) == ()
    assert world.places.lying(world.uri, "d", "date") == ()


def test_a_commit_touches_the_days_between_least_and_greatest_value(world):
    world.create(day("a", "2024-12-02", "2024-12-03"))
    world.commit(day("b", "2024-12-04"))

    assert spans(world, -1) == {0: {"d": ((ONE, THREE),)}, 1: {"d": ((THREE, FOUR),)}}


def test_spans_of_one_commit_are_rising_and_apart(world):
    world.create()
    world.commit(day("a", "2024-12-04"), day("b", "2024-12-02"), day("c", "2024-12-02"))
    world.commit(day("d", "2024-12-03"), day("e", "2024-12-02"))

    assert spans(world) == {1: {"d": ((ONE, TWO), (THREE, FOUR))}, 2: {"d": ((ONE, THREE),)}}


def test_a_version_has_the_features_that_were_on_then(world):
    world.create()
    world.enable("typeWidening")

    assert world.places.features(world.uri, 0) == {"deletionVectors", "columnMapping"}
    assert world.places.features(world.uri) == {
        "deletionVectors",
        "columnMapping",
        "typeWidening",
    }


@pytest.mark.parametrize("asked", ["d", "D"])
def test_partition_values_tell_exactly_and_names_have_no_case(world, asked):
    world.create(partition_by="d")
    world.commit(day("d=2024-12-02/a", "2024-12-02"))

    assert spans(world, **{asked: "date"}) == {1: {asked: ((ONE, TWO),)}}


def test_statistics_of_instants_are_a_millisecond_wider_than_written(world):
    at = "2024-12-02T00:00:00.001Z"
    world.create()
    world.commit(FakeFile("a", {"ts": (at, at)}))

    assert spans(world, ts="timestamp") == {1: {"ts": ((ONE + 1000, ONE + 2000),)}}


def test_partition_values_of_instants_are_exact(world):
    at = "2024-12-02 00:00:00.000001"
    world.create(partition_by="ts")
    world.commit(FakeFile("a", {"ts": (at, at)}))

    assert spans(world, ts="timestamp") == {1: {"ts": ((ONE + 1, ONE + 2),)}}


def test_whole_numbers_are_their_own_positions(world):
    world.create()
    world.commit(FakeFile("a", {"n": ("-5", "7")}))

    assert spans(world, n="int") == {1: {"n": ((-5, 8),)}}


def test_columns_are_told_one_by_one(world):
    world.create()
    world.commit(FakeFile("a", {"n": ("5", "5")}))

    assert spans(world, n="int", d="date") == {1: {"n": ((5, 6),), "d": None}}


def test_a_file_without_statistics_can_have_changed_anything(world):
    world.create()
    world.commit(day("a", "2024-12-02"), FakeFile("b"))

    assert spans(world) == {1: {"d": None}}


@pytest.mark.parametrize("partition_by", ["", "d"])
def test_rows_without_a_value_are_in_no_place(world, partition_by):
    world.create(partition_by=partition_by)
    world.commit(FakeFile("a", {"d": None}))

    assert spans(world) == {1: {"d": ()}}
    assert world.places.lying(world.uri, "d", "date") == ()


@pytest.mark.parametrize("partition_by", ["", "d"])
def test_what_is_removed_is_touched_where_its_add_says(world, partition_by):
    world.create(day("a", "2024-12-02"), day("b", "2024-12-03"), partition_by=partition_by)
    world.commit(day("c", "2024-12-04"))
    world.commit(removed=("a",), operation="DELETE")
    world.commit(removed=("c",), operation="DELETE")

    assert spans(world, 1) == {2: {"d": ((ONE, TWO),)}, 3: {"d": ((THREE, FOUR),)}}


def test_a_file_that_optimize_made_tells_of_its_removal(world):
    world.create(day("a", "2024-12-02"), day("b", "2024-12-03"))
    world.commit(day("c", "2024-12-02", "2024-12-03"), removed=("a", "b"), operation="OPTIMIZE")
    world.commit(removed=("c",), operation="DELETE")

    assert spans(world) == {2: {"d": ((ONE, THREE),)}}


def test_optimize_and_properties_touch_nothing(world):
    world.create(day("a", "2024-12-02"))
    world.commit(day("b", "2024-12-02"), removed=("a",), operation="OPTIMIZE")
    world.commit(operation="SET TBLPROPERTIES")

    assert spans(world) == {}


def test_a_masked_row_touches_its_file(world):
    world.create(day("a", "2024-12-02", rows=3), day("b", "2024-12-03"))
    world.commit(day("a", "2024-12-02", rows=3, hidden=1), removed=("a",), operation="DELETE")

    assert spans(world) == {1: {"d": ((ONE, TWO),)}}


def test_another_table_in_the_place_of_the_first_touches_anything(world):
    world.create(day("a", "2024-12-02"))
    world.create(day("b", "2024-12-03"), table_id="id-2")
    world.commit(day("c", "2024-12-04"))

    assert spans(world) == {1: {"d": None}, 2: {"d": ((THREE, FOUR),)}}


def test_a_commit_is_told_with_its_operation_and_whose_step_it_was(world):
    world.create()
    world.commit(day("a", "2024-12-02"), token=TOKEN)
    world.commit(removed=("a",), operation="RESTORE")

    found = world.places.touched(world.uri, 0, {})

    assert [(t.version, t.operation, t.step, t.store) for t in found] == [
        (1, "WRITE", "step-7", "store-1"),
        (2, "RESTORE", "", ""),
    ]


@pytest.mark.parametrize("upto", [None, 3])
def test_a_gap_is_an_error_unless_what_is_left_is_asked_for(world, upto):
    world.create()
    for number in range(3):
        world.commit(day(f"f{number}", "2024-12-02"))
    world.forget(1)

    with pytest.raises(TableError) as caught:
        world.places.touched(world.uri, 0, {"d": "date"}, upto=upto)

    left = world.places.touched(world.uri, 0, {"d": "date"}, upto=upto, partial=True)
    assert caught.value.code == "log-gap"
    assert [touched.version for touched in left] == [2, 3]


def test_commits_above_a_version_are_not_asked_for(world):
    world.create()
    for number in range(3):
        world.commit(day(f"f{number}", "2024-12-02"))

    for partial in (False, True):
        found = world.places.touched(world.uri, 0, {"d": "date"}, upto=2, partial=partial)
        assert [touched.version for touched in found] == [1, 2]


def test_rows_and_bytes_of_a_commit_are_told_by_partition(world):
    world.create(day("old", "2024-12-02"), partition_by="d")
    version = world.commit(
        day("a", "2024-12-02", rows=3, size=10),
        day("b", "2024-12-02", rows=2, size=20, hidden=1),
        day("c", "2024-12-04", rows=1, size=30),
        FakeFile("e", {"d": None}),
    )

    assert world.places.written(world.uri, version, "D", "date") == {
        ONE: PartitionRows(ONE, 4, 30),
        THREE: PartitionRows(THREE, 1, 30),
    }


def test_a_commit_that_only_removes_wrote_to_no_partition(world):
    world.create(day("a", "2024-12-02"), partition_by="d")
    version = world.commit(removed=("a",), operation="DELETE")

    assert world.places.written(world.uri, version, "d", "date") == {}


def test_what_was_written_is_unknown_where_the_table_is_not_partitioned_by_the_column(world):
    version = world.create(day("a", "2024-12-02"))

    assert world.places.written(world.uri, version, "d", "date") is None


def test_what_a_commit_that_is_gone_wrote_is_an_error(world):
    version = world.create(day("a", "2024-12-02"), partition_by="d")
    world.commit(day("b", "2024-12-03"))
    world.forget(version)

    for gone in (version, 7):
        with pytest.raises(TableError) as caught:
            world.places.written(world.uri, gone, "d", "date")
        assert caught.value.code == "log-gap"


@pytest.mark.parametrize("partition_by", ["", "d"])
def test_rows_lie_where_live_files_do(world, partition_by):
    world.create(day("a", "2024-12-02"), day("b", "2024-12-03"), partition_by=partition_by)
    world.commit(day("c", "2024-12-04"), removed=("b",), operation="UPDATE")

    assert world.places.lying(world.uri, "D", "date") == ((ONE, TWO), (THREE, FOUR))


def test_instants_and_numbers_lie_where_statistics_say(world):
    at = "2024-12-02T00:00:00.001Z"
    world.create(FakeFile("a", {"ts": (at, at), "n": ("-5", "7")}))

    assert world.places.lying(world.uri, "ts", "timestamp") == ((ONE + 1000, ONE + 2000),)
    assert world.places.lying(world.uri, "n", "int") == ((-5, 8),)


def test_a_live_file_without_statistics_can_hold_any_row(world):
    world.create(day("a", "2024-12-02"), FakeFile("b"))

    assert world.places.lying(world.uri, "d", "date") == ((FIRST, LAST),)


def test_a_file_whose_every_row_is_masked_holds_none(world):
    world.create(day("a", "2024-12-02", rows=3, hidden=3), day("b", "2024-12-04", rows=3, hidden=2))

    assert world.places.lying(world.uri, "d", "date") == ((THREE, FOUR),)


def test_files_that_are_gone_are_counted_by_version(world):
    world.create(day("a", "2024-12-02"), day("b", "2024-12-03"))
    world.commit(day("c", "2024-12-04"), removed=("a",), operation="UPDATE")
    world.lose("a")

    counts = [world.places.missing_files(world.uri, version) for version in (0, 1)]

    assert counts == [1, 0]


def test_files_of_a_version_that_the_log_lost_cannot_be_counted(world):
    world.create(day("a", "2024-12-02"))
    world.commit(day("b", "2024-12-03"))
    world.forget(0)

    for gone in (0, 7):
        with pytest.raises(TableError) as caught:
            world.places.missing_files(world.uri, gone)
        assert caught.value.code == "log-gap"
