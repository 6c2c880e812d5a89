"""Law 3 for partitions: kill -9 in a sync of one, of many, of a cascade; then sync again."""

import datetime as dt
import shutil
import time
from dataclasses import dataclass, field

import pytest

from fakes.clock import FixedClock
from fakes.command import Command, kill_at
from fakes.drift_place import DAILY_TABLE, MOMENT, MONTHLY_TABLE, WEEKLY_TABLE, DriftPlace
from fakes.fixture_f import EDIT_E
from fakes.kill_project import SMALL
from penstock.app.execution.recover import recover

AT = ("--as-of", MOMENT.isoformat(), "--yes", "--threads", "1")
POINTS = ("after-begin", "before-commit", "after-commit", "during-finish", "after-finish")
DAILY = ("--select", "daily_user_stats")
BEFORE = [("2024-12-02", "2", "3"), ("2024-12-03", "1", "2"), ("2024-12-09", "1", "1")]
AFTER = [("2024-12-02", "3", "3"), ("2024-12-03", "2", "2"), ("2024-12-09", "1", "1")]


@dataclass(frozen=True)
class Case:
    """A command that is killed, and what daily, weekly and monthly hold once it was repeated."""

    words: tuple[str, ...]
    asked: dict[str, object] = field(default_factory=dict)
    daily: tuple[tuple[str, str, str], ...] = tuple(AFTER)
    weekly: str = "3"
    monthly: str = "4"
    nth: int = 1


CASES = {
    "one": Case(
        (*DAILY, "--from", "2024-12-02", "--to", "2024-12-02"),
        {"first": "2024-12-02", "last": "2024-12-02"},
        (AFTER[0], *BEFORE[1:]),
    ),
    "many": Case(DAILY),
    "cascade": Case(("--cascade",), {"cascade": True}, weekly="5", monthly="6", nth=2),
}
MATRIX = [(name, point) for name in CASES for point in POINTS]


@pytest.fixture
def edited(tmp_path, spark, synced_folder):
    """A copy of fixture F after `sync --yes`, with edit E."""
    root = tmp_path / "f"
    shutil.copytree(synced_folder, root)
    place = DriftPlace(root, spark, {}, FixedClock(MOMENT + dt.timedelta(minutes=1)))
    place.write(EDIT_E)
    config = root / "penstock.yml"
    config.write_text(f"{config.read_text()}\n{SMALL}")
    return place


def kill(place: DriftPlace, fault: str, *words: str) -> None:
    """Start a command and wait until the fault point kills it."""
    kill_at(fault, place.root, *words, spark=place.spark)


def settled(place: DriftPlace) -> list[object]:
    """Give leases and steps that are still open, which must be none."""
    services = place.services()
    store = services.writing
    found = [*store.leases.taken(), *store.journal.running()]
    services.close()
    return found


def check(place: DriftPlace, name: str, point: str) -> None:
    case = CASES[name]
    kill(place, f"{point}:{case.nth}", "sync", *case.words, *AT)

    report = place.sync(*case.words[1:2] if name != "cascade" else (), **case.asked)

    assert [result.error for result in report.results if not result.ok] == []
    assert place.rows(DAILY_TABLE)[1:] == list(case.daily)
    assert place.rows(WEEKLY_TABLE)[1] == ("2024-12-02", case.weekly)
    assert place.rows(MONTHLY_TABLE)[1] == ("2024-12-01", case.monthly)
    assert settled(place) == []
    if name == "cascade":
        assert not any(place.states().values())
    assert len(report.recovered) == (0 if point == "after-finish" else 1)


@pytest.mark.matrix
@pytest.mark.parametrize(("name", "point"), MATRIX)
def test_a_killed_sync_is_settled_by_the_next_one(edited, name, point) -> None:
    check(edited, name, point)


@pytest.mark.matrix
def test_a_killed_sync_leaves_what_an_undisturbed_one_leaves(edited) -> None:
    check(edited, "many", "after-commit")


def test_the_same_cascade_builds_what_the_killed_one_left_below(edited) -> None:
    words = ("sync", "--cascade", *DAILY)
    kill(edited, "before-commit:2", *words, *AT)

    again = edited.sync("daily_user_stats", cascade=True)

    assert {result.name for result in again.results if result.status == "success"} == {
        "weekly_summary",
        "monthly_report",
    }
    assert edited.rows(WEEKLY_TABLE)[1] == ("2024-12-02", "5")
    assert edited.rows(MONTHLY_TABLE)[1] == ("2024-12-01", "6")
    assert not any(edited.states().values())


@pytest.mark.matrix
@pytest.mark.parametrize("point", POINTS[1:])
def test_a_table_that_was_made_and_not_filled_is_filled(tmp_path, spark, synced_folder, point):
    root = tmp_path / "f"
    shutil.copytree(synced_folder, root, ignore=shutil.ignore_patterns("warehouse", ".penstock"))
    place = DriftPlace(root, spark, {}, FixedClock(MOMENT + dt.timedelta(minutes=1)))
    config = root / "penstock.yml"
    config.write_text(f"{config.read_text()}\n{SMALL}")
    kill(place, f"{point}:1", "sync", *DAILY, *AT)

    report = place.sync("daily_user_stats")

    assert [result.error for result in report.results if not result.ok] == []
    assert place.rows(DAILY_TABLE) == [("2024-11-28", "1", None), *BEFORE]
    assert settled(place) == []


@pytest.mark.matrix
@pytest.mark.parametrize("point", POINTS[1:])
def test_a_killed_rollback_is_settled_by_the_next_one(edited, point) -> None:
    edited.sync("daily_user_stats")
    step = edited.history("daily_user_stats", None, 1).rows[0].execution.step
    kill(edited, f"{point}:1", "rollback", "daily_user_stats", "--to", step, "--yes")

    if point == "before-commit":
        edited.rollback("daily_user_stats", step)
    else:
        edited.with_shop(recover)

    assert edited.rows(DAILY_TABLE)[1:] == BEFORE
    assert settled(edited) == []


@pytest.mark.matrix
def test_a_sync_that_wakes_with_its_statement_in_its_hands_replaces_nothing(edited) -> None:
    words = ("sync", *DAILY, *AT)
    sleeper = Command(edited.root, *words, fault="stop:at-statement:1")
    sleeper.wait_until_stopped()
    time.sleep(4.5)  # past its lease

    rerun = Command(edited.root, *words, spark=edited.spark).ended()
    version = edited.version(DAILY_TABLE)
    code, output = sleeper.ended()

    assert rerun[0] == 0
    assert "had not committed; marked failed (crashed)" in rerun[1]
    assert (code, "lease-lost" in output, "Traceback" in output) == (1, True, False)
    assert edited.rows(DAILY_TABLE)[1:] == AFTER
    assert edited.version(DAILY_TABLE) == version
    assert edited.states()["daily_user_stats"] == []
