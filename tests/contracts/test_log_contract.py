"""What every Log promises of tables and files."""

import datetime as dt

import pytest

from contracts.log_worlds import world_in
from contracts.store_cases import intent
from penstock.core.columns.schema import Column
from penstock.core.errors import TableError
from penstock.core.facts import Head
from penstock.core.steps.token import write_token

TOKEN = write_token(intent("step-7"), "0.1.0", "store-1")


@pytest.fixture(params=["lake", "folder", "bucket"])
def world(request):
    return world_in(request.param, request)


def test_a_table_that_is_not_there_is_none_and_has_no_commits(world):
    assert world.log.head(world.uri) is None
    assert world.log.facts(world.uri) is None
    assert world.log.commits(world.uri, -1) == ()


def test_the_head_is_the_newest_version_and_its_step(world):
    world.append()
    first = world.log.head(world.uri)
    world.append(TOKEN)

    assert first == Head(0, "")
    assert world.log.head(world.uri) == Head(1, "step-7")


def test_facts_tell_version_columns_and_a_lasting_id(world):
    world.append()
    before = world.log.facts(world.uri)
    world.append()
    after = world.log.facts(world.uri)

    assert (before.version, after.version) == (0, 1)
    assert before.table_id == after.table_id
    assert after.schema.columns == (Column("id", "bigint"),)
    assert (after.rows, after.size_bytes) == (None, None)


def test_counts_are_given_when_they_are_asked_for(world):
    world.append()
    world.append()

    facts = world.log.facts(world.uri, counts=True)

    assert facts.rows == 2
    assert facts.size_bytes > 0


def test_another_table_in_the_place_of_the_first_has_another_id(world):
    world.append()
    before = world.log.facts(world.uri).table_id
    world.drop()
    world.append()

    assert world.log.facts(world.uri).table_id != before


def test_commits_come_oldest_first_with_operation_step_and_token(world):
    world.append()
    world.append(TOKEN)
    world.append()

    found = world.log.commits(world.uri, 0)

    assert [(c.version, c.operation, c.step, c.store, c.token) for c in found] == [
        (1, "WRITE", "step-7", "store-1", TOKEN),
        (2, "WRITE", "", "", ""),
    ]
    assert all(commit.changes_data and commit.time.tzinfo is dt.UTC for commit in found)


def test_the_commit_that_makes_a_table_tells_its_id(world):
    world.append()
    world.append()

    found = world.log.commits(world.uri, -1)

    assert [c.table_id for c in found] == [world.log.facts(world.uri).table_id, ""]


def test_compacting_files_changes_no_data(world):
    world.append()
    world.append()
    world.compact()

    last = world.log.commits(world.uri, 1)[0]

    assert (last.operation, last.changes_data) == ("OPTIMIZE", False)


def test_appended_files_tell_the_least_value_of_each_column(world):
    world.append(id=5)
    world.append(id=7)
    world.append(id=6)

    found = world.log.added(world.uri, 0, 2)

    assert [file.minimum["id"] for file in found] == ["7", "6"]


def test_what_was_added_is_unknown_where_rows_were_replaced(world):
    world.append()
    world.replace()

    assert world.log.added(world.uri, 0, 1) is None


def test_a_gap_in_the_log_is_an_error_where_it_matters(world):
    for _ in range(4):
        world.append()
    world.forget(1)

    with pytest.raises(TableError) as caught:
        world.log.commits(world.uri, 0)

    assert caught.value.code == "log-gap"
    assert [c.version for c in world.log.commits(world.uri, 1)] == [2, 3]
    assert world.log.added(world.uri, 0, 3) is None


def test_what_is_left_of_a_log_is_given_when_that_is_asked_for(world):
    for _ in range(3):
        world.append()
    world.forget(0)

    assert [c.version for c in world.log.commits(world.uri, -1, partial=True)] == [1, 2]


@pytest.mark.parametrize("version", [0, 1])
def test_a_damaged_commit_is_unreadable(world, version):
    world.append()
    world.append()
    world.damage(version)

    with pytest.raises(TableError) as caught:
        world.log.commits(world.uri, -1)

    assert caught.value.code == "log-unreadable"


def test_a_listing_is_sorted_and_leaves_hidden_files_out(world):
    for name in ("b.csv", "a.csv", "_SUCCESS", ".b.csv.crc"):
        world.deliver(name)

    found = world.log.listing(world.source)

    assert found.files == (f"{world.source.path}/a.csv", f"{world.source.path}/b.csv")
    assert found.pin.files == 2


@pytest.mark.parametrize(
    "change",
    [("a.csv", 2), ("a.csv", 1, 1, "y"), ("b.csv",)],
    ids=["size", "content", "name"],
)
def test_a_listing_is_a_version_of_names_sizes_and_content_whatever_the_times(world, change):
    world.deliver("a.csv")
    before = world.log.listing(world.source).pin
    world.deliver("a.csv", 1, 2)
    same = world.log.listing(world.source).pin
    world.deliver(*change)

    assert same == before
    assert world.log.listing(world.source).pin != before


def test_a_path_that_is_not_there_names_source_path_and_declaration(world):
    with pytest.raises(TableError) as caught:
        world.log.listing(world.source)

    assert caught.value.render().startswith(
        "models/sources.yml:4: source-missing: source raw.files has no files: "
        f"{world.source.path} does not exist"
    )


def test_a_folder_is_cluttered_when_files_lie_there_and_no_table(world):
    nowhere = world.log.is_cluttered(world.source.path)
    world.deliver("_left_behind.csv")
    world.append()

    assert not nowhere
    assert world.log.is_cluttered(world.source.path)
    assert not world.log.is_cluttered(world.uri)
