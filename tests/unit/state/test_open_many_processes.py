"""Many processes on one SQLite file lose nothing."""

import multiprocessing as mp
import sqlite3
from contextlib import closing

import pytest

from contracts.store_cases import LEASE, OTHER, OURS, intent
from penstock.core.records import Status
from penstock.state.open import open_store
from unit.state.hammer import WallClock, die_in_begin, hammer


@pytest.fixture(scope="module")
def start():
    """Run a function in many processes at once and give their exit codes."""
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["penstock.state.open"])  # the slow part of starting

    def run_all(target, *arguments):
        started = [context.Process(target=target, args=each) for each in arguments]
        for process in started:
            process.start()
        for process in started:
            process.join(60)
        return [process.exitcode for process in started]

    return run_all


def query(file, sql):
    with closing(sqlite3.connect(file)) as database:
        return database.execute(sql).fetchall()


@pytest.mark.matrix
def test_50_processes_that_hammer_one_file_lose_nothing(tmp_path, start):
    file = tmp_path / "state.db"
    url = f"sqlite:///{file}"
    open_store(url, identity=OURS, clock=WallClock(), lease=LEASE).close()

    exits = start(hammer, *((url, number, 2) for number in range(50)))

    steps = query(file, "SELECT step_seq, id, status FROM steps ORDER BY 1")
    tokens = query(file, "SELECT lease_token FROM steps WHERE target = 'mart.shared' ORDER BY id")
    own = {step for _, step, _ in steps if step.startswith("own-")}
    assert exits == [0] * 50
    assert own == {f"own-{number}/{number}/{turn}" for number in range(50) for turn in range(2)}
    assert [number for number, _, _ in steps] == list(range(1, len(steps) + 1))
    assert {status for _, _, status in steps} == {"SUCCESS"}
    assert sorted(tokens) == [(token,) for token in range(1, len(tokens) + 1)]
    assert query(file, "SELECT target FROM leases WHERE run IS NOT NULL") == []


def test_processes_that_make_one_file_at_once_share_it(tmp_path, start):
    file = tmp_path / "new" / "state.db"

    exits = start(hammer, *((f"sqlite:///{file}", number, 1) for number in range(6)))

    assert exits == [0] * 6
    assert query(file, "SELECT count(*) FROM steps WHERE id LIKE 'own-%'") == [(6,)]
    assert [path.name for path in file.parent.iterdir()] == ["state.db"]


def test_the_target_of_a_killed_process_is_free_at_once(tmp_path, start):
    url = f"sqlite:///{tmp_path}/state.db"

    exits = start(die_in_begin, (url,))

    store = open_store(url, identity=OURS, clock=WallClock(), lease=LEASE)
    begun = store.journal.begin(intent("step-2", holder=OTHER), {}, OTHER, None)
    running = [(step.intent.step, step.status) for step in store.journal.running()]
    store.close()

    assert exits == [9]
    assert begun.lease_token == 2
    assert running == [("step-dead", Status.RUNNING), ("step-2", Status.RUNNING)]
