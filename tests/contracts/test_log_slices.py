"""What every Log promises of the slices of a bronze folder."""

import pytest

from contracts.log_worlds import world_in
from penstock.core.entities.slices import BronzeFolder
from penstock.core.errors import TableError
from penstock.core.findings import Location

WHERE = Location("entities/sales.json", 6)


@pytest.fixture(params=["lake", "folder", "memory_bucket", "bucket"])
def world(request):
    return world_in(request.param, request)


def listed(world, pattern="*.parquet", **more):
    return world.log.slices(BronzeFolder(world.source.path, pattern, WHERE, **more))


def names(world, pattern="*.parquet"):
    return [each.id.name for each in listed(world, pattern)]


def deliver(world, *files):
    for file in files:
        world.deliver(file)


def test_slices_come_by_the_code_points_of_their_names(world):
    deliver(world, "b.parquet", "a.parquet", "c.parquet", "aa.parquet", "B.parquet", "é.parquet")

    found = names(world)

    assert found == [f"{name}.parquet" for name in ("B", "a", "aa", "b", "c", "é")]


def test_what_does_not_fit_or_is_hidden_is_no_slice(world):
    deliver(world, "a.parquet", "a.csv", "_a.parquet", ".a.parquet", "a.PARQUET", "x/a.parquet")

    assert names(world) == ["a.parquet"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.parquet", ["2025/07/a.parquet", "2025/b.parquet", "c.parquet"]),
        ("*/*.parquet", ["2025/b.parquet"]),
        ("2025/**/*.parquet", ["2025/07/a.parquet", "2025/b.parquet"]),
        ("**/07/*", ["2025/07/a.parquet"]),
        ("?.parquet", ["c.parquet"]),
        ("2025/*", ["2025/07", "2025/b.parquet"]),
    ],
)
def test_a_pattern_may_reach_below_the_folder(world, pattern, found):
    hidden = ("_old/07/a.parquet", "2025/.x/07/a.parquet")
    deliver(world, "2025/07/a.parquet", "2025/b.parquet", "c.parquet", *hidden)

    assert names(world, pattern) == found


def test_a_folder_that_fits_is_one_slice_of_all_its_files(world):
    world.deliver("d.parquet/part-1.parquet", 3, 7)
    world.deliver("d.parquet/a=1/part-0.parquet", 2, 9)
    deliver(world, "d.parquet/_SUCCESS", "d.parquet/.part-1.parquet.crc")

    (found,) = listed(world, "**/*.parquet")

    assert found.files == ("d.parquet/a=1/part-0.parquet", "d.parquet/part-1.parquet")
    assert (found.id.name, found.id.size, found.id.modified) == ("d.parquet", 5, world.time(9))
    assert not found.is_incomplete


def test_a_file_is_a_slice_of_itself(world):
    world.deliver("a.parquet", 3, 7)

    (found,) = listed(world)

    assert (found.id.size, found.id.modified, found.id.etag) == (3, world.time(7), "")
    assert (found.files, found.is_incomplete) == (("a.parquet",), False)


def test_a_folder_that_is_being_written_is_incomplete(world):
    deliver(world, "a/part-0.parquet", "b/part-0.parquet", "b/_temporary/0/part-1.parquet")

    assert [each.is_incomplete for each in listed(world, "*")] == [False, True]


def test_a_folder_without_success_is_incomplete_where_that_is_asked_for(world):
    deliver(world, "a/part-0.parquet", "b/part-0.parquet", "b/_SUCCESS", "c.parquet")

    found = listed(world, "*", require_success=True)

    assert [(each.id.name, each.is_incomplete) for each in found] == [
        ("a", True),
        ("b", False),
        ("c.parquet", False),
    ]


@pytest.mark.parametrize(
    "change",
    [("d/a.parquet", 2), ("d/a.parquet", 1, 1, "y"), ("d/b.parquet",)],
    ids=["size", "content", "file"],
)
def test_a_slice_is_told_by_the_names_sizes_and_content_of_its_files(world, change):
    world.deliver("d/a.parquet")
    (before,) = listed(world, "d")
    world.deliver("d/a.parquet", 1, 2)
    (same,) = listed(world, "d")
    world.deliver(*change)
    (after,) = listed(world, "d")

    assert before.id == same.id
    assert before.id.digest != after.id.digest


@pytest.mark.parametrize("name", ["a b", "100%", "it's", 'say "x"', "é", "a\nb", "[x]", "a+b", "*"])
def test_any_name_can_be_that_of_a_slice(world, name):
    deliver(world, f"{name}.parquet")

    assert [each.files for each in listed(world)] == [(f"{name}.parquet",)]


def test_a_folder_that_is_not_there_names_the_entity(world):
    with pytest.raises(TableError) as caught:
        listed(world)

    assert caught.value.render().startswith(
        "entities/sales.json:6: bronze-missing: "
        f"the bronze folder {world.source.path} does not exist"
    )


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (("a.csv", "b/c.csv", "_x.csv", "b/.y"), ("a.csv", "b/c.csv")),
        (("a.csv", "b/c.csv", "d.parquet"), ("a.csv",)),
        (("d.parquet",), ()),
    ],
    ids=["without slices at any depth", "beside slices", "none"],
)
def test_files_that_belong_to_no_slice_are_listed(world, files, found):
    deliver(world, *files)

    assert world.log.unmatched(BronzeFolder(world.source.path, "*.parquet", WHERE)) == found
