"""Two runs on one target."""

import signal
import threading
import time

import pytest

from fakes.faulted import HISTORIES, UNDISTURBED
from fakes.history_story import T2
from fakes.place import statuses

pytestmark = pytest.mark.spark


def stopped(crash, model, *words):
    """Start a run that stops itself just before its commit; wait until it has."""
    command = crash.start(*(words or ("run",)), "--select", model, fault="stop:before-commit:1")
    command.wait_until_stopped()
    return command


@pytest.mark.matrix
def test_a_second_run_fails_naming_the_holder_or_waits_and_finds_nothing_to_do(crash) -> None:
    crash.place.write(
        "penstock.yml",
        (crash.place.root / "penstock.yml").read_text().replace("length: 4s", "length: 60s"),
    )
    first = stopped(crash, "log")

    refused = crash.place.run("log")
    threading.Timer(1, first.send, (signal.SIGCONT,)).start()
    waited = crash.place.run("log", wait=60)

    code, output = first.ended()
    assert code == 0, output
    assert refused["log"].error.code == "lease-held"
    assert f"pid {first.pid}" in refused["log"].error.sentence
    assert statuses(waited) == {"log": "unchanged"}
    assert crash.place.rows("log") == UNDISTURBED["log"]


def test_a_killed_holder_on_this_host_is_taken_over_at_once(crash) -> None:
    crash.place.write(
        "penstock.yml",
        (crash.place.root / "penstock.yml").read_text().replace("length: 4s", "length: 1h"),
    )
    crash.kill("log", "after-begin")

    report = crash.place.run("log")

    assert report.succeeded
    assert crash.place.rows("log") == UNDISTURBED["log"]


@pytest.mark.matrix
def test_a_zombie_that_wakes_after_another_run_finished_does_not_commit(crash) -> None:
    zombie = stopped(crash, "log")
    time.sleep(4.5)  # past its lease

    taken = crash.place.run("log")
    code, output = zombie.ended()

    assert taken.succeeded
    assert code == 1
    assert "lease-lost" in output
    assert crash.place.version("log") == 1
    assert crash.place.rows("log") == UNDISTURBED["log"]
    assert crash.place.run("log").plan.is_empty


@pytest.mark.matrix
def test_of_two_snapshot_runs_at_once_one_names_the_other_and_no_version_is_doubled(
    crashed_history,
) -> None:
    place = crashed_history.place
    text = (place.root / "penstock.yml").read_text()
    place.write("penstock.yml", text.replace("length: 4s", "length: 60s"))
    first = stopped(crashed_history, "by_time", "snapshot", "run", "--as-of", T2.isoformat())

    refused = place.snap(T2, "by_time")
    code, output = first.ended()
    after = place.snap(T2, "by_time")

    assert code == 0, output
    assert refused["by_time"].error.code == "lease-held"
    assert f"pid {first.pid}" in refused["by_time"].error.sentence
    assert statuses(after) == {"by_time": "unchanged"}
    assert place.versions("by_time") == HISTORIES["by_time"]
    assert place.version("by_time") == 1
