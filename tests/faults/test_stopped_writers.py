"""Writers that only sleep: whoever gave their step up has seen to it that it is over."""

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

from fakes.command import wait_until_gone
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


def stopped(crash, model, *words):
    """Start a command that stops itself with its statement in its hands; wait out its lease."""
    command = crash.start(*(words or ("run",)), "--select", model, fault="stop:at-statement:1")
    command.wait_until_stopped()
    time.sleep(LEASE_SECONDS)
    return command


def until(what, seconds=120):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


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
        return recover(services).messages_by_step
    finally:
        services.close()


def overtaken(place, writer, order, run):
    """Give the step up, and run it again before or after its writer wakes.

    Gives the writer's exit code and output.
    """
    if order == ORDERS[0]:
        report = run()
        ended = writer.ended()
        assert report.recovered[0].endswith("had not committed; marked failed (crashed)")
    else:
        (sentence,) = given_up(place)
        ended = writer.ended()
        report = run()
        assert sentence.endswith("had not committed; marked failed (crashed)")
    assert report.succeeded
    return ended


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


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("model", "order"),
    [pytest.param(*cell, marks=() if cell in GATE else pytest.mark.matrix) for cell in CELLS],
)
def test_a_writer_that_wakes_with_its_statement_in_its_hands_commits_nothing(crash, model, order):
    place = crash.place
    expected = fresh_merge(crash) if model == "fresh" else UNDISTURBED[model]
    writer = stopped(crash, model)

    code, output = overtaken(place, writer, order, lambda: place.run(model))

    rows = place.rows(model)
    rows = sorted((row[0], row[2]) for row in rows) if model == "fresh" else rows
    assert rows == expected
    assert code == 1
    assert "lease-lost" in output
    assert "Traceback" not in output
    assert last_step(place, model)[-2:] == [Status.FAILED, Status.SUCCESS]
    assert place.run(model).plan.is_empty


@pytest.mark.matrix
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("model", ["by_value", "placed"])
def test_a_history_run_that_wakes_late_closes_no_version_twice(crashed_history, model, order):
    place = crashed_history.place
    writer = stopped(crashed_history, model, *RUN_AT_T2)

    code, output = overtaken(place, writer, order, lambda: place.snap(T2, model))

    assert place.versions(model) == HISTORIES[model]
    assert (code, "lease-lost" in output) == (1, True)
    assert place.snap(T2, model).plan.is_empty


@pytest.mark.matrix
def test_a_restore_that_lands_late_is_found_recorded_and_what_it_took_back_comes_again(crash):
    place = crash.place
    assert place.run("log").succeeded
    services = place.services()
    step = services.reading.records.steps_of("log")[-1].intent.step
    services.close()
    writer = crash.start("rollback", "log", "--to", step, "--yes", fault="stop:at-statement:1")
    writer.wait_until_stopped()
    time.sleep(LEASE_SECONDS)
    place.insert("events", "(4, '2024-01-04', 4)")

    assert place.run("log").succeeded
    before = appended(place, "log")
    code, output = writer.ended()
    after = appended(place, "log")
    states = place.states()["log"]
    report = place.run("log")

    assert (before, after) == ([(1, 1), (2, 2), (3, 3), (4, 4)], [(1, 1), (2, 2)])
    assert (code, "Traceback" in output) == (1, False), output
    assert states == [State.UNRECORDED]
    assert "and the state did not know it; recorded" in report.recovered[0]
    assert appended(place, "log") == before
    assert place.run("log").plan.is_empty


AFTER_SLEEP = [(1, 1), (2, 20), (3, 3), (4, 4)]


def slow_append(crash, seconds):
    """Make an append whose INSERT of the next row takes its time; give its query without that."""
    place = crash.place
    query = "select id, ts, amount from {{ source('raw', 'events') }}"
    place.model("slow", query, materialized="append", time_column="ts")
    assert place.run("slow").succeeded
    place.insert("events", "(4, '2024-01-04', 4)")
    slow = f"{query} where {SLEEPS.format(seconds * 1000)}"
    place.model("slow", slow, materialized="append", time_column="ts")
    return query


def appended(place, model="slow"):
    return [(row[0], row[2]) for row in place.rows(model)]


def in_mid_statement(crash, *, own_jvm):
    """Start a run of the slow append; give it once its INSERT is under way."""
    command = crash.start("run", "--select", "slow", own_jvm=own_jvm)
    file = crash.place.root / ".penstock" / "state.db"

    def running():
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return database.execute(
                "SELECT 1 FROM steps JOIN models ON models.id = model_id "
                "WHERE name = 'slow' AND status = 'RUNNING'"
            ).fetchone()

    command.wait_until(running)
    if own_jvm:
        time.sleep(2)
    else:
        jobs = crash.place.spark.sparkContext.statusTracker()
        command.wait_until(jobs.getActiveJobsIds)
    return command


@pytest.mark.matrix
@pytest.mark.parametrize(
    "parent", ["stopped too", pytest.param("killed", marks=pytest.mark.matrix)]
)
def test_an_insert_that_was_stopped_in_its_midst_adds_no_row_after_the_rerun(crash, parent):
    quick = slow_append(crash, 6)
    writer = in_mid_statement(crash, own_jvm=True)
    jvm = writer.jvm()
    for pid in (jvm, writer.pid):
        os.kill(pid, signal.SIGSTOP)
    if parent == "killed":
        writer.kill()
        os.kill(jvm, signal.SIGSTOP)  # the system wakes what is stopped and has lost its parent
    else:
        time.sleep(LEASE_SECONDS)
    crash.place.model("slow", quick, materialized="append", time_column="ts")

    report = crash.place.run("slow")
    os.kill(jvm, signal.SIGCONT)
    code, output = writer.ended() if parent != "killed" else (1, "lease-lost")
    wait_until_gone(jvm)

    assert report.succeeded
    assert appended(crash.place) == AFTER_SLEEP
    assert (code, "lease-lost" in output) == (1, True)
    assert crash.place.run("slow").plan.is_empty


@pytest.mark.matrix
def test_an_insert_whose_process_was_killed_in_its_midst_adds_no_row_after_the_rerun(crash):
    """Its JVM lives on, as that of a cluster would, and brings the statement to its end."""
    quick = slow_append(crash, 12)
    in_mid_statement(crash, own_jvm=False).kill()
    crash.place.model("slow", quick, materialized="append", time_column="ts")
    jobs = crash.place.spark.sparkContext.statusTracker()

    report = crash.place.run("slow")
    goes_on = bool(jobs.getActiveJobsIds())
    until(lambda: not jobs.getActiveJobsIds())

    assert goes_on
    assert report.succeeded
    assert report.recovered[0].endswith("had not committed; marked failed (crashed)")
    assert appended(crash.place) == AFTER_SLEEP
    assert crash.place.run("slow").plan.is_empty


@pytest.mark.matrix
def test_unlocking_a_living_run_gives_its_step_up(crash):
    writer = crash.start("run", "--select", "log", fault="stop:at-statement:1")
    writer.wait_until_stopped()

    unlocked = crash.start("unlock", "log", "--yes", own_jvm=True).ended()
    code, output = writer.ended()

    assert unlocked[0] == 0
    assert "had not committed; marked failed (crashed)" in unlocked[1]
    assert (code, "lease-lost" in output) == (1, True)
    assert statuses(crash.place.run("log")) == {"log": "success"}
    assert crash.place.rows("log") == UNDISTURBED["log"]


@pytest.mark.matrix
@pytest.mark.skipif(
    not has_namespaces(),
    reason="never: namespaces of processes need a Linux that lets this user make them",
)
def test_a_holder_in_another_pid_namespace_is_not_taken_for_dead(crash):
    # the shell is the first process in there: nothing stops the first process of a namespace
    shell = ("sh", "-c", '"$0" "$@"; exit $?')
    inside = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *shell)
    command = crash.start("run", "--select", "log", fault="stop:before-commit:1", within=inside)
    file = crash.place.root / ".penstock" / "state.db"
    command.wait_until(lambda: holds(file))
    time.sleep(1)

    refused = crash.place.run("log")
    command.kill()

    assert refused["log"].error.code == "lease-held"


def holds(file):
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return database.execute("SELECT 1 FROM leases WHERE run IS NOT NULL").fetchone()


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("signals", "code", "own_jvm"),
    [
        pytest.param((signal.SIGINT,), 130, False, id="one"),
        *(
            pytest.param(signals, code, True, marks=pytest.mark.matrix, id=f"{name}-own JVM")
            for name, signals, code in (
                ("one", (signal.SIGINT,), 130),
                ("two", (signal.SIGINT,) * 2, 130),
                ("forty", (signal.SIGINT,) * 40, 130),
                ("SIGTERM", (signal.SIGTERM,), 143),
            )
        ),
    ],
)
def test_an_interrupted_append_is_settled_and_no_row_is_lost_or_doubled(
    crash, signals, code, own_jvm
):
    quick = slow_append(crash, 6)
    command = in_mid_statement(crash, own_jvm=own_jvm)

    for number in signals:
        command.send(number)
        time.sleep(0.5 if len(signals) == 2 else 0.05)
    ended, output = command.ended()
    crash.place.model("slow", quick, materialized="append", time_column="ts")
    report = crash.place.run("slow")

    assert ended == code, output
    assert "Traceback" not in output
    assert report.succeeded
    assert appended(crash.place) == AFTER_SLEEP
    assert crash.place.run("slow").plan.is_empty


def test_what_was_committed_is_recorded_after_the_project_was_moved(crash, tmp_path):
    crash.kill("log", "after-commit")
    place = crash.moved(tmp_path / "elsewhere")

    report = place.run("log")

    assert report.recovered[0].endswith("had committed version 1; recorded")
    assert place.rows("log") == UNDISTURBED["log"]
    assert place.run("log").plan.is_empty
