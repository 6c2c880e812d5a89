"""What every Engine promises of a session that checks rows: observing, keeping, trying."""

import pytest

from contracts.engine_worlds import BAD, LakeWorld, SparkWorld, a_step, create
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import QueryError
from penstock.core.statement import Commit, Feed, StagedRows

APPEND = "INSERT INTO delta.`{}` BY NAME SELECT * FROM `fed`"
COUNTS = {"_ps_n": "count(*)", "top": "max(id)"}
SEVEN = Feed("fed", "SELECT 7 AS id", COUNTS)


@pytest.fixture(params=["lake", pytest.param("spark", marks=pytest.mark.spark)])
def world(request, tmp_path, monkeypatch):
    if request.param == "lake":
        return LakeWorld()
    return SparkWorld(request.getfixturevalue("spark"), tmp_path, monkeypatch)


@pytest.fixture
def session(world):
    with world.engine.session("orders") as session:
        session.commit(Commit(create(world)), a_step(world, "step-1"))
        yield session


def steps(world, uri):
    return [commit.step for commit in world.log.commits(uri, -1)]


def test_a_query_of_few_rows_gives_them_as_mappings(session):
    assert session.rows("SELECT explode(array(1, 2)) AS n") == ({"n": 1}, {"n": 2})


def test_a_described_query_tells_its_columns(session):
    found = session.describe("SELECT 1 AS id, 'x' AS name")

    assert found == Schema(
        (
            Column("id", "int", found.columns[0].nullable),
            Column("name", "string", found.columns[1].nullable),
        )
    )


def test_bad_sql_is_refused_when_it_is_described(session):
    with pytest.raises(QueryError) as caught:
        session.describe(BAD)

    assert caught.value.code == "spark-table-or-view-not-found"


def test_what_a_commit_writes_is_observed_as_it_passes(world, session):
    session.commit(Commit(APPEND.format(world.uri), feed=SEVEN), a_step(world, "step-2", 2))

    assert (session.observed(1), steps(world, world.uri)) == (
        {"_ps_n": 1, "top": 7},
        ["step-1", "step-2"],
    )


def test_what_was_observed_of_more_rows_than_were_written_is_not_told(world, session):
    session.commit(Commit(APPEND.format(world.uri), feed=SEVEN), a_step(world, "step-2", 2))

    assert session.observed(2) is None


def test_a_feed_without_counts_is_written_and_not_observed(world, session):
    feed = Feed("fed", "SELECT 7 AS id")
    session.commit(Commit(APPEND.format(world.uri), feed=feed), a_step(world, "step-2", 2))

    assert (session.observed(1), steps(world, world.uri)) == (None, ["step-1", "step-2"])


def test_only_the_last_commit_counts_as_observed(world, session):
    session.commit(Commit(APPEND.format(world.uri), feed=SEVEN), a_step(world, "step-2", 2))
    session.commit(Commit(APPEND.format(world.uri)), a_step(world, "step-3", 3))

    assert session.observed(1) is None


def test_nothing_is_observed_of_a_table_that_is_made_from_a_query(world, session):
    made = f"CREATE OR REPLACE TABLE delta.`{world.uri}` USING delta AS SELECT * FROM `fed`"
    session.commit(Commit(made, feed=SEVEN), a_step(world, "step-2", 2))

    assert (session.observed(1), steps(world, world.uri)) == (None, ["step-1", "step-2"])


def test_nothing_is_observed_of_an_append_that_is_skipped_as_a_replay(world, session):
    append = Commit(APPEND.format(world.uri), feed=SEVEN)
    session.commit(append, a_step(world, "step-2", 2))
    session.commit(append, a_step(world, "step-2", 2))

    assert (session.observed(1), steps(world, world.uri)) == (None, ["step-1", "step-2"])


def test_kept_rows_are_computed_once_and_read_from_files(world, session):
    feed = Feed("fed", "SELECT uuid() AS u", {"_ps_n": "count(*)"})

    kept = session.side_tables.keep(feed, f"{world.staging}/one")
    first, again = (session.row("SELECT max(u) AS u FROM `fed`") for _ in range(2))

    assert (kept, first == again) == (StagedRows(1, {"_ps_n": 1}), True)
    assert world.folders.names(world.staging) == ("one",)


def test_rows_are_kept_without_being_observed(world, session):
    assert session.side_tables.keep(
        Feed("fed", "SELECT 7 AS id"), f"{world.staging}/one"
    ) == StagedRows(1)


def test_a_table_of_a_query_has_no_step(world, session):
    uri = f"{world.staging}/failed"

    rows = session.side_tables.write_table("SELECT 7 AS id", uri)

    assert (rows, steps(world, uri), steps(world, world.uri)) == (1, [""], ["step-1"])


def test_what_is_tried_on_a_clone_leaves_the_table_alone(world, session):
    name = session.side_tables.clone(world.uri, 0, f"{world.staging}/clone")
    session.side_tables.trial(Commit(f"INSERT INTO {name} BY NAME SELECT * FROM `fed`", feed=SEVEN))

    assert name == f"delta.`{world.staging}/clone`"
    assert session.observed(1) is None
    assert steps(world, f"{world.staging}/clone") == ["", ""]
    assert steps(world, world.uri) == ["step-1"]


def test_the_rows_that_a_commit_added_are_a_table_of_their_own(world, session):
    session.commit(Commit(APPEND.format(world.uri), feed=SEVEN), a_step(world, "step-2", 2))

    schema = session.side_tables.added(world.uri, 1, f"{world.staging}/added", "new")
    found = session.row("SELECT count(*) AS few FROM `new`")

    assert (schema.names, found) == (("id",), {"few": 1})
