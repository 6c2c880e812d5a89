"""Law 6 of checks: kill -9 at any point of any mode, run again: rows and records as undisturbed."""

import datetime as dt
import shutil

import pytest

from fakes.check_place import MOMENT, P1, P2, STATS, CheckPlace
from fakes.clock import FixedClock
from fakes.command import kill_at
from fakes.faulted import WITH_CHECKS as POINTS
from fakes.kill_story import KILLED, first_delivery, second_delivery
from penstock.core.checks.check import OnFailure

BUILD = ("backfill", "user_stats", "--from", P1, "--to", P2, "--yes", "--threads", "1")
ONE, TWO, THREE = [(P1, "1")], [(P2, "2"), (P2, "3")], [(P2, "5")]
ANEW = [(P1, "1"), (P1, "4")]
UNDISTURBED = {
    "flag": (ANEW + TWO + THREE, {P1: "SUCCESS", P2: "FAILED"}, [(P2, ("row_count",))]),
    "block": (ANEW + TWO, {P1: "SUCCESS", P2: "FAILED"}, []),
    "rollback": (ONE + TWO, {P1: "FAILED", P2: "FAILED"}, []),
}
ORDERS = [("1", "2024-12-01", "1"), ("2", "2024-12-02", "2"), ("3", "2024-12-03", "3")]
UNSTAGED = tuple(point for point in POINTS if point != "during-staging")
OF_RESTORE = ("before-commit:2", "after-commit:2", "during-finish:2", "after-finish:2")
MODES = [
    *(("flag", point) for point in UNSTAGED),
    *(("block", point) for point in POINTS),
    *(("rollback", point) for point in (*UNSTAGED, *OF_RESTORE)),
]
HELD = [(model, point) for model in ("log", "users") for point in POINTS]
BEYOND = pytest.mark.matrix


@pytest.fixture(scope="session")
def checked_folder(tmp_path_factory, spark):
    """Every model built with its checks passing, and what the next steps will find."""
    place = CheckPlace(tmp_path_factory.mktemp("checked") / "shop", spark, KILLED)
    first_delivery(place)
    assert place.run("log users").succeeded
    assert place.backfill("user_stats", P1, P2).succeeded
    second_delivery(place)
    return place.root


@pytest.fixture
def place(tmp_path, spark, checked_folder):
    root = tmp_path / "shop"
    shutil.copytree(checked_folder, root)
    return CheckPlace(root, spark, {}, FixedClock(MOMENT + dt.timedelta(minutes=1)))


def kill(place: CheckPlace, point: str, *words: str) -> None:
    """Start a command and wait until the fault point kills it."""
    fault = point if ":" in point else f"{point}:1"
    kill_at(fault, place.root, *words, spark=place.spark)


def killed(place: CheckPlace, mode: str, point: str) -> None:
    kill(place, point, *BUILD, "--on-failure", mode, "--as-of", MOMENT.isoformat())


def sync(place: CheckPlace, mode: str) -> None:
    place.sync("user_stats", first=P1, last=P2, on_failure=OnFailure(mode))


def left_open(place: CheckPlace) -> list[object]:
    """Give what must not be there after a command: leases, open steps, staged rows."""
    services = place.services()
    store = services.writing
    found = [*store.leases.taken(), *store.journal.running(), *store.checks.unsettled()]
    services.close()
    return [*found, *place.staged()]


def picture(place: CheckPlace) -> tuple[object, object, object]:
    """Give what readers and planners see: rows, how each partition ended, open flags."""
    flags = [(each.partition, each.checks) for each in place.flags()]
    return place.rows(), place.statuses(), flags


def last_failure(place: CheckPlace) -> str:
    """Give why rows of P2 were refused last; of steps that died before their commit nothing."""
    found = [each.failure for each in place.executions() if each.partition == P2]
    return next(failure.code for failure in found if failure and failure.code != "crashed")


def operations(place: CheckPlace) -> list[str]:
    """Give the operations of the table's commits, oldest first, without fences."""
    history = place.sql(f"DESCRIBE HISTORY {place.table(STATS)}")
    return [str(row[4]) for row in reversed(history) if '"fence"' not in (row[-2] or "")]


@pytest.mark.matrix
@pytest.mark.parametrize("mode", UNDISTURBED)
def test_an_undisturbed_run_ends_as_the_others_must(place, mode) -> None:
    report = place.backfill("user_stats", P1, P2, on_failure=OnFailure(mode))

    assert not report.succeeded
    assert picture(place) == UNDISTURBED[mode]
    assert left_open(place) == []


@pytest.mark.matrix
def test_pending_checks_are_a_step_without_a_commit(place) -> None:
    killed(place, "flag", "after-commit")

    report = place.run("log")

    settled = report["user_stats"]
    assert (settled.reason, settled.status) == ("its checks were pending", "failed")
    assert settled.error is not None
    assert settled.error.code == "after-check-failed"
    assert picture(place) == UNDISTURBED["flag"]
    assert operations(place) == ["CREATE TABLE", "WRITE", "WRITE"]
    assert left_open(place) == []


@pytest.mark.matrix
@pytest.mark.parametrize("point", [pytest.param("during-staging", marks=BEYOND), "before-commit"])
def test_rows_that_were_held_back_are_gone_and_then_built_once(place, point) -> None:
    killed(place, "block", point)
    assert place.version(STATS) == 1

    report = place.run("log")

    assert report.recovered[0].endswith("had not committed; marked failed (crashed)")
    assert (place.version(STATS), place.quarantines(), left_open(place)) == (1, (), [])
    sync(place, "block")
    assert picture(place) == UNDISTURBED["block"]
    assert operations(place) == ["CREATE TABLE", "WRITE", "WRITE"]


@pytest.mark.matrix
def test_published_rows_are_recorded_with_what_was_said_of_them(place) -> None:
    killed(place, "block", "after-commit")
    said = [(each.result.name, each.result.status) for each in place.check_records()]

    place.run("log")

    assert picture(place) == UNDISTURBED["block"]
    assert operations(place) == ["CREATE TABLE", "WRITE", "WRITE"]
    assert [(each.result.name, each.result.status) for each in place.check_records()] == said
    assert [each.failed for each in place.quarantines()] == [((20059, 20059),)]
    assert left_open(place) == []


@pytest.mark.matrix
@pytest.mark.parametrize(
    "point", ["after-evaluating", "after-checks", "before-commit", "after-commit"]
)
def test_rows_that_a_killed_step_held_back_are_kept_once(place, point) -> None:
    killed(place, "block", point)

    sync(place, "block")

    (kept,) = place.quarantines()
    assert place.quarantined() == [(P2, "2"), (P2, "3"), (P2, "5")]
    assert place.executions()[0].step == kept.step
    assert left_open(place) == []


@pytest.mark.matrix
@pytest.mark.parametrize("point", [pytest.param("after-checks", marks=BEYOND), "after-commit:2"])
def test_a_rollback_that_is_due_restores_once(place, point) -> None:
    killed(place, "rollback", point)

    place.run("log")

    assert picture(place) == UNDISTURBED["rollback"]
    assert operations(place) == ["CREATE TABLE", "WRITE", "WRITE", "RESTORE"]
    assert last_failure(place) == "after-check-failed"
    assert left_open(place) == []


@pytest.mark.matrix
@pytest.mark.parametrize(("mode", "point"), MODES)
def test_a_killed_checked_step_is_settled_by_the_next_sync(place, mode, point) -> None:
    killed(place, mode, point)

    sync(place, mode)

    assert picture(place) == UNDISTURBED[mode]
    assert last_failure(place) == "after-check-failed"
    assert left_open(place) == []


@pytest.mark.matrix
@pytest.mark.parametrize(("model", "point"), HELD)
def test_a_killed_step_that_is_held_back_publishes_once(place, model, point) -> None:
    kill(place, point, "run", "--select", model)

    report = place.run(model)

    assert [result.error for result in report.values() if not result.ok] == []
    rows = [(key, str(at)[:10], amount) for key, at, amount in place.rows(f"m/{model}")]
    assert rows == ORDERS
    assert place.version(f"m/{model}") == 1
    assert left_open(place) == []
