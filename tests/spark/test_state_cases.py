"""Data and records agree."""

import datetime as dt
import shutil
import sqlite3
from contextlib import closing

import pytest

from fakes.place import Place, statuses
from penstock.app.commands.status import status
from penstock.app.execution.recover import rebuild
from penstock.app.request import StatusRequest
from penstock.state.sql.sqlite import restore

EVENTS = "{{ source('raw', 'events') }}"


def write_events(place: Place) -> Place:
    place.source("events", "id INT, ts TIMESTAMP, amount INT")
    place.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-02', 2)")
    return place


@pytest.fixture
def events(place: Place) -> Place:
    return write_events(place)


@pytest.fixture(scope="module")
def folder_of_three(tmp_path_factory, spark):
    """A folder in which three tables were built, one from another."""
    place = Place(tmp_path_factory.mktemp("three"), spark)
    build_three(write_events(place))
    return place.root


@pytest.fixture
def three(tmp_path, spark, folder_of_three) -> Place:
    """A copy of it, tables and records included."""
    root = tmp_path / "three"
    shutil.copytree(folder_of_three, root)
    return Place(root, spark)


def states(place: Place) -> dict[str, str]:
    services = place.services()
    try:
        found = status(services, StatusRequest()).models
        return {m.model: str(m.states[0].state) if m.states else "current" for m in found}
    finally:
        services.close()


def records(place: Place) -> dict[str, object]:
    services = place.services()
    try:
        return dict(services.reading.records.models())
    finally:
        services.close()


def build_three(place: Place) -> None:
    place.model(
        "log", f"select id, ts, amount from {EVENTS}", materialized="append", time_column="ts"
    )
    place.model(
        "users", "select id, amount from {{ ref('log') }}", materialized="merge", unique_key="id"
    )
    place.model(
        "totals", "select sum(amount) as total from {{ ref('users') }}", materialized="table"
    )
    assert statuses(place.run()) == {"log": "success", "users": "success", "totals": "success"}


def a_copied_file(place: Place):
    """Keep the state as somebody who copies its file does; give what puts it back."""
    file, kept = place.root / ".penstock" / "state.db", place.root / "kept.db"
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(kept)) as target:
        source.backup(target)

    def put_back() -> None:
        for part in file.parent.glob("state.db*"):
            part.unlink()
        shutil.copyfile(kept, file)

    return put_back


def an_export(place: Place):
    """Keep the state as `state export` writes it; give what imports it."""
    services = place.services()
    document = services.reading.archive.export()
    services.close()

    def put_back() -> None:
        services = place.services()
        services.writing.archive.load(document)
        services.close()

    return put_back


def a_good_copy(place: Place):
    """Keep the copy that every run leaves; give what restores it."""
    good = place.root / ".penstock" / "state.db.good"
    kept = good.read_bytes()

    def put_back() -> None:
        good.write_bytes(kept)
        restore(f"sqlite:///{good.with_name('state.db')}", dt.datetime.now(dt.UTC))

    return put_back


@pytest.mark.matrix
@pytest.mark.parametrize(
    "keep",
    [
        a_copied_file,
        pytest.param(an_export, marks=pytest.mark.matrix),
        pytest.param(a_good_copy, marks=pytest.mark.matrix),
    ],
)
def test_an_old_state_that_is_put_back_loses_and_doubles_no_row(three, keep) -> None:
    put_back = keep(three)
    for day in (3, 4):
        three.insert("events", f"({day}, '2024-01-0{day}', {day})")
        assert three.run().succeeded
    put_back()
    three.insert("events", "(5, '2024-01-05', 5)")

    before = states(three)
    report = three.run()

    assert before == {"log": "unrecorded", "totals": "unrecorded", "users": "unrecorded"}
    assert len(report.recovered) == 6
    assert statuses(report) == {"log": "success", "users": "success", "totals": "success"}
    assert [(row[0], row[2]) for row in three.rows("log")] == [(n, n) for n in range(1, 6)]
    assert three.rows("users") == [(n, n) for n in range(1, 6)]
    assert three.rows("totals") == [(15,)]
    assert states(three) == {"log": "current", "totals": "current", "users": "current"}
    assert three.run().plan.is_empty


@pytest.mark.matrix
def test_a_lost_store_is_rebuilt_from_the_logs(three) -> None:
    three.insert("events", "(3, '2024-01-03', 3)")
    three.run()
    before = records(three)
    for file in (three.root / ".penstock").glob("state.db*"):
        file.unlink()

    lost = states(three)
    services = three.services()
    report = rebuild(services)
    services.close()

    assert lost == {"log": "unrecorded", "totals": "unrecorded", "users": "unrecorded"}
    assert report.steps == 6
    after = records(three)
    for name, record in before.items():
        same = ("table_id", "commit_version", "fingerprint", "watermarks", "pins", "step_seq")
        for field in same:
            assert getattr(after[name], field) == getattr(record, field), (name, field)
    assert states(three) == {"log": "current", "totals": "current", "users": "current"}
    assert three.run().plan.is_empty


@pytest.mark.matrix
def test_a_foreign_update_is_tampered_and_optimize_is_not(three) -> None:
    three.sql(f"OPTIMIZE {three.table('users')}")
    three.sql(f"ALTER TABLE {three.table('users')} SET TBLPROPERTIES ('a' = 'b')")
    optimized = states(three)
    three.sql(f"UPDATE {three.table('users')} SET amount = 99 WHERE id = 1")

    assert optimized == {"log": "current", "totals": "current", "users": "current"}
    assert states(three)["users"] == "tampered"
    assert statuses(three.run()) == {"log": "unchanged", "users": "success", "totals": "success"}
    assert three.rows("users") == [(1, 1), (2, 2)]
    # a merge cannot know that it met all of them: rows of other keys would still be there
    assert states(three)["users"] == "tampered"
    three.sync("users")
    assert (states(three)["users"], three.rows("users")) == ("current", [(1, 1), (2, 2)])


@pytest.mark.matrix
def test_a_dropped_target_is_missing_and_rebuilt_in_full(three) -> None:
    first = three.rows("log")
    three.insert("events", "(3, '2024-01-03', 3)")
    three.run()
    for file in sorted((three.root / "warehouse" / "m" / "log").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()

    missing = states(three)
    report = three.run()

    assert missing["log"] == "missing"
    assert report["log"].notes == ("the table is gone: full rebuild from all inputs",)
    assert [row[0] for row in three.rows("log")] == [1, 2, 3]
    assert three.rows("log")[:2] == first
    assert states(three) == {"log": "current", "totals": "current", "users": "current"}


def test_a_watermark_column_that_is_all_null_writes_nothing(events) -> None:
    events.sql(f"UPDATE {events.landing('events')} SET ts = NULL")
    events.model("log", f"select id, ts from {EVENTS}", materialized="append", time_column="ts")

    report = events.run()

    assert report["log"].error.sentence == (
        "column 'ts' of raw.events is NULL in 2 rows that 'log' would read"
    )
    assert events.version("log") == -1
    assert states(events) == {"log": "failed"}


@pytest.mark.matrix
@pytest.mark.parametrize("count", [16, pytest.param(40, marks=pytest.mark.matrix)])
def test_every_commit_of_many_threads_carries_its_own_step(events, count) -> None:
    for number in range(count):
        events.model(f"t{number}", f"select {number} as n, id from {EVENTS}", materialized="table")

    report = events.run(threads=8)

    assert report.succeeded
    services = events.services()
    carried = {name: services.log.head(f"{events.root}/warehouse/m/{name}").step for name in report}
    services.close()
    assert carried == {name: result.step for name, result in report.items()}
    assert len(set(carried.values())) == count


def test_a_change_of_comments_is_cosmetic_and_plans_nothing(events) -> None:
    events.model("t", f"select id from {EVENTS}", materialized="table")
    events.run()
    events.model("t", f"SELECT id  -- the key\nFROM {EVENTS}", materialized="table")

    report = events.run()

    assert report.plan.is_empty
    assert report.plan.cosmetic == ("t",)


@pytest.mark.matrix
def test_a_failure_skips_what_hangs_on_it_and_the_resume_does_only_what_is_left(
    events,
) -> None:
    events.model("top", f"select id from {EVENTS}", materialized="table")
    events.model("left", "select id from {{ ref('top') }}", materialized="table")
    events.model(
        "right", "select id, raise_error('no') as x from {{ ref('top') }}", materialized="table"
    )
    events.model(
        "bottom",
        "select l.id from {{ ref('left') }} l join {{ ref('right') }} r on l.id = r.id",
        materialized="table",
    )
    report = events.run()
    events.model("right", "select id from {{ ref('top') }}", materialized="table")
    again = events.run("right bottom")

    assert statuses(report) == {
        "top": "success",
        "left": "success",
        "right": "failed",
        "bottom": "skipped",
    }
    assert report["bottom"].reason == "upstream right failed"
    assert report.resume == "penstock run --select 'right bottom'"
    assert statuses(again) == {"right": "success", "bottom": "success"}
    assert events.run().plan.is_empty


@pytest.mark.matrix
def test_law_1_planning_again_after_a_run_finds_nothing(three) -> None:
    three.model("v", "select id from {{ ref('log') }}", materialized="view")
    three.model("w", "select count(*) as n from {{ ref('v') }}", materialized="table")
    three.run()
    assert three.run().plan.is_empty

    three.insert("events", "(3, '2024-01-03', 3)")
    three.run()

    assert three.run().plan.is_empty
    assert three.rows("w") == [(3,)]


@pytest.mark.matrix
def test_law_2_a_full_refresh_leaves_the_same_rows(three) -> None:
    before = (three.rows("log"), three.rows("users"), three.rows("totals"))

    three.run(full_refresh=True)

    assert (three.rows("log"), three.rows("users"), three.rows("totals")) == before
    assert three.run().plan.is_empty


def test_a_table_that_penstock_did_not_make_is_refused_and_adopted_when_asked(events) -> None:
    events.sql(f"CREATE TABLE {events.table('users')} USING delta AS SELECT 9 AS id, 9 AS amount")
    events.model("users", f"select id, amount from {EVENTS}", materialized="merge", unique_key="id")

    refused = events.run()
    adopted = events.run("users", adopt=True)

    assert refused["users"].error.code == "foreign-table"
    assert adopted["users"].rows.inserted == 2
    assert events.rows("users") == [(1, 1), (2, 2), (9, 9)]


@pytest.mark.matrix
def test_a_model_that_reads_itself_is_not_its_own_upstream(events) -> None:
    events.model(
        "log",
        f"select id, ts from {EVENTS} "
        "{% if is_incremental() %} where id not in (select id from {{ this }}) {% endif %}",
        materialized="append",
        time_column="ts",
    )
    first = events.run()
    second = events.run()
    events.insert("events", "(3, '2024-01-03', 3), (1, '2024-01-04', 3)")
    third = events.run()

    assert (first["log"].rows.inserted, third["log"].rows.inserted) == (2, 1)
    assert second.plan.is_empty
    assert [row[0] for row in events.rows("log")] == [1, 2, 3]
    assert events.run().plan.is_empty
