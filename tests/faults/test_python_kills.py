"""Kill -9 at any point of any step of a Python table; the next command ends as undisturbed.

What is killed is a run, a full refresh or a rerun; after it come a run and the same command again.
"""

import datetime as dt
import shutil

import pytest

import penstock
from fakes.built_once import built_once
from fakes.command import kill_at
from fakes.faulted import POINTS
from fakes.history_place import HistoryPlace
from fakes.kill_project import PROJECT
from penstock.core.records import Status

MODELS = """\
from penstock import incremental_table, source


@source(path="landing/logs")
def logs(df):
    return df


@incremental_table(time_column="ts")
def added(logs):
    return logs


@incremental_table(time_column="ts", lookback="12 hours")
def ranged(logs):
    return logs


@incremental_table(time_column="ts", unique_key="user")
def keyed(logs):
    return logs
"""
RANGE = ("--from", "2024-01-16", "--to", "2024-01-16")
DELIVERED = "(3, 'a', '2024-01-17 10:00', 30), (4, 'c', '2024-01-17 11:00', 40)"
TABLES = ("added", "ranged", "keyed")
FIRST = {"added": {1: 10, 2: 20}, "ranged": {1: 10, 2: 20}, "keyed": {1: 10, 2: 20}}
AFTER_RUN = {
    "added": {1: 10, 2: 20, 3: 30, 4: 40},
    "ranged": {1: 10, 2: 25, 3: 30, 4: 40},
    "keyed": {2: 20, 3: 30, 4: 40},
}
ANEW = {
    "added": {1: 10, 2: 25, 3: 30, 4: 40},
    "ranged": {1: 10, 2: 25, 3: 30, 4: 40},
    "keyed": {2: 25, 3: 30, 4: 40},
}
"""Row 2 was another one in the first delivery: who reads its time again finds what it is now."""
ENDS = {"run": AFTER_RUN, "full": ANEW, "rerun": ANEW}
COMMITTED = ("after-commit", "during-finish", "after-finish")
CELLS = [
    (deed, name, point)
    for deed in ENDS
    for name in TABLES
    for point in POINTS
    if not (point == "during-staging" and name != "keyed")
]


class Killed:
    """A project of three tables that were built once, with a second delivery waiting."""

    def __init__(self, place: HistoryPlace, spark) -> None:
        self.place, self.spark = place, spark

    def kill(self, deed: str, name: str, point: str) -> None:
        """Let a process do something until the fault point kills it."""
        words = {
            "run": ("run", "--select", name),
            "full": ("run", "--full-refresh", "--select", name),
            "rerun": ("backfill", name, *RANGE, "--yes"),
        }
        kill_at(f"{point}:1", self.place.root, *words[deed], spark=self.spark)

    def run(self, name: str, *, full_refresh: bool = False):
        """Run in this process; give what the table did, and what was recovered."""
        report = self.place.run(name, full_refresh=full_refresh)
        assert [each.error for each in report.results if not each.ok] == []
        return report

    def again(self, deed: str, name: str) -> None:
        """Do the same in this process."""
        if deed == "rerun":
            app = penstock.conf(root=self.place.root, spark=self.spark)
            assert app.again(name, "2024-01-16", "2024-01-16").ok
        else:
            self.run(name, full_refresh=deed == "full")

    def amounts(self, name: str) -> dict[int, int]:
        """Give the amount of each row by its id; a row that is there twice is an error."""
        rows = self.place.rows(name)
        found = {row[0]: row[3] for row in rows}
        assert len(found) == len(rows)
        return found

    def record(self, name: str):
        """Give what is on record of a table; nothing may be open, or held."""
        services = self.place.services()
        store = services.writing
        record = services.reading.records.models()[name]
        assert (store.leases.taken(), store.journal.running()) == ((), ())
        services.close()
        return record


@pytest.fixture(scope="session")
def loaded(tmp_path_factory, spark):
    def build(folder):
        place = HistoryPlace(folder, spark)
        place.write("penstock.yml", PROJECT)
        place.write("models/m/logs.py", MODELS)
        place.source("logs", "id INT, user STRING, ts TIMESTAMP, amount INT")
        first = "(1, 'a', '2024-01-15 10:00', 10), (2, 'b', '2024-01-16 09:00', 20)"
        place.insert("logs", first)
        assert place.run().succeeded
        place.insert("logs", DELIVERED)
        place.sql(f"UPDATE {place.landing('logs')} SET amount = 25 WHERE id = 2")

    return built_once(tmp_path_factory, "loaded-python", build)


@pytest.fixture
def killed(loaded, spark, tmp_path):
    root = tmp_path / "shop"
    shutil.copytree(loaded, root)
    place = HistoryPlace(root, spark)
    place.write("penstock.yml", PROJECT)
    return Killed(place, spark)


def told_of(point: str, recovered: tuple[str, ...]) -> bool:
    """Whether the next run says what became of the step."""
    if point == "after-finish":
        return recovered == ()
    ending = "; recorded" if point in COMMITTED else "had not committed; marked failed (crashed)"
    return len(recovered) == 1 and recovered[0].endswith(ending)


def after_a_run(deed: str, name: str, *, is_committed: bool) -> dict[int, int]:
    """Give the rows once a plain run came after a deed that was killed."""
    if deed == "run" or not is_committed:
        return AFTER_RUN[name]
    return ANEW[name]


@pytest.mark.matrix
@pytest.mark.parametrize(("deed", "name", "point"), CELLS)
def test_a_killed_step_ends_as_undisturbed(killed, deed, name, point) -> None:
    killed.kill(deed, name, point)

    report = killed.run(name)
    rows = killed.amounts(name)
    killed.again(deed, name)
    record = killed.record(name)

    assert told_of(point, report.recovered)
    assert rows == after_a_run(deed, name, is_committed=point in COMMITTED)
    assert killed.amounts(name) == ENDS[deed][name]
    assert record.status is Status.SUCCESS
    assert [(each.key, each.value.text) for each in record.watermarks] == [
        ("logs.ts", "2024-01-17T11:00:00.000000Z")
    ]
    assert killed.run(name).plan.is_empty
    left = sorted(each.name for each in (killed.place.root / "warehouse" / "m").iterdir())
    assert left == sorted(TABLES)
    assert record.executed_at <= dt.datetime.now(dt.UTC)
