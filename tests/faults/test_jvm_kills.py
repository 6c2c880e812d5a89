"""The JVM dies under a command: one sentence, no traceback, and the next run repairs it."""

import signal
import subprocess
import sys
import time

import pytest

from fakes.command import Command
from fakes.faulted import UNDISTURBED
from fakes.place import statuses

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

NOISE = ("Traceback", "Error while", "ERROR:", "Py4J", "py4j", "Errno", "Warning", "Exception")
SLEEP = "select reflect('java.lang.Thread', 'sleep', cast(120000 as bigint)) as slept"


def noise(told: str) -> list[str]:
    """Give the lines that a person should not have to read."""
    return [line for line in told.splitlines() if any(word in line for word in NOISE)]


def sentences(told: str) -> list[str]:
    """Give the lines that tell of the error below the progress."""
    return [line for line in told.splitlines() if line.startswith("error: spark-died: ")]


def killed_at(crash, point, *words):
    command = Command(crash.place.root, *words, fault=f"stop:{point}:1")
    command.wait_until_stopped()
    command.kill_jvm()
    return command


def test_a_jvm_killed_before_the_commit_is_one_sentence_and_the_next_run_repairs_it(crash) -> None:
    command = killed_at(crash, "before-commit", "run", "--select", "log")

    code, told = command.ended()
    again = crash.place.run("log")

    assert code == 1
    assert noise(told) == [], told
    (sentence,) = sentences(told)
    assert "was killed (signal 9)" in sentence
    assert f"{crash.place.root}/.penstock/logs/" in sentence
    assert told.splitlines()[-1] == "Resume: penstock run --select log"
    assert again.succeeded
    assert crash.place.rows("log") == UNDISTURBED["log"]
    assert crash.place.run("log").plan.is_empty


def test_a_jvm_killed_after_the_commit_leaves_a_step_that_is_done(crash) -> None:
    command = killed_at(crash, "after-commit", "run", "--select", "log")

    code, told = command.ended()

    assert code == 0, told
    assert noise(told) == [], told
    assert "Done: 1 step." in told
    assert crash.place.run("log").plan.is_empty
    assert crash.place.rows("log") == UNDISTURBED["log"]


def test_a_jvm_that_died_between_two_steps_fails_the_next_before_it_begins(crash) -> None:
    crash.place.model("after_log", "select id from {{ ref('log') }}", materialized="table")
    command = killed_at(crash, "after-finish", "run", "--select", "log+", "--threads", "1")

    code, told = command.ended()

    assert code == 1
    assert noise(told) == [], told
    assert len(sentences(told)) == 1
    assert told.splitlines()[-1].startswith("Resume: penstock run --select after_log")
    again = crash.place.run("log+")
    assert again.recovered == ()
    assert statuses(again) == {"log": "unchanged", "after_log": "success"}


def test_four_steps_whose_jvm_is_killed_under_their_queries_tell_it_once_and_the_rest_is_skipped(
    crash,
) -> None:
    for number in range(6):
        crash.place.model(f"slow{number}", SLEEP, materialized="table")
    command = Command(crash.place.root, "run", "--select", "slow*")
    services = crash.place.services()
    command.wait_until(lambda: len(services.writing.journal.running()) == 4)
    time.sleep(2)  # into their queries

    command.kill_jvm()
    code, told = command.ended()

    assert code == 1
    assert noise(told) == [], told
    assert len(sentences(told)) == 1
    assert told.count("FAILED  spark-died") == 4
    assert told.count("skipped: Spark's JVM is gone") == 2
    assert services.writing.journal.running() == ()
    services.close()


def test_ctrl_c_on_a_run_whose_jvm_is_gone_ends_it_as_ever(crash) -> None:
    command = killed_at(crash, "before-commit", "run", "--select", "users")

    command.send(signal.SIGINT)
    code, told = command.ended()

    assert code == 130, told
    assert noise(told) == [], told
    assert crash.place.run("users").succeeded
    assert crash.place.rows("users") == UNDISTURBED["users"]


def test_a_seed_whose_jvm_is_gone_is_told_once_and_the_other_seeds_are_skipped(crash) -> None:
    for name in ("codes", "names"):
        crash.place.write(f"seeds/{name}.csv", "code,name\n1,one\n")
    command = killed_at(crash, "before-commit", "seed")

    code, told = command.ended()

    assert code == 1
    assert noise(told) == [], told
    assert len(sentences(told)) == 1
    assert "names  skipped: Spark's JVM is gone" in told
    assert told.splitlines()[-1] == "Resume: penstock seed --select 'codes names'"


def test_checks_that_a_dead_jvm_could_not_look_at_are_looked_at_by_the_next_run(crash) -> None:
    crash.place.write(
        "models/m/checks.yml",
        """\
        models:
          - name: totals
            checks:
              after: [{name: few, type: column_check, column: n, check: "MAX({column}) < 3"}]
        """,
    )
    command = killed_at(crash, "after-commit", "run", "--select", "totals")

    code, told = command.ended()
    again = crash.place.run("totals")

    assert code == 1
    assert noise(told) == [], told
    assert len(sentences(told)) == 1
    assert again.recovered[0].endswith("had committed version 1; recorded")
    assert again["totals"].error.code == "after-check-failed"
    assert crash.place.rows("totals") == [(3, 24)]
    assert crash.place.version("totals") == 1


IN_ONE_PROCESS = """\
import os, signal, penstock
from penstock.engine.jvm import JVM
assert penstock.run(select=["log"], threads=1).succeeded
os.kill(JVM._process.pid, signal.SIGKILL)
JVM._process.wait()
report = penstock.run(select=["users"], threads=1)
print([(result.name, result.status) for result in report.results])
"""


def test_a_process_whose_spark_died_between_two_runs_starts_another(crash) -> None:
    told = subprocess.run(
        [sys.executable, "-c", IN_ONE_PROCESS],
        cwd=crash.place.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )

    assert (told.stderr, told.stdout) == ("", "[('users', 'success')]\n")
    assert crash.place.rows("users") == UNDISTURBED["users"]
