"""A PostgreSQL server that many open at once, that only reads for a while, that is away."""

import datetime as dt
import multiprocessing as mp
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import create_engine

from contracts.postgres_server import programs, started
from contracts.store_cases import ELSEWHERE, HERE, LEASE, OURS, intent, run, wrote
from fakes.builders import a_model, a_source
from fakes.flaky import FlakyStore
from fakes.place import statuses
from fakes.requests import a_run
from fakes.workshop import Workshop
from penstock.app.commands.run import run as run_models
from penstock.app.events import RunStarted, Said
from penstock.app.services.workers import beating
from penstock.core.errors import LeaseHeldError, StateError
from penstock.core.records import Status
from penstock.state.open import open_store
from penstock.state.patience import Patience
from penstock.state.sql import postgres as words
from penstock.state.sql.database import Database
from unit.state.hammer import WallClock, hammer


@pytest.fixture(scope="module")
def server():
    """Give a server that no other test uses: these stop it."""
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: scripts/ensure-postgres --install finds or installs it")
    with started(folder) as server:
        yield server


@pytest.fixture
def opened(server):
    stores, name = [], server.new()

    def open_one():
        store = open_store(server.url(name), identity=OURS, clock=WallClock(), lease=LEASE)
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        store.close()


@pytest.mark.matrix
def test_twenty_processes_open_an_empty_database_at_once(server):
    name = server.new()
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["penstock.state.open"])
    all_ = [context.Process(target=hammer, args=(server.url(name), n, 1)) for n in range(20)]

    for process in all_:
        process.start()
    for process in all_:
        process.join(120)

    store = open_store(server.url(name), identity=OURS, clock=WallClock(), lease=LEASE)
    models = store.records.models()
    store.close()
    assert [process.exitcode for process in all_] == [0] * 20
    assert models.keys() >= {f"own-{number}" for number in range(20)}


@contextmanager
def read_only(server):
    """Refuse to write, as the old primary of a failover does."""
    server.run("postgres", "ALTER SYSTEM SET default_transaction_read_only = on")
    server.run("postgres", "SELECT pg_reload_conf()")
    try:
        yield
    finally:
        server.run("postgres", "ALTER SYSTEM RESET ALL")
        server.run("postgres", "SELECT pg_reload_conf()")
        time.sleep(0.5)  # its processes hear of it one by one


@contextmanager
def restarted(server):
    """End every session, and come back."""
    server.stop(signal.SIGINT)
    try:
        yield
    finally:
        server.start()


@contextmanager
def crashed(server):
    """Be gone without a word, and recover."""
    server.stop(signal.SIGQUIT)
    try:
        yield
    finally:
        server.start()


@pytest.mark.parametrize("away", [read_only, restarted, crashed])
def test_what_was_committed_is_recorded_when_the_server_is_back(server, opened, away):
    ours, theirs = opened(), opened()
    journal = ours.journal
    journal.start_run(run(HERE))
    journal.begin(intent("held", "held"), {}, HERE, None)
    journal.begin(intent("done", "done"), {}, HERE, None)
    [before] = [lease.expires for lease in ours.leases.taken() if lease.target == "mart.held"]
    finish = partial(journal.finish, "done", wrote(3))
    record = threading.Thread(target=Patience(60.0).repeat, args=(finish,))

    with beating(ours.leases, HERE.run, 0.05):
        with away(server):
            record.start()
            time.sleep(1)
            with pytest.raises(StateError) as refused:
                theirs.journal.begin(intent("x", "held", ELSEWHERE), {}, ELSEWHERE, None)
        with pytest.raises(LeaseHeldError):
            theirs.journal.begin(intent("y", "held", ELSEWHERE), {}, ELSEWHERE, None)
        record.join(60)
        beaten = time.monotonic() + 20
        while _expires(theirs) <= before + dt.timedelta(seconds=1) and time.monotonic() < beaten:
            time.sleep(0.05)

    assert refused.value.code == "state-unreachable"
    assert theirs.records.models()["done"].commit_version == 3
    assert theirs.records.models()["done"].status is Status.SUCCESS
    assert _expires(theirs) > before + dt.timedelta(seconds=1)
    assert [step.intent.step for step in theirs.journal.running()] == ["held"]


def _expires(store):
    [lease] = [lease for lease in store.leases.taken() if lease.target == "mart.held"]
    return lease.expires


def test_a_run_whose_server_goes_away_after_the_commit_records_it_and_succeeds(server, opened):
    workshop = Workshop(a_source("events"), a_model("top", "raw.events"))
    workshop.store = FlakyStore(opened())
    back = threading.Timer(1.5, server.start)

    def goes_away():
        server.stop(signal.SIGQUIT)
        back.start()

    workshop.lake.trouble("top", "committed", goes_away)
    report = workshop.run()
    back.join()

    assert statuses(report) == {"top": "success"}
    assert workshop.records()["top"].commit_version == 0
    assert workshop.store.leases.taken() == ()
    assert workshop.run().plan.is_empty


class Run(threading.Thread):
    """A run of one model whose store is a server; it waits for `goes_on` before its first step."""

    def __init__(self, url, number, goes_on):
        super().__init__()
        self.started, self._goes_on, self._url = threading.Event(), goes_on, url
        self.model, self.report, self.said = f"m{number}", None, []
        self._workshop = Workshop(
            a_source("events"), a_model(self.model, "raw.events"), clock=WallClock()
        )

    def run(self):
        workshop = self._workshop
        services = replace(
            workshop.services(),
            open_writing=self._open,
            open_reading=self._open,
            has_state=lambda: True,
        )
        self.report = run_models(services, a_run(()), self._listen)
        services.close()

    def _open(self):
        return open_store(self._url, identity=OURS, clock=WallClock(), lease=LEASE)

    def _listen(self, event):
        self.said += [event.text] if isinstance(event, Said) else []
        if isinstance(event, RunStarted):
            self.started.set()
            assert self._goes_on.wait(60)


@pytest.mark.parametrize(
    ("runs", "seconds"), [(4, 2), pytest.param(20, 30, marks=pytest.mark.matrix)]
)
def test_runs_that_begin_their_steps_while_the_server_is_stopped_all_succeed(
    server, opened, runs, seconds
):
    store, goes_on = opened(), threading.Event()
    url = server.url(server.newest)
    begun = [Run(url, number, goes_on) for number in range(runs // 2)]
    late = [Run(url, number, goes_on) for number in range(runs // 2, runs)]
    for each in begun:
        each.start()
    assert all(each.started.wait(60) for each in begun)

    server.stop(signal.SIGQUIT)
    goes_on.set()
    for each in late:
        each.start()
    time.sleep(seconds)
    server.start()
    for each in (*begun, *late):
        each.join(60)

    assert [statuses(each.report) for each in (*begun, *late)] == [
        {f"m{number}": "success"} for number in range(runs)
    ]
    assert {len(each.said) for each in begun} == {2}
    assert begun[0].said[0].startswith("state-away: postgresql+psycopg://")
    assert begun[0].said[0].endswith("; waiting up to 300 s for it")
    assert begun[0].said[1].startswith("state-away: the state store answers again, after ")
    for number in range(runs):
        assert [each.status for each in store.records.history(f"m{number}", None)] == ["SUCCESS"]
    assert (store.journal.running(), store.leases.taken()) == ((), ())


def test_a_store_that_refuses_for_good_is_not_waited_for(server):
    patience, told = Patience(60.0), []
    patience.tell = told.append
    url = server.url("nowhere")

    with pytest.raises(StateError) as refused:
        patience.repeat(lambda: open_store(url, identity=OURS, clock=WallClock(), lease=LEASE))

    assert refused.value.code == "state-unreachable"
    assert 'database "nowhere" does not exist' in refused.value.sentence
    assert told == []


def test_a_server_that_only_reads_can_be_read(server, opened):
    opened()

    with read_only(server):
        store = opened()
        found = store.records.models()
        with pytest.raises(StateError) as refused:
            store.journal.start_run(run(HERE))

    assert found == {}
    assert refused.value.code == "state-unreachable"
    assert refused.value.sentence.endswith("in a read-only transaction")


def test_a_pool_of_which_every_connection_is_in_use_is_no_bug(server):
    engine = create_engine(server.url("postgres"), pool_size=1, max_overflow=0, pool_timeout=0.1)
    database = Database(engine, words.translate, words.damaged)
    told = []

    def read():
        try:
            with database.read():
                pass
        except StateError as error:
            told.append((error.code, error.sentence.partition(": ")[2]))

    with database.one_state():
        reader = threading.Thread(target=read)
        reader.start()
        reader.join()
    database.close()

    assert told == [("state-unreachable", "every connection of this process is in use")]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("DROP TABLE watermarks", "table 'watermarks' is gone"),
        (
            "ALTER TABLE steps DROP COLUMN error_code CASCADE",
            "column 'error_code' of 'steps' is gone",
        ),
        ("UPDATE partition_state SET status = 'DONE'", 'partition_state[0].status: is "DONE"'),
        ("DELETE FROM project", "it belongs to 0 projects"),
        ("DROP TABLE alembic_version", "table 'alembic_version' is gone"),
    ],
)
def test_a_spoiled_database_is_damaged_and_says_where(server, opened, spoil, reason):
    store = opened()
    store.journal.begin(intent(), {}, HERE, None)
    store.journal.finish("step-1", wrote(0))
    server.run(server.newest, spoil)

    with pytest.raises(StateError) as caught:
        opened().records.models()

    assert caught.value.code == "state-damaged"
    assert f"is damaged: {reason}" in caught.value.sentence
