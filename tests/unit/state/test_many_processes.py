"""Many processes on one SQLite file lose nothing."""

import multiprocessing as mp
import sqlite3
from contextlib import closing

import pytest

from contracts.store_cases import LEASE, OTHER, OURS, intent
from penstock.core.records import Status
from penstock.state.open import open_store
from unit.state.hammer import WallClock, die_in_begin, hammer

PROCESSES, ROUNDS = 50, 3


@pytest.fixture(scope="module")
def processes():
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["unit.state.hammer"])
    return context


def test_50_processes_that_make_and_hammer_one_file_lose_nothing(tmp_path, processes):
    url = f"sqlite:///{tmp_path}/new/state.db"
    started = [
        processes.Process(target=hammer, args=(url, number, ROUNDS)) for number in range(PROCESSES)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join(60)

    assert [process.exitcode for process in started] == [0] * PROCESSES
    with closing(sqlite3.connect(tmp_path / "new" / "state.db")) as database:
        steps = database.execute("SELECT step_seq, id, status FROM steps ORDER BY 1").fetchall()
        tokens = database.execute(
            "SELECT lease_token FROM steps WHERE target = 'mart.shared' ORDER BY step_seq"
        ).fetchall()
        leases = database.execute("SELECT target FROM leases WHERE run IS NOT NULL").fetchall()
    own = {step for _, step, _ in steps if step.startswith("own-")}
    assert own == {f"own-{n}/{n}/{turn}" for n in range(PROCESSES) for turn in range(ROUNDS)}
    assert [number for number, _, _ in steps] == list(range(1, len(steps) + 1))
    assert {status for _, _, status in steps} == {"SUCCESS"}
    assert [token for (token,) in tokens] == list(range(1, len(tokens) + 1))
    assert leases == []


def test_T5_the_target_of_a_killed_process_is_free_at_once(tmp_path, processes):
    url = f"sqlite:///{tmp_path}/state.db"
    dying = processes.Process(target=die_in_begin, args=(url,))
    dying.start()
    dying.join(60)
    store = open_store(url, identity=OURS, clock=WallClock(), lease=LEASE)
    begun = store.journal.begin(intent("step-2", holder=OTHER), {}, OTHER, None)
    running = [(step.intent.step, step.status) for step in store.journal.running()]
    store.close()

    assert dying.exitcode == 9
    assert begun.lease_token == 2
    assert running == [("step-dead", Status.RUNNING), ("step-2", Status.RUNNING)]
