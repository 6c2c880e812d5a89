"""Processes of a team build the same tables in a bucket, with their records in PostgreSQL."""

import multiprocessing as mp
from collections import Counter

import pytest

from contracts.postgres_server import programs, started
from fakes.bucket_place import STORAGE
from fakes.bucket_team import write_all
from fakes.command import Command
from fakes.object_store import KEY, SECRET
from fakes.place import Place
from penstock.app.execution.recover import recover
from penstock.core.records import Status
from penstock.core.steps.token import signed_by

pytestmark = pytest.mark.matrix

YML = """\
name: shop
targets:
  dev:
    warehouse: {bucket}/prod
    state: {state}
    spark: {{master: "local[1]"}}
"""


@pytest.fixture
def state():
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: scripts/ensure-postgres --install finds or installs it")
    with started(folder) as server:
        yield server.url(server.new())


def a_place(root, spark, state, bucket, server, models):
    place = Place(root, spark)
    access = STORAGE.format(endpoint=server.endpoint, key=KEY, secret=SECRET)
    access += "        timeout: 180s\n"  # one Python process answers them all
    place.write("penstock.yml", YML.format(bucket=bucket, state=state) + access)
    for number in range(models):
        place.model(f"t{number}", "select 1 as step", materialized="table")
    place.model("built", "select id from range(5)", materialized="table")
    return place


def assert_agreement(services, names):
    """Assert that logs and records tell the same steps, and that no version is missing."""
    for name in names:
        uri = services.project.uri_of(services.project.models[name].table)
        commits = services.log.commits(uri, -1)  # raises if one is missing
        assert [each.version for each in commits] == [*range(len(commits))]
        made = Counter(each.step for each in commits if each.changes_data)
        steps = services.reading.records.steps_of(name)
        done = {each.intent.step for each in steps if each.status is Status.SUCCESS}
        assert {*made.values()} == {1}
        assert made.keys() == done
        assert all(signed_by(each.token)[1] == services.store_id for each in commits if each.step)


def rows_of(place, services, name):
    from deltalake import DeltaTable

    from penstock.engine.disk.buckets import table_options_at

    uri = services.project.uri_of(services.project.models[name].table)
    table = DeltaTable(uri, storage_options=table_options_at(uri))
    return table.to_pyarrow_table(columns=["step"])["step"].to_pylist()


@pytest.mark.parametrize(
    ("processes", "models", "runs"),
    [
        pytest.param(4, 3, 0, marks=pytest.mark.timeout(600)),
        pytest.param(6, 4, 3, marks=[pytest.mark.spark, pytest.mark.timeout(900)]),
        pytest.param(50, 20, 0, marks=pytest.mark.timeout(3600)),
    ],
)
def test_no_commit_and_no_record_of_many_processes_is_lost_or_made_twice(
    request, tmp_path, state, bucket, object_server, processes, models, runs
):
    spark = request.getfixturevalue("spark") if runs else None
    place = a_place(tmp_path, spark, state, bucket, object_server, models)
    place.services().close()  # makes the state
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["fakes.bucket_team"])
    all_of = [
        context.Process(target=write_all, args=(str(tmp_path), number, models))
        for number in range(processes)
    ]
    for each in all_of:
        each.start()
    for _ in range(runs):
        words = ("run", "--select", "built", "--full-refresh")
        assert Command(tmp_path, *words, spark=spark).ended()[0] == 0
    for each in all_of:
        each.join()

    services = place.services()
    recover(services)
    names = [f"t{number}" for number in range(models)]
    died = [number for number in range(processes) if number % 3 == 1]
    codes = [each.exitcode for each in all_of]
    assert [number for number, code in enumerate(codes) if code] == died
    assert {codes[number] for number in died} == {-9}
    assert services.writing.journal.running() == ()
    assert services.writing.leases.taken() == ()
    assert_agreement(services, [*names, *["built"] * bool(runs)])
    for name in names:
        rows = Counter(rows_of(place, services, name))
        done = services.reading.records.steps_of(name)
        assert rows == Counter(e.intent.step for e in done if e.status is Status.SUCCESS)
        assert len(rows) >= processes - len(died)
    services.close()
