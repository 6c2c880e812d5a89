"""A signal to everybody of a job ends a run as a signal to penstock alone does."""

import os
import signal
import subprocess
import time

import pytest

from fakes.command import PENSTOCK
from fakes.faulted import UNDISTURBED
from fakes.place import statuses

pytestmark = pytest.mark.spark

QUERY = "select id, ts, amount from {{ source('raw', 'events') }}"
SLOW = f"{QUERY} where java_method('java.lang.Thread', 'sleep', cast(20000 as bigint)) = 'null'"
APPENDED = [(1, 1), (2, 20), (3, 3), (4, 4)]
APPEND = {"materialized": "append", "time_column": "ts"}
SPARKS_OWN = ("Traceback", "spark-", "Py4J", "SparkContext", "SparkException", "Error while")


@pytest.fixture
def mid_step(crash):
    """An append whose statement sleeps for a while, run in a session of its own."""
    place = crash.place
    place.model("slow", QUERY, **APPEND)
    assert place.run("slow").succeeded
    place.insert("events", "(4, '2024-01-04', 4)")
    place.model("slow", SLOW, **APPEND)
    command = crash.start("run", "--select", "slow", own_jvm=True, within=("setsid",))
    services = place.services()
    command.wait_until(services.writing.journal.running)
    services.close()
    time.sleep(4)  # into its statement
    return command


def group(command, sent):
    os.killpg(command.pid, sent)


def everybody(command, sent):
    """Be a service manager that ends all processes of a unit at once, the JVM first."""
    os.kill(command.jvm(), sent)
    os.killpg(command.pid, sent)


@pytest.mark.parametrize(
    ("to", "sent", "code"),
    [
        pytest.param(group, signal.SIGTERM, 143, id="SIGTERM to the group"),
        pytest.param(group, signal.SIGINT, 130, marks=pytest.mark.matrix, id="Ctrl-C"),
        pytest.param(everybody, signal.SIGTERM, 143, marks=pytest.mark.matrix, id="a whole unit"),
    ],
)
def test_a_run_that_is_ended_in_mid_step_is_interrupted_and_the_next_one_doubles_nothing(
    crash, mid_step, to, sent, code
) -> None:
    to(mid_step, sent)
    ended, output = mid_step.ended()
    place = crash.place
    services = place.services()
    (last,) = services.reading.records.history("slow", 1)
    leases = services.writing.leases.taken()
    services.close()
    place.model("slow", QUERY, **APPEND)
    again = place.run("slow")

    assert ended == code, output
    assert [word for word in SPARKS_OWN if word in output] == [], output
    assert "FAILED  interrupted" in output
    assert (last.status, last.failure.code) == ("FAILED", "interrupted")
    assert leases == ()
    assert statuses(again) == {"slow": "success"}
    assert [(row[0], row[2]) for row in place.rows("slow")] == APPENDED
    assert place.run("slow").plan.is_empty


@pytest.mark.matrix
def test_a_timeout_while_spark_starts_ends_the_run_before_its_step(crash) -> None:
    words = ("timeout", "--foreground", "1.5", PENSTOCK, "run", "--select", "log")

    began = time.monotonic()
    done = subprocess.run(
        words, cwd=crash.place.root, capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode in (124, 143), done.stdout + done.stderr
    assert time.monotonic() - began < 60
    assert [word for word in SPARKS_OWN if word in done.stdout + done.stderr] == []
    assert crash.place.run("log").succeeded
    assert crash.place.rows("log") == UNDISTURBED["log"]
