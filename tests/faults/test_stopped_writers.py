"""Writers that only sleep (T14, T15): whoever gave their step up has seen to it that it is over."""

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from fakes.faulted import HISTORIES, UNDISTURBED
from fakes.history_story import T2
from fakes.place import statuses
from penstock.app.execution.recover import recover
from penstock.core.records import Status
from penstock.plan.values import State

pytestmark = pytest.mark.spark

LEASE_SECONDS = 4.5
RUN_AT_T2 = ("snapshot", "run", "--as-of", T2.isoformat())
ORDERS = ("rerun, then wake", "wake, then rerun")
SLEEPS = "java_method('java.lang.Thread', 'sleep', cast({} as bigint)) = 'null'"


def state_of(pid: int) -> str:
    """Give the letter of a process' state, "" for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return ""


def until(what, seconds=120, process=None):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert process is None or process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def stopped(crash, model, *words):
    """Start a command that stops itself with its statement in its hands; wait out its lease."""
    process = crash.start(model, "stop:at-statement:1", *words)
    until(lambda: state_of(process.pid) == "T", process=process)
    time.sleep(LEASE_SECONDS)
    return process


def woken(process):
    os.kill(process.pid, signal.SIGCONT)
    told, _ = process.communicate(timeout=120)
    return told


def killed(process):
    process.kill()
    process.wait()
    process.stdout.close()


def last_step(place, model):
    services = place.services()
    try:
        return [step.status for step in services.reading.records.steps_of(model)]
    finally:
        services.close()


def given_up(place):
    """Settle what is open, as any command that writes does first."""
    services = place.services()
    try:
        return recover(services).sentences
    finally:
        services.close()


def overtaken(place, process, order, run):
    """Give the step up, and run it again before or after its writer wakes; give what that says."""
    if order == ORDERS[0]:
        report = run()
        told = woken(process)
        assert report.recovered[0].endswith("had not committed; marked failed (crashed)")
    else:
        (sentence,) = given_up(place)
        told = woken(process)
        report = run()
        assert sentence.endswith("had not committed; marked failed (crashed)")
    assert report.succeeded
    return told


def fresh_merge(crash):
    """Make a merge whose next run only inserts: its commit is an append."""
    place = crash.place
    query = "select id, ts, amount from {{ source('raw', 'events') }} where id <> 2"
    place.model("fresh", query, materialized="merge", unique_key="id")
    assert place.run("fresh").succeeded
    place.insert("events", "(4, '2024-01-04', 4)")
    return [(1, 1), (3, 3), (4, 4)]


def has_namespaces() -> bool:
    tool = shutil.which("unshare")
    return (
        tool is not None and subprocess.run([tool, "-p", "-f", "true"], check=False).returncode == 0
    )


GATE = (("log", ORDERS[0]), ("fresh", ORDERS[1]))
CELLS = [(model, order) for model in ("log", "users", "totals", "fresh") for order in ORDERS]


@pytest.mark.parametrize(
    ("model", "order"),
    [pytest.param(*cell, marks=() if cell in GATE else pytest.mark.matrix) for cell in CELLS],
)
def test_T14_a_writer_that_wakes_with_its_statement_in_its_hands_commits_nothing(
    crash, model, order
):
    place = crash.place
    expected = fresh_merge(crash) if model == "fresh" else UNDISTURBED[model]
    process = stopped(crash, model)

    told = overtaken(place, process, order, lambda: place.run(model))

    rows = place.rows(model)
    rows = sorted((row[0], row[2]) for row in rows) if model == "fresh" else rows
    assert rows == expected
    assert process.returncode == 1
    assert "lease-lost" in told
    assert "Traceback" not in told
    assert last_step(place, model)[-2:] == [Status.FAILED, Status.SUCCESS]
    assert place.run(model).plan.is_empty


@pytest.mark.matrix
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("model", ["by_value", "placed"])
def test_T14_a_history_run_that_wakes_late_closes_no_version_twice(crashed_history, model, order):
    place = crashed_history.place
    process = stopped(crashed_history, model, *RUN_AT_T2)

    told = overtaken(place, process, order, lambda: place.snap(T2, model))

    assert place.versions(model) == HISTORIES[model]
    assert (process.returncode, "lease-lost" in told) == (1, True)
    assert place.snap(T2, model).plan.is_empty


@pytest.mark.matrix
def test_T14_a_restore_that_lands_late_is_found_recorded_and_what_it_took_back_comes_again(crash):
    place = crash.place
    assert place.run("log").succeeded
    services = place.services()
    step = services.reading.records.steps_of("log")[-1].intent.step
    services.close()
    process = crash.started("rollback", "log", "--to", step, "--yes", fault="stop:at-statement:1")
    until(lambda: state_of(process.pid) == "T", process=process)
    time.sleep(LEASE_SECONDS)
    place.insert("events", "(4, '2024-01-04', 4)")

    assert place.run("log").succeeded
    before = appended(place, "log")
    told = woken(process)
    after = appended(place, "log")
    states = place.states()["log"]
    report = place.run("log")

    assert (before, after) == ([(1, 1), (2, 2), (3, 3), (4, 4)], [(1, 1), (2, 2)])
    assert (process.returncode, "Traceback" in told) == (1, False), told
    assert states == [State.UNRECORDED]
    assert "and the state did not know it; recorded" in report.recovered[0]
    assert appended(place, "log") == before
    assert place.run("log").plan.is_empty


AFTER_SLEEP = [(1, 1), (2, 20), (3, 3), (4, 4)]


def slow_append(crash, seconds):
    """Make an append whose INSERT of the next row takes its time."""
    place = crash.place
    query = "select id, ts, amount from {{ source('raw', 'events') }}"
    place.model("slow", query, materialized="append", time_column="ts")
    assert place.run("slow").succeeded
    place.insert("events", "(4, '2024-01-04', 4)")
    slow = f"{query} where {SLEEPS.format(seconds * 1000)}"
    place.model("slow", slow, materialized="append", time_column="ts")


def appended(place, model="slow"):
    return [(row[0], row[2]) for row in place.rows(model)]


def in_mid_statement(crash, *words):
    """Start a run of the slow append; give it once its INSERT is under way, with its JVM."""
    process = crash.start("slow", "", *words)
    file = crash.place.root / ".penstock" / "state.db"

    def running():
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return database.execute(
                "SELECT 1 FROM steps JOIN models ON models.id = model_id "
                "WHERE name = 'slow' AND status = 'RUNNING'"
            ).fetchone()

    until(running, process=process)
    time.sleep(2)
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    jvm = next(int(pid) for file in children for pid in file.read_text().split())
    return process, jvm


@pytest.mark.parametrize(
    "parent", ["stopped too", pytest.param("killed", marks=pytest.mark.matrix)]
)
def test_T14_T15_an_insert_that_was_stopped_in_its_midst_adds_no_row_after_the_rerun(crash, parent):
    slow_append(crash, 6)
    process, jvm = in_mid_statement(crash)
    for pid in (jvm, process.pid):
        os.kill(pid, signal.SIGSTOP)
    if parent == "killed":
        killed(process)
    else:
        time.sleep(LEASE_SECONDS)

    report = crash.place.run("slow")
    os.kill(jvm, signal.SIGCONT)
    told = woken(process) if parent != "killed" else ""
    until(lambda: state_of(jvm) in ("", "Z"))

    assert report.succeeded
    assert appended(crash.place) == AFTER_SLEEP
    assert parent == "killed" or (process.returncode, "lease-lost" in told) == (1, True)
    assert crash.place.run("slow").plan.is_empty


@pytest.mark.matrix
def test_T15_unlocking_a_living_run_gives_its_step_up(crash):
    process = crash.start("log", "stop:at-statement:1")
    until(lambda: state_of(process.pid) == "T", process=process)

    unlocked = subprocess.run(
        [*crash.command, "unlock", "log", "--yes"],
        cwd=crash.place.root,
        capture_output=True,
        text=True,
        check=True,
    )
    told = woken(process)

    assert "had not committed; marked failed (crashed)" in unlocked.stdout
    assert (process.returncode, "lease-lost" in told) == (1, True)
    assert statuses(crash.place.run("log")) == {"log": "success"}
    assert crash.place.rows("log") == UNDISTURBED["log"]


@pytest.mark.matrix
@pytest.mark.skipif(
    not has_namespaces(),
    reason="never: namespaces of processes need a Linux that lets this user make them",
)
def test_T15_a_holder_in_another_pid_namespace_is_not_taken_for_dead(crash):
    inside = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    process = crash.start("log", "stop:before-commit:1", within=inside)
    file = crash.place.root / ".penstock" / "state.db"
    until(lambda: holds(file), process=process)
    time.sleep(1)

    refused = crash.place.run("log")
    killed(process)

    assert refused["log"].error.code == "lease-held"


def holds(file):
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return database.execute("SELECT 1 FROM leases WHERE run IS NOT NULL").fetchone()


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        pytest.param((signal.SIGINT,), 130, marks=pytest.mark.matrix),
        ((signal.SIGINT,) * 40, 130),
        pytest.param((signal.SIGINT, signal.SIGINT), 130, marks=pytest.mark.matrix),
        pytest.param((signal.SIGTERM,), 143, marks=pytest.mark.matrix),
    ],
)
def test_T21_an_interrupted_append_is_settled_and_no_row_is_lost_or_doubled(crash, signals, code):
    slow_append(crash, 6)
    process, _ = in_mid_statement(crash)

    for number in signals:
        process.send_signal(number)
        time.sleep(0.5 if len(signals) == 2 else 0.05)
    told, _ = process.communicate(timeout=120)
    report = crash.place.run("slow")

    assert process.returncode == code, told
    assert "Traceback" not in told
    assert report.succeeded
    assert appended(crash.place) == AFTER_SLEEP
    assert crash.place.run("slow").plan.is_empty


def test_T17_what_was_committed_is_recorded_after_the_project_was_moved(crash, tmp_path):
    crash.kill("log", "after-commit")
    place = crash.moved(tmp_path / "elsewhere")

    report = place.run("log")

    assert report.recovered[0].endswith("had committed version 1; recorded")
    assert place.rows("log") == UNDISTURBED["log"]
    assert place.run("log").plan.is_empty
