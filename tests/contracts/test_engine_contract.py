"""What every Engine promises of sessions, queries and commits."""

import threading

import pytest

from contracts.engine_worlds import BAD, SLOW, LakeWorld, SparkWorld, a_step, create, events_read
from penstock.core.columns.schema import Column
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import InterruptedRunError, QueryError
from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName
from penstock.core.statement import Commit, Passing, Stage
from penstock.core.steps.inputs import QueryRead, Relation
from penstock.core.steps.token import read_metrics
from penstock.core.steps.window import Bound, Window

HERE = Location("models/orders.sql", 1)
APPEND = "INSERT INTO delta.`{}` BY NAME SELECT 2 AS id"


@pytest.fixture(params=["lake", pytest.param("spark", marks=pytest.mark.spark)])
def world(request, tmp_path, monkeypatch):
    if request.param == "lake":
        return LakeWorld()
    return SparkWorld(request.getfixturevalue("spark"), tmp_path, monkeypatch)


def test_a_cancelled_engine_starts_nothing_and_opens_no_session(world):
    world.engine.cancel()
    world.engine.stop()

    with pytest.raises(InterruptedRunError), world.engine.session("orders", HERE):
        pytest.fail("a session was opened")

    assert world.starts() == 0


def test_nothing_starts_before_the_first_session(world):
    world.engine.stop()
    before = world.starts()
    with world.engine.session("orders"):
        pass

    assert (before, world.starts()) == (0, 1)


def test_a_defined_query_tells_its_columns_and_runs_nothing(world):
    with world.engine.session("orders", HERE) as session:
        found = session.define("q", "SELECT 1 AS id, 'x' AS name")

    assert [(column.name, column.type) for column in found.columns] == [
        ("id", "int"),
        ("name", "string"),
    ]
    assert isinstance(found.columns[0], Column)


def test_bad_sql_is_an_error_at_the_line_of_the_model(world):
    with world.engine.session("orders", HERE) as session, pytest.raises(QueryError) as caught:
        session.define("q", BAD)

    assert caught.value.code == "spark-table-or-view-not-found"
    assert caught.value.where == Location("models/orders.sql", 2)
    assert "`nowhere` cannot be found" in caught.value.sentence


def test_a_relation_is_read_through_its_window(world):
    world.deliver()
    window = Window("id", None, Bound(TypedValue("BIGINT", "1"), inclusive=True))
    with world.engine.session("orders") as session:
        schemas = session.bind([events_read(world), events_read(world, window)])
        whole = session.row("SELECT count(*) AS rows FROM in_1")
        inside = session.row("SELECT count(*) AS rows FROM in_1_window")

    assert {view: schema.names for view, schema in schemas.items()} == {
        "in_1": ("id",),
        "in_1_window": ("id",),
    }
    assert (whole, inside) == ({"rows": 2}, {"rows": 1})


def test_a_stage_is_computed_once_and_its_rows_are_kept(world):
    with world.engine.session("orders") as session:
        seen = session.stage(Stage("kept", "SELECT uuid() AS u", "SELECT max(u) AS u FROM kept"))
        again = session.row("SELECT max(u) AS u FROM kept")

    assert seen == again


def test_a_commit_carries_its_step_so_that_the_log_finds_it(world):
    step = a_step(world, "step-7")
    with world.engine.session("orders") as session:
        session.define("penstock_query", "SELECT 1 AS id, 'x' AS name")
        session.commit(Commit(create(world)), step)

    found = world.log.commits(world.uri, -1)
    assert [(c.version, c.step, c.store, c.changes_data) for c in found] == [
        (0, "step-7", "store-1", True)
    ]
    assert world.log.head(world.uri).step == "step-7"


def test_two_sessions_see_neither_each_others_views_nor_tokens(world):
    with world.engine.session("a") as first, world.engine.session("b") as second:
        first.define("mine", "SELECT 2 AS n")
        with pytest.raises(QueryError):
            second.define("q", "SELECT * FROM mine")
        first.commit(Commit(create(world)), a_step(world, "step-1"))
        second.commit(Commit(APPEND.format(world.uri)), a_step(world, "step-2", 2))

    assert [c.step for c in world.log.commits(world.uri, -1)] == ["step-1", "step-2"]


def test_staged_rows_that_are_shared_are_read_in_other_sessions(world):
    passing = Passing("passed", "SELECT 1 AS id", {"rows": "count(*)"})
    stage = Stage("kept", "SELECT id FROM `passed`", passing=passing)
    with world.engine.session("a") as first, world.engine.session("b") as second:
        first.stage(stage)
        read = QueryRead(first.share("kept"))
        found = second.bind([Relation(InputName(InputKind.THIS, ""), "theirs", read)])

    assert found["theirs"].names == ("id",)


def test_leaving_a_session_drops_its_views(world):
    with world.engine.session("orders") as session:
        session.define("mine", "SELECT 2 AS n")

    with world.engine.session("orders") as session, pytest.raises(QueryError):
        session.define("q", "SELECT * FROM mine")


def test_a_replayed_append_of_the_same_step_is_skipped(world):
    append = Commit(APPEND.format(world.uri))
    with world.engine.session("orders") as session:
        session.commit(Commit(create(world)), a_step(world, "step-1", 1))
        session.commit(append, a_step(world, "step-2", 2))
    with world.engine.session("orders") as session:
        session.commit(append, a_step(world, "step-2", 2))
        session.commit(append, a_step(world, "step-3", 3))

    assert [c.step for c in world.log.commits(world.uri, -1)] == ["step-1", "step-2", "step-3"]


def test_a_cancelled_session_commits_nothing(world):
    with world.engine.session("orders") as session:
        world.engine.cancel()
        with pytest.raises(InterruptedRunError):
            session.commit(Commit(create(world)), a_step(world))

    assert world.log.head(world.uri) is None


@pytest.mark.timeout(120)
def test_cancel_ends_a_query_that_is_running(world):
    codes = []

    def work():
        with world.engine.session("orders") as session:
            try:
                session.row(SLOW)
                session.row("SELECT 2 AS n")
            except InterruptedRunError as error:
                codes.append(error.code)

    thread = threading.Thread(target=work)
    thread.start()
    world.wait_for_job()
    world.engine.cancel()
    thread.join()

    assert codes == ["interrupted"]


def test_a_query_of_a_user_gives_texts(world):
    found = world.engine.query([], "SELECT 2 AS n", 5)

    assert (found.columns, found.rows, found.truncated) == (("n",), (("2",),), False)


def test_rows_that_pass_by_are_counted_once_and_few_of_them_are_kept(world):
    counts = {"rows": "count(*)", "odd": "count_if(n % 2 = 1)"}
    passing = Passing("passed", "SELECT explode(sequence(1, 5)) AS n", counts)
    stage = Stage("kept", "SELECT n FROM `passed` WHERE n > 3", passing=passing)
    with world.engine.session("orders") as session:
        seen = session.stage(stage)
        kept = session.row("SELECT count(*) AS kept FROM `kept`")

    assert (seen, kept) == ({"rows": 5, "odd": 3}, {"kept": 2})


def test_what_was_kept_of_passing_rows_is_never_computed_again(world):
    passing = Passing("passed", "SELECT uuid() AS u", {"rows": "count(*)"})
    with world.engine.session("orders") as session:
        session.stage(Stage("kept", "SELECT u FROM `passed`", passing=passing))
        first = session.row("SELECT max(u) AS u FROM `kept`")
        again = session.row("SELECT max(u) AS u FROM `kept`")

    assert first == again


def test_settings_of_a_stage_hold_while_its_rows_are_computed_and_no_longer(world):
    setting = "spark.penstock.told"
    with world.engine.session("orders") as session:
        seen = session.stage(Stage("kept", "SELECT 2 AS n", f"SET {setting}", confs={setting: "7"}))
        after = session.row(f"SET {setting}")

    assert (seen, after) == (
        {"key": setting, "value": "7"},
        {"key": setting, "value": "<undefined>"},
    )


def test_the_counts_of_a_commit_travel_in_its_token(world):
    with world.engine.session("orders") as session:
        session.define("penstock_query", "SELECT 1 AS id, 'x' AS name")
        session.commit(Commit(create(world), metrics={"unchanged": 3}), a_step(world))

    assert read_metrics(world.log.commits(world.uri, -1)[0].token) == {"unchanged": 3}
